/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that run different versions of the library: none starts, one line says which rank runs which and how
 * to mend it, and nobody waits for anybody. Then all run the same, and start. ranks: 2 3 4 Threads: main.
 * Owns: orr_version_own, which takes the place of the library's. Not here: other bring-ups that fail
 * (bringup.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <starpu_mpi.h>
#include <unistd.h>

#include "mpi/wire/version.h"
#include "tests/mpi/helper_mpi.h"

static const char *own = "0.1.0, messages of form 5";

void orr_version_own(char text_out[ORR_VERSION_BYTES])
{
    snprintf(text_out, ORR_VERSION_BYTES, "%s", own);
}

static char said[8192];

/* Starts the layer; what it says is in said. */
static int try(void)
{
    int saved = dup(2), file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
    dup2(file, 2);
    int r = starpu_mpi_init_conf(NULL, NULL, 0, MPI_COMM_WORLD, NULL);
    dup2(saved, 2);
    close(saved);
    ssize_t n = pread(file, said, sizeof said - 1, 0);
    said[n > 0 ? n : 0] = 0;
    close(file);
    return r;
}

static int lines(void)
{
    int n = 0;
    for (const char *c = said; *c; c++) n += *c == '\n';
    return n;
}

/* On all ranks: none starts, and rank 0 alone says one line, with that text in it. */
static void refused(const char *text)
{
    int r = try();
    fact(r == -EINVAL, "no rank starts: %s", text);
    if (my_rank == 0) {
        fact(lines() == 1 && strstr(said, text), "and it is said in one line: %s", text);
        fact(strstr(said, "LD_LIBRARY_PATH") && strstr(said, "(host "), "with the hosts, and how to mend it");
    } else {
        fact(lines() == 0, "and it is said in one line: %s", text);
        fact(lines() == 0, "with the hosts, and how to mend it");
    }
    fact(!starpu_is_initialized(), "no runtime is left");
}

int main(int argc, char **argv)
{
    int provided;
    char text[2 * ORR_VERSION_BYTES];
    signal(SIGALRM, out_of_time);
    alarm(50);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    const char *mine = own;
    if (my_rank == ranks - 1) own = "0.2.0, messages of form 6";
    snprintf(text, sizeof text, "; 0.2.0, messages of form 6 on rank %d (host ", ranks - 1);
    refused(text);
    own = my_rank ? mine : "0.2.0, messages of form 6";
    refused("0.2.0, messages of form 6 on rank 0 (host ");
    own = my_rank == 1 ? "0.1.1, messages of form 5" : mine;
    snprintf(text, sizeof text, "0.1.0, messages of form 5 on rank 0, 2-%d (host ", ranks - 1);
    refused(ranks == 2   ? "0.1.0, messages of form 5 on rank 0 (host "
            : ranks == 3 ? "0.1.0, messages of form 5 on rank 0, 2 (host "
                         : text);
    static const char *const all[RANKS_MOST] = { "1", "2", "3", "4", "5", "6", "7", "8" };
    own = all[my_rank % RANKS_MOST];
    refused("; 2 on rank 1 (host ");
    static char longest[200];
    memset(longest, 'x', sizeof longest - 1);
    own = my_rank ? longest : mine;
    refused("; xxxxxxxxxx");

    own = mine;
    fact(try() == 0, "with one version all start");
    return mpi_finish();
}
