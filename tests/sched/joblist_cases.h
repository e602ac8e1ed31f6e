/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Job lists: jobs start in order, windows of signal and wait, who serves which list, adding from everywhere,
 * misuse; and random programs under every policy: programs of their own, so that each has its own time
 * (joblist.c, joblist_even.c, joblist_odd.c).
 * Threads: main and adders build, workers execute. Owns: nothing lasting. Not here: the rule (joblist.h),
 * lists that can never go on (joblist_stuck.c), the long soak (tests/long/joblist_soak.c).
 */
#ifndef ORR_TESTS_JOBLIST_CASES_H
#define ORR_TESTS_JOBLIST_CASES_H

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include "tests/sched/joblist.h"

static struct job_program program;

static void nothing_func(void *buffers[] UNUSED, void *arg UNUSED)
{
}
static struct starpu_codelet nothing_cl = { .cpu_funcs = { nothing_func }, .name = "nothing" };

static struct starpu_task *make(struct starpu_codelet *cl, void *arg)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = cl;
    task->cl_arg = arg;
    return task;
}

static int add(struct orrery_joblist *list, struct starpu_codelet *cl, void *arg)
{
    return orrery_joblist_add_job(list, make(cl, arg));
}

/* ---- a log of what ran ---- */

enum { LOG_MAX = 20000 };
static intptr_t log_of[LOG_MAX];
static atomic_int log_places, logged;

static void log_func(void *buffers[] UNUSED, void *arg)
{
    log_of[atomic_fetch_add(&log_places, 1)] = (intptr_t)arg;
    atomic_fetch_add(&logged, 1);
}
static struct starpu_codelet log_cl = { .cpu_funcs = { log_func }, .name = "log" };

static int log_differs(const intptr_t *want, int count)
{
    int wrong = atomic_load(&logged) != count;
    for (int i = 0; i < count && i < atomic_load(&logged); i++) wrong += log_of[i] != want[i];
    return wrong;
}

static void log_clear(void)
{
    atomic_store(&log_places, 0);
    atomic_store(&logged, 0);
}

/* ---- one worker: everything has one order ---- */

static void order_on_one_worker(void)
{
    enum { LISTS = 5 };
    static const int length[LISTS] = { 3, 40, 1, 17, 40 };
    static const int turn[LISTS] = { 1, 4, 3, 0, 2 }; /* most work first, then the one that was ready first */
    intptr_t want[101];
    struct orrery_joblist *list[LISTS];
    struct gate gate = { 0 };
    int n = 0, failed = 0, remaining = 0;
    runtime_start(1, "eager");
    log_clear();
    gate_close(&gate, -1);
    for (int i = 0; i < LISTS; i++) list[i] = orrery_joblist_create("list", 0);
    for (int k = 0; k < 40; k++)
        for (int i = 0; i < LISTS; i++)
            if (k < length[i]) failed |= add(list[i], &log_cl, (void *)(intptr_t)(i * 100 + k));
    for (int i = 0; i < LISTS; i++) remaining += (int)orrery_joblist_get_remaining(list[i]);
    is_int(remaining, 101, "one worker: all jobs remain while it is busy");
    gate_open(&gate);
    for (int i = 0; i < LISTS; i++) failed |= orrery_joblist_wait_for_all(list[i]);
    for (int i = 0; i < LISTS; i++)
        for (int k = 0; k < length[turn[i]]; k++) want[n++] = turn[i] * 100 + k;
    ok(all_of(!failed, log_differs(want, n) == 0),
       "one worker: takes the list with the most work left, and stays with it to the end, in order");
    for (int i = 0; i < LISTS; i++) orrery_joblist_destroy(list[i]);
    starpu_shutdown();
}

/* Priorities of first jobs choose among lists, and nothing else. */
static void priorities(void)
{
    static const intptr_t want[] = { 10, 11, 0, 1, 2 };
    struct gate gate = { 0 };
    int failed = 0;
    runtime_start(1, "prio");
    log_clear();
    struct orrery_joblist *a = orrery_joblist_create("a", 0), *b = orrery_joblist_create("b", 0);
    gate_close(&gate, -1);
    for (int i = 0; i < 3; i++) {
        struct starpu_task *task = make(&log_cl, (void *)(intptr_t)i);
        task->priority = i; /* the last of the list would go first if it could */
        failed |= orrery_joblist_add_job(a, task);
    }
    for (int i = 0; i < 2; i++) {
        struct starpu_task *task = make(&log_cl, (void *)(intptr_t)(10 + i));
        task->priority = 1 - i;
        failed |= orrery_joblist_add_job(b, task);
    }
    gate_open(&gate);
    orrery_joblist_wait_for_all(a);
    orrery_joblist_wait_for_all(b);
    ok(all_of(!failed, log_differs(want, 5) == 0),
       "the first job's priority chooses the list; within it nothing changes");
    orrery_joblist_destroy(a);
    orrery_joblist_destroy(b);
    starpu_shutdown();
}

/* A worker of two contexts: what the one of the higher priority has goes first, tasks and jobs alike. */
static void context_priorities(void)
{
    enum { JOBS = 4, TASKS = 3 };
    static const intptr_t want[] = { 20, 10, 11, 12, 0, 1, 2, 3 };
    struct gate gate = { 0 };
    int worker = 0, failed = 0;
    runtime_start(1, "eager");
    log_clear();
    unsigned high = starpu_sched_ctx_create(&worker, 1, "high", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    starpu_sched_ctx_set_priority(&worker, 1, high, 2);
    starpu_sched_ctx_set_priority(&worker, 1, 0, 1);
    struct orrery_joblist *low_list = orrery_joblist_create("low", 0),
                          *high_list = orrery_joblist_create("high", high);
    gate_close(&gate, 0);
    for (int i = 0; i < JOBS; i++) failed |= add(low_list, &log_cl, (void *)(intptr_t)i);
    for (int i = 0; i < TASKS; i++) {
        struct starpu_task *task = make(&log_cl, (void *)(intptr_t)(10 + i));
        failed |= starpu_task_submit_to_ctx(task, high);
    }
    failed |= add(high_list, &log_cl, (void *)(intptr_t)20);
    gate_open(&gate);
    starpu_task_wait_for_all();
    starpu_task_wait_for_all_in_ctx(high);
    ok(all_of(!failed, log_differs(want, JOBS + TASKS + 1) == 0),
       "jobs wait for all that a context of a higher priority has for the worker, tasks and jobs");
    orrery_joblist_destroy(low_list);
    orrery_joblist_destroy(high_list);
    starpu_shutdown();
}

/* A list is filled before any of it starts, held back in the middle, and started by its end. */
static void held_back(void)
{
    enum { JOBS = 20 };
    int failed = 0, early = 0;
    runtime_start(2, "eager");
    log_clear();
    struct orrery_joblist *list = orrery_joblist_create("held", 0);
    failed |= orrery_joblist_stop(list);
    for (int i = 0; i < JOBS; i++) failed |= add(list, &log_cl, (void *)(intptr_t)i);
    struct starpu_task *other = make(&log_cl, (void *)(intptr_t)99); /* workers are there, and take others */
    other->synchronous = 1;
    failed |= starpu_task_submit(other);
    early = (int)orrery_joblist_get_remaining(list);
    log_clear();
    failed |= orrery_joblist_start(list);
    failed |= orrery_joblist_wait_for_all(list);
    ok(all_of(!failed, early == JOBS, orrery_joblist_get_remaining(list) == 0),
       "a list that is stopped starts no job while it is filled, and all when it is started");
    orrery_joblist_stop(list);
    for (int i = 0; i < JOBS; i++) failed |= add(list, &log_cl, (void *)(intptr_t)(JOBS + i));
    failed |= orrery_joblist_get_remaining(list) != JOBS;
    orrery_joblist_destroy(list);
    starpu_task_wait_for_all();
    is_int(failed | (orrery_joblist_stop(NULL) != -EINVAL), 0, "destroying a stopped list starts it");
    starpu_shutdown();
}

/* A list outlives its context, whose number another gets. */
static void context_deleted(void)
{
    int worker = 0;
    runtime_start(1, "eager");
    unsigned first = starpu_sched_ctx_create(&worker, 1, "first", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    struct orrery_joblist *list = orrery_joblist_create("list", first);
    starpu_sched_ctx_delete(first);
    struct starpu_task *task = make(&log_cl, NULL);
    int gone = orrery_joblist_add_job(list, task);
    unsigned second = starpu_sched_ctx_create(&worker, 1, "second", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    is_int((int)second, (int)first, "a new context has the number of the one that was deleted");
    ok(all_of(gone == -EINVAL, orrery_joblist_add_job(list, task) == -EINVAL),
       "a list of a deleted context takes no more jobs, not even for the one that has its number now");
    starpu_task_destroy(task);
    orrery_joblist_destroy(list);
    starpu_sched_ctx_delete(second);
    starpu_shutdown();
}

/* By models: one long job is more than ten short ones. */
static double cost_of(struct starpu_task *task, unsigned nimpl UNUSED)
{
    return (double)((intptr_t)task->cl_arg % 1000);
}
static struct starpu_perfmodel cost_model = { .type = STARPU_COMMON,
                                              .cost_function = cost_of,
                                              .symbol = "orrery_test_joblist" };
static struct starpu_codelet cost_cl = { .cpu_funcs = { log_func }, .model = &cost_model, .name = "cost" };

static void estimates(void)
{
    intptr_t want[11] = { 1900 };
    struct gate gate = { 0 };
    unsigned long unknown;
    int failed = 0;
    runtime_start(1, "eager");
    log_clear();
    struct orrery_joblist *many = orrery_joblist_create("many", 0), *one = orrery_joblist_create("one", 0);
    gate_close(&gate, -1);
    for (int i = 0; i < 10; i++) failed |= add(many, &cost_cl, (void *)(intptr_t)(want[i + 1] = 20));
    failed |= add(one, &cost_cl, (void *)(intptr_t)1900);
    double us = orrery_joblist_get_remaining_us(many, &unknown);
    ok(all_of(us > 199.9, us < 200.1, unknown == 0),
       "the remaining time of ten jobs of 20 us is 200 us (%.1f)", us);
    us = orrery_joblist_get_remaining_us(one, NULL);
    ok(all_of(us > 899.9, us < 900.1), "the remaining time of one job of 900 us is 900 us (%.1f)", us);
    gate_open(&gate);
    orrery_joblist_wait_for_all(many);
    orrery_joblist_wait_for_all(one);
    ok(all_of(!failed, log_differs(want, 11) == 0),
       "one long job is taken before ten short ones, by the model");
    us = orrery_joblist_get_remaining_us(many, &unknown);
    ok(all_of(us == 0, unknown == 0), "nothing remains at the end");
    gate_close(&gate, -1);
    failed = add(many, &cost_cl, (void *)7) | add(many, &nothing_cl, NULL);
    us = orrery_joblist_get_remaining_us(many, &unknown);
    ok(all_of(!failed, us > 6.9, us < 7.1, unknown == 1), "jobs without a model are counted apart");
    gate_open(&gate);
    orrery_joblist_wait_for_all(many);
    orrery_joblist_destroy(many);
    orrery_joblist_destroy(one);
    starpu_shutdown();
}

/* ---- windows ---- */

static atomic_int before_ran, between_ran, after_ran;

static void count_func(void *buffers[] UNUSED, void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
}
static struct starpu_codelet count_cl = { .cpu_funcs = { count_func }, .name = "count" };

static void window(void)
{
    struct gate gate = { 0 };
    int failed = 0;
    runtime_start(2, "eager");
    require_workers(2);
    atomic_store(&before_ran, 0);
    atomic_store(&between_ran, 0);
    atomic_store(&after_ran, 0);
    struct orrery_joblist *list = orrery_joblist_create("window", 0);
    struct orrery_joblist_counts counts;
    failed |= add(list, &gate_cl, &gate);
    for (int i = 0; i < 5; i++) failed |= add(list, &count_cl, &before_ran);
    failed |= orrery_joblist_add_signal(list);
    for (int i = 0; i < 5; i++) failed |= add(list, &count_cl, &between_ran);
    failed |= orrery_joblist_add_wait(list);
    for (int i = 0; i < 5; i++) failed |= add(list, &count_cl, &after_ran);
    gate_wait_entered(&gate, 1);
    ok(comes_to(&between_ran, 5, 5000), "jobs between signal and wait run while one before the signal does");
    usleep(30000);
    is_int(atomic_load(&after_ran), 0, "jobs after the wait do not start while one before the signal runs");
    failed |= orrery_joblist_get_counts(list, &counts);
    ok(all_of(counts.waiting == 5, counts.running == 1, counts.ended == 10),
       "counts: %lu wait, %lu run, %lu have ended", counts.waiting, counts.running, counts.ended);
    gate_open(&gate);
    failed |= orrery_joblist_wait_for_all(list);
    ok(all_of(!failed, after_ran == 5), "they run after its end");
    orrery_joblist_destroy(list);
    starpu_shutdown();
}

/* Pairs that are satisfied in unusual ways. Each leaves jobs that would wait for ever if the list missed it.
 */
static void odd_pairs(void)
{
    int failed = 0;
    runtime_start(1, "eager");
    struct orrery_joblist *list = orrery_joblist_create("odd", 0);
    alarm(60);
    failed |= orrery_joblist_add_signal(list) | orrery_joblist_add_wait(list) | add(list, &nothing_cl, NULL);
    failed |= orrery_joblist_wait_for_all(list);
    ok(!failed, "a pair before any job is satisfied");
    failed |=
        add(list, &nothing_cl, NULL) | orrery_joblist_add_signal(list) | orrery_joblist_wait_for_all(list);
    failed |=
        orrery_joblist_add_wait(list) | add(list, &nothing_cl, NULL) | orrery_joblist_wait_for_all(list);
    ok(!failed, "a wait that comes after the end of all jobs before its signal is satisfied");
    for (int i = 0; i < 3; i++) failed |= orrery_joblist_add_signal(list) | orrery_joblist_add_wait(list);
    failed |= add(list, &nothing_cl, NULL) | orrery_joblist_wait_for_all(list);
    ok(!failed, "three pairs in a row without a job are satisfied");
    failed |= add(list, &nothing_cl, NULL) | orrery_joblist_add_signal(list) | add(list, &nothing_cl, NULL);
    failed |=
        orrery_joblist_wait_for_all(list) | orrery_joblist_add_wait(list) | orrery_joblist_add_signal(list);
    failed |=
        add(list, &nothing_cl, NULL) | orrery_joblist_wait_for_all(list) | orrery_joblist_add_wait(list);
    failed |= add(list, &nothing_cl, NULL) | orrery_joblist_wait_for_all(list);
    ok(!failed, "pairs around jobs that have all ended are satisfied");
    failed |= add(list, &nothing_cl, NULL) | orrery_joblist_add_signal(list);
    for (int i = 0; i < 100; i++) failed |= add(list, &nothing_cl, NULL);
    failed |= orrery_joblist_wait_for_all(list);
    ok(!failed, "jobs behind a signal without a wait run");
    failed |= orrery_joblist_add_wait(list);
    for (int i = 0; i < 200; i++) /* windows of one job each, without bodies every other time */
        failed |= add(list, i % 2 ? &nothing_cl : NULL, NULL) | orrery_joblist_add_signal(list) |
                  orrery_joblist_add_wait(list);
    failed |= orrery_joblist_wait_for_all(list);
    struct orrery_joblist_counts counts;
    failed |= orrery_joblist_get_counts(list, &counts);
    ok(all_of(!failed, counts.waiting == 0, counts.running == 0, orrery_joblist_get_remaining(list) == 0),
       "two hundred windows of one job each");
    orrery_joblist_destroy(list);
    starpu_shutdown();
}

/* What becomes possible while a job runs is known at once. */
static void while_one_runs(void)
{
    struct gate gate = { 0 };
    int failed = 0;
    runtime_start(2, "eager");
    require_workers(2);
    struct orrery_joblist *list = orrery_joblist_create("busy", 0);
    gate_close(&gate, 0);
    gate_submit(&gate, 1);
    gate_wait_entered(&gate, 2);
    struct gate inside = { 0 };
    atomic_store(&after_ran, 0);
    static struct starpu_codelet commute_cl = {
        .cpu_funcs = { count_func }, .nbuffers = 1, .modes = { STARPU_RW | STARPU_COMMUTE }, .name = "commute"
    };
    static long value;
    starpu_data_handle_t handle;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    struct starpu_task *commute = make(&commute_cl, &after_ran);
    commute->handles[0] = handle;
    failed |= add(list, &gate_cl, &inside) | orrery_joblist_add_job(list, commute);
    failed |= add(list, NULL, NULL) | add(list, &count_cl, &after_ran);
    gate_open(&gate);
    gate_wait_entered(&inside, 1);
    ok(comes_to(&after_ran, 2, 5000),
       "jobs behind one that runs, with a turn to take or behind one without body, run");
    /* segments without jobs behind one that is running */
    for (int i = 0; i < 3; i++) failed |= orrery_joblist_add_signal(list) | orrery_joblist_add_wait(list);
    failed |= add(list, &count_cl, &after_ran);
    usleep(20000);
    is_int(after_ran, 2, "three pairs in a row hold a job back while one before them runs");
    gate_open(&inside);
    failed |= orrery_joblist_wait_for_all(list);
    ok(all_of(!failed, after_ran == 3), "and let it go at its end");
    starpu_data_unregister(handle);
    orrery_joblist_destroy(list);
    starpu_shutdown();
}

/* ---- a list that blocks ---- */

static void blocked_first_job(void)
{
    static const intptr_t want[] = { 100, 0, 1, 2 };
    struct gate gate = { 0 };
    int failed = 0;
    runtime_start(2, "eager");
    require_workers(2);
    log_clear();
    struct orrery_joblist *list = orrery_joblist_create("blocked", 0),
                          *other = orrery_joblist_create("other", 0);
    struct starpu_task *outside = make(&gate_cl, &gate), *first = make(&log_cl, (void *)0);
    starpu_task_declare_deps(first, 1, outside);
    failed |= orrery_joblist_add_job(list, first);
    for (intptr_t i = 1; i < 3; i++) failed |= add(list, &log_cl, (void *)i);
    failed |= starpu_task_submit(outside);
    gate_wait_entered(&gate, 1);
    failed |= add(other, &log_cl, (void *)100);
    ok(all_of(comes_to(&logged, 1, 5000), log_of[0] == 100),
       "while a list's first job waits for a task, another list goes on");
    usleep(30000);
    is_int(logged, 1, "no job starts before the first of its list");
    gate_open(&gate);
    failed |= orrery_joblist_wait_for_all(list);
    ok(all_of(!failed, logged == 4), "and then they all run");
    if (logged == 4) diag("order: %ld %ld %ld", (long)log_of[1], (long)log_of[2], (long)log_of[3]);
    is_int(log_of[0], want[0], "the other list was first");

    /* data: each job writes what the next reads; the middle one is only ready when the program lets go */
    static long value;
    starpu_data_handle_t handle;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    log_clear();
    failed |= starpu_data_acquire(handle, STARPU_RW);
    static struct starpu_codelet writer_cl = {
        .cpu_funcs = { log_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "writer"
    };
    failed |= add(list, &log_cl, (void *)0);
    struct starpu_task *writer = make(&writer_cl, (void *)1);
    writer->handles[0] = handle;
    failed |= orrery_joblist_add_job(list, writer);
    failed |= add(list, &log_cl, (void *)2);
    ok(comes_to(&logged, 1, 5000), "jobs before one that waits for data start");
    usleep(30000);
    is_int(logged, 1, "jobs behind one that waits for data do not");
    starpu_data_release(handle);
    failed |= orrery_joblist_wait_for_all(list);
    ok(all_of(!failed, logged == 3), "they start when the data are free");
    starpu_data_unregister(handle);
    orrery_joblist_destroy(list);
    orrery_joblist_destroy(other);
    starpu_shutdown();
}

/* A job takes a turn that it shares only when its own turn in the list has come: else the second would keep
 * it from the task that the first waits for. */
static void shared_turns(void)
{
    static long value;
    static struct starpu_codelet commute_cl = {
        .cpu_funcs = { log_func }, .nbuffers = 1, .modes = { STARPU_RW | STARPU_COMMUTE }, .name = "commute"
    };
    struct gate gate = { 0 };
    int failed = 0;
    starpu_data_handle_t handle;
    runtime_start(2, "eager");
    require_workers(2);
    log_clear();
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    struct orrery_joblist *list = orrery_joblist_create("turns", 0);
    struct starpu_task *opener = make(&gate_cl, &gate), *outside = make(&commute_cl, (void *)10);
    struct starpu_task *first = make(&commute_cl, (void *)0), *second = make(&commute_cl, (void *)1);
    outside->handles[0] = first->handles[0] = second->handles[0] = handle;
    second->sequential_consistency = 0;
    starpu_task_declare_deps(outside, 1, opener);
    starpu_task_declare_deps(first, 1, outside);
    failed |= orrery_joblist_add_job(list, first) | orrery_joblist_add_job(list, second);
    failed |= starpu_task_submit(opener) | starpu_task_submit(outside);
    gate_wait_entered(&gate, 1);
    usleep(10000);
    gate_open(&gate);
    failed |= orrery_joblist_wait_for_all(list);
    ok(all_of(!failed, logged == 3, log_of[0] == 10, log_of[1] == 0, log_of[2] == 1),
       "a job does not hold shared data while it waits for its turn");
    starpu_data_unregister(handle);
    orrery_joblist_destroy(list);
    starpu_shutdown();
}

/* ---- who serves which list ---- */

static void fewest_workers(void)
{
    struct gate a = { 0 }, b = { 0 };
    struct orrery_joblist_counts counts[2];
    int failed = 0;
    runtime_start(2, "eager");
    require_workers(2);
    for (int round = 0; round < 20; round++) {
        struct gate busy = { 0 };
        memset(&a, 0, sizeof a);
        memset(&b, 0, sizeof b);
        gate_submit(&busy, 0);
        gate_submit(&busy, 1);
        gate_wait_entered(&busy, 2);
        struct orrery_joblist *huge = orrery_joblist_create("huge", 0),
                              *tiny = orrery_joblist_create("tiny", 0);
        for (int i = 0; i < 50; i++) failed |= add(huge, &gate_cl, &a);
        for (int i = 0; i < 2; i++) failed |= add(tiny, &gate_cl, &b);
        gate_open(&busy);
        for (int i = 0; i < 20000 && (!atomic_load(&a.entered) || !atomic_load(&b.entered)); i++) usleep(100);
        failed |= orrery_joblist_get_counts(huge, &counts[0]) | orrery_joblist_get_counts(tiny, &counts[1]);
        failed |= atomic_load(&a.entered) != 1 || atomic_load(&b.entered) != 1;
        failed |= counts[0].workers != 1 || counts[1].workers != 1;
        gate_open(&a);
        gate_open(&b);
        orrery_joblist_wait_for_all(huge);
        orrery_joblist_wait_for_all(tiny);
        orrery_joblist_destroy(huge);
        orrery_joblist_destroy(tiny);
    }
    ok(!failed, "two workers take two lists, not the same one");
    /* one list alone is served by both */
    memset(&a, 0, sizeof a);
    struct orrery_joblist *list = orrery_joblist_create("alone", 0);
    failed = add(list, &gate_cl, &a) | add(list, &gate_cl, &a) | add(list, &gate_cl, &a);
    ok(all_of(!failed, comes_to(&a.entered, 2, 5000)), "one list alone is served by both");
    gate_open(&a);
    orrery_joblist_wait_for_all(list);
    /* after a window opens, both work again; in codelets that nobody knows to be short */
    static struct starpu_codelet door_cl = { .cpu_funcs = { gate_func }, .name = "door" };
    static struct starpu_codelet room_cl = { .cpu_funcs = { gate_func }, .name = "room" };
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    failed = add(list, &door_cl, &b) | orrery_joblist_add_signal(list) | orrery_joblist_add_wait(list);
    for (int i = 0; i < 4; i++) failed |= add(list, &room_cl, &a);
    gate_wait_entered(&b, 1);
    usleep(5000); /* the other worker sleeps */
    gate_open(&b);
    ok(all_of(!failed, comes_to(&a.entered, 2, 5000)),
       "when a window opens, idle workers are woken for what it held back");
    gate_open(&a);
    orrery_joblist_wait_for_all(list);
    orrery_joblist_destroy(list);
    starpu_shutdown();
}

static int on_worker_one(unsigned worker, struct starpu_task *task UNUSED, unsigned nimpl UNUSED)
{
    return worker == 1;
}

static void particular_workers(void)
{
    static struct job_record record[5];
    static struct starpu_codelet only_cl = { .cpu_funcs = { job_func },
                                             .can_execute = on_worker_one,
                                             .name = "only" };
    struct gate gate = { 0 };
    int failed = 0;
    runtime_start(2, "eager");
    require_workers(2);
    memset(record, 0, sizeof record);
    struct orrery_joblist *list = orrery_joblist_create("bound", 0),
                          *other = orrery_joblist_create("other", 0);
    gate_submit(&gate, 1);
    gate_wait_entered(&gate, 1);
    struct starpu_task *bound = job_task(&job_cl, &record[0]), *set = job_task(&job_cl, &record[2]);
    bound->execute_on_a_specific_worker = 1;
    bound->workerid = 1;
    uint32_t second[1] = { 2 };
    set->workerids = second;
    set->workerids_len = 1;
    failed |= orrery_joblist_add_job(list, bound);
    failed |= orrery_joblist_add_job(list, job_task(&only_cl, &record[1]));
    failed |= orrery_joblist_add_job(list, set);
    failed |= orrery_joblist_add_job(list, job_task(&job_cl, &record[3]));
    failed |= orrery_joblist_add_job(other, job_task(&job_cl, &record[4]));
    failed |= orrery_joblist_wait_for_all(other);
    ok(all_of(!failed, record[4].worker == 0),
       "a list whose first job only a busy worker can run does not block others");
    usleep(20000);
    is_int(record[3].runs, 0, "and what is behind that job waits");
    gate_open(&gate);
    failed |= orrery_joblist_wait_for_all(list);
    ok(all_of(!failed, record[0].worker == 1, record[1].worker == 1, record[2].worker == 1,
              record[3].runs == 1),
       "jobs for one worker, by number, can_execute or set, run there");
    ok(all_of(record[0].begin < record[1].begin, record[1].begin < record[2].begin),
       "in the order of the list");
    orrery_joblist_destroy(list);
    orrery_joblist_destroy(other);
    starpu_shutdown();
}

/* ---- beside ordinary tasks ---- */

struct relay {
    struct orrery_joblist *list;
    atomic_int done, stop, refused;
    atomic_int most; /* done at most */
};

static void relay_func(void *buffers[] UNUSED, void *arg);
static struct starpu_codelet relay_cl = { .cpu_funcs = { relay_func }, .name = "relay" };

/* Adds itself again until it is to stop. */
static void relay_func(void *buffers[] UNUSED, void *arg)
{
    struct relay *r = arg;
    int n = atomic_fetch_add(&r->done, 1);
    if (atomic_load(&r->stop) || n > atomic_load(&r->most)) return;
    if (add(r->list, &relay_cl, r) != 0) atomic_fetch_add(&r->refused, 1);
}

static void stop_func(void *buffers[] UNUSED, void *arg)
{
    atomic_store(&((struct relay *)arg)->stop, 1);
}
static struct starpu_codelet stop_cl = { .cpu_funcs = { stop_func }, .name = "stop" };

static void again_func(void *buffers[] UNUSED, void *arg);
static struct starpu_codelet again_cl = { .cpu_funcs = { again_func }, .name = "again" };
static void again_func(void *buffers[] UNUSED, void *arg)
{
    struct relay *r = arg;
    int n = atomic_fetch_add(&r->done, 1);
    if (atomic_load(&r->stop) || n > atomic_load(&r->most)) return;
    if (starpu_task_submit(make(&again_cl, r)) != 0) atomic_fetch_add(&r->refused, 1);
}

/* So many at most from now on, when the other is there: until then who adds it may have had no core. */
static int ends_soon(struct relay *r)
{
    enum { ENOUGH = 5000000 };
    int now = atomic_load(&r->done);
    atomic_store(&r->most, now + ENOUGH);
    return now < INT_MAX / 2;
}

static void nobody_starves(void)
{
    static struct relay r;
    runtime_start(1, "eager");
    r.list = orrery_joblist_create("relay", 0);
    atomic_store(&r.most, INT_MAX / 2);
    int failed = add(r.list, &relay_cl, &r);
    while (atomic_load(&r.done) < 100) sched_yield();
    failed |= starpu_task_submit(make(&stop_cl, &r)) || !ends_soon(&r);
    orrery_joblist_wait_for_all(r.list);
    ok(all_of(!failed, r.stop, r.done <= r.most, !r.refused),
       "an ordinary task runs beside a list that never ends (after %d jobs)", r.done);
    atomic_store(&r.done, 0);
    atomic_store(&r.stop, 0);
    atomic_store(&r.most, INT_MAX / 2);
    failed = starpu_task_submit(make(&again_cl, &r));
    while (atomic_load(&r.done) < 100) sched_yield();
    failed |= add(r.list, &stop_cl, &r) || !ends_soon(&r);
    orrery_joblist_wait_for_all(r.list);
    starpu_task_wait_for_all();
    ok(all_of(!failed, r.stop, r.done <= r.most, !r.refused),
       "a job runs beside ordinary tasks that never end (after %d)", r.done);
    orrery_joblist_destroy(r.list);
    starpu_shutdown();
}

/* ---- adding from everywhere ---- */

struct tree {
    struct orrery_joblist *list;
    int depth;
};

static atomic_int grown, not_grown;
static void grow_func(void *buffers[] UNUSED, void *arg)
{
    struct tree *t = arg;
    atomic_fetch_add(&grown, 1);
    for (int i = 0; t->depth > 0 && i < 2; i++) {
        struct tree *child = malloc(sizeof *child);
        *child = (struct tree){ t->list, t->depth - 1 };
        static struct starpu_codelet grow_cl = { .cpu_funcs = { grow_func }, .name = "grow" };
        struct starpu_task *task = make(&grow_cl, child);
        task->cl_arg_free = 1;
        if (orrery_joblist_add_job(t->list, task) != 0) atomic_fetch_add(&not_grown, 1);
    }
}

static struct starpu_codelet first_grow_cl = { .cpu_funcs = { grow_func }, .name = "grow" };

static void adds_next(void *arg)
{
    struct relay *r = arg;
    if (atomic_fetch_add(&r->done, 1) >= 999) return;
    struct starpu_task *task = make(&nothing_cl, NULL);
    task->callback_func = adds_next;
    task->callback_arg = r;
    if (orrery_joblist_add_job(r->list, task) != 0) atomic_fetch_add(&r->refused, 1);
}

enum { ADDERS = 4, ADDED = SCALED(1500, 300) };
static struct orrery_joblist *shared_list;
static starpu_data_handle_t shared_handle;

static void *adder(void *arg)
{
    static struct starpu_codelet writes_cl = {
        .cpu_funcs = { log_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "writes"
    };
    intptr_t id = (intptr_t)arg, failed = 0;
    for (int i = 0; i < ADDED; i++) {
        struct starpu_task *task = make(&writes_cl, (void *)(id * ADDED + i));
        task->handles[0] = shared_handle;
        failed += orrery_joblist_add_job(shared_list, task) != 0;
    }
    return (void *)failed;
}

/* All write the same datum: were places and data ever given in different orders, nothing would move any more.
 */
static void many_adders(const char *policy)
{
    static long value;
    pthread_t thread[ADDERS];
    intptr_t failed = 0, next[ADDERS] = { 0 };
    log_clear();
    starpu_variable_data_register(&shared_handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    shared_list = orrery_joblist_create("shared", 0);
    for (intptr_t i = 0; i < ADDERS; i++) pthread_create(&thread[i], NULL, adder, (void *)i);
    for (int i = 0; i < ADDERS; i++) {
        void *f;
        pthread_join(thread[i], &f);
        failed += (intptr_t)f;
    }
    failed += orrery_joblist_wait_for_all(shared_list);
    for (int i = 0; i < logged; i++)
        failed += log_of[i] != (log_of[i] / ADDED) * ADDED + next[log_of[i] / ADDED]++;
    ok(all_of(!failed, logged == ADDERS * ADDED),
       "%s: four threads add to one list jobs that write one datum", policy);
    orrery_joblist_destroy(shared_list);
    starpu_data_unregister(shared_handle);
}

static void added_from_jobs(const char *policy)
{
    struct tree root = { orrery_joblist_create("tree", 0), 9 };
    struct relay r = { orrery_joblist_create("callbacks", 0), 0, 0, 0, 0 };
    int failed = 0;
    atomic_store(&grown, 0);
    atomic_store(&not_grown, 0);
    failed |= add(root.list, &first_grow_cl, &root);
    adds_next(&r);
    failed |= orrery_joblist_wait_for_all(root.list) | orrery_joblist_wait_for_all(r.list);
    ok(all_of(!failed, grown == 1023, not_grown == 0), "%s: jobs add jobs to their list (%d)", policy, grown);
    ok(all_of(r.done == 1000, !r.refused), "%s: callbacks of jobs add jobs to their list", policy);
    /* the thread and a worker take turns, and on a busy machine each waits for a core: often with one policy
     */
    int dry = 0, times = strcmp(policy, "eager") ? 10 : 200;
    for (int i = 0; i < times; i++) {
        dry |= add(root.list, &nothing_cl, NULL) | orrery_joblist_wait_for_all(root.list);
        if (i % (times / 5) == 0) usleep(1000);
    }
    ok(!dry, "%s: a list that has run dry takes jobs again, %d times", policy, times);
    orrery_joblist_destroy(root.list);
    orrery_joblist_destroy(r.list);
}

/* ---- the life of a list ---- */

static void late_adder(void *buffers[] UNUSED, void *arg)
{
    struct relay *r = arg;
    while (!atomic_load(&r->stop)) sched_yield();
    struct starpu_task *task = make(&nothing_cl, NULL);
    atomic_store(&r->refused, orrery_joblist_add_job(r->list, task));
    starpu_task_destroy(task);
}
static struct starpu_codelet late_cl = { .cpu_funcs = { late_adder }, .name = "late" };

static struct starpu_task *persistent;
static atomic_int persistent_rounds, persistent_failed;
static void persistent_again(void *arg)
{
    if (atomic_fetch_add(&persistent_rounds, 1) < 9 && orrery_joblist_add_job(arg, persistent) != 0)
        atomic_fetch_add(&persistent_failed, 1);
}

static void life(void)
{
    struct relay r = { 0 };
    int failed = 0;
    runtime_start(2, "eager");
    r.list = orrery_joblist_create("gone", 0);
    failed |= add(r.list, &late_cl, &r);
    for (int i = 0; i < 50; i++) failed |= add(r.list, &count_cl, &r.done);
    orrery_joblist_destroy(r.list);
    atomic_store(&r.stop, 1);
    starpu_task_wait_for_all();
    ok(all_of(!failed, r.done == 50), "jobs of a list that was destroyed run");
    is_int(r.refused, -EINVAL, "and cannot add to it");
    orrery_joblist_destroy(NULL);

    struct orrery_joblist *list = orrery_joblist_create(NULL, 0);
    ok(all_of(strcmp(orrery_joblist_get_name(list), "") == 0, orrery_joblist_get_context(list) == 0),
       "a list without a name, in the main context");
    struct starpu_task *task = make(&nothing_cl, NULL);
    task->detach = 0;
    failed = orrery_joblist_add_job(list, task) | starpu_task_wait(task);
    ok(!failed, "a job that is not detached can be waited for");
    persistent = make(&nothing_cl, NULL);
    persistent->destroy = 0;
    persistent->callback_func = persistent_again;
    persistent->callback_arg = list;
    failed = orrery_joblist_add_job(list, persistent);
    starpu_task_wait_for_all();
    ok(all_of(!failed, persistent_rounds == 10, !persistent_failed),
       "a task is a job again and again, from its callback");
    starpu_task_destroy(persistent);
    failed = starpu_task_submit(make(&nothing_cl, NULL)) | orrery_joblist_wait_for_all(list);
    ok(!failed, "a list waits for its own jobs only");
    orrery_joblist_destroy(list);
    starpu_shutdown();

    /* it outlives the runtime, and serves the next */
    runtime_start(1, "eager");
    list = orrery_joblist_create("twice", 0);
    log_clear();
    failed = add(list, &log_cl, (void *)1);
    starpu_shutdown();
    is_int(logged, 1, "a shutdown runs what is in lists");
    task = make(&nothing_cl, NULL);
    is_int(orrery_joblist_add_job(list, task), -ENODEV, "a list takes no job while there is no runtime");
    runtime_start(1, "eager");
    failed |= orrery_joblist_add_job(list, task) | add(list, &log_cl, (void *)2) |
              orrery_joblist_wait_for_all(list);
    ok(all_of(!failed, logged == 2), "and goes on with the next");
    orrery_joblist_destroy(list);
    starpu_shutdown();
}

static void shutdown_under_load(const char *policy)
{
    static atomic_int ran;
    int failed = 0;
    atomic_store(&ran, 0);
    runtime_start(2, policy);
    for (int i = 0; i < 150; i++) {
        struct orrery_joblist *list = orrery_joblist_create("last", 0);
        for (int k = 0; k < 20; k++) {
            failed |= add(list, &count_cl, &ran);
            if (k % 5 == 2) failed |= orrery_joblist_add_signal(list);
            if (k % 5 == 4) failed |= orrery_joblist_add_wait(list);
        }
        orrery_joblist_destroy(list);
    }
    starpu_shutdown();
    ok(all_of(!failed, ran == 3000), "%s: a shutdown right after the last job was added loses none (%d)",
       policy, ran);
}

/* ---- misuse ---- */

static void blocking_func(void *buffers[] UNUSED, void *arg)
{
    struct relay *r = arg;
    atomic_store(&r->refused, orrery_joblist_wait_for_all(r->list));
}
static struct starpu_codelet blocking_cl = { .cpu_funcs = { blocking_func }, .name = "blocking" };

static int refused(struct orrery_joblist *list, struct starpu_task *task)
{
    int r = orrery_joblist_add_job(list, task);
    if (r) starpu_task_destroy(task);
    return r;
}

static void misuse(void)
{
    struct orrery_joblist_counts counts;
    struct relay r = { 0 };
    ok(orrery_joblist_create("early", 0) == NULL, "no list without a runtime");
    runtime_start(2, "eager");
    struct orrery_joblist *list = orrery_joblist_create("misused", 0);
    ok(orrery_joblist_create("nowhere", 7) == NULL, "no list in a context that does not exist");
    is_int(orrery_joblist_add_wait(list), -EINVAL, "a wait without a signal");
    is_int(orrery_joblist_add_signal(list), 0, "a signal");
    is_int(orrery_joblist_add_signal(list), -EINVAL, "a signal within a pair");
    is_int(orrery_joblist_add_wait(list), 0, "its wait");
    is_int(orrery_joblist_add_wait(list), -EINVAL, "a second wait");
    is_int(orrery_joblist_add_job(list, NULL), -EINVAL, "no task");
    struct starpu_task *task = make(&nothing_cl, NULL);
    is_int(orrery_joblist_add_job(NULL, task), -EINVAL, "no list");
    ok(all_of(orrery_joblist_add_signal(NULL) == -EINVAL, orrery_joblist_add_wait(NULL) == -EINVAL,
              orrery_joblist_wait_for_all(NULL) == -EINVAL,
              orrery_joblist_get_counts(NULL, &counts) == -EINVAL,
              orrery_joblist_get_counts(list, NULL) == -EINVAL, orrery_joblist_get_remaining(NULL) == 0,
              orrery_joblist_get_name(NULL) == NULL),
       "no list for other calls");
    task->synchronous = 1;
    is_int(refused(list, task), -EINVAL, "a synchronous task");
    task = make(&nothing_cl, NULL);
    task->regenerate = 1;
    is_int(refused(list, task), -EINVAL, "a task that regenerates");
    task = make(&nothing_cl, NULL);
    task->execute_on_a_specific_worker = 1;
    task->workerorder = 1;
    is_int(refused(list, task), -EINVAL, "a task with a workerorder");
    task = make(&nothing_cl, NULL);
    task->sched_ctx = 3;
    is_int(refused(list, task), -EINVAL, "a task of another context");
    task = make(&nothing_cl, NULL);
    task->execute_on_a_specific_worker = 1;
    task->workerid = 100;
    is_int(refused(list, task), -ENODEV, "a task for a worker that does not exist");
    static struct starpu_task blank;
    is_int(orrery_joblist_add_job(list, &blank), -EINVAL, "a task that was not initialised");
    r.list = list;
    is_int(add(list, &blocking_cl, &r), 0, "a job that waits for its list");
    is_int(orrery_joblist_wait_for_all(list), 0, "is waited for");
    is_int(r.refused, -EDEADLK, "and was refused");
    is_int(orrery_joblist_get_remaining(list), 0, "nothing that was refused is in the list");
    is_int(add(list, &nothing_cl, NULL), 0, "the list goes on");
    is_int(orrery_joblist_wait_for_all(list), 0, "to the end");
    orrery_joblist_destroy(list);
    starpu_shutdown();
}

/* ---- contexts ---- */

static void contexts(void)
{
    static struct job_record record[60];
    int worker = 1, misplaced = 0, failed = 0;
    runtime_start(2, "eager");
    require_workers(2);
    memset(record, 0, sizeof record);
    unsigned ctx = starpu_sched_ctx_create(&worker, 1, "one", STARPU_SCHED_CTX_POLICY_NAME, "lws", 0);
    struct orrery_joblist *list = orrery_joblist_create("in one", ctx),
                          *main_list = orrery_joblist_create("in main", 0);
    is_int(orrery_joblist_get_context(list), ctx, "a list in a context of the program's");
    for (int i = 0; i < 30; i++) {
        failed |= orrery_joblist_add_job(list, job_task(&job_cl, &record[i]));
        failed |= orrery_joblist_add_job(main_list, job_task(&job_cl, &record[30 + i]));
    }
    failed |= orrery_joblist_wait_for_all(list) | orrery_joblist_wait_for_all(main_list);
    for (int i = 0; i < 60; i++) misplaced += (i < 30 && record[i].worker != 1) || record[i].runs != 1;
    ok(all_of(!failed, misplaced == 0), "jobs run on the workers of their list's context (%d, %d)", failed,
       misplaced);
    /* a job of the main context's list, bound to a worker that is elsewhere */
    struct starpu_task *bound = job_task(&job_cl, &record[0]);
    bound->execute_on_a_specific_worker = 1;
    bound->workerid = 1;
    failed |= orrery_joblist_add_job(main_list, bound) | orrery_joblist_wait_for_all(main_list);
    ok(all_of(!failed, record[0].runs == 2, record[0].worker == 1),
       "a job bound to a worker of another context runs there");
    /* workers come and go while lists are served */
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 30; i++) {
            failed |= orrery_joblist_add_job(list, job_task(&job_cl, &record[i]));
            failed |= orrery_joblist_add_job(main_list, job_task(&job_cl, &record[30 + i]));
        }
        starpu_sched_ctx_remove_workers(&worker, 1, ctx);
        usleep(200);
        starpu_sched_ctx_add_workers(&worker, 1, ctx);
    }
    failed |= orrery_joblist_wait_for_all(list) | orrery_joblist_wait_for_all(main_list);
    misplaced = 0;
    for (int i = 1; i < 60; i++) misplaced += record[i].runs != 21;
    ok(all_of(!failed, misplaced == 0), "nothing is lost while workers leave and join a context with lists");
    orrery_joblist_destroy(list);
    orrery_joblist_destroy(main_list);
    starpu_sched_ctx_delete(ctx);
    starpu_shutdown();
}

/* ---- random programs ---- */

static void random_programs(const char *policy, int workers)
{
    static const struct {
        const char *what;
        int lists, jobs;
        struct program_traits traits;
    } kinds[] = {
        { "windows", 3, SCALED(1500, 400), { .work = 300 } },
        { "hundreds of lists", SCALED(300, 100), SCALED(3000, 600), { .work = 100, .priorities = 1 } },
        { "data", 20, SCALED(1500, 400), { .work = 200, .handles = 1 } },
        { "all kinds of jobs",
          20,
          SCALED(1500, 400),
          { .work = 200,
            .handles = 1,
            .bound = 1,
            .empty = 1,
            .commuting = 1,
            .depends = 1,
            .priorities = 1 } },
    };
    for (unsigned i = 0; i < LENGTH(kinds); i++) {
        uint64_t seed = 1000 + i;
        program_open(&program, kinds[i].lists, 0);
        program_run(&program, &kinds[i].traits, kinds[i].jobs, seed);
        is_int(program_breaches(&program, workers), 0, "%s, %d workers: %s, %d jobs in %d lists (seed %d)",
               policy, workers, kinds[i].what, kinds[i].jobs, kinds[i].lists, (int)seed);
        program_close(&program);
    }
}

/* ---- jobs for several workers ---- */

enum { TEAM_JOBS = 60, TEAM_GROUP = 4 };
static struct team_job {
    atomic_int entered, left, size;
} team_jobs[TEAM_JOBS];
static atomic_int too_early;

/* Groups are kept apart by pairs of signal and wait. */
static void team_func(void *buffers[] UNUSED, void *arg)
{
    struct team_job *j = arg;
    int group = (int)(j - team_jobs) / TEAM_GROUP;
    for (int i = group ? (group - 1) * TEAM_GROUP : 0; i < group * TEAM_GROUP; i++)
        if (!team_jobs[i].entered || team_jobs[i].entered != team_jobs[i].left)
            atomic_fetch_add(&too_early, 1);
    atomic_fetch_add(&j->entered, 1);
    atomic_store(&j->size, starpu_combined_worker_get_size());
    usleep(100);
    atomic_fetch_add(&j->left, 1);
}
static struct starpu_codelet team_cl = {
    .cpu_funcs = { team_func }, .type = STARPU_SPMD, .max_parallelism = 4, .name = "team"
};
static struct starpu_codelet single_cl = { .cpu_funcs = { team_func }, .name = "single" };

static void parallel_jobs(const char *policy)
{
    int failed = 0, wrong = 0, pair[2] = { 0, 1 };
    runtime_start(4, policy);
    memset(team_jobs, 0, sizeof team_jobs);
    atomic_store(&too_early, 0);
    struct orrery_joblist *list = orrery_joblist_create("teams", 0);
    for (int i = 0; i < TEAM_JOBS; i++) {
        failed |= add(list, i % 2 ? &team_cl : &single_cl, &team_jobs[i]);
        if (i % TEAM_GROUP == TEAM_GROUP - 1) {
            failed |= orrery_joblist_add_signal(list);
            failed |= orrery_joblist_add_wait(list);
        }
    }
    failed |= orrery_joblist_wait_for_all(list);
    for (int i = 0; i < TEAM_JOBS; i++)
        wrong += team_jobs[i].entered != 1 || team_jobs[i].left != 1 || team_jobs[i].size != 1;
    ok(all_of(!failed, wrong == 0, too_early == 0),
       "%s: jobs that could run on several workers run on one each", policy);
    struct starpu_task *task = make(&team_cl, &team_jobs[0]);
    task->execute_on_a_specific_worker = 1;
    task->workerid = (unsigned)starpu_combined_worker_assign_workerid(2, pair);
    is_int(refused(list, task), -EINVAL, "%s: a job bound to a combined worker is refused", policy);
    orrery_joblist_destroy(list);
    starpu_shutdown();
}

/* Every second one. */
static void every_policy(int first)
{
    struct starpu_sched_policy **all = starpu_sched_get_predefined_policies();
    for (int i = first; i == 0 || (all[i - 1] && all[i]); i += 2) {
        const char *name = all[i]->policy_name;
        runtime_start(2, name);
        require_workers(2);
        random_programs(name, 2);
        added_from_jobs(name);
        many_adders(name);
        starpu_shutdown();
        shutdown_under_load(name);
    }
    if (first > 0) return;
    runtime_start(4, "eager");
    random_programs("eager", (int)starpu_cpu_worker_get_count());
    starpu_shutdown();
}

/* JOBLIST_POLICIES: from which every second policy is tried; -1: the cases by themselves. */
int main(void)
{
    alarm(240);
    if (JOBLIST_POLICIES >= 0) {
        every_policy(JOBLIST_POLICIES);
        return done_testing();
    }
    order_on_one_worker();
    priorities();
    context_priorities();
    context_deleted();
    held_back();
    estimates();
    window();
    odd_pairs();
    while_one_runs();
    alarm(240);
    blocked_first_job();
    shared_turns();
    fewest_workers();
    particular_workers();
    nobody_starves();
    life();
    misuse();
    contexts();
    parallel_jobs("peager");
    parallel_jobs("pheft");
    parallel_jobs("eager");
    return done_testing();
}

#endif
