/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 1 2 */
/*
 * A launcher that started several processes, of which each is a job of its own, is told; one that fits is
 * not. Threads: main. Owns: the launcher's variables, which it sets. Not here: other bring-ups
 * (transports.c).
 */
#include <fcntl.h>
#include <starpu_mpi.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/tap.h"

static char said[8192];

/* Starts and ends the layer; what it says is in said. */
static int try(void)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    int saved = dup(2), file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
    dup2(file, 2);
    int r = starpu_mpi_init_conf(NULL, NULL, 0, MPI_COMM_WORLD, &conf);
    if (r == 0) starpu_mpi_shutdown();
    dup2(saved, 2);
    close(saved);
    ssize_t n = pread(file, said, sizeof said - 1, 0);
    said[n > 0 ? n : 0] = 0;
    close(file);
    return r;
}

int main(int argc, char **argv)
{
    int ranks, provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    ok(try() == 0 && !strstr(said, "launcher"), "nothing is said of a launcher that fits");
    setenv("OMPI_COMM_WORLD_SIZE", "3", 1);
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    int r = try();
    if (ranks == 1)
        ok(r == 0 && strstr(said, "the launcher started 3 processes, and each of them is a job of one rank"),
           "one that belongs to another MPI is told, and how to mend it");
    else
        ok(r == 0 && !strstr(said, "launcher started"), "several ranks have found each other");
    setenv("OMPI_COMM_WORLD_RANK", "1", 1);
    ok(try() == 0 && !strstr(said, "launcher started"), "the first of the processes alone says it");
    MPI_Finalize();
    return done_testing();
}
