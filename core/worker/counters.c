/* SPDX-License-Identifier: BSD-3-Clause */
/* counters.c: what a context tells a hypervisor: the notices of starpu_sched_ctx_hypervisor.h; an observer.
 * Threads: any; what is about a worker, on its thread. Owns: which contexts are listened to (fields of struct
 * orr_ctx). Not here: the hypervisor, moving workers (member.h). */
#include <starpu.h>
#include <starpu_sched_ctx_hypervisor.h>

#include "core/base/clock.h"
#include "core/base/event.h"
#include "core/base/log.h"
#include "core/task/perf.h"
#include "core/worker/tell.h"
#include "core/worker/worker.h"

extern struct orr_observer orr_counters_observer;

static _Atomic uint32_t hypervisor_exists;
static double told_us[STARPU_NMAXWORKERS]; /* when it last said that it is idle; 0: it is not [own: worker] */

static const struct starpu_sched_ctx_performance_counters *counters_of(struct orr_ctx *ctx)
{
    return orr_load_acquire(&ctx->counters); /* pairs with starpu_sched_ctx_set_perf_counters */
}

/* Contexts that are listened to have changed. */
static void listen(void)
{
    static const uint64_t kinds =
        ORR_EVENT_BIT(TASK_SUBMITTED) | ORR_EVENT_BIT(TASK_PLACED) | ORR_EVENT_BIT(TASK_STRANDED) |
        ORR_EVENT_BIT(TASK_TAKEN) | ORR_EVENT_BIT(TASK_ENDED) | ORR_EVENT_BIT(WORKER_IDLE) |
        ORR_EVENT_BIT(WORKER_STILL_IDLE) | ORR_EVENT_BIT(WORKER_BUSY) | ORR_EVENT_BIT(WORKER_JOINED) |
        ORR_EVENT_BIT(CONTEXT_DELETED) | ORR_EVENT_BIT(CONTEXT_CLOSED);
    static ORR_MUTEX(counters) lock = PTHREAD_MUTEX_INITIALIZER; /* the last of several has seen all */
    bool any = false;
    uint32_t idle = 0; /* bit: that context wants to know of idle workers */
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < STARPU_NMAX_SCHED_CTXS; i++) {
        const struct starpu_sched_ctx_performance_counters *c = counters_of(&orr_contexts[i]);
        any |= c != NULL;
        if (c && c->notify_idle_cycle) idle |= UINT32_C(1) << i;
    }
    orr_store_relaxed(&orr_tell_idle_contexts, idle);
    orr_observer_want(&orr_counters_observer, any ? kinds : 0);
    pthread_mutex_unlock(&lock);
}

/* ---- for hypervisors ---- */

void starpu_sched_ctx_set_perf_counters(unsigned sched_ctx_id, void *perf_counters)
{
    struct orr_ctx *ctx = orr_ctx_get(sched_ctx_id);
    if (!ctx) {
        orr_error("starpu_sched_ctx_set_perf_counters: there is no scheduling context %u", sched_ctx_id);
        return;
    }
    orr_store_release(&ctx->counters, perf_counters);
    listen();
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

/* ---- tasks ---- */

static size_t data_bytes(const struct starpu_task *p)
{
    size_t bytes = 0;
    unsigned n = orr_task_nbuffers(p);
    for (unsigned i = 0; i < n; i++) bytes += starpu_data_get_size(STARPU_TASK_GET_HANDLE(p, i));
    return bytes;
}

static void task_submitted(struct orr_ctx *ctx, struct orr_task *t)
{
    const struct starpu_sched_ctx_performance_counters *c = counters_of(ctx);
    if (!c || !c->notify_submitted_job || (t->flags & ORR_TF_INTERNAL)) return;
    c->notify_submitted_job(t->pub, orr_task_data_footprint(t), data_bytes(t->pub));
}

static void task_stranded(struct orr_ctx *ctx, struct orr_task *t)
{
    const struct starpu_sched_ctx_performance_counters *c = counters_of(ctx);
    if (c && c->notify_empty_ctx) c->notify_empty_ctx(ctx->id, t->pub);
}

/* A ready task goes to the queue of a worker. */
static void task_placed(struct orr_ctx *ctx, unsigned worker)
{
    const struct starpu_sched_ctx_performance_counters *c = counters_of(ctx);
    if (c && c->notify_pushed_task) c->notify_pushed_task(ctx->id, (int)worker);
}

static void task_taken(struct orr_ctx *ctx, unsigned worker)
{
    const struct starpu_sched_ctx_performance_counters *c = counters_of(ctx);
    if (c && c->notify_poped_task) c->notify_poped_task(ctx->id, (int)worker);
}

static void task_ended(struct orr_ctx *ctx, struct orr_task *t)
{
    const struct starpu_sched_ctx_performance_counters *c = counters_of(ctx);
    struct starpu_task *p = t->pub;
    if (!c || !c->notify_post_exec_task || (t->flags & ORR_TF_INTERNAL)) return;
    c->notify_post_exec_task(p, data_bytes(p), orr_task_data_footprint(t), p->hypervisor_tag, p->flops);
}

/* ---- idle workers ---- */

static void tell(struct orr_ctx *ctx, const struct orr_worker *w, double from_us, double until_us)
{
    const struct starpu_sched_ctx_performance_counters *c = counters_of(ctx);
    double start = orr_load_relaxed(&ctx->sample_start_us);
    if (from_us < start) from_us = start;
    if (c && c->notify_idle_cycle && until_us > from_us)
        c->notify_idle_cycle(ctx->id, w->id, until_us - from_us);
}

static void idle_begin(struct orr_worker *w)
{
    told_us[w->id] = orr_tell_idle_period_ns(w) < 0 ? 0 : (double)orr_clock_ns() * 1e-3;
}

/* Says how long w has been idle since it became so, or since the last call. */
static void still_idle(struct orr_worker *w)
{
    double now = (double)orr_clock_ns() * 1e-3, before = told_us[w->id] > 0 ? told_us[w->id] : now;
    told_us[w->id] = now;
    for (uint32_t in = orr_load_relaxed(&w->in); in; in &= in - 1)
        tell(&orr_contexts[__builtin_ctz(in)], w, before, now);
}

static void idle_end(struct orr_worker *w)
{
    if (told_us[w->id] > 0) still_idle(w);
    told_us[w->id] = 0;
}

/* ---- contexts ---- */

static void joined(struct orr_ctx *ctx, const struct orr_worker *w)
{
    const struct starpu_sched_ctx_performance_counters *c = counters_of(ctx);
    if (c && c->notify_idle_cycle) c->notify_idle_cycle(ctx->id, w->id, 0);
}

/* Everything is over there. */
static void deleted(struct orr_ctx *ctx)
{
    const struct starpu_sched_ctx_performance_counters *c = counters_of(ctx);
    if (c && c->notify_delete_context) c->notify_delete_context(ctx->id);
}

/* ---- the observer ---- */

static void counters_see(struct orr_observer *o, const struct orr_seen *e)
{
    struct orr_task *t = (struct orr_task *)e->subject;
    struct orr_worker *w = (struct orr_worker *)e->subject;
    (void)o;
    switch (e->kind) {
    case ORR_EVENT_TASK_SUBMITTED:
        if (t->pub->cl) task_submitted(&orr_contexts[t->sched_ctx], t);
        break;
    case ORR_EVENT_TASK_PLACED:
        if ((int)e->a >= 0) task_placed(&orr_contexts[e->b], (unsigned)e->a);
        break;
    case ORR_EVENT_TASK_STRANDED: task_stranded(&orr_contexts[t->sched_ctx], t); break;
    case ORR_EVENT_TASK_TAKEN: task_taken(&orr_contexts[t->sched_ctx], (unsigned)e->a); break;
    case ORR_EVENT_TASK_ENDED: task_ended(&orr_contexts[t->sched_ctx], t); break;
    case ORR_EVENT_WORKER_IDLE:
        if (!e->b) idle_begin(w);
        break;
    case ORR_EVENT_WORKER_STILL_IDLE: still_idle(w); break;
    case ORR_EVENT_WORKER_BUSY:
        if (!e->b) idle_end(w);
        break;
    case ORR_EVENT_WORKER_JOINED: joined(&orr_contexts[e->b], w); break;
    case ORR_EVENT_CONTEXT_DELETED: deleted((struct orr_ctx *)e->subject); break;
    case ORR_EVENT_CONTEXT_CLOSED: listen(); break;
    default: break;
    }
}

static void stop(struct orr_observer *o)
{
    orr_observer_want(o, 0);
    orr_store_release(&hypervisor_exists, 0u);
}

struct orr_observer orr_counters_observer = { .name = "counters for hypervisors",
                                              .see = counters_see,
                                              .nests = true,
                                              .calls_program = true,
                                              .stop = stop };
