/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lower bound of recorded tasks, and the forms it is printed in.
 * Threads: main submits and asks; workers execute.
 * Owns: nothing.
 * Not here: performance models (perfmodel.c).
 */
#include <starpu_bound.h>

#include "tests/helper.h"

enum { TASKS = 10 };

static void nothing_func(void *buffers[] UNUSED, void *arg UNUSED)
{
}
static double one_ms(struct starpu_task *task UNUSED, unsigned nimpl UNUSED)
{
    return 1000;
}
static struct starpu_perfmodel model = { .type = STARPU_COMMON,
                                         .cost_function = one_ms,
                                         .symbol = "bound_one_ms" };
static struct starpu_codelet cl = { .cpu_funcs = { nothing_func }, .model = &model, .name = "one_ms" };

static char text[4096];
static const char *printed(void (*print)(FILE *))
{
    memset(text, 0, sizeof text);
    FILE *f = fmemopen(text, sizeof text - 1, "w");
    print(f);
    fclose(f);
    return text;
}

static int near(double got, double want)
{
    return got > 0.999 * want && got < 1.001 * want;
}

int main(void)
{
    alarm(30);
    runtime_start(2, NULL);
    require_workers(2);
    starpu_task_insert(&cl, 0); /* before: does not count */
    starpu_bound_start(0, 0);
    int failed = 0;
    for (int i = 0; i < TASKS; i++) failed |= starpu_task_insert(&cl, 0) != 0;
    starpu_task_wait_for_all();
    starpu_bound_stop();
    starpu_task_insert(&cl, 0); /* after: neither */
    starpu_task_wait_for_all();

    double fractions = 0, whole = 0;
    starpu_bound_compute(&fractions, &whole, 1);
    ok(all_of(!failed, near(fractions, 5)), "ten tasks of 1 ms on two workers take at least 5 ms: %g",
       fractions);
    ok(near(whole, 5), "whole ones too: %g", whole);
    ok(strstr(printed(starpu_bound_print_lp), "tasks0: + n0_0 = 10"), "the LP says how many tasks there are");
    const char *mps = printed(starpu_bound_print_mps);
    ok(all_of(strstr(mps, "ROWS"), strstr(mps, "n0_0  arch0  1\n"), strstr(mps, "t  arch0  -2\n")),
       "the MPS has a column for each kind and place");
    ok(all_of(strstr(mps, "rhs  tasks0  10\n"), strstr(mps, "ENDATA")), "and how many tasks there are");
    ok(strstr(printed(starpu_bound_print_dot), "10 x one_ms"), "the graph names the tasks and their number");
    starpu_shutdown();
    return done_testing();
}
