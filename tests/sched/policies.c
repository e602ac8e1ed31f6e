/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same cases over every policy: each task once, the sequential result, priorities where they are
 * promised, tasks for one worker, several submitting threads, idle workers woken, an end right after the last
 * wait.
 * Threads: main and three more submit; one or two workers execute. Owns: the counters of each case; a
 * model directory is not written (no history model is used). Not here: policies of the program
 * (user_policy.c).
 */
#include <pthread.h>
#include <starpu_heteroprio.h>
#include <starpu_sched_ctx_hypervisor.h>
#include "tests/stream.h"

struct policy_case {
    const char *name;
    int by_priority; /* one worker executes what is ready by falling priority */
    int fifo;        /* one worker executes tasks of equal priority in the order of submission */
    int by_model;    /* balances by predicted times */
};

static const struct policy_case policies[] = {
    { .name = "eager", .fifo = 1 },
    { .name = "prio", .by_priority = 1, .fifo = 1 },
    { .name = "random" },
    { .name = "ws" },
    { .name = "lws", .by_priority = 1 },
    { .name = "dm", .by_model = 1 },
    { .name = "dmda", .by_model = 1 },
    { .name = "dmdas", .by_priority = 1, .by_model = 1 },
    { .name = "heteroprio", .by_priority = 1, .fifo = 1 },
    { .name = "pheft", .by_model = 1 },
    { .name = "peager", .fifo = 1 },
    { .name = "pprio", .by_priority = 1, .fifo = 1 },
};

#define TASKS 4000
static atomic_int times[TASKS], failures;

static void once_func(void *buffers[] UNUSED, void *arg)
{
    atomic_fetch_add(&times[(intptr_t)arg], 1);
}
static struct starpu_codelet once_cl = { .cpu_funcs = { once_func }, .name = "once" };

static int not_once(void)
{
    int wrong = 0;
    for (int i = 0; i < TASKS; i++) wrong += atomic_exchange(&times[i], 0) != 1;
    return wrong;
}

static void submit_range(int first, int last)
{
    for (int i = first; i < last; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &once_cl;
        task->cl_arg = (void *)(intptr_t)i;
        if (starpu_task_submit(task) != 0) atomic_fetch_add(&failures, 1);
    }
}

static void *submit_quarter(void *arg)
{
    int quarter = (int)(intptr_t)arg;
    submit_range(quarter * (TASKS / 4), (quarter + 1) * (TASKS / 4));
    return NULL;
}

static void each_once(const char *name)
{
    atomic_store(&failures, 0);
    submit_range(0, TASKS);
    starpu_task_wait_for_all();
    ok(all_of(not_once() == 0, failures == 0), "%s: each of %d tasks runs once", name, TASKS);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, submit_quarter, (void *)(intptr_t)(i + 1));
    submit_quarter(NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    starpu_task_wait_for_all();
    ok(all_of(not_once() == 0, failures == 0), "%s: each of %d tasks from four threads runs once", name,
       TASKS);
}

static struct starpu_codelet stream_cl = {
    .cpu_funcs = { stream_func },
    .nbuffers = STARPU_VARIABLE_NBUFFERS,
    .name = "stream",
};

static void sequential_result(const char *name)
{
    is_int(stream_run(&stream_cl, 17, 2000), 0, "%s: 2000 random tasks give the sequential result (seed 17)",
           name);
}

static atomic_int misplaced;
static void place_func(void *buffers[] UNUSED, void *arg)
{
    atomic_fetch_add(&misplaced, starpu_worker_get_id() != (int)(intptr_t)arg);
}
static struct starpu_codelet place_cl = { .cpu_funcs = { place_func }, .name = "place" };
static int on_worker_one(unsigned worker, struct starpu_task *task UNUSED, unsigned implementation UNUSED)
{
    return worker == 1;
}
static struct starpu_codelet only_cl = { .cpu_funcs = { place_func },
                                         .can_execute = on_worker_one,
                                         .name = "only" };

static void placed(const char *name)
{
    int failed = 0;
    atomic_store(&misplaced, 0);
    for (int i = 0; i < 600; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = i % 3 == 2 ? &only_cl : &place_cl;
        int worker = i % 3 == 2 ? 1 : i % 3;
        task->cl_arg = (void *)(intptr_t)worker;
        if (i % 3 != 2) {
            task->execute_on_a_specific_worker = 1;
            task->workerid = (unsigned)worker;
        }
        failed |= starpu_task_submit(task);
    }
    starpu_task_wait_for_all();
    ok(all_of(!failed, misplaced == 0), "%s: tasks for one worker, named or by can_execute, run there", name);
}

static atomic_int both;
static void meet_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_or(&both, 1 << starpu_worker_get_id());
    for (int i = 0; i < 500 && atomic_load(&both) != 3; i++) usleep(100);
}
static struct starpu_codelet meet_cl = { .cpu_funcs = { meet_func }, .name = "meet" };

static void work_conserving(const char *name)
{
    int failed = 0;
    atomic_store(&both, 0);
    for (int i = 0; i < 40; i++) failed |= starpu_task_insert(&meet_cl, 0);
    starpu_task_wait_for_all();
    ok(all_of(!failed, both == 3), "%s: with many tasks both workers work", name);
}

static void wakes_up(const char *name)
{
    int wrong = 0;
    for (int i = 0; i < 60; i++) {
        if (i % 3 == 0) usleep(300);
        submit_range(i, i + 1);
        starpu_task_wait_for_all();
        wrong += times[i] != 1;
    }
    memset(times, 0, sizeof times);
    is_int(wrong, 0, "%s: idle workers wake up for each task", name);
}

static double predicted_cost(struct starpu_task *task UNUSED, unsigned implementation UNUSED)
{
    return 2000.0;
}
static struct starpu_perfmodel cost_model = { .type = STARPU_COMMON,
                                              .cost_function = predicted_cost,
                                              .symbol = "orrery_test_policy" };
static atomic_int share[STARPU_NMAXWORKERS], given_up; /* the other has fewer: it is not waited for again */

/* The two workers go in step, so that neither runs dry and steals while the other is kept from its core. */
static void share_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    int me = starpu_worker_get_id(), n = atomic_fetch_add(&share[me], 1);
    if (atomic_load(&given_up)) return;
    if (!comes_to(&share[1 - me], n, 5000)) atomic_store(&given_up, 1);
}
static struct starpu_codelet share_cl = { .cpu_funcs = { share_func },
                                          .model = &cost_model,
                                          .name = "share" };

static void balanced(const char *name)
{
    struct gate gate = { 0 };
    int failed = 0;
    memset(share, 0, sizeof share);
    atomic_store(&given_up, 0);
    gate_submit(&gate, 0);
    gate_submit(&gate, 1);
    gate_wait_entered(&gate, 2);
    for (int i = 0; i < 100; i++) failed |= starpu_task_insert(&share_cl, 0);
    gate_open(&gate);
    starpu_task_wait_for_all();
    ok(all_of(!failed, share[0] >= 25, share[1] >= 25), /* on a busy machine the faster one steals */
       "%s: tasks of equal predicted length are shared out equally (%d, %d)", name, share[0], share[1]);
}

/* ---- random ---- */

static int ran_on[256];
static void where_func(void *buffers[] UNUSED, void *arg)
{
    ran_on[(intptr_t)arg] = starpu_worker_get_id();
}
static struct starpu_codelet where_cl = { .cpu_funcs = { where_func },
                                          .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                          .name = "where" };

static int put(int i, starpu_data_handle_t handle)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &where_cl;
    task->cl_arg = (void *)(intptr_t)i;
    task->nbuffers = handle != NULL;
    task->handles[0] = handle;
    task->modes[0] = STARPU_RW;
    return starpu_task_submit(task);
}

/* What a program submits is drawn; a chain has nowhere better to go than on. */
static void draws(const char *name)
{
    enum { N = 200 };
    struct gate gate = { 0 };
    starpu_data_handle_t handle;
    int failed = 0, on_first = 0, moves = 0, value = 0;
    runtime_start(2, name);
    require_workers(2);
    gate_close(&gate, -1);
    for (int i = 0; i < N; i++) failed |= put(i, NULL);
    gate_open(&gate);
    starpu_task_wait_for_all();
    for (int i = 0; i < N; i++) on_first += ran_on[i] == 0;
    ok(all_of(!failed, on_first > N / 4, on_first < 3 * N / 4),
       "%s: tasks are drawn to two workers (%d of %d)", name, on_first, N);
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    failed |= starpu_data_acquire(handle, STARPU_RW);
    for (int i = 0; i < N; i++) failed |= put(i, handle);
    starpu_data_release(handle);
    starpu_data_unregister(handle);
    for (int i = 1; i < N; i++) moves += ran_on[i] != ran_on[i - 1];
    /* a device's worker keeps no task that it makes ready */
    ok(all_of(!failed, moves < N / 4 || !runtime_on_cpus()),
       "%s: a chain mostly stays where it is (%d of %d moves)", name, moves, N);
    starpu_shutdown();
}

static int order[1000], order_priority[1000];
static atomic_int order_count;
static void order_func(void *buffers[] UNUSED, void *arg)
{
    int place = atomic_fetch_add(&order_count, 1);
    order[place] = (int)(intptr_t)arg;
    order_priority[place] = starpu_task_get_current()->priority;
}
static struct starpu_codelet order_cl = { .cpu_funcs = { order_func },
                                          .name = "order",
                                          .model = &cost_model };

/* With priorities from -reach to reach, as far as the policy goes; every third is near 0. */
static void priorities(const struct policy_case *policy, int reach)
{
    enum { N = 200 };
    struct gate gate = { 0 };
    uint64_t seed = 23;
    int least = starpu_sched_get_min_priority(), most = starpu_sched_get_max_priority();
    least = least < -reach ? -reach : least;
    most = most > reach ? reach : most;
    int failed = 0, rises = 0, swaps = 0;
    atomic_store(&order_count, 0);
    gate_close(&gate, -1);
    for (int i = 0; i < N; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &order_cl;
        task->cl_arg = (void *)(intptr_t)i;
        task->priority =
            policy->by_priority ? least + (int)random_below(&seed, (unsigned)(most - least + 1)) : 0;
        if (i % 3 == 0 && policy->by_priority) task->priority = least < 0 ? task->priority % 4 : least;
        failed |= starpu_task_submit(task);
    }
    gate_open(&gate);
    starpu_task_wait_for_all();
    for (int i = 1; i < N; i++) {
        rises += order_priority[i] > order_priority[i - 1];
        swaps += order_priority[i] == order_priority[i - 1] && order[i] < order[i - 1];
    }
    ok(all_of(!failed, order_count == N), "%s: tasks of all priorities run on one worker", policy->name);
    if (policy->by_priority)
        ok(all_of(most > least, rises == 0), "%s: what is ready runs by falling priority, from %d to %d",
           policy->name, most, least);
    if (policy->fifo)
        is_int(swaps, 0, "%s: tasks of equal priority run in the order of submission", policy->name);
}

static void run_policy(const struct policy_case *policy)
{
    runtime_start(2, policy->name);
    require_workers(2);
    each_once(policy->name);
    sequential_result(policy->name);
    placed(policy->name);
    if (policy->by_model && !STARPU_AT_LEAST(1, 4))
        skip("%s: 1.3 may leave all tasks without a model on one worker", policy->name);
    else if (strcmp(policy->name, "random") != 0)
        work_conserving(policy->name);
    wakes_up(policy->name);
    if (policy->by_model) balanced(policy->name);
    submit_range(0, TASKS);
    starpu_task_wait_for_all();
    starpu_shutdown();
    ok(not_once() == 0, "%s: a shutdown right after the wait loses nothing", policy->name);
    runtime_start(1, policy->name);
    priorities(policy, 3);
    if (policy->by_priority) {
        int buckets = strcmp(policy->name, "heteroprio") == 0;
        starpu_sched_set_min_priority(buckets ? 0 : -3000);
        starpu_sched_set_max_priority(buckets ? STARPU_HETEROPRIO_BUCKETS - 1 : 3000);
        priorities(policy, 3000);
    }
    starpu_shutdown();
}

static atomic_int pushed_to[2];
static void note_pushed(unsigned context UNUSED, int worker)
{
    atomic_fetch_add(&pushed_to[worker], 1);
}
static struct starpu_sched_ctx_performance_counters notices = { .notify_pushed_task = note_pushed };

static double hours(struct starpu_task *task, unsigned nimpl UNUSED)
{
    return (double)(intptr_t)task->cl_arg * 3600 * 1e6; /* us */
}
static struct starpu_perfmodel hours_model = { .type = STARPU_COMMON,
                                               .cost_function = hours,
                                               .symbol = "orrery_test_hours" };
static struct starpu_codelet hours_cl = { .cpu_funcs = { order_func },
                                          .model = &hours_model,
                                          .name = "hours" };

/* Tasks that are said to take hours, many in each queue: one of ten, the others of one. */
static void long_queues(const char *policy)
{
    enum { N = 90, FIRST = 10 };
    struct gate gate[2] = { { 0 } };
    int failed = 0;
    runtime_start(2, policy);
    require_workers(2);
    for (int i = 0; i < 2; i++) gate_close(&gate[i], i);
    atomic_store(&order_count, 0);
    atomic_store(&pushed_to[0], 0);
    atomic_store(&pushed_to[1], 0);
    starpu_sched_ctx_set_perf_counters(0, &notices);
    for (int i = 0; i <= N; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &hours_cl;
        task->cl_arg = (void *)(intptr_t)(i ? 1 : FIRST);
        failed |= starpu_task_submit(task);
    }
    starpu_sched_ctx_set_perf_counters(0, NULL);
    int first = atomic_load(&pushed_to[0]), second = atomic_load(&pushed_to[1]);
    int most = first > second ? first : second;
    ok(all_of(!failed, first + second == N + 1, most == (N + FIRST) / 2),
       "%s: tasks of many hours are shared out by their length (%d, %d)", policy, first, second);
    for (int i = 0; i < 2; i++) gate_open(&gate[i]);
    starpu_task_wait_for_all();
    starpu_shutdown();
}

int main(void)
{
    alarm(60);
    long_queues("dm");
    long_queues("dmda");
    for (unsigned i = 0; i < LENGTH(policies); i++) run_policy(&policies[i]);
    draws("random");
    draws("modular-random");
    draws("modular-random-prio");
    return done_testing();
}
