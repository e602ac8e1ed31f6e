/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread that runs on a core of another process of the node comes home, and may run anywhere afterwards as
 * before. Threads: main. Owns: nothing. Not here: who has which core (tests/core/shares.c), when a thread
 * that waits does so (mpi/wire/progress.c).
 */
#include <sched.h>

#include "core/topo/topo.h"
#include "tests/helper.h"

static cpu_set_t one(int processor)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    return set;
}

static int last_of(const cpu_set_t *set)
{
    int last = -1;
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, set)) last = i;
    return last;
}

/* Puts this thread there, and leaves it free to move. */
static void go_to(int processor, const cpu_set_t *all)
{
    cpu_set_t there = one(processor);
    sched_setaffinity(0, sizeof there, &there);
    sched_setaffinity(0, sizeof *all, all);
}

int main(void)
{
    cpu_set_t all, after;
    unsetenv("STARPU_WORKERS_NOBIND");
    if (orr_topo_init()) printf("Bail out! the machine cannot be read\n");
    if (sched_getaffinity(0, sizeof all, &all) || orr_topo_cores() < 2) skip_all("it takes two cores");
    orr_topo_fini();
    orr_topo_share(0, 2);
    if (orr_topo_init()) printf("Bail out! the machine cannot be read\n");
    int away = last_of(&all);
    int moved = 0, at = -1;
    for (int tries = 0; tries < 100 && !moved; tries++) { /* the system may have moved it before */
        go_to(away, &all);
        moved = orr_topo_come_home();
        at = sched_getcpu();
    }
    ok(moved, "a thread on another process's core is moved");
    ok(at != away, "to a core of its own process (%d, not %d)", at, away);
    sched_getaffinity(0, sizeof after, &after);
    ok(CPU_EQUAL(&all, &after), "and may run anywhere, as before");
    cpu_set_t there = one(away);
    sched_setaffinity(0, sizeof there, &there);
    ok(!orr_topo_come_home(), "one that is bound elsewhere stays");
    sched_getaffinity(0, sizeof after, &after);
    ok(CPU_EQUAL(&there, &after), "and bound");
    sched_setaffinity(0, sizeof all, &all);
    setenv("STARPU_WORKERS_NOBIND", "1", 1);
    orr_topo_fini();
    if (orr_topo_init()) printf("Bail out! the machine cannot be read\n");
    go_to(away, &all);
    ok(!orr_topo_come_home(), "where nothing is to be bound, nothing is moved");
    orr_topo_fini();
    return done_testing();
}
