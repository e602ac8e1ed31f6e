/* SPDX-License-Identifier: BSD-3-Clause */
/* access.h: the FIFO queue of access groups that every handle has: readers together, a writer alone,
 * commuting writers together but one at a time, reduction contributors together.
 * Threads: any, under the queue's lock. Owns: nothing (accesses belong to tasks, acquisitions, messages).
 * Not here: where the bytes are (coherency.h), who waits (an opaque waiter with a function).
 *
 * Joining at submission gives sequential consistency; joining when ready gives mutual exclusion without
 * order. Implicit dependencies, acquire/release, partitioning and the MPI layer are all just accesses in this
 * queue. */
#ifndef ORR_DATA_ACCESS_H
#define ORR_DATA_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/sync.h"
#include "core/base/thread.h"

/* Somebody who waits to be granted an access. granted runs without any lock of the data layer, once for each
 * time the access had to wait, on the thread that released; it must not block. */
struct orr_waiter {
    struct orr_waiter *next;
    void (*granted)(struct orr_waiter *w);
};

enum orr_group {
    ORR_GROUP_NONE,
    ORR_GROUP_READ,
    ORR_GROUP_WRITE,
    ORR_GROUP_COMMUTE,
    ORR_GROUP_REDUX,
    ORR_GROUP_REDUCING
};

/* One access. Private to its owner before joining and after leaving; [lock: queue] in between. */
struct orr_access {
    struct orr_waiter waiter; /* first: a waiter is its access */
    uint16_t index;           /* for the owner: which buffer of its this is */
    uint16_t position;        /* for the owner: which of its accesses this is */
    uint8_t group;            /* enum orr_group */
    uint8_t flags;            /* for the owner */
    uint8_t mode; /* for the owner: all that it does (enum starpu_data_access_mode, without flags) */
    /* Lines of memory, from here on, that the owner needs when its turn comes, if thousands may wait: they
     * are fetched while the one before it has its turn. Of this one, and of the next in the queue. */
    uint8_t lines : 4, next_lines : 4;
};
_Static_assert(sizeof(struct orr_access) == 24, "every access of every task has one");

struct orr_access_queue {
    ORR_SPIN(queue)
    lock;                      /* protects the queue and, in the struct that embeds it, the handle's coherency
                                * state; never held across a plug-in call */
    _Atomic uint32_t wanted;   /* uses by the program itself, from before it asks until it has released them
                                * (acquire.c) [any] */
    _Alignas(8) uint8_t group; /* enum orr_group of those who hold now. Not in the lock's word: compilers read
                                * neighbours together, and the lock is not to be read plainly */
    bool commute_busy;         /* one of the commuting group is at work */
    bool expecting;            /* accesses were submitted that will join late: who ENDS waits for them */
    bool planned;              /* the data is part of a partition plan: joining goes through partition.h */
    uint32_t active;           /* how many hold now */
    struct orr_access *holder; /* the writer, while group is WRITE; NULL when its access does not last */
    struct orr_access *head;   /* waiting, in order */
    struct orr_access *tail;   /* valid when head is set */
    struct orr_access *commuters; /* admitted to the commuting group, waiting for their turn */
};

/* The group of an access mode (enum starpu_data_access_mode). */
uint8_t orr_access_group(int mode);

/* Flags of accesses; the lower bits are the owner's. EXEMPT: from the order (no sequential consistency),
 * joins only when its owner could start. LASTS: the struct lives as long as the access is held. ENDS: takes
 * the handle away, so it is not granted while exempt accesses are expected. */
enum {
    ORR_ACCESS_EXEMPT = 0x80,
    ORR_ACCESS_LASTS = 0x40,
    ORR_ACCESS_ENDS = 0x20,
    ORR_ACCESS_EMPTIES = 0x10 /* a write after which the data has no value */
};

static inline struct orr_access *orr_access_holder(struct orr_access *a)
{
    return a->flags & ORR_ACCESS_LASTS ? a : NULL;
}

/* Joins at the end. True: granted at once, and granted() will not be called. Called with q->lock held. */
static inline bool orr_access_join_locked(struct orr_access_queue *q, struct orr_access *a)
{
    if (!q->head) {
        if (q->active == 0 && q->group != ORR_GROUP_REDUX) {
            q->group = a->group;
            q->active = 1;
            q->holder = orr_access_holder(a);
            return true;
        }
        if (q->group == a->group && a->group != ORR_GROUP_WRITE && a->group != ORR_GROUP_REDUCING) {
            q->active++;
            return true;
        }
        q->head = a;
    } else {
        q->tail->waiter.next = &a->waiter;
        q->tail->next_lines = a->lines;
    }
    a->waiter.next = NULL;
    q->tail = a;
    return false;
}

/* Joins an access that ENDS: behind all that wait, and behind exempt ones that are expected and will go ahead
 * of it. Called with q->lock held. */
static inline bool orr_access_join_end_locked(struct orr_access_queue *q, struct orr_access *a)
{
    if (!q->expecting || q->head || q->active || q->group == ORR_GROUP_REDUX)
        return orr_access_join_locked(q, a);
    a->waiter.next = NULL;
    q->head = q->tail = a;
    return false;
}

/* Joins an exempt access: only those at work count, not those that hold a place in the order for later. It
 * goes ahead of whatever waits in order; a writer that has the handle but cannot start yet steps back behind
 * it (reclaim, a function of whoever owns accesses, tells; it is called with q->lock held). As
 * orr_access_join_locked otherwise. */
bool orr_access_join_exempt_locked(struct orr_access_queue *q, struct orr_access *a,
                                   bool (*reclaim)(struct orr_access *holder));

/* Leaves. Returns the waiters granted by that, chained by next: the caller calls each after unlocking
 * (orr_waiters_run). *reduce_out is set when a reduction must run before anybody else (see redux.h). Called
 * with q->lock held. */
struct orr_waiter *orr_access_leave_locked(struct orr_access_queue *q, bool *reduce_out);

/* After a REDUX group drained and somebody else waits: true once, and the queue is then held for the
 * reduction. */
bool orr_access_start_reduction_locked(struct orr_access_queue *q);

/* The only writer becomes a reader; returns the readers that come in with it. Called with q->lock held. */
struct orr_waiter *orr_access_downgrade_locked(struct orr_access_queue *q);

/* Takes the turn within a commuting group: true at once, or granted() is called later. With q->lock held. */
bool orr_access_commute_enter_locked(struct orr_access_queue *q, struct orr_access *a);
/* Gives the turn on; returns the next waiter or NULL. With q->lock held. Leaving the group is a separate
 * call. */
struct orr_waiter *orr_access_commute_exit_locked(struct orr_access_queue *q);

/* What would call functions of the program, put aside by a thread that must not call them just now: it posts
 * a message, say, and the program may hold a lock that they take. Another thread goes on with it. */
struct orr_put_off {
    struct orr_waiter *waiters, *last_waiter; /* to be granted */
    struct orr_task *tasks, *last_task;       /* ready; of the layer above, which alone looks at them */
};

/* Before one is added. From the first one on the calling thread acts, until it has handed them over. */
static inline void orr_put_off_begin(const struct orr_put_off *p)
{
    if (!p->waiters && !p->tasks) orr_acting_begin();
}

/* What this layer keeps for each thread. */
struct orr_data_thread {
    struct orr_put_off *put_off; /* [own] where what calls functions of the program is put; NULL: it does */
};

static inline struct orr_data_thread *orr_data_thread(struct orr_thread *t)
{
    return orr_thread_room(t, data, struct orr_data_thread);
}

/* True when the calling thread must not call functions of the program: another one will call granted(w). The
 * waiter's access has been granted, and its links are free. */
static inline bool orr_waiter_put_off(struct orr_waiter *w, void (*granted)(struct orr_waiter *w))
{
    struct orr_put_off *p = orr_data_thread(orr_self())->put_off;
    if (orr_likely(!p)) return false;
    orr_put_off_begin(p);
    w->granted = granted;
    w->next = NULL;
    if (p->waiters)
        p->last_waiter->next = w;
    else
        p->waiters = w;
    p->last_waiter = w;
    return true;
}

static inline void orr_waiters_run(struct orr_waiter *w)
{
    while (w) {
        struct orr_waiter *next = w->next;
        w->granted(w);
        w = next;
    }
}

#endif
