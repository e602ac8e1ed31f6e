/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What contexts tell a hypervisor: which notice comes when, with what.
 * Threads: notices come from workers and from main. Owns: what was told.
 * Not here: hypervisors (tests/sched).
 */
#include <stdbool.h>
#include <starpu_sched_ctx_hypervisor.h>

#include "tests/helper.h"

static unsigned watched;
static atomic_int popped, pushed[STARPU_NMAXWORKERS], ended, submitted, empty, deleted, wrong,
    joined[STARPU_NMAXWORKERS];
static atomic_int idle_us[STARPU_NMAXWORKERS], tags, thousands;
static atomic_ulong bytes;
static atomic_uint footprints;

static void check_context(unsigned ctx)
{
    if (ctx != watched) atomic_fetch_add(&wrong, 1);
}

static void on_idle(unsigned ctx, int worker, double us)
{
    check_context(ctx);
    if (starpu_worker_get_id() != worker) atomic_fetch_add(&wrong, 1);
    if (us <= 0) atomic_fetch_add(&joined[worker], 1);
    atomic_fetch_add(&idle_us[worker], (int)us);
}
static void on_pop(unsigned ctx, int worker)
{
    check_context(ctx);
    if (starpu_worker_get_id() != worker) atomic_fetch_add(&wrong, 1);
    atomic_fetch_add(&popped, 1);
}
static void on_push(unsigned ctx, int worker)
{
    check_context(ctx);
    atomic_fetch_add(&pushed[worker], 1);
}
static void on_end(struct starpu_task *task, size_t size, uint32_t footprint, int tag, double flops)
{
    check_context(task->sched_ctx);
    atomic_fetch_add(&ended, 1);
    atomic_fetch_add(&bytes, size);
    atomic_fetch_add(&tags, tag);
    atomic_fetch_add(&thousands, (int)(flops / 1000));
    atomic_fetch_sub(&footprints, footprint);
}
static void on_submit(struct starpu_task *task, uint32_t footprint, size_t size)
{
    (void)size;
    if (task->cl) atomic_fetch_add(&submitted, 1);
    atomic_fetch_add(&footprints, footprint);
}
static void on_empty(unsigned ctx, struct starpu_task *task)
{
    check_context(ctx);
    if (task->cl) atomic_fetch_add(&empty, 1);
}
static void on_delete(unsigned ctx)
{
    check_context(ctx);
    atomic_fetch_add(&deleted, 1);
}

static struct starpu_sched_ctx_performance_counters counters = {
    .notify_idle_cycle = on_idle,
    .notify_poped_task = on_pop,
    .notify_pushed_task = on_push,
    .notify_post_exec_task = on_end,
    .notify_submitted_job = on_submit,
    .notify_empty_ctx = on_empty,
    .notify_delete_context = on_delete,
};

static void nothing(void *buffers[] UNUSED, void *arg UNUSED)
{
}
static struct starpu_codelet plain_cl = { .cpu_funcs = { nothing }, .name = "plain" };
static struct starpu_codelet data_cl = {
    .cpu_funcs = { nothing }, .nbuffers = 1, .modes = { STARPU_R }, .name = "data"
};

static void tasks(const char *policy)
{
    enum { TASKS = 30 };
    int workers[2] = { 0, 1 };
    double vector[100];
    starpu_data_handle_t handle;
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)vector, 100, sizeof vector[0]);
    atomic_store(&popped, 0);
    atomic_store(&ended, 0);
    atomic_store(&submitted, 0);
    atomic_store(&deleted, 0);
    atomic_store(&bytes, 0);
    atomic_store(&tags, 0);
    atomic_store(&thousands, 0);
    memset(pushed, 0, sizeof pushed);
    watched = starpu_sched_ctx_create(workers, 2, "watched", STARPU_SCHED_CTX_POLICY_NAME, policy, 0);
    starpu_sched_ctx_set_perf_counters(watched, &counters);
    for (int i = 0; i < TASKS; i++)
        starpu_task_insert(&data_cl, STARPU_SCHED_CTX, watched, STARPU_R, handle, STARPU_FLOPS, 2000.0,
                           STARPU_HYPERVISOR_TAG, 7, 0);
    for (int i = 0; i < TASKS; i++) starpu_task_insert(&plain_cl, 0); /* others' business */
    starpu_task_wait_for_all_in_ctx(watched);
    is_int(atomic_load(&submitted), TASKS, "%s: each submission is told", policy);
    is_int(atomic_load(&popped), TASKS, "%s: each task that is taken", policy);
    is_int(atomic_load(&ended), TASKS, "%s: each end", policy);
    is_int((long long)atomic_load(&bytes), (long long)(TASKS * sizeof vector),
           "%s: with the size of the data", policy);
    is_int(atomic_load(&tags), 7 * TASKS, "%s: with the tag", policy);
    is_int(atomic_load(&thousands), 2 * TASKS, "%s: with the flops", policy);
    is_int(atomic_load(&footprints), 0, "%s: with the footprint of the submission", policy);
    int pushes = atomic_load(&pushed[0]) + atomic_load(&pushed[1]);
    is_int(pushes, TASKS, "%s: and each task for a worker's queue", policy);
    starpu_sched_ctx_delete(watched);
    is_int(atomic_load(&deleted), 1, "%s: and the end of the context", policy);
    starpu_data_unregister(handle);
}

static bool idles_for(int worker, int us)
{
    for (int i = 0; i < 20000 && atomic_load(&idle_us[worker]) < us; i++) usleep(1000);
    return atomic_load(&idle_us[worker]) >= us;
}

static void idle_and_empty(void)
{
    int one = 1, none = 0;
    memset(idle_us, 0, sizeof idle_us);
    watched = starpu_sched_ctx_create(&none, 0, "watched", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    starpu_sched_ctx_set_perf_counters(watched, &counters);
    for (int i = 0; i < 5; i++) starpu_task_insert(&plain_cl, STARPU_SCHED_CTX, watched, 0);
    is_int(atomic_load(&empty), 5, "tasks that are ready where no worker is are told");
    atomic_store(&joined[1], 0);
    starpu_sched_ctx_add_workers(&one, 1, watched);
    ok(comes_to(&joined[1], 1, 20000), "a worker says that it has joined");
    starpu_task_wait_for_all();
    ok(idles_for(1, 20000), "an idle worker says so while it sleeps");
    is_int(atomic_load(&idle_us[0]), 0, "others say nothing");
    starpu_sched_ctx_update_start_resizing_sample(watched, starpu_timing_now() + 1e9);
    usleep(5000);
    int before = atomic_load(&idle_us[1]);
    usleep(20000);
    ok(atomic_load(&idle_us[1]) - before < 2, "not of the time before the sample begins");
    starpu_sched_ctx_delete(watched);
}

/* A notice moves a worker: the worker that is told is the one that moves. */
static unsigned refuge;
static void on_idle_flee(unsigned ctx, int worker, double us)
{
    if (us < 1) return;
    starpu_sched_ctx_add_workers(&worker, 1, refuge);
    starpu_sched_ctx_remove_workers(&worker, 1, ctx);
}
static struct starpu_sched_ctx_performance_counters fleeing = { .notify_idle_cycle = on_idle_flee };

static void moving_in_a_notice(void)
{
    int workers[2] = { 0, 1 };
    refuge = starpu_sched_ctx_create(workers, 0, "refuge", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    watched = starpu_sched_ctx_create(workers, 2, "watched", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    starpu_sched_ctx_set_perf_counters(watched, &fleeing);
    for (int i = 0; i < 20000 && starpu_sched_ctx_get_nworkers(refuge) < 2; i++) usleep(1000);
    is_int(starpu_sched_ctx_get_nworkers(refuge), 2, "a notice can move the worker that brings it");
    for (int i = 0; i < 20000 && starpu_sched_ctx_get_nworkers(watched) > 0; i++) usleep(1000);
    is_int(starpu_sched_ctx_get_nworkers(watched), 0, "away from where it was");
    starpu_sched_ctx_delete(watched);
    starpu_sched_ctx_delete(refuge);
}

int main(void)
{
    alarm(100);
    setenv("STARPU_WORKERS_NOBIND", "1", 0);
    runtime_start(2, NULL);
    require_workers(2);
    ok(!starpu_sched_ctx_check_if_hypervisor_exists(), "at first there is no hypervisor");
    starpu_sched_ctx_notify_hypervisor_exists();
    ok(starpu_sched_ctx_check_if_hypervisor_exists(), "then there is one");
    tasks("eager");
    tasks("random");
    tasks("lws");
    tasks("dmda");
    tasks("peager");
    tasks("heteroprio");
    tasks("modular-eager");
    tasks("modular-heft");
    idle_and_empty();
    moving_in_a_notice();
    is_int(atomic_load(&wrong), 0, "every notice named the context and its own worker");
    starpu_sched_ctx_set_perf_counters(9, &counters);
    starpu_sched_ctx_call_pushed_task_cb(4711, 0);
    starpu_shutdown();
    return done_testing();
}
