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

static struct gate gate;
static atomic_int init_in_task, bites;

static void wait_then_init(void *buffers[] UNUSED, void *arg UNUSED)
{
    gate_pass(&gate);
    usleep(100000); /* main is in starpu_shutdown by now, most likely */
    atomic_store(&init_in_task, starpu_init(NULL));
}
static struct starpu_codelet init_cl = { .cpu_funcs = { wait_then_init }, .name = "init" };

static void init_while_shutting_down(void)
{
    runtime_start(1, NULL);
    struct starpu_task *task = starpu_task_create();
    task->cl = &init_cl;
    if (starpu_task_submit(task) != 0) ok(0, "the task is accepted");
    gate_open(&gate);
    starpu_shutdown();
    int status = atomic_load(&init_in_task);
    ok(status == -EBUSY || status == 0,
       "starpu_init in a task while the runtime shuts down does not wait for it");
    if (status == 0) starpu_shutdown(); /* it came first */
}

static void no_ready(void)
{
    struct starpu_task *held = starpu_task_create();
    starpu_tag_t dep = 7;
    held->cl = &nothing_cl;
    held->use_tag = 1;
    held->tag_id = 8;
    starpu_tag_declare_deps_array(8, 1, &dep);
    int failed = starpu_task_submit(held);
    gate_close(&gate, 0);
    for (int i = 0; i < 100; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &nothing_cl;
        failed |= starpu_task_submit(task);
    }
    gate_open(&gate);
    ok(all_of(!failed, starpu_task_wait_for_no_ready() == 0, starpu_task_nsubmitted() == 1),
       "waiting for no ready task waits for 101, and not for the one that waits for a tag");
    starpu_tag_notify_from_apps(7);
    starpu_task_wait_for_all();
    is_int(starpu_task_wait_for_no_ready(), 0, "and returns at once when there is none");
}

static void bite(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
}

static void watchdog(void)
{
    gate_close(&gate, 0);
    ok(comes_to(&bites, 2, 10000), "the watchdog's hook is called while no task ends, again and again");
    gate_open(&gate);
    starpu_task_wait_for_all();
}

static double constant(struct starpu_task *task UNUSED, unsigned nimpl UNUSED)
{
    return 1e7;
}
static struct starpu_perfmodel model = { .type = STARPU_COMMON,
                                         .cost_function = constant,
                                         .symbol = "const" };

static void expected_end(void)
{
    static struct starpu_codelet cl = { .cpu_funcs = { gate_func }, .name = "modelled", .model = &model };
    struct timespec idle, now, end;
    starpu_worker_get_current_task_exp_end(0, &idle);
    struct starpu_task *task = starpu_task_create();
    task->cl = &cl;
    task->cl_arg = &gate;
    atomic_store(&gate.entered, 0);
    atomic_store(&gate.open, 0);
    if (starpu_task_submit(task) != 0) ok(0, "the task is accepted");
    gate_wait_entered(&gate, 1);
    clock_gettime(CLOCK_MONOTONIC, &now);
    starpu_worker_get_current_task_exp_end(0, &end);
    gate_open(&gate);
    starpu_task_wait_for_all();
    ok(idle.tv_sec <= now.tv_sec, "a worker without a task is expected to end now");
    ok(all_of(end.tv_sec <= now.tv_sec + 10, end.tv_sec >= idle.tv_sec + 9),
       "one with a task when its model says");
}

int main(void)
{
    type_names();
    profiling_before_init();
    init_while_shutting_down();
    setenv("STARPU_WATCHDOG_TIMEOUT", "50000", 1);
    starpu_task_watchdog_set_hook(bite, &bites);
    runtime_start(1, NULL);
    no_ready();
    watchdog();
    expected_end();
    ok(all_of(starpu_memory_nodes_numa_id_to_hwloclogid(0) == 0,
              starpu_memory_nodes_numa_id_to_hwloclogid(99) == -1),
       "main memory has a number of hwloc's, others have none");
    starpu_shutdown();
    return done_testing();
}
