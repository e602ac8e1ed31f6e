/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pieces of a whole that move, by the public functions: what their home does with plans by hand, pieces that
 * end while the whole is busy, data that outlive a start of the layer, data that get a tag late. Home is rank
 * 0 and cuts the whole; to the others pieces are data of their own. ranks: 2 3
 */
#include <orrery_mpi.h>
#include <unistd.h>

#include "tests/mpi/helper_mpi.h"

enum { PIECES = 4, N = 12, TAG = 20 };

static starpu_data_handle_t whole, piece[PIECES], other[3];
static long value[N];
static int bad;
static struct starpu_data_filter quarters = { .filter_func = starpu_vector_filter_block,
                                              .nchildren = PIECES },
                                 thirds = { .filter_func = starpu_vector_filter_block, .nchildren = 3 };

static void inc(void *buffers[], void *arg UNUSED)
{
    long *p = (long *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (uint32_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) p[i]++;
}
static struct starpu_codelet inc_cl = {
    .cpu_funcs = { inc }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "inc"
};

static void wait_long(void *buffers[] UNUSED, void *arg UNUSED)
{
    usleep(50000);
}
static struct starpu_codelet wait_cl = {
    .cpu_funcs = { wait_long }, .nbuffers = 1, .modes = { STARPU_R }, .name = "wait"
};

static struct starpu_codelet inc_with_cl = {
    .cpu_funcs = { inc }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .name = "inc_with"
};

static void check(int r)
{
    if (r) bad++;
}

static void begin(bool tags)
{
    for (int i = 0; i < N; i++) value[i] = 0;
    if (my_rank == 0) {
        starpu_vector_data_register(&whole, STARPU_MAIN_RAM, (uintptr_t)value, N, sizeof value[0]);
        starpu_data_partition_plan(whole, &quarters, piece);
        starpu_data_partition_plan(whole, &thirds, other);
    }
    for (int i = 0; i < PIECES; i++) {
        if (my_rank) starpu_vector_data_register(&piece[i], -1, 0, N / PIECES, sizeof value[0]);
        if (tags)
            starpu_mpi_data_register(piece[i], TAG + i, 0);
        else
            starpu_mpi_data_set_rank(piece[i], 0);
    }
}

static void clean(void)
{
    starpu_data_partition_clean(whole, PIECES, piece);
    starpu_data_partition_clean(whole, 3, other);
}

static void end(void)
{
    if (my_rank == 0) clean();
    for (int i = 0; i < PIECES && my_rank; i++) starpu_data_unregister(piece[i]);
    if (my_rank == 0) starpu_data_unregister(whole);
    check(starpu_mpi_barrier(MPI_COMM_WORLD));
}

static void inc_all(int rank)
{
    for (int i = 0; i < PIECES; i++)
        check(starpu_mpi_task_insert(MPI_COMM_WORLD, &inc_cl, STARPU_RW, piece[i], STARPU_EXECUTE_ON_NODE,
                                     rank, 0));
}

static bool all_are(long expected)
{
    bool are = true;
    if (my_rank) return true;
    check(starpu_data_acquire(whole, STARPU_R));
    for (int i = 0; i < N; i++) are &= value[i] == expected;
    starpu_data_release(whole);
    return are;
}

static void count(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
}

/* Pieces come home while a plan is as home made it by hand, which they do not belong to; and a plan that
 * tasks would have begun at home is ended there. */
static void by_hand(void)
{
    atomic_int ended = 0;
    begin(true);
    for (int round = 0; round < 3; round++) {
        inc_all(1);
        if (my_rank == 0) starpu_data_partition_submit(whole, 3, other);
        check(starpu_mpi_wait_for_all(MPI_COMM_WORLD));
        if (my_rank == 0) {
            check(starpu_task_insert(&wait_cl, STARPU_R, other[round], 0));
            starpu_data_unpartition_submit_sequential_consistency_cb(whole, 3, other, STARPU_MAIN_RAM, 1,
                                                                     count, &ended);
        }
        inc_all(1);
        check(starpu_mpi_wait_for_all(MPI_COMM_WORLD));
        if (my_rank == 0)
            starpu_data_unpartition_submit_sequential_consistency_cb(whole, PIECES, piece, STARPU_MAIN_RAM, 1,
                                                                     count, &ended);
    }
    bool right = all_are(6);
    fact(right, "plans that home begins and ends by hand change no values of pieces that move");
    fact(my_rank || ended == 6, "and whoever waits for their end is told");
    end();
}

/* The whole is in use for long, so pieces that ended are still there when all that is away returns. */
static void ends_while_busy(void)
{
    begin(true);
    inc_all(1);
    if (my_rank == 0) {
        check(starpu_task_insert(&wait_cl, STARPU_R, whole, 0));
        clean();
        starpu_data_unregister_submit(whole);
    }
    for (int i = 0; i < PIECES && my_rank; i++) starpu_data_unregister_submit(piece[i]);
    check(starpu_mpi_wait_for_all(MPI_COMM_WORLD));
    starpu_mpi_cache_flush_all_data(MPI_COMM_WORLD);
    bool right = true;
    for (int i = 0; i < N && my_rank == 0; i++) right &= value[i] == 1;
    fact(right, "pieces that ended, and are still in use, do not return once more");
    check(starpu_mpi_barrier(MPI_COMM_WORLD));
}

static void across_starts(void)
{
    begin(true);
    inc_all(1);
    bool right = all_are(1);
    check(starpu_mpi_wait_for_all(MPI_COMM_WORLD));
    check(starpu_mpi_barrier(MPI_COMM_WORLD));
    starpu_mpi_shutdown();
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    check(starpu_mpi_init_conf(NULL, NULL, 0, MPI_COMM_WORLD, &conf));
    inc_all(1);
    right &= all_are(2);
    inc_all(1);
    right &= all_are(3);
    fact(right, "home finds what is away also where data are older than the layer");
    end();
}

/* A task with a piece that all know without a tag is put off; then it gets one. */
static void late_tag(void)
{
    starpu_data_handle_t x;
    starpu_vector_data_register(&x, -1, 0, 1, sizeof value[0]);
    starpu_mpi_data_register(x, TAG + PIECES, 1);
    if (my_rank == 1) {
        check(starpu_data_acquire(x, STARPU_W));
        *(long *)starpu_data_get_local_ptr(x) = 0;
        starpu_data_release(x);
    }
    begin(false);
    check(starpu_mpi_task_insert(MPI_COMM_WORLD, &inc_cl, STARPU_RW, x, STARPU_EXECUTE_ON_NODE, 0, 0));
    if (my_rank == 1) usleep(50000);
    check(starpu_mpi_task_insert(MPI_COMM_WORLD, &inc_with_cl, STARPU_RW, piece[0], STARPU_R, x,
                                 STARPU_EXECUTE_ON_NODE, 0, 0));
    for (int i = 1; i < PIECES && my_rank == 0; i++)
        check(starpu_task_insert(&inc_cl, STARPU_RW, piece[i], 0));
    bool right = all_are(1);
    starpu_mpi_data_register(piece[0], TAG, 0);
    check(starpu_mpi_task_insert(MPI_COMM_WORLD, &inc_cl, STARPU_RW, piece[0], STARPU_EXECUTE_ON_NODE, 1, 0));
    for (int i = 1; i < PIECES && my_rank == 0; i++)
        check(starpu_task_insert(&inc_cl, STARPU_RW, piece[i], 0));
    right &= all_are(2);
    fact(right, "home finds a piece that got its tag late in the whole");
    end();
    starpu_data_unregister(x);
}

/* All ranks cut the whole; a piece of another plan gets a tag while one that overlaps it is away. */
static void known_late(void)
{
    for (int i = 0; i < N; i++) value[i] = 0;
    starpu_vector_data_register(&whole, my_rank ? -1 : STARPU_MAIN_RAM, my_rank ? 0 : (uintptr_t)value, N,
                                sizeof value[0]);
    starpu_data_partition_plan(whole, &quarters, piece);
    starpu_data_partition_plan(whole, &thirds, other);
    for (int i = 0; i < PIECES; i++) starpu_mpi_data_register(piece[i], TAG + i, 0);
    inc_all(1);
    starpu_mpi_data_register(other[0], TAG + PIECES, 0);
    inc_all(ranks - 1);
    inc_all(0);
    check(starpu_mpi_task_insert(MPI_COMM_WORLD, &inc_cl, STARPU_RW, other[0], STARPU_EXECUTE_ON_NODE, 1, 0));
    check(starpu_mpi_wait_for_all(MPI_COMM_WORLD));
    clean();
    starpu_data_unregister(whole);
    bool right = true;
    for (int i = 0; i < N && my_rank == 0; i++) right &= value[i] == (i < N / 3 ? 4 : 3);
    fact(right, "a tag of a piece changes nothing for those that are away and overlap it");
    check(starpu_mpi_barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    setenv("ORRERY_MPI_SCHED", "dmda", 0);
    mpi_start(&argc, &argv, 1);
    by_hand();
    ends_while_busy();
    late_tag();
    known_late();
    across_starts();
    fact(!bad, "and nothing fails");
    return mpi_finish();
}
