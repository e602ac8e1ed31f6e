/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks that only particular workers can run, by workerids or can_execute, in queues that all workers share:
 * the order among them, and what one costs when many wait.
 * Threads: main submits; four workers execute. Owns: nothing lasting. Not here: that they run where they may
 * (tests/sched/policies.c, every_policy.c).
 */
#include <time.h>

#include <orrery.h>

#include "tests/helper.h"

enum { WORKERS = 4, FEW = 1000, MANY = SCALED(16000, 8000) };

static atomic_int done, clock_now;
static int order[8];

static void count_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&done, 1);
}

static void order_func(void *buffers[] UNUSED, void *arg)
{
    order[atomic_fetch_add(&clock_now, 1)] = (int)(intptr_t)arg;
}

static int on_odd_ones(unsigned worker, struct starpu_task *task UNUSED, unsigned nimpl UNUSED)
{
    return worker % 2;
}

static struct starpu_codelet count_cl = { .cpu_funcs = { count_func }, .name = "count" },
                             odd_cl = { .cpu_funcs = { count_func },
                                        .can_execute = on_odd_ones,
                                        .name = "odd" },
                             order_cl = { .cpu_funcs = { order_func }, .name = "order" };

/* Tasks for worker 0, for 0 and 1, and for odd ones, one after another. */
static int submit_particular(int count)
{
    static uint32_t first[1] = { 1 }, two[1] = { 3 };
    int failed = 0;
    for (int i = 0; i < count; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = i % 3 == 2 ? &odd_cl : &count_cl;
        if (i % 3 < 2) {
            task->workerids = i % 3 ? two : first;
            task->workerids_len = 1;
        }
        failed |= starpu_task_submit(task);
    }
    return failed;
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Processor time of so many that wait behind tasks that hold all workers; negative: something went wrong. */
static double cost_of(int count)
{
    atomic_store(&done, 0);
    starpu_pause();
    double begin = cpu_seconds();
    int failed = submit_particular(count);
    starpu_resume();
    starpu_task_wait_for_all();
    return failed || atomic_load(&done) != count ? -1 : cpu_seconds() - begin;
}

static void costs(const char *policy)
{
    double few = 1e9, many = 1e9;
    runtime_start(WORKERS, policy);
    require_workers(WORKERS);
    for (int i = 0; i < 3; i++) {
        double a = cost_of(FEW), b = cost_of(MANY);
        if (a < few) few = a;
        if (b < many) many = b;
    }
    diag("%s: %d tasks take %.2f us each, %d take %.2f", policy, FEW, few / FEW * 1e6, MANY,
         many / MANY * 1e6);
    ok(all_of(few > 0, many > 0, many < 6 * (MANY / FEW) * few),
       "%s: a task for particular workers costs the same when %d wait as when %d do", policy, MANY, FEW);
    starpu_shutdown();
}

/* Among those that a worker may run: priority, then the order of their submission, whichever set they name.
 */
static void order_among_sets(void)
{
    static uint32_t sets[3] = { 1, 3, 7 };
    static const int priority[6] = { 0, 0, 2, 1, 0, 2 }, want[6] = { 2, 5, 3, 0, 1, 4 };
    struct gate gates[WORKERS] = { 0 };
    int failed = 0, same = 1;
    runtime_start(WORKERS, "prio");
    require_workers(WORKERS);
    for (int i = 0; i < WORKERS; i++) gate_close(&gates[i], i);
    for (int i = 0; i < 6; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &order_cl;
        task->cl_arg = (void *)(intptr_t)i;
        task->workerids = &sets[i % 3];
        task->workerids_len = 1;
        task->priority = priority[i];
        failed |= starpu_task_submit(task);
    }
    gate_open(&gates[0]); /* worker 0 is in all sets, and the only one free */
    for (int i = 0; i < 10000 && atomic_load(&clock_now) < 6; i++) usleep(1000);
    for (int i = 1; i < WORKERS; i++) gate_open(&gates[i]);
    starpu_task_wait_for_all();
    for (int i = 0; i < 6; i++) same &= order[i] == want[i];
    ok(all_of(!failed, same), "prio: by priority, then as submitted, whichever sets of workers they name");
    starpu_shutdown();
}

/* ---- trees of components ---- */

static atomic_int asked;
static int on_named_one(unsigned worker, struct starpu_task *task, unsigned nimpl UNUSED)
{
    atomic_fetch_add(&asked, 1);
    return worker == (unsigned)(uintptr_t)task->cl_arg;
}
static struct starpu_codelet named_cl = { .cpu_funcs = { count_func },
                                          .can_execute = on_named_one,
                                          .name = "named" };

static int submit_named(int worker, int count)
{
    int failed = 0;
    for (int i = 0; i < count; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &named_cl;
        task->cl_arg = (void *)(uintptr_t)worker;
        failed |= starpu_task_submit(task);
    }
    return failed;
}

/* Many for a worker that is held, then some for another, which have to pass them. */
static void walks(const char *policy)
{
    enum { BEHIND = 2000, MOST = 200 };
    struct gate gates[2] = { 0 };
    runtime_start(2, policy);
    require_workers(2);
    atomic_store(&done, 0);
    atomic_store(&asked, 0);
    for (int i = 0; i < 2; i++) gate_close(&gates[i], i);
    int failed = submit_named(1, MANY) | submit_named(0, BEHIND);
    gate_open(&gates[0]);
    int came = comes_to(&done, BEHIND, 15000), calls = atomic_load(&asked) / (MANY + BEHIND);
    gate_open(&gates[1]);
    starpu_task_wait_for_all();
    ok(all_of(!failed, came, calls < MOST),
       "%s: %d tasks pass %d of another worker: can_execute is asked %d times for each", policy, BEHIND, MANY,
       calls);
    starpu_shutdown();
}

static void job_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&done, 1);
}
static struct starpu_codelet job_cl = { .cpu_funcs = { job_func }, .name = "job" };

/* Lists whose first job is bound to a worker, or may run on some. */
static double cost_of_lists(int count)
{
    static struct orrery_joblist *list[MANY / 2];
    static uint32_t two[1] = { 3 };
    int failed = 0;
    atomic_store(&done, 0);
    starpu_pause();
    double begin = cpu_seconds();
    for (int i = 0; i < count; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &job_cl;
        if (i % 2) {
            task->execute_on_a_specific_worker = 1;
            task->workerid = (unsigned)(i / 2 % WORKERS);
        } else {
            task->workerids = two;
            task->workerids_len = 1;
        }
        list[i] = orrery_joblist_create(NULL, 0);
        failed |= !list[i] || orrery_joblist_add_job(list[i], task);
    }
    starpu_resume();
    for (int i = 0; i < count; i++) {
        failed |= orrery_joblist_wait_for_all(list[i]);
        orrery_joblist_destroy(list[i]);
    }
    return failed || atomic_load(&done) != count ? -1 : cpu_seconds() - begin;
}

static void lists(void)
{
    double few = 1e9, many = 1e9;
    runtime_start(WORKERS, "eager");
    require_workers(WORKERS);
    for (int i = 0; i < 3; i++) {
        double a = cost_of_lists(FEW / 2), b = cost_of_lists(MANY / 2);
        if (a < few) few = a;
        if (b < many) many = b;
    }
    diag("%d lists take %.2f us each, %d take %.2f", FEW / 2, few / FEW * 2e6, MANY / 2, many / MANY * 2e6);
    ok(all_of(few > 0, many > 0, many < 6 * (MANY / FEW) * few),
       "job lists whose first job is for particular workers cost the same when %d wait as when %d do",
       MANY / 2, FEW / 2);
    starpu_shutdown();
}

int main(void)
{
    alarm(110);
    setenv("STARPU_WORKERS_CPUID", "0 0 0 0", 1);
    costs("eager");
    costs("prio");
    costs("ws");
    costs("dmda");
    costs("heteroprio");
    order_among_sets();
    walks("modular-eager");
    walks("modular-prio");
    walks("modular-ws");
    walks("modular-eager-prefetching");
    walks("modular-heft");
    walks("modular-dmda");
    walks("modular-random");
    lists();
    return done_testing();
}
