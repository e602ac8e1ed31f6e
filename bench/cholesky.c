/* SPDX-License-Identifier: BSD-3-Clause */
/* cholesky: tiled dense Cholesky, compared with the same kernels in one thread without a runtime.
 * Threads: main inserts.
 * Owns: the matrix and its handles.
 * Not here: the kernels (cholesky_tile.h).
 *
 * -N size -b tile -w workers -s policy -r repeats -p (history models). share = GFlop/s / (workers * sum over
 * the ranks of GFlop/s of the yardstick), the median over the repetitions; each rank measures the yardstick
 * before every repetition, alone, for cores may differ by several percent. With -DBENCH_MPI rows of tiles are
 * dealt to the ranks in the order of Thue and Morse, 0 1 1 0 1 0 0 1 ... (the sum of the digits of the row in
 * base `ranks`): row i costs about i*i, and that order shares out the squares evenly (E. Prouhet, 1851),
 * where plain turns would give the rank of the last row up to a tenth more work than the others, which no
 * runtime could win back. */
#ifdef BENCH_MPI
#include <starpu_mpi.h>
#define insert_task(...) starpu_mpi_task_insert(MPI_COMM_WORLD, __VA_ARGS__)
#else
#define insert_task(...) starpu_task_insert(__VA_ARGS__)
#endif
#include <stddef.h>

static void *tile_malloc(size_t bytes);
static void tile_free(void *tile);
#define tile_malloc tile_malloc
#include "cholesky_tile.h"
#include "stream.h"

static void *tile_malloc(size_t bytes)
{
    void *tile = NULL;
    return starpu_malloc(&tile, bytes) == 0 ? tile : NULL;
}

static void tile_free(void *tile)
{
    starpu_free(tile);
}

static int tile_size, rank, ranks = 1;

static double *values(void *buffer)
{
    return (double *)STARPU_MATRIX_GET_PTR(buffer);
}

static void run_potrf(void *buffers[], void *args)
{
    (void)args;
    tile_potrf(tile_size, values(buffers[0]));
}

static void run_trsm(void *buffers[], void *args)
{
    (void)args;
    tile_trsm(tile_size, values(buffers[0]), values(buffers[1]));
}

static void run_syrk(void *buffers[], void *args)
{
    (void)args;
    tile_syrk(tile_size, values(buffers[0]), values(buffers[1]));
}

static void run_gemm(void *buffers[], void *args)
{
    (void)args;
    tile_gemm(tile_size, values(buffers[0]), values(buffers[1]), values(buffers[2]));
}

static struct starpu_perfmodel models[4] = {
    { .type = STARPU_HISTORY_BASED, .symbol = "bench_potrf" },
    { .type = STARPU_HISTORY_BASED, .symbol = "bench_trsm" },
    { .type = STARPU_HISTORY_BASED, .symbol = "bench_syrk" },
    { .type = STARPU_HISTORY_BASED, .symbol = "bench_gemm" },
};
static struct starpu_codelet codelets[4] = {
    { .cpu_funcs = { run_potrf }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "potrf" },
    { .cpu_funcs = { run_trsm }, .nbuffers = 2, .modes = { STARPU_R, STARPU_RW }, .name = "trsm" },
    { .cpu_funcs = { run_syrk }, .nbuffers = 2, .modes = { STARPU_R, STARPU_RW }, .name = "syrk" },
    { .cpu_funcs = { run_gemm }, .nbuffers = 3, .modes = { STARPU_R, STARPU_R, STARPU_RW }, .name = "gemm" },
};

static void insert_all(int t, starpu_data_handle_t *h)
{
    for (int k = 0; k < t; k++) {
        insert_task(&codelets[0], STARPU_RW, h[k * t + k], STARPU_PRIORITY, STARPU_MAX_PRIO, 0);
        for (int i = k + 1; i < t; i++)
            insert_task(&codelets[1], STARPU_R, h[k * t + k], STARPU_RW, h[i * t + k], STARPU_PRIORITY,
                        i == k + 1 ? STARPU_MAX_PRIO : STARPU_DEFAULT_PRIO, 0);
        for (int i = k + 1; i < t; i++) {
            insert_task(&codelets[2], STARPU_R, h[i * t + k], STARPU_RW, h[i * t + i], STARPU_PRIORITY,
                        i == k + 1 ? STARPU_MAX_PRIO : STARPU_DEFAULT_PRIO, 0);
            for (int j = k + 1; j < i; j++)
                insert_task(&codelets[3], STARPU_R, h[i * t + k], STARPU_R, h[j * t + k], STARPU_RW,
                            h[i * t + j], 0);
        }
    }
}

static int owner_of(int row)
{
    int sum = 0;
    for (; ranks > 1 && row; row /= ranks) sum += row % ranks;
    return sum % ranks;
}

static int is_mine(int row, int column)
{
    (void)column;
    return owner_of(row) == rank;
}

static void start(int argc, char **argv, int workers, const char *policy)
{
    struct starpu_conf conf;
    fill_conf(&conf, workers, policy);
#ifdef BENCH_MPI
    int error = starpu_mpi_init_conf(&argc, &argv, 1, MPI_COMM_WORLD, &conf);
    if (!error) {
        starpu_mpi_comm_rank(MPI_COMM_WORLD, &rank);
        starpu_mpi_comm_size(MPI_COMM_WORLD, &ranks);
    }
#else
    (void)argc;
    (void)argv;
    int error = starpu_init(&conf);
#endif
    if (error) exit(EXIT_SKIP);
}

static void barrier(void)
{
#ifdef BENCH_MPI
    starpu_mpi_barrier(MPI_COMM_WORLD);
#endif
}

static void shut_down(void)
{
#ifdef BENCH_MPI
    starpu_mpi_shutdown();
#else
    starpu_shutdown();
#endif
}

static void register_tiles(struct dense *m, starpu_data_handle_t *handles)
{
    uint32_t b = (uint32_t)m->tile;
    for (int i = 0; i < m->tile_rows; i++)
        for (int j = 0; j <= i; j++) {
            int k = i * m->tile_rows + j;
            starpu_matrix_data_register(&handles[k], m->tiles[k] ? STARPU_MAIN_RAM : -1,
                                        (uintptr_t)m->tiles[k], b, b, b, sizeof(double));
#ifdef BENCH_MPI
            starpu_mpi_data_register(handles[k], k, owner_of(i));
#endif
        }
}

/* Fills this rank's tiles again, through the runtime. */
static void refill(struct dense *m, starpu_data_handle_t *handles)
{
    for (int i = 0; i < m->tile_rows; i++)
        for (int j = 0; j <= i; j++) {
            int k = i * m->tile_rows + j;
            if (!m->tiles[k]) continue;
            starpu_data_acquire(handles[k], STARPU_W);
            tile_fill(m, i, j, m->tiles[k]);
            starpu_data_release(handles[k]);
        }
#ifdef BENCH_MPI
    starpu_mpi_cache_flush_all_data(MPI_COMM_WORLD);
#endif
    barrier();
}

/* The yardstick on all ranks, one after another: the sum of their GFlop/s. */
static double measure_sequential(struct dense *check)
{
    double sum = 0;
    for (int r = 0; r < ranks; r++) {
        barrier();
        if (r == rank) sum = dense_measure(check);
    }
#ifdef BENCH_MPI
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
#endif
    return sum;
}

/* One timed factorisation, in GFlop/s. */
static double measure(struct dense *m, starpu_data_handle_t *handles)
{
    double size = m->size, begin = now();
    insert_all(m->tile_rows, handles);
    starpu_task_wait_for_all();
    barrier();
    return size * size * size / 3 / (now() - begin) * 1e-9;
}

int main(int argc, char **argv)
{
    int workers = (int)option_number(argc, argv, "-w", 1), repeats = option_repeats(argc, argv);
    const char *policy = option_text(argc, argv, "-s", "lws");
    double rate[SAMPLES_MAX], yardstick[SAMPLES_MAX], share[SAMPLES_MAX];
    tile_size = (int)option_number(argc, argv, "-b", 128);
    openblas_set_num_threads(1);
    for (int k = 0; option_given(argc, argv, "-p") && k < 4; k++) codelets[k].model = &models[k];
    start(argc, argv, workers, policy);
    struct dense m = dense_create((int)option_number(argc, argv, "-N", 2048), tile_size, is_mine),
                 check = dense_create(m.size, tile_size, NULL);
    int tiles = m.tile_rows * m.tile_rows;
    starpu_data_handle_t *handles = calloc((size_t)tiles, sizeof *handles);
    register_tiles(&m, handles);
    for (int k = -1; k < repeats; k++) {
        starpu_pause();
        double sequential = measure_sequential(&check);
        starpu_resume();
        refill(&m, handles);
        double parallel = measure(&m, handles);
        if (k >= 0) {
            rate[k] = parallel;
            yardstick[k] = sequential / ranks;
            share[k] = parallel / (sequential * workers);
        }
    }
    for (int k = 0; k < tiles; k++)
        if (handles[k]) starpu_data_unregister(handles[k]);
    int is_right = dense_difference(&m, &check) < 1e-8;
    double gflops = median(rate, repeats), sequential = median(yardstick, repeats);
    if (rank == 0)
        printf("cholesky ranks=%d N=%d tile=%d policy=%s workers=%d gflops=%.2f [%.2f-%.2f] "
               "sequential_gflops=%.2f "
               "share=%.3f %s\n",
               ranks, m.size, tile_size, policy, workers, gflops, rate[0], rate[repeats - 1], sequential,
               median(share, repeats), is_right ? "ok" : "WRONG");
    fflush(stdout);
    shut_down();
    dense_destroy(&check);
    dense_destroy(&m);
    free(handles);
    return !is_right;
}
