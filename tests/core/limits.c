/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The limit on submitted tasks: submission waits while there are too many.
 * Threads: a second thread submits while main watches; one worker executes.
 * Owns: the counters.
 * Not here: limits on memory.
 */
#include <pthread.h>
#include "tests/helper.h"

#define MAX 100
#define MIN 40
#define TASKS 5000

static atomic_int runs, submitted, most_at_once, failures;

static void count_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    raise_to(&most_at_once, atomic_load(&submitted) - atomic_fetch_add(&runs, 1));
}
static struct starpu_codelet count_cl = { .cpu_funcs = { count_func }, .name = "count" };

static void *submit_thread(void *arg)
{
    for (int i = 0; i < (int)(intptr_t)arg; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &count_cl;
        if (starpu_task_submit(task) != 0) atomic_fetch_add(&failures, 1);
        atomic_fetch_add(&submitted, 1);
    }
    return NULL;
}

static atomic_int in_submitter;
static void spawn_func(void *buffers[] UNUSED, void *arg)
{
    submit_thread(arg);
    atomic_fetch_add(&in_submitter, 1);
}
static struct starpu_codelet spawn_cl = { .cpu_funcs = { spawn_func }, .name = "spawn" };

int main(void)
{
    pthread_t thread;
    struct gate gate = { 0 };
    alarm(30);
    setenv("STARPU_LIMIT_MAX_SUBMITTED_TASKS", "100", 1);
    setenv("STARPU_LIMIT_MIN_SUBMITTED_TASKS", "40", 1);
    runtime_start(1, NULL);
    gate_close(&gate, -1);
    pthread_create(&thread, NULL, submit_thread, (void *)(intptr_t)TASKS);
    int reached = comes_to(&submitted, MAX - 2, 2000);
    usleep(20000);
    int stopped_at = atomic_load(&submitted);
    ok(all_of(reached, stopped_at <= MAX + 1), "submission stops at the limit of %d (at %d)", MAX,
       stopped_at);
    ok(starpu_task_nsubmitted() <= MAX + 1, "no more than that are counted as submitted");
    gate_open(&gate);
    pthread_join(thread, NULL);
    starpu_task_wait_for_all();
    ok(all_of(failures == 0, runs == TASKS), "it goes on when tasks end, and all %d run", TASKS);
    ok(most_at_once <= MAX + 1, "never were more than the limit pending (at most %d)", most_at_once);

#if STARPU_AT_LEAST(1, 4) /* 1.3 stops the program instead */
    atomic_store(&runs, 0);
    atomic_store(&submitted, 0);
    int failed = starpu_task_insert(&spawn_cl, STARPU_CL_ARGS_NFREE, (void *)(intptr_t)1000, (size_t)0, 0);
    starpu_task_wait_for_all();
    ok(all_of(!failed, in_submitter == 1, runs == 1000, failures == 0),
       "a task that submits more than the limit is not blocked by it");
    starpu_set_limit_max_submitted_tasks(500);
    starpu_set_limit_min_submitted_tasks(400);
    atomic_store(&submitted, 0);
    atomic_store(&runs, 0);
    gate_close(&gate, -1);
    pthread_create(&thread, NULL, submit_thread, (void *)(intptr_t)TASKS);
    reached = comes_to(&submitted, 500 - 2, 2000);
    usleep(20000);
    stopped_at = atomic_load(&submitted);
    gate_open(&gate);
    pthread_join(thread, NULL);
    starpu_task_wait_for_all();
    ok(all_of(reached, stopped_at <= 501, runs == TASKS),
       "the limit can be changed while running (stopped at %d)", stopped_at);
#else
    (void)spawn_cl;
    skip("1.3 stops the program when a task submits more than the limit");
    skip("1.3 has no function that changes the limit");
#endif
    starpu_shutdown();
    return done_testing();
}
