/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 4
 *
 * ORRERY_MPI_LEND=1 over MPI: ranks without work run tasks of one that has much, and the results come home;
 * where the work is even, too. Threads: main of each rank, workers. Owns: the data.
 * Not here: the messages of a loan, one by one (lending.c).
 */
#include <unistd.h>

#include "mpi/api/session.h"
#include "tests/mpi/helper_mpi.h"

enum { TASKS = 80, EVEN = 30, VALUES = 64, NAP_US = 3000 };
enum { TILES = 40, ROWS = 96, COLS = 80, GAP = 8, GAP_VALUE = -7 }; /* a tile has more than 32 KiB */

/* value[0] += step; value[1] = the rank that ran it */
static void work(void *buffers[], void *arg)
{
    int *v = (int *)STARPU_VECTOR_GET_PTR(buffers[0]), step;
    starpu_codelet_unpack_args(arg, &step);
    for (int i = 2; i < VALUES; i++) v[i] += step * i;
    v[0] += step;
    v[1] = my_rank;
    usleep(NAP_US);
}
static struct starpu_codelet work_cl = {
    .cpu_funcs = { work }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "work"
};

static int value[TASKS][VALUES];
static starpu_data_handle_t handle[TASKS];

static void register_values(int count, int owner_of_all)
{
    for (int i = 0; i < count; i++) {
        int owner = owner_of_all >= 0 ? owner_of_all : i % ranks;
        memset(value[i], 0, sizeof value[i]);
        starpu_vector_data_register(&handle[i], owner == my_rank ? STARPU_MAIN_RAM : -1,
                                    owner == my_rank ? (uintptr_t)value[i] : 0, VALUES, sizeof value[i][0]);
        starpu_mpi_data_register(handle[i], i, owner);
    }
}

static void insert_all(int count, int steps)
{
    for (int step = 1; step <= steps; step++)
        for (int i = 0; i < count; i++)
            starpu_mpi_task_insert(MPI_COMM_WORLD, &work_cl, STARPU_RW, handle[i], STARPU_VALUE, &step,
                                   sizeof step, 0);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) starpu_data_unregister(handle[i]);
}

static struct orr_lend_counts counts_now(void)
{
    return orr_lend_get_counts(&orr_the_session.lend);
}

/* Of this rank's values, after so many steps: how many are wrong; *elsewhere_out: were made elsewhere last.
 */
static int count_wrong(int count, int owner_of_all, int steps, int *elsewhere_out)
{
    int wrong = 0, sum = steps * (steps + 1) / 2;
    for (int i = 0; i < count; i++) {
        if (my_rank != (owner_of_all >= 0 ? owner_of_all : i % ranks)) continue;
        wrong += value[i][0] != sum;
        for (int k = 2; k < VALUES; k++) wrong += value[i][k] != sum * k;
        *elsewhere_out += value[i][1] != my_rank;
    }
    return wrong;
}

static void one_has_all(void)
{
    int elsewhere = 0;
    register_values(TASKS, 0);
    insert_all(TASKS, 3);
    struct orr_lend_counts c = counts_now();
    int wrong = count_wrong(TASKS, 0, 3, &elsewhere);
    printf("# rank %d: asked %d times, refused %d; borrowed %d, lent %d, undone %d\n", my_rank, (int)c.asked,
           (int)c.refused, (int)c.borrowed, (int)c.lent, (int)c.undone);
    fact(wrong == 0, "tasks that other ranks ran have the right results");
    fact(my_rank != 0 || (elsewhere > 0 && c.lent > 0),
         "ranks without work ran tasks of the one that had all");
    fact(my_rank == 0 || c.lent == 0, "who has nothing lends nothing");
}

/* Cores that others want as well make work uneven, so some may be lent. */
static void even(void)
{
    struct orr_lend_counts before = counts_now();
    int elsewhere = 0, count = EVEN / 2 * (ranks < 5 ? ranks : 5);
    register_values(count, -1);
    starpu_mpi_barrier(MPI_COMM_WORLD);
    insert_all(count, 2);
    struct orr_lend_counts after = counts_now();
    printf("# rank %d: asked %d times in the even part, lent %d\n", my_rank,
           (int)(after.asked - before.asked), (int)(after.lent - before.lent));
    fact(count_wrong(count, -1, 2, &elsewhere) == 0, "where all have as much, results are right");
}

/* ---- data that ranks of a node use in place ---- */

/* Each element of a += that of b + 1. */
static void add_tile(void *buffers[], void *arg UNUSED)
{
    int *a = (int *)STARPU_MATRIX_GET_PTR(buffers[0]);
    const int *b = (const int *)STARPU_MATRIX_GET_PTR(buffers[1]);
    size_t lda = STARPU_MATRIX_GET_LD(buffers[0]), ldb = STARPU_MATRIX_GET_LD(buffers[1]);
    for (size_t j = 0; j < COLS; j++)
        for (size_t i = 0; i < ROWS; i++) a[i + j * lda] += b[i + j * ldb] + 1;
    usleep(NAP_US);
}
static struct starpu_codelet add_tile_cl = {
    .cpu_funcs = { add_tile }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .name = "add_tile"
};

/* Tiles with gaps between their columns, all of rank 0's. */
static void register_tiles(starpu_data_handle_t h[TILES], int *memory)
{
    for (int i = 0; i < TILES; i++) {
        int *tile = memory + (size_t)i * COLS * (ROWS + GAP);
        for (int k = 0; my_rank == 0 && k < COLS * (ROWS + GAP); k++)
            tile[k] = k % (ROWS + GAP) < ROWS ? i : GAP_VALUE;
        starpu_matrix_data_register(&h[i], my_rank == 0 ? STARPU_MAIN_RAM : -1,
                                    my_rank == 0 ? (uintptr_t)tile : 0, ROWS + GAP, ROWS, COLS, sizeof *tile);
        starpu_mpi_data_register(h[i], i, 0);
    }
}

/* The last tile is what all others are added, steps times. */
static int count_wrong_tiles(const int *memory, int steps)
{
    int wrong = 0;
    for (int i = 0; i < TILES; i++)
        for (int k = 0; k < COLS * (ROWS + GAP); k++) {
            int is = memory[(size_t)i * COLS * (ROWS + GAP) + (size_t)k];
            int right = i + (i < TILES - 1 ? steps * TILES : 0);
            wrong += is != (k % (ROWS + GAP) < ROWS ? right : GAP_VALUE);
        }
    return wrong;
}

static bool are_seen(const int *memory)
{
    struct orr_transport *t = orr_the_session.cluster.engine.transport;
    return t->ops->shows && t->ops->shows(t, 1, memory, true);
}

/* Returns how many data were used in place. */
static uint64_t lend_tiles(int *memory)
{
    enum { STEPS = 3 };
    static starpu_data_handle_t h[TILES];
    struct orr_lend_counts before = counts_now();
    register_tiles(h, memory);
    for (int step = 0; step < STEPS; step++)
        for (int i = 0; i < TILES - 1; i++)
            starpu_mpi_task_insert(MPI_COMM_WORLD, &add_tile_cl, STARPU_RW, h[i], STARPU_R, h[TILES - 1], 0);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    for (int i = 0; i < TILES; i++) starpu_data_unregister(h[i]);
    struct orr_lend_counts after = counts_now();
    fact(my_rank != 0 || (after.lent > before.lent && count_wrong_tiles(memory, STEPS) == 0),
         "tasks on tiles with gaps are lent, and their results are right");
    return after.in_place - before.in_place;
}

static void in_place(void)
{
    enum { BYTES = TILES * COLS * (ROWS + GAP) * sizeof(int) };
    void *seen = NULL, *own = my_rank == 0 ? malloc(BYTES) : NULL;
    if (my_rank == 0) starpu_malloc(&seen, BYTES);
    uint64_t used = lend_tiles(seen);
    fact(my_rank != 0 || (are_seen(seen) ? used > 0 : used == 0),
         "they are used in place where the borrower sees them (%d)", (int)used);
    used = lend_tiles(own);
    fact(my_rank != 0 || (are_seen(own) ? used > 0 : used == 0), "and sent where it does not (of malloc: %d)",
         (int)used);
    if (my_rank == 0) starpu_free_noflag(seen, BYTES);
    free(own);
}

/* All elements = i. */
static void make_tile(void *buffers[], void *arg)
{
    int *a = (int *)STARPU_VECTOR_GET_PTR(buffers[0]), with;
    starpu_codelet_unpack_args(arg, &with);
    for (size_t i = 0; i < ROWS * COLS * 2; i++) a[i] = with;
    usleep(NAP_US);
}
static struct starpu_codelet make_tile_cl = {
    .cpu_funcs = { make_tile }, .nbuffers = 1, .modes = { STARPU_W }, .name = "make_tile"
};

/* Data without memory until a lent task is to write it first. */
static void first_values(void)
{
    static starpu_data_handle_t h[TILES];
    struct orr_lend_counts before = counts_now();
    int wrong = 0;
    void *some = NULL;
    starpu_malloc(&some, ROWS * COLS * 2 * sizeof(int));
    for (int i = 0; i < TILES; i++) {
        starpu_vector_data_register(&h[i], -1, 0, ROWS * COLS * 2, sizeof(int));
        starpu_mpi_data_register(h[i], i, 0);
        starpu_mpi_task_insert(MPI_COMM_WORLD, &make_tile_cl, STARPU_W, h[i], STARPU_VALUE, &i, sizeof i, 0);
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    struct orr_lend_counts after = counts_now();
    for (int i = 0; i < TILES && my_rank == 0; i++) {
        starpu_data_acquire(h[i], STARPU_R);
        const int *v = (const int *)starpu_data_get_local_ptr(h[i]);
        for (int k = 0; k < ROWS * COLS * 2; k++) wrong += v[k] != i;
        starpu_data_release(h[i]);
    }
    for (int i = 0; i < TILES; i++) starpu_data_unregister(h[i]);
    fact(my_rank != 0 || (after.lent > before.lent && wrong == 0), "lent tasks write first values");
    fact(my_rank != 0 || (are_seen(some) ? after.bytes == before.bytes && after.in_place > before.in_place
                                         : after.in_place == before.in_place),
         "in place, too, where the borrower sees them");
    starpu_free_noflag(some, ROWS * COLS * 2 * sizeof(int));
}

int main(int argc, char **argv)
{
    setenv("ORRERY_MPI_LEND", "1", 1);
    mpi_start(&argc, &argv, 1);
    one_has_all();
    even();
    in_place();
    first_values();
    return mpi_finish();
}
