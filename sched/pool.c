/* SPDX-License-Identifier: BSD-3-Clause */
/* pool.c: the common pool of ready tasks.
 * Threads: any. Owns: see pool.h. Not here: the queue itself (queue.c).
 *
 * On a machine with one kind of worker there is one queue, and everything else is skipped by one test. */
#include "sched/pool.h"

#include <starpu.h>
#include <string.h>

#include "core/base/alloc.h"

/* Tasks for particular workers. Who they are is found out once, at push, without a lock; those for the same
 * workers share a heap, so that no worker walks over tasks that it cannot run. A set whose heap is empty is
 * used for the next new one: their number is that of the sets that wait at the same time. */
struct orr_picky {
    uint64_t capable[STARPU_NMAXWORKERS / 64];
    struct orr_heap tasks;
};

uint32_t orr_worker_kinds(void)
{
    uint32_t kinds = 0;
    for (unsigned i = 0; i < orr_worker_count; i++) kinds |= orr_workers[i].where;
    return kinds;
}

struct orr_pool *orr_pool_create(void)
{
    struct orr_pool *p = orr_malloc_aligned(ORR_CACHE_LINE, sizeof *p);
    if (!p) return NULL;
    memset(p, 0, sizeof *p);
    p->kinds = orr_worker_kinds();
    for (int i = 0; i < ORR_POOL_CLASSES; i++)
        if (orr_queue_init(&p->queue[i]) != 0) {
            orr_pool_destroy(p);
            return NULL;
        }
    orr_store_relaxed(&p->where[0], p->kinds);
    return p;
}

struct orr_pool *orr_pool_create_with_fronts(void)
{
    struct orr_pool *p = orr_pool_create();
    for (int i = 0; p && i < ORR_POOL_CLASSES; i++) p->queue[i].fronts = true;
    return p;
}

void orr_pool_destroy(struct orr_pool *p)
{
    for (int i = 0; i < ORR_POOL_CLASSES; i++) orr_queue_fini(&p->queue[i]);
    for (unsigned i = 0; i < p->npicky; i++) orr_free(p->picky[i].tasks.entries);
    orr_free(p->picky);
    orr_free(p);
}

static bool is_picky(const struct orr_task *t)
{
    return t->pub->cl->can_execute || t->pub->workerids_len;
}

bool orr_task_is_universal(const struct orr_task *t, uint32_t kinds)
{
    return (orr_task_where(t->pub) & kinds) == kinds && !is_picky(t);
}

/* The set's entry, made if need be; NULL: out of memory. Called with picky_lock held. */
static struct orr_picky *picky_for_locked(struct orr_pool *p, const uint64_t *capable)
{
    struct orr_picky *unused = NULL;
    for (unsigned i = 0; i < p->npicky; i++) {
        if (memcmp(p->picky[i].capable, capable, sizeof p->picky[i].capable) == 0) return &p->picky[i];
        if (p->picky[i].tasks.count == 0) unused = &p->picky[i];
    }
    if (!unused && p->npicky == p->picky_room) {
        unsigned room = p->picky_room ? 2 * p->picky_room : 8;
        struct orr_picky *more = orr_realloc(p->picky, room * sizeof *more);
        if (!more) return NULL;
        p->picky = more;
        p->picky_room = room;
    }
    if (!unused) {
        unused = &p->picky[p->npicky++];
        memset(unused, 0, sizeof *unused);
    }
    memcpy(unused->capable, capable, sizeof unused->capable);
    return unused;
}

static bool queue_picky(struct orr_pool *p, struct orr_task *t, const uint64_t *capable)
{
    orr_spin_lock(&p->picky_lock);
    struct orr_picky *set = picky_for_locked(p, capable);
    bool front = p->queue[0].fronts && t->priority != 0;
    uint64_t sequence = p->picky_sequence++;
    bool queued = set && orr_heap_push(&set->tasks, t, front ? 1 : t->priority, front ? ~sequence : sequence);
    if (queued) orr_add_seq(&p->picky_count, 1u);
    orr_spin_unlock(&p->picky_lock);
    return queued;
}

static void push_picky(struct orr_pool *p, struct orr_task *t)
{
    uint64_t capable[STARPU_NMAXWORKERS / 64] = { 0 };
    struct orr_worker *first = NULL;
    unsigned nimpl;
    for (unsigned i = 0; i < orr_worker_count; i++) {
        if (!orr_worker_can_run(&orr_workers[i], t, &nimpl)) continue;
        if (!first) first = &orr_workers[i];
        capable[i / 64] |= UINT64_C(1) << (i % 64);
    }
    if (!queue_picky(p, t, capable) && first) { /* out of memory: the first that can takes it */
        orr_worker_push_local(first, t, false);
        return;
    }
    for (unsigned i = 0; i < orr_worker_count; i++)
        if (capable[i / 64] >> (i % 64) & 1) orr_wake_worker(&orr_workers[i]);
}

/* The queue for tasks that may run on where; the picky list when there are too many different ones. */
static struct orr_queue *class_of(struct orr_pool *p, uint32_t where)
{
    for (int i = 0; i < ORR_POOL_CLASSES; i++) {
        uint32_t w = orr_load_acquire(&p->where[i]);
        if (w == where) return &p->queue[i];
        if (w == 0) {
            uint32_t none = 0;
            if (orr_cas_seq(&p->where[i], &none, where) || none == where) return &p->queue[i];
        }
    }
    return NULL;
}

void orr_pool_push(struct orr_pool *p, struct orr_task *t)
{
    uint32_t where = orr_task_where(t->pub) & p->kinds;
    if (orr_likely(where == p->kinds && !is_picky(t))) {
        orr_queue_push(&p->queue[0], t);
        return;
    }
    struct orr_queue *q = is_picky(t) ? NULL : class_of(p, where);
    if (q)
        orr_queue_push(q, t);
    else
        push_picky(p, t);
}

void orr_pool_give(struct orr_pool *p, struct orr_ctx *ctx, struct orr_task *t)
{
    bool universal = orr_task_is_universal(t, p->kinds); /* now: it may have run once it is in */
    orr_pool_push(p, t);
    if (orr_likely(universal))
        orr_wake_any(ctx, orr_queue_length(&p->queue[0]));
    else
        orr_wake_each(ctx);
}

static struct orr_task *pop_picky(struct orr_pool *p, struct orr_worker *w)
{
    unsigned id = (unsigned)w->id;
    struct orr_heap *best = NULL;
    struct orr_task *t = NULL;
    orr_spin_lock(&p->picky_lock);
    for (unsigned i = 0; i < p->npicky; i++) {
        struct orr_picky *set = &p->picky[i];
        if (!(set->capable[id / 64] >> (id % 64) & 1) || set->tasks.count == 0) continue;
        if (!best || orr_heap_before(&set->tasks.entries[0], &best->entries[0])) best = &set->tasks;
    }
    if (best) {
        t = orr_heap_pop(best);
        orr_sub_seq(&p->picky_count, 1u);
    }
    orr_spin_unlock(&p->picky_lock);
    return t;
}

struct orr_task *orr_pool_pop(struct orr_pool *p, struct orr_worker *w)
{
    struct orr_task *t;
    if (orr_unlikely(orr_load_seq(&p->picky_count) > 0) && (t = pop_picky(p, w))) return t;
    for (int i = 0; i < ORR_POOL_CLASSES; i++) {
        uint32_t where = orr_load_seq(&p->where[i]);
        if (where == 0) break;
        if ((where & w->where) && (t = orr_queue_pop(&p->queue[i]))) return orr_first_impl(w, t);
    }
    return NULL;
}

static int64_t picky_top(struct orr_pool *p, unsigned id)
{
    int64_t top = INT64_MIN;
    orr_spin_lock(&p->picky_lock);
    for (unsigned i = 0; i < p->npicky; i++) {
        const struct orr_picky *set = &p->picky[i];
        if (!(set->capable[id / 64] >> (id % 64) & 1) || set->tasks.count == 0) continue;
        if (set->tasks.entries[0].priority > top) top = set->tasks.entries[0].priority;
    }
    orr_spin_unlock(&p->picky_lock);
    return top;
}

int64_t orr_pool_top(struct orr_pool *p, const struct orr_worker *w)
{
    int64_t top = orr_load_seq(&p->picky_count) > 0 ? picky_top(p, (unsigned)w->id) : INT64_MIN;
    for (int i = 0; i < ORR_POOL_CLASSES; i++) {
        uint32_t where = orr_load_seq(&p->where[i]);
        if (where == 0) break;
        int64_t of_class = where & w->where ? orr_queue_top(&p->queue[i]) : INT64_MIN;
        if (of_class > top) top = of_class;
    }
    return top;
}

uint32_t orr_pool_length(struct orr_pool *p)
{
    uint32_t n = orr_load_seq(&p->picky_count); /* all seq_cst: see orr_queue_length */
    for (int i = 0; i < ORR_POOL_CLASSES && orr_load_seq(&p->where[i]); i++)
        n += orr_queue_length(&p->queue[i]);
    return n;
}
