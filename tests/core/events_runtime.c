/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the runtime tells observers: the life of a task in order, every task once, transfers; observers that
 * come, go and submit tasks while tasks run. Threads: main submits; workers tell. Owns: the observers of the
 * cases. Not here: the table of observers itself (events.c).
 */
#include "core/base/event.h"
#include "core/base/recorder.h"
#include "tests/core/sim_helper.h"

enum { TASKS = 400 };

static atomic_int bodies;

static void body(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&bodies, 1);
}
static void nothing(void *arg UNUSED)
{
}
static struct starpu_codelet cl = { .cpu_funcs = { body }, .name = "body" };
static struct starpu_codelet device_cl = {
    .cuda_funcs = { body }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "device"
};

/* ---- one task ---- */

static enum orr_event_kind life[32];
static int lived;

static void note(struct orr_observer *o UNUSED, const struct orr_seen *e)
{
    if (lived < 32) life[lived++] = e->kind;
}

static void life_of_a_task(void)
{
    static const enum orr_event_kind expected[] = {
        ORR_EVENT_TASK_SUBMITTED, ORR_EVENT_TASK_READY,       ORR_EVENT_TASK_PUSHED,    ORR_EVENT_TASK_PLACED,
        ORR_EVENT_TASK_POPPED,    ORR_EVENT_TASK_TAKEN,       ORR_EVENT_TASK_STARTED,   ORR_EVENT_TASK_ENDED,
        ORR_EVENT_TASK_COMPLETED, ORR_EVENT_CALLBACK_STARTED, ORR_EVENT_CALLBACK_ENDED, ORR_EVENT_TASK_FREED,
    };
    struct orr_observer o = { .name = "life", .see = note, .kinds = orr_events_of(ORR_EVENTS_TASKS) };
    orr_observer_add(&o);
    starpu_task_insert(&cl, STARPU_CALLBACK, nothing, 0);
    starpu_task_wait_for_all();
    orr_observer_remove(&o);
    is_int(lived, LENGTH(expected), "the life of a task has so many events");
    int same = 0;
    while (same < lived && same < (int)LENGTH(expected) && life[same] == expected[same]) same++;
    is_int(same, LENGTH(expected), "in their order (then %s)",
           same < lived ? orr_event_name(life[same]) : "nothing");
}

/* ---- many ---- */

static atomic_int counts[ORR_EVENT_KINDS];

static void count(struct orr_observer *o UNUSED, const struct orr_seen *e)
{
    atomic_fetch_add(&counts[e->kind], 1);
}

static void submit_another(struct orr_observer *o UNUSED, const struct orr_seen *e UNUSED)
{
    if (starpu_task_insert(&cl, 0) != 0) atomic_fetch_add(&bodies, 1000000);
}

static void observers_come_and_go(void)
{
    struct orr_observer all = { .name = "all", .see = count, .kinds = orr_events_of(ORR_EVENTS_TASKS) };
    atomic_store(&bodies, 0);
    orr_observer_add(&all);
    for (int i = 0; i < TASKS; i++) {
        struct orr_observer other = { .name = "other",
                                      .see = count,
                                      .kinds = ORR_EVENT_BIT(WORKER_IDLE) | ORR_EVENT_BIT(TASK_TAKEN) };
        orr_observer_add(&other);
        starpu_task_insert(&cl, 0);
        orr_observer_remove(&other);
    }
    starpu_task_wait_for_all();
    orr_observer_remove(&all);
    ok(all_of(atomic_load(&bodies) == TASKS, counts[ORR_EVENT_TASK_SUBMITTED] == TASKS,
              counts[ORR_EVENT_TASK_PUSHED] == TASKS, counts[ORR_EVENT_TASK_STARTED] == TASKS,
              counts[ORR_EVENT_TASK_ENDED] == TASKS, counts[ORR_EVENT_TASK_COMPLETED] == TASKS,
              counts[ORR_EVENT_TASK_FREED] == TASKS),
       "each task is told of once, while other observers come and go");
}

static void observers_submit(void)
{
    struct orr_observer more = { .name = "more", .see = submit_another, .kinds = ORR_EVENT_BIT(TASK_ENDED) };
    atomic_store(&bodies, 0);
    orr_observer_add(&more);
    for (int i = 0; i < TASKS; i++) starpu_task_insert(&cl, 0);
    while (atomic_load(&bodies) < 2 * TASKS) sched_yield();
    orr_observer_remove(&more);
    starpu_task_wait_for_all();
    ok(atomic_load(&bodies) >= 2 * TASKS && atomic_load(&bodies) < 1000000,
       "an observer may submit a task for each that ends");
}

static void transfers(void)
{
    struct orr_observer o = { .name = "transfers",
                              .see = count,
                              .kinds = orr_events_of(ORR_EVENTS_TRANSFERS) | orr_events_of(ORR_EVENTS_DATA) };
    starpu_data_handle_t h;
    int value = 1;
    orr_observer_add(&o);
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    starpu_task_insert(&device_cl, STARPU_RW, h, 0);
    starpu_data_unregister(h);
    orr_observer_remove(&o);
    ok(all_of(counts[ORR_EVENT_DATA_REGISTERED] == 1, counts[ORR_EVENT_DATA_UNREGISTERED] == 1,
              counts[ORR_EVENT_DATA_ALLOCATED] == 1, counts[ORR_EVENT_TRANSFER_STARTED] == 2,
              counts[ORR_EVENT_TRANSFER_ENDED] == 2, counts[ORR_EVENT_BYTES_COPIED] == 2),
       "a datum is registered, copied to a device and back, and unregistered");
}

int main(void)
{
    sim_start(1, &(struct sim_config){ .devices = "1", .mem_mb = "64", .latency_us = "0" });
    life_of_a_task();
    observers_come_and_go();
    observers_submit();
    transfers();
    starpu_shutdown();
    return done_testing();
}
