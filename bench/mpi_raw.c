/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_raw: ping-pong between two ranks through bare MPI: what mpi_pingpong is measured against; with -x the
 * ring of mpi_stencil, one tile a rank; with -c MPI_Bcast, as mpi_fanout.
 * Threads: main; -t asks for MPI_THREAD_MULTIPLE.
 * Owns: the buffers.
 * Not here: any runtime. -b bytes -n hops (or steps) -r repeats; -x: -k kernel's us -m -q */
#include <mpi.h>

#include "steps.h"

/* ---- a ring ---- */

struct ring {
    int ranks, rank;
    long bytes, steps;
    char *tile, *left, *right; /* mine, and what my neighbours' were */
};

static double run_ring(long steps, double kernel_us, void *data)
{
    struct ring *r = data;
    int before = (r->rank + r->ranks - 1) % r->ranks, after = (r->rank + 1) % r->ranks, bytes = (int)r->bytes;
    double us, all;
    MPI_Barrier(MPI_COMM_WORLD);
    double start = now();
    for (long step = 0; step < steps; step++) {
        MPI_Request q[4];
        MPI_Irecv(r->left, bytes, MPI_BYTE, before, 0, MPI_COMM_WORLD, &q[0]);
        MPI_Irecv(r->right, bytes, MPI_BYTE, after, 1, MPI_COMM_WORLD, &q[1]);
        MPI_Isend(r->tile, bytes, MPI_BYTE, after, 0, MPI_COMM_WORLD, &q[2]);
        MPI_Isend(r->tile, bytes, MPI_BYTE, before, 1, MPI_COMM_WORLD, &q[3]);
        MPI_Waitall(4, q, MPI_STATUSES_IGNORE);
        long least = *(long *)r->tile;
        if (*(long *)r->left < least) least = *(long *)r->left;
        if (*(long *)r->right < least) least = *(long *)r->right;
        *(long *)r->tile = least + 1;
        spin_us(kernel_us);
        step_over();
    }
    us = (now() - start) * 1e6 / (double)steps;
    r->steps += steps;
    MPI_Allreduce(&us, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

static void ring(int argc, char **argv)
{
    struct ring r = { .bytes = option_number(argc, argv, "-b", 64) };
    MPI_Comm_rank(MPI_COMM_WORLD, &r.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &r.ranks);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    r.tile = calloc(1, (size_t)r.bytes);
    r.left = calloc(1, (size_t)r.bytes);
    r.right = calloc(1, (size_t)r.bytes);
    struct steps s = { .run = run_ring,
                       .data = &r,
                       .steps = option_number(argc, argv, "-n", 20000),
                       .repeats = option_repeats(argc, argv),
                       .kernels = r.ranks > cores ? (double)r.ranks / (double)cores : 1 };
    double us = steps_measure(&s, argc, argv);
    if (r.rank == 0) steps_print(&s, "mpi_raw_stencil", us, argc, argv, *(long *)r.tile == r.steps);
    free(r.tile);
    free(r.left);
    free(r.right);
}

/* ---- a broadcast ---- */

static void broadcast(int argc, char **argv)
{
    int rank, ranks, repeats = option_repeats(argc, argv);
    long bytes = option_number(argc, argv, "-b", 1 << 20), versions = option_number(argc, argv, "-n", 50);
    double us[SAMPLES_MAX];
    long seen = 0, total = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    char *buffer = calloc(1, (size_t)bytes);
    for (int k = -1; k < repeats; k++) {
        long count = k < 0 ? 2 : versions;
        MPI_Barrier(MPI_COMM_WORLD);
        double start = now();
        for (long v = 0; v < count; v++) {
            if (rank == 0) ++*(long *)buffer;
            MPI_Bcast(buffer, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
            seen += *(long *)buffer == ++total;
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (k >= 0) us[k] = (now() - start) / (double)count * 1e6;
    }
    double version_us = median(us, repeats);
    if (rank == 0)
        printf("mpi_raw_bcast ranks=%d bytes=%ld version_us=%.1f [%.1f-%.1f] %s\n", ranks, bytes, version_us,
               us[0], us[repeats - 1], seen == total ? "ok" : "WRONG");
    free(buffer);
}

/* ---- ping-pong ---- */

static void ping_pong(int argc, char **argv, int level)
{
    int rank, repeats = option_repeats(argc, argv);
    long bytes = option_number(argc, argv, "-b", 8), hops = option_number(argc, argv, "-n", 20000);
    double us[SAMPLES_MAX];
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
    free(buffer);
}

int main(int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, option_given(argc, argv, "-t") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                    &level);
    if (option_given(argc, argv, "-x"))
        ring(argc, argv);
    else if (option_given(argc, argv, "-c"))
        broadcast(argc, argv);
    else
        ping_pong(argc, argv, level);
    MPI_Finalize();
    return 0;
}
