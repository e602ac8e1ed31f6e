/* SPDX-License-Identifier: BSD-3-Clause */
/* task_graph: graphs of tasks as programs make them, known before they run: tasks in order of submission, the
 * data each uses, what each costs, and how long is the longest path from each to the end.
 * Threads: one. Owns: the graph it returns. Not here: running them (schedules.c).
 *
 * Dependencies follow from the data as in the runtime: a reader waits for the last writer, a writer for the
 * readers since. Costs are in units of a large task's time on a CPU. */
#ifndef BENCH_TASK_GRAPH_H
#define BENCH_TASK_GRAPH_H

#include <stdio.h>
#include <stdlib.h>

enum { JOB_DATA_MAX = 4 };

/* The kinds of tasks; costs by their floating-point operations. */
enum kind { POTRF, TRSM, SYRK, GEMM, GETRF, GEQRT, UNMQR, TSQRT, TSMQR, POINT, SMALL, LARGE, KINDS };
static const struct {
    const char *name;
    double cost;
} kinds[KINDS] = {
    [POTRF] = { "potrf", 1. / 6 }, [TRSM] = { "trsm", .5 },       [SYRK] = { "syrk", .5 },
    [GEMM] = { "gemm", 1 },        [GETRF] = { "getrf", 1. / 3 }, [GEQRT] = { "geqrt", 2. / 3 },
    [UNMQR] = { "unmqr", 1 },      [TSQRT] = { "tsqrt", 1 },      [TSMQR] = { "tsmqr", 2 },
    [POINT] = { "point", .25 },    [SMALL] = { "small", .3 },     [LARGE] = { "large", 1.2 },
};

struct job {
    enum kind kind;
    int count; /* of data; the last one is written, or the last `writes` */
    int writes;
    int data[JOB_DATA_MAX];
    double to_end; /* the longest path from its start to the end of the graph */
};

struct edge {
    int from, to;
};

struct graph {
    const char *name;
    struct job *jobs;
    int njobs, ndata;
    struct edge *edges;
    int nedges;
};

static inline void *grown(void *array, int count, size_t size)
{
    if (count & (count - 1)) return array; /* doubled at powers of two */
    void *larger = realloc(array, (count ? 2 * (size_t)count : 1) * size);
    if (!larger) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return larger;
}

/* Adds a task that reads the first data and reads and writes the last `writes` of them. */
static inline void graph_add(struct graph *g, enum kind kind, int writes, int count, const int *data)
{
    g->jobs = grown(g->jobs, g->njobs, sizeof *g->jobs);
    struct job *j = &g->jobs[g->njobs++];
    *j = (struct job){ .kind = kind, .count = count, .writes = writes };
    for (int i = 0; i < count; i++) {
        j->data[i] = data[i];
        if (data[i] >= g->ndata) g->ndata = data[i] + 1;
    }
}

#define ADD(g, kind, writes, ...)                                                                            \
    graph_add(g, kind, writes, sizeof((int[]){ __VA_ARGS__ }) / sizeof(int), (const int[]){ __VA_ARGS__ })

static inline void add_edge(struct graph *g, int from, int to)
{
    if (from < 0) return;
    g->edges = grown(g->edges, g->nedges, sizeof *g->edges);
    g->edges[g->nedges++] = (struct edge){ from, to };
}

/* Edges, in order of their ends. Readers are kept as a chain for each datum. */
static inline void find_edges(struct graph *g)
{
    int *writer = malloc((size_t)g->ndata * sizeof *writer),
        *last_reader = malloc((size_t)g->ndata * sizeof *writer);
    int *before = malloc((size_t)g->njobs * JOB_DATA_MAX * sizeof *before); /* the reader before that one */
    for (int d = 0; d < g->ndata; d++) writer[d] = last_reader[d] = -1;
    for (int t = 0; t < g->njobs; t++) {
        struct job *j = &g->jobs[t];
        for (int i = 0; i < j->count; i++) {
            int d = j->data[i];
            add_edge(g, writer[d], t);
            if (i < j->count - j->writes) {
                before[t * JOB_DATA_MAX + i] = last_reader[d];
                last_reader[d] = t * JOB_DATA_MAX + i;
                continue;
            }
            for (int r = last_reader[d]; r >= 0; r = before[r]) add_edge(g, r / JOB_DATA_MAX, t);
            writer[d] = t;
            last_reader[d] = -1;
        }
    }
    free(writer);
    free(last_reader);
    free(before);
}

/* Sets to_end for tasks that take seconds[kind]; returns the longest path of all. */
static inline double graph_paths(struct graph *g, const double seconds[KINDS])
{
    double longest = 0;
    for (int t = 0; t < g->njobs; t++) g->jobs[t].to_end = seconds[g->jobs[t].kind];
    for (int e = g->nedges - 1; e >= 0; e--) { /* the end of an edge is complete when its edges come */
        struct job *from = &g->jobs[g->edges[e].from], *to = &g->jobs[g->edges[e].to];
        double via = seconds[from->kind] + to->to_end;
        if (via > from->to_end) from->to_end = via;
    }
    for (int t = 0; t < g->njobs; t++)
        if (g->jobs[t].to_end > longest) longest = g->jobs[t].to_end;
    return longest;
}

/* ---- the graphs ---- */

#define AT(i, j) (base + (i)*n + (j))

static inline void add_cholesky(struct graph *g, int base, int n)
{
    for (int k = 0; k < n; k++) {
        ADD(g, POTRF, 1, AT(k, k));
        for (int i = k + 1; i < n; i++) ADD(g, TRSM, 1, AT(k, k), AT(i, k));
        for (int i = k + 1; i < n; i++) {
            ADD(g, SYRK, 1, AT(i, k), AT(i, i));
            for (int j = k + 1; j < i; j++) ADD(g, GEMM, 1, AT(i, k), AT(j, k), AT(i, j));
        }
    }
}

/* LU without pivoting. */
static inline void add_lu(struct graph *g, int base, int n)
{
    for (int k = 0; k < n; k++) {
        ADD(g, GETRF, 1, AT(k, k));
        for (int i = k + 1; i < n; i++) {
            ADD(g, TRSM, 1, AT(k, k), AT(i, k));
            ADD(g, TRSM, 1, AT(k, k), AT(k, i));
        }
        for (int i = k + 1; i < n; i++)
            for (int j = k + 1; j < n; j++) ADD(g, GEMM, 1, AT(i, k), AT(k, j), AT(i, j));
    }
}

/* QR by a flat tree: each tile of a column is combined with the diagonal one in turn. */
static inline void add_qr(struct graph *g, int base, int n)
{
    for (int k = 0; k < n; k++) {
        ADD(g, GEQRT, 1, AT(k, k));
        for (int j = k + 1; j < n; j++) ADD(g, UNMQR, 1, AT(k, k), AT(k, j));
        for (int i = k + 1; i < n; i++) {
            ADD(g, TSQRT, 2, AT(k, k), AT(i, k));
            for (int j = k + 1; j < n; j++) ADD(g, TSMQR, 2, AT(i, k), AT(k, j), AT(i, j));
        }
    }
}

/* A line of n cells updated in place from their neighbours, n times. */
static inline void add_stencil(struct graph *g, int base, int n)
{
    for (int step = 0; step < n; step++)
        for (int i = 0; i < n; i++) {
            if (i > 0 && i + 1 < n)
                ADD(g, POINT, 1, base + i - 1, base + i + 1, base + i);
            else
                ADD(g, POINT, 1, base + (i > 0 ? i - 1 : i + 1), base + i);
        }
}

/* 3n layers of n tasks; each reads up to three data of the layer before. */
static inline void add_layered(struct graph *g, int base, int n)
{
    static const enum kind choice[4] = { SMALL, SYRK, GEMM, LARGE };
    unsigned long state = 12345;
    for (int layer = 0; layer < 3 * n; layer++)
        for (int i = 0; i < n; i++) {
            int data[JOB_DATA_MAX], count = 0;
            int inputs =
                layer == 0
                    ? 0
                    : 1 + (int)((state = state * 6364136223846793005ul + 1442695040888963407ul) >> 33) % 3;
            for (int k = 0; k < inputs; k++) {
                state = state * 6364136223846793005ul + 1442695040888963407ul;
                int from = AT(layer - 1, (int)(state >> 33) % n);
                if (count == 0 || data[count - 1] != from) data[count++] = from;
            }
            state = state * 6364136223846793005ul + 1442695040888963407ul;
            data[count++] = AT(layer, i);
            graph_add(g, choice[(state >> 33) % 4], 1, count, data);
        }
}

/* 4n graphs of a Cholesky of 3x3 tiles each. */
static inline void add_many(struct graph *g, int base, int n)
{
    for (int i = 0; i < 4 * n; i++) add_cholesky(g, base + 9 * i, 3);
}

static const struct {
    const char *name;
    void (*add)(struct graph *g, int base, int n);
    int size;
} graph_makers[] = {
    { "cholesky", add_cholesky, 16 }, { "lu", add_lu, 10 },           { "qr", add_qr, 9 },
    { "stencil", add_stencil, 40 },   { "layered", add_layered, 14 }, { "many", add_many, 16 },
};
enum { GRAPHS = sizeof graph_makers / sizeof graph_makers[0] };

static inline struct graph graph_make(int which)
{
    struct graph g = { .name = graph_makers[which].name };
    graph_makers[which].add(&g, 0, graph_makers[which].size);
    find_edges(&g);
    return g;
}

static inline void graph_free(struct graph *g)
{
    free(g->jobs);
    free(g->edges);
}

#endif
