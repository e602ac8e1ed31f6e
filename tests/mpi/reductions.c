/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 3 4 */
/*
 * Reductions across ranks: by whom, on which communicator, how often, with which codelets; and what other
 * calls must do about contributions that are pending, or about there being none.
 * Threads: main of each rank inserts; workers execute.
 * Owns: the data of each case.
 * Not here: random programs (tests/long/reductions_random.c).
 */
#include "tests/mpi/helper_mpi.h"

static void zero_func(void *buffers[], void *arg UNUSED)
{
    *(long *)STARPU_VARIABLE_GET_PTR(buffers[0]) = 0;
}
static struct starpu_codelet zero_cl = {
    .cpu_funcs = { zero_func }, .nbuffers = 1, .modes = { STARPU_W }, .name = "zero"
};

static void sum_func(void *buffers[], void *arg UNUSED)
{
    *(long *)STARPU_VARIABLE_GET_PTR(buffers[0]) += *(long *)STARPU_VARIABLE_GET_PTR(buffers[1]);
}
static struct starpu_codelet sum_cl = {
    .cpu_funcs = { sum_func }, .nbuffers = 2, .modes = { STARPU_RW | STARPU_COMMUTE, STARPU_R }, .name = "sum"
};

static void contribute_func(void *buffers[], void *arg)
{
    int add;
    starpu_codelet_unpack_args(arg, &add);
    *(long *)STARPU_VARIABLE_GET_PTR(buffers[0]) += add;
}
static struct starpu_codelet contribute_cl = {
    .cpu_funcs = { contribute_func }, .nbuffers = 1, .modes = { STARPU_REDUX }, .name = "contribute"
};
static struct starpu_codelet contribute_mpi_cl = {
    .cpu_funcs = { contribute_func }, .nbuffers = 1, .modes = { STARPU_MPI_REDUX }, .name = "contribute_mpi"
};
static struct starpu_codelet accumulate_cl = { .cpu_funcs = { contribute_func },
                                               .nbuffers = 1,
                                               .modes = { STARPU_RW | STARPU_COMMUTE },
                                               .name = "accumulate" };

static void copy_func(void *buffers[], void *arg UNUSED)
{
    *(long *)STARPU_VARIABLE_GET_PTR(buffers[0]) = *(long *)STARPU_VARIABLE_GET_PTR(buffers[1]);
}
static struct starpu_codelet copy_cl = {
    .cpu_funcs = { copy_func }, .nbuffers = 2, .modes = { STARPU_W, STARPU_R }, .name = "copy"
};

/* A number that rank owner of comm has, with methods of reduction. */
static starpu_data_handle_t make(long *value, starpu_mpi_tag_t tag, int owner, MPI_Comm comm)
{
    int rank;
    starpu_data_handle_t handle;
    MPI_Comm_rank(comm, &rank);
    starpu_variable_data_register(&handle, rank == owner ? STARPU_MAIN_RAM : -1,
                                  rank == owner ? (uintptr_t)value : 0, sizeof *value);
    starpu_mpi_data_register_comm(handle, tag, owner, comm);
    starpu_data_set_reduction_methods(handle, &sum_cl, &zero_cl);
    return handle;
}

static int contribute(MPI_Comm comm, starpu_data_handle_t handle, int add, int node)
{
    return starpu_mpi_task_insert(comm, &contribute_cl, STARPU_VALUE, &add, sizeof add, STARPU_REDUX, handle,
                                  STARPU_EXECUTE_ON_NODE, node, 0);
}

static int copy_to(MPI_Comm comm, starpu_data_handle_t to, starpu_data_handle_t from)
{
    return starpu_mpi_task_insert(comm, &copy_cl, STARPU_W, to, STARPU_R, from, 0);
}

/* Even ranks and odd ranks, each in the opposite order. */
static MPI_Comm halve(int *rank, int *size)
{
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, my_rank % 2, -my_rank, &half);
    MPI_Comm_rank(half, rank);
    MPI_Comm_size(half, size);
    return half;
}

/* ---- on a part of the ranks ---- */

static void on_halves(void)
{
    int rank, size, failed = 0;
    long value = 1000, total = 1000;
    MPI_Comm half = halve(&rank, &size);
    starpu_data_handle_t handle = make(&value, 10, size - 1, half);
    for (int i = 0; i < 10; i++) {
        failed |= contribute(half, handle, i, i % size);
        total += i;
    }
    starpu_mpi_wait_for_all(half);
    starpu_data_unregister(handle);
    fact(!failed && (rank != size - 1 || value == total),
         "contributions on a part of the ranks are pending when these wait for all");
    value = 1000;
    handle = make(&value, 10, 0, half);
    for (int i = 0; i < 10; i++) failed |= contribute(half, handle, i, i % size);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_data_unregister(handle);
    fact(!failed && (rank != 0 || value == total), "or when all ranks do");
    MPI_Comm_free(&half);
}

/* Some wait while what all contribute to is pending: not for them alone to gather. */
static void pending_elsewhere(void)
{
    int rank, size, failed = 0;
    long value = 5, total = 5;
    MPI_Comm half = halve(&rank, &size);
    starpu_data_handle_t handle = make(&value, 20, ranks - 1, MPI_COMM_WORLD);
    for (int i = 0; i < ranks; i++) {
        failed |= contribute(MPI_COMM_WORLD, handle, 1 + i, i);
        total += 1 + i;
    }
    starpu_mpi_wait_for_all(half);
    for (int i = 0; i < ranks; i++) {
        failed |= contribute(MPI_COMM_WORLD, handle, 10, i);
        total += 10;
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_data_unregister(handle);
    fact(!failed && (my_rank != ranks - 1 || value == total),
         "when a part waits, what all contribute to stays pending");
    MPI_Comm_free(&half);
}

/* ---- again and again ---- */

static void read_elsewhere(void)
{
    int failed = 0, right = 1;
    long value = 1, copies[RANKS_MOST] = { 0 }, total = 1;
    starpu_data_handle_t handle = make(&value, 30, 0, MPI_COMM_WORLD), copy[RANKS_MOST];
    for (int r = 0; r < ranks; r++) copy[r] = make(&copies[r], 31 + r, r, MPI_COMM_WORLD);
    for (int round = 0; round < 6; round++) {
        int from = round % ranks, add = 1 + round;
        failed |= contribute(MPI_COMM_WORLD, handle, add, from);
        failed |= contribute(MPI_COMM_WORLD, handle, add, (from + 1) % ranks);
        total += 2 * add;
        if (round % 2) starpu_mpi_redux_data(MPI_COMM_WORLD, handle);
        for (int r = 0; r < ranks; r++) failed |= copy_to(MPI_COMM_WORLD, copy[r], handle);
        starpu_mpi_wait_for_all(MPI_COMM_WORLD);
        starpu_data_acquire(copy[my_rank], STARPU_R);
        right &= copies[my_rank] == total;
        starpu_data_release(copy[my_rank]);
    }
    for (int r = 0; r < ranks; r++) starpu_data_unregister(copy[r]);
    starpu_data_unregister(handle);
    fact(!failed && right, "reduced, read elsewhere, reduced again, read elsewhere again");
}

/* ---- codelets ---- */

static long one_reduction(struct starpu_codelet *sum, struct starpu_codelet *contribution, int mode,
                          int rounds)
{
    long value = 7;
    starpu_data_handle_t handle = make(&value, 40, 0, MPI_COMM_WORLD);
    starpu_data_set_reduction_methods(handle, sum, &zero_cl);
    for (int i = 0; i < rounds; i++) {
        int add = 1 << i, node = i % ranks;
        if (starpu_mpi_task_insert(MPI_COMM_WORLD, contribution, STARPU_VALUE, &add, sizeof add, mode, handle,
                                   STARPU_EXECUTE_ON_NODE, node, 0))
            value = -1;
    }
    starpu_mpi_redux_data(MPI_COMM_WORLD, handle);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_data_unregister(handle);
    return my_rank ? 7 + (1 << rounds) - 1 : value;
}

static void codelets(void)
{
    static struct starpu_codelet mpi_sum_cl = {
        .cpu_funcs = { sum_func }, .nbuffers = 2, .modes = { STARPU_MPI_REDUX, STARPU_R }, .name = "mpi_sum"
    };
    static struct starpu_codelet redux_sum_cl = {
        .cpu_funcs = { sum_func }, .nbuffers = 2, .modes = { STARPU_REDUX, STARPU_R }, .name = "redux_sum"
    };
    enum { N = 9, SUM = 7 + (1 << N) - 1 };
    fact(one_reduction(&mpi_sum_cl, &contribute_cl, STARPU_REDUX, N) == SUM,
         "a reduction codelet whose first mode is STARPU_MPI_REDUX");
    fact(one_reduction(&redux_sum_cl, &contribute_mpi_cl, STARPU_MPI_REDUX, N) == SUM,
         "or STARPU_REDUX, with contributions by STARPU_MPI_REDUX");
    fact(one_reduction(&mpi_sum_cl, &accumulate_cl, STARPU_MPI_REDUX, N) == SUM,
         "contributions by STARPU_MPI_REDUX whose codelet says STARPU_RW | STARPU_COMMUTE");
}

static void one_rank_alone(void)
{
    static struct starpu_codelet mpi_sum_cl = {
        .cpu_funcs = { sum_func }, .nbuffers = 2, .modes = { STARPU_MPI_REDUX, STARPU_R }, .name = "mpi_sum"
    };
    long value = 3;
    starpu_data_handle_t handle;
    int failed = 0;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    starpu_data_set_reduction_methods(handle, &mpi_sum_cl, &zero_cl);
    for (int i = 0; i < 5; i++)
        failed |= starpu_task_insert(&contribute_cl, STARPU_VALUE, &i, sizeof i, STARPU_REDUX, handle, 0);
    starpu_data_unregister(handle);
    fact(!failed && value == 3 + 10, "such a codelet within one rank");
}

/* ---- without contributions ---- */

static void nothing_to_reduce(void)
{
    long value = 50 + my_rank;
    int failed = 0;
    starpu_data_handle_t handle = make(&value, 60, 0, MPI_COMM_WORLD);
    for (int arity = 0; arity < 4; arity += arity ? 1 : 2)
        failed |= starpu_mpi_redux_data_prio_tree(MPI_COMM_WORLD, handle, 0, arity);
    failed |= starpu_mpi_redux_data(MPI_COMM_WORLD, handle);
    if (my_rank == 0) failed |= starpu_mpi_redux_data_tree(MPI_COMM_WORLD, handle, 2); /* one rank alone */
    failed |= contribute(MPI_COMM_WORLD, handle, 4, ranks - 1);
    failed |= starpu_mpi_redux_data_prio_tree(MPI_COMM_WORLD, handle, 1, 2);
    failed |= starpu_mpi_redux_data_prio_tree(MPI_COMM_WORLD, handle, 1, 2);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_data_unregister(handle);
    fact(!failed && (my_rank || value == 54), "reducing what nobody contributed to does nothing");
}

int main(int argc, char **argv)
{
    mpi_start(&argc, &argv, 1);
    on_halves();
    pending_elsewhere();
    read_elsewhere();
    codelets();
    one_rank_alone();
    nothing_to_reduce();
    return mpi_finish();
}
