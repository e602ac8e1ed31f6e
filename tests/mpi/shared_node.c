/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks of one node share its cores and devices before their workers start, say so, and warn when there are
 * too few: on a recorded machine of 16 cores (tests/machines/laptop.xml).
 * Threads: without arguments the driver, which starts itself under mpirun for each case, all at once.
 * Owns: the processes. Not here: who gets what (tests/core/shares.c).
 */
#include <limits.h>
#include <starpu_mpi.h>

#include "tests/helper.h"
#include "tests/mpi/launches.h"

enum { CASES = 8, BYTES = 16384 };

static struct {
    const char *setting, *how;
    FILE *pipe;
    char text[BYTES];
} cases[CASES] = {
    { .setting = "STARPU_NCPU=", .how = "plain" },
    { .setting = "STARPU_NCPU=", .how = "modest" },
    { .setting = "STARPU_NCPU=2 STARPU_WORKERS_CPUID='0 0'", .how = "plain" },
    { .setting = "STARPU_NCPU=1 ORRERY_SIM_DEVICES=6", .how = "plain" },
    { .setting = "STARPU_NCPU=1 ORRERY_SIM_DEVICES=1", .how = "plain" },
    { .setting = "STARPU_NCPU=1 ORRERY_SIM_DEVICES=1 STARPU_SILENT=1", .how = "plain" },
    { .setting = "STARPU_NCPU=", .how = "none" },
    { .setting = "STARPU_NCPU=", .how = "early" },
};

/* modest: rank 1 wants one core; none: and gets no worker; early: its runtime runs already. */
static int rank_main(const char *how)
{
    struct starpu_conf conf;
    int rank;
    alarm(30);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &rank);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    starpu_conf_init(&conf);
    if (rank == 1 && strcmp(how, "modest") == 0) conf.ncpus = 1;
    if (rank == 1 && strcmp(how, "none") == 0) conf.ncpus = 0;
    if (rank == 1 && strcmp(how, "early") == 0 && starpu_init(&conf)) return 1;
    int r = starpu_mpi_init_conf(NULL, NULL, 0, MPI_COMM_WORLD, &conf);
    fprintf(stderr, "STATUS %s\n", r ? "refused" : "fine");
    if (r == 0) starpu_mpi_shutdown();
    if (rank == 1 && strcmp(how, "early") == 0) starpu_shutdown();
    MPI_Finalize();
    return 0;
}

static void begin(int i, const char *program)
{
    const char *top = getenv("ORR_SRCDIR"), *file = __FILE__, *launcher = getenv("ORR_MPIRUN");
    char folder[PATH_MAX], command[2 * PATH_MAX];
    if (top)
        snprintf(folder, sizeof folder, "%s/tests", top);
    else
        snprintf(folder, sizeof folder, "%.*s..", (int)(strrchr(file, '/') + 1 - file), file);
    snprintf(command, sizeof command,
             "d=`mktemp -d` && TMPDIR=$d %s HWLOC_XMLFILE=%s/machines/laptop.xml %s -n 3 %s --rank %s 2>&1; "
             "rm -rf $d",
             cases[i].setting, folder, launcher ? launcher : "mpirun", program, cases[i].how);
    if (!(cases[i].pipe = popen(command, "r"))) exit(99);
}

static void end(int i)
{
    size_t n = fread(cases[i].text, 1, BYTES - 1, cases[i].pipe);
    cases[i].text[n] = 0;
    pclose(cases[i].pipe);
}

static int count(int i, const char *what)
{
    int n = 0;
    for (const char *at = cases[i].text; (at = strstr(at, what)); at++) n++;
    return n;
}

static void said(int i, int cond, const char *fact)
{
    if (!ok(cond, "%s", fact)) diag("%s", cases[i].text);
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "--rank") == 0) return rank_main(argv[2]);
    if (!may_launch()) return 0;
    for (int i = 0; i < CASES; i++) begin(i, argv[0]);
    for (int i = 0; i < CASES; i++) end(i);
    said(0,
         all_of(count(0, "rank 0: cores 0,2,4,6,8,10; rank 1: cores 12-16; rank 2: cores 17-21") == 1,
                count(0, "warning") == 0),
         "three ranks share a node of 16 cores: one line says what each got, without a warning");
    said(1, count(1, "rank 0: cores 0,2,4,6,8,10,12-13; rank 1: core 14; rank 2: cores 15-21") == 1,
         "a rank whose program wants one core leaves the others to the rest");
    said(2,
         count(2, "3 ranks with 6 workers share 3 cores") == 1 && count(2, "0.5 of a core") == 1 &&
             count(2, "set STARPU_NCPU=1") == 1,
         "workers that share cores are warned of, once: by how much, and what mends it");
    said(3,
         count(3, "CUDA 0, CUDA 1; ") == 1 && count(3, "CUDA 2, CUDA 3; ") == 1 &&
             count(3, "CUDA 4, CUDA 5") == 1,
         "each rank has its part of the devices");
    said(4, count(4, ", CUDA 0") == 3 && count(4, "(CUDA 0) are used by 3 ranks") == 1,
         "fewer devices than ranks: that is warned of");
    said(5, count(5, "orrery") == 0 && count(5, "STATUS fine") == 3, "STARPU_SILENT=1: nothing is said");
    said(6, count(6, "STATUS refused") == 3, "a rank without a worker: all refuse to start");
    said(7, count(7, "STATUS fine") == 3, "one rank's runtime runs already: all start");
    return done_testing();
}
