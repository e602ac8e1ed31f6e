/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 3 4 */
/*
 * Changing the owner of a handle: its value follows, and so do the tasks that write it.
 * Threads: main of each rank; one worker per rank executes.
 * Owns: the migrated handles.
 * Not here: fetching a copy (collectives.c).
 */
#include "tests/mpi/helper_mpi.h"

static void stamp_func(void *buffers[], void *arg UNUSED)
{
    int *value = (int *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    *value = *value * 10 + my_rank + 1;
}
static struct starpu_codelet stamp_cl = {
    .cpu_funcs = { stamp_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "stamp"
};

static int stamp(starpu_data_handle_t handle)
{
    return starpu_mpi_task_insert(MPI_COMM_WORLD, &stamp_cl, STARPU_RW, handle, 0);
}

static int read_local(starpu_data_handle_t handle)
{
    if (starpu_data_acquire(handle, STARPU_R) != 0) return -1000;
    int value = *(int *)starpu_data_get_local_ptr(handle);
    starpu_data_release(handle);
    return value;
}

static void there_and_back(void)
{
    int value = 0, failed = 0;
    starpu_data_handle_t handle;
    register_owned(&handle, &value, 100, 0);
    failed |= stamp(handle);
    starpu_mpi_data_migrate(MPI_COMM_WORLD, handle, 1);
    fact(starpu_mpi_data_get_rank(handle) == 1, "after a migration every rank knows the new owner");
    failed |= stamp(handle);
    int got = my_rank == 1 ? read_local(handle) : 12;
    fact(!failed && got == 12, "the value has moved, and tasks that write it run on the new owner");
    starpu_mpi_data_migrate(MPI_COMM_WORLD, handle, 0);
    failed |= stamp(handle);
    starpu_task_wait_for_all();
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_data_unregister(handle);
    fact(!failed && (my_rank != 0 || value == 121), "migrated back it is where it was registered");
}

static void around(void)
{
    int value = 0, failed = 0, want = 0;
    starpu_data_handle_t handle;
    register_owned(&handle, &value, 200, 0);
    for (int step = 0; step <= 2 * ranks; step++) {
        int owner = step % ranks;
        starpu_mpi_data_migrate(MPI_COMM_WORLD, handle, owner);
        failed |= stamp(handle);
        want = want * 10 + owner + 1;
    }
    starpu_task_wait_for_all();
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_data_unregister(handle);
    fact(!failed && (my_rank != 0 || value == want),
         "two laps of migrations around all ranks keep the order of the tasks");
}

static void many(void)
{
    enum { N = 12 };
    int values[N], failed = 0, wrong = 0;
    starpu_data_handle_t handles[N];
    for (int i = 0; i < N; i++) {
        values[i] = 0;
        register_owned(&handles[i], &values[i], 300 + i, 0);
        failed |= stamp(handles[i]);
    }
    for (int i = 0; i < N; i++) starpu_mpi_data_migrate(MPI_COMM_WORLD, handles[i], i % ranks);
    for (int i = 0; i < N; i++) failed |= stamp(handles[i]);
    for (int i = 0; i < N; i++)
        if (i % ranks == my_rank) wrong += read_local(handles[i]) != 10 + my_rank + 1;
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    for (int i = 0; i < N; i++) starpu_data_unregister(handles[i]);
    fact(!failed && wrong == 0, "twelve handles are spread over all ranks with their values");
}

static void rank_set_before_use(void)
{
    int value = -1, failed = 0;
    starpu_data_handle_t handle;
    register_int(&handle, &value);
    value = 0;
    starpu_mpi_data_register(handle, 400, 0);
    starpu_mpi_data_set_rank(handle, 1);
    failed |= stamp(handle);
    starpu_task_wait_for_all();
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    int owner = starpu_mpi_data_get_rank(handle);
    starpu_data_unregister(handle);
    fact(!failed && owner == 1 && (my_rank != 1 || value == 2),
         "the rank of a handle can be set without moving anything");
}

int main(int argc, char **argv)
{
    mpi_start(&argc, &argv, 1);
    there_and_back();
    around();
    many();
    rank_set_before_use();
    return mpi_finish();
}
