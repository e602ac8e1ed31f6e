/* SPDX-License-Identifier: BSD-3-Clause */
/* joblist_stuck.c: job lists that can never go on are explained, and those that only wait are left alone.
 * Threads: each case runs in a process of its own, all at a time. Owns: nothing. Not here: other deadlocks
 * (tests/core/deadlock.c), what lists do when all is well (joblist.c). */
#include <orrery.h>
#include "tests/core/misuse.h"

enum { LONG_S = 3 };

static void nothing_func(void *buffers[] UNUSED, void *arg UNUSED)
{
}
static void slow_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    sleep(LONG_S);
}
static struct starpu_codelet nothing_cl = { .cpu_funcs = { nothing_func }, .name = "nothing" };
static struct starpu_codelet slow_cl = { .cpu_funcs = { slow_func }, .name = "slow" };

static struct starpu_task *make(struct starpu_codelet *cl, const char *name)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = cl;
    task->name = name;
    return task;
}

static void add(struct orrery_joblist *list, struct starpu_task *task)
{
    if (orrery_joblist_add_job(list, task) != 0) exit(3);
}

/* The first job waits for the second, which comes after it. */
static bool forward(void)
{
    struct orrery_joblist *list = orrery_joblist_create("errands", 0);
    struct starpu_task *shop = make(&nothing_cl, "shop"), *cook = make(&nothing_cl, "cook");
    starpu_task_declare_deps_array(shop, 1, &cook);
    add(list, shop);
    add(list, cook);
    orrery_joblist_wait_for_all(list);
    return true;
}

/* Two lists, each of whose first jobs waits for the other's second. */
static bool crosswise(void)
{
    struct orrery_joblist *one = orrery_joblist_create("one", 0), *two = orrery_joblist_create("two", 0);
    struct starpu_task *a = make(&nothing_cl, "ant"), *b = make(&nothing_cl, "bee"),
                       *c = make(&nothing_cl, "cow"), *d = make(&nothing_cl, "dog");
    starpu_task_declare_deps_array(a, 1, &d);
    starpu_task_declare_deps_array(c, 1, &b);
    add(one, a);
    add(one, b);
    add(two, c);
    add(two, d);
    starpu_task_wait_for_all();
    return true;
}

/* A job before the signal cannot end before one after the wait. */
static bool behind_wait(void)
{
    struct orrery_joblist *list = orrery_joblist_create("window", 0);
    struct starpu_task *early = make(&nothing_cl, "early"), *late = make(&nothing_cl, "late");
    starpu_task_declare_end_deps_array(early, 1, &late);
    add(list, early);
    if (orrery_joblist_add_signal(list) || orrery_joblist_add_wait(list)) exit(3);
    add(list, late);
    orrery_joblist_wait_for_all(list);
    return true;
}

/* Nobody starts the list. */
static bool stopped(void)
{
    struct orrery_joblist *list = orrery_joblist_create("idle hands", 0);
    if (orrery_joblist_stop(list)) exit(3);
    add(list, make(&nothing_cl, "work"));
    orrery_joblist_wait_for_all(list);
    return true;
}

static bool only_slow(void)
{
    struct orrery_joblist *list = orrery_joblist_create("slow", 0);
    add(list, make(&slow_cl, "slow"));
    if (orrery_joblist_add_signal(list) || orrery_joblist_add_wait(list)) exit(3);
    add(list, make(&nothing_cl, "after"));
    orrery_joblist_wait_for_all(list);
    orrery_joblist_destroy(list);
    return true;
}

static const struct stuck_case {
    struct misuse m;
    const char *first, *second; /* what is said */
} cases[] = {
    { { "a job that waits for one behind it in its list is explained, as a circle", forward, UP | ENDS },
      "waits for its turn in job list \"errands\": task shop",
      "in a circle: " },
    { { "two lists that wait for each other are explained", crosswise, UP | ENDS },
      "job list \"one\": task ant",
      "job list \"two\": task cow" },
    { { "a job before a signal that waits for one after the wait is explained", behind_wait, UP | ENDS },
      "is after a wait in job list \"window\": task early",
      "in a circle: " },
    { { "a list that nobody starts is explained", stopped, UP | ENDS },
      "is a job of list \"idle hands\", which is stopped",
      "orrery_joblist_start" },
};
static const struct misuse left_alone = { "a list that waits for a long job is left alone", only_slow, UP };

int main(void)
{
    static struct trial trials[LENGTH(cases)];
    for (size_t i = 0; i < LENGTH(cases); i++) trials[i] = misuse_begin(&cases[i].m);
    struct outcome slow = misuse_try(&left_alone);
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const struct outcome *o = &trials[i].o;
        misuse_end(&trials[i]);
        if (ok(all_of(WIFEXITED(o->status), WEXITSTATUS(o->status) == 1, strstr(o->said, "deadlock"),
                      strstr(o->said, cases[i].first), strstr(o->said, cases[i].second)),
               "%s", cases[i].m.what))
            continue;
        diag("%s", outcome_text(o->status));
        outcome_show(o);
    }
    if (!ok(slow.status == 0, "%s", left_alone.what)) outcome_show(&slow);
    return done_testing();
}
