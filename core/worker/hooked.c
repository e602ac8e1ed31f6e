/* SPDX-License-Identifier: BSD-3-Clause */
/* hooked.c: see hooked.h; and the observer that tells policies of submissions.
 * Threads: any. Owns: see there. Not here: see there. */
#include "core/worker/hooked.h"

#include "core/base/event.h"
#include "core/worker/worker.h"

extern struct orr_observer orr_hooked_observer;

/* The program's table, if the context has a policy of the program. */
static const struct starpu_sched_policy *user_of(const struct orr_ctx *ctx)
{
    return orr_ctx_is_programs(ctx) ? ctx->user : NULL;
}

static bool wants_to_see_bodies(const struct orr_ctx *ctx)
{
    const struct starpu_sched_policy *user = user_of(ctx);
    if (user) return user->pre_exec_hook || user->post_exec_hook;
    return ctx->policy->pre_exec || ctx->policy->post_exec;
}

void orr_hooked_open(struct orr_ctx *ctx)
{
    bool hook = ctx->policy->submit_hook && (!user_of(ctx) || user_of(ctx)->submit_hook);
    orr_store_relaxed(&ctx->sees_bodies, wants_to_see_bodies(ctx));
    orr_store_relaxed(&ctx->sees_submissions, hook);
}

void orr_hooked_consider(void)
{
    static ORR_MUTEX(hooked) lock =
        PTHREAD_MUTEX_INITIALIZER; /* one after another: the last has seen all; outside of the table's */
    uint64_t kinds = 0;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < STARPU_NMAX_SCHED_CTXS; i++) {
        struct orr_ctx *ctx = orr_ctx_get(i);
        if (!ctx) continue;
        if (orr_load_relaxed(&ctx->sees_bodies)) kinds |= ORR_EVENT_BIT(BODY_HOOKED);
        if (orr_load_relaxed(&ctx->sees_submissions)) kinds |= ORR_EVENT_BIT(TASK_SUBMITTED);
    }
    orr_observer_want(&orr_hooked_observer, kinds);
    pthread_mutex_unlock(&lock);
}

static void hooked_see(struct orr_observer *o, const struct orr_seen *e)
{
    struct orr_task *t = (struct orr_task *)e->subject;
    struct orr_ctx *ctx = &orr_contexts[t->sched_ctx];
    (void)o;
    if (t->pub->cl && ctx->policy->submit_hook) ctx->policy->submit_hook(ctx->instance, t);
}

struct orr_observer orr_hooked_observer = {
    .name = "submit hooks of policies", .see = hooked_see, .nests = true, .calls_program = true
};
