/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Single functions about workers and tasks that no other test calls.
 * Threads: main and the workers. Owns: the counters. Not here: running tasks.
 */
#include <starpu_profiling.h>

#include "tests/helper.h"

static void nothing(void *buffers[] UNUSED, void *arg UNUSED)
{
}
static struct starpu_codelet nothing_cl = { .cpu_funcs = { nothing }, .name = "nothing" };

static void type_names(void)
{
    int known = 1;
    for (int type = STARPU_CPU_WORKER; type < STARPU_NARCH; type++) {
        const char *name = starpu_worker_get_type_as_string((enum starpu_worker_archtype)type);
        known &= (int)starpu_worker_get_type_from_string(name) == type;
    }
    ok(known, "each kind of worker is found by its name");
    ok(starpu_worker_get_type_from_string("abacus") == STARPU_UNKNOWN_WORKER,
       "an unknown name is of no kind");
}

static void profiling_before_init(void)
{
    starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
    runtime_start(1, NULL);
    struct starpu_task *task = starpu_task_create();
    task->cl = &nothing_cl;
    task->detach = 0;
    task->destroy = 0;
    ok(starpu_profiling_status_get() == STARPU_PROFILING_ENABLE,
       "profiling is on if it was before starpu_init");
    if (starpu_task_submit(task) != 0 || starpu_task_wait(task) != 0) ok(0, "the task runs");
    ok(task->profiling_info != NULL, "and tasks are profiled");
    starpu_task_destroy(task);
    starpu_profiling_status_set(STARPU_PROFILING_DISABLE);
    starpu_shutdown();
}

int main(void)
{
    type_names();
    profiling_before_init();
    return done_testing();
}
