/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 1 2 */
/*
 * The transport is chosen by name: one rank alone runs over memory as over MPI, several refuse that, and a
 * name that does not exist is refused everywhere.
 * Threads: the main thread of each rank.
 * Owns: the data.
 * Not here: what a transport must keep (engine_inproc.c, engine_mpi.c).
 */
#include <errno.h>
#include <starpu_mpi.h>
#include <stdlib.h>

#include "tests/tap.h"

enum { LARGE = 100000 };

static int start(const char *transport)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    setenv("ORRERY_MPI_TRANSPORT", transport, 1);
    return starpu_mpi_init_conf(NULL, NULL, 0, MPI_COMM_WORLD, &conf);
}

static void add_one(void *buffers[], void *args)
{
    (void)args;
    ++*(long *)STARPU_VARIABLE_GET_PTR(buffers[0]);
}

static struct starpu_codelet codelet = { .cpu_funcs = { add_one }, .nbuffers = 1, .modes = { STARPU_RW } };

static void to_oneself(const char *transport)
{
    static long values[2], rows[2][LARGE];
    starpu_data_handle_t h[2], r[2];
    is_int(start(transport), 0, "one rank starts over %s", transport);
    values[0] = 41;
    rows[0][LARGE - 1] = 7;
    rows[1][LARGE - 1] = 0;
    for (int i = 0; i < 2; i++) {
        starpu_variable_data_register(&h[i], STARPU_MAIN_RAM, (uintptr_t)&values[i], sizeof values[i]);
        starpu_vector_data_register(&r[i], STARPU_MAIN_RAM, (uintptr_t)rows[i], LARGE, sizeof rows[i][0]);
    }
    starpu_mpi_data_register(h[0], 1, 0);
    starpu_mpi_task_insert(MPI_COMM_WORLD, &codelet, STARPU_RW, h[0], 0);
    starpu_mpi_isend_detached(h[0], 0, 10, MPI_COMM_WORLD, NULL, NULL);
    starpu_mpi_irecv_detached(h[1], 0, 10, MPI_COMM_WORLD, NULL, NULL);
    starpu_mpi_issend_detached(r[0], 0, 11, MPI_COMM_WORLD, NULL, NULL);
    starpu_mpi_irecv_detached(r[1], 0, 11, MPI_COMM_WORLD, NULL, NULL);
    is_int(starpu_mpi_wait_for_all(MPI_COMM_WORLD), 0, "all messages to oneself end");
    for (int i = 0; i < 2; i++) {
        starpu_data_unregister(h[i]);
        starpu_data_unregister(r[i]);
    }
    is_int(values[1], 42, "a small one brings what the task before it wrote");
    is_int(rows[1][LARGE - 1], 7, "a large one is whole");
    is_int(starpu_mpi_shutdown(), 0, "and the layer ends");
}

int main(int argc, char **argv)
{
    int ranks, provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    setenv("STARPU_SILENT", "1", 1);
    is_int(start("pigeons"), -EINVAL, "a transport that does not exist is refused");
    if (ranks == 1) {
        to_oneself("inproc");
        to_oneself("mpi");
    } else {
        ok(start("inproc") < 0, "memory of one process does not carry messages between several");
        is_int(start("mpi"), 0, "and MPI does, afterwards");
        is_int(starpu_mpi_barrier(MPI_COMM_WORLD), 0, "the ranks meet");
        starpu_mpi_shutdown();
    }
    MPI_Finalize();
    return done_testing();
}
