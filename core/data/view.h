/* SPDX-License-Identifier: BSD-3-Clause */
/* view.h: values that two processes use in one place: a copy here that is read where another process has it,
 * and memory here in which others read so.
 * Threads: any. Owns: the state of both; the structs are their maker's. Not here: how processes agree on it
 * (mpi/value/seen.c), mapping their memory (core/mem/arena.h).
 *
 * A view takes the place of a handle's copy, for which it has memory here all the same. Tasks are given the
 * view's interface, and hold it while their function runs; whoever else wants the value, or a task that is to
 * change it, has it copied first, as has the other process when it wants its own back: the view is then left.
 * It is over when nobody holds it. What waits for that waits for functions that run, so it comes, whatever
 * waits for what. Who wants to change memory in which others read asks them to leave, and waits until they
 * have. Only of data that are in the one main memory alone, and arrays without gaps. */
#ifndef ORR_DATA_VIEW_H
#define ORR_DATA_VIEW_H

#include "core/data/coherency.h"

/* A copy that is read elsewhere. */
struct orr_view {
    void *at; /* where [const] */
    /* Nobody here reads there any more: once. No locks held; short. */
    void (*over)(struct orr_view *v);
    /* view.c's own */
    struct orr_data *handle; /* [const until over] */
    uint32_t users;          /* functions that read there [lock: handle] */
    bool leaving, left;      /* somebody brings the value to the memory here; it is there [lock: handle] */
    _Atomic uint32_t state;  /* bits [atomic; cleared: lock: handle] */
};

/* Memory here in which one other process reads. */
struct orr_shown {
    struct orr_shown *next; /* of the handle's [lock: handle] */
    bool wanted;            /* back [lock: handle] */
    void *owner;            /* [const] */
    /* It is wanted back. With the handle's lock held: only notes it. Then flush, without locks. */
    void (*want)(struct orr_shown *s);
    void (*flush)(void *owner);
};

/* Whether h's values may be used so: it is in one place, and whole. The access is held. */
ORR_EXPORT bool orr_data_may_be_apart(struct orr_data *h);
/* The same, and h has room for a view: its copy is about to be written. */
ORR_EXPORT bool orr_view_prepare(struct orr_data *h);
/* h's copy in main memory is at v->at from now on; it is not apart. By who has h to write it, and has just
 * done so. */
ORR_EXPORT void orr_view_begin(struct orr_data *h, struct orr_view *v);
/* The value is wanted back where it is: has it copied. v may be over by now, but not freed; over may be
 * called before this returns. */
ORR_EXPORT void orr_view_recall(struct orr_view *v);
/* Another process reads h's memory. By who has h to read it; it may let go of it then. */
ORR_EXPORT void orr_shown_begin(struct orr_data *h, struct orr_shown *s);
/* Whether somebody waits for it. */
ORR_EXPORT bool orr_shown_is_wanted(struct orr_data *h, const struct orr_shown *s);
/* It does not read there any more; s is the caller's. Returns those who may go on: orr_fetches_resume is due,
 * and h may end at any time. No locks held. */
ORR_EXPORT struct orr_fetch *orr_shown_end(struct orr_data *h, struct orr_shown *s);
/* Fetches that waited look again. No locks held. NULL is fine. */
ORR_EXPORT void orr_fetches_resume(struct orr_fetch *waiters);

/* Until h is in one place alone: by who has it to write it, before h's memory goes. True: w->granted(w)
 * follows; false: it is. */
bool orr_data_together_first(struct orr_data *h, struct orr_waiter *w);
void orr_data_together_blocking(struct orr_data *h);

/* Whether others read in h's memory, who are asked to leave. */
bool orr_shown_ask(struct orr_data *h);

/* ---- for coherency.c ---- */

/* What a look at a fetch leaves to be done without the lock. */
struct orr_view_todo {
    struct orr_view *leave;
    bool with_value;
    void (*flush)(void *owner);
    void *owner;
};
/* Whether f has to wait, as it does then. With the handle's lock held, of data that are apart. */
bool orr_view_hinders_locked(struct orr_fetch *f, struct orr_view_todo *todo);
void orr_view_do(const struct orr_view_todo *todo);

/* ---- for tasks, and for who asks where the value is ---- */

/* What a function that runs now is given in the place of h's interface in main memory: a view's, which it
 * holds until the second is called, or NULL: that itself. By who has h to read it. */
void *orr_view_hold(struct orr_data *h);
void orr_view_let_go(struct orr_data *h);
/* Has h's value in memory here. May block a little. */
void orr_view_leave(struct orr_data *h);
/* For who asks where h's value is in main memory: the interface of a view that the calling thread's task
 * holds; NULL: h's own, where the value is now. May block a little. */
void *orr_view_interface(struct orr_data *h);

#endif
