/* SPDX-License-Identifier: BSD-3-Clause */
/* queue.h: the queue of ready tasks that the policies share: first in first out among equals, by priority
 * otherwise; or, with fronts, what has a priority at the front, last in first out.
 * Threads: any pushes and pops. Owns: the tasks in it. Not here: who may run what (pool.h). */
#ifndef ORR_SCHED_QUEUE_H
#define ORR_SCHED_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/sync.h"

struct orr_task;

struct orr_queue_cell {
    _Atomic uint64_t turn; /* publishes task */
    struct orr_task *task;
};

struct orr_heap_entry {
    int32_t priority;
    struct orr_task *task;
    uint64_t sequence;
};

struct orr_heap { /* [lock: the queue's] */
    struct orr_heap_entry *entries;
    uint32_t count, room;
};

/* The highest priority first; among equals the lowest sequence, which the caller counts up. Push answers
 * false when out of memory; pop is for a heap that is not empty, and after it the first entry is the next. */
bool orr_heap_push(struct orr_heap *h, struct orr_task *t, int32_t priority, uint64_t sequence);
struct orr_task *orr_heap_pop(struct orr_heap *h);
static inline bool orr_heap_before(const struct orr_heap_entry *a, const struct orr_heap_entry *b)
{
    return a->priority != b->priority ? a->priority > b->priority : a->sequence < b->sequence;
}

enum { ORR_QUEUE_CELLS = 2048 };

struct orr_queue {
    ORR_ALIGNED_LINE _Atomic uint64_t tail;       /* producers */
    ORR_ALIGNED_LINE _Atomic uint64_t head;       /* consumers */
    ORR_ALIGNED_LINE ORR_SPIN(policy_queue) lock; /* protects all below; never held across a plug-in call */
    _Atomic uint32_t high_count, low_count, spilled_count;
    _Atomic int32_t top_priority;            /* of those above 0, while there are any [any: hint] */
    struct orr_levels *levels;               /* priorities above 0, but the largest; NULL: none so far */
    struct orr_heap high, low;               /* the largest; those below 0 */
    uint64_t sequence;                       /* of what comes into the heaps */
    struct orr_task *spilled, *spilled_last; /* what the ring had no room for */
    struct orr_queue_cell *cells;            /* [const] */
    bool fronts; /* a priority that is not 0 means the front of the queue, no more [const] */
};

int orr_queue_init(struct orr_queue *q);  /* 0 or -ENOMEM */
void orr_queue_fini(struct orr_queue *q); /* empty by now */

void orr_queue_push(struct orr_queue *q, struct orr_task *t);
struct orr_task *orr_queue_pop(struct orr_queue *q); /* NULL: empty */

/* The priority of the first task, which may be gone; INT64_MIN: there is none. Of a queue without fronts. */
int64_t orr_queue_top(struct orr_queue *q);

/* Calls fn with every task whose priority is not 0, in no particular order. With q->lock held. */
void orr_queue_walk_locked(struct orr_queue *q, void (*fn)(struct orr_task *t, void *arg), void *arg);

/* About how many tasks it holds. Not 0 when a task is in it whose push ended before, in the order of all
 * seq_cst operations: a worker that stops searching relies on that (core/worker/park.c, stop_searching). */
static inline uint32_t orr_queue_length(struct orr_queue *q)
{
    uint64_t tail = orr_load_seq(&q->tail), head = orr_load_relaxed(&q->head); /* pairs with ring_push */
    uint32_t ring = tail > head ? (uint32_t)(tail - head) : 0;
    return ring + orr_load_seq(&q->high_count) + orr_load_seq(&q->low_count) +
           orr_load_seq(&q->spilled_count);
}

/* Whether a task of this priority would be the next to be popped: all that waits here goes after it. */
static inline bool orr_queue_would_lead(struct orr_queue *q, int32_t priority)
{
    if (priority != 0 && q->fronts) return true;
    if (orr_load_relaxed(&q->high_count) > 0) return priority > orr_load_relaxed(&q->top_priority);
    return priority > 0 || (priority == 0 && orr_queue_length(q) == 0);
}

#endif
