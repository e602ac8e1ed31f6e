/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The live view across the ranks of a node: who asks about one rank is shown all of them, each with its
 * number; on request that one alone. ranks: 3
 * Threads: main; tools are children of rank 0. Owns: pages, in the folder that each run has for itself.
 * Not here: one process (tests/tools/live.c, why.c).
 */
#include "tests/mpi/helper_mpi.h"
#include "tests/tools/runs.h"

static void nothing(void *buffers[] UNUSED, void *arg UNUSED)
{
}
static struct starpu_codelet plain = { .cpu_funcs = { nothing }, .name = "plain" };

static int pids[RANKS_MOST];

/* Whether the output has a line of each rank that begins so; fmt takes the rank's number and process. */
static int has_all(const char *fmt)
{
    int found = 0;
    for (int r = 0; r < ranks; r++) {
        char text[100];
        snprintf(text, sizeof text, fmt, r, pids[r]);
        found += says(text);
    }
    return found == ranks;
}

/* Whether the answer of each rank, which begins with its head, names the task that waits there, and in the
 * order of ranks. */
static int answers_in_order(void)
{
    const char *at = output;
    for (int r = 0; r < ranks && at; r++) {
        char head[60], name[60];
        snprintf(head, sizeof head, "rank %d, process %d:\n", r, pids[r]);
        snprintf(name, sizeof name, "task of rank %d ", r);
        at = strstr(at, head);
        if (at) at = strstr(at, name);
    }
    return at != NULL;
}

static void look(void)
{
    int pid = pids[ranks - 1];
    fact(run("tools/orrery_top -1 -d 0.2 %d", pid) == 0 && has_all("%6d %8d "),
         "orrery_top of one rank has a line for each rank of the node");
    fact(says("gate (job "), "and shows what the rank that was named runs");
    fact(run("tools/orrery_top -1 -a -d 0.2 %d", pid) == 0 && !strstr(output, "SUBMITTED"),
         "with -a that rank alone");
    fact(run("tools/orrery_why %d", pid) == 0 && answers_in_order(),
         "orrery_why of one rank says what the tasks of each rank wait for");
    fact(run("tools/orrery_why -a %d", pid) == 0 && !strstr(output, "process ") &&
             !strstr(output, "task of rank 0 ") && says("task of rank "),
         "with -a those of that rank alone");
}

int main(int argc, char **argv)
{
    struct gate gate = { 0 };
    static char name[40];
    setenv("ORRERY_LIVE", getenv("STARPU_HOME") ? getenv("STARPU_HOME") : "/tmp", 1);
    mpi_start(&argc, &argv, 1);
    gate_submit(&gate, -1);
    while (!atomic_load(&gate.entered)) sched_yield();
    struct starpu_task *t = starpu_task_create();
    snprintf(name, sizeof name, "of rank %d", my_rank);
    t->cl = &plain;
    t->name = name;
    fact(starpu_task_submit(t) == 0, "a task waits on each rank");
    int pid = (int)getpid();
    MPI_Gather(&pid, 1, MPI_INT, pids, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (my_rank == 0)
        look();
    else
        for (int i = 0; i < 5; i++) fact(1, "rank 0 looks");
    MPI_Barrier(MPI_COMM_WORLD);
    atomic_store(&gate.open, 1);
    fact(starpu_task_wait_for_all() == 0, "and all go on to their end");
    return mpi_finish();
}
