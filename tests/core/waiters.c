/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who waits for all tasks is woken by whoever ends the last one: an idle worker in a hook or a callback of
 * the program, a worker that is to pause; and hooks are called as long as they want.
 * Threads: main, one that waits, the workers. Owns: the counters. Not here: waiting as such (wait_pause.c).
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <starpu_expert.h>
#include <sys/syscall.h>

#include "tests/helper.h"

enum { TAG = 77, PATIENCE_MS = 10000 };

static atomic_int waiter_tid, returned, acted;

/* Whether the waiting thread sleeps. */
static int waiter_sleeps(void)
{
    char path[64], text[512];
    int tid = atomic_load(&waiter_tid);
    if (!tid) return 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
    int fd = open(path, O_RDONLY);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0) close(fd);
    if (n <= 0) return 0;
    text[n] = 0;
    const char *state = strrchr(text, ')');
    return state && state[1] && state[2] == 'S';
}

static void *wait_for_all(void *arg UNUSED)
{
    atomic_store(&waiter_tid, (int)syscall(SYS_gettid));
    atomic_store(&returned, starpu_task_wait_for_all() == 0 ? 1 : -1);
    return NULL;
}

/* A task without a body that waits for the tag. */
static void submit_bodyless(void)
{
    struct starpu_task *task = starpu_task_create();
    starpu_tag_t dep = TAG;
    task->use_tag = 1;
    task->tag_id = TAG + 1;
    starpu_tag_declare_deps_array(TAG + 1, 1, &dep);
    if (starpu_task_submit(task) != 0) ok(0, "a task without a body is accepted");
}

static void notify_once(void)
{
    if (!waiter_sleeps() || atomic_exchange(&acted, 1)) return;
    starpu_tag_notify_from_apps(TAG);
}

/* Called by idle workers, and by the waiting thread before it sleeps. */
static unsigned hook(void *arg UNUSED)
{
    if (starpu_worker_get_id() < 0 || atomic_load(&acted)) return 1;
    notify_once();
    return 0;
}

enum { SLOW_CALLS = 200 };

/* Takes longer than a worker waits for its core, and wants to be called again. */
static unsigned slow_hook(void *arg)
{
    usleep(100);
    return atomic_fetch_add((atomic_int *)arg, 1) >= SLOW_CALLS;
}

static void slow_hooks(void)
{
    static atomic_int calls;
    int id = starpu_progression_hook_register(slow_hook, &calls);
    ok(comes_to(&calls, SLOW_CALLS, PATIENCE_MS),
       "a hook that takes 100 us and wants to be called again is: %d times", SLOW_CALLS);
    starpu_progression_hook_deregister(id);
}

static void on_sleep(unsigned workerid UNUSED)
{
    for (int i = 0; i < 20000 && atomic_load(&waiter_tid) && !atomic_load(&acted); i++) {
        notify_once();
        usleep(100);
    }
}

static pthread_t start_waiting(void)
{
    pthread_t thread;
    atomic_store(&waiter_tid, 0);
    atomic_store(&returned, 0);
    atomic_store(&acted, 0);
    pthread_create(&thread, NULL, wait_for_all, NULL);
    return thread;
}

/* Whether it has returned by itself; if not, it is freed so that the test can go on. */
static int stop_waiting(pthread_t thread)
{
    int came = comes_to(&returned, 1, PATIENCE_MS);
    static struct gate open = { .open = 1 };
    if (!came) gate_submit(&open, -1);
    pthread_join(thread, NULL);
    atomic_store(&waiter_tid, 0);
    starpu_tag_remove(TAG);
    starpu_tag_remove(TAG + 1);
    return came;
}

static void by_hook(void)
{
    submit_bodyless();
    int id = starpu_progression_hook_register(hook, NULL);
    pthread_t thread = start_waiting();
    ok(stop_waiting(thread), "the last task ends in a hook on an idle worker: who waits for all is woken");
    starpu_progression_hook_deregister(id);
}

static void by_sleep_callback(void)
{
    submit_bodyless();
    starpu_worker_set_going_to_sleep_callback(on_sleep);
    pthread_t thread = start_waiting();
    while (!waiter_sleeps() && !atomic_load(&returned)) usleep(100);
    starpu_wake_all_blocked_workers();
    ok(stop_waiting(thread), "the last task ends in the callback of a worker that goes to sleep: the same");
    starpu_worker_set_going_to_sleep_callback(NULL);
}

static void by_pause(void)
{
    struct gate gate = { 0 };
    gate_close(&gate, 0);
    pthread_t thread = start_waiting();
    while (!waiter_sleeps()) usleep(100);
    starpu_pause();
    gate_open(&gate);
    int came = comes_to(&returned, 1, PATIENCE_MS);
    starpu_resume();
    stop_waiting(thread);
    ok(came, "the last task ends on a worker that is to pause: who waits for all is woken before it resumes");
}

int main(void)
{
    runtime_start(1, "eager");
    slow_hooks();
    by_hook();
    by_sleep_callback();
    by_pause();
    starpu_shutdown();
    return done_testing();
}
