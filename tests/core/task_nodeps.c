/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks that wait for nothing: starpu_task_submit_nodeps on data that others hold, with dependencies and tags
 * that are not satisfied; starpu_create_callback_task. Threads: main submits; two workers execute.
 * Owns: nothing.
 */
#include "tests/helper.h"

static void add_func(void *buffers[], void *arg UNUSED)
{
    ++*(int *)STARPU_VARIABLE_GET_PTR(buffers[0]);
}

static struct starpu_codelet add_cl = {
    .cpu_funcs = { add_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "add"
};

static void held_func(void *buffers[] UNUSED, void *arg)
{
    gate_pass(arg);
}

static struct starpu_codelet held_cl = {
    .cpu_funcs = { held_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "holds"
};

static struct starpu_task *create(starpu_data_handle_t handle)
{
    struct starpu_task *t = starpu_task_create();
    t->cl = &add_cl;
    t->handles[0] = handle;
    t->detach = 0;
    t->destroy = 0;
    return t;
}

static int run(struct starpu_task *t)
{
    int r = starpu_task_submit_nodeps(t);
    return r ? r : starpu_task_wait(t);
}

static void data_of_others(void)
{
    int value = 0;
    starpu_data_handle_t handle;
    struct gate gate = { 0, 0 };
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    is_int(starpu_data_acquire(handle, STARPU_RW), 0, "the program holds data");
    struct starpu_task *t = create(handle);
    ok(all_of(run(t) == 0, value == 1), "a task without dependencies uses it");
    ok(all_of(run(t) == 0, value == 2), "and again");
    is_int(t->sequential_consistency, 1, "the task stays as it was");
    starpu_data_release(handle);
    struct starpu_task *holder = starpu_task_create();
    holder->cl = &held_cl;
    holder->cl_arg = &gate;
    holder->handles[0] = handle;
    is_int(starpu_task_submit(holder), 0, "a task holds it");
    gate_wait_entered(&gate, 1);
    ok(all_of(run(t) == 0, value == 3), "another without dependencies uses it meanwhile");
    gate_open(&gate);
    is_int(starpu_task_submit(t), 0, "submitted as usual it waits again");
    is_int(starpu_task_wait(t), 0, "and ends");
    starpu_task_destroy(t);
    starpu_data_unregister(handle);
    is_int(value, 4, "all of them ran");
}

static void declared(void)
{
    int value = 0;
    starpu_data_handle_t handle;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    struct starpu_task *never = create(handle), *t = create(handle);
    starpu_task_declare_deps_array(t, 1, &never);
    starpu_tag_declare_deps(7, 1, (starpu_tag_t)8);
    t->use_tag = 1;
    t->tag_id = 7;
    ok(all_of(run(t) == 0, value == 1), "it waits neither for tasks nor for tags that were declared");
    starpu_tag_notify_from_apps(8);
    ok(all_of(run(never) == 0, value == 2), "which may come afterwards");
    starpu_task_destroy(t);
    starpu_task_destroy(never);
    starpu_data_unregister(handle);
    is_int(starpu_task_submit_nodeps(NULL), -EINVAL, "NULL is no task");
    starpu_tag_clear();
}

static int called;

static void callback(void *arg)
{
    called += *(int *)arg;
}

static void callback_task(void)
{
    int three = 3;
    starpu_create_callback_task(callback, &three);
    starpu_task_wait_for_all();
    is_int(called, 3, "starpu_create_callback_task calls back, with the argument");
    starpu_create_callback_task(NULL, NULL);
    is_int(starpu_task_wait_for_all(), 0, "without a callback it is a task like any other");
}

/* More than there is room for, were they kept from one start to the next. */
static void architectures(void)
{
    int refused = 0;
    for (int start = 0; start < 4; start++) {
        runtime_start(2, NULL);
        for (int i = 0; i < 100; i++) {
            struct starpu_perfmodel_device d = { .type = STARPU_CUDA_WORKER,
                                                 .devid = 100 * start + i,
                                                 .ncores = 1 };
            refused += starpu_perfmodel_arch_comb_add(1, &d) < 0;
        }
        starpu_shutdown();
    }
    is_int(refused, 0, "each start has room for its own architectures");
}

int main(void)
{
    runtime_start(2, NULL);
    require_workers(2);
    data_of_others();
    declared();
    callback_task();
    starpu_shutdown();
    architectures();
    return done_testing();
}
