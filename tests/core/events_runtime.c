/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the runtime tells observers: the life of a task in order, every task once, transfers, dependencies,
 * contexts, idle workers, what fails and is tried again; observers that come, go and submit tasks meanwhile.
 * Threads: main submits; workers tell. Owns: the observers of the cases. Not here: the table of observers
 * itself (events.c).
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
    /* launched it is by the device alone, which may be who runs it */
    struct orr_observer o = { .name = "life",
                              .see = note,
                              .kinds = orr_events_of(ORR_EVENTS_TASKS) & ~ORR_EVENT_BIT(TASK_LAUNCHED) };
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
static int workers;

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

/* ---- what fails, and is tried elsewhere ---- */

static int on_device(int device, enum starpu_data_access_mode mode, starpu_data_handle_t h)
{
    static struct starpu_codelet any_cl = { .cuda_funcs = { body },
                                            .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                            .name = "any" };
    return starpu_task_insert(&any_cl, mode, h, STARPU_EXECUTE_ON_WORKER, sim_worker(device), 0);
}

/* The third copy of the first device, to main memory, fails: that of the second device is brought. */
static void copies_fail(starpu_data_handle_t h)
{
    int failed = on_device(0, STARPU_RW, h);
    failed |= on_device(1, STARPU_R, h);
    failed |= starpu_task_wait_for_all();
    failed |= starpu_data_acquire(h, STARPU_R);
    starpu_data_release(h);
    ok(all_of(!failed, counts[ORR_EVENT_TRANSFER_STARTED] == 4, counts[ORR_EVENT_TRANSFER_ENDED] == 4),
       "each copy that starts ends, also where another is brought in its place (%d, %d)",
       counts[ORR_EVENT_TRANSFER_STARTED], counts[ORR_EVENT_TRANSFER_ENDED]);
}

/* The second device waits for the first to have been given what it cannot do. */
static void body_after_first(void *buffers[] UNUSED, void *arg UNUSED)
{
    while (starpu_worker_get_id() == sim_worker(1) && !counts[ORR_EVENT_TASK_GIVEN_UP]) usleep(100);
}

/* The first device starts three kernels, and no more: it is taken out, and hands on what it is given. */
static void kernels_fail(void)
{
    static struct starpu_codelet free_cl = { .cuda_funcs = { body_after_first }, .name = "free" };
    memset(counts, 0, sizeof counts);
    for (int i = 0; i < TASKS; i++) starpu_task_insert(&free_cl, 0);
    starpu_task_wait_for_all();
    int n = TASKS + counts[ORR_EVENT_TASK_GIVEN_UP];
    ok(all_of(n > TASKS, counts[ORR_EVENT_TASK_ENDED] == TASKS, counts[ORR_EVENT_TASK_FAILED] == 0,
              counts[ORR_EVENT_TASK_PLACED] == n, counts[ORR_EVENT_TASK_POPPED] == n,
              counts[ORR_EVENT_TASK_TAKEN] == n),
       "a task is placed, popped and taken once more for each time that it is given up (%d: %d, %d, %d)",
       n - TASKS, counts[ORR_EVENT_TASK_PLACED], counts[ORR_EVENT_TASK_POPPED], counts[ORR_EVENT_TASK_TAKEN]);
}

static void what_fails(void)
{
    struct orr_observer o = { .name = "failures",
                              .see = count,
                              .kinds =
                                  orr_events_of(ORR_EVENTS_TRANSFERS) | orr_events_of(ORR_EVENTS_TASKS) };
    starpu_data_handle_t h;
    int value = 1;
    sim_setting("ORRERY_SIM_FAIL", "copy:0:3,submit:0:4-");
    sim_start_as(0, &(struct sim_config){ .devices = "2", .mem_mb = "64", .latency_us = "0", .peers = "1" },
                 NULL, "eager");
    memset(counts, 0, sizeof counts);
    orr_observer_add(&o);
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    copies_fail(h);
    starpu_data_unregister(h);
    kernels_fail();
    orr_observer_remove(&o);
    starpu_shutdown();
    sim_setting("ORRERY_SIM_FAIL", NULL);
}

/* ---- workers, contexts, dependencies ---- */

static void workers_and_contexts(void)
{
    struct orr_observer o = { .name = "workers",
                              .see = count,
                              .kinds =
                                  orr_events_of(ORR_EVENTS_WORKERS) | orr_events_of(ORR_EVENTS_CONTEXTS) };
    int cpu = 0;
    memset(counts, 0, sizeof counts);
    orr_observer_add(&o);
    for (int i = 0; i < 3; i++) {
        unsigned ctx = starpu_sched_ctx_create(&cpu, 1, "short", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
        struct starpu_task *task = starpu_task_create();
        task->cl = &cl;
        starpu_task_submit_to_ctx(task, ctx);
        starpu_sched_ctx_delete(ctx);
    }
    while (counts[ORR_EVENT_CONTEXT_CLOSED] < 3) sched_yield();
    starpu_shutdown(); /* each worker wakes up, and is busy, for the last time */
    orr_observer_remove(&o);
    ok(all_of(counts[ORR_EVENT_CONTEXT_OPENED] == 3, counts[ORR_EVENT_CONTEXT_DELETED] == 3,
              counts[ORR_EVENT_WORKER_JOINED] >= 3),
       "each context is opened, deleted and closed once, and its worker joins it (%d)",
       counts[ORR_EVENT_WORKER_JOINED]);
    int idle = counts[ORR_EVENT_WORKER_BUSY] - counts[ORR_EVENT_WORKER_IDLE],
        asleep = counts[ORR_EVENT_WORKER_WAKES] - counts[ORR_EVENT_WORKER_SLEEPS];
    ok(counts[ORR_EVENT_WORKER_IDLE] > 0 && idle >= 0 && idle <= workers,
       "who was idle is busy once: %d more than became idle meanwhile", idle);
    ok(asleep >= 0 && asleep <= workers, "who slept wakes up once: %d more than fell asleep meanwhile",
       asleep);
}

static void dependencies(void)
{
    enum { AFTER = 3 };
    struct orr_observer o = { .name = "dependencies",
                              .see = count,
                              .kinds = orr_events_of(ORR_EVENTS_DEPENDENCIES) };
    struct gate gate = { 0 };
    struct starpu_task *first = starpu_task_create(), *then[AFTER];
    orr_observer_add(&o);
    first->cl = &gate_cl;
    first->cl_arg = &gate;
    for (int i = 0; i < AFTER; i++) {
        then[i] = starpu_task_create();
        then[i]->cl = &cl;
        starpu_task_declare_deps_array(then[i], 1, &first);
    }
    starpu_tag_declare_deps(0x11, 1, 0x10);
    then[0]->use_tag = 1;
    then[0]->tag_id = 0x10;
    starpu_task_submit(first);
    for (int i = 0; i < AFTER; i++) starpu_task_submit(then[i]);
    gate_open(&gate);
    starpu_task_wait_for_all();
    starpu_tag_remove(0x10);
    starpu_tag_remove(0x11);
    orr_observer_remove(&o);
    ok(all_of(counts[ORR_EVENT_TASK_DECLARED] == AFTER, counts[ORR_EVENT_TASK_DECLARED_LATE] == 0,
              counts[ORR_EVENT_TAG_DECLARED] == 1, counts[ORR_EVENT_TAG_BOUND] == 1,
              counts[ORR_EVENT_TASK_SERVED] == 1, counts[ORR_EVENT_TAG_FREED] == 2),
       "each dependency of a task or tag is told of once, and each tag's end");
}

int main(void)
{
    sim_start(1, &(struct sim_config){ .devices = "1", .mem_mb = "64", .latency_us = "0" });
    life_of_a_task();
    observers_come_and_go();
    observers_submit();
    transfers();
    dependencies();
    workers = (int)starpu_worker_get_count();
    workers_and_contexts();
    what_fails();
    return done_testing();
}
