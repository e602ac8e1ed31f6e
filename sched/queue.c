/* SPDX-License-Identifier: BSD-3-Clause */
/* queue.c: the shared queue of ready tasks.
 * Threads: any. Owns: see queue.h. Not here: policies.
 *
 * Tasks of priority 0 go through a bounded ring whose cells carry turn numbers (D. Vyukov's bounded MPMC
 * queue, 2010): producers and consumers touch different counters and share only the cells, four to a cache
 * line. What does not fit spills to a list, and producers keep to the list until it is empty, so that order
 * is kept. Under the lock are the others: priorities of 1 to 1023 have a list each, and a bit that says
 * whether it is empty; what is above, or negative, goes to heaps. */
#include "sched/queue.h"

#include <errno.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/task/task.h"

enum { REFILL = ORR_QUEUE_CELLS / 2, FIRST_HEAP_ROOM = 64, LEVELS = 1024, WORD_BITS = 64 };

struct orr_levels {
    uint64_t words;                      /* bit i: filled[i] is not 0 */
    uint64_t filled[LEVELS / WORD_BITS]; /* bit: there are tasks of that priority */
    struct {
        struct orr_task *first, *last;
    } level[LEVELS];
};

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
    orr_free(q->levels);
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
                orr_store_seq(&c->turn,
                              pos + 1); /* seq_cst: before the producer reads who is parked (park.c) */
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
            return NULL; /* empty, or the producer is just writing: it will look at who is parked afterwards
                          */
        } else {
            pos = orr_load_relaxed(&q->head);
        }
    }
}

/* ---- heap: highest priority first, first in first out among equals ---- */

bool orr_heap_push(struct orr_heap *h, struct orr_task *t, int32_t priority, uint64_t sequence)
{
    if (h->count == h->room) {
        uint32_t room = h->room ? h->room * 2 : FIRST_HEAP_ROOM;
        struct orr_heap_entry *e = orr_realloc(h->entries, room * sizeof *e);
        if (!e) return false;
        h->entries = e;
        h->room = room;
    }
    struct orr_heap_entry e = { .priority = priority, .task = t, .sequence = sequence };
    uint32_t i = h->count++;
    for (; i > 0 && orr_heap_before(&e, &h->entries[(i - 1) / 2]); i = (i - 1) / 2)
        h->entries[i] = h->entries[(i - 1) / 2];
    h->entries[i] = e;
    return true;
}

struct orr_task *orr_heap_pop(struct orr_heap *h)
{
    struct orr_task *t = h->entries[0].task;
    struct orr_heap_entry last = h->entries[--h->count];
    uint32_t i = 0;
    for (uint32_t child; (child = 2 * i + 1) < h->count; i = child) {
        if (child + 1 < h->count && orr_heap_before(&h->entries[child + 1], &h->entries[child])) child++;
        if (!orr_heap_before(&h->entries[child], &last)) break;
        h->entries[i] = h->entries[child];
    }
    if (h->count) h->entries[i] = last;
    return t;
}

/* ---- lists of one priority each ---- */

static bool level_push_locked(struct orr_queue *q, struct orr_task *t, unsigned at, bool front)
{
    struct orr_levels *l = q->levels;
    if (orr_unlikely(!l) && !(l = q->levels = orr_calloc(1, sizeof *l))) return false;
    bool filled = l->filled[at / WORD_BITS] >> (at % WORD_BITS) & 1;
    t->next = filled && front ? l->level[at].first : NULL;
    if (!filled) {
        l->filled[at / WORD_BITS] |= UINT64_C(1) << (at % WORD_BITS);
        l->words |= UINT64_C(1) << (at / WORD_BITS);
    }
    if (filled && !front) l->level[at].last->next = t;
    if (!filled || front) l->level[at].first = t;
    if (!filled || !front) l->level[at].last = t;
    return true;
}

static unsigned highest(uint64_t bits)
{
    return 63 - (unsigned)__builtin_clzll(bits);
}

/* Of lists that are not all empty. */
static unsigned top_level(const struct orr_levels *l)
{
    unsigned word = highest(l->words);
    return word * WORD_BITS + highest(l->filled[word]);
}

static struct orr_task *level_pop_locked(struct orr_levels *l)
{
    unsigned at = top_level(l);
    struct orr_task *t = l->level[at].first;
    l->level[at].first = t->next;
    if (!t->next) {
        l->filled[at / WORD_BITS] &= ~(UINT64_C(1) << (at % WORD_BITS));
        if (!l->filled[at / WORD_BITS]) l->words &= ~(UINT64_C(1) << (at / WORD_BITS));
    }
    return t;
}

/* ---- all together ---- */

static void publish_top_locked(struct orr_queue *q)
{
    if (q->high.count)
        orr_store_relaxed(&q->top_priority, q->high.entries[0].priority);
    else if (q->levels && q->levels->words)
        orr_store_relaxed(&q->top_priority, (int32_t)top_level(q->levels));
}

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
    int32_t priority = q->fronts ? 1 : t->priority;
    bool is_high = priority > 0, has_level = is_high && priority < LEVELS;
    orr_spin_lock(&q->lock);
    if (has_level ? level_push_locked(q, t, (unsigned)priority, q->fronts)
                  : orr_heap_push(is_high ? &q->high : &q->low, t, priority, q->sequence++)) {
        if (is_high) publish_top_locked(q);
        orr_add_seq(is_high ? &q->high_count : &q->low_count, 1u);
    } else {
        spill_locked(q, t); /* out of memory: the task loses its priority, nothing else */
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

static struct orr_task *pop_high(struct orr_queue *q)
{
    struct orr_task *t = NULL;
    orr_spin_lock(&q->lock);
    if (orr_load_relaxed(&q->high_count)) {
        t = q->high.count ? orr_heap_pop(&q->high) : level_pop_locked(q->levels);
        orr_sub_seq(&q->high_count, 1u);
        publish_top_locked(q);
    }
    orr_spin_unlock(&q->lock);
    return t;
}

static struct orr_task *pop_low(struct orr_queue *q)
{
    struct orr_task *t = NULL;
    orr_spin_lock(&q->lock);
    if (q->low.count) {
        t = orr_heap_pop(&q->low);
        orr_sub_seq(&q->low_count, 1u);
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
    if (orr_unlikely(orr_load_seq(&q->high_count) > 0) && (t = pop_high(q))) return t;
    if (orr_likely((t = ring_pop(q)) != NULL)) return t;
    if (orr_unlikely(orr_load_seq(&q->spilled_count) > 0) && (t = pop_spilled(q))) return t;
    if (orr_unlikely(orr_load_seq(&q->low_count) > 0) && (t = pop_low(q))) return t;
    return NULL;
}

int64_t orr_queue_top(struct orr_queue *q)
{
    int64_t top = INT64_MIN;
    if (orr_load_seq(&q->high_count) > 0) return orr_load_relaxed(&q->top_priority);
    if (orr_queue_length(q) > orr_load_seq(&q->low_count)) return 0;
    orr_spin_lock(&q->lock);
    if (q->low.count) top = q->low.entries[0].priority;
    orr_spin_unlock(&q->lock);
    return top;
}

static void heap_walk(const struct orr_heap *h, void (*fn)(struct orr_task *t, void *arg), void *arg)
{
    for (uint32_t i = 0; i < h->count; i++) fn(h->entries[i].task, arg);
}

void orr_queue_walk_locked(struct orr_queue *q, void (*fn)(struct orr_task *t, void *arg), void *arg)
{
    heap_walk(&q->high, fn, arg);
    heap_walk(&q->low, fn, arg);
    if (!q->levels) return;
    for (uint64_t words = q->levels->words; words; words &= words - 1) {
        unsigned word = (unsigned)__builtin_ctzll(words);
        for (uint64_t bits = q->levels->filled[word]; bits; bits &= bits - 1) {
            unsigned at = word * WORD_BITS + (unsigned)__builtin_ctzll(bits);
            for (struct orr_task *t = q->levels->level[at].first; t; t = t->next) fn(t, arg);
        }
    }
}
