/* SPDX-License-Identifier: BSD-3-Clause */
/* serve.c: see serve.h.
 * Threads: the worker's. Owns: the policies "none" and "several", which no program sees. Not here: sleeping
 * of workers all of whose policies are built in (park.c).
 *
 * The promise to the program's policies is that a worker's mutex is held from pop_task's answer NULL until
 * the worker sleeps on its condition. With several contexts: built-in policies are asked first, once the
 * worker is counted as parked, so that a push to one of them finds it; then the program's, without letting
 * the mutex go in between. A push to a built-in policy meanwhile sets keep_awake under that mutex. */
#include "core/worker/serve.h"

#include "core/worker/park.h"

/* ---- workers of no context, and of several ---- */

static struct orr_task *pop_none(void *instance, struct orr_worker *w)
{
    (void)instance;
    (void)w;
    return NULL;
}

static bool is_user(const struct orr_ctx *ctx)
{
    return ctx->policy->flags & ORR_POLICY_USER;
}

typedef struct orr_task *(*pop_fn)(struct orr_ctx *ctx, struct orr_worker *w, void *arg);

/* Asks contexts of one rank, from the one after that which gave the last task. */
static struct orr_task *pop_among(struct orr_worker *w, unsigned first, unsigned end, pop_fn pop, void *arg)
{
    for (unsigned k = 0, n = end - first; k < n; k++) {
        struct orr_task *t = pop(w->serves[first + (w->serves_turn + k) % n].ctx, w, arg);
        if (!t) continue;
        w->serves_turn += k + 1;
        return t;
    }
    return NULL;
}

/* Asks the contexts one by one: the highest rank first, equals in turn. */
static struct orr_task *pop_in_turn(struct orr_worker *w, pop_fn pop, void *arg)
{
    struct orr_task *t = NULL;
    for (unsigned i = 0, end; !t && i < w->serves_count; i = end) {
        end = orr_serve_rank_end(w, i);
        t = pop_among(w, i, end, pop, arg);
    }
    return t;
}

static struct orr_task *pop_any(struct orr_ctx *ctx, struct orr_worker *w, void *arg)
{
    (void)arg;
    return ctx->policy->pop(ctx->instance, w);
}

static struct orr_task *pop_several(void *instance, struct orr_worker *w)
{
    (void)instance;
    return pop_in_turn(w, pop_any, NULL);
}

struct orr_task *orr_serve_pop_among(struct orr_worker *w, unsigned first, unsigned end)
{
    return pop_among(w, first, end, pop_any, NULL);
}

static uint32_t backlog_several(void *instance, struct orr_worker *w)
{
    uint32_t n = 0;
    (void)instance;
    for (unsigned i = 0; i < w->serves_count; i++) {
        struct orr_ctx *ctx = w->serves[i].ctx;
        if (ctx->policy->backlog) n += ctx->policy->backlog(ctx->instance, w);
    }
    return n;
}

static const struct orr_policy_ops none_ops = { .name = "none", .pop = pop_none };
static const struct orr_policy_ops several_ops = { .name = "several",
                                                   .pop = pop_several,
                                                   .backlog = backlog_several };
static struct orr_ctx no_ctx = { .id = STARPU_NMAX_SCHED_CTXS, .policy = &none_ops };
static struct orr_ctx several_ctx = { .id = STARPU_NMAX_SCHED_CTXS, .policy = &several_ops };

/* ---- choosing ---- */

static uint64_t rank_of(struct orr_ctx *ctx, unsigned worker)
{
    return (uint64_t)orr_load_relaxed(&ctx->worker_priority[worker]) << 32 | ctx->hierarchy_level;
}

static void list_serve(struct orr_worker *w, struct orr_ctx *ctx)
{
    uint64_t rank = rank_of(ctx, (unsigned)w->id);
    unsigned at = w->serves_count++;
    for (; at > 0 && w->serves[at - 1].rank < rank; at--) w->serves[at] = w->serves[at - 1];
    w->serves[at].ctx = ctx;
    w->serves[at].rank = rank;
}

void orr_serve_choose(struct orr_worker *w)
{
    bool on_cond = false;
    w->serves_count = 0;
    for (uint32_t in = orr_load_relaxed(&w->in); in; in &= in - 1) {
        struct orr_ctx *ctx = &orr_contexts[__builtin_ctz(in)];
        list_serve(w, ctx);
        on_cond |= is_user(ctx);
    }
    w->ctx = w->serves_count == 0 ? &no_ctx : w->serves_count == 1 ? w->serves[0].ctx : &several_ctx;
    orr_store_seq(&w->on_cond, on_cond); /* pairs with orr_wake_worker: w looks again before it sleeps */
}

/* ---- sleeping ---- */

static struct orr_task *pop_built_in(struct orr_ctx *ctx, struct orr_worker *w, void *arg)
{
    (void)arg;
    return is_user(ctx) ? NULL : ctx->policy->pop(ctx->instance, w);
}

/* Called with w->sched_mutex held. */
static struct orr_task *pop_users_locked(struct orr_ctx *ctx, struct orr_worker *w, void *misplaced)
{
    return is_user(ctx) ? ctx->policy->pop_locked(ctx->instance, w, misplaced) : NULL;
}

static bool serves_built_in(const struct orr_worker *w)
{
    for (unsigned i = 0; i < w->serves_count; i++)
        if (!is_user(w->serves[i].ctx)) return true;
    return false;
}

static void place(struct orr_ready_list *misplaced)
{
    for (struct orr_task *t = misplaced->head, *next; t; t = next) {
        next = t->next;
        struct orr_ctx *ctx = &orr_contexts[t->sched_ctx];
        ctx->policy->place(ctx->instance, t);
    }
}

struct orr_task *orr_serve_pop_or_sleep(struct orr_worker *w)
{
    struct orr_ready_list misplaced = { NULL, NULL };
    struct orr_task *t = NULL;
    bool counted = serves_built_in(w);
    if (counted) {
        orr_add_seq(&orr_parking.parked, 1); /* pairs with the load in orr_wake_any */
        t = pop_in_turn(w, pop_built_in, NULL);
    }
    if (!t) {
        pthread_mutex_lock(&w->sched_mutex);
        t = pop_in_turn(w, pop_users_locked, &misplaced);
        if (!t && !misplaced.head) orr_sleep_on_cond_locked(w, counted);
        w->keep_awake = false;
        pthread_mutex_unlock(&w->sched_mutex);
    }
    if (counted) orr_sub_seq(&orr_parking.parked, 1);
    place(&misplaced);
    return t;
}
