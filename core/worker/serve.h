/* SPDX-License-Identifier: BSD-3-Clause */
/* serve.h: workers that serve several contexts in turn, or none.
 * Threads: each function says. Owns: a worker's list of contexts. Not here: who is in which context
 * (member.h).
 *
 * A worker in one context asks its policy directly. One in several asks, in its place, a policy that asks
 * theirs: those of the highest rank first, equals in turn. The rank is the priority the program gave the
 * context on this worker, then its level in the hierarchy. */
#ifndef ORR_WORKER_SERVE_H
#define ORR_WORKER_SERVE_H

#include "core/worker/worker.h"

/* Makes w->ctx and the list from w->in. On w's thread between two tasks, or while it has no thread. */
void orr_serve_choose(struct orr_worker *w);

/* The contexts that w serves are sorted by rank: the number behind the last of the rank of number i. */
static inline unsigned orr_serve_rank_end(const struct orr_worker *w, unsigned i)
{
    unsigned end = i;
    while (end < w->serves_count && w->serves[end].rank == w->serves[i].rank) end++;
    return end;
}

/* Whether w serves contexts of different ranks. On w's thread. */
static inline bool orr_serve_ranks(const struct orr_worker *w)
{
    return w->serves_count > 1 && w->serves[0].rank != w->serves[w->serves_count - 1].rank;
}

/* A task of one of the policies from number first to before end, which are of one rank, or NULL. On w's
 * thread. */
struct orr_task *orr_serve_pop_among(struct orr_worker *w, unsigned first, unsigned end);

/* Sleeps on w's condition variable, unless one of the contexts has a task for it: returns that. For workers
 * of which at least one context has a policy of the program. On w's thread. */
struct orr_task *orr_serve_pop_or_sleep(struct orr_worker *w);

#endif
