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
    uint64_t now_ns;                /* orr_clock_ns */
    uint64_t idle_ns;               /* the one that has been idle for longest */
    uint64_t idle_all_ns;           /* all of them, since somebody listens */
    uint32_t pauses;                /* changes when workers are paused, and when they go on */
    uint64_t run;                   /* tasks that they have run */
};
ORR_EXPORT void orr_lend_look(struct orr_lend_look *out, uint64_t longer_than_ns);

/* Who is told when those workers run dry. */
struct orr_idle_listener {
    /* By a worker that has nothing to do; again: for the second time or later in this idleness. Two may be in
     * there at once. Must not block. */
    void (*idle)(struct orr_idle_listener *l, bool again);
    /* The workers were paused just now, or have all left the main context. On whose thread did it. */
    void (*paused)(struct orr_idle_listener *l);
};
/* When a worker says so: when it has had nothing to do for after_ns, unless another has said so meanwhile;
 * and again_ns after that, if it still has nothing to do, or some time later another that has not. */
struct orr_idle_terms {
    uint64_t after_ns, again_ns;
};
/* From now on, who is idle already as well. One listener at a time. Any thread. */
ORR_EXPORT void orr_idle_listen(struct orr_idle_listener *l, struct orr_idle_terms terms);
/* Other terms. Any thread, as from l->idle. */
ORR_EXPORT void orr_idle_change(struct orr_idle_terms terms);
/* Nobody is told any more, nor inside of the listener. Blocks. Not from there. */
ORR_EXPORT void orr_idle_unlisten(void);

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

extern _Atomic(struct orr_idle_listener *) orr_idle_listener;
void orr_idle_say_slow(struct orr_worker *w);
int64_t orr_idle_due_slow(const struct orr_worker *w);
/* By a worker that has nothing to do and could take a task: tells the listener, if it is time. */
static inline void orr_idle_say(struct orr_worker *w)
{
    if (orr_unlikely(orr_load_relaxed(&orr_idle_listener) != NULL)) orr_idle_say_slow(w);
}
/* In how many ns that is; 0: now; -1: never. */
static inline int64_t orr_idle_due(const struct orr_worker *w)
{
    return orr_unlikely(orr_load_relaxed(&orr_idle_listener) != NULL) ? orr_idle_due_slow(w) : -1;
}
/* On w's thread: how long it is idle, for orr_lend_look. */
void orr_idle_began(struct orr_worker *w, uint64_t now_ns);
void orr_idle_ended(struct orr_worker *w);
/* Workers are paused. */
void orr_idle_paused(void);
/* A worker has changed its contexts: as if paused where none is left that could run guests. */
void orr_idle_left(void);

/* ---- guests ---- */

/* Submits t as a guest: waits for tasks do not wait for it, and limits of them do not count it. 0; -EBUSY:
 * workers are paused, or none is in the main context; what submitting returns. Any thread. */
ORR_EXPORT int orr_guest_submit(struct starpu_task *t);
/* In its body, first. */
ORR_EXPORT void orr_guest_begins(void);
/* In its callback. */
ORR_EXPORT void orr_guest_is_over(void);

#endif
