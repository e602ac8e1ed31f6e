/* SPDX-License-Identifier: BSD-3-Clause */
/* eager.c: one central queue for all workers: eager, first in first out, but tasks whose priority is not 0 go
 * to its front; prio, sorted by priority. Threads: any pushes; workers pop. Owns: the pool. Not here: the
 * queue (queue.c). The default policy. */
#include "sched/pool.h"

struct central {
    struct orr_pool *pool;
    struct orr_ctx *ctx;
};

#include "core/base/alloc.h"

static void *eager_create(struct orr_ctx *ctx, struct orr_pool *pool)
{
    struct central *c = orr_calloc(1, sizeof *c);
    if (c && pool) {
        *c = (struct central){ .pool = pool, .ctx = ctx };
        return c;
    }
    if (pool) orr_pool_destroy(pool);
    orr_free(c);
    return NULL;
}

static void *create_eager(struct orr_ctx *ctx)
{
    return eager_create(ctx, orr_pool_create_with_fronts());
}

static void *create_prio(struct orr_ctx *ctx)
{
    return eager_create(ctx, orr_pool_create());
}

static void eager_destroy(void *instance)
{
    struct central *c = instance;
    orr_pool_destroy(c->pool);
    orr_free(c);
}

static void eager_push(void *instance, struct orr_task *t)
{
    struct central *c = instance;
    orr_pool_give(c->pool, c->ctx, t);
}

static struct orr_task *eager_pop(void *instance, struct orr_worker *w)
{
    return orr_pool_pop(((struct central *)instance)->pool, w);
}

static bool eager_may_keep(void *instance, struct orr_task *t, struct orr_worker *w)
{
    (void)w;
    return orr_queue_would_lead(&((struct central *)instance)->pool->queue[0], t->priority);
}

static uint32_t backlog(void *instance, struct orr_worker *w)
{
    (void)w;
    return orr_pool_length(((struct central *)instance)->pool);
}

const struct orr_policy_ops orr_policy_eager = {
    .name = "eager",
    .description = "central queue, first come first served, for tasks without performance models",
    .create = create_eager,
    .destroy = eager_destroy,
    .push = eager_push,
    .pop = eager_pop,
    .may_keep = eager_may_keep,
    .backlog = backlog,
};

const struct orr_policy_ops orr_policy_prio = {
    .name = "prio",
    .description = "central queue sorted by the priority the program gives",
    .min_priority = -5, /* what lies outside is sorted as well */
    .max_priority = 5,
    .create = create_prio,
    .destroy = eager_destroy,
    .push = eager_push,
    .pop = eager_pop,
    .may_keep = eager_may_keep,
    .backlog = backlog,
};
