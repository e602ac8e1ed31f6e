/* SPDX-License-Identifier: BSD-3-Clause */
/* progress.h: who polls the engine, and when: threads that wait, idle workers, and one thread of our own for
 * when nobody else does.
 * Threads: any. Owns: struct orr_mpi_progress, one for each engine. Not here: what polling does (engine.c).
 */
#ifndef ORR_MPI_PROGRESS_H
#define ORR_MPI_PROGRESS_H

#include <stdbool.h>

#include "core/base/sync.h"
#include "core/worker/bell.h"
#include "core/worker/worker.h"
#include "mpi/wire/engine.h"

/* Zero, but for what init sets. The memory outlives the layer: messages that a shutdown gave up end later. */
struct orr_mpi_progress {
    struct orr_engine *engine; /* [const] */
    ORR_ALIGNED_LINE _Atomic int64_t
        outstanding;           /* messages posted and not over, but for [atomic: pairs with waiters] */
    _Atomic int64_t unawaited; /* those that wait for the program to release data: who waits for all does not
                                * wait for these [any] */
    _Atomic bool attentive;    /* others may ask something although nothing is outstanding [any] */
    _Atomic int64_t held; /* things of other ranks, or that they have, which may be asked for as well [any] */
    _Atomic int64_t callbacks;  /* of the program that messages will call when they are over [any] */
    _Atomic uint64_t posted;    /* messages ever posted */
    _Atomic uint64_t completed; /* messages ever over */
    _Atomic uint32_t signal;    /* futex: changes when a message is over and somebody sleeps */
    _Atomic uint32_t sleepers;  /* threads that sleep on signal, for one message; and until none is left */
    _Atomic uint32_t sleepers_for_all;
    /* What calls functions of the program, until a thread that progresses takes it. */
    struct {
        ORR_SPIN(aside) lock; /* protects list; leaf */
        struct orr_put_off list;
        _Atomic uint32_t any;     /* [atomic] whether the list has something */
        _Atomic uint32_t calling; /* [atomic] threads inside a function of the program, or about to be */
        _Atomic bool alone;       /* [atomic] nobody progresses any more: whoever leaves something calls it */
    } aside;
    /* The progress thread. */
    struct {
        pthread_t thread;
        ORR_ALIGNED_LINE _Atomic uint32_t asleep; /* futex: 1 while it sleeps for good */
        _Atomic uint32_t napping;                 /* futex: 1 while it naps */
        _Atomic bool attends;                     /* it sleeps at the bell [any] */
        _Atomic bool
            turns; /* it progresses, and may be in a function of the program's [atomic: call_somebody] */
        _Atomic bool missed;     /* [atomic] it is to look, in the place of who held the engine */
        _Atomic bool seen_often; /* workers ended tasks shortly before it last looked [any] */
        uint64_t run, run_ticks; /* how many then; when that last changed [own: the thread] */
        _Atomic uint32_t stop;
    } own;
    struct orr_bell_watch watch;     /* what is listened for */
    _Atomic bool listens;            /* it is, at a bell [read by threads that may be late] */
    _Atomic bool bells_suffice;      /* and all that comes, comes with a ring [the same] */
    _Atomic uint64_t left_strangers; /* ticks when a thread that waits last looked where it runs [any] */
};

/* Before anything else; nobody progresses yet, nothing is outstanding. Borrows the engine. */
void orr_progress_init(struct orr_mpi_progress *p, struct orr_engine *e);
/* 0, -EAGAIN: no thread, -ENOSPC: too many clusters. bells: by which other ranks wake this one; NULL: none.
 */
int orr_progress_start(struct orr_mpi_progress *p, const struct orr_bells *bells);
void orr_progress_stop(struct orr_mpi_progress *p);

/* Moves messages on behalf of a thread that only comes by: it posts one, or lets go of data. Functions of the
 * program are left to threads that progress. True if anything moved. */
bool orr_progress_pass(struct orr_mpi_progress *p);
/* The same by a thread that calls orr_progress_wait next: nobody else need be woken by what is to come. */
bool orr_progress_pass_and_wait(struct orr_mpi_progress *p);
/* The same by a thread that progresses: calls functions of the program as well. True if anything moved. */
bool orr_progress_turn(struct orr_mpi_progress *p);
/* Calls fn; what calls functions of the program from it is left to threads that progress. */
void orr_progress_aside(struct orr_mpi_progress *p, void (*fn)(void *arg), void *arg);

/* Calls a callback of the program, which must not block. */
void orr_progress_call_back(void (*callback)(void *arg), void *arg);

/* Whether functions of the program run after messages, or will: they may do anything. For who looks for
 * deadlocks: such a thread may count as blocked, or be the layer's own. */
bool orr_progress_may_call(struct orr_mpi_progress *p);

/* Messages are outstanding and the caller goes on with other things: the progress thread wakes up. */
void orr_progress_needed(struct orr_mpi_progress *p);
/* Others may ask something at any time, or not any more. */
void orr_progress_attend(struct orr_mpi_progress *p, bool now);
/* One thing more that others may ask for at any time; and one less. */
void orr_progress_hold(struct orr_mpi_progress *p);
void orr_progress_let_go(struct orr_mpi_progress *p);
/* A message is over: wakes those who sleep in orr_progress_wait. */
void orr_progress_signal(struct orr_mpi_progress *p);
/* Polls until done(arg), or until no message is outstanding but unawaited ones. Blocks; not in callbacks. */
void orr_progress_wait(struct orr_mpi_progress *p, bool (*done)(void *arg), void *arg);
void orr_progress_wait_for_all(struct orr_mpi_progress *p);

/* ---- the count of messages, between the call that makes one and its end ---- */

static inline void orr_progress_begun(struct orr_mpi_progress *p)
{
    orr_add_seq(&p->outstanding, 1);
    orr_add_relaxed(&p->posted, 1u);
}

/* One is over; or it could not be made after all. */
static inline void orr_progress_over(struct orr_mpi_progress *p, bool was_made)
{
    if (was_made) orr_add_relaxed(&p->completed, 1u);
    orr_sub_seq(&p->outstanding, 1);
    orr_progress_signal(p);
}

/* One of those begun is unawaited from now on; or is not any more, and counts as all others do. */
static inline void orr_progress_unawait(struct orr_mpi_progress *p)
{
    orr_add_seq(&p->unawaited, 1);
    orr_sub_seq(&p->outstanding, 1);
    orr_progress_signal(p);
}
static inline void orr_progress_await(struct orr_mpi_progress *p)
{
    orr_add_seq(&p->outstanding, 1);
    orr_sub_seq(&p->unawaited, 1);
}

/* Without those; and all. */
static inline int64_t orr_progress_outstanding(struct orr_mpi_progress *p)
{
    return orr_load_seq(&p->outstanding);
}
static inline int64_t orr_progress_left(struct orr_mpi_progress *p)
{
    int64_t unawaited = orr_load_seq(&p->unawaited); /* first: one that changes is counted twice, not never */
    return unawaited + orr_load_seq(&p->outstanding);
}

/* Ever made, and ever over. */
static inline uint64_t orr_progress_posted(struct orr_mpi_progress *p)
{
    return orr_load_seq(&p->posted);
}
static inline uint64_t orr_progress_completed(struct orr_mpi_progress *p)
{
    return orr_load_relaxed(&p->completed);
}

#endif
