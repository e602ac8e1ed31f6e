/* SPDX-License-Identifier: BSD-3-Clause */
/* tally.h: how many tasks a context has, and waiting for them.
 * Threads: any. Owns: struct orr_tally of the contexts. Not here: tasks of all contexts (wait.h, and
 * core/task/count.c, where the main context's are what the others leave).
 *
 * Only contexts that the program made have shared counters: the main one costs nothing. */
#ifndef ORR_WORKER_TALLY_H
#define ORR_WORKER_TALLY_H

#include "core/worker/worker.h"

/* Installed in orr_task_hooks: a task was submitted to a context other than the main one, or ended there. */
void orr_tally_submitted(unsigned id);
void orr_tally_completed(unsigned id, bool was_ready, double flops);

/* t, not of the main context, has become ready: counts it, once. By the thread that made it ready. */
void orr_tally_ready(struct orr_task *t);
/* t is counted in another context from now on. Called by its holder, while it is ready. */
void orr_tally_move(struct orr_task *t, unsigned to);
/* One ready task fewer, or not any more (change -1 or 1). */
void orr_tally_revert(struct orr_ctx *ctx, int change, double flops);

/* Tasks of context id that are submitted and not completed; exact when it returns 0. */
uint64_t orr_tally_outstanding(unsigned id);
/* About how many are ready or running. */
unsigned orr_tally_nready(struct orr_ctx *ctx);

/* Blocks until the context has at most n tasks. Not on workers' threads. */
void orr_tally_wait(struct orr_ctx *ctx, uint64_t n);
/* Blocks until no thread pushes a task there or has yet to notice that the last one ended. */
void orr_tally_wait_unused(unsigned id);

/* Called when the last task of a context ends of which `finished` is set,
 * on the thread that ended it. Set by core/run. */
extern void (*_Atomic orr_tally_drained)(struct orr_ctx *ctx);

/* Around work for context id by a thread that has no task of it any more: it is not closed meanwhile. The
 * caller begins while one of its tasks is outstanding. */
static inline uint32_t orr_ctx_use_begin(struct orr_worker_thread *own, unsigned id)
{
    uint32_t outer = orr_load_relaxed(&own->using_ctx);
    orr_store_release(&own->using_ctx, id + 1); /* pairs with is_used */
    return outer;
}
/* The same by a thread that knows of no task there. False: it is not open. */
static inline bool orr_ctx_use_try(struct orr_worker_thread *own, unsigned id, uint32_t *outer_out)
{
    *outer_out = orr_load_relaxed(&own->using_ctx);
    orr_store_seq(&own->using_ctx, id + 1); /* pairs with orr_ctx_close */
    if (orr_load_seq(&orr_contexts[id].open)) return true;
    orr_store_release(&own->using_ctx, *outer_out);
    return false;
}
static inline void orr_ctx_use_end(struct orr_worker_thread *own, uint32_t outer)
{
    orr_store_release(&own->using_ctx, outer);
}

#endif
