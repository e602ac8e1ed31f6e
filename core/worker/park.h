/* SPDX-License-Identifier: BSD-3-Clause */
/* park.h: how workers without work look for it, sleep, and are woken.
 * Threads: each function says. Owns: orr_parking (who is parked, how many are searching). Not here: queues
 * (sched/). */
#ifndef ORR_WORKER_PARK_H
#define ORR_WORKER_PARK_H

#include "core/worker/worker.h"

struct orr_parking {
    _Atomic uint32_t parked;    /* workers asleep, or about to be */
    _Atomic uint32_t searching; /* workers awake and looking, or woken on the way to look */
    _Atomic uint32_t brief;     /* workers busy with short tasks: they will come by within microseconds */
    _Atomic uint32_t plain;     /* one kind of worker, one context: whoever searches can take any task */
    _Atomic uint32_t sentry;    /* 1 + the parked worker that looks every millisecond, 0: nobody need */
    ORR_ALIGNED_LINE _Atomic uint64_t who[STARPU_NMAXWORKERS / 64]; /* bit: parked */
    ORR_ALIGNED_LINE _Atomic uint32_t stopping;                     /* workers leave when they find nothing */
    _Atomic uint32_t attention;   /* what workers are to look at between tasks: a pause, changes asked for,
                                     lenders */
    _Atomic uint32_t lenders;     /* who wants a worker to come by (lending.h) */
    _Atomic uint32_t paused;      /* 1: workers take nothing */
    _Atomic uint32_t pause_epoch; /* futex of paused workers */
    _Atomic uint32_t running;     /* workers have threads */
    _Atomic uint32_t calls;       /* how often all were woken: who was about to sleep looks again */
};
extern struct orr_parking orr_parking;

/* If w sleeps, and another on its core for which may(arg, it) holds is awake and has nothing but brief tasks
 * to do, that one: it gets to a task sooner than one that has to be woken. Else w. Any thread. */
struct orr_worker *orr_awake_beside(struct orr_worker *w, bool (*may)(const void *arg, struct orr_worker *it),
                                    const void *arg);

/* Whether w sleeps, or is about to. A hint: it may be changing. Any thread. */
bool orr_worker_is_parked(const struct orr_worker *w);

/* Looks for a task until there is one, sleeping if need be. NULL: the runtime stops, or is paused. On w's
 * thread. */
struct orr_task *orr_worker_idle(struct orr_worker *w);

/* w is about to run a task whose duration is known to be short, or not. Not short: if tasks wait and nobody
 * looks, one is woken. On w's thread. */
void orr_worker_expects(struct orr_worker *w, bool is_short);

/* Makes w, which sleeps, a watchman: its policies are asked every millisecond (orr_policy_ops.watch). False:
 * it does not sleep any more. Any thread. */
bool orr_watch_appoint(struct orr_worker *w);

/* Around a worker's sleep: calls what the program asked for. On w's thread. */
void orr_sleep_begin(struct orr_worker *w);
void orr_sleep_end(struct orr_worker *w);

/* Called with w->sched_mutex held: sleeps on w's condition variable unless there is a reason not to. counted:
 * w is counted in orr_parking.parked. On w's thread. */
void orr_sleep_on_cond_locked(struct orr_worker *w, bool counted);

/* Wakes everybody: for shutdown, resume, and changes of contexts. */
void orr_wake_all(void);

#endif
