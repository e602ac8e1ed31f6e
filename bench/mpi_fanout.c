/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_fanout: one value that rank 0 writes and all others read, again and again; time per version.
 * Threads: the main thread of each rank; workers run the tasks.
 * Owns: the value, and what each reader keeps of it.
 * Not here: bare MPI_Bcast (mpi_raw.c -c). -b bytes -n versions -r repeats -w workers -s policy */
#include <starpu_mpi.h>

#include "stream.h"

enum { RANKS_MAX = 64 };

static void write_version(void *buffers[], void *args)
{
    (void)args;
    ++*(long *)STARPU_VECTOR_GET_PTR(buffers[0]);
}

/* Keeps the sum of the versions that it saw. */
static void read_version(void *buffers[], void *args)
{
    (void)args;
    *(long *)STARPU_VARIABLE_GET_PTR(buffers[1]) += *(long *)STARPU_VECTOR_GET_PTR(buffers[0]);
}

static struct starpu_codelet writer = {
    .cpu_funcs = { write_version }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "write"
};
static struct starpu_codelet reader = {
    .cpu_funcs = { read_version }, .nbuffers = 2, .modes = { STARPU_R, STARPU_RW }, .name = "read"
};

static void insert_versions(long versions, starpu_data_handle_t value, starpu_data_handle_t *sums, int ranks)
{
    for (long k = 0; k < versions; k++) {
        starpu_mpi_task_insert(MPI_COMM_WORLD, &writer, STARPU_RW, value, 0);
        for (int i = 1; i < ranks; i++)
            starpu_mpi_task_insert(MPI_COMM_WORLD, &reader, STARPU_R, value, STARPU_RW, sums[i], 0);
    }
}

int main(int argc, char **argv)
{
    long versions = option_number(argc, argv, "-n", 50), bytes = option_number(argc, argv, "-b", 1 << 20);
    int repeats = option_repeats(argc, argv), rank, ranks;
    double us[SAMPLES_MAX];
    struct starpu_conf conf;
    starpu_data_handle_t value, sums[RANKS_MAX];
    long sum = 0, total = 0;
    fill_conf(&conf, (int)option_number(argc, argv, "-w", 1), option_text(argc, argv, "-s", "eager"));
    if (starpu_mpi_init_conf(&argc, &argv, 1, MPI_COMM_WORLD, &conf)) return EXIT_SKIP;
    starpu_mpi_comm_rank(MPI_COMM_WORLD, &rank);
    starpu_mpi_comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks > RANKS_MAX || bytes < (long)sizeof(long)) {
        fprintf(stderr, "mpi_fanout needs at most %d ranks, and %zu bytes\n", RANKS_MAX, sizeof(long));
        starpu_mpi_shutdown();
        return 2;
    }
    char *buffer;
    if (starpu_malloc((void **)&buffer, (size_t)bytes)) return 2;
    memset(buffer, 0, (size_t)bytes);
    starpu_vector_data_register(&value, rank ? -1 : STARPU_MAIN_RAM, rank ? 0 : (uintptr_t)buffer,
                                (uint32_t)bytes, 1);
    starpu_mpi_data_register(value, 1, 0);
    for (int i = 0; i < ranks; i++) {
        starpu_variable_data_register(&sums[i], i == rank ? STARPU_MAIN_RAM : -1,
                                      i == rank ? (uintptr_t)&sum : 0, sizeof sum);
        starpu_mpi_data_register(sums[i], 2 + i, i);
    }
    for (int k = -1; k < repeats; k++) {
        long count = k < 0 ? 2 : versions;
        starpu_mpi_barrier(MPI_COMM_WORLD);
        double start = now();
        insert_versions(count, value, sums, ranks);
        starpu_mpi_wait_for_all(MPI_COMM_WORLD);
        if (k >= 0) us[k] = (now() - start) / (double)count * 1e6;
        for (long v = 0; v < count; v++) sum -= rank ? total + v + 1 : 0;
        total += count;
    }
    for (int i = 0; i < ranks; i++) starpu_data_unregister(sums[i]);
    starpu_data_unregister(value);
    int is_wrong = sum != 0 || (rank == 0 && *(long *)buffer != total), any = 0;
    double version_us = median(us, repeats);
    MPI_Reduce(&is_wrong, &any, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("mpi_fanout ranks=%d bytes=%ld versions=%ld version_us=%.1f [%.1f-%.1f] %s\n", ranks, bytes,
               versions, version_us, us[0], us[repeats - 1], any ? "WRONG" : "ok");
    fflush(stdout);
    starpu_mpi_shutdown();
    starpu_free(buffer);
    return is_wrong;
}
