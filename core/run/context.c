/* SPDX-License-Identifier: BSD-3-Clause */
/* context.c: opens and closes scheduling contexts.
 * Threads: see context.h. Owns: nothing beyond the table. Not here: questions about contexts
 * (core/run/sched_ctx.c). */
#include "core/run/context.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/env.h"
#include "core/base/event.h"
#include "core/base/log.h"
#include "core/base/near.h"
#include "core/run/collection.h"
#include "core/run/sched_ctx.h"
#include "core/run/sched_lib.h"
#include "core/worker/combined.h"
#include "core/worker/group.h"
#include "core/worker/member.h"
#include "core/worker/hooked.h"
#include "core/worker/tally.h"
#include "core/worker/worker.h"

void orr_policies_print(void)
{
    fprintf(stderr, "scheduling policies (STARPU_SCHED):\n");
    for (int i = 0; orr_policy_set.builtin[i]; i++)
        fprintf(stderr, "  %-30s %s%s\n", orr_policy_set.builtin[i]->name,
                orr_policy_set.builtin[i]->description, i == 0 ? " (default)" : "");
    fprintf(stderr, "  %-30s deprecated: an old name of dmda\n", "heft");
    orr_sched_lib_print();
}

static const struct orr_policy_ops *find_policy(const char *name)
{
    if (!name) return &orr_group_policy;
    if (!*name) return orr_policy_set.builtin[0];
    if (strcasecmp(name, "heft") == 0) {
        orr_warn("scheduling policy heft is deprecated: it is an old name of dmda, which is used");
        name = "dmda";
    }
    for (int i = 0; orr_policy_set.builtin[i]; i++)
        if (strcasecmp(name, orr_policy_set.builtin[i]->name) == 0) return orr_policy_set.builtin[i];
    return NULL;
}

/* The built-in policy that a public struct stands for, or NULL: it is the program's own. */
static const struct orr_policy_ops *behind(const struct starpu_sched_policy *user)
{
    struct starpu_sched_policy **predefined = starpu_sched_get_predefined_policies();
    for (int i = 0; orr_policy_set.builtin[i]; i++)
        if (user == predefined[i]) return orr_policy_set.builtin[i];
    return NULL;
}

/* There is none of that name: which it may have been. */
static void refuse_policy(const char *name)
{
    struct starpu_sched_policy **predefined = starpu_sched_get_predefined_policies();
    struct orr_near near = { NULL, 0 };
    for (unsigned i = 0; predefined[i]; i++) orr_near_offer(&near, name, predefined[i]->policy_name);
    orr_error("there is no scheduling policy \"%s\"%s%s%s; STARPU_SCHED=help, or starpu_sched_display -l, "
              "lists them",
              name, near.name ? " (the nearest is \"" : "", near.name ? near.name : "",
              near.name ? "\")" : "");
}

static int choose_policy(struct orr_ctx *ctx, const char *name, struct starpu_sched_policy *user)
{
    if (!user && name) user = orr_sched_lib_find(name);
    ctx->user = user;
    ctx->policy = user ? behind(user) : find_policy(name);
    if (user && !ctx->policy) {
        if (!user->push_task) {
            orr_error("scheduling policy %s: it has no push_task",
                      user->policy_name ? user->policy_name : "of the program");
            return -EINVAL;
        }
        ctx->policy = orr_policy_set.adapter;
    }
    if (ctx->policy) return 0;
    refuse_policy(name);
    return -EINVAL;
}

/* ---- the members as an array that stays ---- */

struct orr_raw_list {
    struct orr_raw_list *older; /* kept until the context is closed: somebody may read it, and workers come
                                 * back: one list for each set of members */
    unsigned count;
    int workers[];
};

unsigned orr_ctx_list(struct orr_ctx *ctx, int *workers_out)
{
    unsigned n = 0;
    for (unsigned i = 0; i < (orr_worker_count + 63) / 64; i++)
        for (uint64_t bits = orr_load_seq(&ctx->member[i]); bits; bits &= bits - 1)
            workers_out[n++] = (int)(i * 64) + __builtin_ctzll(bits);
    return n;
}

unsigned orr_ctx_raw(struct orr_ctx *ctx, int **workers_out)
{
    static ORR_MUTEX(member_lists) lock = PTHREAD_MUTEX_INITIALIZER; /* protects making a new list; leaf */
    int now[STARPU_NMAXWORKERS];
    pthread_mutex_lock(&lock);
    unsigned n = orr_ctx_list(ctx, now);
    struct orr_raw_list *raw = orr_load_acquire(&ctx->raw);
    while (raw && (raw->count != n || memcmp(raw->workers, now, n * sizeof now[0]) != 0)) raw = raw->older;
    if (!raw) {
        struct orr_raw_list *newer = orr_malloc(sizeof *newer + n * sizeof newer->workers[0]);
        if (newer) {
            newer->older = orr_load_relaxed(&ctx->raw);
            newer->count = n;
            memcpy(newer->workers, now, n * sizeof now[0]);
            orr_store_release(&ctx->raw, newer);
        }
        raw = newer;
    }
    pthread_mutex_unlock(&lock);
    *workers_out = raw ? raw->workers : NULL;
    return raw ? raw->count : 0;
}

static void drop_raw(struct orr_ctx *ctx)
{
    struct orr_raw_list *raw = atomic_exchange_explicit(&ctx->raw, NULL, memory_order_acq_rel);
    for (struct orr_raw_list *older; raw; raw = older) {
        older = raw->older;
        orr_free(raw);
    }
}

/* ---- opening and closing ---- */

static enum starpu_worker_collection_type collection_type(const struct orr_ctx *ctx)
{
    return orr_ctx_is_programs(ctx) ? ctx->user->worker_type : STARPU_WORKER_LIST;
}

/* What the policy distinguishes, unless the program said so when it made the context. */
static void set_priorities(struct orr_ctx *ctx)
{
    int least = ctx->policy->min_priority, most = ctx->policy->max_priority;
    if (ctx->priorities_set) return;
    if (least < most) {
        least = (int)orr_env_long(ORR_SETTING(STARPU_MIN_PRIO), least, INT_MIN, INT_MAX);
        most = (int)orr_env_long(ORR_SETTING(STARPU_MAX_PRIO), most, INT_MIN, INT_MAX);
        if (least > most) {
            orr_warn(
                "STARPU_MIN_PRIO is %d and STARPU_MAX_PRIO %d: the lower one comes first; both are ignored",
                least, most);
            least = ctx->policy->min_priority;
            most = ctx->policy->max_priority;
        }
    }
    ctx->min_priority = least;
    ctx->max_priority = most;
    ctx->priorities_set = least < most;
}

static int make_instance(struct orr_ctx *ctx, const struct orr_ctx_settings *s)
{
    int r = choose_policy(ctx, s->policy_name, s->policy);
    if (r) return r;
    ctx->collection = orr_collection_create(collection_type(ctx));
    if (!ctx->collection) return -ENOMEM;
    if (!orr_ctx_is_programs(ctx)) set_priorities(ctx);
    ctx->instance = ctx->policy->create(ctx);
    if (ctx->instance) return 0;
    orr_collection_destroy(ctx->collection);
    ctx->collection = NULL;
    orr_error("scheduling policy %s: out of memory", orr_policy_name(ctx));
    return -ENOMEM;
}

static void reset_tally(struct orr_tally *y)
{
    orr_store_relaxed(&y->outstanding, 0);
    orr_store_relaxed(&y->ready, 0);
    orr_store_relaxed(&y->ready_flops, 0);
    orr_store_relaxed(&y->enough, 0);
    orr_store_relaxed(&y->finished, false);
}

/* Others may look at the atomic fields of a context that is closed. */
static void reset(struct orr_ctx *ctx, unsigned id, const struct orr_ctx_settings *s)
{
    ctx->id = id;
    ctx->name = s->name;
    ctx->min_priority = s->min_priority;
    ctx->max_priority = s->priorities_set ? s->max_priority : 1;
    ctx->priorities_set = s->priorities_set;
    ctx->policy_data = NULL;
    ctx->user_data = s->user_data;
    ctx->policy_init = s->policy_init;
    ctx->close_callback = NULL;
    ctx->close_arg = NULL;
    ctx->hierarchy_level = s->hierarchy_level;
    ctx->nsms = s->nsms;
    ctx->awake_workers = s->awake_workers;
    ctx->held = NULL;
    ctx->join_error = 0;
    orr_store_relaxed(&ctx->nested_in, s->nested_in);
    orr_store_relaxed(&ctx->inheritor, (unsigned)STARPU_NMAX_SCHED_CTXS);
    orr_store_relaxed(&ctx->closing, false);
    orr_store_relaxed(&ctx->counters, NULL);
    orr_store_relaxed(&ctx->sample_start_us, 0);
    orr_store_relaxed(&ctx->policy_holds, 0);
    orr_store_relaxed(&ctx->gave_stale, false);
    orr_store_relaxed(&ctx->raw, NULL);
    for (unsigned i = 0; i < (STARPU_NMAXWORKERS + 31) / 32; i++) orr_store_relaxed(&ctx->shares[i], 0);
    for (unsigned i = 0; i < STARPU_NMAXWORKERS; i++) orr_store_relaxed(&ctx->worker_priority[i], 0);
    reset_tally(&ctx->tally);
}

int orr_ctx_open_with(unsigned id, const struct orr_ctx_settings *s)
{
    struct orr_ctx *ctx = &orr_contexts[id];
    reset(ctx, id, s);
    orr_store_release(&ctx->in_use, true); /* the policy's init function asks for it */
    int r = make_instance(ctx, s);
    if (r) {
        orr_store_release(&ctx->in_use, false);
        return r;
    }
    if (ctx->policy_init) ctx->policy_init(id);
    orr_hooked_open(ctx);
    orr_store_seq(&ctx->open, true);
    orr_policies_listen();
    orr_hooked_consider();
    ORR_EVENT(CONTEXT_OPENED, ctx, id, 0, 0);
    return 0;
}

int orr_ctx_open(unsigned id, const char *policy_name, struct starpu_sched_policy *user, const int *workers,
                 unsigned count)
{
    struct orr_ctx_settings s = { .policy_name = policy_name ? policy_name : "", .policy = user };
    int r = orr_ctx_open_with(id, &s);
    if (r) return r;
    for (unsigned i = 0; i < count; i++) orr_member_ask(&orr_workers[workers[i]], UINT32_C(1) << id, 0);
    if (orr_contexts[id].policy->flags & ORR_POLICY_COMBINES) orr_combined_make(workers, count);
    if (orr_load_relaxed(&orr_contexts[id].nworkers) == count) return 0;
    orr_ctx_close(id);
    return orr_contexts[id].join_error ? orr_contexts[id].join_error : -ENOMEM;
}

void orr_ctx_close(unsigned id)
{
    struct orr_ctx *ctx = &orr_contexts[id];
    uint32_t bit = UINT32_C(1) << id;
    if (!orr_load_acquire(&ctx->in_use)) return;
    for (unsigned i = 0; i < orr_worker_count; i++) {
        struct orr_worker *w = &orr_workers[i];
        if (!((orr_member_wanted(w) | orr_load_acquire(&w->in)) & bit)) continue;
        orr_member_wait(w, orr_member_ask(w, 0, bit));
    }
    orr_store_seq(&ctx->open, false); /* pairs with orr_ctx_use_try */
    orr_tally_wait_unused(id);
    orr_store_release(&ctx->sees_bodies, false);
    orr_store_release(&ctx->sees_submissions, false);
    orr_store_release(&ctx->counters, NULL);
    ctx->policy->destroy(ctx->instance);
    ctx->instance = NULL;
    orr_collection_destroy(ctx->collection);
    ctx->collection = NULL;
    drop_raw(ctx);
    orr_store_release(&ctx->in_use, false);
    orr_policies_listen();
    orr_hooked_consider();
    ORR_EVENT(CONTEXT_CLOSED, ctx, id, 0, 0);
}

/* ---- priorities: settings of a policy, made by its init function ---- */

/* Of the calling thread; of the main context where it is in none, before the start as well. */
static const struct orr_ctx *context_of_self(void)
{
    const struct orr_ctx *ctx = orr_ctx_get(orr_worker_own()->sched_ctx);
    return ctx ? ctx : &orr_contexts[0];
}

int starpu_sched_ctx_get_min_priority(unsigned id)
{
    const struct orr_ctx *ctx = orr_ctx_find(id, __func__);
    return ctx ? ctx->min_priority : 0;
}

int starpu_sched_ctx_get_max_priority(unsigned id)
{
    const struct orr_ctx *ctx = orr_ctx_find(id, __func__);
    return ctx ? ctx->max_priority : 0;
}

static int set_priority(unsigned id, const int *least, const int *most, const char *function)
{
    struct orr_ctx *ctx = orr_ctx_find(id, function);
    if (!ctx) return -EINVAL;
    if (least) ctx->min_priority = *least;
    if (most) ctx->max_priority = *most;
    ctx->priorities_set = true;
    return 0;
}

int starpu_sched_ctx_set_min_priority(unsigned id, int min_prio)
{
    return set_priority(id, &min_prio, NULL, __func__);
}

int starpu_sched_ctx_set_max_priority(unsigned id, int max_prio)
{
    return set_priority(id, NULL, &max_prio, __func__);
}

int starpu_sched_ctx_min_priority_is_set(unsigned id)
{
    const struct orr_ctx *ctx = orr_ctx_find(id, __func__);
    return ctx && ctx->priorities_set;
}

int starpu_sched_ctx_max_priority_is_set(unsigned id)
{
    const struct orr_ctx *ctx = orr_ctx_find(id, __func__);
    return ctx && ctx->priorities_set;
}

int starpu_sched_get_min_priority(void)
{
    return context_of_self()->min_priority;
}

int starpu_sched_get_max_priority(void)
{
    return context_of_self()->max_priority;
}

int starpu_sched_set_min_priority(int min_prio)
{
    return set_priority(orr_worker_own()->sched_ctx, &min_prio, NULL, __func__);
}

int starpu_sched_set_max_priority(int max_prio)
{
    return set_priority(orr_worker_own()->sched_ctx, NULL, &max_prio, __func__);
}

void starpu_sched_ctx_set_policy_data(unsigned id, void *policy_data)
{
    struct orr_ctx *ctx = orr_ctx_find(id, __func__);
    if (ctx) ctx->policy_data = policy_data;
}

void *starpu_sched_ctx_get_policy_data(unsigned id)
{
    const struct orr_ctx *ctx = orr_ctx_find(id, __func__);
    return ctx ? ctx->policy_data : NULL;
}
