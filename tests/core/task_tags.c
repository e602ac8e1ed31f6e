/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tags: dependencies between names instead of tasks, waited for, notified by the program, restarted, removed.
 * Threads: main submits and waits; workers execute.
 * Owns: the clock that gives each execution its place.
 * Not here: dependencies between tasks (task_deps.c).
 */
#include "tests/helper.h"

static atomic_int time_now;
static int at[64];

static void step_func(void *buffers[] UNUSED, void *arg)
{
    at[(intptr_t)arg] = atomic_fetch_add(&time_now, 1) + 1;
}
static struct starpu_codelet step_cl = { .cpu_funcs = { step_func }, .name = "step" };

static struct starpu_task *tagged(starpu_tag_t tag, int index)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &step_cl;
    task->cl_arg = (void *)(intptr_t)index;
    task->use_tag = 1;
    task->tag_id = tag;
    return task;
}

static void clear(void)
{
    memset(at, 0, sizeof at);
    atomic_store(&time_now, 0);
}

static void chain_of_tags(void)
{
    clear();
    starpu_tag_declare_deps(0x101, 1, (starpu_tag_t)0x100);
    starpu_tag_declare_deps(0x102, 2, (starpu_tag_t)0x100, (starpu_tag_t)0x101);
    int failed = starpu_task_submit(tagged(0x102, 2)) != 0 || starpu_task_submit(tagged(0x101, 1)) != 0;
    rest_but(0);
    ok(all_of(!failed, at[1] == 0, at[2] == 0), "tasks whose tags depend on a tag wait for it");
    failed = starpu_task_submit(tagged(0x100, 0)) != 0;
    is_int(starpu_tag_wait(0x102), 0, "a tag can be waited for");
    ok(all_of(!failed, at[0] == 1, at[1] == 2, at[2] == 3), "the tasks ran in the order of their tags");
    is_int(starpu_tag_wait(0x100), 0, "waiting for a tag whose task has ended returns at once");
    for (starpu_tag_t tag = 0x100; tag <= 0x102; tag++) starpu_tag_remove(tag);
}

static void arrays_of_tags(void)
{
    clear();
    starpu_tag_t first[10];
    for (unsigned i = 0; i < LENGTH(first); i++) first[i] = 0x200 + i;
    starpu_tag_declare_deps_array(0x2ff, LENGTH(first), first);
    int failed = starpu_task_submit(tagged(0x2ff, 20)) != 0;
    for (unsigned i = 0; i < LENGTH(first); i++) failed |= starpu_task_submit(tagged(first[i], (int)i)) != 0;
    is_int(starpu_tag_wait_array(LENGTH(first), first), 0, "an array of tags can be waited for");
    int done = 0;
    for (unsigned i = 0; i < LENGTH(first); i++) done += at[i] > 0;
    ok(all_of(!failed, done == 10), "all their tasks have run");
    starpu_tag_wait(0x2ff);
    is_int(at[20], 11, "a tag that depends on ten others comes after all");
    for (unsigned i = 0; i < LENGTH(first); i++) starpu_tag_remove(first[i]);
    starpu_tag_remove(0x2ff);
}

static void notified_by_the_program(void)
{
    clear();
    starpu_tag_declare_deps(0x301, 1, (starpu_tag_t)0x300);
    int failed = starpu_task_submit(tagged(0x301, 1)) != 0;
    rest_but(0);
    ok(all_of(!failed, at[1] == 0), "a task waits for a tag that no task has");
    starpu_tag_notify_from_apps(0x300);
    starpu_tag_wait(0x301);
    ok(at[1] == 1, "the program's notification releases it");
    starpu_tag_remove(0x300);
    starpu_tag_remove(0x301);
}

static void restarted(void)
{
    clear();
    int wrong = 0;
    starpu_tag_declare_deps(0x401, 1, (starpu_tag_t)0x400);
    struct starpu_task *task = tagged(0x401, 1);
    task->destroy = 0;
    task->detach = 0;
    wrong += starpu_task_submit(task) != 0;
    starpu_tag_notify_from_apps(0x400);
    wrong += starpu_task_wait(task) != 0 || atomic_load(&time_now) != 1;
    ok(wrong == 0, "a tagged task that the caller keeps runs");

    starpu_tag_restart(0x400);
    starpu_tag_declare_deps(0x401, 1, (starpu_tag_t)0x400);
    wrong += starpu_task_submit(task) != 0;
    rest_but(0);
    is_int(atomic_load(&time_now), 1, "after a restart of its tag the task waits for it again");
    starpu_tag_notify_from_apps(0x400);
    wrong += starpu_task_wait(task) != 0;
    ok(all_of(wrong == 0, atomic_load(&time_now) == 2), "and runs again when the tag is notified again");
    starpu_task_destroy(task);
    starpu_tag_remove(0x400);
    starpu_tag_remove(0x401);
}

static atomic_int called_back;
static void count_callback(void *arg)
{
    atomic_fetch_add(&called_back, *(int *)arg);
}

static void synchronisation_task(void)
{
    clear();
    starpu_tag_t deps[2] = { 0x500, 0x501 };
    static int one = 1;
    starpu_create_sync_task(0x502, 2, deps, count_callback, &one);
    rest_but(0);
    is_int(atomic_load(&called_back), 0, "a synchronisation task waits for its tags");
    int failed = starpu_task_submit(tagged(0x500, 0)) != 0 || starpu_task_submit(tagged(0x501, 1)) != 0;
    starpu_tag_wait(0x502);
    starpu_task_wait_for_all();
    ok(all_of(!failed, atomic_load(&called_back) == 1), "and calls its callback once");
}

static void known_by_tag(void)
{
    struct gate gate = { 0 };
    gate_close(&gate, -1);
    struct starpu_task *task = tagged(0x600, 1);
    int failed = starpu_task_submit(task) != 0;
    ok(all_of(!failed, starpu_tag_get_task(0x600) == task), "a tag gives its task while that one lives");
    gate_open(&gate);
    starpu_tag_wait(0x600);
    starpu_tag_remove(0x600);
    starpu_task_wait_for_all();
}

static void grid_of_tags(void)
{
    /* a wavefront: (i, j) after (i-1, j) and (i, j-1) */
    enum { SIDE = 8 };
    clear();
    int failed = 0;
    for (int i = SIDE - 1; i >= 0; i--)
        for (int j = SIDE - 1; j >= 0; j--) {
            starpu_tag_t id = 0x1000 + (starpu_tag_t)(i * SIDE + j), deps[2];
            unsigned count = 0;
            if (i > 0) deps[count++] = id - SIDE;
            if (j > 0) deps[count++] = id - 1;
            if (count > 0) starpu_tag_declare_deps_array(id, count, deps);
            failed |= starpu_task_submit(tagged(id, i * SIDE + j)) != 0;
        }
    starpu_tag_wait(0x1000 + SIDE * SIDE - 1);
    int wrong = 0;
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            wrong += i > 0 && at[(i - 1) * SIDE + j] >= at[i * SIDE + j];
            wrong += j > 0 && at[i * SIDE + j - 1] >= at[i * SIDE + j];
            wrong += at[i * SIDE + j] == 0;
        }
    ok(all_of(!failed, wrong == 0), "a wavefront of %d tags, submitted backwards, is respected", SIDE * SIDE);
    starpu_task_wait_for_all();
    for (starpu_tag_t id = 0; id < SIDE * SIDE; id++) starpu_tag_remove(0x1000 + id);
    starpu_tag_declare_deps(0x1001, 1, (starpu_tag_t)0x1000);
    clear();
    failed = starpu_task_submit(tagged(0x1001, 1)) != 0;
    rest_but(0);
    is_int(at[1], 0, "a removed tag is forgotten: used again, it is waited for");
    failed |= starpu_task_submit(tagged(0x1000, 0)) != 0;
    starpu_task_wait_for_all();
    ok(all_of(!failed, at[0] == 1, at[1] == 2), "and its new task releases it");
}

static void waited_for_twice(void)
{
    struct starpu_task *task = tagged(0x680, 0);
    task->detach = 0;
    int failed = starpu_task_submit(task) != 0 || starpu_tag_wait(0x680) != 0;
    ok(all_of(!failed, starpu_task_wait(task) == 0),
       "a task that is not detached can be waited for after its tag");
    starpu_tag_remove(0x680);
}

static void shared_by_tasks(void)
{
    enum { SHARERS = 20 };
    clear();
    struct gate gate;
    gate_close(&gate, -1);
    int failed = 0, late = 0;
    for (int i = 0; i < SHARERS; i++) failed |= starpu_task_submit(tagged(0x700, i)) != 0;
    is_int(failed, 0, "a tag that waits for nothing can be given to %d tasks at once", SHARERS);
    starpu_tag_declare_deps(0x701, 1, (starpu_tag_t)0x700);
    failed = starpu_task_submit(tagged(0x701, SHARERS)) != 0;
    gate_open(&gate);
    starpu_tag_wait(0x701);
    for (int i = 0; i < SHARERS; i++) late += at[i] == 0 || at[i] > at[SHARERS];
    ok(all_of(!failed, late == 0), "what depends on it runs after all of them");
    starpu_task_wait_for_all();
    starpu_tag_remove(0x700);
    starpu_tag_remove(0x701);
}

int main(void)
{
    alarm(30);
    runtime_start(1, NULL);
    chain_of_tags();
    arrays_of_tags();
    notified_by_the_program();
    restarted();
    synchronisation_task();
    known_by_tag();
    grid_of_tags();
    waited_for_twice();
    shared_by_tasks();
    starpu_shutdown();
    return done_testing();
}
