/* SPDX-License-Identifier: BSD-3-Clause */
/* graph.c: see graph.h.
 * Threads: main.
 * Owns: see graph.h.
 * Not here: see graph.h. */
#include "tools/simulate/graph.h"

#include <errno.h>
#include <string.h>

#include "core/base/alloc.h"

/* Kernels of dense factorisations, by their operations and how well they use a core. */
enum { FACTOR, SOLVE, SQUARE, UPDATE };
static const float lengths[] = { 0.4f, 0.6f, 0.6f, 1 };

/* ---- building ---- */

struct builder {
    struct sim_graph *g;
    const struct sim_graph_setup *setup;
    int p, q; /* the grid of ranks */
    int failed;
};

static struct sim_task *add(struct builder *b, int kind, float length)
{
    struct sim_graph *g = b->g;
    if (g->tasks_count == g->tasks_room) {
        int room = g->tasks_room ? 2 * g->tasks_room : 1024;
        struct sim_task *more = orr_realloc(g->tasks, (size_t)room * sizeof *more);
        if (!more) {
            b->failed = 1;
            return NULL;
        }
        g->tasks = more;
        g->tasks_room = room;
    }
    struct sim_task *t = &g->tasks[g->tasks_count++];
    *t = (struct sim_task){ .kind = (uint8_t)kind, .length = length };
    return t;
}

static void use(struct sim_task *t, int datum, enum sim_mode mode)
{
    if (!t || datum < 0) return;
    t->data[t->count] = datum;
    t->mode[t->count++] = (uint8_t)mode;
}

static int make_data(struct builder *b, int count)
{
    b->g->homes = orr_calloc((size_t)count, sizeof *b->g->homes);
    b->g->data_count = count;
    if (!b->g->homes) b->failed = 1;
    return !b->failed;
}

static void make_grid(struct builder *b)
{
    b->p = 1;
    for (int f = 2; f * f <= b->setup->ranks; f++)
        if (b->setup->ranks % f == 0) b->p = f;
    b->q = b->setup->ranks / b->p;
}

static int cyclic(const struct builder *b, int i, int j)
{
    return i % b->p * b->q + j % b->q;
}

/* ---- graphs ---- */

static void dense_kinds(struct sim_graph *g)
{
    static const char *const names[] = { "factor", "solve", "square", "update" };
    g->kinds_count = 4;
    for (int k = 0; k < 4; k++) g->kinds[k] = names[k];
}

static int lower(int i, int j)
{
    return i * (i + 1) / 2 + j;
}

static void cholesky(struct builder *b)
{
    int n = b->setup->size;
    dense_kinds(b->g);
    if (!make_data(b, n * (n + 1) / 2)) return;
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) b->g->homes[lower(i, j)] = cyclic(b, i, j);
    for (int k = 0; k < n && !b->failed; k++) {
        use(add(b, FACTOR, lengths[FACTOR]), lower(k, k), SIM_RW);
        for (int i = k + 1; i < n; i++) {
            struct sim_task *t = add(b, SOLVE, lengths[SOLVE]);
            use(t, lower(k, k), SIM_R);
            use(t, lower(i, k), SIM_RW);
        }
        for (int i = k + 1; i < n; i++)
            for (int j = k + 1; j <= i; j++) {
                int kind = i == j ? SQUARE : UPDATE;
                struct sim_task *t = add(b, kind, lengths[kind]);
                use(t, lower(i, k), SIM_R);
                use(t, i == j ? -1 : lower(j, k), SIM_R);
                use(t, lower(i, j), SIM_RW);
            }
    }
}

static void lu(struct builder *b)
{
    int n = b->setup->size;
    dense_kinds(b->g);
    if (!make_data(b, n * n)) return;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) b->g->homes[i * n + j] = cyclic(b, i, j);
    for (int k = 0; k < n && !b->failed; k++) {
        use(add(b, FACTOR, 2 * lengths[FACTOR]), k * n + k, SIM_RW);
        for (int i = k + 1; i < 2 * n - k - 1; i++) {
            struct sim_task *t = add(b, SOLVE, lengths[SOLVE]);
            int j = i < n ? i * n + k : k * n + i - n + k + 1; /* the column, then the row */
            use(t, k * n + k, SIM_R);
            use(t, j, SIM_RW);
        }
        for (int i = k + 1; i < n; i++)
            for (int j = k + 1; j < n; j++) {
                struct sim_task *t = add(b, UPDATE, lengths[UPDATE]);
                use(t, i * n + k, SIM_R);
                use(t, k * n + j, SIM_R);
                use(t, i * n + j, SIM_RW);
            }
    }
}

/* Each point from the five around it, in turns between two halves. */
static void stencil(struct builder *b)
{
    int n = b->setup->size;
    b->g->kinds[0] = "point";
    b->g->kinds_count = 1;
    if (!make_data(b, 2 * n * n)) return;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            int home = i * b->p / n * b->q + j * b->q / n;
            b->g->homes[i * n + j] = b->g->homes[n * n + i * n + j] = home;
        }
    for (int s = 0; s < b->setup->steps; s++)
        for (int i = 0; i < n && !b->failed; i++)
            for (int j = 0; j < n; j++) {
                int from = s % 2 * n * n, to = n * n - from;
                struct sim_task *t = add(b, 0, 1);
                use(t, to + i * n + j, SIM_W);
                use(t, from + i * n + j, SIM_R);
                use(t, i ? from + (i - 1) * n + j : -1, SIM_R);
                use(t, i < n - 1 ? from + (i + 1) * n + j : -1, SIM_R);
                use(t, j ? from + i * n + j - 1 : -1, SIM_R);
                use(t, j < n - 1 ? from + i * n + j + 1 : -1, SIM_R);
            }
}

/* Each task changes one datum and reads two others, all drawn from a window that moves on; four kinds. */
static void random_graph(struct builder *b)
{
    static const char *const names[] = { "random1", "random2", "random3", "random4" };
    int n = b->setup->size, window = n < 64 ? n : n / 4;
    uint64_t seed = b->setup->seed;
    b->g->kinds_count = 4;
    for (int k = 0; k < 4; k++) b->g->kinds[k] = names[k];
    if (!make_data(b, n)) return;
    for (int d = 0; d < n; d++) b->g->homes[d] = d % b->setup->ranks;
    for (int64_t k = 0; k < (int64_t)n * b->setup->steps && !b->failed; k++) {
        int kind = (int)sim_random(&seed, 4), first = (int)(k % n), data[3];
        struct sim_task *t = add(b, kind, 0.25f * (float)(kind + 1));
        for (int i = 0; i < 3; i++) {
            data[i] = (first + (int)sim_random(&seed, (uint64_t)window)) % n;
            for (int before = 0; before < i; before++)
                if (data[before] == data[i]) data[i] = -1;
            use(t, data[i], i ? SIM_R : SIM_RW);
        }
    }
}

/* ---- levels ---- */

/* Backwards: level[d] is that of the tasks behind that need what d holds now. */
static void find_levels(struct sim_graph *g, float *level)
{
    for (int k = g->tasks_count - 1; k >= 0; k--) {
        struct sim_task *t = &g->tasks[k];
        float longest = 0;
        for (int i = 0; i < t->count; i++)
            if (t->mode[i] & SIM_W && level[t->data[i]] > longest) longest = level[t->data[i]];
        t->level = longest + t->length;
        for (int i = 0; i < t->count; i++) {
            float *l = &level[t->data[i]];
            if (t->mode[i] & SIM_W)
                *l = t->mode[i] & SIM_R ? t->level : 0;
            else if (*l < t->level)
                *l = t->level;
        }
        g->work += (double)t->length;
        if ((double)t->level > g->path) g->path = (double)t->level;
    }
}

int sim_graph_init(struct sim_graph *g, const struct sim_graph_setup *setup)
{
    static const struct {
        const char *name;
        void (*build)(struct builder *b);
    } graphs[] = {
        { "cholesky", cholesky }, { "lu", lu }, { "stencil", stencil }, { "random", random_graph }
    };
    struct builder b = { .g = g, .setup = setup };
    *g = (struct sim_graph){ .name = setup->name };
    make_grid(&b);
    for (size_t i = 0; i < sizeof graphs / sizeof graphs[0]; i++)
        if (!strcmp(graphs[i].name, setup->name)) graphs[i].build(&b);
    if (!g->data_count && !b.failed) return -EINVAL;
    float *level = b.failed ? NULL : orr_calloc((size_t)g->data_count, sizeof *level);
    if (!level) {
        sim_graph_fini(g);
        return -ENOMEM;
    }
    find_levels(g, level);
    orr_free(level);
    return 0;
}

void sim_graph_fini(struct sim_graph *g)
{
    orr_free(g->tasks);
    orr_free(g->homes);
    *g = (struct sim_graph){ 0 };
}
