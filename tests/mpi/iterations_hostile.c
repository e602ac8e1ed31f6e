/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 3 */
/*
 * Iterations that a replay would do wrong: with orders on workers, with insertions on another communicator.
 * Each must be inserted each time, on every rank that it concerns.
 * Threads: main of each rank; one worker per rank executes.
 * Owns: the data of each rank.
 * Not here: iterations that may be replayed (iterations.c).
 */
#include <orrery_mpi.h>

#include "tests/mpi/helper_mpi.h"

enum { STEPS = 4, TAG = 500 };

static starpu_data_handle_t own[RANKS_MOST], other[RANKS_MOST]; /* of each rank */
static unsigned value[2][RANKS_MOST], want[2][RANKS_MOST];

static void add(void *buffers[], void *arg)
{
    (void)arg;
    *(unsigned *)STARPU_VARIABLE_GET_PTR(buffers[0]) = *(unsigned *)STARPU_VARIABLE_GET_PTR(buffers[0]) * 3 +
                                                       *(unsigned *)STARPU_VARIABLE_GET_PTR(buffers[1]) + 1;
}
static struct starpu_codelet add_cl = {
    .cpu_funcs = { add }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .name = "add"
};

static void compute(unsigned *to, unsigned from)
{
    *to = *to * 3 + from + 1;
}

static int begin(int id, int *failed)
{
    int r = orrery_mpi_iteration_begin(MPI_COMM_WORLD, id);
    if (r < 0) *failed = 1;
    return r;
}

static int are_right(void)
{
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    int right = 1;
    for (int i = 0; i < 2; i++) {
        starpu_data_handle_t h = i ? other[my_rank] : own[my_rank];
        starpu_data_acquire(h, STARPU_R);
        right &= *(unsigned *)starpu_data_get_local_ptr(h) == want[i][my_rank];
        starpu_data_release(h);
    }
    return right;
}

/* Each rank's datum reads the next one's; in an order on worker 0 that goes on from iteration to iteration.
 */
static void ordered(void)
{
    int failed = 0, inserted = 0;
    unsigned next = 1;
    for (int step = 0; step < STEPS && !failed; step++) {
        int r = begin(1, &failed);
        for (int i = 0; i < ranks && r == 0; i++)
            failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &add_cl, STARPU_RW, own[i], STARPU_R,
                                             other[(i + 1) % ranks], STARPU_EXECUTE_ON_WORKER, 0,
                                             STARPU_WORKER_ORDER, next, 0);
        next++;
        for (int i = 0; i < ranks; i++) compute(&want[0][i], want[1][(i + 1) % ranks]);
        inserted += r == 0;
        orrery_mpi_iteration_end(MPI_COMM_WORLD);
    }
    fact(!failed && inserted == STEPS, "tasks with an order on their worker are inserted each time");
    fact(!failed && are_right(), "with the right results");
}

/* Rank 1 only sends for what is inserted on the other communicator. */
static void two_communicators(void)
{
    int failed = 0, inserted = 0;
    MPI_Comm second;
    MPI_Comm_dup(MPI_COMM_WORLD, &second);
    for (int step = 0; step < STEPS; step++) {
        int r = begin(2, &failed);
        for (int i = 0; i < ranks && r == 0; i++)
            failed |=
                starpu_mpi_task_insert(MPI_COMM_WORLD, &add_cl, STARPU_RW, own[i], STARPU_R, other[i], 0);
        if (r == 0)
            failed |= starpu_mpi_task_insert(second, &add_cl, STARPU_RW, other[0], STARPU_R, own[1], 0);
        for (int i = 0; i < ranks; i++) compute(&want[0][i], want[1][i]);
        compute(&want[1][0], want[0][1]);
        inserted += r == 0;
        orrery_mpi_iteration_end(MPI_COMM_WORLD);
    }
    fact(!failed && (inserted == STEPS || my_rank > 1),
         "an iteration that inserts on another communicator is inserted each time");
    fact(are_right(), "so that its values arrive");
    MPI_Comm_free(&second);
}

int main(int argc, char **argv)
{
    mpi_start(&argc, &argv, 1);
    for (int i = 0; i < ranks; i++) {
        value[0][i] = want[0][i] = (unsigned)i;
        value[1][i] = want[1][i] = (unsigned)i + 7;
        register_owned(&own[i], (int *)&value[0][i], TAG + i, i);
        register_owned(&other[i], (int *)&value[1][i], TAG + 10 + i, i);
    }
    ordered();
    two_communicators();
    for (int i = 0; i < ranks; i++) {
        starpu_data_unregister(own[i]);
        starpu_data_unregister(other[i]);
    }
    return mpi_finish();
}
