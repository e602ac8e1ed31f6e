/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the MPI tests share: starting all ranks, and facts that hold only if they hold on every rank.
 * Threads: main of each rank states the same facts in the same order.
 * Owns: the list of facts of this rank until they are gathered at the end.
 * Not here: one-process tests (tests/helper.h).
 */
#ifndef ORR_TESTS_HELPER_MPI_H
#define ORR_TESTS_HELPER_MPI_H

#include <signal.h>
#include <sys/wait.h>
#include <starpu_mpi.h>
#include "tests/helper.h"

#define FACTS_MOST 200
#define RANKS_MOST 8 /* that tables of tests are for */

#if defined(__SANITIZE_ADDRESS__)
/* LeakSanitizer tells Open MPI's leaks from ours by the library that allocated: its plug-ins must not be
 * unloaded before that. */
int dlclose(void *library);
int dlclose(void *library UNUSED)
{
    return 0;
}
#endif

static int my_rank, ranks;
static int fact_count;
static int fact_failed[FACTS_MOST];
static char fact_text[FACTS_MOST][240];

/* Records a fact of this rank; it is printed by rank 0 at the end, once it is known from all ranks. */
__attribute__((format(printf, 5, 6), unused)) static int fact_record(int cond, const char *file, int line,
                                                                     const char *text, const char *fmt, ...)
{
    va_list args;
    if (fact_count == FACTS_MOST) {
        fprintf(stderr, "too many facts\n");
        exit(1);
    }
    va_start(args, fmt);
    vsnprintf(fact_text[fact_count], sizeof fact_text[0], fmt, args);
    va_end(args);
    fact_failed[fact_count++] = !cond;
    if (!cond) fprintf(stderr, "# rank %d: %s:%d: %s\n", my_rank, file, line, text);
    return cond;
}

#define fact(cond, ...) fact_record(!!(cond), __FILE__, __LINE__, #cond, __VA_ARGS__)

/* Writes where each thread of this process is, by eu-stack (elfutils) where that is installed. */
UNUSED static void write_stacks(void)
{
    enum { WAITS = 60, WAIT_US = 100000 };
    char pid[24];
    snprintf(pid, sizeof pid, "%ld", (long)getpid());
    pid_t child = vfork(); /* from a handler of a signal: fork would take locks of malloc */
    if (child == 0) {
        dup2(STDERR_FILENO, STDOUT_FILENO);
        execlp("eu-stack", "eu-stack", "-n", "24", "-p", pid, (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < WAITS && child > 0 && waitpid(child, NULL, WNOHANG) == 0; i++) usleep(WAIT_US);
}

/* The time is over: says where this rank was, and ends it. */
UNUSED static void out_of_time(int signal_number UNUSED)
{
    enum { OTHERS_S = 3 }; /* for their stacks: mpirun kills the other ranks when the first ends */
    char line[320];
    int length = snprintf(line, sizeof line, "# rank %d: out of time after fact %d: %s\n", my_rank,
                          fact_count, fact_count ? fact_text[fact_count - 1] : "none");
    if (write(STDERR_FILENO, line, (size_t)length) < 0) _exit(3);
    write_stacks();
    sleep(OTHERS_S);
    _exit(2);
}

/* Starts MPI and the runtime with so many workers on each rank; the program is skipped with fewer ranks than
 * two. */
UNUSED static void mpi_start(int *argc, char ***argv, int cpus)
{
    struct starpu_conf conf;
    int provided;
    signal(SIGALRM, out_of_time);
    alarm(50); /* before the limit of run-mpi */
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks < 2 || provided < MPI_THREAD_MULTIPLE) {
        MPI_Finalize();
        if (my_rank == 0) skip_all("at least two ranks and MPI_THREAD_MULTIPLE are needed");
        exit(0);
    }
    starpu_conf_init(&conf);
    conf.ncpus = cpus;
    conf.ncuda = conf.nopencl = 0;
    conf.precedence_over_environment_variables = 1;
    int status = starpu_mpi_init_conf(argc, argv, 0, MPI_COMM_WORLD, &conf);
    if (status != 0) {
        printf("Bail out! starpu_mpi_init_conf returned %d on rank %d\n", status, my_rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* Stops the runtime, gathers the facts of all ranks, prints them on rank 0, ends MPI; returns what main
 * returns. */
UNUSED static int mpi_finish(void)
{
    int failed[FACTS_MOST] = { 0 }, range[2] = { fact_count, -fact_count }, least[2];
    starpu_mpi_shutdown();
    MPI_Allreduce(fact_failed, failed, FACTS_MOST, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(range, least, 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    int wrong = least[0] != -least[1] || fact_count == 0;
    if (wrong && my_rank == 0) printf("Bail out! the ranks stated %d to %d facts\n", least[0], -least[1]);
    for (int i = 0; i < fact_count; i++) {
        wrong |= failed[i] > 0;
        if (my_rank != 0) continue;
        printf("%s %d - %s\n", failed[i] ? "not ok" : "ok", i + 1, fact_text[i]);
        if (failed[i]) printf("#   fails on %d of %d ranks\n", failed[i], ranks);
    }
    if (my_rank == 0) printf("1..%d\n", fact_count);
    fflush(stdout);
    MPI_Finalize();
    return wrong;
}

/* Registers an integer of this rank that every rank knows by its tag; its value counts where it is owned. */
UNUSED static void register_owned(starpu_data_handle_t *handle, int *value, starpu_mpi_tag_t tag, int owner)
{
    if (my_rank == owner)
        starpu_variable_data_register(handle, STARPU_MAIN_RAM, (uintptr_t)value, sizeof *value);
    else
        starpu_variable_data_register(handle, -1, 0, sizeof *value);
    starpu_mpi_data_register(*handle, tag, owner);
}

/* An integer of this rank alone. */
UNUSED static void register_int(starpu_data_handle_t *handle, int *value)
{
    starpu_variable_data_register(handle, STARPU_MAIN_RAM, (uintptr_t)value, sizeof *value);
}

#endif
