/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 3 4 */
/*
 * Operations of all ranks on handles: fetching to one rank or to all, scattering, gathering, reducing.
 * Threads: main of each rank; the progress engine calls back.
 * Owns: the data of each case.
 * Not here: changing owners (migrate.c).
 */
#include "tests/mpi/helper_mpi.h"

static atomic_int callbacks;
static void called_back(void *arg)
{
    atomic_fetch_add(&callbacks, arg ? *(int *)arg : 1);
}

static int read_local(starpu_data_handle_t handle)
{
    if (starpu_data_acquire(handle, STARPU_R) != 0) return -1000;
    int value = *(int *)starpu_data_get_local_ptr(handle);
    starpu_data_release(handle);
    return value;
}

static void to_one(void)
{
    int value = my_rank == 0 ? 11 : -1;
    starpu_data_handle_t handle;
    register_owned(&handle, &value, 100, 0);
    starpu_mpi_get_data_on_node(MPI_COMM_WORLD, handle, ranks - 1);
    int got = my_rank == ranks - 1 ? read_local(handle) : 11;
    fact(got == 11, "a handle is fetched to another rank");
    starpu_mpi_get_data_on_node(MPI_COMM_WORLD, handle, 0);
    fact(my_rank != 0 || read_local(handle) == 11, "fetching it to its owner changes nothing");
    starpu_mpi_cache_flush(MPI_COMM_WORLD, handle);
    starpu_data_unregister(handle);
}

static void to_one_detached(void)
{
    int value = my_rank == 1 ? 22 : -1, one = 1;
    starpu_data_handle_t handle;
    register_owned(&handle, &value, 101, 1);
    atomic_store(&callbacks, 0);
    starpu_mpi_get_data_on_node_detached(MPI_COMM_WORLD, handle, 0, called_back, &one);
    int called = my_rank != 0 || comes_to(&callbacks, 1, 3000);
    fact(called && (my_rank != 0 || read_local(handle) == 22),
         "detached, the fetching rank is called back and has it");
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_data_unregister(handle);
}

static void to_all(void)
{
    int value = my_rank == 0 ? 33 : -1;
    starpu_data_handle_t handle;
    register_owned(&handle, &value, 102, 0);
    starpu_mpi_get_data_on_all_nodes_detached(MPI_COMM_WORLD, handle);
    int got = read_local(handle);
    fact(got == 33, "a handle is fetched to all ranks, and each acquire waits for it");
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_data_unregister(handle);
}

static void increment_func(void *buffers[], void *arg UNUSED)
{
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) += 1000;
}
static struct starpu_codelet increment_cl = {
    .cpu_funcs = { increment_func },
    .nbuffers = 1,
    .modes = { STARPU_RW },
    .name = "increment",
};

static void scatter_and_gather(void)
{
    enum { N = 8 };
    int values[N], failed = 0, wrong = 0, one = 1;
    starpu_data_handle_t handles[N];
    /* all data lives on rank 0 at first, and belongs to the ranks in turn */
    for (int i = 0; i < N; i++) {
        values[i] = my_rank == 0 ? i : -1;
        if (my_rank == 0 || i % ranks == my_rank)
            register_int(&handles[i], &values[i]);
        else
            handles[i] = NULL;
        if (handles[i]) starpu_mpi_data_register(handles[i], 200 + i, i % ranks);
    }
    atomic_store(&callbacks, 0);
    failed |=
        starpu_mpi_scatter_detached(handles, N, 0, MPI_COMM_WORLD, called_back, &one, called_back, &one);
    int called = comes_to(&callbacks, 1, 3000);
    for (int i = 0; i < N; i++) wrong += i % ranks == my_rank && read_local(handles[i]) != i;
    fact(!failed && wrong == 0, "scattering sends each handle from the root to its owner");
    usleep(2000);
    fact(called && callbacks == 1, "and calls back once on each rank, when all of its messages have passed");
    for (int i = 0; i < N; i++)
        if (i % ranks == my_rank) failed |= starpu_task_insert(&increment_cl, STARPU_RW, handles[i], 0);
    atomic_store(&callbacks, 0);
    failed |= starpu_mpi_gather_detached(handles, N, 0, MPI_COMM_WORLD, called_back, &one, called_back, &one);
    called = comes_to(&callbacks, 1, 3000);
    for (int i = 0; i < N; i++)
        if (handles[i]) starpu_data_unregister(handles[i]);
    for (int i = 0; i < N; i++) wrong += my_rank == 0 && values[i] != 1000 + i;
    fact(!failed && called && callbacks == 1 && wrong == 0,
         "gathering brings what tasks wrote on the owners back to the root");
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
}

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
#if STARPU_AT_LEAST(1, 4)
    .cpu_funcs = { sum_func },
    .nbuffers = 2,
    .modes = { STARPU_RW | STARPU_COMMUTE, STARPU_R },
    .name = "sum",
#else
    .cpu_funcs = { sum_func },
    .nbuffers = 2,
    .modes = { STARPU_RW, STARPU_R },
    .name = "sum",
#endif
};
static void contribute_func(void *buffers[], void *arg)
{
    int add;
    starpu_codelet_unpack_args(arg, &add);
    *(long *)STARPU_VARIABLE_GET_PTR(buffers[0]) += add;
}
static struct starpu_codelet contribute_cl = {
    .cpu_funcs = { contribute_func },
    .nbuffers = 1,
    .modes = { STARPU_REDUX },
    .name = "contribute",
};

static void reduction(void)
{
    long value = my_rank == 0 ? 1000000 : 0, total = 1000000;
    int failed = 0;
    starpu_data_handle_t handle;
    if (my_rank == 0)
        starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    else
        starpu_variable_data_register(&handle, -1, 0, sizeof value);
    starpu_mpi_data_register(handle, 300, 0);
    starpu_data_set_reduction_methods(handle, &sum_cl, &zero_cl);
    for (int i = 0; i < 40; i++) {
        int node = (i * 7) % ranks;
        failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &contribute_cl, STARPU_VALUE, &i, sizeof i,
                                         STARPU_REDUX, handle, STARPU_EXECUTE_ON_NODE, node, 0);
        total += i;
    }
    starpu_mpi_redux_data(MPI_COMM_WORLD, handle);
    starpu_task_wait_for_all();
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_data_unregister(handle);
    fact(!failed && (my_rank != 0 || value == total),
         "contributions of all ranks are reduced onto the owner's value");
}

int main(int argc, char **argv)
{
    mpi_start(&argc, &argv, 1);
    to_one();
    to_one_detached();
    to_all();
    scatter_and_gather();
    reduction();
    return mpi_finish();
}
