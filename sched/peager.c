/* SPDX-License-Identifier: BSD-3-Clause */
/* peager.c: eager and prio, for parallel tasks as well (peager, pprio): they wait in central queues of their
 * own, and the first worker of a combined worker, its master, takes one for all its members. Threads: any
 * pushes; workers pop. Owns: the queues. Not here: how several run a task (core/worker/parallel.c), combined
 * workers (core/worker/combined.c).
 *
 * A parallel task waits for the largest size of combined worker that there is for it. A master takes plain
 * and parallel tasks in turn, the others plain ones; with parts of parallel tasks before both. Where no
 * combined worker will do, the task is a plain one.
 *
 * Nothing that we know says more of pprio than its name and its neighbours do: we take it for a parallel
 * prio. It differs in this: what has the higher priority goes first, plain or parallel; those of one priority
 * in turn. A parallel task with workerids or can_execute goes to its team at once, under both. */
#include <starpu.h>

#include "core/base/alloc.h"
#include "core/worker/parallel.h"
#include "sched/pool.h"

enum { SIZES = 16 };

struct peager {
    struct orr_ctx *ctx;
    struct orr_pool *plain;
    bool by_priority; /* pprio [const] */
    struct orr_combined_view view;
    ORR_MUTEX(peager) lock;              /* protects adding sizes; leaf */
    _Atomic unsigned nsizes;             /* publishes the entries below it */
    unsigned size[SIZES];                /* [const below nsizes] */
    struct orr_pool *shared[SIZES];      /* [const below nsizes] tasks for combined workers of that size */
    bool plain_last[STARPU_NMAXWORKERS]; /* whose turn it is [own: worker] */
};

static void peager_destroy(void *instance)
{
    struct peager *p = instance;
    for (unsigned i = 0; i < orr_load_relaxed(&p->nsizes); i++) orr_pool_destroy(p->shared[i]);
    orr_pool_destroy(p->plain);
    pthread_mutex_destroy(&p->lock);
    orr_free(p);
}

static void *peager_create(struct orr_ctx *ctx)
{
    struct peager *p = orr_calloc(1, sizeof *p);
    if (!p) return NULL;
    p->ctx = ctx;
    pthread_mutex_init(&p->lock, NULL);
    p->plain = orr_pool_create();
    if (p->plain) return p;
    orr_free(p);
    return NULL;
}

static void *create_by_priority(struct orr_ctx *ctx)
{
    struct peager *p = peager_create(ctx);
    if (p) p->by_priority = true;
    return p;
}

/* ---- combined workers for a task ---- */

static bool is_parallel(const struct orr_task *t)
{
    return t->pub->cl->type != STARPU_SEQ && orr_task_may_use(t, 2);
}

/* The largest one for t; of those that worker `master` leads, unless that is -1. NULL: none. */
static const struct orr_combined *largest(struct peager *p, struct orr_task *t, int master,
                                          unsigned *nimpl_out)
{
    const struct orr_combined *best = NULL;
    for (unsigned i = 0, n = orr_combined_count(); i < n; i++) {
        const struct orr_combined *c = orr_combined_at(i);
        if (c->size < 2 || (best && c->size <= best->size) || (master >= 0 && c->members[0] != master))
            continue;
        if (orr_combined_is_in(c, p->ctx) && orr_combined_can_run_any(c, t, nimpl_out)) best = c;
    }
    return best;
}

static bool has_master(const struct peager *p, unsigned size)
{
    for (unsigned i = 0, n = orr_combined_count(); i < n; i++) {
        const struct orr_combined *c = orr_combined_at(i);
        if (c->size == size && orr_combined_is_in(c, p->ctx)) return true;
    }
    return false;
}

static bool leads(const struct peager *p, const struct orr_worker *w, unsigned size)
{
    for (unsigned i = 0, n = orr_combined_count(); i < n; i++) {
        const struct orr_combined *c = orr_combined_at(i);
        if (c->size == size && c->members[0] == w->id && orr_combined_is_in(c, p->ctx)) return true;
    }
    return false;
}

static struct orr_pool *find_pool(struct peager *p, unsigned size)
{
    for (unsigned i = 0, n = orr_load_acquire(&p->nsizes); i < n; i++)
        if (p->size[i] == size) return p->shared[i];
    return NULL;
}

/* The tasks for combined workers of that size; NULL: no memory, or too many sizes. */
static struct orr_pool *pool_of(struct peager *p, unsigned size)
{
    struct orr_pool *pool = find_pool(p, size);
    if (orr_likely(pool != NULL)) return pool;
    pthread_mutex_lock(&p->lock);
    unsigned n = orr_load_relaxed(&p->nsizes);
    pool = find_pool(p, size);
    if (!pool && n < SIZES && (pool = orr_pool_create()) != NULL) {
        p->size[n] = size;
        p->shared[n] = pool;
        orr_store_release(&p->nsizes, n + 1); /* pairs with find_pool */
    }
    pthread_mutex_unlock(&p->lock);
    return pool;
}

/* ---- pushing ---- */

static void push_plain(struct peager *p, struct orr_task *t)
{
    bool universal = orr_task_is_universal(t, p->plain->kinds);
    orr_pool_push(p->plain, t);
    if (orr_likely(universal))
        orr_wake_any(p->ctx, orr_queue_length(&p->plain->queue[0]));
    else
        orr_wake_each(p->ctx);
}

static void peager_push(void *instance, struct orr_task *t);

/* Tasks of a size of which no combined worker is left: a worker that leaves looks for them afterwards, and a
 * push looks afterwards whether there is a master. */
static void decide_anew(struct peager *p, struct orr_pool *pool, unsigned size)
{
    struct orr_task *t;
    for (unsigned i = 0; i < orr_worker_count; i++)
        while (!has_master(p, size) && (t = orr_pool_pop(pool, &orr_workers[i])) != NULL) {
            t->nimpl_valid = 0;
            peager_push(p, t);
        }
}

static void wake_masters(struct peager *p, unsigned size, uint32_t where)
{
    if (where != STARPU_CPU) { /* a device alone may take it, too */
        orr_wake_each(p->ctx);
        return;
    }
    for (unsigned i = 0, n = orr_combined_count(); i < n; i++)
        if (orr_combined_at(i)->size == size) orr_wake_worker(&orr_workers[orr_combined_at(i)->members[0]]);
}

static void peager_push(void *instance, struct orr_task *t)
{
    struct peager *p = instance;
    const struct orr_combined *c = NULL;
    unsigned nimpl;
    if (orr_unlikely(is_parallel(t))) {
        orr_combined_refresh(&p->view, p->ctx);
        c = largest(p, t, -1, &nimpl);
    }
    if (orr_likely(!c)) {
        push_plain(p, t);
        return;
    }
    bool picky = t->pub->cl->can_execute || t->pub->workerids_len;
    struct orr_pool *pool = picky ? NULL : pool_of(p, c->size);
    if (pool) {
        uint32_t where = orr_task_where(t->pub) & pool->kinds; /* t may be gone once it is in the pool */
        orr_pool_push(pool, t);
        wake_masters(p, c->size, where);
        if (orr_unlikely(!has_master(p, c->size)))
            decide_anew(p, pool, c->size); /* pairs with remove_workers */
    } else if (orr_team_push(c, t) != 0) {
        push_plain(p, t);
    }
}

/* ---- popping ---- */

/* Hands t, which w has taken, to all it leads; returns t when w is to run it alone. */
static struct orr_task *distribute(struct peager *p, struct orr_worker *w, struct orr_task *t)
{
    unsigned nimpl;
    const struct orr_combined *c = w->type == STARPU_CPU_WORKER ? largest(p, t, w->id, &nimpl) : NULL;
    t->nimpl_valid = 0;
    return c && orr_team_push(c, t) == 0 ? NULL : t;
}

static bool serves(const struct peager *p, const struct orr_worker *w, unsigned i)
{
    return orr_pool_length(p->shared[i]) > 0 && (w->type != STARPU_CPU_WORKER || leads(p, w, p->size[i]));
}

/* The size to take from: the first, or the one whose first task has the highest priority; its priority. -1:
 * there is nothing. */
static int choose_shared(struct peager *p, const struct orr_worker *w, int64_t *top_out)
{
    int best = -1;
    *top_out = INT64_MIN;
    for (unsigned i = 0, n = orr_load_acquire(&p->nsizes); i < n; i++) {
        int64_t top = 0;
        if (!serves(p, w, i) || (p->by_priority && (top = orr_pool_top(p->shared[i], w)) <= *top_out))
            continue;
        *top_out = top;
        best = (int)i;
        if (!p->by_priority) break;
    }
    return best;
}

/* A task of the shared queues that w can take, or lead others in. */
static struct orr_task *pop_shared(struct peager *p, struct orr_worker *w)
{
    int64_t top;
    int first = choose_shared(p, w, &top);
    struct orr_task *t = first >= 0 ? orr_pool_pop(p->shared[first], w) : NULL;
    for (unsigned i = 0, n = orr_load_acquire(&p->nsizes); !t && first >= 0 && i < n; i++)
        if (serves(p, w, i)) t = orr_pool_pop(p->shared[i], w); /* another was faster there */
    return t;
}

/* Whether w is to look at plain tasks before parallel ones. */
static bool plain_goes_first(struct peager *p, struct orr_worker *w)
{
    bool plain_first = !p->plain_last[w->id];
    int64_t shared, plain;
    if (p->by_priority && choose_shared(p, w, &shared) >= 0 && (plain = orr_pool_top(p->plain, w)) != shared)
        plain_first = plain > shared;
    p->plain_last[w->id] = plain_first;
    return plain_first;
}

static struct orr_task *peager_pop(void *instance, struct orr_worker *w)
{
    struct peager *p = instance;
    if (orr_likely(orr_load_acquire(&p->nsizes) == 0)) return orr_pool_pop(p->plain, w);
    bool plain_first = plain_goes_first(p, w);
    struct orr_task *t = plain_first ? orr_pool_pop(p->plain, w) : NULL;
    if (t) return t;
    if ((t = pop_shared(p, w)) != NULL)
        return distribute(p, w, t); /* its own part is in its queue: it looks again */
    return plain_first ? NULL : orr_pool_pop(p->plain, w);
}

static bool peager_may_keep(void *instance, struct orr_task *t, struct orr_worker *w)
{
    struct peager *p = instance;
    int64_t shared;
    if (is_parallel(t) || !orr_queue_would_lead(&p->plain->queue[0], t->priority)) return false;
    return !p->by_priority || choose_shared(p, w, &shared) < 0 || t->priority > shared;
}

static uint32_t backlog(void *instance, struct orr_worker *w)
{
    struct peager *p = instance;
    uint32_t waiting = orr_pool_length(p->plain);
    for (unsigned i = 0, n = orr_load_acquire(&p->nsizes); i < n; i++) {
        uint32_t length = orr_pool_length(p->shared[i]);
        if (length && (w->type != STARPU_CPU_WORKER || leads(p, w, p->size[i]))) waiting += length;
    }
    return waiting;
}

static void peager_remove_workers(void *instance, const int *workers, unsigned count)
{
    struct peager *p = instance;
    (void)workers;
    (void)count;
    for (unsigned i = 0, n = orr_load_acquire(&p->nsizes); i < n; i++)
        decide_anew(p, p->shared[i], p->size[i]); /* pairs with push */
}

const struct orr_policy_ops orr_policy_peager = {
    .name = "peager",
    .description = "like eager; parallel tasks go to combined workers",
    .flags = ORR_POLICY_COMBINES,
    .create = peager_create,
    .destroy = peager_destroy,
    .remove_workers = peager_remove_workers,
    .push = peager_push,
    .pop = peager_pop,
    .may_keep = peager_may_keep,
    .backlog = backlog,
};

const struct orr_policy_ops orr_policy_pprio = {
    .name = "pprio",
    .description = "like prio; parallel tasks go to combined workers, those of the highest priority first",
    .flags = ORR_POLICY_COMBINES,
    .min_priority = -5,
    .max_priority = 5,
    .create = create_by_priority,
    .destroy = peager_destroy,
    .remove_workers = peager_remove_workers,
    .push = peager_push,
    .pop = peager_pop,
    .may_keep = peager_may_keep,
    .backlog = backlog,
};
