/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contexts leave the hypervisor, and are deleted, while it is at work on them: nobody is inside afterwards,
 * and nothing is complained about.
 * Threads: main registers and deletes; workers call back and resize. Owns: nothing. Not here: what strategies
 * decide (hypervisor_strategies.c), misuse (hypervisor_misuse.c).
 */
#include <sc_hypervisor.h>

#include "tests/heard.h"
#include "tests/helper.h"

enum { WORKERS = 4 };

static atomic_int inside, callbacks, ran;

static void slow_callback(unsigned ctx UNUSED, int worker UNUSED, struct starpu_task *task UNUSED,
                          uint32_t footprint UNUSED)
{
    atomic_fetch_add(&inside, 1);
    atomic_fetch_add(&callbacks, 1);
    usleep(20000);
    atomic_fetch_sub(&inside, 1);
}
static struct sc_hypervisor_policy slow = { .name = "slow", .custom = 1, .handle_poped_task = slow_callback };

static void count_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&ran, 1);
}
static struct starpu_codelet count_cl = { .cpu_funcs = { count_func }, .name = "count" };

static void callbacks_under_way(void)
{
    int workers[2] = { 0, 1 }, left_inside = 0;
    runtime_start(WORKERS, "eager");
    require_workers(WORKERS);
    unsigned ctx = starpu_sched_ctx_create(workers, 2, "watched", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    starpu_sched_ctx_set_perf_counters(ctx, sc_hypervisor_init(&slow));
    for (int round = 0; round < 5; round++) {
        int before = atomic_load(&callbacks);
        sc_hypervisor_register_ctx(ctx, 0.0);
        for (int i = 0; i < 4; i++) starpu_task_insert(&count_cl, STARPU_SCHED_CTX, ctx, 0);
        comes_to(&callbacks, before + 1, 10000);
        sc_hypervisor_unregister_ctx(ctx);
        left_inside += atomic_load(&inside);
        starpu_task_wait_for_all_in_ctx(ctx);
    }
    is_int(left_inside, 0, "no callback is under way when unregistering a context returns");
    starpu_sched_ctx_delete(ctx);
    starpu_shutdown();
    sc_hypervisor_shutdown();
}

/* ---- a strategy that still thinks of a context that has left ---- */

enum { UNKNOWN_CTX = 7 };
static unsigned lasting_ctx, gone_ctx;
static atomic_int thinking, has_left, moved;

static void think_too_long(unsigned ctx UNUSED, int worker, struct starpu_task *task UNUSED,
                           uint32_t footprint UNUSED)
{
    if (atomic_exchange(&thinking, 1)) return;
    comes_to(&has_left, 1, 10000);
    sc_hypervisor_move_workers(lasting_ctx, gone_ctx, &worker, 1, 1);
    sc_hypervisor_add_workers_to_sched_ctx(&worker, 1, gone_ctx);
    sc_hypervisor_remove_workers_from_sched_ctx(&worker, 1, gone_ctx, 1);
    atomic_store(&moved, 1);
}

/* A move to a context that was never there remains a mistake. */
static void move_to_nowhere(unsigned ctx UNUSED, int worker, struct starpu_task *task UNUSED,
                            uint32_t footprint UNUSED)
{
    if (!atomic_exchange(&moved, 1)) sc_hypervisor_move_workers(lasting_ctx, UNKNOWN_CTX, &worker, 1, 1);
}

static int errors_of(void (*callback)(unsigned, int, struct starpu_task *, uint32_t), bool leaves)
{
    struct sc_hypervisor_policy policy = { .name = "thinks", .custom = 1, .handle_poped_task = callback };
    int stay[2] = { 0, 1 }, go[2] = { 2, 3 };
    atomic_store(&thinking, 0), atomic_store(&has_left, 0), atomic_store(&moved, 0);
    listen_to_stderr();
    runtime_start(WORKERS, "eager");
    lasting_ctx = starpu_sched_ctx_create(stay, 2, "lasting", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    gone_ctx = starpu_sched_ctx_create(go, 2, "gone", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    void *counters = sc_hypervisor_init(&policy);
    starpu_sched_ctx_set_perf_counters(lasting_ctx, counters);
    sc_hypervisor_register_ctx(lasting_ctx, 0.0);
    sc_hypervisor_register_ctx(gone_ctx, 0.0);
    starpu_task_insert(&count_cl, STARPU_SCHED_CTX, lasting_ctx, 0);
    if (leaves) {
        comes_to(&thinking, 1, 10000);
        sc_hypervisor_unregister_ctx(gone_ctx);
        starpu_sched_ctx_delete(gone_ctx);
        atomic_store(&has_left, 1);
    }
    comes_to(&moved, 1, 10000);
    starpu_task_wait_for_all();
    starpu_shutdown();
    sc_hypervisor_shutdown();
    return times_said("error");
}

static void left_while_thinking(void)
{
    is_int(errors_of(think_too_long, true), 0,
           "a strategy is not blamed for a context that left while it was called back");
    is_int(errors_of(move_to_nowhere, false), 1, "but for one that was never there");
}

/* ---- the library's own resizes ---- */

/* Contexts of workers that idle, so that they are resized all the time, are deleted one after another. */
static void resizes_under_way(void)
{
    struct sc_hypervisor_policy idle = { .name = "idle" };
    int stay[2] = { 0, 1 }, come[2] = { 2, 3 }, bad = 0;
    listen_to_stderr();
    runtime_start(WORKERS, "eager");
    unsigned lasting = starpu_sched_ctx_create(stay, 2, "lasting", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    void *counters = sc_hypervisor_init(&idle);
    starpu_sched_ctx_set_perf_counters(lasting, counters);
    sc_hypervisor_register_ctx(lasting, 0.0);
    sc_hypervisor_ctl(lasting, SC_HYPERVISOR_MAX_IDLE, stay, 2, 100.0, NULL);
    for (int round = 0; round < 60; round++) {
        unsigned ctx = starpu_sched_ctx_create(come, 2, "passing", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
        starpu_sched_ctx_set_perf_counters(ctx, counters);
        sc_hypervisor_register_ctx(ctx, 0.0);
        sc_hypervisor_ctl(ctx, SC_HYPERVISOR_MAX_IDLE, come, 2, 100.0, NULL);
        for (int i = 0; i < 20; i++) {
            bad |= starpu_task_insert(&count_cl, STARPU_SCHED_CTX, ctx, 0);
            bad |= starpu_task_insert(&count_cl, STARPU_SCHED_CTX, lasting, 0);
        }
        usleep(2000);
        starpu_sched_ctx_delete(ctx);
    }
    starpu_task_wait_for_all_in_ctx(lasting);
    starpu_sched_ctx_delete(lasting);
    starpu_shutdown();
    sc_hypervisor_shutdown();
    int errors = times_said("error");
    ok(!bad, "contexts come and go while workers are moved");
    is_int(errors, 0, "and the library does not complain about its own resizes");
}

int main(void)
{
    alarm(60);
    setenv("STARPU_WORKERS_CPUID", "0 0 0 0", 1);
    setenv("SC_HYPERVISOR_STOP_PRINT", "1", 1);
    callbacks_under_way();
    left_while_thinking();
    resizes_under_way();
    return done_testing();
}
