/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_pingpong: one handle that goes back and forth between two ranks; time per hop and bandwidth.
 * Threads: the main thread of both ranks.
 * Owns: the buffer.
 * Not here: bare MPI (mpi_raw.c).
 *
 * -m blocking: starpu_mpi_send and _recv; detached: isend_detached and irecv_detached, ordered by the
 * handle's dependencies; tasks: a task on each rank in turn, whose transfers are inferred. -b bytes -n hops
 * -r -s -w */
#include <starpu_mpi.h>

#include "stream.h"

static void increment(void *buffers[], void *args)
{
    (void)args;
    ++*(unsigned char *)STARPU_VECTOR_GET_PTR(buffers[0]);
}

static struct starpu_codelet codelet = {
    .cpu_funcs = { increment }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "increment"
};
static int rank;

static void hop_blocking(long hops, starpu_data_handle_t handle)
{
    for (long k = 0; k < hops; k++) {
        MPI_Status status;
        if (k % 2 == rank)
            starpu_mpi_send(handle, 1 - rank, 1, MPI_COMM_WORLD);
        else
            starpu_mpi_recv(handle, 1 - rank, 1, MPI_COMM_WORLD, &status);
    }
}

static void hop_detached(long hops, starpu_data_handle_t handle)
{
    for (long k = 0; k < hops; k++) {
        if (k % 2 == rank)
            starpu_mpi_isend_detached(handle, 1 - rank, 1, MPI_COMM_WORLD, NULL, NULL);
        else
            starpu_mpi_irecv_detached(handle, 1 - rank, 1, MPI_COMM_WORLD, NULL, NULL);
    }
    starpu_task_wait_for_all();
}

static void hop_tasks(long hops, starpu_data_handle_t handle)
{
    for (long k = 0; k < hops; k++)
        starpu_mpi_task_insert(MPI_COMM_WORLD, &codelet, STARPU_RW, handle, STARPU_EXECUTE_ON_NODE,
                               (int)(k % 2), 0);
    starpu_task_wait_for_all();
}

int main(int argc, char **argv)
{
    long hops = option_number(argc, argv, "-n", 2000), bytes = option_number(argc, argv, "-b", 8);
    int repeats = option_repeats(argc, argv), ranks;
    const char *mode = option_text(argc, argv, "-m", "detached");
    void (*hop)(long, starpu_data_handle_t) = !strcmp(mode, "blocking") ? hop_blocking
                                              : !strcmp(mode, "tasks")  ? hop_tasks
                                                                        : hop_detached;
    double us[SAMPLES_MAX];
    struct starpu_conf conf;
    starpu_data_handle_t handle;
    fill_conf(&conf, (int)option_number(argc, argv, "-w", 1), option_text(argc, argv, "-s", "eager"));
    if (starpu_mpi_init_conf(&argc, &argv, 1, MPI_COMM_WORLD, &conf)) return EXIT_SKIP;
    starpu_mpi_comm_rank(MPI_COMM_WORLD, &rank);
    starpu_mpi_comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2) {
        fprintf(stderr, "mpi_pingpong needs 2 ranks\n");
        starpu_mpi_shutdown();
        return 2;
    }
    char *buffer;
    if (starpu_malloc((void **)&buffer, (size_t)bytes)) return 2;
    memset(buffer, 0, (size_t)bytes);
    int is_here = hop != hop_tasks || rank == 0;
    starpu_vector_data_register(&handle, is_here ? STARPU_MAIN_RAM : -1, is_here ? (uintptr_t)buffer : 0,
                                (uint32_t)bytes, 1);
    starpu_mpi_data_register(handle, 42, 0);
    for (int k = -1; k < repeats; k++) {
        long count = k < 0 ? 2 + hops / 10 : hops;
        starpu_mpi_barrier(MPI_COMM_WORLD);
        double start = now();
        hop(count, handle);
        starpu_mpi_wait_for_all(MPI_COMM_WORLD); /* a barrier waits for ranks, not for messages */
        if (k >= 0) us[k] = (now() - start) / (double)count * 1e6;
    }
    starpu_data_unregister(handle);
    unsigned char expected = (unsigned char)(2 + hops / 10 + hops * repeats);
    int is_right = hop != hop_tasks || rank != 0 || (unsigned char)buffer[0] == expected;
    double hop_us = median(us, repeats);
    if (rank == 0)
        printf("mpi_pingpong mode=%s bytes=%ld hops=%ld hop_us=%.3f [%.3f-%.3f] gb_per_s=%.3f %s\n", mode,
               bytes, hops, hop_us, us[0], us[repeats - 1], (double)bytes / hop_us * 1e-3,
               is_right ? "ok" : "WRONG");
    fflush(stdout);
    starpu_mpi_shutdown();
    starpu_free(buffer);
    return !is_right;
}
