/* SPDX-License-Identifier: BSD-3-Clause */
/* several.h: workers that serve several contexts in turn, or none.
 * Threads: each function says. Owns: a worker's list of contexts. Not here: who is in which context
 * (member.h).
 *
 * A worker in one context asks its policy directly. One in several asks, in its place, a policy that asks
 * theirs: those of the highest rank first, equals in turn. The rank is the priority the program gave the
 * context on this worker, then its level in the hierarchy. */
#ifndef ORR_WORKER_SEVERAL_H
#define ORR_WORKER_SEVERAL_H

#include "core/worker/worker.h"

/* Makes w->ctx and the list from w->in. On w's thread between two tasks, or while it has no thread. */
void orr_several_choose(struct orr_worker *w);

/* Sleeps on w's condition variable, unless one of the contexts has a task for it: returns that. For workers
 * of which at least one context has a policy of the program. On w's thread. */
struct orr_task *orr_several_pop_or_sleep(struct orr_worker *w);

#endif
