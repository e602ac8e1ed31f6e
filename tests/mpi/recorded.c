/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 4 */
/*
 * What the recordings of several ranks say together: a value that goes to all of them along a tree is a
 * dependency of each that reads it.
 * Threads: main of each rank; rank 0 reads the recordings.
 * Owns: the files recorded-*, in the folder of the tests.
 * Not here: other figures (tests/tools/orders.c), trees themselves (spread.c).
 */
#include "tests/mpi/helper_mpi.h"
#include "tests/tools/runs.h"

enum { ROUNDS = 3, BYTES = 1 << 20 };

static struct gate gate;
static void make(void *buffers[] UNUSED, void *arg UNUSED)
{
    gate_pass(&gate);
}
static void look(void *buffers[] UNUSED, void *arg UNUSED)
{
}
static struct starpu_codelet making = {
    .cpu_funcs = { make }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "making"
};
static struct starpu_codelet looking = {
    .cpu_funcs = { look }, .nbuffers = 1, .modes = { STARPU_R }, .name = "looking"
};

/* Rank 0 writes, all others read; it knows of all readers before it writes. Nothing else is done with the
 * data. */
static void rounds(starpu_data_handle_t *data)
{
    for (int i = 0; i < ROUNDS; i++) {
        starpu_data_handle_t h = data[i];
        atomic_store(&gate.open, 0);
        starpu_mpi_task_insert(MPI_COMM_WORLD, &making, STARPU_RW, h, 0);
        for (int rank = 1; rank < ranks; rank++)
            starpu_mpi_task_insert(MPI_COMM_WORLD, &looking, STARPU_R, h, STARPU_EXECUTE_ON_NODE, rank, 0);
        usleep(50000); /* others wait for it: who does not gets it without a tree */
        atomic_store(&gate.open, 1);
        starpu_mpi_wait_for_all(MPI_COMM_WORLD);
        starpu_mpi_barrier(MPI_COMM_WORLD);
    }
}

static int number_of(const char *command)
{
    run("%s", command);
    return atoi(output);
}

static void read_it(const char *folder)
{
    double mb, between = 0;
    char line[4096];
    run("tools/orrery_report -o %s/recorded.rec %s/recorded.*.otrace", folder, folder);
    run("tools/orrery_report %s/recorded.*.otrace", folder);
    for (int from = 1; from < ranks; from++)
        for (int to = 1; to < ranks; to++) {
            char pair[32];
            snprintf(pair, sizeof pair, "\n%d   to %d", from, to);
            const char *at = strstr(output, pair);
            if (at && sscanf(at + strlen(pair), "%*d %lf", &mb) == 1) between += mb;
        }
    diag("%.1f MB of values went by way of others", between);
    fact(between * 1e6 > BYTES, "values went by way of other ranks");
    snprintf(line, sizeof line,
             "awk -v RS= '/Name: looking/ && /DependsOn/ {n++} END {print n + 0}' %s/recorded.rec", folder);
    if (!fact(number_of(line) == ROUNDS * (ranks - 1), "each task that reads them waits for who wrote"))
        diag("%.200s", output);
    run("rm -f %s/recorded.*", folder);
}

int main(int argc, char **argv)
{
    static char bytes[ROUNDS][BYTES];
    starpu_data_handle_t h[ROUNDS];
    char name[4096];
    const char *folder = getenv("STARPU_HOME") ? getenv("STARPU_HOME") : "/tmp";
    snprintf(name, sizeof name, "%s/recorded.otrace", folder);
    setenv("ORRERY_TRACE", name, 1);
    setenv("ORRERY_MPI_NEAR", "0", 1); /* as between nodes: else nobody passes anything on */
    mpi_start(&argc, &argv, 1);
    for (int i = 0; i < ROUNDS; i++) {
        starpu_vector_data_register(&h[i], my_rank ? -1 : STARPU_MAIN_RAM, my_rank ? 0 : (uintptr_t)bytes[i],
                                    BYTES, 1);
        starpu_mpi_data_register(h[i], 7 + i, 0);
    }
    rounds(h);
    for (int i = 0; i < ROUNDS; i++) starpu_data_unregister(h[i]);
    starpu_mpi_shutdown();
    MPI_Barrier(MPI_COMM_WORLD);
    unsetenv("ORRERY_TRACE");
    if (my_rank == 0) {
        read_it(folder);
    } else {
        fact(1, "values went by way of other ranks");
        fact(1, "each task that reads them waits for who wrote");
    }
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    if (starpu_mpi_init_conf(NULL, NULL, 0, MPI_COMM_WORLD, &conf)) exit(1);
    return mpi_finish();
}
