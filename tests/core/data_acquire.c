/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Acquiring data outside tasks: blocking, by callback, by trying, on a node, and what that excludes.
 * Threads: main and one more thread acquire; workers execute and call back.
 * Owns: one integer per case.
 * Not here: the order among tasks (data_modes.c).
 */
#include <pthread.h>
#include "tests/helper.h"

static starpu_data_handle_t handle;
static int value;

static void fresh(void)
{
    value = 0;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
}

static void increment_func(void *buffers[], void *arg UNUSED)
{
    (*(int *)STARPU_VARIABLE_GET_PTR(buffers[0]))++;
}
static struct starpu_codelet increment_cl = {
    .cpu_funcs = { increment_func },
    .nbuffers = 1,
    .modes = { STARPU_RW },
    .name = "increment",
};
static atomic_int reads;
static void read_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&reads, 1);
}
static struct starpu_codelet read_cl = {
    .cpu_funcs = { read_func }, .nbuffers = 1, .modes = { STARPU_R }, .name = "read"
};

static void held_func(void *buffers[], void *arg)
{
    gate_pass(arg);
    (*(int *)STARPU_VARIABLE_GET_PTR(buffers[0]))++;
}
static struct starpu_codelet held_cl = {
    .cpu_funcs = { held_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "held"
};

static int submit_held(struct gate *gate)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &held_cl;
    task->cl_arg = gate;
    task->handles[0] = handle;
    return starpu_task_submit(task);
}

static int increment(int count)
{
    int failed = 0;
    for (int i = 0; i < count; i++) failed |= starpu_task_insert(&increment_cl, STARPU_RW, handle, 0);
    return failed;
}

static void blocking(void)
{
    fresh();
    int failed = increment(500);
    is_int(starpu_data_acquire(handle, STARPU_R), 0, "data can be acquired for reading");
    ok(all_of(!failed, value == 500), "after all tasks submitted before have written it");
    failed |= increment(1);
    atomic_store(&reads, 0);
    rest_but(0);
    is_int(value, 500, "a writer submitted meanwhile waits");
    starpu_data_release(handle);
    failed |= starpu_data_acquire(handle, STARPU_RW);
    is_int(value, 501, "until the data is released");
    value = 1000;
    failed |= starpu_task_insert(&read_cl, STARPU_R, handle, 0);
    rest_but(0);
    is_int(reads, 0, "a reader waits while the data is acquired for writing");
    starpu_data_release(handle);
    failed |= increment(1);
    starpu_data_unregister(handle);
    ok(all_of(!failed, value == 1001, reads == 1),
       "what was written between acquire and release is what tasks see");
}

static void together(void)
{
    fresh();
    int failed = starpu_data_acquire(handle, STARPU_R);
    failed |= starpu_data_acquire(handle, STARPU_R);
    atomic_store(&reads, 0);
    failed |= starpu_task_insert(&read_cl, STARPU_R, handle, 0);
    ok(all_of(!failed, comes_to(&reads, 1, 1000)),
       "acquiring twice for reading is allowed, and readers run meanwhile");
    starpu_data_release(handle);
    failed |= increment(1);
    rest_but(0);
    is_int(value, 0, "one release of two does not let a writer pass");
    starpu_data_release(handle);
    starpu_data_unregister(handle);
    ok(all_of(!failed, value == 1), "the second one does");
}

static atomic_int callbacks;
static int value_in_callback;
static void acquired(void *arg)
{
    value_in_callback = value;
    if (arg) value = *(int *)arg;
    starpu_data_release(handle);
    atomic_fetch_add(&callbacks, 1);
}

static void by_callback(void)
{
    struct gate gate = { 0 };
    int write = 77;
    fresh();
    atomic_store(&callbacks, 0);
    int failed = submit_held(&gate);
    gate_wait_entered(&gate, 1);
    is_int(starpu_data_acquire_cb(handle, STARPU_RW, acquired, &write), 0,
           "data can be asked for with a callback");
    failed |= increment(1);
    rest_but(1);
    ok(all_of(!failed, callbacks == 0), "the callback waits for the tasks before");
    gate_open(&gate);
    starpu_task_wait_for_all();
    ok(all_of(comes_to(&callbacks, 1, 1000), value_in_callback == 1), "it comes after them");
    starpu_data_unregister(handle);
    is_int(value, 78, "and before the tasks submitted after it");

    fresh();
    atomic_store(&callbacks, 0);
    failed = starpu_data_acquire_on_node_cb(handle, STARPU_MAIN_RAM, STARPU_R, acquired, NULL);
    ok(all_of(!failed, comes_to(&callbacks, 1, 1000)),
       "free data is given to the callback at once, on a named node too");
    starpu_data_unregister(handle);
}

static atomic_int chain_left;
static void chain(void *arg UNUSED)
{
    value++;
    starpu_data_release(handle);
    if (atomic_fetch_sub(&chain_left, 1) > 1) starpu_data_acquire_cb(handle, STARPU_RW, chain, NULL);
}

static void callback_chain(void)
{
    fresh();
    atomic_store(&chain_left, 1000);
    int failed = starpu_data_acquire_cb(handle, STARPU_RW, chain, NULL);
    for (int i = 0; i < 20000 && atomic_load(&chain_left) > 0; i++) usleep(100);
    starpu_task_wait_for_all();
    starpu_data_unregister(handle);
    ok(all_of(!failed, value == 1000), "a callback may ask for the same data again, a thousand times");
}

static void trying(void)
{
    struct gate gate = { 0 };
    fresh();
    int failed = submit_held(&gate);
    gate_wait_entered(&gate, 1);
    ok(starpu_data_acquire_try(handle, STARPU_R) != 0, "trying fails while a task writes");
    gate_open(&gate);
    starpu_task_wait_for_all();
    is_int(starpu_data_acquire_try(handle, STARPU_R), 0, "trying succeeds when the data is free");
    is_int(value, 1, "and gives the value written");
    starpu_data_release(handle);
    is_int(starpu_data_acquire_on_node_try(handle, STARPU_MAIN_RAM, STARPU_RW), 0, "on a node too");
    value = 5;
    starpu_data_release_on_node(handle, STARPU_MAIN_RAM);
    failed |= increment(1);
    starpu_data_unregister(handle);
    ok(all_of(!failed, value == 6), "tasks go on after it");
}

static void sum_func(void *buffers[], void *arg UNUSED)
{
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) += *(int *)STARPU_VARIABLE_GET_PTR(buffers[1]);
}

static void zero_func(void *buffers[], void *arg UNUSED)
{
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) = 0;
}

/* Contributions that nobody has asked for the sum of are in nobody's way. */
static void trying_after_a_reduction(void)
{
    static struct starpu_codelet sum_cl = { .cpu_funcs = { sum_func },
                                            .nbuffers = 2,
                                            .modes = { STARPU_RW, STARPU_R } };
    static struct starpu_codelet zero_cl = { .cpu_funcs = { zero_func },
                                             .nbuffers = 1,
                                             .modes = { STARPU_W } };
    static struct starpu_codelet contribute_cl = { .cpu_funcs = { increment_func },
                                                   .nbuffers = 1,
                                                   .modes = { STARPU_REDUX } };
    fresh();
    starpu_data_set_reduction_methods(handle, &sum_cl, &zero_cl);
    for (int i = 0; i < 10; i++) starpu_task_insert(&contribute_cl, STARPU_REDUX, handle, 0);
    starpu_task_wait_for_all();
    int tries = 0;
    while (tries < 10000 && starpu_data_acquire_try(handle, STARPU_R) == -EAGAIN) {
        tries++;
        usleep(100);
    }
    if (ok(all_of(tries < 10000, value == 10),
           "trying after contributions to a reduction gets their sum in the end"))
        starpu_data_release(handle);
    starpu_data_unregister(handle);
}

static void on_node(void)
{
    fresh();
    int failed = increment(3);
    is_int(starpu_data_acquire_on_node(handle, STARPU_MAIN_RAM, STARPU_R), 0,
           "data is acquired on a named node");
    ok(all_of(!failed, value == 3, starpu_data_is_on_node(handle, STARPU_MAIN_RAM)), "and is there");
    starpu_data_release_on_node(handle, STARPU_MAIN_RAM);
    is_int(starpu_data_acquire_on_node(handle, STARPU_ACQUIRE_NO_NODE, STARPU_RW), 0,
           "data is acquired without a node, only to exclude others");
    failed = increment(1);
    rest_but(0);
    is_int(value, 3, "which it does");
    starpu_data_release_on_node(handle, STARPU_ACQUIRE_NO_NODE);
    ok(all_of(starpu_data_acquire_on_node(handle, -3, STARPU_R) == -EINVAL,
              starpu_data_acquire_on_node_try(handle, 1000, STARPU_R) == -EINVAL),
       "a node that there is not is refused");
    starpu_data_unregister(handle);
    ok(all_of(!failed, value == 4), "until it is released");
}

static atomic_int refused;
static void inside_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_store(&refused, starpu_data_acquire(handle, STARPU_R));
}
static struct starpu_codelet inside_cl = { .cpu_funcs = { inside_func }, .name = "inside" };

static void inside_a_task(void)
{
#if STARPU_AT_LEAST(1, 4) /* 1.3 stops the program instead */
    fresh();
    int failed = starpu_task_insert(&inside_cl, 0);
    starpu_task_wait_for_all();
    starpu_data_unregister(handle);
    ok(all_of(!failed, refused == -EDEADLK), "a blocking acquire inside a task is refused with EDEADLK");
#else
    (void)inside_cl;
    skip("1.3 stops the program at a blocking acquire inside a task");
#endif
}

static void sequence_off(void)
{
    /* a task that waits for a held one has joined no queue yet: without order, the acquire need not wait for
     * it */
    struct gate gate = { 0 };
    fresh();
    starpu_data_set_sequential_consistency_flag(handle, 0);
    struct starpu_task *held = starpu_task_create();
    held->cl = &gate_cl;
    held->cl_arg = &gate;
    struct starpu_task *task = starpu_task_create();
    task->cl = &increment_cl;
    task->handles[0] = handle;
    starpu_task_declare_deps_array(task, 1, &held);
    int failed = starpu_task_submit(held) | starpu_task_submit(task);
    failed |= starpu_data_acquire(handle, STARPU_RW);
    ok(all_of(!failed, value == 0),
       "without sequential consistency an acquire does not wait for a task that is not ready");
    value = 10;
    starpu_data_release(handle);
    gate_open(&gate);
    starpu_task_wait_for_all();
    starpu_data_unregister(handle);
    is_int(value, 11, "and the task comes later");
}

#define ROUNDS 1500
static void *acquire_thread(void *arg)
{
    intptr_t failed = 0;
    for (int i = 0; i < ROUNDS; i++) {
        failed |= starpu_data_acquire(handle, STARPU_RW);
        value++;
        starpu_data_release(handle);
    }
    (void)arg;
    return (void *)failed;
}

static void from_two_threads(void)
{
    pthread_t thread;
    void *result;
    fresh();
    pthread_create(&thread, NULL, acquire_thread, NULL);
    int failed = 0;
    for (int i = 0; i < ROUNDS; i++) failed |= increment(1);
    failed |= acquire_thread(NULL) != NULL;
    pthread_join(thread, &result);
    starpu_data_unregister(handle);
    ok(all_of(!failed, !result, value == 3 * ROUNDS),
       "two threads acquire while tasks write: nothing is lost");
}

static int waited, taken;

static void blocking_callback(void *arg)
{
    waited = starpu_task_wait_for_all();
    taken = starpu_data_acquire(arg, STARPU_R);
    if (taken == 0) starpu_data_release(arg);
    starpu_data_release(handle);
    atomic_fetch_add(&callbacks, 1);
}

/* The task that has the other data is to run on the worker that calls back. */
static void blocking_in_a_callback(void)
{
    starpu_data_handle_t other;
    struct gate gate = { 0 };
    int failed = 0, number = 0;
    fresh();
    starpu_variable_data_register(&other, STARPU_MAIN_RAM, (uintptr_t)&number, sizeof number);
    callbacks = 0;
    failed |= submit_held(&gate) != 0;
    gate_wait_entered(&gate, 1);
    failed |= starpu_data_acquire_cb(handle, STARPU_RW, blocking_callback, other) != 0;
    for (int worker = 0; worker < 2; worker++)
        failed |= starpu_task_insert(&increment_cl, STARPU_RW, other, STARPU_EXECUTE_ON_WORKER, worker, 0);
    gate_open(&gate);
    failed |= !comes_to(&callbacks, 1, 5000);
    ok(all_of(!failed, waited == -EDEADLK, taken == -EDEADLK),
       "a callback on a worker is refused to block, as others need the worker");
    starpu_task_wait_for_all();
    starpu_data_unregister(other);
    starpu_data_unregister(handle);
}

int main(void)
{
    alarm(30);
    runtime_start(2, NULL);
    blocking();
    together();
    by_callback();
    callback_chain();
    trying();
    trying_after_a_reduction();
    on_node();
    inside_a_task();
    blocking_in_a_callback();
    sequence_off();
    from_two_threads();
    starpu_shutdown();
    return done_testing();
}
