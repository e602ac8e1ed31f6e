/* SPDX-License-Identifier: BSD-3-Clause */
/* member.h: which workers are in which scheduling contexts, and how that changes while they run.
 * Threads: any asks for a change; the worker concerned makes it. Owns: members of struct orr_ctx, what is
 * asked of a worker. Not here: opening and closing contexts (core/run/context.c), serving several
 * (serve.c).
 *
 * A worker is told in which contexts it is to be; between two tasks it compares that with where it is, leaves
 * and joins. So the latest request counts, no other worker stops, and nothing is allocated. A thread that
 * asks may wait until it is done, unless it is a worker itself. */
#ifndef ORR_WORKER_MEMBER_H
#define ORR_WORKER_MEMBER_H

#include "core/worker/worker.h"

/* Asks w to be in the contexts of `join` (a bit for each) and not in those of `leave`; wakes it. Returns a
 * number to wait for. Any thread; one that is a worker relaxed, if it is in a method of a policy. */
uint32_t orr_member_ask(struct orr_worker *w, uint32_t join, uint32_t leave);

/* The same for being held back: by +1 or -1 held contexts serve nobody; captured: while there is a bit, w
 * serves only those contexts. Its bound tasks run nevertheless. */
uint32_t orr_member_suspend(struct orr_worker *w, int change);
uint32_t orr_member_capture(struct orr_worker *w, uint32_t capture, uint32_t release);

/* Blocks until w has done what was asked for by number n. Not on workers' threads. */
void orr_member_wait(struct orr_worker *w, uint32_t n);
/* Whether the calling thread may wait for workers. */
bool orr_member_may_wait(void);

/* Where w was told to be, which may be ahead of where it is (w->in). Any thread. */
uint32_t orr_member_wanted(struct orr_worker *w);
/* Whether w, which was just asked to, has yet to join or to leave one of these.
 * Else it never will, for that. */
bool orr_member_has_to_move(struct orr_worker *w, uint32_t join, uint32_t leave);
/* Whether it is in this context, and is to leave it. */
bool orr_member_leaves(struct orr_worker *w, unsigned ctx);
/* Whether it is in the main context alone, and is to stay there. */
bool orr_member_is_plain(struct orr_worker *w);
/* Whether it is held back, or will be. */
bool orr_member_held(struct orr_worker *w);

/* Something was asked of w that it has not done. */
static inline bool orr_member_called(struct orr_worker *w)
{
    return orr_load_seq(&w->asked) !=
           orr_load_relaxed(&w->done); /* pairs with ask: see must_leave in park.c */
}

/* Does what was asked. On w's thread between two tasks, or while it has no thread. */
void orr_member_change(struct orr_worker *w);

/* Whether t, which w took, is for it: of one of its contexts, or bound to it. On w's thread. */
static inline bool orr_member_may_run(struct orr_worker *w, const struct orr_task *t)
{
    return orr_likely(orr_load_relaxed(&w->in) >> t->sched_ctx & 1) || t->pub->execute_on_a_specific_worker ||
           (t->flags & ORR_TF_ANYWHERE);
}

#endif
