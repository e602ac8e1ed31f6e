/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_raw: ping-pong between two ranks through bare MPI: what mpi_pingpong is measured against.
 * Threads: main; -t asks for MPI_THREAD_MULTIPLE.
 * Owns: the buffer.
 * Not here: any runtime. -b bytes -n hops -r repeats */
#include <mpi.h>

#include "measure.h"

int main(int argc, char **argv)
{
    int level, rank, repeats = option_repeats(argc, argv);
    long bytes = option_number(argc, argv, "-b", 8), hops = option_number(argc, argv, "-n", 20000);
    double us[SAMPLES_MAX];
    MPI_Init_thread(&argc, &argv, option_given(argc, argv, "-t") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                    &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *buffer = calloc(1, (size_t)bytes);
    for (int k = -1; k < repeats; k++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = now();
        for (long hop = 0; hop < hops; hop++) {
            if (hop % 2 == rank)
                MPI_Send(buffer, (int)bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
            else
                MPI_Recv(buffer, (int)bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        if (k >= 0) us[k] = (now() - start) / (double)hops * 1e6;
    }
    double hop_us = median(us, repeats);
    if (rank == 0)
        printf("mpi_raw bytes=%ld threads=%d hop_us=%.3f [%.3f-%.3f] gb_per_s=%.3f ok\n", bytes,
               level == MPI_THREAD_MULTIPLE, hop_us, us[0], us[repeats - 1], (double)bytes / hop_us * 1e-3);
    MPI_Finalize();
    free(buffer);
    return 0;
}
