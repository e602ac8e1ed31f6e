/* SPDX-License-Identifier: BSD-3-Clause */
/* bell.h: where threads that need something from other processes sleep, so that those can wake them.
 * Threads: each function says. Owns: nothing. Not here: the memory that processes share, and who rings
 * (mpi/wire/bells.h); how workers come to sleep (park.c). */
#ifndef ORR_WORKER_BELL_H
#define ORR_WORKER_BELL_H

#include "core/base/export.h"
#include "core/base/sync.h"
#include "core/worker/doze.h"

/* In memory that others may map. */
struct orr_bell {
    ORR_ALIGNED_LINE _Atomic uint32_t wanted; /* kinds of listeners to ring for; 0: somebody is awake */
    _Atomic uint32_t rings;                   /* futex: changes whenever somebody is woken here */
    _Atomic uint32_t attended;                /* futex: 1 while the attendant sleeps */
    _Atomic uint32_t dozing;                  /* 1 while a thread that listens watches rings (doze.h) */
};

/* Who sleeps: threads that wait for one message, workers, threads that wait for everything. A ring wakes one
 * of the first kind that there is. */
enum orr_listener { ORR_LISTEN_WAITER, ORR_LISTEN_WORKER, ORR_LISTEN_FOR_ALL, ORR_LISTENERS };

/* What threads of this process listen for. */
struct orr_bell_watch {
    struct orr_bell *bell;
    bool (*needed)(void *arg); /* something is to come from outside. any thread */
    bool (*look)(void *arg);   /* looks whether it came, or has a thread look that looks just now: true if
                                * something moved. any thread */
    void *arg;
};

/* From now on idle workers listen to w, which is borrowed until orr_bell_take_down. False: they listen to
 * another. */
ORR_EXPORT bool orr_bell_hang(const struct orr_bell_watch *w);
/* Nobody listens any more on return. */
ORR_EXPORT void orr_bell_take_down(void);

/* The calling thread is about to listen: it says so and looks once more. NULL: there is no bell. Else it ends
 * with orr_bell_leave; *seen_out is for orr_bell_sleep, *moved_out: it need not sleep. */
ORR_EXPORT struct orr_bell *orr_bell_enter(enum orr_listener kind, uint32_t *seen_out, bool *moved_out);
ORR_EXPORT void orr_bell_leave(struct orr_bell *b, enum orr_listener kind);
/* Sleeps until it rings, or somebody calls the listener with this number, if neither has happened since seen.
 * timeout_ns < 0: for ever. doze: as orr_doze's; one thread of the process dozes at a time. */
ORR_EXPORT void orr_bell_sleep(struct orr_bell *b, enum orr_listener kind, int number, uint32_t seen,
                               int64_t timeout_ns, struct orr_doze *doze);
static inline bool orr_bell_has_rung(struct orr_bell *b, uint32_t seen)
{
    return orr_load_seq(&b->rings) != seen;
}

/* Wakes a worker that listens, or all others of a kind. Others may wake up, too. Any thread. */
void orr_bell_call_worker(int number);
ORR_EXPORT void orr_bell_call(enum orr_listener kind);

/* Whether there is one. Any thread. */
bool orr_bell_hangs(void);
/* Whether the calling worker, or another, has nothing to do, or a thread waits for one message. Any thread.
 */
ORR_EXPORT bool orr_bell_somebody_waits(void);

/* How many threads of this process listen. */
extern ORR_EXPORT _Atomic uint32_t orr_bell_listeners;

ORR_EXPORT void orr_bell_give_back_slow(void);
/* The calling thread was awake and will not look for a while, or it has made that something is to come: those
 * that sleep are to be woken when it comes. Any thread. */
static inline void orr_bell_give_back(void)
{
    if (orr_unlikely(orr_load_seq(&orr_bell_listeners) > 0)) orr_bell_give_back_slow();
}

/* Threads that poll while they wait for one message, which is as good as a worker that searches: who sleeps
 * meanwhile wants no rings. */
extern ORR_EXPORT _Atomic uint32_t orr_bell_lookers;
static inline void orr_bell_looks_begin(void)
{
    orr_add_seq(&orr_bell_lookers, 1u);
}
static inline void orr_bell_looks_end(void)
{
    orr_sub_seq(&orr_bell_lookers, 1u); /* before the look who listens: pairs with orr_bell_enter */
    orr_bell_give_back();
}

/* Around what may take long, or wait for a message, on a thread that else looks for messages. */
ORR_EXPORT void orr_bell_deaf_begin(void);
ORR_EXPORT void orr_bell_deaf_end(void);

/* The attendant: one thread of the process, which sleeps while all others compute, and is woken by what needs
 * an answer alone. It counts as no listener. It begins, looks once more for what may have come, sleeps unless
 * something had, and ends; true: it was woken, not by time. */
ORR_EXPORT void orr_bell_attend_begin(struct orr_bell *b);
ORR_EXPORT void orr_bell_attend_sleep(struct orr_bell *b, int64_t timeout_ns);
ORR_EXPORT bool orr_bell_attend_end(struct orr_bell *b);
/* Wakes the attendant of this process, if there is one and the bell still hangs. Any thread. */
ORR_EXPORT void orr_bell_call_attendant(void);

/* Rings, if somebody wants that, after something was sent to the bell's process, which is to do something
 * about it soon (answer), or need do so only when somebody waits for it. Any process and thread. */
ORR_EXPORT bool orr_bell_ring_slow(struct orr_bell *b); /* true: somebody woke up */
ORR_EXPORT void orr_bell_ring_attendant(struct orr_bell *b);
static inline void orr_bell_ring(struct orr_bell *b, bool answer)
{
    orr_fence(); /* what was sent, then the look: pairs with orr_bell_enter, which looks last */
    if (orr_unlikely(orr_load_relaxed(&b->wanted) != 0) && orr_bell_ring_slow(b)) return;
    if (answer && orr_unlikely(orr_load_relaxed(&b->attended) != 0)) orr_bell_ring_attendant(b);
}

#endif
