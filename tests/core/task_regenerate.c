/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks that submit themselves again when they end.
 * Threads: main submits; workers execute and call back.
 * Owns: the counters.
 * Not here: submitting a kept task again by hand (task_submit.c).
 */
#include "tests/helper.h"

struct loop {
    atomic_int runs, callbacks;
    int rounds;
    struct starpu_task *task;
};

static void loop_func(void *buffers[] UNUSED, void *arg)
{
    atomic_fetch_add(&((struct loop *)arg)->runs, 1);
}
static struct starpu_codelet loop_cl = { .cpu_funcs = { loop_func }, .name = "loop" };

static void loop_callback(void *arg)
{
    struct loop *loop = arg;
    if (atomic_fetch_add(&loop->callbacks, 1) + 1 == loop->rounds) starpu_task_get_current()->regenerate = 0;
}

static void submit_loop(struct loop *loop, int rounds)
{
    memset(loop, 0, sizeof *loop);
    loop->rounds = rounds;
    struct starpu_task *task = starpu_task_create();
    task->cl = &loop_cl;
    task->cl_arg = loop;
    task->callback_func = loop_callback;
    task->callback_arg = loop;
    task->regenerate = 1;
    task->destroy = 0;
    loop->task = task;
    if (starpu_task_submit(task) != 0) ok(0, "a regenerated task is accepted");
}

static int exclusive_runs;
static void write_func(void *buffers[], void *arg)
{
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) += 1;
    atomic_fetch_add(&((struct loop *)arg)->runs, 1);
    exclusive_runs++;
}
static struct starpu_codelet write_cl = {
    .cpu_funcs = { write_func },
    .nbuffers = 1,
    .modes = { STARPU_RW },
    .name = "write",
};

static void with_data(void)
{
    int value = 0;
    starpu_data_handle_t handle;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    struct loop loop = { .rounds = 100 };
    struct starpu_task *task = starpu_task_create();
    task->cl = &write_cl;
    task->handles[0] = handle;
    task->cl_arg = &loop;
    task->callback_func = loop_callback;
    task->callback_arg = &loop;
    task->regenerate = 1;
    task->destroy = 0;
    int failed = starpu_task_submit(task) != 0;
    starpu_task_wait_for_all();
    starpu_task_destroy(task);
    starpu_data_unregister(handle);
    ok(all_of(!failed, value == 100, exclusive_runs == 100),
       "a regenerated task takes its data anew each time");
}

int main(void)
{
    alarm(30);
    runtime_start(2, NULL);
    struct loop one, many[20];
    submit_loop(&one, 1);
    starpu_task_wait_for_all();
    starpu_task_destroy(one.task);
    ok(all_of(one.runs == 1, one.callbacks == 1),
       "a task whose callback ends regeneration at once runs once");
    submit_loop(&one, 2000);
    starpu_task_wait_for_all();
    starpu_task_destroy(one.task);
    ok(all_of(one.runs == 2000, one.callbacks == 2000),
       "a task regenerates 2000 times, and waiting for all waits for the last");
    for (unsigned i = 0; i < LENGTH(many); i++) submit_loop(&many[i], 50 + (int)i);
    starpu_task_wait_for_all();
    int wrong = 0;
    for (unsigned i = 0; i < LENGTH(many); i++) wrong += many[i].runs != 50 + (int)i;
    for (unsigned i = 0; i < LENGTH(many); i++) starpu_task_destroy(many[i].task);
    is_int(wrong, 0, "twenty regenerated tasks side by side run each its own number of times");
    is_int(starpu_task_nsubmitted(), 0, "nothing is left submitted");
    with_data();
    starpu_shutdown();
    return done_testing();
}
