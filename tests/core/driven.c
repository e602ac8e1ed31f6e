/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workers that threads of the program's run: step by step, in a thread of their own, beside others, and at
 * shutdown. Threads: main submits, and runs a worker; others run workers. Owns: nothing. Not here: workers
 * with threads of their own (workers.c).
 */
#include <pthread.h>
#include <stdbool.h>

#include "tests/helper.h"

static atomic_int ran, on_thread;
static pthread_t expected;

static void count_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&ran, 1);
    if (pthread_equal(pthread_self(), expected)) atomic_fetch_add(&on_thread, 1);
}
static struct starpu_codelet count_cl = { .cpu_funcs = { count_func }, .name = "count" };

static struct starpu_driver zero = { .type = STARPU_CPU_WORKER, .id.cpu_id = 0 };

static int start(unsigned cpus, struct starpu_driver *drivers, unsigned count)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.precedence_over_environment_variables = 1;
    conf.ncpus = (int)cpus;
    conf.ncuda = conf.nopencl = 0;
    conf.not_launched_drivers = drivers;
    conf.n_not_launched_drivers = count;
    atomic_store(&ran, 0);
    atomic_store(&on_thread, 0);
    expected = pthread_self();
    return starpu_init(&conf);
}

static void step_by_step(void)
{
    int failed = start(1, &zero, 1), steps = 0;
    is_int(failed, 0, "a worker that the program runs can be had");
    is_int(starpu_driver_run_once(&zero), -EINVAL, "it does not run before it is taken");
    failed |= starpu_driver_init(&zero);
    is_int(starpu_driver_init(&zero), -EBUSY, "nobody else can take it then");
    struct starpu_task *task = starpu_task_create();
    task->cl = &count_cl;
    task->detach = 0;
    failed |= starpu_task_submit(task);
    usleep(20000);
    is_int(atomic_load(&ran), 0, "a task waits until the program runs the worker");
    for (; !starpu_task_finished(task) && steps < 1000; steps++) failed |= starpu_driver_run_once(&zero);
    failed |= starpu_task_wait(task);
    for (int i = 0; i < 100; i++) failed |= starpu_task_insert(&count_cl, 0);
    for (int i = 0; i < 1000 && atomic_load(&ran) < 101; i++) failed |= starpu_driver_run_once(&zero);
    starpu_task_wait_for_all();
    ok(all_of(!failed, atomic_load(&ran) == 101, atomic_load(&on_thread) == 101),
       "tasks run on the thread that runs the worker, one at a call");
    is_int(starpu_worker_get_id(), -1, "which is no worker in between");
    is_int(starpu_driver_deinit(&zero), 0, "it can be given back");
    starpu_shutdown();
}

static void *run(void *arg)
{
    return (void *)(intptr_t)starpu_driver_run(arg);
}

static void in_a_thread(bool by_request)
{
    pthread_t thread;
    void *result = (void *)1;
    int failed = start(2, &zero, 1);
    pthread_create(&thread, NULL, run, &zero);
    for (int i = 0; i < 2000; i++) failed |= starpu_task_insert(&count_cl, 0);
    for (int i = 0; i < 20; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &count_cl;
        task->execute_on_a_specific_worker = 1;
        task->workerid = (unsigned)starpu_worker_get_by_devid(STARPU_CPU_WORKER, 0);
        failed |= starpu_task_submit(task);
    }
    starpu_task_wait_for_all();
    int count = atomic_load(&ran);
    if (by_request) starpu_drivers_request_termination();
    if (!by_request) starpu_shutdown();
    pthread_join(thread, &result);
    ok(all_of(!failed, !result, count == 2020), "a thread runs the worker beside another, until %s",
       by_request ? "it is asked to end" : "the shutdown");
    if (by_request) starpu_shutdown();
}

static void refusals(void)
{
    struct starpu_driver none = { .type = STARPU_CPU_WORKER, .id.cpu_id = 77 },
                         device = { .type = STARPU_CUDA_WORKER };
    is_int(start(1, &none, 1), -EINVAL, "a worker that is not there is refused");
    is_int(start(1, &device, 1), -EINVAL, "a device's as well");
    int failed = start(1, NULL, 0);
    is_int(failed ? 0 : starpu_driver_init(&zero), -EINVAL, "a worker with a thread of its own is not run");
    is_int(starpu_driver_init(NULL), -EINVAL, "nor is NULL");
    starpu_shutdown();
}

int main(void)
{
    alarm(50);
    setenv("STARPU_WORKERS_CPUID", "0 0", 1);
    step_by_step();
    in_a_thread(true);
    in_a_thread(false);
    refusals();
    return done_testing();
}
