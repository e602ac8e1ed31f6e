/* SPDX-License-Identifier: BSD-3-Clause */
/* ready.c: where a ready task goes: to a worker, a combined worker, the policy; or it stays where it is.
 * Threads: any. Owns: the tasks of contexts that have no worker. Not here: a worker's own queue (local.c),
 * policies. */
#include "core/worker/worker.h"

#include "core/mem/node.h"
#include "core/task/prefetch.h"
#include "core/worker/elsewhere.h"
#include "core/worker/parallel.h"
#include "core/worker/tally.h"
#include "core/worker/tell.h"

enum { KEPT_IN_A_ROW_MAX = 64 };

static bool may_keep(struct orr_task *t)
{
    struct orr_worker *w = orr_worker_self();
    const struct starpu_task *p = t->pub;
    if (!w || !w->direct || p->execute_on_a_specific_worker || t->sched_ctx != w->ctx->id) return false;
    if (orr_unlikely(w->list != NULL)) return false; /* it stays with its list */
    if (!(orr_task_where(p) & w->where) || p->cl->can_execute || p->workerids_len) return false;
    if (++w->kept_in_a_row > KEPT_IN_A_ROW_MAX) {
        w->kept_in_a_row = 0;
        return false;
    }
    const struct orr_policy_ops *policy = w->ctx->policy;
    if (!policy->may_keep || !policy->may_keep(w->ctx->instance, t, w)) return false;
    if (orr_unlikely(t->sched_ctx != 0)) orr_tally_ready(t);
    return true;
}

/* Keeps a ready task of a context without workers; false when it has some now. */
static bool hold(struct orr_ctx *ctx, struct orr_task *t)
{
    orr_spin_lock(&ctx->held_lock);
    bool held = orr_load_seq(&ctx->nworkers) == 0; /* pairs with enlist in member.c */
    if (held) {
        t->next = ctx->held;
        ctx->held = t;
    }
    orr_spin_unlock(&ctx->held_lock);
    return held;
}

/* t is bound to combined worker c. Without memory for that, to its first worker. */
static void push_combined(struct orr_ctx *ctx, const struct orr_combined *c, struct orr_task *t)
{
    for (unsigned i = 0; i < c->size && ctx->policy->push_notify; i++)
        ctx->policy->push_notify(ctx->instance, t, &orr_workers[c->members[i]]);
    if (orr_team_push(c, t) == 0) return;
    t->flags |= ORR_TF_ANYWHERE;
    orr_worker_push_local(&orr_workers[c->members[0]], t, false);
}

static void push_to_policy(struct orr_task *t)
{
    struct starpu_task *p = t->pub;
    struct orr_ctx *ctx = &orr_contexts[t->sched_ctx];
    if (orr_unlikely(p->execute_on_a_specific_worker)) {
        const struct orr_combined *c = orr_combined_get(p->workerid);
        if (orr_unlikely(c != NULL)) {
            push_combined(ctx, c, t);
            return;
        }
        struct orr_worker *w = &orr_workers[p->workerid];
        if (ctx->policy->push_notify) ctx->policy->push_notify(ctx->instance, t, w);
        orr_tell_placed(t, w);
        if (orr_unlikely(orr_node_count > 1) && starpu_get_prefetch_flag())
            orr_task_prefetch(p, w->node, p->priority, false);
        orr_worker_push_local(w, t, false);
        return;
    }
    if (orr_unlikely(orr_load_relaxed(&ctx->nworkers) == 0)) {
        ORR_EVENT(TASK_STRANDED, t, t->id, t->sched_ctx, 0);
        if (hold(ctx, t)) return;
    }
    if (orr_unlikely(orr_load_relaxed(&ctx->avoids))) orr_task_avoid_devices_out(t);
    ctx->policy->push(ctx->instance, t);
}

/* A ready task goes to its worker or policy. Others may end it before the policy has done with its push:
 * those of contexts that may be deleted then are in use meanwhile. */
static void push_ready(struct orr_task *t)
{
    if (orr_likely(t->sched_ctx == 0)) {
        push_to_policy(t);
        return;
    }
    struct orr_worker_thread *own = orr_worker_own();
    uint32_t outer = orr_ctx_use_begin(own, t->sched_ctx);
    orr_tally_ready(t);
    push_to_policy(t);
    orr_ctx_use_end(own, outer);
}

void orr_ctx_push_held(struct orr_ctx *ctx)
{
    orr_spin_lock(&ctx->held_lock);
    struct orr_task *t = ctx->held, *first = NULL;
    ctx->held = NULL;
    orr_spin_unlock(&ctx->held_lock);
    for (struct orr_task *next; t; t = next) { /* back into their order */
        next = t->next;
        t->next = first;
        first = t;
    }
    for (struct orr_task *next; first; first = next) {
        next = first->next;
        push_ready(first);
    }
}

void orr_ready_init(void)
{
    for (unsigned i = 0; i < STARPU_NMAX_SCHED_CTXS; i++) orr_store_relaxed(&orr_contexts[i].avoids, false);
    orr_task_hooks.push = push_ready;
    orr_task_hooks.may_keep = may_keep;
}
