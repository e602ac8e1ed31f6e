/* SPDX-License-Identifier: BSD-3-Clause */
/* jobpool.c: which job list a free worker takes up.
 * Threads: see jobpool.h. Owns: the pools. Not here: order within a list (joblist.c).
 *
 * A pool keeps its ready lists in heaps, one for each set of kinds of workers that first jobs ask for, one
 * for each worker that first jobs are bound to, and one for each set of particular workers that can run them;
 * what is beyond so many sets is in a row that is searched. The order of a heap is the rule of the policy:
 * priority, fewest workers, most work left. It is brought up to date only when a list becomes ready or
 * blocks, and when a worker comes or goes; jobs taken from a list that goes on cost the pool nothing.
 *
 * A list's lock and a pool's are never held together. A list decides under its own lock what the pool should
 * know, numbers that, and tells it afterwards: of two pieces of news that overtake each other the pool keeps
 * the one with the higher number. So what a pool believes may be old, never wrong for good: a worker that
 * finds a list blocked tells so.
 *
 * Heaps: M. Fredman, R. Sedgewick, D. Sleator, R. Tarjan, "The pairing heap" (Algorithmica 1, 1986): entries
 * link themselves, so nothing is allocated and nothing can fail. */
#include "core/worker/jobpool.h"

#include <string.h>

#include "core/worker/joblist.h"
#include "core/worker/park.h"
#include "core/worker/serve.h"
#include "core/worker/worker.h"

enum { SETS = 16, WAITING_MAX = 1 << 16 };

static struct pool {
    ORR_ALIGNED_LINE ORR_SPIN(job_pool) lock; /* protects all here, and the entries; leaf */
    _Atomic uint32_t ready;                   /* lists in heaps [lock, read by all] */
    _Atomic uint32_t waiting;                 /* their jobs, as last heard [lock, read by all] */
    uint32_t where[ORR_JOBPOOL_CLASSES];      /* kinds asked for by the lists of that heap */
    struct orr_jobpool_entry *root[ORR_JOBPOOL_CLASSES];
    struct orr_jobpool_entry *bound[STARPU_NMAXWORKERS]; /* by the worker */
    struct {
        uint64_t capable[STARPU_NMAXWORKERS / 64];
        struct orr_jobpool_entry *root; /* NULL: the place is free for another set */
    } set[SETS];
    struct orr_jobpool_entry *row; /* the others */
    double mean_us;                /* of a job, where models say something; 0: nowhere yet */
    uint64_t serials;
} pools[STARPU_NMAX_SCHED_CTXS];

static ORR_MUTEX(job_count) count_lock =
    PTHREAD_MUTEX_INITIALIZER; /* protects lists, and orr_worker.lists; leaf */
static unsigned lists;

/* ---- pairing heaps ---- */

static bool before(const struct orr_jobpool_entry *a, const struct orr_jobpool_entry *b)
{
    if (a->place.priority != b->place.priority) return a->place.priority > b->place.priority;
    if (a->workers != b->workers) return a->workers < b->workers;
    if (a->work < b->work || a->work > b->work) return a->work > b->work;
    return a->serial < b->serial;
}

static struct orr_jobpool_entry *merge(struct orr_jobpool_entry *a, struct orr_jobpool_entry *b)
{
    if (!a || !b) return a ? a : b;
    if (before(b, a)) {
        struct orr_jobpool_entry *first = b;
        b = a;
        a = first;
    }
    b->next = a->child;
    if (a->child) a->child->prev = b;
    b->prev = a;
    a->child = b;
    return a;
}

/* One heap of a row of siblings: pairs from the left, then all from the right. */
static struct orr_jobpool_entry *merge_row(struct orr_jobpool_entry *row)
{
    struct orr_jobpool_entry *pairs = NULL, *all = NULL;
    while (row) {
        struct orr_jobpool_entry *a = row, *b = a->next;
        row = b ? b->next : NULL;
        a->next = a->prev = NULL;
        if (b) b->next = b->prev = NULL;
        a = merge(a, b);
        a->next = pairs;
        pairs = a;
    }
    while (pairs) {
        struct orr_jobpool_entry *a = pairs;
        pairs = a->next;
        a->next = a->prev = NULL;
        all = merge(all, a);
    }
    return all;
}

static void heap_add(struct orr_jobpool_entry **root, struct orr_jobpool_entry *e)
{
    e->child = e->next = e->prev = NULL;
    *root = merge(*root, e);
}

static void heap_remove(struct orr_jobpool_entry **root, struct orr_jobpool_entry *e)
{
    struct orr_jobpool_entry *rest = merge_row(e->child);
    if (*root == e) {
        *root = rest;
        return;
    }
    if (e->prev->child == e)
        e->prev->child = e->next;
    else
        e->prev->next = e->next;
    if (e->next) e->next->prev = e->prev;
    *root = merge(*root, rest);
}

/* ---- a pool's heaps, and its row of lists to be searched ---- */

static void row_add(struct orr_jobpool_entry **root, struct orr_jobpool_entry *e)
{
    e->prev = NULL;
    e->next = *root;
    if (*root) (*root)->prev = e;
    *root = e;
}

static void row_remove(struct orr_jobpool_entry **root, struct orr_jobpool_entry *e)
{
    if (e->prev)
        e->prev->next = e->next;
    else
        *root = e->next;
    if (e->next) e->next->prev = e->prev;
}

static void add_locked(struct pool *p, struct orr_jobpool_entry **root, struct orr_jobpool_entry *e)
{
    e->root = root;
    (root == &p->row ? row_add : heap_add)(root, e);
}

static void remove_locked(struct pool *p, struct orr_jobpool_entry *e)
{
    (e->root == &p->row ? row_remove : heap_remove)(e->root, e);
    e->root = NULL;
}

/* ---- who can run what ---- */

bool orr_job_suits(const struct orr_job_place *place, const struct orr_worker *w, bool member)
{
    if (orr_unlikely(place->bound >= 0)) return place->bound == w->id;
    if (!member || !(place->where & w->where)) return false;
    return orr_likely(!place->restricted) || (place->capable[w->id / 64] >> (w->id % 64) & 1);
}

/* ---- lists come and go ---- */

/* Called with count_lock held. */
static void tell_workers_locked(void)
{
    for (unsigned i = 0; i < orr_worker_count; i++) orr_store_seq(&orr_workers[i].lists, lists > 0);
}

void orr_jobpool_open(struct orr_jobpool_entry *e, struct orrery_joblist *list)
{
    *e = (struct orr_jobpool_entry){ .list = list };
    pthread_mutex_lock(&count_lock);
    if (++lists == 1) tell_workers_locked();
    pthread_mutex_unlock(&count_lock);
}

static void take_out_locked(struct pool *p, struct orr_jobpool_entry *e)
{
    if (!e->root) return;
    remove_locked(p, e);
    orr_sub_seq(&p->waiting, e->waiting);
    orr_sub_seq(&p->ready, 1u);
}

void orr_jobpool_close(struct orr_jobpool_entry *e, unsigned sched_ctx)
{
    struct pool *p = &pools[sched_ctx];
    orr_spin_lock(&p->lock);
    take_out_locked(p, e);
    orr_spin_unlock(&p->lock);
    pthread_mutex_lock(&count_lock);
    if (--lists == 0) tell_workers_locked();
    pthread_mutex_unlock(&count_lock);
}

void orr_jobpool_workers_start(void)
{
    pthread_mutex_lock(&count_lock);
    tell_workers_locked();
    pthread_mutex_unlock(&count_lock);
}

/* ---- news ---- */

/* The heap of lists whose first job these workers can run; the row when there are too many sets. */
static struct orr_jobpool_entry **root_for_set(struct pool *p, const uint64_t *capable)
{
    int unused = -1;
    for (int i = 0; i < SETS; i++) {
        if (!p->set[i].root)
            unused = i;
        else if (memcmp(p->set[i].capable, capable, sizeof p->set[i].capable) == 0)
            return &p->set[i].root;
    }
    if (unused < 0) return &p->row;
    memcpy(p->set[unused].capable, capable, sizeof p->set[unused].capable);
    return &p->set[unused].root;
}

/* The heap of lists whose first job may run where this one may. */
static struct orr_jobpool_entry **root_for(struct pool *p, const struct orr_job_place *place)
{
    if (place->bound >= 0) return &p->bound[place->bound];
    if (place->restricted) return root_for_set(p, place->capable);
    for (int i = 0; i < ORR_JOBPOOL_CLASSES; i++) {
        if (p->where[i] == 0) p->where[i] = place->where;
        if (p->where[i] == place->where) return &p->root[i];
    }
    return &p->row;
}

/* What is left of a list: by models as far as they go; a job that none knows counts as an average one. */
static double work_left(struct pool *p, const struct orr_jobpool_news *news)
{
    if (news->known) p->mean_us = news->known_us / (double)news->known;
    return news->known_us + (double)(news->left - news->known) * (p->mean_us > 0 ? p->mean_us : 1.0);
}

static void put_in_locked(struct pool *p, struct orr_jobpool_entry *e, const struct orr_jobpool_news *news)
{
    e->place = news->place;
    e->work = work_left(p, news);
    e->waiting = news->waiting < 1 ? 1 : news->waiting > WAITING_MAX ? WAITING_MAX : (uint32_t)news->waiting;
    add_locked(p, root_for(p, &e->place), e);
    orr_add_seq(&p->waiting, e->waiting);
    orr_add_seq(&p->ready, 1u); /* pairs with the last look in park.c */
}

static void wake(unsigned sched_ctx, const struct orr_job_place *place, uint32_t waiting)
{
    struct orr_ctx *ctx = &orr_contexts[sched_ctx];
    if (place->bound >= 0)
        orr_wake_worker(&orr_workers[place->bound]);
    else if (place->restricted || !orr_load_seq(&orr_parking.plain) || (ctx->policy->flags & ORR_POLICY_USER))
        orr_wake_each(ctx);
    else
        orr_wake_any(ctx, waiting);
}

void orr_jobpool_hear(struct orr_jobpool_entry *e, unsigned sched_ctx, const struct orr_jobpool_news *news)
{
    struct pool *p = &pools[sched_ctx];
    orr_spin_lock(&p->lock);
    bool newer = news->version > e->version;
    if (newer) {
        e->version = news->version;
        if (!e->root) e->serial = p->serials++;
        take_out_locked(p, e);
        if (news->place.ready) put_in_locked(p, e, news);
    }
    uint32_t waiting = orr_load_relaxed(&p->waiting);
    orr_spin_unlock(&p->lock);
    if (newer && news->place.ready) wake(sched_ctx, &news->place, waiting);
}

void orr_jobpool_grown(unsigned sched_ctx, uint64_t waiting)
{
    if (orr_load_seq(&orr_parking.plain)) /* elsewhere everybody was woken when the list became ready */
        orr_wake_any(&orr_contexts[sched_ctx], waiting < UINT32_MAX ? (uint32_t)waiting : UINT32_MAX);
}

/* ---- choosing ---- */

static struct orr_jobpool_entry *better(struct orr_jobpool_entry *e, struct orr_jobpool_entry *best)
{
    return e && (!best || before(e, best)) ? e : best;
}

static struct orr_jobpool_entry *best_locked(struct pool *p, const struct orr_worker *w, bool member)
{
    struct orr_jobpool_entry *best = p->bound[w->id];
    if (!member) return best;
    for (int i = 0; i < ORR_JOBPOOL_CLASSES && p->where[i]; i++)
        if (p->where[i] & w->where) best = better(p->root[i], best);
    for (int i = 0; i < SETS; i++)
        if (p->set[i].root && orr_job_suits(&p->set[i].root->place, w, true))
            best = better(p->set[i].root, best);
    for (struct orr_jobpool_entry *e = p->row; e; e = e->next)
        if (orr_job_suits(&e->place, w, true)) best = better(e, best);
    return best;
}

/* A key changes: the entry finds its place again. */
static void set_workers_locked(struct pool *p, struct orr_jobpool_entry *e, unsigned workers)
{
    struct orr_jobpool_entry **root = e->root;
    if (root) remove_locked(p, e);
    e->workers = workers;
    if (root) add_locked(p, root, e);
}

static struct orrery_joblist *pick_from(unsigned id, struct orr_worker *w, bool member)
{
    struct pool *p = &pools[id];
    orr_spin_lock(&p->lock);
    struct orr_jobpool_entry *e = best_locked(p, w, member);
    struct orrery_joblist *list = e ? e->list : NULL;
    if (e) {
        set_workers_locked(p, e, e->workers + 1);
        orr_joblist_ref(list);
    }
    orr_spin_unlock(&p->lock);
    return list;
}

struct orrery_joblist *orr_jobpool_pick_among(struct orr_worker *w, unsigned first, unsigned end)
{
    for (unsigned k = 0, n = end - first; k < n; k++) {
        unsigned id = w->serves[first + (w->serves_turn + k) % n].ctx->id;
        struct orrery_joblist *list = orr_load_seq(&pools[id].ready) > 0 ? pick_from(id, w, true) : NULL;
        if (!list) continue;
        w->serves_turn += k + 1;
        return list;
    }
    return NULL;
}

struct orrery_joblist *orr_jobpool_pick(struct orr_worker *w)
{
    struct orrery_joblist *list = NULL;
    for (unsigned i = 0, end; !list && i < w->serves_count; i = end) {
        end = orr_serve_rank_end(w, i);
        list = orr_jobpool_pick_among(w, i, end);
    }
    for (unsigned id = 0; id < STARPU_NMAX_SCHED_CTXS && !list;
         id++) /* jobs bound to it, wherever they are */
        if (orr_load_seq(&pools[id].ready) > 0 && !(orr_load_relaxed(&w->in) >> id & 1))
            list = pick_from(id, w, false);
    return list;
}

void orr_jobpool_leave(struct orr_jobpool_entry *e, unsigned sched_ctx)
{
    struct pool *p = &pools[sched_ctx];
    orr_spin_lock(&p->lock);
    set_workers_locked(p, e, e->workers - 1);
    orr_spin_unlock(&p->lock);
}

unsigned orr_jobpool_workers(struct orr_jobpool_entry *e, unsigned sched_ctx)
{
    struct pool *p = &pools[sched_ctx];
    orr_spin_lock(&p->lock);
    unsigned workers = e->workers;
    orr_spin_unlock(&p->lock);
    return workers;
}

uint32_t orr_jobpool_backlog(const struct orr_worker *w)
{
    uint32_t n = 0;
    for (unsigned i = 0; i < STARPU_NMAX_SCHED_CTXS; i++) {
        uint32_t waiting = orr_load_relaxed(&pools[i].waiting);
        if (waiting > 0 && (orr_load_relaxed(&w->in) >> i & 1)) n += waiting;
    }
    return n;
}
