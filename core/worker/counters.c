/* SPDX-License-Identifier: BSD-3-Clause */
/* counters.c: see counters.h.
 * Threads: see there. Owns: whether a hypervisor exists. Not here: what a hypervisor makes of it. */
#include "core/worker/counters.h"

#include <starpu.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/task/perf.h"
#include "core/worker/profile.h"

enum { TELL_IDLE_EVERY_NS = 1000000 };

static _Atomic uint32_t hypervisor_exists;

/* ---- for hypervisors ---- */

void starpu_sched_ctx_set_perf_counters(unsigned sched_ctx_id, void *perf_counters)
{
    struct orr_ctx *ctx = orr_ctx_get(sched_ctx_id);
    if (!ctx) {
        orr_error("starpu_sched_ctx_set_perf_counters: there is no scheduling context %u", sched_ctx_id);
        return;
    }
    orr_store_release(&ctx->counters, perf_counters);
    orr_profile_listen();
    orr_wake_each(ctx); /* workers that sleep already are to report it */
}

void starpu_sched_ctx_notify_hypervisor_exists(void)
{
    orr_store_release(&hypervisor_exists, 1u);
}

unsigned starpu_sched_ctx_check_if_hypervisor_exists(void)
{
    return orr_load_acquire(&hypervisor_exists);
}

void starpu_sched_ctx_update_start_resizing_sample(unsigned sched_ctx_id, double start_sample)
{
    struct orr_ctx *ctx = orr_ctx_get(sched_ctx_id);
    if (!ctx)
        orr_error("starpu_sched_ctx_update_start_resizing_sample: there is no scheduling context %u",
                  sched_ctx_id);
    else
        orr_store_relaxed(&ctx->sample_start_us, start_sample);
}

/* ---- for policies ---- */

void starpu_sched_ctx_call_pushed_task_cb(int workerid, unsigned sched_ctx_id)
{
    struct orr_ctx *ctx = orr_ctx_get(sched_ctx_id);
    if (!ctx || workerid < 0 || (unsigned)workerid >= orr_worker_count)
        orr_error("starpu_sched_ctx_call_pushed_task_cb: there is no worker %d or no context %u", workerid,
                  sched_ctx_id);
    else
        orr_counters_pushed(ctx, &orr_workers[workerid]);
}

/* ---- tasks ---- */

static size_t data_bytes(const struct starpu_task *p)
{
    size_t bytes = 0;
    unsigned n = orr_task_nbuffers(p);
    for (unsigned i = 0; i < n; i++) bytes += starpu_data_get_size(STARPU_TASK_GET_HANDLE(p, i));
    return bytes;
}

void orr_counters_submitted(struct orr_ctx *ctx, struct orr_task *t)
{
    const struct starpu_sched_ctx_performance_counters *c = orr_counters_of(ctx);
    if (!c || !c->notify_submitted_job || (t->flags & ORR_TF_INTERNAL)) return;
    c->notify_submitted_job(t->pub, orr_task_data_footprint(t), data_bytes(t->pub));
}

void orr_counters_empty(struct orr_ctx *ctx, struct orr_task *t)
{
    const struct starpu_sched_ctx_performance_counters *c = orr_counters_of(ctx);
    if (c && c->notify_empty_ctx) c->notify_empty_ctx(ctx->id, t->pub);
}

void orr_counters_begin(struct orr_ctx *ctx, struct orr_worker *w)
{
    const struct starpu_sched_ctx_performance_counters *c = orr_counters_of(ctx);
    if (c && c->notify_poped_task) c->notify_poped_task(ctx->id, w->id);
}

void orr_counters_end(struct orr_ctx *ctx, struct orr_task *t)
{
    const struct starpu_sched_ctx_performance_counters *c = orr_counters_of(ctx);
    struct starpu_task *p = t->pub;
    if (!c || !c->notify_post_exec_task || (t->flags & ORR_TF_INTERNAL)) return;
    c->notify_post_exec_task(p, data_bytes(p), orr_task_data_footprint(t), p->hypervisor_tag, p->flops);
}

/* ---- idle workers ---- */

static bool is_told(struct orr_ctx *ctx)
{
    const struct starpu_sched_ctx_performance_counters *c = orr_counters_of(ctx);
    return c && c->notify_idle_cycle;
}

int64_t orr_counters_period_ns(const struct orr_worker *w)
{
    for (uint32_t in = orr_load_relaxed(&w->in); in; in &= in - 1)
        if (is_told(&orr_contexts[__builtin_ctz(in)])) return TELL_IDLE_EVERY_NS;
    return -1;
}

static void tell(struct orr_ctx *ctx, const struct orr_worker *w, double from_us, double until_us)
{
    const struct starpu_sched_ctx_performance_counters *c = orr_counters_of(ctx);
    double start = orr_load_relaxed(&ctx->sample_start_us);
    if (from_us < start) from_us = start;
    if (c && c->notify_idle_cycle && until_us > from_us)
        c->notify_idle_cycle(ctx->id, w->id, until_us - from_us);
}

void orr_counters_idle_begin(struct orr_worker *w)
{
    w->idle_told_us = orr_counters_period_ns(w) < 0 ? 0 : (double)orr_clock_ns() * 1e-3;
}

void orr_counters_idle(struct orr_worker *w)
{
    double now = (double)orr_clock_ns() * 1e-3, before = w->idle_told_us > 0 ? w->idle_told_us : now;
    w->idle_told_us = now;
    for (uint32_t in = orr_load_relaxed(&w->in); in; in &= in - 1)
        tell(&orr_contexts[__builtin_ctz(in)], w, before, now);
}

void orr_counters_idle_end(struct orr_worker *w)
{
    if (orr_unlikely(w->idle_told_us > 0)) orr_counters_idle(w);
    w->idle_told_us = 0;
}

/* ---- contexts ---- */

void orr_counters_joined(struct orr_ctx *ctx, struct orr_worker *w)
{
    if (is_told(ctx)) orr_counters_of(ctx)->notify_idle_cycle(ctx->id, w->id, 0);
}

void orr_counters_deleted(struct orr_ctx *ctx)
{
    const struct starpu_sched_ctx_performance_counters *c = orr_counters_of(ctx);
    if (c && c->notify_delete_context) c->notify_delete_context(ctx->id);
}

void orr_counters_fini(void)
{
    orr_store_release(&hypervisor_exists, 0u);
}
