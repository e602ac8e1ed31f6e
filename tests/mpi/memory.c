/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 */
/*
 * Memory for values that another rank owns is given back: when somebody writes the value anew, after each
 * task with the cache off, by a flush, and after a migration. Small values may keep theirs, up to a limit.
 * Threads: main of each rank.
 * Owns: the data of each case.
 * Not here: which values are sent (task_insert.c, migrate.c).
 */
#include "tests/mpi/helper_mpi.h"

enum { N = 48, LARGE = 512 << 10, SMALL = 32 << 10, SMALLS = 400, KEPT_MOST = 4 << 20 };

static starpu_data_handle_t handles[SMALLS];

static void write_func(void *buffers[], void *arg)
{
    int value;
    starpu_codelet_unpack_args(arg, &value);
    memset((void *)STARPU_VECTOR_GET_PTR(buffers[0]), value, STARPU_VECTOR_GET_NX(buffers[0]));
}
static struct starpu_codelet write_cl = {
    .cpu_funcs = { write_func }, .nbuffers = 1, .modes = { STARPU_W }, .name = "write"
};

static atomic_int wrong;
static void check_func(void *buffers[], void *arg)
{
    int value;
    const char *bytes = (const char *)STARPU_VECTOR_GET_PTR(buffers[0]);
    starpu_codelet_unpack_args(arg, &value);
    unsigned n = STARPU_VECTOR_GET_NX(buffers[0]);
    if (bytes[0] != (char)value || bytes[n - 1] != (char)value) atomic_fetch_add(&wrong, 1);
}
static struct starpu_codelet check_cl = {
    .cpu_funcs = { check_func }, .nbuffers = 1, .modes = { STARPU_R }, .name = "check"
};

/* Owned by rank 0, without memory of the program's. */
static void register_all(int count, int bytes)
{
    for (int i = 0; i < count; i++) {
        starpu_vector_data_register(&handles[i], -1, 0, (uint32_t)bytes, 1);
        starpu_mpi_data_register(handles[i], i, 0);
    }
    atomic_store(&wrong, 0);
}

static void unregister_all(int count)
{
    for (int i = 0; i < count; i++) starpu_data_unregister(handles[i]);
}

static void write_on_owner(int i, int value)
{
    starpu_mpi_task_insert(MPI_COMM_WORLD, &write_cl, STARPU_W, handles[i], STARPU_VALUE, &value,
                           sizeof value, 0);
}

static void check_on_other(int i, int value)
{
    starpu_mpi_task_insert(MPI_COMM_WORLD, &check_cl, STARPU_R, handles[i], STARPU_VALUE, &value,
                           sizeof value, STARPU_EXECUTE_ON_NODE, 1, 0);
}

static int allocated(int count)
{
    int sum = 0;
    for (int i = 0; i < count; i++) {
        int is_allocated, is_valid, is_requested;
        starpu_data_query_status(handles[i], STARPU_MAIN_RAM, &is_allocated, &is_valid, &is_requested);
        sum += is_allocated;
    }
    return sum;
}

static void superseded(void)
{
    register_all(N, LARGE);
    for (int i = 0; i < N; i++) {
        write_on_owner(i, i);
        check_on_other(i, i);
        write_on_owner(i, i + 1);
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(my_rank == 0 || allocated(N) == 0, "copies of %d values that were written anew are given back",
         (int)N);
    fact(my_rank != 0 || allocated(N) == N, "their owner's are not");
    for (int i = 0; i < N; i++) check_on_other(i, i + 1);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(wrong == 0, "and what is received later is right");
    fact(my_rank == 0 || allocated(N) == N, "and stays while it is current");
    starpu_mpi_cache_flush(MPI_COMM_WORLD, handles[0]);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(my_rank == 0 || allocated(N) == N - 1, "until one is flushed");
    starpu_mpi_cache_flush_all_data(MPI_COMM_WORLD);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(my_rank == 0 || allocated(N) == 0, "or all are");
    unregister_all(N);
}

static void cache_off(void)
{
    starpu_mpi_cache_set(0);
    register_all(N, LARGE);
    for (int i = 0; i < N; i++) {
        write_on_owner(i, i);
        check_on_other(i, i);
        check_on_other(i, i);
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(wrong == 0 && (my_rank == 0 || allocated(N) == 0),
         "without the cache they are given back after each task");
    for (int i = 0; i < N; i++) { /* a task away from home, which brings its result back */
        int value = -i;
        starpu_mpi_task_insert(MPI_COMM_WORLD, &write_cl, STARPU_W, handles[i], STARPU_VALUE, &value,
                               sizeof value, STARPU_EXECUTE_ON_NODE, 1, 0);
        starpu_mpi_task_insert(MPI_COMM_WORLD, &check_cl, STARPU_R, handles[i], STARPU_VALUE, &value,
                               sizeof value, STARPU_EXECUTE_ON_NODE, 0, 0);
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(wrong == 0 && (my_rank == 0 || allocated(N) == 0), "and so are results once they are sent home");
    for (int i = 0; i < N; i++)
        starpu_mpi_get_data_on_node_detached(MPI_COMM_WORLD, handles[i], 1, NULL, NULL);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(my_rank == 0 || allocated(N) == N, "what the program asked for stays");
    for (int i = 0; i < N; i++) write_on_owner(i, i);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(my_rank == 0 || allocated(N) == 0, "until it is written anew");
    unregister_all(N);
    starpu_mpi_cache_set(1);
}

static void results_away(void)
{
    register_all(N, LARGE);
    for (int i = 0; i < N; i++) {
        int value = i;
        starpu_mpi_task_insert(MPI_COMM_WORLD, &write_cl, STARPU_W, handles[i], STARPU_VALUE, &value,
                               sizeof value, STARPU_EXECUTE_ON_NODE, 1, 0);
        check_on_other(i, i);
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(wrong == 0 && (my_rank == 0 || allocated(N) == N), "a result made for its owner stays current here");
    for (int i = 0; i < N; i++) write_on_owner(i, i + 1);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(my_rank == 0 || allocated(N) == 0, "until its owner writes it");
    unregister_all(N);
}

/* The same value step after step. */
static void stencil(void)
{
    enum { STEPS = 50, EDGES = 8 };
    register_all(EDGES, SMALL);
    for (int step = 0; step < STEPS; step++)
        for (int i = 0; i < EDGES; i++) {
            write_on_owner(i, step + i);
            check_on_other(i, step + i);
        }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(wrong == 0, "small values received %d times are right", (int)STEPS);
    for (int i = 0; i < EDGES; i++) write_on_owner(i, 0);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(my_rank == 0 || allocated(EDGES) == EDGES, "and keep their memory for the next value");
    starpu_mpi_cache_flush_all_data(MPI_COMM_WORLD);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(my_rank == 0 || allocated(EDGES) == 0, "until they are flushed");
    unregister_all(EDGES);
    register_all(SMALLS, SMALL);
    for (int i = 0; i < SMALLS; i++) {
        write_on_owner(i, i);
        check_on_other(i, i);
        write_on_owner(i, i + 1);
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    int here = allocated(SMALLS);
    fact(wrong == 0 && (my_rank == 0 || (long)here * SMALL <= KEPT_MOST),
         "but not more than 4 MiB of them altogether");
    for (int i = 0; i < SMALLS; i++) check_on_other(i, i + 1);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(wrong == 0, "and their next values are right too");
    unregister_all(SMALLS);
}

static void migrated(void)
{
    register_all(N, LARGE);
    for (int i = 0; i < N; i++) {
        write_on_owner(i, i);
        starpu_mpi_data_migrate(MPI_COMM_WORLD, handles[i], 1);
        check_on_other(i, i);
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    for (int i = 0; i < N; i++) write_on_owner(i, i + 1); /* on rank 1 now */
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(wrong == 0 && allocated(N) == (my_rank == 0 ? 0 : N),
         "after a migration and a write the memory is where the new owner is");
    unregister_all(N);
}

/* Memory that the program registered is the program's, also where another rank owns the value. */
static void of_the_program(void)
{
    char *bytes = calloc(1, LARGE);
    starpu_vector_data_register(&handles[0], STARPU_MAIN_RAM, (uintptr_t)bytes, LARGE, 1);
    starpu_mpi_data_register(handles[0], 1, 0);
    write_on_owner(0, 3);
    check_on_other(0, 3);
    write_on_owner(0, 4);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    int failed = starpu_data_acquire(handles[0], STARPU_R);
    fact(!failed && bytes[LARGE - 1] == (my_rank == 0 ? 4 : 3),
         "the program's own memory keeps the value it received");
    starpu_data_release(handles[0]);
    starpu_data_unregister(handles[0]);
    free(bytes);
}

int main(int argc, char **argv)
{
    mpi_start(&argc, &argv, 1);
    superseded();
    cache_off();
    results_away();
    stencil();
    migrated();
    of_the_program();
    return mpi_finish();
}
