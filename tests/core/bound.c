/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lower bound of recorded tasks, and the forms it is printed in.
 * Threads: main submits and asks; workers execute.
 * Owns: nothing.
 * Not here: performance models (perfmodel.c).
 */
#include <pthread.h>
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

/* ---- functions of the program ---- */

static atomic_int asked, others_submitted;

/* Waits, when it is first asked, for a submission by another thread. */
static double when_others_submitted(struct starpu_task *task UNUSED, unsigned nimpl UNUSED)
{
    if (atomic_exchange(&asked, 1)) return 1000;
    for (int i = 0; i < 3000 && !atomic_load(&others_submitted); i++) usleep(1000);
    if (!atomic_load(&others_submitted)) atomic_store(&asked, -1);
    return 1000;
}
static struct starpu_perfmodel asking_model = { .type = STARPU_COMMON,
                                                .cost_function = when_others_submitted,
                                                .symbol = "bound_asking" };
static struct starpu_codelet asking_cl = { .cpu_funcs = { nothing_func },
                                           .model = &asking_model,
                                           .name = "asking" };

static void *submit_meanwhile(void *unused)
{
    while (!atomic_load(&asked)) usleep(100);
    starpu_task_insert(&cl, 0);
    atomic_store(&others_submitted, 1);
    return unused;
}

static void functions_of_the_program(void)
{
    pthread_t other;
    starpu_bound_start(1, 0);
    pthread_create(&other, NULL, submit_meanwhile, NULL);
    starpu_task_insert(&asking_cl, 0);
    pthread_join(other, NULL);
    starpu_task_wait_for_all();
    starpu_bound_stop();
    is_int(atomic_load(&asked), 1, "while a function of a model is asked others submit");
    ok(strstr(printed(starpu_bound_print_dot), "asking"), "and the task is recorded");
}

static void codelets_that_go(void)
{
    struct starpu_codelet *own = malloc(sizeof *own);
    char *name = strdup("of the heap");
    *own = (struct starpu_codelet){ .cpu_funcs = { nothing_func }, .model = &model, .name = name };
    starpu_bound_start(1, 0);
    starpu_task_insert(own, 0);
    starpu_task_wait_for_all();
    memset(name, 'x', strlen(name));
    memset(own, 0xff, sizeof *own);
    free(name);
    free(own);
    ok(strstr(printed(starpu_bound_print_dot), "of the heap"),
       "a codelet may go when its tasks have ended: its name is kept");
    starpu_bound_stop();
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
    functions_of_the_program();
    codelets_that_go();
    starpu_shutdown();
    return done_testing();
}
