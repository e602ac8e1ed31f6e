/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queues for the program's own policies: order, priorities, who can execute what, and the numbers beside
 * them.
 * Threads: main; two CPU workers that get nothing to do. Owns: tasks that are never submitted.
 * Not here: policies (user_policy.c), components (components_own.c).
 */
#include <schedulers/starpu_scheduler_toolbox.h>
#include "tests/helper.h"

static void nothing(void *buffers[] UNUSED, void *arg UNUSED)
{
}
static int on_worker_one(unsigned worker, struct starpu_task *task UNUSED, unsigned nimpl UNUSED)
{
    return worker == 1;
}
static struct starpu_codelet any_cl = { .cpu_funcs = { nothing }, .nbuffers = 1, .modes = { STARPU_R } };
static struct starpu_codelet one_cl = { .cpu_funcs = { nothing }, .can_execute = on_worker_one };

enum { N = 5 };
static struct starpu_task *task[N];

static void order(void)
{
    static const int priority[N] = { 0, 3, -1, 3, 0 }, sorted[N] = { 1, 3, 0, 4, 2 };
    starpu_st_fifo_taskq_t q = starpu_st_fifo_taskq_create();
    int right = 1;
    ok(all_of(starpu_st_fifo_taskq_empty(q), starpu_st_fifo_taskq_pop_local_task(q) == NULL),
       "a new queue is empty");
    for (int i = 0; i < N; i++) starpu_st_fifo_taskq_push_back_task(q, task[i]);
    is_int((int)starpu_st_fifo_ntasks_get(q), N, "it counts its tasks");
    for (int i = 0; i < N; i++) right &= starpu_st_fifo_taskq_pop_local_task(q) == task[i];
    ok(all_of(right, starpu_st_fifo_nprocessed_get(q) == N), "tasks come in their order, and are counted");
    for (int i = 0; i < N; i++) {
        task[i]->priority = priority[i];
        starpu_st_fifo_taskq_push_sorted_task(q, task[i]);
    }
    for (int i = 0; i < N; i++) right &= starpu_st_fifo_taskq_pop_local_task(q) == task[sorted[i]];
    ok(right, "a sorted queue gives the highest priority first, and equals in their order");
    starpu_st_fifo_taskq_destroy(q);
}

static void who(void)
{
    starpu_st_fifo_taskq_t q = starpu_st_fifo_taskq_create();
    task[0]->cl = &one_cl;
    starpu_st_fifo_taskq_push_task(q, task[0]);
    starpu_st_fifo_taskq_push_task(q, task[1]);
    starpu_st_fifo_taskq_push_task(q, task[2]);
    ok(all_of(starpu_st_fifo_taskq_pop_this_task(q, 0, task[0]) == 0, starpu_st_fifo_ntasks_get(q) == 3),
       "a task is not taken for a worker that cannot execute it");
    ok(all_of(starpu_st_fifo_taskq_pop_task(q, 0) == task[1], starpu_st_fifo_taskq_pop_task(q, 1) == task[0]),
       "a worker gets the first task that it can execute");
    ok(all_of(starpu_st_fifo_taskq_pop_this_task(q, 0, task[2]) == 1, starpu_st_fifo_taskq_empty(q)),
       "a given task is taken out");
    task[0]->cl = &any_cl;
    starpu_st_fifo_taskq_destroy(q);
}

static void numbers(void)
{
    starpu_st_fifo_taskq_t q = starpu_st_fifo_taskq_create();
    starpu_st_fifo_exp_start_set(q, 10);
    starpu_st_fifo_exp_len_set(q, 20);
    starpu_st_fifo_exp_len_inc(q, 5);
    starpu_st_fifo_exp_end_set(q, 35);
    starpu_st_fifo_pipeline_len_set(q, 7);
    starpu_st_fifo_pipeline_len_inc(q, -2);
    starpu_st_fifo_ntasks_inc(q, 3);
    starpu_st_fifo_nprocessed_inc(q, 4);
    ok(all_of(starpu_st_fifo_exp_start_get(q) == 10, starpu_st_fifo_exp_len_get(q) == 25,
              starpu_st_fifo_exp_end_get(q) == 35, starpu_st_fifo_pipeline_len_get(q) == 5,
              starpu_st_fifo_ntasks_get(q) == 3, starpu_st_fifo_nprocessed_get(q) == 4),
       "a queue keeps the numbers that a policy gives it");
    starpu_st_fifo_taskq_destroy(q);
    unsigned context = 0;
    starpu_sched_ctx_set_min_priority(context, -3);
    starpu_sched_ctx_set_max_priority(context, 9);
    int least = starpu_sched_ctx_get_min_priority(context), most = starpu_sched_ctx_get_max_priority(context);
    ok(all_of(starpu_st_normalize_prio(least - 1, 8, context) == 0,
              starpu_st_normalize_prio(least, 8, context) == 0,
              starpu_st_normalize_prio(most, 8, context) == 7,
              starpu_st_normalize_prio(most + 1, 8, context) == 7),
       "priorities from %d to %d fall into eight levels", least, most);
    is_int(starpu_st_non_ready_buffers_count(task[0], 0), 0, "data in main memory is ready for a CPU worker");
}

int main(void)
{
    starpu_data_handle_t handle;
    static int number;
    alarm(60);
    runtime_start(2, NULL);
    require_workers(2);
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&number, sizeof number);
    for (int i = 0; i < N; i++) {
        task[i] = starpu_task_create();
        task[i]->cl = &any_cl;
        task[i]->handles[0] = handle;
    }
    order();
    who();
    numbers();
    for (int i = 0; i < N; i++) starpu_task_destroy(task[i]);
    starpu_data_unregister(handle);
    starpu_shutdown();
    return done_testing();
}
