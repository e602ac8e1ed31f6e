/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tags that are removed early: before what they wait for is reached, and between the release of their task's
 * data and its end. Threads: main submits; two workers. Owns: the counters. Not here: what tags are for
 * (task_tags.c), removal while the task runs (misuse.c).
 */
#include "tests/helper.h"

static atomic_int runs;

static void count_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&runs, 1);
}
static struct starpu_codelet write_cl = { .cpu_funcs = { count_func },
                                          .nbuffers = 1,
                                          .modes = { STARPU_RW } };
static struct starpu_codelet count_cl = { .cpu_funcs = { count_func }, .name = "count" };

static struct starpu_task *tagged(struct starpu_codelet *cl, void *arg, starpu_tag_t tag)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = cl;
    task->cl_arg = arg;
    task->use_tag = 1;
    task->tag_id = tag;
    return task;
}

/* 2 waits for 1, and is gone when 1 is reached. */
static void before_it_is_reached(void)
{
    starpu_tag_declare_deps(2, 1, (starpu_tag_t)1);
    starpu_tag_remove(2);
    starpu_tag_notify_from_apps(1);
    starpu_tag_remove(1);
    atomic_store(&runs, 0);
    int failed = starpu_task_submit(tagged(&count_cl, NULL, 2));
    failed |= starpu_tag_wait(2);
    ok(all_of(!failed, atomic_load(&runs) == 1), "a tag removed before what it waits for is forgotten");
    starpu_tag_remove(2);
}

/* Tasks hand over their data before their tag is reached: a removal in between is no mistake. */
static void at_the_end_of_its_task(void)
{
    enum { TIMES = 2000 };
    int value = 0, failed = 0;
    starpu_data_handle_t h;
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    atomic_store(&runs, 0);
    for (int i = 0; i < TIMES; i++) {
        struct starpu_task *writer = tagged(&write_cl, NULL, 6), *after = tagged(&count_cl, NULL, 7);
        writer->handles[0] = h;
        starpu_tag_declare_deps(7, 1, (starpu_tag_t)6);
        failed |= starpu_task_submit(after) | starpu_task_submit(writer);
        failed |= starpu_data_acquire(h, STARPU_RW);
        starpu_data_release(h);
        starpu_tag_remove(6);
        failed |= starpu_tag_wait(7);
        starpu_tag_remove(7);
    }
    starpu_data_unregister(h);
    ok(all_of(!failed, atomic_load(&runs) == 2 * TIMES),
       "a tag may be removed as soon as the data of its task can be had, %d times", TIMES);
}

/* The same for its next task, when it waits for another tag in each round: the callback comes while the task
 * before gives its data back. */
enum { ROUNDS = 100 };
static atomic_int refused, rounds;
static starpu_data_handle_t again;

static void bind_again(void *arg UNUSED)
{
    int more = atomic_fetch_add(&rounds, 1) < ROUNDS;
    if (more) {
        struct starpu_task *writer = tagged(&write_cl, NULL, 9);
        writer->handles[0] = again;
        int r = starpu_task_submit(writer);
        if (r) starpu_task_destroy(writer);
        atomic_fetch_add(&refused, r != 0);
        starpu_data_acquire_cb(again, STARPU_RW, bind_again, NULL);
        starpu_tag_notify_restart_from_apps(8);
    }
    starpu_data_release(again);
}

static void bound_again_at_the_end(void)
{
    int value = 0, failed = 0;
    starpu_variable_data_register(&again, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    starpu_tag_declare_deps(9, 1, (starpu_tag_t)8);
    starpu_tag_declare_deps(10, 1, (starpu_tag_t)9);
    atomic_store(&runs, 0);
    starpu_data_acquire_cb(again, STARPU_RW, bind_again, NULL);
    comes_to(&rounds, ROUNDS + 1, 20000);
    starpu_task_wait_for_all();
    ok(all_of(atomic_load(&refused) == 0, atomic_load(&runs) == ROUNDS),
       "a tag may be bound again as soon as the data of its task can be had, %d times", ROUNDS);
    for (int i = 0; i < ROUNDS && !failed; i++) {
        struct starpu_task *after = tagged(&count_cl, NULL, 10);
        after->synchronous = 1;
        failed = starpu_task_submit(after);
    }
    ok(all_of(!failed, atomic_load(&runs) == 2 * ROUNDS), "and is reached as often");
    starpu_data_unregister(again);
    for (starpu_tag_t tag = 8; tag <= 10; tag++) starpu_tag_remove(tag);
}

int main(void)
{
    alarm(60);
    runtime_start(2, "eager");
    require_workers(2);
    before_it_is_reached();
    at_the_end_of_its_task();
    bound_again_at_the_end();
    starpu_shutdown();
    return done_testing();
}
