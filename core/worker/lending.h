/* SPDX-License-Identifier: BSD-3-Clause */
/* lending.h: ready tasks of the main context that somebody else runs, as another rank does; and guests, which
 * are tasks of somebody else's that are run here. Threads: each function says. Owns: who lends, and waits for
 * a worker to come by. Not here: where tasks go, and how they come back (mpi/value/lend.h).
 *
 * A worker takes a task that is to be lent from its policy as one that it runs itself, between two tasks.
 * For the runtime it runs then, on that worker, until it is given back. */
#ifndef ORR_WORKER_LENDING_H
#define ORR_WORKER_LENDING_H

#include "core/base/export.h"
#include "core/base/sync.h"

struct orr_task;
struct orr_worker;
struct starpu_task;

struct orr_lender {
    /* A CPU worker came by, after orr_lend_call. On its thread, one at a time; must not block. */
    void (*serve)(struct orr_lender *l, struct orr_worker *w);
    struct orr_lender *next; /* [lock: lenders] */
    bool waits;              /* [lock: lenders] */
};

/* What the CPU workers of the main context do. */
struct orr_lend_look {
    unsigned workers, idle, hungry; /* hungry: idle for longer than asked */
    uint32_t backlog;               /* ready tasks that none of them has */
    uint64_t idle_ns;               /* the one that has been idle for longest */
    uint64_t run;                   /* tasks that they have run */
};
ORR_EXPORT void orr_lend_look(struct orr_lend_look *out, uint64_t longer_than_ns);

/* When a worker has had nothing to do for idle_ns, from its next idleness on: counts *futex up and wakes who
 * sleeps there. Once in a time of idleness, and every every_ns at most; for who asked last. NULL: nobody from
 * then on; waits for a worker that is doing so. Any thread. */
ORR_EXPORT void orr_lend_tell_idle(_Atomic uint32_t *futex, uint64_t idle_ns, uint64_t every_ns);
/* When one last did so (orr_clock_ns), or when orr_lend_tell_idle began to ask for it: idleness that began
 * before is told no more. */
ORR_EXPORT uint64_t orr_lend_told_idle_ns(void);

/* A worker that comes by calls l->serve, once for several calls until then. Any thread. False: no worker can.
 */
ORR_EXPORT bool orr_lend_call(struct orr_lender *l);
/* l->serve is not called any more, and nobody is in there. Blocks. Not from there. */
ORR_EXPORT void orr_lend_recall(struct orr_lender *l);

/* From serve: a task that w takes from its policy and that may() agrees to lend; its data are in main memory
 * and its interfaces filled in; NULL: there is none. may() is called on tasks that w holds, and calls nothing
 * of the runtime. */
ORR_EXPORT struct orr_task *orr_lend_take(struct orr_worker *w, bool (*may)(struct orr_task *t, void *arg),
                                          void *arg);
/* t was run elsewhere, and what it wrote is in place: it is over. Any thread that may call functions of the
 * program. t may be gone. */
ORR_EXPORT void orr_lend_returned(struct orr_task *t);
/* t was not run, and nothing of its data was touched: it is ready again. Any thread. */
ORR_EXPORT void orr_lend_refused(struct orr_task *t);

/* Serves those who wait. On w's thread, between two tasks. */
void orr_lend_serve(struct orr_worker *w);

extern _Atomic(_Atomic uint32_t *) orr_lend_idle_futex;
int64_t orr_lend_say_idle_slow(const struct orr_worker *w);
/* By a worker that has nothing to do: tells who asked, if it is time. In how many ns it is; -1: it is to tell
 * nobody. */
static inline int64_t orr_lend_say_idle(const struct orr_worker *w)
{
    return orr_unlikely(orr_load_relaxed(&orr_lend_idle_futex) != NULL) ? orr_lend_say_idle_slow(w) : -1;
}

/* ---- guests ---- */

/* Submits t as a guest: waits for tasks do not wait for it, and limits of them do not count it. 0; -EBUSY:
 * workers are paused; what submitting returns. Any thread. */
ORR_EXPORT int orr_guest_submit(struct starpu_task *t);
/* In its body, first. */
ORR_EXPORT void orr_guest_begins(void);
/* In its callback. */
ORR_EXPORT void orr_guest_is_over(void);

#endif
