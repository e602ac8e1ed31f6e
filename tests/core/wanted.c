/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether the program has a datum for itself, or is about to: so from before the layer above hears of the use
 * until the datum is released, whoever asks and however late its thread runs. Threads: main, one that waits
 * for a datum, a worker. Owns: the data. Not here: what depends on it across ranks (tests/mpi/away_calls.c).
 */
#include <pthread.h>

#include "core/data/data.h"
#include "tests/helper.h"

static starpu_data_handle_t datum;
static long value;
static int asked, wanted_when_asked, answer;

/* The layer above, which hears of each use of what is away. */
static int use(struct orr_data *h, uint32_t how UNUSED)
{
    asked++;
    wanted_when_asked += orr_data_is_wanted(h);
    return answer;
}

static void nothing(void *buffers[] UNUSED, void *arg UNUSED)
{
}
static struct starpu_codelet write_cl = {
    .cpu_funcs = { nothing }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "write"
};
static struct starpu_codelet held_cl = {
    .cpu_funcs = { gate_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "held"
};

static void hold(struct gate *gate)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &held_cl;
    task->cl_arg = gate;
    task->handles[0] = datum;
    if (starpu_task_submit(task) != 0) exit(1);
    gate_wait_entered(gate, 1);
}

static void let_go(struct gate *gate)
{
    gate_open(gate);
    starpu_task_wait_for_all();
}

static bool was_asked_as_wanted(void)
{
    bool was = asked == 1 && wanted_when_asked == 1;
    asked = wanted_when_asked = 0;
    return was;
}

static void blocking(enum starpu_data_access_mode mode, const char *what)
{
    int status = starpu_data_acquire(datum, mode);
    bool has = orr_data_is_wanted(datum);
    starpu_data_release(datum);
    ok(all_of(status == 0, was_asked_as_wanted(), has, !orr_data_is_wanted(datum)),
       "%s: wanted when the layer above is asked and while it is held, not after", what);
}

static atomic_int called;

static void has_it(void *arg UNUSED)
{
    called = orr_data_is_wanted(datum);
}

static void refused(void)
{
    answer = -EDEADLK;
    int acquires = starpu_data_acquire(datum, STARPU_RW);
    int tries = starpu_data_acquire_try(datum, STARPU_RW);
    int waits = starpu_data_acquire_cb(datum, STARPU_RW, has_it, NULL);
    int exempt = starpu_data_acquire_cb_sequential_consistency(datum, STARPU_RW, has_it, NULL, 0);
    ok(all_of(acquires == -EDEADLK, tries == -EDEADLK, waits == -EDEADLK, exempt == -EDEADLK, asked == 4,
              wanted_when_asked == 4, !called, !orr_data_is_wanted(datum)),
       "who is refused by the layer above wants it no more");
    answer = asked = wanted_when_asked = 0;
}

static void two_readers(void)
{
    starpu_data_acquire(datum, STARPU_R);
    starpu_data_acquire(datum, STARPU_R);
    starpu_data_release(datum);
    bool still = orr_data_is_wanted(datum);
    starpu_data_release(datum);
    ok(all_of(still, !orr_data_is_wanted(datum)), "of two readers, until both have released it");
    asked = wanted_when_asked = 0;
}

static void tried(void)
{
    struct gate gate = { 0 };
    hold(&gate);
    asked = wanted_when_asked = 0;
    int status = starpu_data_acquire_try(datum, STARPU_RW);
    bool wanted = orr_data_is_wanted(datum);
    let_go(&gate);
    ok(all_of(status == -EAGAIN, was_asked_as_wanted(), !wanted), "tried in vain: not wanted any more");
    status = starpu_data_acquire_try(datum, STARPU_RW);
    wanted = orr_data_is_wanted(datum);
    starpu_data_release(datum);
    ok(all_of(status == 0, was_asked_as_wanted(), wanted, !orr_data_is_wanted(datum)),
       "tried with success: until it is released");
}

static void called_back(int in_order)
{
    struct gate gate = { 0 };
    hold(&gate);
    asked = wanted_when_asked = 0;
    called = 0;
    int status = starpu_data_acquire_cb_sequential_consistency(datum, STARPU_RW, has_it, NULL, in_order);
    bool waits = orr_data_is_wanted(datum) && !called;
    gate_open(&gate);
    while (!called) sched_yield();
    bool has = orr_data_is_wanted(datum);
    starpu_data_release(datum);
    starpu_task_wait_for_all();
    ok(all_of(status == 0, was_asked_as_wanted(), waits, has, !orr_data_is_wanted(datum)),
       "by a callback%s: while it waits, in the callback and until it is released",
       in_order ? "" : " out of order");
}

static atomic_int may_release;

static void *wait_for_it(void *arg UNUSED)
{
    starpu_data_acquire(datum, STARPU_RW);
    called = 1;
    while (!may_release) sched_yield();
    starpu_data_release(datum);
    return NULL;
}

/* From when it asks until it has released it, there is no moment in which it is not: not the one of the grant
 * either. How many were seen. */
static int lapses_of_a_thread(void)
{
    struct gate gate = { 0 };
    pthread_t thread;
    int lapses = 0;
    hold(&gate);
    called = may_release = 0;
    pthread_create(&thread, NULL, wait_for_it, NULL);
    while (!orr_data_is_wanted(datum)) sched_yield();
    gate_open(&gate);
    while (!called) lapses += !orr_data_is_wanted(datum);
    may_release = 1;
    pthread_join(thread, NULL);
    starpu_task_wait_for_all();
    return lapses + orr_data_is_wanted(datum);
}

static void by_threads(void)
{
    int lapses = 0;
    for (int i = 0; i < 20; i++) lapses += lapses_of_a_thread();
    ok(lapses == 0, "by threads that wait: at the moment of the grant, too");
    asked = wanted_when_asked = 0;
}

/* The program releases what only a task has. */
static void released_unheld(void)
{
    struct gate gate = { 0 };
    hold(&gate);
    int status = starpu_task_insert(&write_cl, STARPU_RW, datum, 0);
    starpu_data_release(datum);
    bool wanted = orr_data_is_wanted(datum);
    int ready = starpu_task_nready();
    let_go(&gate);
    ok(all_of(status == 0, !wanted, ready == 1, !orr_data_is_wanted(datum)),
       "what only a task has is not released for it: the next one waits on");
    asked = wanted_when_asked = 0;
}

static void without_a_value(void)
{
    starpu_data_handle_t none;
    starpu_variable_data_register(&none, -1, 0, sizeof value);
    int acquires = starpu_data_acquire(none, STARPU_R);
    int waits = starpu_data_acquire_cb(none, STARPU_R, has_it, NULL);
    bool wanted = orr_data_is_wanted(none);
    int writes = starpu_data_acquire(none, STARPU_W);
    if (!writes) starpu_data_release(none);
    ok(all_of(acquires == -EINVAL, waits == -EINVAL, !wanted, !writes, !orr_data_is_wanted(none)),
       "what has no value is not wanted after that was said");
    starpu_data_unregister(none);
}

int main(void)
{
    runtime_start(1, NULL);
    starpu_variable_data_register(&datum, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    orr_data_hooks.use = use;
    orr_store_relaxed(&datum->away, true);
    blocking(STARPU_R, "acquired to be read");
    blocking(STARPU_RW, "acquired to be written");
    blocking(STARPU_RW | STARPU_COMMUTE, "acquired to be written in any order");
    refused();
    two_readers();
    tried();
    called_back(1);
    called_back(0);
    by_threads();
    released_unheld();
    without_a_value();
    orr_store_relaxed(&datum->away, false);
    starpu_data_unregister(datum);
    starpu_shutdown();
    return done_testing();
}
