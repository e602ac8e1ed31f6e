/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A million dependencies on one task, as prerequisites and as successors: what that takes grows as their
 * number does.
 * Threads: main submits; two workers execute.
 * Owns: the tasks.
 * Not here: what dependencies are for (tests/core/task_deps.c, task_rounds.c).
 */
#include "tests/helper.h"

/* Ten times as many may take so many times as long: caches are left, but far from the square. */
enum {
    FEW = 100000,
    MANY = 1000000,
    TIMES_LONGER = 40,
    REPEATED = 3 /* the first time takes fresh memory */
};

static atomic_int ran, too_early;
static int wanted_before; /* tasks that are to run before the one that waits for all, or after it */

static void count_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    ran++;
}

static void last_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    if (ran < wanted_before) too_early++;
    ran++;
}

static void first_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    if (ran > 0) too_early++;
    ran++;
}

static struct starpu_codelet count_cl = { .cpu_funcs = { count_func }, .name = "count" };
static struct starpu_codelet last_cl = { .cpu_funcs = { last_func }, .name = "last" };
static struct starpu_codelet first_cl = { .cpu_funcs = { first_func }, .name = "first" };

static struct starpu_task *task_of(struct starpu_codelet *cl)
{
    struct starpu_task *task = starpu_task_create();
    if (task) task->cl = cl;
    if (task) return task;
    printf("Bail out! out of memory\n");
    exit(1);
}

/* One waits for n. */
static void prerequisites(int n)
{
    static struct starpu_task *all[MANY];
    struct starpu_task *last = task_of(&last_cl);
    for (int i = 0; i < n; i++) all[i] = task_of(&count_cl);
    starpu_task_declare_deps_array(last, (unsigned)n, all);
    wanted_before = n;
    int failed = starpu_task_submit(last);
    for (int i = 0; i < n; i++) failed |= starpu_task_submit(all[i]);
    too_early += failed != 0;
}

/* n wait for one. */
static void successors(int n)
{
    struct starpu_task *first = task_of(&first_cl);
    int failed = 0;
    for (int i = 0; i < n; i++) {
        struct starpu_task *task = task_of(&count_cl);
        starpu_task_declare_deps_array(task, 1, &first);
        failed |= starpu_task_submit(task);
    }
    failed |= starpu_task_submit(first);
    too_early += failed != 0;
}

/* In us; at best. */
static double time_of(void (*depend)(int n), int n, int times)
{
    double best = 0;
    for (int i = 0; i < times; i++) {
        double begin = starpu_timing_now();
        ran = 0;
        depend(n);
        starpu_task_wait_for_all();
        double us = starpu_timing_now() - begin;
        too_early += ran != n + 1;
        if (i == 0 || us < best) best = us;
    }
    return best;
}

static void check(void (*depend)(int n), const char *what)
{
    too_early = 0;
    double few = time_of(depend, FEW, REPEATED), many = time_of(depend, MANY, REPEATED);
    diag("%s: %.2f us for each of %d, %.2f us for each of %d", what, few / FEW, FEW, many / MANY, MANY);
    is_int(too_early, 0, "%d %s: all run, in order", MANY, what);
    ok(many < TIMES_LONGER * few, "which takes as long for each as of a tenth of them, but for caches");
}

int main(void)
{
    alarm(120);
    runtime_start(2, NULL);
    check(prerequisites, "prerequisites of a task");
    check(successors, "successors of a task");
    starpu_shutdown();
    return done_testing();
}
