/* SPDX-License-Identifier: BSD-3-Clause */
/* context.c: opens and closes scheduling contexts.
 * Threads: see context.h. Owns: nothing beyond the table. Not here: questions about contexts
 * (core/run/sched_ctx.c). */
#include "core/run/context.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/log.h"
#include "core/run/collection.h"
#include "core/worker/profile.h"
#include "core/worker/worker.h"

void orr_policies_print(void)
{
    fprintf(stderr, "scheduling policies (STARPU_SCHED):\n");
    for (int i = 0; orr_policies[i]; i++)
        fprintf(stderr, "  %-10s %s%s\n", orr_policies[i]->name, orr_policies[i]->description,
                i == 0 ? " (default)" : "");
}

static const struct orr_policy_ops *find_policy(const char *name)
{
    if (!name) return orr_policies[0];
    if (strcasecmp(name, "heft") == 0) {
        orr_warn("scheduling policy heft is an old name of dmda");
        name = "dmda";
    }
    for (int i = 0; orr_policies[i]; i++)
        if (strcasecmp(name, orr_policies[i]->name) == 0) return orr_policies[i];
    return NULL;
}

/* The built-in policy that a public struct stands for, or NULL: it is the program's own. */
static const struct orr_policy_ops *behind(const struct starpu_sched_policy *user)
{
    starpu_sched_get_predefined_policies();
    for (int i = 0; orr_policies[i]; i++)
        if (user == orr_public_policies[i]) return orr_policies[i];
    return NULL;
}

static int choose_policy(struct orr_ctx *ctx, const char *name, struct starpu_sched_policy *user)
{
    ctx->user = user;
    ctx->policy = user ? behind(user) : find_policy(name);
    if (user && !ctx->policy) {
        if (!user->push_task) {
            orr_error("the program's scheduling policy has no push_task");
            return -EINVAL;
        }
        ctx->policy = &orr_user_policy;
    }
    if (ctx->policy) return 0;
    orr_error("there is no scheduling policy \"%s\"", name);
    orr_policies_print();
    return -EINVAL;
}

/* ---- members ---- */

/* Called with the worker halted, or before it started. */
static void join(struct orr_ctx *ctx, int worker)
{
    ctx->workers[ctx->nworkers] = worker;
    ctx->nworkers++;
    ctx->collection->add(ctx->collection, worker);
    orr_workers[worker].ctx = ctx;
}

static void leave(struct orr_ctx *ctx, int worker)
{
    unsigned at = 0, n = ctx->nworkers;
    while (at < n && ctx->workers[at] != worker) at++;
    if (at == n) return;
    memmove(&ctx->workers[at], &ctx->workers[at + 1], (n - 1 - at) * sizeof ctx->workers[0]);
    ctx->nworkers = n - 1;
    ctx->collection->remove(ctx->collection, worker);
}

int orr_ctx_add_workers(struct orr_ctx *ctx, const int *workers, unsigned count)
{
    if (count == 0) return 0;
    for (unsigned i = 0; i < count; i++) join(ctx, workers[i]);
    int r = ctx->policy->add_workers ? ctx->policy->add_workers(ctx->instance, workers, count) : 0;
    if (r) orr_error("scheduling policy %s: out of memory for its workers", ctx->policy->name);
    orr_ctx_push_held(ctx);
    orr_profile_listen();
    return r;
}

/* What a worker was to run next without asking the policy goes back to the policy. */
static void give_back_kept(struct orr_worker *w)
{
    struct orr_task *t = w->kept;
    w->kept = NULL;
    if (t) w->ctx->policy->push(w->ctx->instance, t);
}

void orr_ctx_remove_workers(struct orr_ctx *ctx, const int *workers, unsigned count)
{
    if (count == 0) return;
    for (unsigned i = 0; i < count; i++) give_back_kept(&orr_workers[workers[i]]);
    for (unsigned i = 0; i < count; i++) leave(ctx, workers[i]);
    if (ctx->policy->remove_workers) ctx->policy->remove_workers(ctx->instance, workers, count);
}

/* ---- opening and closing ---- */

static enum starpu_worker_collection_type collection_type(const struct orr_ctx *ctx)
{
    return ctx->policy == &orr_user_policy ? ctx->user->worker_type : STARPU_WORKER_LIST;
}

static int open_with(struct orr_ctx *ctx, const struct orr_ctx_settings *s)
{
    int r = choose_policy(ctx, s->policy_name, s->policy);
    if (r) return r;
    ctx->collection = orr_collection_create(collection_type(ctx));
    if (!ctx->collection) return -ENOMEM;
    ctx->in_use = true;
    ctx->instance = ctx->policy->create(ctx);
    if (ctx->instance) return 0;
    ctx->in_use = false;
    orr_collection_destroy(ctx->collection);
    orr_error("scheduling policy %s: out of memory", ctx->policy->name);
    return -ENOMEM;
}

int orr_ctx_open_with(unsigned id, const struct orr_ctx_settings *s, const int *workers, unsigned count)
{
    struct orr_ctx *ctx = &orr_contexts[id];
    memset(ctx, 0, sizeof *ctx);
    ctx->id = id;
    ctx->name = s->name;
    ctx->min_priority = s->min_priority;
    ctx->max_priority = s->priorities_set ? s->max_priority : 1;
    ctx->priorities_set = s->priorities_set;
    ctx->user_data = s->user_data;
    ctx->policy_init = s->policy_init;
    ctx->nested_in = s->nested_in;
    int r = open_with(ctx, s);
    if (r) return r;
    if (ctx->policy_init) ctx->policy_init(id);
    r = orr_ctx_add_workers(ctx, workers, count);
    if (r)
        orr_ctx_close(id);
    else
        orr_profile_listen();
    return r;
}

int orr_ctx_open(unsigned id, const char *policy_name, struct starpu_sched_policy *user, const int *workers,
                 unsigned count)
{
    struct orr_ctx_settings s = { .policy_name = policy_name, .policy = user };
    return orr_ctx_open_with(id, &s, workers, count);
}

void orr_ctx_close(unsigned id)
{
    struct orr_ctx *ctx = &orr_contexts[id];
    if (!ctx->in_use) return;
    int workers[STARPU_NMAXWORKERS];
    unsigned count = ctx->nworkers;
    memcpy(workers, ctx->workers, count * sizeof workers[0]);
    orr_ctx_remove_workers(ctx, workers, count);
    ctx->policy->destroy(ctx->instance);
    orr_collection_destroy(ctx->collection);
    ctx->collection = NULL;
    ctx->in_use = false;
}

/* ---- priorities: settings of a policy, made by its init function ---- */

static struct orr_ctx *context_of(unsigned id)
{
    return id < STARPU_NMAX_SCHED_CTXS ? &orr_contexts[id] : &orr_contexts[0];
}

int starpu_sched_ctx_get_min_priority(unsigned id)
{
    return context_of(id)->min_priority;
}

int starpu_sched_ctx_get_max_priority(unsigned id)
{
    return context_of(id)->max_priority;
}

int starpu_sched_ctx_set_min_priority(unsigned id, int min_prio)
{
    context_of(id)->min_priority = min_prio;
    context_of(id)->priorities_set = true;
    return 0;
}

int starpu_sched_ctx_set_max_priority(unsigned id, int max_prio)
{
    context_of(id)->max_priority = max_prio;
    context_of(id)->priorities_set = true;
    return 0;
}

int starpu_sched_ctx_min_priority_is_set(unsigned id)
{
    return context_of(id)->priorities_set;
}

int starpu_sched_ctx_max_priority_is_set(unsigned id)
{
    return context_of(id)->priorities_set;
}

int starpu_sched_get_min_priority(void)
{
    return starpu_sched_ctx_get_min_priority(orr_self()->sched_ctx);
}

int starpu_sched_get_max_priority(void)
{
    return starpu_sched_ctx_get_max_priority(orr_self()->sched_ctx);
}

int starpu_sched_set_min_priority(int min_prio)
{
    return starpu_sched_ctx_set_min_priority(orr_self()->sched_ctx, min_prio);
}

int starpu_sched_set_max_priority(int max_prio)
{
    return starpu_sched_ctx_set_max_priority(orr_self()->sched_ctx, max_prio);
}

void starpu_sched_ctx_set_policy_data(unsigned id, void *policy_data)
{
    context_of(id)->policy_data = policy_data;
}

void *starpu_sched_ctx_get_policy_data(unsigned id)
{
    return context_of(id)->policy_data;
}
