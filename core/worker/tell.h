/* SPDX-License-Identifier: BSD-3-Clause */
/* tell.h: what policies and workers tell observers of tasks and of idle time.
 * Threads: stated below. Owns: nothing lasting. Not here: the other events, told where they happen
 * (core/base/event.h), observers.
 *
 * While nobody looks, a worker notes since when it is idle, for who begins to look meanwhile; nothing else.
 */
#ifndef ORR_WORKER_TELL_H
#define ORR_WORKER_TELL_H

#include "core/base/clock.h"
#include "core/base/event.h"
#include "core/worker/lending.h"
#include "core/worker/worker.h"

/* A policy of the library has chosen worker w for t, which is still the caller's. Of the others, which leave
 * the choice to the workers, it is told when one takes the task. The program's say it themselves
 * (starpu_sched_task_break, starpu_sched_ctx_call_pushed_task_cb). */
void orr_tell_placed_slow(struct orr_task *t, const struct orr_worker *w);
static inline void orr_tell_placed(struct orr_task *t, const struct orr_worker *w)
{
    if (orr_unlikely(orr_events_wanted(ORR_EVENT_BIT(TASK_PLACED)))) orr_tell_placed_slow(t, w);
}

/* w has taken t from a queue. On w's thread. */
void orr_tell_popped_slow(struct orr_task *t, const struct orr_worker *w);
static inline void orr_tell_popped(struct orr_task *t, const struct orr_worker *w)
{
    if (orr_unlikely(orr_events_wanted(ORR_EVENT_BIT(TASK_PLACED) | ORR_EVENT_BIT(TASK_POPPED))))
        orr_tell_popped_slow(t, w);
}

/* Around a time without tasks, or one in which it waits for its team. On w's thread. */
static inline void orr_tell_idle_begin(struct orr_worker *w, bool for_team)
{
    uint64_t now_ns = orr_clock_ns();
    if (orr_unlikely(orr_load_relaxed(&orr_idle_listener) != NULL)) orr_idle_began(w, now_ns);
    orr_store_release(&w->idle_since_ns, now_ns);
    ORR_EVENT(WORKER_IDLE, w, w->id, for_team, 0);
}
static inline void orr_tell_idle_end(struct orr_worker *w, bool for_team)
{
    uint64_t since_ns = orr_load_relaxed(&w->idle_since_ns);
    if (orr_likely(since_ns == 0)) return;
    if (orr_unlikely(orr_load_relaxed(&orr_idle_listener) != NULL)) orr_idle_ended(w);
    orr_store_release(&w->idle_since_ns, 0);
    ORR_EVENT(WORKER_BUSY, w, w->id, for_team, since_ns);
}

/* bit: idle workers of that context say so every millisecond (WORKER_STILL_IDLE). [any: an observer] */
extern _Atomic uint32_t orr_tell_idle_contexts;

/* How often w says so, in ns; -1: never. */
static inline int64_t orr_tell_idle_period_ns(const struct orr_worker *w)
{
    enum { MILLISECOND_NS = 1000000 };
    return orr_load_relaxed(&w->in) & orr_load_relaxed(&orr_tell_idle_contexts) ? MILLISECOND_NS : -1;
}

static inline void orr_tell_still_idle(struct orr_worker *w)
{
    ORR_EVENT(WORKER_STILL_IDLE, w, w->id, 0, 0);
}

#endif
