/* SPDX-License-Identifier: BSD-3-Clause */
/* counters.h: what a context tells a hypervisor: the notices of starpu_sched_ctx_hypervisor.h.
 * Threads: each function says. Owns: which contexts are listened to (fields of struct orr_ctx). Not here: the
 * hypervisor, moving workers (member.h).
 *
 * Unused, a notice costs a branch on something that was loaded anyway; those on a worker's way nothing, for
 * they hang on orr_worker.observed and orr_task_hooks.submitted. */
#ifndef ORR_WORKER_COUNTERS_H
#define ORR_WORKER_COUNTERS_H

#include <starpu_sched_ctx_hypervisor.h>

#include "core/worker/worker.h"

static inline const struct starpu_sched_ctx_performance_counters *orr_counters_of(struct orr_ctx *ctx)
{
    return orr_load_acquire(&ctx->counters); /* pairs with starpu_sched_ctx_set_perf_counters */
}

/* A ready task goes to the queue of worker w. Any thread. */
static inline void orr_counters_pushed(struct orr_ctx *ctx, const struct orr_worker *w)
{
    const struct starpu_sched_ctx_performance_counters *c = orr_counters_of(ctx);
    if (orr_unlikely(c != NULL) && c->notify_pushed_task) c->notify_pushed_task(ctx->id, w->id);
}

/* t is being submitted; it became ready in a context without workers. Any thread. */
void orr_counters_submitted(struct orr_ctx *ctx, struct orr_task *t);
void orr_counters_empty(struct orr_ctx *ctx, struct orr_task *t);

/* Around the body of t, in ctx. On w's thread. */
void orr_counters_begin(struct orr_ctx *ctx, struct orr_worker *w);
void orr_counters_end(struct orr_ctx *ctx, struct orr_task *t);

/* w became idle; says how long it has been since then or since the last call; it has something to do. On w's
 * thread, without locks. period: how often it is to be told, in ns; -1: nobody wants to know. */
void orr_counters_idle_begin(struct orr_worker *w);
void orr_counters_idle(struct orr_worker *w);
void orr_counters_idle_end(struct orr_worker *w);
int64_t orr_counters_period_ns(const struct orr_worker *w);

/* w has joined ctx. On w's thread. */
void orr_counters_joined(struct orr_ctx *ctx, struct orr_worker *w);

/* ctx is deleted; everything is over. */
void orr_counters_deleted(struct orr_ctx *ctx);
void orr_counters_fini(void);

#endif
