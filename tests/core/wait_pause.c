/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting for all tasks and submitting them, from several threads, from tasks and callbacks; pausing the
 * workers.
 * Threads: main, four more, the workers. Owns: the counters. Not here: waiting for one task
 * (task_submit.c).
 */
#include <pthread.h>
#include "tests/helper.h"

static atomic_int runs, thread_failures;

static void count_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&runs, 1);
}
static struct starpu_codelet count_cl = { .cpu_funcs = { count_func }, .name = "count" };

static int submit_count(void)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &count_cl;
    return starpu_task_submit(task);
}

static void pausing(void)
{
    int failed = 0;
    atomic_store(&runs, 0);
    starpu_pause();
    for (int i = 0; i < 100; i++) failed |= submit_count();
    usleep(20000);
    ok(all_of(!failed, runs == 0),
       "tasks submitted while the workers are paused are accepted and do not run");
    starpu_resume();
    starpu_task_wait_for_all();
    is_int(runs, 100, "they run after the workers are resumed");
    int wrong = 0;
    for (int i = 0; i < 50; i++) {
        starpu_pause();
        failed |= submit_count();
        starpu_resume();
        starpu_task_wait_for_all();
        wrong += runs != 101 + i;
    }
    ok(all_of(!failed, wrong == 0), "pausing and resuming 50 times loses nothing");
}

enum { THREADS = 4, EACH = 3000 };

static void *submit_thread(void *arg UNUSED)
{
    for (int i = 0; i < EACH; i++)
        if (submit_count() != 0) atomic_fetch_add(&thread_failures, 1);
    return NULL;
}

static void *wait_thread(void *arg)
{
    starpu_task_wait_for_all();
    if (atomic_load(&runs) != *(int *)arg) atomic_fetch_add(&thread_failures, 1);
    return NULL;
}

static void *submit_and_wait_thread(void *arg UNUSED)
{
    for (int i = 0; i < 300; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &count_cl;
        task->detach = 0;
        if (starpu_task_submit(task) != 0 || starpu_task_wait(task) != 0)
            atomic_fetch_add(&thread_failures, 1);
    }
    return NULL;
}

static void run_threads(void *(*function)(void *), void *arg)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, function, arg);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

static void several_threads(void)
{
    atomic_store(&runs, 0);
    atomic_store(&thread_failures, 0);
    run_threads(submit_thread, NULL);
    starpu_task_wait_for_all();
    ok(all_of(thread_failures == 0, runs == THREADS * EACH), "%d threads submit %d tasks each: all run",
       THREADS, EACH);

    struct gate gate = { 0 };
    int want = THREADS * EACH + 1000;
    gate_submit(&gate, -1);
    int failed = 0;
    for (int i = 0; i < 1000; i++) failed |= submit_count();
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, wait_thread, &want);
    usleep(5000);
    gate_open(&gate);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    ok(all_of(!failed, thread_failures == 0), "several threads wait for all tasks, and each finds them done");

    atomic_store(&runs, 0);
    run_threads(submit_and_wait_thread, NULL);
    ok(all_of(thread_failures == 0, runs == THREADS * 300),
       "several threads submit tasks and wait for each of their own");
}

static void tree_func(void *buffers[] UNUSED, void *arg);
static struct starpu_codelet tree_cl = { .cpu_funcs = { tree_func }, .name = "tree" };

static void submit_tree(intptr_t depth)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &tree_cl;
    task->cl_arg = (void *)depth;
    if (starpu_task_submit(task) != 0) atomic_fetch_add(&thread_failures, 1);
}

static void tree_func(void *buffers[] UNUSED, void *arg)
{
    intptr_t depth = (intptr_t)arg;
    atomic_fetch_add(&runs, 1);
    if (depth > 0) {
        submit_tree(depth - 1);
        submit_tree(depth - 1);
    }
}

static void from_tasks(void)
{
    atomic_store(&runs, 0);
    submit_tree(12);
    starpu_task_wait_for_all();
    ok(all_of(thread_failures == 0, runs == (1 << 13) - 1),
       "tasks submit tasks, a tree of 8191, and waiting for all waits for them");
}

static void two_more(void *arg)
{
    intptr_t depth = (intptr_t)arg;
    for (int i = 0; depth > 0 && i < 2; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &count_cl;
        task->callback_func = two_more;
        task->callback_arg = (void *)(depth - 1);
        if (starpu_task_submit(task) != 0) atomic_fetch_add(&thread_failures, 1);
    }
}

static void from_callbacks(void)
{
    atomic_store(&runs, 0);
    two_more((void *)(intptr_t)11);
    starpu_task_wait_for_all();
    ok(all_of(thread_failures == 0, runs == (1 << 12) - 2),
       "callbacks submit tasks, a tree of 4094, and waiting for all waits for them");
}

static void nothing_to_wait_for(void)
{
    double start = starpu_timing_now();
    int failed = 0;
    for (int i = 0; i < 1000; i++) failed |= starpu_task_wait_for_all();
    ok(all_of(!failed, starpu_timing_now() - start < 1e6), "waiting for nothing returns at once");
}

static void idle_then_busy(void)
{
    int failed = 0, wrong = 0;
    atomic_store(&runs, 0);
    for (int i = 0; i < 200; i++) {
        if (i % 4 == 0) usleep(500);
        failed |= submit_count();
        if (i % 3 == 0) {
            starpu_task_wait_for_all();
            wrong += runs != i + 1;
        }
    }
    starpu_task_wait_for_all();
    ok(all_of(!failed, wrong == 0, runs == 200), "workers that went idle wake up for each new task");
}

/* ---- a worker that is looking for tasks while the workers are paused ---- */

static pthread_mutex_t held_lock = PTHREAD_MUTEX_INITIALIZER;
static struct starpu_task *held;
static atomic_int looking, may_look;

static int hold_task(struct starpu_task *task)
{
    pthread_mutex_lock(&held_lock);
    held = task;
    pthread_mutex_unlock(&held_lock);
    return starpu_push_task_end(task);
}

static struct starpu_task *slow_pop(unsigned ctx UNUSED)
{
    atomic_store(&looking, 1);
    starpu_worker_relax_on(); /* pausing takes the worker's mutex */
    while (!atomic_load(&may_look)) usleep(100);
    starpu_worker_relax_off();
    pthread_mutex_lock(&held_lock);
    struct starpu_task *task = held;
    held = NULL;
    pthread_mutex_unlock(&held_lock);
    return task;
}

static void pausing_while_it_looks(void)
{
    struct starpu_sched_policy slow = { .policy_name = "slow",
                                        .policy_description = "one task, looked for slowly",
                                        .push_task = hold_task,
                                        .pop_task = slow_pop };
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    conf.ncuda = conf.nopencl = 0;
    conf.sched_policy = &slow;
    atomic_store(&runs, 0);
    int status = starpu_init(&conf);
    if (status) {
        printf("Bail out! starpu_init returned %d\n", status);
        exit(1);
    }
    while (!atomic_load(&looking)) usleep(100);
    starpu_pause();
    int failed = submit_count();
    atomic_store(&may_look, 1);
    while (!failed) {
        pthread_mutex_lock(&held_lock);
        int taken = !held;
        pthread_mutex_unlock(&held_lock);
        if (taken) break;
        usleep(100);
    }
    usleep(20000);
    ok(all_of(!failed, runs == 0),
       "a task that a worker finds in a look begun before the pause does not run");
    starpu_resume();
    starpu_task_wait_for_all();
    is_int(runs, 1, "it runs after the workers are resumed");
    starpu_shutdown();
}

int main(void)
{
    alarm(30);
    runtime_start(2, NULL);
    pausing();
    several_threads();
    from_tasks();
    from_callbacks();
    nothing_to_wait_for();
    idle_then_busy();
    starpu_shutdown();
    pausing_while_it_looks();
    return done_testing();
}
