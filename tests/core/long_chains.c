/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chains in which each end begins the next thing, as long as a program likes: they do not use up the stack.
 * Threads: one with a small stack sets each chain going. Owns: its data. Not here: what the callbacks are for
 * (data_acquire.c), end dependencies (task_deps.c).
 */
#include <pthread.h>
#include "tests/helper.h"

enum { LINKS = 20000, STACK_BYTES = 256 << 10 };

static starpu_data_handle_t h;
static int called;
static atomic_int ended;

static void release_it(void *arg UNUSED)
{
    called++;
    starpu_data_release(h);
}

static void queued(enum starpu_data_access_mode mode, const char *what)
{
    called = 0;
    starpu_data_acquire(h, STARPU_RW);
    for (int i = 0; i < LINKS; i++) starpu_data_acquire_cb(h, mode, release_it, NULL);
    starpu_data_release(h);
    starpu_data_acquire(h, STARPU_RW);
    starpu_data_release(h);
    is_int(called, LINKS, "queued acquisitions whose callbacks release the data: %s", what);
}

static void acquire_again(void *arg UNUSED)
{
    starpu_data_release(h);
    if (++called < LINKS) starpu_data_acquire_cb(h, STARPU_RW, acquire_again, NULL);
}

static void at_once(void)
{
    called = 0;
    starpu_data_acquire_cb(h, STARPU_RW, acquire_again, NULL);
    is_int(called, LINKS, "callbacks that acquire the data again, which is free");
}

static void ended_func(void *arg UNUSED)
{
    ended++;
}

static struct starpu_task *empty_task(void)
{
    struct starpu_task *task = starpu_task_create();
    task->callback_func = ended_func;
    return task;
}

/* Each ends when the one before it does; the first by hand. */
static void end_dependencies(void)
{
    static struct starpu_task *chain[LINKS];
    ended = 0;
    for (int i = 0; i < LINKS; i++) {
        chain[i] = empty_task();
        if (i) starpu_task_declare_end_deps_array(chain[i], 1, &chain[i - 1]);
    }
    starpu_task_end_dep_add(chain[0], 1);
    for (int i = 0; i < LINKS; i++) starpu_task_submit(chain[i]);
    int early = ended;
    starpu_task_end_dep_release(chain[0]);
    starpu_task_wait_for_all();
    ok(all_of(!early, ended == LINKS), "tasks that end with the one before them");
}

static void dependencies(void)
{
    struct starpu_task *first = empty_task(), *last = first;
    ended = 0;
    for (int i = 1; i < LINKS; i++) {
        struct starpu_task *task = empty_task();
        starpu_task_declare_deps_array(task, 1, &last);
        starpu_task_submit(task);
        last = task;
    }
    starpu_task_submit(first);
    starpu_task_wait_for_all();
    is_int(ended, LINKS, "tasks without body that wait for the one before them");
}

static struct starpu_codelet nowhere_cl = {
    .where = STARPU_NOWHERE, .nbuffers = 1, .modes = { STARPU_RW }, .name = "nowhere"
};

static void by_data(void)
{
    ended = 0;
    starpu_data_acquire(h, STARPU_RW);
    for (int i = 0; i < LINKS; i++) {
        struct starpu_task *task = empty_task();
        task->cl = &nowhere_cl;
        task->handles[0] = h;
        starpu_task_submit(task);
    }
    starpu_data_release(h);
    starpu_task_wait_for_all();
    is_int(ended, LINKS, "tasks without body on the same data");
}

static void submit_next(void *arg UNUSED)
{
    if (++ended >= LINKS) return;
    struct starpu_task *task = empty_task();
    task->callback_func = submit_next;
    starpu_task_submit(task);
}

static void by_callback(void)
{
    ended = 0;
    struct starpu_task *task = empty_task();
    task->callback_func = submit_next;
    starpu_task_submit(task);
    starpu_task_wait_for_all();
    is_int(ended, LINKS, "tasks without body whose callback submits the next");
}

static void by_tags(void)
{
    ended = 0;
    for (starpu_tag_t i = LINKS; i > 0; i--) {
        struct starpu_task *task = empty_task();
        task->use_tag = 1;
        task->tag_id = i;
        starpu_tag_declare_deps(i, 1, i - 1);
        starpu_task_submit(task);
    }
    starpu_tag_notify_from_apps(0);
    starpu_task_wait_for_all();
    is_int(ended, LINKS, "tasks without body whose tags wait for each other");
}

static void *all(void *arg UNUSED)
{
    queued(STARPU_RW, "writers");
    queued(STARPU_RW | STARPU_COMMUTE, "commuting writers");
    at_once();
    end_dependencies();
    dependencies();
    by_data();
    by_callback();
    by_tags();
    return NULL;
}

int main(void)
{
    int value = 0;
    pthread_attr_t small;
    pthread_t thread;
    runtime_start(1, NULL);
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    pthread_create(&thread, &small, all, NULL);
    pthread_join(thread, NULL);
    starpu_data_unregister(h);
    starpu_shutdown();
    return done_testing();
}
