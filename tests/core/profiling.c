/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Profiling: the times of tasks, the sums of workers, turning it on and off.
 * Threads: main asks; tasks take a known time.
 * Owns: nothing.
 * Not here: performance models (perfmodel.c).
 */
#include <stdbool.h>

#include "tests/core/sim_helper.h"

enum { TASKS = 10, BODY_US = 2000, CALLBACK_US = 500 };

static void sleep_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    usleep(BODY_US);
}

static void sleep_callback(void *arg UNUSED)
{
    usleep(CALLBACK_US);
}

static struct starpu_codelet sleep_cl = { .cpu_funcs = { sleep_func }, .name = "sleep" };

static struct starpu_task *submit(int worker)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &sleep_cl;
    task->destroy = 0;
    task->detach = 0;
    task->flops = 100;
    task->callback_func = sleep_callback;
    task->execute_on_a_specific_worker = 1;
    task->workerid = (unsigned)worker;
    if (starpu_task_submit(task) == 0) return task;
    printf("Bail out! a task was refused\n");
    exit(1);
}

static void wait_for(struct starpu_task *task)
{
    if (starpu_task_wait(task) != 0) ok(0, "a task can be waited for");
}

static double us(struct timespec *t)
{
    return starpu_timing_timespec_to_us(t);
}

static void times_of_a_task(void)
{
    struct starpu_task *task = submit(1);
    wait_for(task);
    struct starpu_profiling_task_info *info = task->profiling_info;
    ok(info != NULL, "a task has its times");
    if (info) {
        is_int(info->workerid, 1, "and the worker it ran on");
        ok(all_of(us(&info->submit_time) > 0, us(&info->submit_time) <= us(&info->push_start_time)),
           "submitted, then pushed");
        ok(us(&info->push_start_time) <= us(&info->pop_end_time), "pushed, then popped");
        ok(us(&info->pop_end_time) <= us(&info->start_time), "popped, then started");
        double length = starpu_timing_timespec_delay_us(&info->start_time, &info->end_time);
        ok(all_of(us(&info->end_time) <= us(&info->release_data_start_time),
                  us(&info->release_data_end_time) <= us(&info->callback_start_time)),
           "then its data was released, and its callback called");
        double length_of_callback =
            starpu_timing_timespec_delay_us(&info->callback_start_time, &info->callback_end_time);
        ok(length_of_callback >= CALLBACK_US, "whose time is given (%.0f us)", length_of_callback);
        ok(length >= BODY_US, "the body's time is counted (%.0f us of at least %d)", length, BODY_US);
    }
    starpu_task_destroy(task);
}

static double parts_us(struct starpu_profiling_worker_info *info)
{
    return us(&info->executing_time) + us(&info->sleeping_time) + us(&info->waiting_time) +
           us(&info->callback_time) + us(&info->scheduling_time);
}

static void sums_of_workers(void)
{
    struct starpu_profiling_worker_info info;
    struct starpu_task *tasks[TASKS];
    starpu_profiling_worker_get_info(0, NULL);
    starpu_profiling_worker_get_info(1, NULL);
    for (int i = 0; i < TASKS; i++) tasks[i] = submit(1);
    for (int i = 0; i < TASKS; i++) {
        wait_for(tasks[i]);
        starpu_task_destroy(tasks[i]);
    }
    is_int(starpu_profiling_worker_get_info(1, &info), 0, "a worker's sums are given");
    is_int(info.executed_tasks, TASKS, "the tasks it ran are counted");
    ok(us(&info.executing_time) >= TASKS * BODY_US, "and the time they took");
    ok(us(&info.executing_time) <= us(&info.total_time), "which is no more than has passed");
    ok(info.flops == 100.0 * TASKS, "and their operations");
    ok(us(&info.callback_time) >= TASKS * CALLBACK_US, "their callbacks' time is told apart (%.0f us)",
       us(&info.callback_time));
    ok(parts_us(&info) <= us(&info.total_time) + 1, "the parts are no more than the whole (%.0f of %.0f us)",
       parts_us(&info), us(&info.total_time));
    ok(us(&info.all_callback_time) == us(&info.callback_time), "and the same in both forms");
    starpu_profiling_worker_get_info(0, &info);
    is_int(info.executed_tasks, 0, "the other worker ran none");
    starpu_profiling_worker_get_info(1, &info);
    is_int(info.executed_tasks, 0, "each question begins anew");
    usleep(20000);
    starpu_profiling_worker_get_info(0, &info);
    ok(us(&info.sleeping_time) >= 5000, "a worker without tasks sleeps, and that is counted");
    is_int(starpu_profiling_worker_get_info(17, &info), -EINVAL, "there is no such worker");
}

/* A callback that ends a task itself, whose callback is called within it. */
static void nesting_callback(void *arg)
{
    struct starpu_task *empty = starpu_task_create();
    empty->callback_func = sleep_callback;
    sleep_callback(arg);
    if (starpu_task_submit(empty) != 0) ok(0, "an empty task is submitted");
    sleep_callback(arg);
}

static void nested_callbacks(void)
{
    struct starpu_profiling_worker_info info;
    starpu_profiling_worker_get_info(1, NULL);
    starpu_task_insert(&sleep_cl, STARPU_CALLBACK, nesting_callback, STARPU_EXECUTE_ON_WORKER, 1, 0);
    starpu_task_wait_for_all();
    starpu_profiling_worker_get_info(1, &info);
    ok(all_of(us(&info.callback_time) >= 3 * CALLBACK_US, parts_us(&info) <= us(&info.total_time) + 1),
       "a callback within another one is part of it (%.0f us)", us(&info.callback_time));
}

static void busy_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    double until = starpu_timing_now() + 200;
    while (starpu_timing_now() < until) continue;
}

/* A device's worker that has a task waits for its data. */
static void waiting_for_data(void)
{
    enum { BYTES = 400000, MB_PER_S = 10, WAIT_US = BYTES / MB_PER_S };
    static struct starpu_codelet cl = {
        .cuda_funcs = { busy_func }, .nbuffers = 1, .modes = { STARPU_R }, .name = "on a device"
    };
    struct sim_config config = { .devices = "1", .bandwidth_MB_s = "10" };
    struct starpu_profiling_worker_info info;
    char *data = calloc(BYTES, 1);
    starpu_data_handle_t h;
    sim_start_as(1, &config, NULL, "eager");
    int gpu = starpu_worker_get_by_type(STARPU_CUDA_WORKER, 0);
    starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)data, BYTES, 1);
    if (starpu_task_insert(&cl, STARPU_R, h, 0) != 0) ok(0, "a task is inserted");
    starpu_task_wait_for_all();
    starpu_profiling_worker_get_info(gpu, &info);
    bool links_are_slow = !getenv("ORR_TEST_CUDA");
    ok(!links_are_slow || us(&info.waiting_time) >= WAIT_US / 2,
       "a worker waits for its task's data (%.0f us)", us(&info.waiting_time));
    ok(parts_us(&info) <= us(&info.total_time) * 1.01 + 100, "and does nothing else then (%.0f of %.0f us)",
       parts_us(&info), us(&info.total_time));
    starpu_data_unregister(h);
    starpu_profiling_status_set(STARPU_PROFILING_DISABLE);
    starpu_shutdown();
    unsetenv("ORRERY_SIM_DEVICES");
    free(data);
}

/* More workers than cores: those who are called to a team come late, and were idle until then. */
static void parts_of_parallel_tasks(void)
{
    enum { TEAMS = 20, WORKERS = 6 };
    static struct starpu_codelet cl = { .cpu_funcs = { busy_func },
                                        .type = STARPU_SPMD,
                                        .max_parallelism = WORKERS };
    struct starpu_profiling_worker_info info;
    bool fits = true, ran = false;
    runtime_start(WORKERS, "peager");
    starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
    for (int i = 0; i < TEAMS; i++)
        if (starpu_task_insert(&cl, 0) != 0) ok(0, "a parallel task is inserted");
    starpu_task_wait_for_all();
    for (int i = 0; i < WORKERS; i++) {
        starpu_profiling_worker_get_info(i, &info);
        ran |= us(&info.executing_time) > 0;
        fits &= us(&info.executing_time) + us(&info.sleeping_time) <= us(&info.total_time) * 1.01 + 50;
    }
    ok(all_of(ran, fits), "in parallel tasks, too, nobody sleeps while he works");
    starpu_profiling_status_set(STARPU_PROFILING_DISABLE);
    starpu_shutdown();
}

static void switching(void)
{
    is_int(starpu_profiling_status_get(), STARPU_PROFILING_DISABLE, "profiling is off at the start");
    struct starpu_task *task = submit(0);
    wait_for(task);
    ok(task->profiling_info == NULL, "a task has no times then");
    starpu_task_destroy(task);
    is_int(starpu_profiling_status_set(STARPU_PROFILING_ENABLE), STARPU_PROFILING_DISABLE,
           "turning it on tells that it was off");
    is_int(starpu_profiling_status_get(), STARPU_PROFILING_ENABLE, "it is on");
}

static void times_are_computed(void)
{
    struct timespec a = { 1, 900000000 }, b = { 3, 100000000 }, c;
    ok(starpu_timing_timespec_delay_us(&a, &b) == 1200000.0, "the time between two dates");
    starpu_timespec_add(&a, &b, &c);
    ok(all_of(c.tv_sec == 5, c.tv_nsec == 0), "a sum carries");
    starpu_timespec_sub(&b, &a, &c);
    ok(all_of(c.tv_sec == 1, c.tv_nsec == 200000000), "a difference borrows");
    ok(starpu_timespec_cmp(&a, &b, <), "dates are compared");
}

int main(void)
{
    unsetenv("STARPU_PROFILING");
    unsetenv("STARPU_WORKER_STATS");
    times_are_computed();
    runtime_start(2, NULL);
    require_workers(2);
    switching();
    times_of_a_task();
    sums_of_workers();
    nested_callbacks();
    is_int(starpu_profiling_status_set(STARPU_PROFILING_DISABLE), STARPU_PROFILING_ENABLE,
           "it can be turned off");
    starpu_shutdown();
    parts_of_parallel_tasks();
    waiting_for_data();
    return done_testing();
}
