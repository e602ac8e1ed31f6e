/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order of execution that a program gives to the tasks of one worker.
 * Threads: main submits; two workers execute.
 * Owns: what each worker executed, in order.
 * Not here: choosing the worker alone (workers.c).
 */
#include "tests/helper.h"

#define MOST 2000
static int done[2][MOST];
static atomic_int done_count[2];
static unsigned next_order[2] = { 1, 1 };

static void log_func(void *buffers[] UNUSED, void *arg)
{
    int worker = starpu_worker_get_id();
    int n = atomic_load(&done_count[worker]); /* only this worker adds */
    done[worker][n] = (int)(intptr_t)arg;
    atomic_store(&done_count[worker], n + 1);
}
static struct starpu_codelet log_cl = { .cpu_funcs = { log_func }, .name = "log" };
static struct starpu_codelet log_data_cl = {
    .cpu_funcs = { log_func },
    .nbuffers = 1,
    .modes = { STARPU_RW },
    .name = "log_data",
};

static struct starpu_task *ordered(int worker, unsigned order)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &log_cl;
    task->cl_arg = (void *)(intptr_t)order;
    task->execute_on_a_specific_worker = 1;
    task->workerid = (unsigned)worker;
    task->workerorder = order;
    return task;
}

static void clear(void)
{
    atomic_store(&done_count[0], 0);
    atomic_store(&done_count[1], 0);
}

static int out_of_order(int worker, unsigned first, int count)
{
    int wrong = atomic_load(&done_count[worker]) != count;
    for (int i = 0; i < count; i++) wrong += done[worker][i] != (int)first + i;
    return wrong;
}

static void reversed(int count)
{
    int wrong = 0;
    clear();
    for (int i = count - 1; i >= 0; i--)
        for (int worker = 0; worker < 2; worker++)
            wrong += starpu_task_submit(ordered(worker, next_order[worker] + (unsigned)i)) != 0;
    starpu_task_wait_for_all();
    for (int worker = 0; worker < 2; worker++) {
        wrong += out_of_order(worker, next_order[worker], count);
        next_order[worker] += (unsigned)count;
    }
    is_int(wrong, 0, "%d tasks per worker submitted in reverse run in the given order, from %u", count,
           next_order[0] - (unsigned)count);
}

static void shuffled(uint64_t seed, int count)
{
    static int place[MOST];
    int wrong = 0;
    clear();
    for (int i = 0; i < count; i++) place[i] = i;
    for (int i = count - 1; i > 0; i--) {
        int j = (int)random_below(&seed, (unsigned)i + 1), other = place[i];
        place[i] = place[j];
        place[j] = other;
    }
    for (int i = 0; i < count; i++) {
        struct starpu_task *task = ordered(0, next_order[0] + (unsigned)place[i]);
        task->priority = place[i] % 3 - 1;
        wrong += starpu_task_submit(task) != 0;
    }
    starpu_task_wait_for_all();
    wrong += out_of_order(0, next_order[0], count);
    next_order[0] += (unsigned)count;
    is_int(wrong, 0, "%d tasks in random order and with priorities keep the given order", count);
}

static void first_not_ready(void)
{
    struct gate gate = { 0 };
    clear();
    struct starpu_task *held = starpu_task_create();
    held->cl = &gate_cl;
    held->cl_arg = &gate;
    held->execute_on_a_specific_worker = 1;
    held->workerid = 1;
    struct starpu_task *first = ordered(0, next_order[0]), *second = ordered(0, next_order[0] + 1);
    starpu_task_declare_deps_array(first, 1, &held);
    int failed = starpu_task_submit(second) | starpu_task_submit(first) | starpu_task_submit(held);
    gate_wait_entered(&gate, 1);
    usleep(3000);
    ok(all_of(!failed, done_count[0] == 0),
       "a ready task waits for one that comes before it in the order and is not ready");
    struct starpu_task *free_task = ordered(0, 0);
    free_task->cl_arg = (void *)(intptr_t)-7;
    failed |= starpu_task_submit(free_task);
    ok(all_of(comes_to(&done_count[0], 1, 1000), done[0][0] == -7),
       "a task without order number is not held back by it");
    gate_open(&gate);
    starpu_task_wait_for_all();
    ok(all_of(!failed, done_count[0] == 3, done[0][1] == (int)next_order[0],
              done[0][2] == (int)next_order[0] + 1),
       "then both run in order");
    next_order[0] += 2;
}

static void with_data(void)
{
    enum { N = 300 };
    static int value;
    int wrong = 0;
    starpu_data_handle_t handle;
    clear();
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    for (int i = 0; i < N; i++)
        for (int worker = 0; worker < 2; worker++) {
            struct starpu_task *task = ordered(worker, next_order[worker] + (unsigned)i);
            task->cl = &log_data_cl;
            task->handles[0] = handle;
            wrong += starpu_task_submit(task) != 0;
        }
    starpu_task_wait_for_all();
    starpu_data_unregister(handle);
    for (int worker = 0; worker < 2; worker++) {
        wrong += out_of_order(worker, next_order[worker], N);
        next_order[worker] += N;
    }
    is_int(wrong, 0, "tasks that alternate between two workers by a shared handle follow both orders");
}

static void inserted(void)
{
    enum { N = 50 };
    int wrong = 0, worker = 1;
    clear();
    for (int i = 0; i < N; i++) {
        unsigned order = next_order[1] + (unsigned)(N - 1 - i);
        wrong += starpu_task_insert(&log_cl, STARPU_EXECUTE_ON_WORKER, worker, STARPU_WORKER_ORDER, order,
                                    STARPU_CL_ARGS_NFREE, (void *)(intptr_t)order, (size_t)0, 0) != 0;
    }
    starpu_task_wait_for_all();
    wrong += out_of_order(1, next_order[1], N);
    next_order[1] += N;
    is_int(wrong, 0, "STARPU_WORKER_ORDER gives the order in an insertion");
}

int main(void)
{
    alarm(30);
    runtime_start(2, NULL);
    require_workers(2);
    reversed(300);
    reversed(1);
    diag("seed 5");
    shuffled(5, 1000);
    first_not_ready();
    with_data();
    inserted();
    reversed(200);
    starpu_shutdown();
    return done_testing();
}
