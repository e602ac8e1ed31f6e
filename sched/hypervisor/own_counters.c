/* SPDX-License-Identifier: BSD-3-Clause */
/* own_counters.c: a program's own struct starpu_performance_counters, the table of the first names, listens
 * to a context.
 * Threads: workers and submitters, several at once; any sets. Owns: which table listens to which context.
 * Not here: the hypervisor's own table (counters.c), what the runtime calls (core/worker/counters.c).
 *
 * The runtime calls the table of the later names, which tells other things: so it gets one that calls the
 * program's. What that leaves out goes to its member `runtime`, if there is something: it may be a copy of
 * the hypervisor's table in which the program has replaced some. */
#include <string.h>

#include "core/base/log.h"
#include "sched/hypervisor/hypervisor.h"
#include "sched_ctx_hypervisor.h"

static const struct starpu_performance_counters *_Atomic own[STARPU_NMAX_SCHED_CTXS];
/* Bit: the worker was idle, and has executed nothing since; since the table listens. */
static _Atomic uint64_t was_idle[STARPU_NMAX_SCHED_CTXS][STARPU_NMAXWORKERS / 64];

/* Of a context that is listened to. */
static const struct starpu_performance_counters *of(unsigned ctx)
{
    return orr_load_acquire(&own[ctx]); /* pairs with orrery_hypervisor_set_perf_counters */
}

static void idle_cycle(unsigned ctx, int worker, double idle_us)
{
    const struct starpu_performance_counters *c = of(ctx);
    if (idle_us > 0)
        atomic_fetch_or_explicit(&was_idle[ctx][worker / 64], UINT64_C(1) << (worker % 64),
                                 memory_order_relaxed);
    if (c->notify_idle_cycle)
        c->notify_idle_cycle(ctx, worker, idle_us);
    else if (c->runtime.notify_idle_cycle)
        c->runtime.notify_idle_cycle(ctx, worker, idle_us);
}

static void end_idleness(const struct starpu_performance_counters *c, unsigned ctx, int worker)
{
    uint64_t bit = UINT64_C(1) << (worker % 64);
    uint64_t before = atomic_fetch_and_explicit(&was_idle[ctx][worker / 64], ~bit, memory_order_relaxed);
    if ((before & bit) && c->notify_idle_end) c->notify_idle_end(ctx, worker);
}

static void pushed_task(unsigned ctx, int worker)
{
    const struct starpu_performance_counters *c = of(ctx);
    if (c->notify_pushed_task)
        c->notify_pushed_task(ctx, worker);
    else if (c->runtime.notify_pushed_task)
        c->runtime.notify_pushed_task(ctx, worker);
}

static void popped_task(unsigned ctx, int worker)
{
    const struct starpu_performance_counters *c = of(ctx);
    const struct starpu_task *p = starpu_task_get_current();
    if (c->notify_poped_task)
        c->notify_poped_task(ctx, worker, p ? p->flops : 0.0);
    else if (c->runtime.notify_poped_task)
        c->runtime.notify_poped_task(ctx, worker);
}

static void post_exec_task(struct starpu_task *task, size_t data_size, uint32_t footprint, int tag,
                           double flops)
{
    unsigned ctx = starpu_sched_ctx_get_ctx_for_task(task);
    const struct starpu_performance_counters *c = of(ctx);
    int worker = starpu_worker_get_id();
    if (worker >= 0) end_idleness(c, ctx, worker);
    if (c->notify_post_exec_hook)
        c->notify_post_exec_hook(ctx, tag);
    else if (c->runtime.notify_post_exec_task)
        c->runtime.notify_post_exec_task(task, data_size, footprint, tag, flops);
}

static void submitted_job(struct starpu_task *task, uint32_t footprint, size_t data_size)
{
    const struct starpu_performance_counters *c = of(starpu_sched_ctx_get_ctx_for_task(task));
    if (c->runtime.notify_submitted_job) c->runtime.notify_submitted_job(task, footprint, data_size);
}

static void empty_ctx(unsigned ctx, struct starpu_task *task)
{
    const struct starpu_performance_counters *c = of(ctx);
    if (c->runtime.notify_empty_ctx) c->runtime.notify_empty_ctx(ctx, task);
}

static void delete_context(unsigned ctx)
{
    const struct starpu_performance_counters *c = of(ctx);
    if (c->runtime.notify_delete_context) c->runtime.notify_delete_context(ctx);
}

static struct starpu_sched_ctx_performance_counters to_own = {
    .notify_idle_cycle = idle_cycle,
    .notify_poped_task = popped_task,
    .notify_pushed_task = pushed_task,
    .notify_post_exec_task = post_exec_task,
    .notify_submitted_job = submitted_job,
    .notify_empty_ctx = empty_ctx,
    .notify_delete_context = delete_context,
};

void orrery_hypervisor_set_perf_counters(unsigned sched_ctx_id, struct starpu_performance_counters *counters)
{
    void *table = counters;
    if (counters && counters != &orr_hyp_counters && sched_ctx_id < STARPU_NMAX_SCHED_CTXS) {
        for (int i = 0; i < STARPU_NMAXWORKERS / 64; i++) /* of an earlier context of this number */
            orr_store_relaxed(&was_idle[sched_ctx_id][i], UINT64_C(0));
        orr_store_release(&own[sched_ctx_id], counters);
        table = &to_own;
    }
    (starpu_sched_ctx_set_perf_counters)(sched_ctx_id, table);
}
