/* SPDX-License-Identifier: BSD-3-Clause */
/* watchman.h: for a policy that gives tasks to single workers: noticing those who do not get to them.
 * Threads: any says that something waits; a worker looks before it sleeps, and each millisecond while it is
 * the watchman. Owns: struct orr_watchman. Not here: how a worker sleeps and watches (core/worker/park.c),
 * what else the guard of a tree of components does (components/guard.c).
 *
 * components/guard.pml is a model of it for spin: change both. */
#ifndef ORR_SCHED_WATCHMAN_H
#define ORR_SCHED_WATCHMAN_H

#include "core/worker/park.h"
#include "core/worker/worker.h"

/* A worker that was given a task relies on being done soon; when it blocks, or runs longer than was known,
 * the task would wait for it though others sleep. So while tasks wait, one of the sleeping workers of the
 * context is its watchman. A worker that has ended no task between two of its looks, and is not idle, is
 * slow: what it was given may be taken by others of its kind.
 *
 * Who adds a task makes it visible, then calls orr_watchman_wanted; who goes to sleep says so, then looks
 * (all seq_cst): so the one becomes the watchman by itself, or is appointed. */
struct orr_watchman {
    struct orr_ctx *ctx; /* [const] */
    _Atomic uint32_t is; /* 1 + the worker that looks, 0: nobody */
    unsigned quiet;      /* looks in a row at which nothing waited [own: the watchman] */
    struct {
        uint64_t seen;            /* tasks that the worker had run at the last look [own: the watchman] */
        _Atomic uint64_t slow_at; /* 1 + tasks that it had run when it was found slow */
    } pace[STARPU_NMAXWORKERS];
};

/* What the policy tells of itself. */
typedef bool (*orr_watchman_waits_fn)(void *instance); /* does a task wait for one worker? */
typedef struct orr_task *(*orr_watchman_take_fn)(void *instance,
                                                 struct orr_worker *w); /* for w, of slow ones */

void orr_watchman_appoint(struct orr_watchman *m);

/* A task was given to one worker, which is awake; any thread. */
static inline void orr_watchman_wanted(struct orr_watchman *m)
{
    if (orr_load_seq(&orr_parking.parked) > 0 && orr_load_seq(&m->is) == 0) orr_watchman_appoint(m);
}

/* Whether worker id ends nothing. */
static inline bool orr_watchman_saw_slow(const struct orr_watchman *m, unsigned id)
{
    uint64_t at = orr_load_relaxed(&m->pace[id].slow_at);
    return at && at == orr_load_relaxed(&orr_workers[id].tasks_run) + 1;
}

/* A policy's watch and watch_end (core/worker/policy.h). */
struct orr_task *orr_watchman_look(struct orr_watchman *m, void *instance, orr_watchman_waits_fn waits,
                                   orr_watchman_take_fn take, struct orr_worker *w, bool *again_out);
/* The same in two steps, for who does more. It begins: whether w is the watchman; if so, who is slow is seen.
 * It goes on, having found nothing to take: whether w is to look again. With a task w looks again if it is
 * the watchman: so its leaving is told, and another looks for the rest. */
bool orr_watchman_begins(struct orr_watchman *m, const struct orr_worker *w);
bool orr_watchman_goes_on(struct orr_watchman *m, void *instance, orr_watchman_waits_fn waits,
                          const struct orr_worker *w, bool watches);
void orr_watchman_leaves(struct orr_watchman *m, void *instance, orr_watchman_waits_fn waits,
                         struct orr_worker *w);

#endif
