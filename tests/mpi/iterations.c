/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 3 4 */
/*
 * Iterations through the public functions: a stencil that is inserted once and replayed, with owners that
 * change, values that are looked at in between, and calls that an iteration must not have.
 * Threads: main of each rank; one worker per rank executes.
 * Owns: the blocks.
 * Not here: random iterations, and what is kept of each (replays.c).
 */
#include <orrery_mpi.h>

#include "tests/mpi/helper_mpi.h"

enum { BLOCKS = 12, STEPS = 20, TAG = 300 };

static void relax(void *buffers[], void *arg)
{
    unsigned *to = (unsigned *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    const unsigned *left = (const unsigned *)STARPU_VARIABLE_GET_PTR(buffers[1]),
                   *right = (const unsigned *)STARPU_VARIABLE_GET_PTR(buffers[2]);
    int i;
    starpu_codelet_unpack_args(arg, &i);
    *to = *to * 5 + *left + 3 * *right + (unsigned)i;
}
static struct starpu_codelet relax_cl = {
    .cpu_funcs = { relax }, .nbuffers = 3, .modes = { STARPU_RW, STARPU_R, STARPU_R }, .name = "relax"
};

static starpu_data_handle_t block[BLOCKS];
static unsigned mine[BLOCKS], want[BLOCKS];

static void register_blocks(void)
{
    for (int i = 0; i < BLOCKS; i++) {
        int owner = i * ranks / BLOCKS;
        mine[i] = want[i] = (unsigned)i;
        starpu_variable_data_register(&block[i], owner == my_rank ? STARPU_MAIN_RAM : -1,
                                      owner == my_rank ? (uintptr_t)&mine[i] : 0, sizeof mine[i]);
        starpu_mpi_data_register(block[i], TAG + i, owner);
    }
}

/* One sweep; with compute: what it does, here and now. */
static int sweep(int compute)
{
    int failed = 0;
    for (int i = 0; i < BLOCKS; i++) {
        int left = (i + BLOCKS - 1) % BLOCKS, right = (i + 1) % BLOCKS;
        if (compute)
            want[i] = want[i] * 5 + want[left] + 3 * want[right] + (unsigned)i;
        else
            failed |=
                starpu_mpi_task_insert(MPI_COMM_WORLD, &relax_cl, STARPU_RW, block[i], STARPU_R, block[left],
                                       STARPU_R, block[right], STARPU_VALUE, &i, sizeof i, 0);
    }
    return failed;
}

/* Returns what the beginning did; failures go to *failed. */
static int iterate(int id, int *failed)
{
    int r = orrery_mpi_iteration_begin(MPI_COMM_WORLD, id);
    if (r == 0) *failed |= sweep(0);
    if (r < 0) *failed = 1;
    *failed |= orrery_mpi_iteration_end(MPI_COMM_WORLD);
    sweep(1);
    return r;
}

/* Whether the blocks of this rank are as they should be. */
static int blocks_are_right(void)
{
    int right = 1;
    for (int i = 0; i < BLOCKS; i++) {
        if (starpu_mpi_data_get_rank(block[i]) != my_rank) continue;
        starpu_data_acquire(block[i], STARPU_R);
        right &= *(unsigned *)starpu_data_get_local_ptr(block[i]) == want[i];
        starpu_data_release(block[i]);
    }
    return right;
}

static void stencil(void)
{
    int failed = 0, replayed = 0;
    for (int step = 0; step < STEPS; step++) replayed += iterate(1, &failed);
    fact(!failed && replayed == STEPS - 1, "the first of %d sweeps is inserted, all others are replayed",
         STEPS);
    fact(blocks_are_right(), "without waiting in between, they compute what one rank would");
    replayed = 0;
    for (int step = 0; step < STEPS; step++) {
        replayed += iterate(1, &failed);
        if (step % 3 == 0) starpu_mpi_cache_flush_all_data(MPI_COMM_WORLD);
        if (step % 4 == 0) starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    }
    fact(!failed && replayed == STEPS && blocks_are_right(),
         "flushes and waits between sweeps change nothing");
}

static void moved(void)
{
    int failed = 0, to = ranks - 1;
    starpu_mpi_data_migrate(MPI_COMM_WORLD, block[0], to);
    int first = iterate(1, &failed), second = iterate(1, &failed);
    fact(!failed && first == 0 && second == 1, "a block that moved has the sweep recorded anew, once");
    fact(blocks_are_right(), "with the results of the new owner");
    starpu_mpi_data_migrate(MPI_COMM_WORLD, block[0], 0);
    first = iterate(1, &failed);
    fact(!failed && first == 0 && blocks_are_right(), "so has one that moved back");
}

static void looked_at(void)
{
    int failed = 0, replayed = 0, right = 1;
    for (int step = 0; step < 8; step++) {
        replayed += iterate(1, &failed);
        starpu_mpi_get_data_on_node(MPI_COMM_WORLD, block[BLOCKS / 2], 0);
        if (my_rank == 0) {
            starpu_data_acquire(block[BLOCKS / 2], STARPU_R);
            right &= *(unsigned *)starpu_data_get_local_ptr(block[BLOCKS / 2]) == want[BLOCKS / 2];
            starpu_data_release(block[BLOCKS / 2]);
        }
    }
    fact(!failed && right, "a value that one rank looks at after each sweep is that of the sweep");
    fact(replayed >= 6, "and sweeps go on being replayed (%d of 8)", replayed);
}

static void spoiled(void)
{
    int failed = 0, inserted = 0;
    for (int step = 0; step < 3; step++) {
        int r = orrery_mpi_iteration_begin(MPI_COMM_WORLD, 2);
        if (r == 0) failed |= sweep(0);
        starpu_mpi_wait_for_all(MPI_COMM_WORLD); /* would be left out the next time, if it were replayed */
        inserted += r == 0;
        orrery_mpi_iteration_end(MPI_COMM_WORLD);
        sweep(1);
    }
    fact(!failed && inserted == 3, "an iteration in which the program waits is inserted each time");
    fact(orrery_mpi_iteration_end(MPI_COMM_WORLD) == -EINVAL, "an end without a beginning is refused");
    fact(orrery_mpi_iteration_forget(MPI_COMM_WORLD, -1) == 0, "records can be forgotten");
    int first = iterate(1, &failed), second = iterate(1, &failed);
    fact(!failed && first == 0 && second == 1 && blocks_are_right(),
         "then the next is inserted, and replayed after");
}

enum look { ACQUIRES, WAITS, WAITS_FOR_SOME };

/* This rank alone; the first block of its own. */
static void look(enum look how)
{
    if (how == WAITS) starpu_task_wait_for_all();
    if (how == WAITS_FOR_SOME) starpu_task_wait_for_n_submitted(1000);
    for (int i = 0; i < BLOCKS && how == ACQUIRES; i++) {
        if (starpu_mpi_data_get_rank(block[i]) != my_rank) continue;
        starpu_data_acquire(block[i], STARPU_R);
        starpu_data_release(block[i]);
    }
}

static void looked_at_inside(void)
{
    int failed = 0, in_the_middle = 0, at_the_end = 0, sudden[4];
    for (int how = ACQUIRES; how <= WAITS_FOR_SOME; how++)
        for (int step = 0; step < 3; step++) {
            int r = orrery_mpi_iteration_begin(MPI_COMM_WORLD, 10 + how);
            if (r == 0) failed |= sweep(0);
            look(how);
            if (r == 0) failed |= sweep(0);
            in_the_middle += r;
            orrery_mpi_iteration_end(MPI_COMM_WORLD);
            sweep(1), sweep(1);
        }
    fact(!failed && in_the_middle == 0 && blocks_are_right(),
         "an iteration in whose middle a rank looks at data or waits for tasks is inserted each time");
    for (int step = 0; step < 3; step++) {
        int r = orrery_mpi_iteration_begin(MPI_COMM_WORLD, 20);
        if (r == 0) failed |= sweep(0);
        sweep(1);
        look(ACQUIRES);
        at_the_end += r;
        orrery_mpi_iteration_end(MPI_COMM_WORLD);
    }
    fact(!failed && at_the_end == 2 && blocks_are_right(), "behind the last insertion that is no hindrance");
    for (int step = 0; step < 4; step++) {
        sudden[step] = orrery_mpi_iteration_begin(MPI_COMM_WORLD, 21);
        if (sudden[step] == 0) failed |= sweep(0);
        if (step == 1) look(WAITS);
        failed |= orrery_mpi_iteration_end(MPI_COMM_WORLD);
        sweep(1);
    }
    fact(!failed && !sudden[0] && sudden[1] == 1 && !sudden[2] && !sudden[3] && blocks_are_right(),
         "where the record has nothing of it, the iteration is inserted from then on");
}

static void numbered(void)
{
    int failed = 0, first = iterate(100, &failed), second = iterate(100, &failed), many = 0;
    for (int id = 1000; id < 1000 + 260; id++) many += iterate(id, &failed);
    int forgotten = iterate(100, &failed), before = iterate(2000, &failed), then = iterate(2000, &failed),
        last = iterate(2000, &failed);
    fact(!failed && !first && second == 1 && !many && !forgotten && blocks_are_right(),
         "of numbers that grow the records of some are kept, not of all");
    fact(!before && !then && last == 1,
         "and when none of many was replayed, the next is recorded when it comes again");
}

/* A sweep whose values are others each time. */
static void marked(void)
{
    int failed = 0;
    for (int step = 0; step < STEPS; step++) {
        starpu_iteration_push((unsigned long)step);
        for (int i = 0; i < BLOCKS; i++) {
            int left = (i + BLOCKS - 1) % BLOCKS, right = (i + 1) % BLOCKS, value = i + step;
            failed |=
                starpu_mpi_task_insert(MPI_COMM_WORLD, &relax_cl, STARPU_RW, block[i], STARPU_R, block[left],
                                       STARPU_R, block[right], STARPU_VALUE, &value, sizeof value, 0);
            want[i] = want[i] * 5 + want[left] + 3 * want[right] + (unsigned)value;
            if (step == STEPS - 3 && i == 2) break;
        }
        starpu_iteration_pop();
    }
    fact(!failed && blocks_are_right(),
         "sweeps between starpu_iteration_push and _pop compute what they say");
}

/* As programs do that place their tasks by the workers of the cluster. */
static void workers_looked_up(void)
{
    int failed = 0, replayed = 0;
    for (int step = 0; step < 3; step++) {
        int r = orrery_mpi_iteration_begin(MPI_COMM_WORLD, 30);
        for (int i = 0; i < BLOCKS && r == 0; i++) {
            int left = (i + BLOCKS - 1) % BLOCKS, right = (i + 1) % BLOCKS;
            int worker = orrery_cluster_worker_get_number(i % ranks, 0);
            failed |= orrery_cluster_worker_get_rank(worker) != i % ranks;
            failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &relax_cl, STARPU_RW, block[i], STARPU_R,
                                             block[left], STARPU_R, block[right], STARPU_VALUE, &i, sizeof i,
                                             ORRERY_EXECUTE_ON_CLUSTER_WORKER, worker, 0);
        }
        replayed += r == 1;
        failed |= orrery_mpi_iteration_end(MPI_COMM_WORLD);
        sweep(1);
    }
    fact(!failed && replayed == 2 && blocks_are_right(), "in an iteration workers may be looked up");
}

static void own_communicator(void)
{
    int failed = 0, replayed = 0;
    MPI_Comm turned;
    MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - my_rank, &turned);
    for (int step = 0; step < 4; step++) {
        int r = orrery_mpi_iteration_begin(turned, 1);
        for (int i = 0; i < BLOCKS && r == 0; i++) {
            int left = (i + BLOCKS - 1) % BLOCKS, right = (i + 1) % BLOCKS;
            failed |= starpu_mpi_task_insert(turned, &relax_cl, STARPU_RW, block[i], STARPU_R, block[left],
                                             STARPU_R, block[right], STARPU_VALUE, &i, sizeof i, 0);
        }
        replayed += r == 1;
        orrery_mpi_iteration_end(turned);
        sweep(1);
    }
    fact(!failed && replayed == 3 && blocks_are_right(),
         "iterations may be on a communicator of the program's");
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    MPI_Comm_free(&turned);
}

int main(int argc, char **argv)
{
    mpi_start(&argc, &argv, 1);
    register_blocks();
    stencil();
    moved();
    looked_at();
    spoiled();
    looked_at_inside();
    numbered();
    marked();
    workers_looked_up();
    own_communicator();
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    for (int i = 0; i < BLOCKS; i++) starpu_data_unregister(block[i]);
    return mpi_finish();
}
