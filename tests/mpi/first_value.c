/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 */
/*
 * Data that nobody wrote, but that has an init codelet, is initialised when it is sent: for a task of another
 * rank, by hand, detached. Threads: main of each rank. Owns: its data. Not here: who reads on its own rank
 * (tests/core/data_first_value.c).
 */
#include "tests/mpi/helper_mpi.h"

enum { FIRST = 7 };

static int seen, inits;

static void init_func(void *buffers[], void *arg)
{
    (void)arg;
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) = FIRST;
    inits++;
}

static void sum_func(void *buffers[], void *arg)
{
    (void)arg;
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) += *(int *)STARPU_VARIABLE_GET_PTR(buffers[1]);
}

static void look_func(void *buffers[], void *arg)
{
    (void)arg;
    seen = *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]);
}

static struct starpu_codelet init_cl = { .cpu_funcs = { init_func }, .nbuffers = 1, .modes = { STARPU_W } };
static struct starpu_codelet sum_cl = { .cpu_funcs = { sum_func },
                                        .nbuffers = 2,
                                        .modes = { STARPU_RW, STARPU_R } };
static struct starpu_codelet look_cl = { .cpu_funcs = { look_func }, .nbuffers = 1, .modes = { STARPU_R } };

static starpu_data_handle_t unwritten(int64_t tag)
{
    starpu_data_handle_t h;
    seen = inits = 0;
    starpu_variable_data_register(&h, -1, 0, sizeof(int));
    starpu_data_set_reduction_methods(h, &sum_cl, &init_cl);
    if (tag >= 0) starpu_mpi_data_register(h, tag, 0);
    return h;
}

static void for_a_task(void)
{
    starpu_data_handle_t h = unwritten(1);
    int failed = starpu_mpi_task_insert(MPI_COMM_WORLD, &look_cl, STARPU_R, h, STARPU_EXECUTE_ON_NODE, 1, 0);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(!failed && seen == (my_rank == 1 ? FIRST : 0) && inits == (my_rank == 0),
         "a task of another rank reads the initial value, which the owner made");
    starpu_data_unregister(h);
}

static void by_hand(void)
{
    starpu_data_handle_t h = unwritten(-1);
    MPI_Status status;
    int failed = my_rank == 0 ? starpu_mpi_send(h, 1, 2, MPI_COMM_WORLD)
                              : starpu_mpi_recv(h, 0, 2, MPI_COMM_WORLD, &status);
    starpu_task_insert(&look_cl, STARPU_R, h, 0);
    starpu_task_wait_for_all();
    fact(!failed && seen == FIRST && inits == (my_rank == 0), "so does who receives it by hand");
    starpu_data_unregister(h);
    h = unwritten(-1);
    failed = my_rank == 0 ? starpu_mpi_isend_detached(h, 1, 3, MPI_COMM_WORLD, NULL, NULL)
                          : starpu_mpi_irecv_detached(h, 0, 3, MPI_COMM_WORLD, NULL, NULL);
    starpu_task_insert(&look_cl, STARPU_R, h, 0);
    starpu_task_wait_for_all();
    fact(!failed && seen == FIRST && inits == (my_rank == 0), "and in a detached message");
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_data_unregister(h);
}

int main(int argc, char **argv)
{
    mpi_start(&argc, &argv, 1);
    for_a_task();
    by_hand();
    return mpi_finish();
}
