/* SPDX-License-Identifier: BSD-3-Clause */
/* ws.c: work stealing: a queue for each worker; a task goes to the worker that released it, tasks from
 * elsewhere go round; an idle worker steals, from the most loaded one (ws) or from its neighbours (lws).
 * Threads: any pushes; workers pop. Owns: the queues. Not here: the queue (queue.c).
 * A worker that leaves the context leaves its queue behind for the others, who look there as well from then
 * on. After R. Blumofe, C. Leiserson, "Scheduling multithreaded computations by work stealing" (J. ACM 46(5),
 * 1999). */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/topo/topo.h"
#include "core/worker/tell.h"
#include "sched/pool.h"

struct stealing {
    struct orr_ctx *ctx;
    uint32_t kinds;
    struct orr_pool *special;                /* tasks that not every worker can run */
    unsigned count;                          /* queues: one for each worker of the process [const] */
    ORR_ALIGNED_LINE _Atomic uint32_t round; /* whose turn it is for tasks from outside */
    _Atomic uint32_t special_count;          /* [any: hint] special has been used */
    _Atomic uint32_t left;                   /* workers have left: queues of others may have tasks */
    uint16_t
        *victims; /* lws: for each worker the others, the nearest first [const]; NULL: as they are numbered */
    struct orr_queue queue[];
};

static void ws_destroy(void *instance)
{
    struct stealing *s = instance;
    for (unsigned i = 0; i < s->count; i++) orr_queue_fini(&s->queue[i]);
    if (s->special) orr_pool_destroy(s->special);
    orr_free(s->victims);
    orr_free(s);
}

static void *ws_create(struct orr_ctx *ctx)
{
    size_t bytes = sizeof(struct stealing) + orr_worker_count * sizeof(struct orr_queue);
    struct stealing *s = orr_malloc_aligned(ORR_CACHE_LINE, bytes);
    if (!s) return NULL;
    memset(s, 0, bytes);
    s->ctx = ctx;
    s->kinds = orr_worker_kinds();
    s->special = orr_pool_create();
    for (; s->special && s->count < orr_worker_count; s->count++)
        if (orr_queue_init(&s->queue[s->count]) != 0) break;
    if (s->special && s->count == orr_worker_count) return s;
    ws_destroy(s);
    return NULL;
}

static int by_nearness(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Fills in whom worker w robs, in order: who shares the most levels of the machine (caches, sockets) with it
 * first, of those the next by number. */
static void find_victims(const struct stealing *s, unsigned w, uint32_t *key, uint16_t *victims)
{
    for (unsigned distance = 1; distance < s->count; distance++) {
        int here = orr_workers[w].bindid, there = orr_workers[(w + distance) % s->count].bindid;
        int shared = here < 0 || there < 0 ? 0 : orr_topo_shared_depth((unsigned)here, (unsigned)there);
        key[distance - 1] = (uint32_t)shared << 16 | (UINT16_MAX - distance);
    }
    qsort(key, s->count - 1, sizeof *key, by_nearness);
    for (unsigned i = 0; i + 1 < s->count; i++)
        victims[i] = (uint16_t)((w + UINT16_MAX - (key[i] & UINT16_MAX)) % s->count);
}

static void *create_lws(struct orr_ctx *ctx)
{
    struct stealing *s = ws_create(ctx);
    if (!s || s->count < 3) return s;
    uint32_t *key = orr_malloc((s->count - 1) * sizeof *key);
    s->victims = key ? orr_malloc(s->count * (s->count - 1) * sizeof *s->victims) : NULL;
    for (unsigned w = 0; s->victims && w < s->count; w++)
        find_victims(s, w, key, s->victims + w * (s->count - 1));
    orr_free(key);
    return s;
}

/* The worker that releases a task, else one after another.
 * It may just be leaving, or be nobody's any more. */
static unsigned choose_queue(struct stealing *s)
{
    struct orr_worker *self = orr_worker_self();
    if (self && (self->ctx == s->ctx || orr_ctx_has(s->ctx, (unsigned)self->id))) return (unsigned)self->id;
    unsigned n = orr_load_relaxed(&s->ctx->nworkers);
    return n ? (unsigned)orr_load_relaxed(&s->ctx->workers[orr_add_relaxed(&s->round, 1u) % n]) : 0;
}

static void ws_push(void *instance, struct orr_task *t)
{
    struct stealing *s = instance;
    if (orr_unlikely(!orr_task_is_universal(t, s->kinds))) {
        orr_store_seq(&s->special_count, 1u);
        orr_pool_push(s->special, t);
        orr_wake_each(s->ctx);
        return;
    }
    unsigned to = choose_queue(s);
    orr_tell_placed(t, &orr_workers[to]);
    orr_queue_push(&s->queue[to], t);
    orr_wake_any(s->ctx, orr_queue_length(&s->queue[to]));
}

static void ws_remove_workers(void *instance, const int *workers, unsigned count)
{
    (void)workers;
    (void)count;
    orr_store_seq(&((struct stealing *)instance)->left, 1u);
}

/* Whether queue i is one where a worker of the context looks. */
static bool is_looked_at(struct stealing *s, unsigned i)
{
    return orr_ctx_has(s->ctx, i) || orr_load_seq(&s->left);
}

/* Neighbours first. */
static struct orr_task *steal_from_neighbours(struct stealing *s, struct orr_worker *w)
{
    const uint16_t *victims = s->victims ? s->victims + (unsigned)w->id * (s->count - 1) : NULL;
    for (unsigned i = 1; i < s->count; i++) {
        unsigned id = victims ? victims[i - 1] : ((unsigned)w->id + i) % s->count;
        struct orr_task *t = is_looked_at(s, id) ? orr_queue_pop(&s->queue[id]) : NULL;
        if (t) return t;
    }
    return NULL;
}

static struct orr_task *steal_from_most_loaded(struct stealing *s, struct orr_worker *w)
{
    unsigned victim = 0;
    uint32_t most = 0;
    for (unsigned id = 0; id < s->count; id++) {
        if (id == (unsigned)w->id || !is_looked_at(s, id)) continue;
        uint32_t length = orr_queue_length(&s->queue[id]);
        if (length > most) {
            most = length;
            victim = id;
        }
    }
    struct orr_task *t = most ? orr_queue_pop(&s->queue[victim]) : NULL;
    return t ? t : steal_from_neighbours(s, w); /* before it sleeps, a worker has looked everywhere */
}

typedef struct orr_task *(*steal_fn)(struct stealing *, struct orr_worker *);

static struct orr_task *pop_or_steal(struct stealing *s, struct orr_worker *w, steal_fn steal)
{
    struct orr_task *t;
    if (orr_unlikely(orr_load_seq(&s->special_count)) && (t = orr_pool_pop(s->special, w))) return t;
    if ((t = orr_queue_pop(&s->queue[w->id])) || (t = steal(s, w))) return orr_first_impl(w, t);
    return NULL;
}

static struct orr_task *pop_ws(void *instance, struct orr_worker *w)
{
    return pop_or_steal(instance, w, steal_from_most_loaded);
}

static struct orr_task *pop_lws(void *instance, struct orr_worker *w)
{
    return pop_or_steal(instance, w, steal_from_neighbours);
}

static bool ws_may_keep(void *instance, struct orr_task *t, struct orr_worker *w)
{
    return orr_queue_would_lead(&((struct stealing *)instance)->queue[w->id], t->priority);
}

static uint32_t backlog(void *instance, struct orr_worker *w)
{
    struct stealing *s = instance;
    uint32_t n = orr_load_seq(&s->special_count) ? orr_pool_length(s->special) : 0;
    (void)w;
    for (unsigned i = 0; i < s->count; i++)
        if (is_looked_at(s, i)) n += orr_queue_length(&s->queue[i]);
    return n;
}

const struct orr_policy_ops orr_policy_ws = {
    .name = "ws",
    .description = "work stealing from the most loaded worker",
    .min_priority = INT_MIN,
    .max_priority = INT_MAX,
    .create = ws_create,
    .destroy = ws_destroy,
    .remove_workers = ws_remove_workers,
    .push = ws_push,
    .pop = pop_ws,
    .may_keep = ws_may_keep,
    .backlog = backlog,
};

const struct orr_policy_ops orr_policy_lws = {
    .name = "lws",
    .description = "locality work stealing: from neighbours first, by priority",
    .min_priority = INT_MIN,
    .max_priority = INT_MAX,
    .create = create_lws,
    .destroy = ws_destroy,
    .remove_workers = ws_remove_workers,
    .push = ws_push,
    .pop = pop_lws,
    .may_keep = ws_may_keep,
    .backlog = backlog,
};
