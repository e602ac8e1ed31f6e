/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lws: an idle worker robs its neighbours in the tree of the machine first, not in the numbering; on a
 * machine that is said to be two sockets of two cores. Threads: main opens the gates; four workers execute.
 * Owns: nothing. Not here: what every policy promises (every_policy.c).
 */
#include "tests/helper.h"

enum { WORKERS = 4 };

static struct gate held[WORKERS];
static atomic_int stolen, next_ran;
static int order[2];

static void stolen_func(void *buffers[] UNUSED, void *arg)
{
    order[atomic_fetch_add(&next_ran, 1)] = (int)(intptr_t)arg;
}
static struct starpu_codelet stolen_cl = { .cpu_funcs = { stolen_func }, .name = "stolen" };

/* Leaves a task in its worker's queue, and waits. */
static void leave_func(void *buffers[] UNUSED, void *arg)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &stolen_cl;
    task->cl_arg = (void *)(intptr_t)starpu_worker_get_id();
    if (starpu_task_submit(task) == 0) atomic_fetch_add(&stolen, 1);
    gate_pass(arg);
}
static struct starpu_codelet leave_cl = { .cpu_funcs = { leave_func }, .name = "leave" };

static void submit_leaving(int worker)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &leave_cl;
    task->cl_arg = &held[worker];
    task->execute_on_a_specific_worker = 1;
    task->workerid = (unsigned)worker;
    if (starpu_task_submit(task) != 0) printf("Bail out! a task was refused\n");
}

/* Whom the worker robs first when two others have a task each. */
static int first_victim(int thief, int one, int other)
{
    memset(held, 0, sizeof held);
    atomic_store(&stolen, 0);
    atomic_store(&next_ran, 0);
    for (int w = 0; w < WORKERS; w++)
        if (w != one && w != other) gate_submit(&held[w], w);
    for (int w = 0; w < WORKERS; w++)
        if (w != one && w != other) gate_wait_entered(&held[w], 1);
    submit_leaving(one);
    submit_leaving(other);
    comes_to(&stolen, 2, 10000);
    gate_open(&held[thief]);
    int came = comes_to(&next_ran, 2, 10000);
    for (int w = 0; w < WORKERS; w++) gate_open(&held[w]);
    starpu_task_wait_for_all();
    return came ? order[0] : -1;
}

int main(void)
{
    alarm(60);
    setenv("HWLOC_SYNTHETIC", "pack:2 l3:1 core:2 pu:1", 1);
    runtime_start(WORKERS, "lws");
    require_workers(WORKERS);
    if (starpu_worker_get_bindid(3) == starpu_worker_get_bindid(0))
        skip_all("the machine cannot be said to be another");
    is_int(first_victim(0, 1, 2), 1, "worker 0 robs worker 1 of its socket before worker 2");
    is_int(first_victim(1, 0, 2), 0, "worker 1 robs worker 0 of its socket, not the next by number");
    is_int(first_victim(3, 2, 0), 2, "worker 3 robs worker 2 of its socket, not the next by number");
    is_int(first_victim(2, 3, 0), 3, "worker 2 robs worker 3 of its socket before worker 0");
    starpu_shutdown();
    return done_testing();
}
