/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hypervisor under its first names alone: a custom strategy, counters, structures and requests.
 * Threads: main submits; workers call the strategy. Owns: what the strategy has counted.
 * Not here: what is decided (hypervisor.c).
 */
#include <sched_ctx_hypervisor.h>

#include "tests/helper.h"

static atomic_int idle_cycles, idle_ends, pushed, popped, tags, requested, sent, wrong;
static unsigned a, b;

static void my_idle_cycle(unsigned sched_ctx, int worker)
{
    if (worker < 0 || worker > 1 || (sched_ctx != a && sched_ctx != b)) atomic_fetch_add(&wrong, 1);
    atomic_fetch_add(&idle_cycles, 1);
}

static void my_idle_end(unsigned sched_ctx UNUSED, int worker UNUSED)
{
    atomic_fetch_add(&idle_ends, 1);
}

static void my_pushed_task(unsigned sched_ctx UNUSED, int worker UNUSED)
{
    atomic_fetch_add(&pushed, 1);
}

static void my_popped_task(unsigned sched_ctx UNUSED, int worker UNUSED)
{
    atomic_fetch_add(&popped, 1);
}

/* Sends worker 0 at tag 7 if a resize is requested then. */
static void my_post_exec(unsigned sched_ctx, struct starpu_htbl32_node *resize_requests, int task_tag)
{
    int worker = 0;
    atomic_fetch_add(&tags, 1);
    if (!orrery_hypervisor_is_requested(resize_requests, task_tag)) return;
    atomic_fetch_add(&requested, 1);
    if (atomic_fetch_add(&sent, 1) == 0) sched_ctx_hypervisor_move_workers(sched_ctx, b, &worker, 1, 0);
}

static struct starpu_sched_ctx_hypervisor_policy mine = {
    .handle_poped_task = my_popped_task,
    .handle_pushed_task = my_pushed_task,
    .handle_idle_cycle = my_idle_cycle,
    .handle_idle_end = my_idle_end,
    .handle_post_exec_hook = my_post_exec,
    .custom = 1,
    .name = "mine",
};

static atomic_int ran[2][1000];

static void count_func(void *buffers[] UNUSED, void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
}

static struct starpu_codelet count_cl = { .cpu_funcs = { count_func }, .name = "count" };

static int insert(unsigned ctx, int i, int tag)
{
    return starpu_task_insert(&count_cl, STARPU_CL_ARGS_NFREE, &ran[ctx == b][i], sizeof ran[0][0],
                              STARPU_SCHED_CTX, ctx, STARPU_HYPERVISOR_TAG, tag, STARPU_FLOPS, 1e6, 0);
}

static int each_ran_once(int n)
{
    int good = 1;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < n; i++) good &= atomic_load(&ran[k][i]) == 1;
    return good;
}

/* ---- a table of the program's own ---- */

static atomic_int own_idle, own_ends, own_pushed, own_popped, own_tags, own_hooks, own_megaflops, own_wrong;
static unsigned own_ctx;

static void own_idle_cycle(unsigned sched_ctx, int worker, double idle_time)
{
    if (sched_ctx != own_ctx || worker != 0 || idle_time < 0) atomic_fetch_add(&own_wrong, 1);
    if (idle_time > 0) atomic_fetch_add(&own_idle, 1);
}

static void own_idle_end(unsigned sched_ctx UNUSED, int worker UNUSED)
{
    atomic_fetch_add(&own_ends, 1);
}

static void own_pushed_task(unsigned sched_ctx UNUSED, int worker UNUSED)
{
    atomic_fetch_add(&own_pushed, 1);
}

static void own_popped_task(unsigned sched_ctx UNUSED, int worker UNUSED, double flops)
{
    atomic_fetch_add(&own_popped, 1);
    atomic_fetch_add(&own_megaflops, (int)(flops * 1e-6));
}

static void own_post_exec(unsigned sched_ctx UNUSED, int tag)
{
    atomic_fetch_add(&own_hooks, 1);
    atomic_fetch_add(&own_tags, tag);
}

static struct starpu_performance_counters own = {
    .notify_idle_cycle = own_idle_cycle,
    .notify_idle_end = own_idle_end,
    .notify_pushed_task = own_pushed_task,
    .notify_poped_task = own_popped_task,
    .notify_post_exec_hook = own_post_exec,
};

/* The worker was idle when the table was taken away; it listens again while the worker works. */
static void own_table_anew(void)
{
    struct gate gate = { 0 };
    starpu_sched_ctx_set_perf_counters(own_ctx, (void *)0);
    int failed =
        starpu_task_insert(&gate_cl, STARPU_CL_ARGS_NFREE, &gate, sizeof gate, STARPU_SCHED_CTX, own_ctx, 0);
    gate_wait_entered(&gate, 1);
    int ends = atomic_load(&own_ends);
    starpu_sched_ctx_set_perf_counters(own_ctx, &own);
    gate_open(&gate);
    starpu_task_wait_for_all();
    is_int(failed ? -1 : atomic_load(&own_ends), ends,
           "the end of idleness is not told to a table that was not there when it began");
    atomic_store(&own_hooks, 0);
    atomic_store(&own_popped, 0);
    atomic_store(&own_pushed, 0);
}

static void own_table(void)
{
    int of[1] = { 0 }, failed = 0;
    own_ctx = starpu_sched_ctx_create(of, 1, "own", STARPU_SCHED_CTX_POLICY_NAME, "lws", 0);
    starpu_sched_ctx_set_perf_counters(own_ctx, &own);
    ok(comes_to(&own_idle, 2, 20000), "a program's own counters: idle workers are told");
    own_table_anew();
    for (int i = 0; i < 50; i++) {
        atomic_store(&ran[0][i], 0);
        failed |= starpu_task_insert(&count_cl, STARPU_CL_ARGS_NFREE, &ran[0][i], sizeof ran[0][0],
                                     STARPU_SCHED_CTX, own_ctx, STARPU_HYPERVISOR_TAG, i == 7 ? 3 : 0,
                                     STARPU_FLOPS, 2e6, 0);
    }
    starpu_task_wait_for_all();
    is_int(failed ? -1 : atomic_load(&own_popped), 50, "each task that is taken");
    is_int(atomic_load(&own_megaflops), 100, "with its operations");
    is_int(atomic_load(&own_pushed), 50, "each that is queued for a worker");
    ok(all_of(atomic_load(&own_hooks) == 50, atomic_load(&own_tags) == 3), "each that has run, with its tag");
    ok(atomic_load(&own_ends) > 0, "the end of idleness");
    is_int(atomic_load(&own_wrong), 0, "of this context and its worker");
    starpu_sched_ctx_set_perf_counters(own_ctx, (void *)0);
    int hooks = atomic_load(&own_hooks);
    failed |= starpu_task_insert(&count_cl, STARPU_CL_ARGS_NFREE, &ran[0][0], sizeof ran[0][0],
                                 STARPU_SCHED_CTX, own_ctx, 0);
    starpu_task_wait_for_all();
    is_int(failed ? -1 : atomic_load(&own_hooks), hooks, "until nobody is to be told any more");
    starpu_sched_ctx_delete(own_ctx);
}

static atomic_int wrapped_pushes;
static void wrapped_pushed_task(unsigned sched_ctx UNUSED, int worker UNUSED)
{
    atomic_fetch_add(&wrapped_pushes, 1);
}

/* The hypervisor's table, but for one function. */
static void own_copy(const struct starpu_performance_counters *counters)
{
    static struct starpu_performance_counters copy;
    int of[1] = { 0 }, failed = 0;
    copy = *counters;
    copy.notify_pushed_task = wrapped_pushed_task;
    unsigned ctx = starpu_sched_ctx_create(of, 1, "copy", STARPU_SCHED_CTX_POLICY_NAME, "lws", 0);
    starpu_sched_ctx_set_perf_counters(ctx, &copy);
    sched_ctx_hypervisor_register_ctx(ctx, 0.0);
    struct starpu_sched_ctx_hypervisor_wrapper *w = sched_ctx_hypervisor_get_wrapper(ctx);
    for (int i = 0; i < 20; i++)
        failed |= starpu_task_insert(&count_cl, STARPU_CL_ARGS_NFREE, &ran[0][i], sizeof ran[0][0],
                                     STARPU_SCHED_CTX, ctx, STARPU_FLOPS, 1e6, 0);
    starpu_task_wait_for_all();
    is_int(failed ? -1 : atomic_load(&wrapped_pushes), 20, "a copy of the hypervisor's with one of its own");
    ok(all_of(w, sched_ctx_hypervisor_get_elapsed_flops_per_sched_ctx(w) == 20e6),
       "tells the hypervisor the rest");
    sched_ctx_hypervisor_unregister_ctx(ctx);
    starpu_sched_ctx_set_perf_counters(ctx, (void *)0);
    starpu_sched_ctx_delete(ctx);
}

int main(void)
{
    int of_a[1] = { 0 }, of_b[1] = { 1 };
    runtime_start(2, NULL);
    require_workers(2);
    struct starpu_performance_counters *counters = sched_ctx_hypervisor_init(&mine);
    ok(counters != NULL, "a custom strategy starts");
    ok(strcmp(sched_ctx_hypervisor_get_policy(), "mine") == 0, "under its name");
    a = starpu_sched_ctx_create(of_a, 1, "a", STARPU_SCHED_CTX_POLICY_NAME, "lws", 0);
    b = starpu_sched_ctx_create(of_b, 1, "b", STARPU_SCHED_CTX_POLICY_NAME, "lws", 0);
    starpu_sched_ctx_set_perf_counters(a, counters);
    starpu_sched_ctx_set_perf_counters(b, counters);
    sched_ctx_hypervisor_register_ctx(a, 2e9);
    sched_ctx_hypervisor_register_ctx(b, 0.0);
    is_int(sched_ctx_hypervisor_get_nsched_ctxs(), 2, "two contexts are registered");
    ok(sched_ctx_hypervisor_get_sched_ctxs()[0] == (int)a, "in this order");
    struct starpu_sched_ctx_hypervisor_wrapper *w = sched_ctx_hypervisor_get_wrapper(a);
    ok(all_of(w, w->sched_ctx == a, w->config == sched_ctx_hypervisor_get_config(a)),
       "a wrapper knows its context");
    ok(w->total_flops == 2e9, "and its operations");
    sched_ctx_hypervisor_resize(a, 7);
    int failed = 0;
    for (int i = 0; i < 499; i++) failed += insert(a, i, 0) + insert(b, i, i == 100 ? 9 : 0);
    starpu_task_wait_for_all();
    failed += insert(a, 499, 7) + insert(b, 499, 0); /* its last task: then its worker goes */
    starpu_task_wait_for_all();
    is_int(failed, 0, "tasks are submitted");
    ok(comes_to(&idle_cycles, 2, 20000), "workers that are idle are reported");
    is_int(atomic_load(&popped), 1000, "each task taken is");
    is_int(atomic_load(&tags), 2, "each tag is");
    is_int(atomic_load(&requested), 1, "with the requests there are");
    ok(atomic_load(&idle_ends) > 0, "the end of idleness is");
    is_int(atomic_load(&wrong), 0, "of these contexts and workers");
    for (int i = 0; i < 200000 && starpu_sched_ctx_contains_worker(0, a); i++) usleep(100);
    ok(all_of(starpu_sched_ctx_contains_worker(0, b), !starpu_sched_ctx_contains_worker(0, a)),
       "a worker is moved");
    starpu_pthread_mutex_lock(&w->mutex);
    struct starpu_sched_ctx_hypervisor_resize_ack *ack = &w->resize_ack;
    ok(all_of(ack->receiver_sched_ctx == (int)b, ack->nmoved_workers == 1, ack->moved_workers[0] == 0,
              ack->acked_workers[0] == 1),
       "and acknowledged");
    starpu_pthread_mutex_unlock(&w->mutex);
    ok(each_ran_once(500) == 1, "each task has run once");
    for (int i = 500; i < 600; i++) failed += insert(b, i, 0);
    starpu_task_wait_for_all();
    int pushes = atomic_load(&pushed);
    counters->notify_pushed_task(b, 1);
    counters->notify_pushed_task(STARPU_NMAX_SCHED_CTXS, 1);
    is_int(atomic_load(&pushed) - pushes, 1, "a program may report by itself");
    double before = sched_ctx_hypervisor_get_elapsed_flops_per_sched_ctx(sched_ctx_hypervisor_get_wrapper(b));
    counters->notify_poped_task(b, 1, 5e6);
    double after = sched_ctx_hypervisor_get_elapsed_flops_per_sched_ctx(sched_ctx_hypervisor_get_wrapper(b));
    ok(after - before == 5e6, "operations, too");
    sched_ctx_hypervisor_stop_resize(a);
    sched_ctx_hypervisor_start_resize(a);
    sched_ctx_hypervisor_unregister_ctx(a);
    is_int(sched_ctx_hypervisor_get_nsched_ctxs(), 1, "a context is unregistered");
    sched_ctx_hypervisor_unregister_ctx(b);
    own_table();
    own_copy(counters);
    starpu_shutdown();
    sched_ctx_hypervisor_shutdown();
    return done_testing();
}
