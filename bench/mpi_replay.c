/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_replay: what a replayed iteration costs the inserting thread of rank 0, on two ranks, beside one that
 * is inserted; all its tasks wait behind the gate. Threads: the main thread of both ranks. Owns: the handles.
 * Not here: insertion alone (mpi_insert.c).
 *
 * local: tasks of three handles of rank 0. foreign: the same of rank 1. stencil: two halves of a line, which
 * exchange their edges. cholesky: the tasks of a factorisation of 2 x 1 block-cyclic tiles. All per task of
 * the whole stream, in ns; share: replayed over inserted, of local tasks. recognised: between
 * starpu_iteration_push and _pop. -n tasks -t tiles -r repeats -a: both ranks insert at once, with their
 * workers paused instead, as a placement that learns needs it (dmda); else rank 1 goes second, so as not to
 * compete for cores. replays: how many iterations of each kind rank 0 replayed. */
#include <starpu_mpi.h>

#include "stream.h"

#if __has_include(<orrery_mpi.h>)
#include <orrery_mpi.h>
#else /* it inserts each time */
#define orrery_mpi_iteration_begin(comm, id) 0
#define orrery_mpi_iteration_end(comm) ((void)0)
#endif

enum { TILES_MAX = 64, PHASES = 4, WARM = 2, LEARNS = 8 /* iterations, before dmda repeats them */ };
enum way { INSERTED, REPLAYED, RECOGNISED, WAYS };

static void run_empty(void *buffers[], void *args)
{
    (void)buffers;
    (void)args;
}

static struct starpu_codelet codelets[] = {
    { .cpu_funcs = { run_empty }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "one" },
    { .cpu_funcs = { run_empty }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .name = "two" },
    { .cpu_funcs = { run_empty },
      .nbuffers = 3,
      .modes = { STARPU_RW, STARPU_R, STARPU_R },
      .name = "three" },
};

static int rank;
static long count, tiles, at_once, replayed[PHASES];
static starpu_data_handle_t *line[2], tile[TILES_MAX][TILES_MAX];
static long *values;

static starpu_data_handle_t register_one(long k, int owner)
{
    starpu_data_handle_t h;
    int here = owner == rank;
    starpu_variable_data_register(&h, here ? STARPU_MAIN_RAM : -1, here ? (uintptr_t)&values[k] : 0,
                                  sizeof values[k]);
    starpu_mpi_data_register(h, k + 1, owner);
    return h;
}

/* Each returns how many tasks. */
static long independent(int owner)
{
    starpu_data_handle_t *h = line[owner];
    for (long k = 0; k < count; k++)
        starpu_mpi_task_insert(MPI_COMM_WORLD, &codelets[2], STARPU_RW, h[k % 1000], STARPU_R,
                               h[1000 + k % 1000], STARPU_R, h[2000 + k % 1000], STARPU_VALUE, &k, sizeof k,
                               0);
    return count;
}

static long local(void)
{
    return independent(0);
}

static long foreign(void)
{
    return independent(1);
}

static long stencil(void)
{
    for (long k = 0; k < 2000; k++) {
        starpu_data_handle_t here = line[k / 1000][k % 1000],
                             left = k ? line[(k - 1) / 1000][(k - 1) % 1000] : here,
                             right = k < 1999 ? line[(k + 1) / 1000][(k + 1) % 1000] : here;
        starpu_mpi_task_insert(MPI_COMM_WORLD, &codelets[2], STARPU_RW, here, STARPU_R, left, STARPU_R, right,
                               STARPU_VALUE, &k, sizeof k, 0);
    }
    return 2000;
}

static long cholesky(void)
{
    long tasks = 0;
    for (long k = 0; k < tiles; k++) {
        starpu_mpi_task_insert(MPI_COMM_WORLD, &codelets[0], STARPU_RW, tile[k][k], 0);
        tasks++;
        for (long i = k + 1; i < tiles; i++, tasks++)
            starpu_mpi_task_insert(MPI_COMM_WORLD, &codelets[1], STARPU_RW, tile[i][k], STARPU_R, tile[k][k],
                                   0);
        for (long i = k + 1; i < tiles; i++)
            for (long j = k + 1; j <= i; j++, tasks++)
                if (i == j)
                    starpu_mpi_task_insert(MPI_COMM_WORLD, &codelets[1], STARPU_RW, tile[i][j], STARPU_R,
                                           tile[i][k], 0);
                else
                    starpu_mpi_task_insert(MPI_COMM_WORLD, &codelets[2], STARPU_RW, tile[i][j], STARPU_R,
                                           tile[i][k], STARPU_R, tile[j][k], 0);
    }
    return tasks;
}

static long (*const phase[PHASES])(void) = { local, foreign, stencil, cholesky };
static const char *const phase_name[PHASES] = { "local", "foreign", "stencil", "cholesky" };
static const char *const way_name[WAYS] = { "inserted", "replayed", "recognised" };
static long phase_tasks[PHASES];

/* A gate is a task, whose length would be news to a placement that learns. */
static void hold(void)
{
    if (at_once)
        starpu_pause();
    else if (rank == 0)
        gate_close(1);
}

static void let_go(void)
{
    if (at_once)
        starpu_resume();
    else if (rank == 0)
        gate_open();
}

/* ns per task of the stream. */
static double timed(int p, enum way way)
{
    double ns = 0;
    starpu_mpi_barrier(MPI_COMM_WORLD);
    if (rank == 1 && !at_once) starpu_mpi_barrier(MPI_COMM_WORLD);
    hold();
    double start = now();
    if (way == RECOGNISED) starpu_iteration_push((unsigned long)p);
    int r = way == REPLAYED ? orrery_mpi_iteration_begin(MPI_COMM_WORLD, p) : 0;
    if (r == 0) phase_tasks[p] = phase[p]();
    if (rank == 0) ns = (now() - start) * 1e9 / (double)phase_tasks[p];
    if (way == REPLAYED) orrery_mpi_iteration_end(MPI_COMM_WORLD);
    if (way == RECOGNISED) starpu_iteration_pop();
    let_go();
    if (rank == 0 && !at_once) starpu_mpi_barrier(MPI_COMM_WORLD);
    replayed[p] += r == 1;
    starpu_task_wait_for_all();
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    if (r < 0) exit(1);
    return ns;
}

static void register_all(void)
{
    values = calloc(6000 + TILES_MAX * TILES_MAX, sizeof *values);
    for (int owner = 0; owner < 2; owner++) {
        line[owner] = malloc(3000 * sizeof *line[owner]);
        for (long k = 0; k < 3000; k++) line[owner][k] = register_one(3000 * owner + k, owner);
    }
    for (long i = 0; i < tiles; i++)
        for (long j = 0; j <= i; j++) tile[i][j] = register_one(6000 + i * TILES_MAX + j, (int)(i % 2));
}

static void unregister_all(void)
{
    for (int owner = 0; owner < 2; owner++)
        for (long k = 0; k < 3000; k++) starpu_data_unregister(line[owner][k]);
    for (long i = 0; i < tiles; i++)
        for (long j = 0; j <= i; j++) starpu_data_unregister(tile[i][j]);
    for (int owner = 0; owner < 2; owner++) free(line[owner]);
    free(values);
}

int main(int argc, char **argv)
{
    int repeats = option_repeats(argc, argv), ranks;
    static double ns[PHASES][WAYS][SAMPLES_MAX];
    struct starpu_conf conf;
    count = option_number(argc, argv, "-n", 50000);
    tiles = option_number(argc, argv, "-t", 24);
    at_once = option_given(argc, argv, "-a");
    fill_conf(&conf, 1, "eager");
    if (starpu_mpi_init_conf(&argc, &argv, 1, MPI_COMM_WORLD, &conf)) return EXIT_SKIP;
    starpu_mpi_comm_rank(MPI_COMM_WORLD, &rank);
    starpu_mpi_comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2 || tiles > TILES_MAX) {
        fprintf(stderr, "mpi_replay needs 2 ranks, and at most %d tiles\n", TILES_MAX);
        starpu_mpi_shutdown();
        return 2;
    }
    register_all();
    for (int p = 0; p < PHASES; p++) {
        timed(p, REPLAYED); /* is recorded, as the other is below */
        for (int k = at_once ? -LEARNS : -WARM; k < repeats; k++) {
            if (k == 0) replayed[p] = 0;
            for (enum way way = INSERTED; way < WAYS; way++) {
                double took = timed(p, way);
                if (k >= 0) ns[p][way][k] = took;
            }
        }
    }
    unregister_all();
    if (rank == 0) {
        printf("mpi_replay n=%ld", count);
        for (int p = 0; p < PHASES; p++)
            for (enum way way = INSERTED; way < WAYS; way++)
                printf(" %s_%s_ns=%.2f", phase_name[p], way_name[way], median(ns[p][way], repeats));
        double local_ns = median(ns[0][INSERTED], repeats);
        printf(" replays=%ld,%ld,%ld,%ld share=%.3f recognised_share=%.3f ok\n", replayed[0], replayed[1],
               replayed[2], replayed[3], median(ns[0][REPLAYED], repeats) / local_ns,
               median(ns[0][RECOGNISED], repeats) / local_ns);
    }
    fflush(stdout);
    starpu_mpi_shutdown();
    return 0;
}
