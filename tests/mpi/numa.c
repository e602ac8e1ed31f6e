/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 */
/*
 * Messages from and to any of several main memories, on a machine of hwloc's imagination with two NUMA nodes
 * a rank: bytes are sent from where they are, and received where the data have memory. Threads: main of each
 * rank; workers; the progress engine. Owns: the data of each case. Not here: where tasks use data
 * (tests/core/memory_numa.c), devices (direct.c).
 */
#include "tests/mpi/helper_mpi.h"

enum { LARGE = 256 * 1024, SMALL = 40 };

static int far_worker; /* of the second main memory */

static void fill_func(void *buffers[], void *args)
{
    int value;
    starpu_codelet_unpack_args(args, &value);
    for (uint32_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        ((unsigned char *)STARPU_VECTOR_GET_PTR(buffers[0]))[i] = (unsigned char)(value + (int)i);
}
static int wrong;
static void expect_func(void *buffers[], void *args)
{
    int value;
    starpu_codelet_unpack_args(args, &value);
    for (uint32_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        wrong += ((unsigned char *)STARPU_VECTOR_GET_PTR(buffers[0]))[i] != (unsigned char)(value + (int)i);
}
static struct starpu_codelet fill_cl = { .cpu_funcs = { fill_func }, .nbuffers = 1, .modes = { STARPU_W } };
static struct starpu_codelet expect_cl = { .cpu_funcs = { expect_func },
                                           .nbuffers = 1,
                                           .modes = { STARPU_R } };

static int run(struct starpu_codelet *cl, starpu_data_handle_t h, int value)
{
    int r = starpu_task_insert(cl, cl->modes[0], h, STARPU_VALUE, &value, sizeof value,
                               STARPU_EXECUTE_ON_WORKER, far_worker, 0);
    return r | starpu_task_wait_for_all();
}

static int only_on(starpu_data_handle_t h, int node)
{
    int allocated = 0, valid = 0, other = 0, ignored;
    starpu_data_query_status(h, node, &allocated, &valid, &ignored);
    starpu_data_query_status(h, 1 - node, &other, &ignored, &ignored);
    return allocated && valid && !other;
}

/* Both ranks have memory for it in their second main memory when rank 0 sends. */
static void goes(uint32_t bytes, const char *size)
{
    starpu_data_handle_t h;
    starpu_vector_data_register(&h, -1, 0, bytes, 1);
    int failed = run(&fill_cl, h, 7 + my_rank);
    int there = only_on(h, 1);
    if (my_rank == 0)
        failed |= starpu_mpi_send(h, 1, 1, MPI_COMM_WORLD);
    else
        failed |= starpu_mpi_recv(h, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    fact(there && !failed && only_on(h, 1), "%s message goes from and to the second main memory alone", size);
    wrong = 0;
    failed |= run(&expect_cl, h, 7);
    fact(!failed && wrong == 0, "with its value");
    starpu_data_unregister(h);
}

/* New data have no memory yet: they are in the first. */
static void comes_new(void)
{
    starpu_data_handle_t h;
    starpu_vector_data_register(&h, -1, 0, LARGE, 1);
    int failed = my_rank == 0 ? run(&fill_cl, h, 3) : 0;
    if (my_rank == 0)
        failed |= starpu_mpi_send(h, 1, 2, MPI_COMM_WORLD);
    else
        failed |= starpu_mpi_recv(h, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    fact(!failed && only_on(h, my_rank == 0 ? 1 : STARPU_MAIN_RAM),
         "what has no memory yet comes to the first");
    wrong = 0;
    failed |= run(&expect_cl, h, 3);
    fact(!failed && wrong == 0, "with its value, too");
    starpu_data_unregister(h);
}

int main(int argc, char **argv)
{
    setenv("HWLOC_SYNTHETIC", "package:2 numa:2 core:2 pu:1", 1); /* a package for each rank */
    setenv("STARPU_USE_NUMA", "1", 1);
    mpi_start(&argc, &argv, 4);
    far_worker = 3;
    fact(starpu_memory_nodes_get_numa_count() == 2 && starpu_worker_get_memory_node(3) == 1,
         "there are two main memories, and a worker near the second");
    goes(LARGE, "a large");
    goes(SMALL, "a small");
    comes_new();
    return mpi_finish();
}
