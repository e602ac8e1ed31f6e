/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contexts leave the hypervisor, and are deleted, while it is at work on them: nobody is inside afterwards,
 * and nothing is complained about.
 * Threads: main registers and deletes; workers call back and resize. Owns: nothing. Not here: what strategies
 * decide (hypervisor_strategies.c), misuse (hypervisor_misuse.c).
 */
#include <sc_hypervisor.h>
#include <stdio.h>

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

/* Contexts of workers that idle, so that they are resized all the time, are deleted one after another. */
static void resizes_under_way(void)
{
    struct sc_hypervisor_policy idle = { .name = "idle" };
    int stay[2] = { 0, 1 }, come[2] = { 2, 3 }, complaints = 0, bad = 0;
    char line[512];
    FILE *said = tmpfile();
    fflush(stderr);
    int saved = dup(STDERR_FILENO);
    dup2(fileno(said), STDERR_FILENO);
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
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(said);
    while (fgets(line, sizeof line, said))
        if (strstr(line, "error") && complaints++ < 3) diag("%s", line);
    fclose(said);
    ok(!bad, "contexts come and go while workers are moved");
    is_int(complaints, 0, "and the library does not complain about its own resizes");
}

int main(void)
{
    alarm(60);
    setenv("STARPU_WORKERS_CPUID", "0 0 0 0", 1);
    setenv("SC_HYPERVISOR_STOP_PRINT", "1", 1);
    callbacks_under_way();
    resizes_under_way();
    return done_testing();
}
