/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hypervisor's engine: conditions, requests, choices and moves. What workers would report is reported by
 * the test, so that nothing depends on time.
 * Threads: main. Owns: nothing. Not here: strategies on real programs (hypervisor_strategies.c), linear
 * programs (hypervisor_lp.c), mistakes (hypervisor_misuse.c).
 */
#include <math.h>
#include <sc_hypervisor.h>
#include <sc_hypervisor_policy.h>
#include <sched_ctx_hypervisor.h>

#include "tests/helper.h"

enum { WORKERS = 4 };

static struct starpu_performance_counters *counters;
static unsigned a, b; /* contexts: workers 0, 1, 2 and worker 3 */

static int has(unsigned ctx, int worker)
{
    return starpu_sched_ctx_contains_worker(worker, ctx) != 0;
}

/* Waits until a worker is in a context, or is not. */
static int comes_to_be(unsigned ctx, int worker, int in)
{
    for (int i = 0; i < 100000 && has(ctx, worker) != in; i++) usleep(100);
    return has(ctx, worker) == in;
}

static void begin(const char *strategy)
{
    struct sc_hypervisor_policy policy = { .name = strategy };
    int of_a[3] = { 0, 1, 2 }, of_b[1] = { 3 };
    a = starpu_sched_ctx_create(of_a, 3, "a", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    b = starpu_sched_ctx_create(of_b, 1, "b", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    counters = sc_hypervisor_init(&policy);
    if (!counters) {
        printf("Bail out! there is no hypervisor\n");
        exit(1);
    }
    sc_hypervisor_register_ctx(a, 0.0);
    sc_hypervisor_register_ctx(b, 0.0);
}

static void end(void)
{
    sc_hypervisor_shutdown();
    starpu_sched_ctx_delete(a);
    starpu_sched_ctx_delete(b);
}

/* ---- conditions ---- */

static void conditions(void)
{
    begin("idle");
    struct sc_hypervisor_policy_config *c = sc_hypervisor_get_config(a);
    ok(all_of(c, c == sc_hypervisor_get_wrapper(a)->config), "a registered context has a configuration");
    ok(all_of(c->min_nworkers == 0, c->max_nworkers >= WORKERS, c->granularity == 1),
       "which limits nothing at first");
    ok(all_of(c->max_idle[0] == (double)MAX_IDLE_TIME, c->fixed_workers[0] == 0, c->priority[0] == 0),
       "and fixes no worker");
    int two[2] = { 1, 3 }, one[1] = { 2 };
    sc_hypervisor_ctl(a, SC_HYPERVISOR_MAX_IDLE, two, 2, 1000.0, SC_HYPERVISOR_MAX_IDLE, one, 1, 50.0,
                      SC_HYPERVISOR_PRIORITY, two, 2, -7, SC_HYPERVISOR_MIN_WORKERS, 2,
                      SC_HYPERVISOR_MAX_WORKERS, 3, SC_HYPERVISOR_GRANULARITY, 2, SC_HYPERVISOR_FIXED_WORKERS,
                      one, 1, SC_HYPERVISOR_NEW_WORKERS_MAX_IDLE, 9.0, SC_HYPERVISOR_MIN_WORKING, one, 1, 8.0,
                      SC_HYPERVISOR_ISPEED_W_SAMPLE, one, 1, 7e9, SC_HYPERVISOR_ISPEED_CTX_SAMPLE, 6e9,
                      SC_HYPERVISOR_TIME_SAMPLE, 5.0, SC_HYPERVISOR_NULL);
    ok(all_of(c->max_idle[1] == 1000.0, c->max_idle[3] == 1000.0, c->max_idle[2] == 50.0),
       "MAX_IDLE is set by worker");
    ok(c->max_idle[0] == (double)MAX_IDLE_TIME, "and for no other");
    ok(all_of(c->priority[1] == -7, c->priority[3] == -7, c->priority[0] == 0), "PRIORITY is");
    ok(all_of(c->min_nworkers == 2, c->max_nworkers == 3, c->granularity == 2),
       "MIN_, MAX_WORKERS and GRANULARITY are");
    ok(all_of(c->fixed_workers[2] == 1, c->fixed_workers[1] == 0), "FIXED_WORKERS are");
    ok(all_of(c->new_workers_max_idle == 9.0, c->min_working[2] == 8.0),
       "NEW_WORKERS_MAX_IDLE and MIN_WORKING are");
    ok(all_of(c->ispeed_w_sample[2] == 7e9, c->ispeed_ctx_sample == 6e9, c->time_sample == 5.0),
       "samples are");
    ok(sc_hypervisor_get_config(b)->granularity == 1, "the other context has its own");
    sched_ctx_hypervisor_ioctl(a, HYPERVISOR_MIN_WORKERS, 1, HYPERVISOR_MAX_WORKERS, 4,
                               HYPERVISOR_TIME_TO_APPLY, 5, NULL);
    ok(all_of(c->min_nworkers == 2, c->max_nworkers == 3), "with TIME_TO_APPLY, nothing is set at once");
    counters->notify_post_exec_hook(a, 4);
    counters->notify_post_exec_hook(b, 5);
    ok(c->min_nworkers == 2, "nor at another tag, or in another context");
    counters->notify_post_exec_hook(a, 5);
    ok(all_of(c->min_nworkers == 1, c->max_nworkers == 4), "but when a task with the tag has run");
    sc_hypervisor_ctl(a, SC_HYPERVISOR_GRANULARITY, 3, 0);
    counters->notify_post_exec_hook(a, 5);
    ok(all_of(c->granularity == 3, c->min_nworkers == 1), "once");
    struct sc_hypervisor_policy_config whole = *sc_hypervisor_get_config(b);
    whole.granularity = 11;
    sc_hypervisor_set_config(b, &whole);
    whole.granularity = 12;
    ok(sc_hypervisor_get_config(b)->granularity == 11, "a whole configuration is copied");
    end();
}

/* ---- choices ---- */

static int first_of(unsigned ctx, int n, int *rest_out)
{
    int count = n;
    int *list = sc_hypervisor_get_idlest_workers(ctx, &count, STARPU_ANY_WORKER);
    int first = count > 0 ? list[0] : -1;
    *rest_out = count > 1 ? list[1] : -1;
    free(list);
    return first;
}

static void choices(void)
{
    int one[1] = { 0 }, two[1] = { 1 }, three[1] = { 2 }, second;
    begin("idle");
    is_int(sc_hypervisor_get_nworkers_ctx(a, STARPU_ANY_WORKER), 3, "workers of a context are counted");
    is_int(sc_hypervisor_get_nworkers_ctx(a, STARPU_CPU_WORKER), 3, "by kind");
    is_int(sc_hypervisor_get_nworkers_ctx(a, STARPU_CUDA_WORKER), 0, "too");
    is_int(sc_hypervisor_get_nsched_ctxs(), 2, "two contexts are registered");
    ok(all_of(sc_hypervisor_get_sched_ctxs()[0] == a, sched_ctx_hypervisor_get_sched_ctxs()[1] == (int)b),
       "these");
    sc_hypervisor_ctl(a, SC_HYPERVISOR_PRIORITY, one, 1, 3, SC_HYPERVISOR_PRIORITY, two, 1, 1,
                      SC_HYPERVISOR_PRIORITY, three, 1, 2, SC_HYPERVISOR_NULL);
    ok(all_of(first_of(a, 2, &second) == 1, second == 2), "the least in priority are moved first");
    sc_hypervisor_ctl(a, SC_HYPERVISOR_PRIORITY, one, 1, 1, SC_HYPERVISOR_PRIORITY, three, 1, 1,
                      SC_HYPERVISOR_NULL);
    counters->notify_idle_cycle(a, 2, 500.0);
    counters->notify_idle_cycle(a, 0, 300.0);
    counters->notify_idle_cycle(a, 0, 100.0);
    ok(all_of(first_of(a, 2, &second) == 2, second == 0), "then the idlest");
    counters->notify_idle_end(a, 2);
    ok(first_of(a, 2, &second) == 0, "whose idleness ends with a task");
    int start = 1, list[4] = { 3, 1, 2, 0 }, n = 2;
    int *chosen = sc_hypervisor_get_idlest_workers_in_list(&start, list, 4, &n, STARPU_CPU_WORKER);
    ok(all_of(n == 2, chosen[0] == 0, start == 3), "the idlest of a list come first");
    free(chosen);
    n = 5;
    start = 0;
    chosen = sc_hypervisor_get_idlest_workers_in_list(&start, list, 4, &n, STARPU_CUDA_WORKER);
    ok(all_of(n == 0, !chosen), "none of another kind");
    struct sc_hypervisor_policy_config *c = sc_hypervisor_get_config(a);
    is_int(sc_hypervisor_get_movable_nworkers(c, a, STARPU_ANY_WORKER), 3, "all 3 may leave");
    sc_hypervisor_ctl(a, SC_HYPERVISOR_MIN_WORKERS, 1, SC_HYPERVISOR_NULL);
    is_int(sc_hypervisor_get_movable_nworkers(c, a, STARPU_ANY_WORKER), 2, "but for the minimum");
    sc_hypervisor_ctl(a, SC_HYPERVISOR_FIXED_WORKERS, list, 2, SC_HYPERVISOR_NULL); /* 3 and 0 or 1 */
    is_int(sc_hypervisor_get_movable_nworkers(c, a, STARPU_ANY_WORKER), 2, "and those that are fixed");
    is_int(sc_hypervisor_compute_nworkers_to_move(a), 1, "one moves at a time");
    sc_hypervisor_ctl(a, SC_HYPERVISOR_GRANULARITY, 5, SC_HYPERVISOR_NULL);
    is_int(sc_hypervisor_compute_nworkers_to_move(a), 2, "or the granularity, as far as it goes");
    sc_hypervisor_ctl(a, SC_HYPERVISOR_GRANULARITY, 1, SC_HYPERVISOR_MAX_WORKERS, 1, SC_HYPERVISOR_NULL);
    is_int(sc_hypervisor_compute_nworkers_to_move(a), 2, "or what is above the maximum");
    is_int(sc_hypervisor_find_lowest_prio_sched_ctx(a, 1), b, "the other context has room");
    sc_hypervisor_ctl(b, SC_HYPERVISOR_MAX_WORKERS, 2, SC_HYPERVISOR_NULL);
    is_int(sc_hypervisor_find_lowest_prio_sched_ctx(a, 2), STARPU_NMAX_SCHED_CTXS, "for one, not for two");
    int none = -1;
    unsigned third = starpu_sched_ctx_create(&none, 0, "c", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    sc_hypervisor_register_ctx(third, 0.0);
    int last[1] = { 3 };
    sc_hypervisor_ctl(b, SC_HYPERVISOR_PRIORITY, last, 1, -2, SC_HYPERVISOR_NULL);
    is_int(sc_hypervisor_find_lowest_prio_sched_ctx(a, 1), b, "the least in priority is preferred");
    sc_hypervisor_ctl(b, SC_HYPERVISOR_PRIORITY, last, 1, 2, SC_HYPERVISOR_NULL);
    is_int(sc_hypervisor_find_lowest_prio_sched_ctx(a, 1), third, "whichever it is");
    sc_hypervisor_unregister_ctx(third);
    is_int(sc_hypervisor_find_lowest_prio_sched_ctx(a, 1), b, "of those that are registered");
    starpu_sched_ctx_delete(third);
    struct types_of_workers *tw = sc_hypervisor_get_types_of_workers(NULL, 0);
    int total[2] = { 0, 0 };
    sc_hypervisor_group_workers_by_type(tw, total);
    ok(all_of(tw->ncpus == WORKERS, tw->ncuda == 0, tw->nw == 1, total[0] == WORKERS), "all are CPUs");
    ok(all_of(sc_hypervisor_get_arch_for_index(0, tw) == STARPU_CPU_WORKER,
              sc_hypervisor_get_index_for_arch(STARPU_CPU_WORKER, tw) == 0),
       "kind 0 is that of CPUs");
    tw->ncuda = 1;
    ok(all_of(sc_hypervisor_get_arch_for_index(0, tw) == STARPU_CUDA_WORKER,
              sc_hypervisor_get_index_for_arch(STARPU_CPU_WORKER, tw) == 1),
       "unless there are others");
    free(tw);
    end();
}

/* ---- moves ---- */

static int acked(unsigned ctx, int i)
{
    struct sc_hypervisor_wrapper *w = sc_hypervisor_get_wrapper(ctx);
    starpu_pthread_mutex_lock(&w->mutex);
    int seen = i < w->resize_ack.nmoved_workers ? w->resize_ack.acked_workers[i] : -1;
    starpu_pthread_mutex_unlock(&w->mutex);
    return seen;
}

static void moves(void)
{
    int first[1] = { 1 }, next[1] = { 2 }, both[2] = { 0, 1 };
    begin("idle");
    struct sc_hypervisor_resize_ack *ack = &sc_hypervisor_get_wrapper(a)->resize_ack;
    is_int(ack->receiver_sched_ctx, -1, "no worker has been sent");
    ok(all_of(sc_hypervisor_can_resize(a), sc_hypervisor_can_resize(b)), "contexts can be resized");
    sc_hypervisor_move_workers(a, b, first, 1, 0);
    ok(comes_to_be(b, 1, 1), "a worker that is moved joins the receiver");
    ok(all_of(ack->receiver_sched_ctx == (int)b, ack->nmoved_workers == 1, ack->moved_workers[0] == 1),
       "the sender knows whom it has sent");
    is_int(acked(a, 0), 0, "it is not acknowledged yet");
    ok(all_of(!sc_hypervisor_can_resize(a), !sc_hypervisor_can_resize(b)),
       "meanwhile there is no other resize");
    sc_hypervisor_move_workers(a, b, next, 1, 0);
    usleep(20000);
    ok(all_of(has(a, 2), !has(b, 2)), "one that is asked for waits");
    counters->runtime.notify_poped_task(a, 1);
    is_int(acked(a, 0), 0, "a task of the sender is no acknowledgement");
    counters->runtime.notify_poped_task(b, 1);
    is_int(ack->moved_workers[0], 2, "one of the receiver is: then the next resize begins");
    ok(all_of(comes_to_be(a, 1, 0), has(b, 1)), "and the worker has left the sender");
    ok(comes_to_be(b, 2, 1), "the next worker joins");
    counters->notify_idle_cycle(b, 2, 0.0);
    is_int(acked(a, 0), 1, "looking for a task is an acknowledgement, too");
    ok(comes_to_be(a, 2, 0), "it has left");
    ok(sc_hypervisor_can_resize(a), "and contexts can be resized");

    sc_hypervisor_ctl(a, SC_HYPERVISOR_FIXED_WORKERS, both, 1, SC_HYPERVISOR_NULL);
    sc_hypervisor_move_workers(a, b, both, 2, 1);
    ok(all_of(has(a, 0), !has(b, 0), sc_hypervisor_can_resize(a)),
       "a worker that is fixed, or elsewhere, is not moved");
    sc_hypervisor_stop_resize(b);
    ok(all_of(!sc_hypervisor_can_resize(b), sc_hypervisor_can_resize(a)), "resizing may be forbidden");
    sc_hypervisor_move_workers(b, a, first, 1, 1);
    usleep(5000);
    ok(all_of(has(b, 1), !has(a, 1)), "then no worker is moved");
    sc_hypervisor_start_resize(b);
    sc_hypervisor_move_workers(b, a, first, 1, 1);
    ok(all_of(comes_to_be(a, 1, 1), comes_to_be(b, 1, 0)), "and allowed; moved now, it leaves at once");
    ok(!sc_hypervisor_can_resize(a), "the resize lasts until the worker was seen");
    sc_hypervisor_unregister_ctx(b);
    ok(sc_hypervisor_can_resize(a), "or the context is no longer registered");
    sc_hypervisor_register_ctx(b, 0.0);
    sc_hypervisor_add_workers_to_sched_ctx(first, 1, b);
    ok(comes_to_be(b, 1, 1), "workers may be added without a sender");
    sc_hypervisor_remove_workers_from_sched_ctx(first, 1, b, 0);
    usleep(5000);
    ok(has(b, 1), "and removed: not now");
    counters->notify_idle_cycle(b, 1, 0.0);
    ok(comes_to_be(b, 1, 0), "but when the worker is seen");
    sc_hypervisor_add_workers_to_sched_ctx(first, 1, b);
    comes_to_be(b, 1, 1);
    sc_hypervisor_remove_workers_from_sched_ctx(first, 1, b, 1);
    ok(comes_to_be(b, 1, 0), "or now");
    end();
}

/* ---- strategies, by what the test reports ---- */

static void acknowledge(unsigned ctx)
{
    for (int i = 0; i < WORKERS; i++) counters->notify_idle_cycle(ctx, i, 0.0);
}

static void idle(void)
{
    int of_a[3] = { 0, 1, 2 };
    begin("idle");
    sc_hypervisor_ctl(a, SC_HYPERVISOR_MAX_IDLE, of_a, 3, 10000.0, SC_HYPERVISOR_GRANULARITY, 2,
                      SC_HYPERVISOR_MIN_TASKS, 2, SC_HYPERVISOR_NULL);
    sc_hypervisor_ctl(b, SC_HYPERVISOR_NEW_WORKERS_MAX_IDLE, 777.0, SC_HYPERVISOR_NULL);
    counters->notify_idle_cycle(a, 0, 20000.0);
    ok(all_of(sc_hypervisor_check_idle(a, 0), !sc_hypervisor_check_idle(a, 1)),
       "idle: a worker exceeds its limit");
    ok(all_of(sc_hypervisor_criteria_fulfilled(a, 0), sc_hypervisor_get_resize_criteria() == SC_IDLE),
       "which is the criterion");
    ok(sc_hypervisor_can_resize(a), "but no other context needs workers");
    counters->runtime.notify_empty_ctx(b, NULL);
    counters->notify_idle_cycle(a, 0, 0.0);
    ok(sc_hypervisor_can_resize(a), "one does, but MIN_TASKS have not been executed");
    counters->notify_poped_task(a, 1, 0.0);
    counters->notify_poped_task(a, 1, 0.0);
    counters->notify_idle_cycle(a, 2, 100.0);
    ok(sc_hypervisor_can_resize(a), "they have, but the worker is not idle for long");
    counters->notify_idle_cycle(a, 0, 1.0);
    ok(!sc_hypervisor_can_resize(a), "now the context is resized");
    ok(all_of(comes_to_be(b, 0, 1), comes_to_be(b, 2, 1), !has(b, 1)),
       "by its granularity, the idlest workers");
    ok(all_of(sc_hypervisor_get_config(b)->max_idle[0] == 777.0,
              sc_hypervisor_get_config(b)->max_idle[3] > 777.0),
       "NEW_WORKERS_MAX_IDLE applies to those that are moved");
    acknowledge(b);
    ok(all_of(comes_to_be(a, 0, 0), comes_to_be(a, 2, 0)), "they leave when they were seen");
    sc_hypervisor_ctl(a, SC_HYPERVISOR_MIN_WORKERS, 1, SC_HYPERVISOR_NULL);
    counters->notify_idle_cycle(a, 1, 1e6);
    ok(all_of(sc_hypervisor_can_resize(a), has(a, 1)), "the last one stays, by MIN_WORKERS");
    sc_hypervisor_ctl(a, SC_HYPERVISOR_MIN_WORKERS, 0, SC_HYPERVISOR_NULL);
    sc_hypervisor_ctl(b, SC_HYPERVISOR_MAX_WORKERS, 3, SC_HYPERVISOR_NULL);
    counters->notify_idle_cycle(a, 1, 1.0);
    ok(sc_hypervisor_can_resize(a), "or by MAX_WORKERS of the other");
    end();
}

static void min_working(void)
{
    int one[1] = { 0 };
    begin("idle");
    struct sc_hypervisor_wrapper *w = sc_hypervisor_get_wrapper(a);
    sc_hypervisor_ctl(a, SC_HYPERVISOR_MIN_WORKING, one, 1, 1e12, SC_HYPERVISOR_NULL);
    counters->notify_idle_cycle(a, 0, 400.0);
    counters->notify_poped_task(a, 0, 1.0);
    counters->notify_idle_cycle(a, 0, 300.0);
    ok(w->current_idle_time[0] == 700.0, "work shorter than MIN_WORKING does not end idleness");
    ok(w->idle_time[0] == 700.0, "idle times add up");
    sc_hypervisor_ctl(a, SC_HYPERVISOR_MIN_WORKING, one, 1, 0.0, SC_HYPERVISOR_NULL);
    counters->notify_poped_task(a, 0, 1.0);
    ok(all_of(w->current_idle_time[0] == 0.0, w->idle_time[0] == 700.0), "without it, any task does");
    end();
}

static void app_driven(void)
{
    begin("app_driven");
    sched_ctx_hypervisor_resize(a, 2);
    sched_ctx_hypervisor_ioctl(a, HYPERVISOR_GRANULARITY, 2, HYPERVISOR_MIN_TASKS, 100,
                               HYPERVISOR_TIME_TO_APPLY, 2, NULL);
    counters->notify_post_exec_hook(a, 1);
    counters->notify_post_exec_hook(b, 2);
    ok(sc_hypervisor_can_resize(a), "app_driven: other tags, and the tag elsewhere, resize nothing");
    counters->notify_post_exec_hook(a, 2);
    ok(!sc_hypervisor_can_resize(a), "the tag does, MIN_TASKS or not");
    ok(all_of(comes_to_be(b, 0, 1), comes_to_be(b, 1, 1), comes_to_be(a, 0, 0), comes_to_be(a, 1, 0)),
       "with the conditions that were set for it: 2 workers move");
    acknowledge(b);
    ok(sc_hypervisor_can_resize(a), "they were seen");
    counters->notify_post_exec_hook(a, 2);
    ok(sc_hypervisor_can_resize(a), "a request is met once");
    sched_ctx_hypervisor_resize(a, 3);
    sched_ctx_hypervisor_resize(b, 3);
    sched_ctx_hypervisor_ioctl(a, HYPERVISOR_MIN_WORKERS, 3, NULL);
    counters->notify_post_exec_hook(a, 3);
    ok(all_of(comes_to_be(a, 0, 1), comes_to_be(a, 1, 1)), "a context below its minimum gets workers");
    counters->notify_post_exec_hook(b, 3);
    usleep(5000);
    ok(has(b, 3), "a resize asked for meanwhile waits");
    sched_ctx_hypervisor_ioctl(b, HYPERVISOR_MIN_WORKERS, 0, NULL);
    acknowledge(a);
    ok(comes_to_be(a, 3, 1), "and is made afterwards");
    end();
}

static void gflops_rate(void)
{
    begin("gflops_rate");
    sc_hypervisor_update_diff_total_flops(a, 100e9);
    sc_hypervisor_update_diff_total_flops(b, 100e9);
    struct sc_hypervisor_wrapper *w = sc_hypervisor_get_wrapper(a);
    ok(all_of(w->total_flops == 100e9, w->remaining_flops == 100e9), "gflops_rate: operations to execute");
    counters->notify_poped_task(b, 3, 1e9);
    ok(sc_hypervisor_can_resize(a), "nothing is moved before a sample of them was executed");
    counters->notify_poped_task(a, 0, 60e9);
    ok(all_of(w->remaining_flops == 40e9, sc_hypervisor_get_total_elapsed_flops_per_sched_ctx(w) == 60e9),
       "executed operations are counted");
    /* 40 and 99 for 4 workers: in proportion 1.15 and 2.85 */
    ok(!sc_hypervisor_can_resize(a), "the slower context gets workers");
    ok(sc_hypervisor_get_elapsed_flops_per_sched_ctx(w) == 0.0, "a sample ends with a resize");
    acknowledge(b);
    for (int i = 0; i < 100000 && starpu_sched_ctx_get_nworkers(a) != 1; i++) usleep(100);
    ok(all_of(starpu_sched_ctx_get_nworkers(a) == 1, starpu_sched_ctx_get_nworkers(b) == 3), "3 of 4");
    end();
}

/* ---- settings of the environment, read at the beginning ---- */

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static void lazy(void)
{
    int worker = 1;
    set("SC_HYPERVISOR_LAZY_RESIZE", "0");
    begin("idle");
    sc_hypervisor_move_workers(a, b, &worker, 1, 0);
    ok(all_of(comes_to_be(b, 1, 1), comes_to_be(a, 1, 0)),
       "LAZY_RESIZE=0: a worker leaves before it was seen");
    ok(!sc_hypervisor_can_resize(a), "though the resize is not over");
    end();
    set("SC_HYPERVISOR_LAZY_RESIZE", NULL);
}

static void start_resize(void)
{
    int of_a[3] = { 0, 1, 2 };
    set("SC_HYPERVISOR_START_RESIZE", "50");
    begin("idle");
    sc_hypervisor_ctl(a, SC_HYPERVISOR_MAX_IDLE, of_a, 3, 10.0, SC_HYPERVISOR_NULL);
    sc_hypervisor_update_diff_total_flops(a, 100.0);
    counters->runtime.notify_empty_ctx(b, NULL);
    counters->notify_poped_task(a, 1, 49.0);
    counters->notify_idle_cycle(a, 0, 100.0);
    ok(sc_hypervisor_can_resize(a), "START_RESIZE=50: no resize after 49 %% of the operations");
    counters->notify_poped_task(a, 1, 2.0);
    counters->notify_idle_cycle(a, 0, 1.0);
    ok(!sc_hypervisor_can_resize(a), "one after 51 %%");
    end();
    set("SC_HYPERVISOR_START_RESIZE", NULL);
}

/* The speeds are 10 to 1: a gap of about 90 %. */
static unsigned is_gap(const char *percent)
{
    set("SC_HYPERVISOR_MAX_SPEED_GAP", percent);
    begin("idle");
    counters->notify_poped_task(a, 0, 10e9);
    counters->notify_poped_task(b, 3, 1e9);
    usleep(20000);
    unsigned gap = sc_hypervisor_check_speed_gap_btw_ctxs(NULL, -1, NULL, -1);
    if (gap != sc_hypervisor_criteria_fulfilled(a, 0)) diag("SC_SPEED is not the criterion");
    end();
    set("SC_HYPERVISOR_MAX_SPEED_GAP", NULL);
    return gap;
}

static void speeds(void)
{
    set("SC_HYPERVISOR_TRIGGER_RESIZE", "speed");
    is_int(is_gap("97"), 0, "MAX_SPEED_GAP: speeds of 10 to 1 differ by no more than 97 %%");
    is_int(is_gap("50"), 1, "but by more than 50 %%");
    begin("idle");
    ok(sc_hypervisor_get_resize_criteria() == SC_SPEED, "TRIGGER_RESIZE=speed is the criterion");
    end();
    set("SC_HYPERVISOR_TRIGGER_RESIZE", NULL);
    begin("idle");
    struct sc_hypervisor_wrapper *w = sc_hypervisor_get_wrapper(a);
    sc_hypervisor_ctl(a, SC_HYPERVISOR_ISPEED_CTX_SAMPLE, 5e9, SC_HYPERVISOR_TIME_SAMPLE, 1e12,
                      SC_HYPERVISOR_NULL);
    counters->notify_poped_task(a, 0, 4e9);
    ok(sc_hypervisor_get_ctx_speed(w) < 0.0, "a speed is not known before the sample is complete");
    counters->notify_poped_task(a, 0, 2e9);
    usleep(1000);
    ok(sc_hypervisor_get_ctx_speed(w) > 0.0, "a sample of operations");
    ok(all_of(sc_hypervisor_get_slowest_ctx_exec_time() >= sc_hypervisor_get_fastest_ctx_exec_time(),
              sc_hypervisor_get_fastest_ctx_exec_time() > 0.0),
       "samples last");
    ok(sc_hypervisor_get_speed(w, STARPU_CPU_WORKER) > 0.0, "some speed is always assumed");
    end();
    set("SC_HYPERVISOR_SAMPLE_CRITERIA", "time");
    begin("idle");
    w = sc_hypervisor_get_wrapper(a);
    sc_hypervisor_ctl(a, SC_HYPERVISOR_ISPEED_CTX_SAMPLE, 5e9, SC_HYPERVISOR_TIME_SAMPLE, 1e12,
                      SC_HYPERVISOR_NULL);
    counters->notify_poped_task(a, 0, 6e9);
    usleep(1000);
    ok(sc_hypervisor_get_ctx_speed(w) < 0.0, "SAMPLE_CRITERIA=time: operations do not matter");
    sc_hypervisor_ctl(a, SC_HYPERVISOR_TIME_SAMPLE, 500.0, SC_HYPERVISOR_NULL);
    ok(sc_hypervisor_get_ctx_speed(w) > 0.0, "time does");
    end();
    set("SC_HYPERVISOR_SAMPLE_CRITERIA", NULL);
}

/* ---- hierarchy, limits by what is to do, size requests ---- */

static void hierarchy(void)
{
    int none = -1, n;
    unsigned *list, leaves[4], all[3];
    begin("idle");
    unsigned son = starpu_sched_ctx_create(&none, 0, "son", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    starpu_sched_ctx_set_inheritor(son, a);
    sc_hypervisor_register_ctx(son, 0.0);
    is_int(sc_hypervisor_get_nhierarchy_levels(), 2, "a context whose inheritor is registered is below it");
    sc_hypervisor_get_ctxs_on_level(&list, &n, 0, STARPU_NMAX_SCHED_CTXS);
    ok(all_of(n == 2, list[0] == a, list[1] == b), "two are on the highest level");
    free(list);
    sc_hypervisor_get_ctxs_on_level(&list, &n, 1, a);
    ok(all_of(n == 1, list[0] == son), "one below");
    free(list);
    sc_hypervisor_get_ctxs_on_level(&list, &n, 1, b);
    is_int(n, 0, "not below the other");
    free(list);
    all[0] = a;
    all[1] = b;
    all[2] = son;
    sc_hypervisor_get_leaves(all, 3, leaves, &n);
    ok(all_of(n == 2, leaves[0] == b, leaves[1] == son), "leaves have none below");
    is_int(sc_hypervisor_check_speed_gap_btw_ctxs_on_level(1, NULL, -1, a, &list, &n), 0,
           "no speed is known there");
    ok(all_of(n == 1, list[0] == son), "the contexts of the level are given");
    free(list);
    sc_hypervisor_update_resize_interval(&all[1], 1, 2);
    struct sc_hypervisor_policy_config *c = sc_hypervisor_get_config(b);
    ok(all_of(c->max_nworkers == 2, c->min_nworkers == 0), "without submissions only the maximum is set");
    unsigned *ctxs;
    int nctxs, *workers, nworkers, two[2] = { 1, 2 };
    ok(!sc_hypervisor_get_size_req(&ctxs, &nctxs, &workers, &nworkers), "no first distribution is owed");
    sc_hypervisor_save_size_req(all, 2, two, 2);
    ok(all_of(sc_hypervisor_get_size_req(&ctxs, &nctxs, &workers, &nworkers), nctxs == 2, ctxs[1] == b,
              nworkers == 2, workers[0] == 1, sc_hypervisor_get_wrapper(a)->to_be_sized),
       "one is saved");
    sc_hypervisor_free_size_req();
    ok(!sc_hypervisor_get_size_req(&ctxs, &nctxs, &workers, &nworkers), "and forgotten");
    sc_hypervisor_unregister_ctx(son);
    starpu_sched_ctx_delete(son);
    end();
}

static void pools(void)
{
    static struct starpu_codelet one = { .cpu_funcs = { gate_func }, .name = "one" };
    static struct starpu_codelet gpu = { .cuda_funcs = { gate_func }, .where = STARPU_CUDA, .name = "gpu" };
    struct sc_hypervisor_policy_task_pool *pool = NULL, *copy;
    double times[WORKERS][2];
    begin("idle");
    sc_hypervisor_policy_add_task_to_pool(&one, a, 5, &pool, 100);
    sc_hypervisor_policy_add_task_to_pool(&one, a, 5, &pool, 100);
    sc_hypervisor_policy_add_task_to_pool(&gpu, b, 6, &pool, 100);
    ok(all_of(pool->n == 2, pool->cl == &one, pool->next->n == 1, !pool->next->next),
       "tasks of a kind are counted");
    copy = sc_hypervisor_policy_clone_task_pool(pool);
    ok(all_of(copy != pool, copy->n == 2, copy->next != pool->next, copy->next->cl == &gpu),
       "pools are copied");
    sc_hypervisor_get_tasks_times(WORKERS, 2, times, NULL, 1, pool);
    ok(all_of(times[0][0] == 1.0, isinf(times[0][1])), "without a model any time; none where it cannot run");
    sc_hypervisor_get_tasks_times(WORKERS, 2, times, NULL, 0, pool);
    ok(all_of(times[0][0] == 1.0, isinf(times[3][0])), "nor on a worker of another context");
    struct starpu_task *task = starpu_task_create();
    task->cl = &gpu;
    task->sched_ctx = b;
    sc_hypervisor_policy_remove_task_from_pool(task, 6, &pool);
    ok(all_of(pool->n == 2, !pool->next, copy->next->n == 1), "the last task takes the pool with it");
    task->destroy = 0;
    starpu_task_destroy(task);
    free(pool);
    free(copy->next);
    free(copy);
    end();
}

int main(void)
{
    setenv("SC_HYPERVISOR_STOP_PRINT", "1", 1);
    runtime_start(WORKERS, NULL);
    require_workers(WORKERS);
    conditions();
    choices();
    moves();
    idle();
    min_working();
    app_driven();
    gflops_rate();
    lazy();
    start_resize();
    speeds();
    hierarchy();
    pools();
    starpu_shutdown();
    return done_testing();
}
