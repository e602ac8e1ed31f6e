/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster: Cholesky on an emulated cluster: kernels wait instead of computing, on ranks of different speeds
 * that the runtime is not told of. Its makespan over a lower bound says how well work is shared out.
 * Threads: main of each rank inserts; kernels run on workers.
 * Owns: the tiles, their handles, and the list of tasks.
 * Not here: schedules without a runtime (tools/simulate).
 *
 * The options are above read_options(). */
#include <starpu_mpi.h>
#include <sys/prctl.h>

#include "stream.h"

enum kind { POTRF, TRSM, SYRK, GEMM, KINDS };
enum { FIRST_COUNTED = 2, RANKS_MAX = 4096, TILES_READ = 2 };

static const double durations[KINDS] = { 0.4, 0.6, 0.6, 1 };

struct task {
    enum kind kind;
    int reads[TILES_READ], writes; /* tiles; -1: none */
    double level;                  /* longest path from its start to the end of the graph */
};

struct cluster {
    int rank, ranks, workers, rows, tiles, tasks, iterations, reversed_from;
    size_t words; /* of a tile */
    double gemm_us, speeds[RANKS_MAX];
    struct task *list;
    starpu_data_handle_t *handles; /* of tiles */
    uint64_t *memory, *expected;   /* expected: the first word of each tile */
};

static double us_per_unit; /* of this rank, in this iteration: read by kernels */

/* ---- kernels ---- */

static uint64_t mix(uint64_t a, uint64_t b)
{
    a = (a ^ b ^ a << 7) * 0x9e3779b97f4a7c15u;
    return a ^ a >> 32;
}

/* A tile is told by its first word: the others follow from it. */
static void fill_tile(uint64_t *tile, size_t words, uint64_t first)
{
    for (size_t k = 0; k < words; k++) tile[k] = first + k;
}

static uint64_t value_of(void *buffer)
{
    const uint64_t *tile = (const uint64_t *)STARPU_VECTOR_GET_PTR(buffer);
    for (size_t k = 1; k < STARPU_VECTOR_GET_NX(buffer); k++)
        if (tile[k] != tile[0] + k) return 0;
    return tile[0];
}

static void wait_us(double us)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    long ns = until.tv_nsec + (long)(us * 1000);
    until.tv_sec += ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL)) continue;
}

static void run(enum kind kind, void *buffers[], int count)
{
    static __thread int precise;
    if (!precise) precise = !prctl(PR_SET_TIMERSLACK, 1000);
    uint64_t v = mix(value_of(buffers[count - 1]), kind);
    for (int i = 0; i < count - 1; i++) v = mix(v, value_of(buffers[i]));
    wait_us(durations[kind] * us_per_unit);
    fill_tile((uint64_t *)STARPU_VECTOR_GET_PTR(buffers[count - 1]), STARPU_VECTOR_GET_NX(buffers[count - 1]),
              v);
}

static void run_potrf(void *buffers[], void *args)
{
    (void)args;
    run(POTRF, buffers, 1);
}

static void run_trsm(void *buffers[], void *args)
{
    (void)args;
    run(TRSM, buffers, 2);
}

static void run_syrk(void *buffers[], void *args)
{
    (void)args;
    run(SYRK, buffers, 2);
}

static void run_gemm(void *buffers[], void *args)
{
    (void)args;
    run(GEMM, buffers, 3);
}

static struct starpu_perfmodel models[KINDS] = {
    { .type = STARPU_HISTORY_BASED, .symbol = "cluster_potrf" },
    { .type = STARPU_HISTORY_BASED, .symbol = "cluster_trsm" },
    { .type = STARPU_HISTORY_BASED, .symbol = "cluster_syrk" },
    { .type = STARPU_HISTORY_BASED, .symbol = "cluster_gemm" },
};
static struct starpu_codelet codelets[KINDS] = {
    { .cpu_funcs = { run_potrf }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "potrf" },
    { .cpu_funcs = { run_trsm }, .nbuffers = 2, .modes = { STARPU_R, STARPU_RW }, .name = "trsm" },
    { .cpu_funcs = { run_syrk }, .nbuffers = 2, .modes = { STARPU_R, STARPU_RW }, .name = "syrk" },
    { .cpu_funcs = { run_gemm }, .nbuffers = 3, .modes = { STARPU_R, STARPU_R, STARPU_RW }, .name = "gemm" },
};

/* ---- the graph ---- */

static int tile_of(int i, int j)
{
    return i * (i + 1) / 2 + j;
}

static void add(struct cluster *c, enum kind kind, int read, int other, int written)
{
    c->list[c->tasks++] = (struct task){ .kind = kind, .reads = { read, other }, .writes = written };
}

static void make_list(struct cluster *c)
{
    int n = c->rows;
    c->tiles = n * (n + 1) / 2;
    c->list = calloc((size_t)n * (size_t)(n + 1) * (size_t)(n + 2) / 6, sizeof *c->list);
    for (int k = 0; k < n; k++) {
        add(c, POTRF, -1, -1, tile_of(k, k));
        for (int i = k + 1; i < n; i++) add(c, TRSM, tile_of(k, k), -1, tile_of(i, k));
        for (int i = k + 1; i < n; i++) {
            add(c, SYRK, tile_of(i, k), -1, tile_of(i, i));
            for (int j = k + 1; j < i; j++) add(c, GEMM, tile_of(i, k), tile_of(j, k), tile_of(i, j));
        }
    }
}

/* Backwards: level[t] is that of the tasks behind that use tile t, up to the next that writes it. No task
 * here writes what another one read. Returns the longest path. */
static double find_levels(struct cluster *c)
{
    double *level = calloc((size_t)c->tiles, sizeof *level), longest = 0;
    for (int k = c->tasks - 1; k >= 0; k--) {
        struct task *t = &c->list[k];
        t->level = level[t->writes] + durations[t->kind];
        level[t->writes] = t->level;
        for (int i = 0; i < TILES_READ; i++)
            if (t->reads[i] >= 0 && level[t->reads[i]] < t->level) level[t->reads[i]] = t->level;
        if (t->level > longest) longest = t->level;
    }
    free(level);
    return longest;
}

/* In seconds. */
static double lower_bound(struct cluster *c)
{
    double path = find_levels(c), work = 0, sum = 0, best = 0;
    for (int k = 0; k < c->tasks; k++) work += durations[c->list[k].kind];
    for (int r = 0; r < c->ranks; r++) {
        sum += c->speeds[r];
        if (c->speeds[r] > best) best = c->speeds[r];
    }
    work /= sum * c->workers;
    path /= best;
    return (work > path ? work : path) * c->gemm_us * 1e-6;
}

/* What the tiles must hold after one more iteration. */
static void expect(struct cluster *c)
{
    for (int k = 0; k < c->tasks; k++) {
        const struct task *t = &c->list[k];
        uint64_t v = mix(c->expected[t->writes], t->kind);
        for (int i = 0; i < TILES_READ; i++)
            if (t->reads[i] >= 0) v = mix(v, c->expected[t->reads[i]]);
        c->expected[t->writes] = v;
    }
}

/* ---- data ---- */

static int owner_of(const struct cluster *c, int i, int j)
{
    int p = 1;
    for (int f = 2; f * f <= c->ranks; f++)
        if (c->ranks % f == 0) p = f;
    int q = c->ranks / p;
    return i % p * q + j % q;
}

static void register_tiles(struct cluster *c)
{
    c->handles = calloc((size_t)c->tiles, sizeof(starpu_data_handle_t));
    c->expected = calloc((size_t)c->tiles, sizeof *c->expected);
    c->memory = calloc((size_t)c->tiles * c->words, sizeof *c->memory);
    for (int i = 0; i < c->rows; i++)
        for (int j = 0; j <= i; j++) {
            int t = tile_of(i, j), mine = owner_of(c, i, j) == c->rank;
            uint64_t *tile = c->memory + (size_t)t * c->words;
            c->expected[t] = mix((uint64_t)t, 1);
            if (mine) fill_tile(tile, c->words, c->expected[t]);
            starpu_vector_data_register(&c->handles[t], mine ? STARPU_MAIN_RAM : -1,
                                        mine ? (uintptr_t)tile : 0, (uint32_t)c->words, sizeof *tile);
            starpu_mpi_data_register(c->handles[t], t, owner_of(c, i, j));
        }
}

/* Ends the handles. Whether all tiles are right, on all ranks. */
static int end_tiles(struct cluster *c)
{
    int wrong = 0, all;
    for (int t = 0; t < c->tiles; t++) starpu_data_unregister(c->handles[t]);
    for (int i = 0; i < c->rows; i++)
        for (int j = 0; j <= i; j++) {
            const uint64_t *tile = c->memory + (size_t)tile_of(i, j) * c->words;
            if (owner_of(c, i, j) != c->rank) continue;
            for (size_t k = 0; k < c->words; k++) wrong += tile[k] != c->expected[tile_of(i, j)] + k;
        }
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    free(c->handles);
    free(c->memory);
    free(c->expected);
    free(c->list);
    return all == 0;
}

/* ---- runs ---- */

static void insert(struct cluster *c, const struct task *t)
{
    struct starpu_codelet *cl = &codelets[t->kind];
    starpu_data_handle_t *h = c->handles;
    int priority = (int)(t->level * 10), error;
    if (t->kind == POTRF)
        error =
            starpu_mpi_task_insert(MPI_COMM_WORLD, cl, STARPU_RW, h[t->writes], STARPU_PRIORITY, priority, 0);
    else if (t->kind == GEMM)
        error = starpu_mpi_task_insert(MPI_COMM_WORLD, cl, STARPU_R, h[t->reads[0]], STARPU_R, h[t->reads[1]],
                                       STARPU_RW, h[t->writes], STARPU_PRIORITY, priority, 0);
    else
        error = starpu_mpi_task_insert(MPI_COMM_WORLD, cl, STARPU_R, h[t->reads[0]], STARPU_RW, h[t->writes],
                                       STARPU_PRIORITY, priority, 0);
    if (error) {
        fprintf(stderr, "starpu_mpi_task_insert: %d\n", error);
        exit(1);
    }
}

/* Seconds of one iteration, the same on all ranks. */
static double iterate(struct cluster *c, int iteration)
{
    int reversed = c->reversed_from >= 0 && iteration >= c->reversed_from;
    us_per_unit = c->gemm_us / c->speeds[reversed ? c->ranks - 1 - c->rank : c->rank];
    starpu_mpi_barrier(MPI_COMM_WORLD);
    double start = now();
    for (int k = 0; k < c->tasks; k++) insert(c, &c->list[k]);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_mpi_barrier(MPI_COMM_WORLD);
    double took = now() - start, all;
    expect(c);
    MPI_Allreduce(&took, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

/* Tiles sent so far by all ranks. */
static double tiles_sent(const struct cluster *c)
{
    size_t *bytes = calloc((size_t)c->ranks, sizeof *bytes);
    double sum = 0, all;
    starpu_mpi_comm_amounts_retrieve(bytes);
    for (int r = 0; r < c->ranks; r++) sum += (double)bytes[r];
    free(bytes);
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all / ((double)c->words * sizeof *c->memory);
}

static void read_speeds(struct cluster *c, const char *text)
{
    int count = 0;
    for (char *end; count < c->ranks && *text; text = *end ? end + 1 : end, count++) {
        c->speeds[count] = strtod(text, &end);
        if (end == text || c->speeds[count] <= 0) {
            fprintf(stderr, "cluster: -v needs speeds above 0, as in 1,1,3,3\n");
            exit(2);
        }
    }
    for (int r = count; r < c->ranks && count; r++) c->speeds[r] = c->speeds[r - count];
}

/* -N rows of tiles (14), -w workers a rank (2), -v speeds of the ranks, repeated (1,1,1,1), -k us of a gemm
 * at speed 1 (4000), -i iterations (6; from the third they count), -b bytes of a tile (8192), -s policy
 * (prio), -x iteration from which the speeds are dealt in reverse (never), -q: only the last line. Durations:
 * gemm 1, trsm and syrk 0.6, potrf 0.4. Tile (i, j) belongs to rank (i mod p) * q + j mod q of a grid of p *
 * q ranks, p the largest factor up to the root of their number. over: makespan over the larger of (sum of
 * durations) / (workers * sum of speeds) and (longest path of the graph) / (largest speed). messages: bytes
 * that all ranks sent in an iteration, over the bytes of a tile. Each kernel mixes what it reads into what it
 * writes: a task too early, or twice, or with an old tile shows. */
static void read_options(struct cluster *c, int argc, char **argv)
{
    c->workers = (int)option_number(argc, argv, "-w", 2);
    c->rows = (int)option_number(argc, argv, "-N", 14);
    c->words = (size_t)option_number(argc, argv, "-b", 8192) / sizeof(uint64_t);
    c->gemm_us = (double)option_number(argc, argv, "-k", 4000);
    c->iterations = (int)option_number(argc, argv, "-i", 6);
    c->reversed_from = (int)option_number(argc, argv, "-x", -1);
    read_speeds(c, option_text(argc, argv, "-v", "1,1,1,1"));
    if (c->iterations > SAMPLES_MAX) c->iterations = SAMPLES_MAX;
}

static void start(struct cluster *c, int argc, char **argv)
{
    struct starpu_conf conf;
    char name[64];
    snprintf(name, sizeof name, "cluster-%s",
             getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : "0");
    setenv("STARPU_HOSTNAME", name, 1); /* models of its own, as a node of a cluster has them */
#ifndef starpu_mpi_comm_amounts_retrieve
    setenv("STARPU_COMM_STATS", "1", 1);     /* StarPU 1.3 has no other way to count, */
    setenv("STARPU_WORKERS_NOBIND", "1", 1); /* and binds all ranks of a node to the same cores */
#endif
    fill_conf(&conf, (int)option_number(argc, argv, "-w", 2), option_text(argc, argv, "-s", "prio"));
    conf.calibrate = 2; /* and unknown at the start */
    if (starpu_mpi_init_conf(&argc, &argv, 1, MPI_COMM_WORLD, &conf)) exit(EXIT_SKIP);
#ifdef starpu_mpi_comm_amounts_retrieve
    starpu_mpi_comm_stats_enable();
#endif
    starpu_mpi_comm_rank(MPI_COMM_WORLD, &c->rank);
    starpu_mpi_comm_size(MPI_COMM_WORLD, &c->ranks);
    read_options(c, argc, argv);
    for (int k = 0; k < KINDS; k++) codelets[k].model = &models[k];
}

int main(int argc, char **argv)
{
    static struct cluster c;
    double over[SAMPLES_MAX], sent = 0;
    int quiet = option_given(argc, argv, "-q");
    start(&c, argc, argv);
    make_list(&c);
    double bound = lower_bound(&c);
    register_tiles(&c);
    for (int k = 0; k < c.iterations; k++) {
        double took = iterate(&c, k), before = sent;
        over[k] = took / bound;
        sent = tiles_sent(&c);
        if (c.rank == 0 && !quiet)
            printf("iteration %d: makespan_ms=%.1f over=%.3f messages=%.0f\n", k + 1, took * 1e3, over[k],
                   sent - before);
    }
    int counted = c.iterations - FIRST_COUNTED, right = end_tiles(&c);
    double middle = counted > 0 ? median(over + FIRST_COUNTED, counted) : over[c.iterations - 1];
    if (c.rank == 0)
        printf("cluster ranks=%d workers=%d rows=%d speeds=%s bound_ms=%.1f makespan_ms=%.1f over=%.3f "
               "messages=%.0f %s\n",
               c.ranks, c.workers, c.rows, option_text(argc, argv, "-v", "1,1,1,1"), bound * 1e3,
               middle * bound * 1e3, middle, sent / c.iterations, right ? "ok" : "WRONG");
    fflush(stdout);
    starpu_mpi_shutdown();
    return right ? 0 : 1;
}
