/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ready tasks do not stay behind beside sleeping workers when a task that is known to be short takes long: it
 * waits here for a task that was pushed behind it. Known from its last runs, or by a model as well.
 * Threads: main and the workers. Owns: the counters. Not here: which worker is best (tests/sched).
 */
#include "tests/helper.h"

enum { SHORT_RUNS = 300, LIMIT_MS = 5000, FOLLOWERS = 3 };

static atomic_int blocked, followed, in_time;

static void work(void *buffers[] UNUSED, void *arg)
{
    int kind = (int)(intptr_t)arg;
    if (kind == 1) {
        atomic_fetch_add(&blocked, 1);
        atomic_fetch_and(&in_time, comes_to(&followed, FOLLOWERS, LIMIT_MS));
    } else if (kind == 2) {
        atomic_fetch_add(&followed, 1);
    }
}

static double one_us(struct starpu_task *task UNUSED, unsigned nimpl UNUSED)
{
    return 1;
}
static struct starpu_perfmodel promise = { .type = STARPU_COMMON, .cost_function = one_us };
static struct starpu_codelet plain_cl = { .cpu_funcs = { work }, .name = "mostly short" };
static struct starpu_codelet promised_cl = { .cpu_funcs = { work }, .model = &promise, .name = "promised" };
static struct starpu_codelet *used_cl;

static void submit(int kind)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = used_cl;
    task->cl_arg = (void *)(intptr_t)kind;
    if (starpu_task_submit(task) != 0) ok(0, "the task is accepted");
}

/* Whether the followers run while the first ones block, of which each comes when those before it have begun;
 * twice, as the workers may not sleep yet. */
static int run_with(const char *policy, int blocking)
{
    int good = 1;
    runtime_start(2 + blocking, policy);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < SHORT_RUNS; i++) submit(0);
        starpu_task_wait_for_all();
        usleep(5000); /* all go to sleep */
        atomic_store(&blocked, 0);
        atomic_store(&followed, 0);
        atomic_store(&in_time, 1);
        for (int i = 1; i <= blocking; i++) {
            submit(1);
            good &= comes_to(&blocked, i, LIMIT_MS);
            usleep(5000);
        }
        for (int i = 0; i < FOLLOWERS; i++) submit(2);
        starpu_task_wait_for_all();
        good &= atomic_load(&in_time);
    }
    starpu_shutdown();
    return good;
}

int main(void)
{
    static const char *const policies[] = {
        "eager",
        "prio",
        "ws",
        "lws",
        "modular-eager",
        "modular-eager-prefetching",
        "modular-prio",
        "modular-prio-prefetching",
        "modular-ws",
        "modular-eager-prio",
        "modular-random",
        "modular-random-prio-prefetching",
        "modular-heft",
        "modular-heft-prio",
        "modular-heft2",
        "modular-heteroprio",
        "modular-dmda",
        "modular-dmdas",
        "random",
        "dm",
        "dmda",
        "dmdar",
        "dmdasd",
        "pheft",
    };
    for (unsigned i = 0; i < LENGTH(policies); i++) {
        used_cl = &plain_cl;
        ok(run_with(policies[i], 1),
           "%s: tasks behind one that is known to be short, and blocks, run on workers that slept",
           policies[i]);
        used_cl = &promised_cl;
        ok(run_with(policies[i], 1), "%s: the same with a model that says so", policies[i]);
        ok(run_with(policies[i], 2), "%s: and when who took such a task blocks as well", policies[i]);
    }
    return done_testing();
}
