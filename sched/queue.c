/* SPDX-License-Identifier: BSD-3-Clause */
/* queue.c: the shared queue of ready tasks.
 * Threads: any. Owns: see queue.h. Not here: policies.
 *
 * Tasks of priority 0 go through a bounded ring whose cells carry turn numbers (D. Vyukov's bounded MPMC
 * queue, 2010): producers and consumers touch different counters and share only the cells, four to a cache
 * line. What does not fit spills to a list, and producers keep to the list until it is empty, so that order
 * is kept. Other priorities go to two heaps under the lock. */
#include "sched/queue.h"

#include <errno.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/task/task.h"

enum { REFILL = ORR_QUEUE_CELLS / 2, FIRST_HEAP_ROOM = 64 };

int orr_queue_init(struct orr_queue *q)
{
    memset(q, 0, sizeof *q);
    q->cells = orr_malloc_aligned(ORR_CACHE_LINE, ORR_QUEUE_CELLS * sizeof *q->cells);
    if (!q->cells) return -ENOMEM;
    for (uint64_t i = 0; i < ORR_QUEUE_CELLS; i++) orr_store_relaxed(&q->cells[i].turn, i);
    return 0;
}

void orr_queue_fini(struct orr_queue *q)
{
    orr_free(q->cells);
    orr_free(q->high.entries);
    orr_free(q->low.entries);
}

/* ---- ring ---- */

static bool ring_push(struct orr_queue *q, struct orr_task *t)
{
    uint64_t pos = orr_load_relaxed(&q->tail);
    for (;;) {
        struct orr_queue_cell *c = &q->cells[pos % ORR_QUEUE_CELLS];
        uint64_t turn = orr_load_acquire(&c->turn); /* pairs with the store in ring_pop */
        if (turn == pos) {
            if (atomic_compare_exchange_weak_explicit(&q->tail, &pos, pos + 1, memory_order_seq_cst,
                                                      memory_order_relaxed)) { /* see orr_queue_length */
                c->task = t;
                orr_store_seq(&c->turn, pos + 1); /* seq_cst: before the producer reads the lot (park.c) */
                return true;
            }
        } else if (turn < pos) {
            return false; /* full */
        } else {
            pos = orr_load_relaxed(&q->tail);
        }
    }
}

static struct orr_task *ring_pop(struct orr_queue *q)
{
    uint64_t pos = orr_load_relaxed(&q->head);
    for (;;) {
        struct orr_queue_cell *c = &q->cells[pos % ORR_QUEUE_CELLS];
        uint64_t turn = orr_load_seq(&c->turn); /* pairs with the store in ring_push */
        if (turn == pos + 1) {
            if (atomic_compare_exchange_weak_explicit(&q->head, &pos, pos + 1, memory_order_relaxed,
                                                      memory_order_relaxed)) {
                struct orr_task *t = c->task;
                orr_store_release(&c->turn, pos + ORR_QUEUE_CELLS);
                return t;
            }
        } else if (turn < pos + 1) {
            return NULL; /* empty, or the producer is just writing: it will look at the lot afterwards */
        } else {
            pos = orr_load_relaxed(&q->head);
        }
    }
}

/* ---- heap: highest priority first, first in first out among equals ---- */

static bool before(const struct orr_heap_entry *a, const struct orr_heap_entry *b)
{
    return a->priority != b->priority ? a->priority > b->priority : a->sequence < b->sequence;
}

static bool heap_push_locked(struct orr_heap *h, struct orr_task *t)
{
    if (h->count == h->room) {
        uint32_t room = h->room ? h->room * 2 : FIRST_HEAP_ROOM;
        struct orr_heap_entry *e = orr_realloc(h->entries, room * sizeof *e);
        if (!e) return false;
        h->entries = e;
        h->room = room;
    }
    struct orr_heap_entry e = { .priority = t->priority, .task = t, .sequence = h->sequence++ };
    uint32_t i = h->count++;
    for (; i > 0 && before(&e, &h->entries[(i - 1) / 2]); i = (i - 1) / 2)
        h->entries[i] = h->entries[(i - 1) / 2];
    h->entries[i] = e;
    return true;
}

static struct orr_task *heap_pop_locked(struct orr_heap *h)
{
    struct orr_task *t = h->entries[0].task;
    struct orr_heap_entry last = h->entries[--h->count];
    uint32_t i = 0;
    for (uint32_t child; (child = 2 * i + 1) < h->count; i = child) {
        if (child + 1 < h->count && before(&h->entries[child + 1], &h->entries[child])) child++;
        if (!before(&h->entries[child], &last)) break;
        h->entries[i] = h->entries[child];
    }
    if (h->count) h->entries[i] = last;
    return t;
}

/* ---- the three together ---- */

static void spill_locked(struct orr_queue *q, struct orr_task *t)
{
    t->next = NULL;
    if (q->spilled)
        q->spilled_last->next = t;
    else
        q->spilled = t;
    q->spilled_last = t;
    orr_add_seq(&q->spilled_count, 1u);
}

static void push_prioritised(struct orr_queue *q, struct orr_task *t)
{
    bool is_high = t->priority > 0;
    orr_spin_lock(&q->lock);
    if (!heap_push_locked(is_high ? &q->high : &q->low, t)) {
        spill_locked(q, t); /* out of memory: the task loses its priority, nothing else */
    } else {
        if (is_high) orr_store_relaxed(&q->top_priority, q->high.entries[0].priority);
        orr_add_seq(is_high ? &q->high_count : &q->low_count, 1u);
    }
    orr_spin_unlock(&q->lock);
}

void orr_queue_push(struct orr_queue *q, struct orr_task *t)
{
    if (orr_unlikely(t->priority != 0)) {
        push_prioritised(q, t);
        return;
    }
    if (orr_likely(orr_load_relaxed(&q->spilled_count) == 0) && ring_push(q, t)) return;
    orr_spin_lock(&q->lock);
    spill_locked(q, t);
    orr_spin_unlock(&q->lock);
}

static struct orr_task *pop_heap(struct orr_queue *q, struct orr_heap *h, _Atomic uint32_t *count)
{
    struct orr_task *t = NULL;
    orr_spin_lock(&q->lock);
    if (h->count) {
        t = heap_pop_locked(h);
        orr_sub_seq(count, 1u);
        if (h == &q->high && h->count) orr_store_relaxed(&q->top_priority, h->entries[0].priority);
    }
    orr_spin_unlock(&q->lock);
    return t;
}

/* Takes the first spilled task and moves some of those behind it back to the ring. */
static struct orr_task *pop_spilled(struct orr_queue *q)
{
    orr_spin_lock(&q->lock);
    struct orr_task *t = q->spilled;
    uint32_t moved = 0;
    if (t) {
        q->spilled = t->next;
        moved = 1;
        while (moved < REFILL && q->spilled) {
            struct orr_task *next = q->spilled->next;
            if (!ring_push(q, q->spilled)) break;
            q->spilled = next;
            moved++;
        }
        orr_sub_seq(&q->spilled_count, moved);
    }
    orr_spin_unlock(&q->lock);
    return t;
}

struct orr_task *orr_queue_pop(struct orr_queue *q)
{
    struct orr_task *t;
    if (orr_unlikely(orr_load_seq(&q->high_count) > 0) && (t = pop_heap(q, &q->high, &q->high_count)))
        return t;
    if (orr_likely((t = ring_pop(q)) != NULL)) return t;
    if (orr_unlikely(orr_load_seq(&q->spilled_count) > 0) && (t = pop_spilled(q))) return t;
    if (orr_unlikely(orr_load_seq(&q->low_count) > 0) && (t = pop_heap(q, &q->low, &q->low_count))) return t;
    return NULL;
}
