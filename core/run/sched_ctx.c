/* SPDX-License-Identifier: BSD-3-Clause */
/* sched_ctx.c: scheduling contexts as programs make, change and end them.
 * Threads: any; what waits for workers or tasks says so. Owns: which thread is in which context, who is asked
 * first. Not here: policies (context.c), how a worker changes contexts (core/worker/member.h), questions
 * (sched_ctx_query.c), collections (collection.c).
 *
 * A worker may be in several contexts. One that is made takes workers in without taking them from where they
 * are: the main context keeps all workers, unless the program removes them from it. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <starpu.h>

#include "core/base/env.h"
#include "core/base/log.h"
#include "core/base/thread.h"
#include "core/run/context.h"
#include "core/run/sched_ctx.h"
#include "core/base/event.h"
#include "core/worker/group.h"
#include "core/worker/member.h"
#include "core/worker/park.h"
#include "core/worker/tally.h"
#include "core/worker/worker.h"

/* Protects: which contexts exist, the order of what is asked of several workers; held for no longer than that
 * takes. Inside of plug-ins' locks: rank just above a worker's sched_mutex. */
static ORR_MUTEX(moves) moves = PTHREAD_MUTEX_INITIALIZER;
static uint32_t ids_taken; /* bit: there is that context, besides the main one [lock: moves] */
_Static_assert(STARPU_NMAX_SCHED_CTXS <= 32, "sets of contexts are words, here and in every worker");

/* What was asked of workers by one call. */
struct asked {
    unsigned count;
    struct {
        struct orr_worker *worker;
        uint32_t number;
    } entry[STARPU_NMAXWORKERS];
};

struct orr_ctx *orr_ctx_find(unsigned id, const char *function)
{
    struct orr_ctx *ctx = orr_ctx_get(id);
    if (!ctx) orr_error("%s: there is no scheduling context %u", function, id);
    return ctx;
}

/* Whether the context that was found with this generation is still there and takes workers: another may have
 * its number by now, or be about to. Called with moves held. */
static bool is_there_locked(const struct orr_ctx *ctx, uint32_t generation)
{
    return orr_load_acquire(&ctx->open) && !orr_load_relaxed(&ctx->closing) &&
           orr_load_relaxed(&ctx->generation) == generation;
}

static uint32_t bit_of(const struct orr_ctx *ctx)
{
    return UINT32_C(1) << ctx->id;
}

/* Called with moves held. From now on searching workers cannot be relied upon to find everything. */
static void begin_locked(struct asked *all)
{
    all->count = 0;
    orr_workers_update_plain(false);
}

static void ask_locked(struct asked *all, struct orr_worker *w, uint32_t join, uint32_t leave)
{
    uint32_t number = orr_member_ask(w, join, leave);
    if ((join | leave) && !orr_member_has_to_move(w, join, leave)) return;
    all->entry[all->count].worker = w;
    all->entry[all->count++].number = number;
}

/* Waits until all of them have done it, if the caller may wait. */
static void wait_for(const struct asked *all)
{
    if (!orr_member_may_wait()) return;
    for (unsigned i = 0; i < all->count; i++) orr_member_wait(all->entry[i].worker, all->entry[i].number);
}

static bool is_up(const char *function)
{
    if (orr_worker_count) return true;
    orr_error("%s: the runtime is not initialised; call starpu_init", function);
    return false;
}

/* Copies those workers of the list that exist, each once. workers NULL: the first ones. */
static unsigned select_workers(int *list_out, const int *workers, unsigned count, const char *function)
{
    uint64_t seen[STARPU_NMAXWORKERS / 64] = { 0 };
    unsigned n = 0;
    for (unsigned i = 0; i < count; i++) {
        int id = workers ? workers[i] : (int)i;
        if (id < 0 || (unsigned)id >= orr_worker_count) {
            orr_error("%s: there is no worker %d; it is left out", function, id);
            if (!workers) break;
            continue;
        }
        if (!(seen[id / 64] >> (id % 64) & 1)) list_out[n++] = id;
        seen[id / 64] |= UINT64_C(1) << (id % 64);
    }
    return n;
}

static void hand_over_when_drained(struct orr_ctx *ctx);

/* ---- making ---- */

/* The name "" stands for what starpu_init takes by itself. */
static const char *default_name(const char *name)
{
    const char *env = name && !*name ? orr_env_string(ORR_SETTING(STARPU_SCHED)) : NULL;
    return env ? env : name;
}

typedef void (*init_fn)(unsigned);

/* Reads one argument of starpu_sched_ctx_create. False: an unknown one. */
static bool parse_one(struct orr_ctx_settings *s, int kind, va_list *ap)
{
    switch (kind) {
    case STARPU_SCHED_CTX_POLICY_NAME: s->policy_name = default_name(va_arg(*ap, const char *)); return true;
    case STARPU_SCHED_CTX_POLICY_STRUCT: s->policy = va_arg(*ap, struct starpu_sched_policy *); return true;
    case STARPU_SCHED_CTX_POLICY_MIN_PRIO:
        s->min_priority = va_arg(*ap, int);
        s->priorities_set = true;
        return true;
    case STARPU_SCHED_CTX_POLICY_MAX_PRIO:
        s->max_priority = va_arg(*ap, int);
        s->priorities_set = true;
        return true;
    case STARPU_SCHED_CTX_POLICY_INIT: s->policy_init = va_arg(*ap, init_fn); return true;
    case STARPU_SCHED_CTX_USER_DATA: s->user_data = va_arg(*ap, void *); return true;
    case STARPU_SCHED_CTX_HIERARCHY_LEVEL: s->hierarchy_level = va_arg(*ap, unsigned); return true;
    case STARPU_SCHED_CTX_NESTED: s->nested_in = va_arg(*ap, unsigned); return true;
    case STARPU_SCHED_CTX_AWAKE_WORKERS: s->awake_workers = true; return true;
    case STARPU_SCHED_CTX_CUDA_NSMS: s->nsms = va_arg(*ap, int); return true;
    case STARPU_SCHED_CTX_SUB_CTXS:
        s->sub_ctxs = va_arg(*ap, unsigned *);
        s->nsub_ctxs = va_arg(*ap, int);
        return true;
    default: return false;
    }
}

/* NULL, or why the settings are refused. */
static const char *parse(struct orr_ctx_settings *s, va_list *ap)
{
    s->max_priority = 1;
    for (int kind; (kind = va_arg(*ap, int)) != 0;)
        if (!parse_one(s, kind, ap))
            return "an argument is none of STARPU_SCHED_CTX_...; does the list end with 0?";
    if (s->priorities_set && s->min_priority > s->max_priority)
        return "the lowest priority is above the highest";
    if (s->nested_in && !orr_ctx_get(s->nested_in))
        return "the context in which it is to be nested does not exist";
    for (int i = 0; i < s->nsub_ctxs; i++)
        if (!s->sub_ctxs || !orr_ctx_get(s->sub_ctxs[i]))
            return "one of its parts (STARPU_SCHED_CTX_SUB_CTXS) does not exist";
    return NULL;
}

/* A number for a new context, taken. */
static unsigned take_id(void)
{
    unsigned id = 1;
    pthread_mutex_lock(&moves);
    while (id < STARPU_NMAX_SCHED_CTXS && (ids_taken >> id & 1)) id++;
    if (id < STARPU_NMAX_SCHED_CTXS) {
        ids_taken |= UINT32_C(1) << id;
        orr_add_relaxed(&orr_contexts[id].generation, 1u);
    }
    pthread_mutex_unlock(&moves);
    return id;
}

/* Multiprocessors are given out in the order of the contexts' making. */
static void place_on_gpu_locked(struct orr_ctx *ctx)
{
    int start = 0;
    for (unsigned i = 1; i < STARPU_NMAX_SCHED_CTXS; i++) {
        struct orr_ctx *other = &orr_contexts[i];
        if (other == ctx || !orr_load_acquire(&other->open) || other->nsms == 0) continue;
        if (other->sms_start + other->nsms > start) start = other->sms_start + other->nsms;
    }
    ctx->sms_start = start;
}

static void return_id(unsigned id)
{
    pthread_mutex_lock(&moves);
    ids_taken &= ~(UINT32_C(1) << id);
    orr_workers_update_plain(ids_taken == 0);
    pthread_mutex_unlock(&moves);
}

/* Without a policy, a member more or less may change what becomes of the others: waits for that. */
static void settle(struct orr_ctx *ctx, uint32_t generation)
{
    struct asked all;
    if (!orr_member_may_wait()) return;
    pthread_mutex_lock(&moves);
    begin_locked(&all);
    bool grouped = is_there_locked(ctx, generation) && ctx->policy == &orr_group_policy;
    for (unsigned i = 0; grouped && i < orr_worker_count; i++)
        if (orr_member_wanted(&orr_workers[i]) & bit_of(ctx)) ask_locked(&all, &orr_workers[i], 0, 0);
    pthread_mutex_unlock(&moves);
    wait_for(&all);
}

/* Lets the workers into the new context. False: one of them cannot, and the caller waited for that. */
static bool populate(struct orr_ctx *ctx, const int *workers, unsigned count)
{
    struct asked all;
    pthread_mutex_lock(&moves);
    begin_locked(&all);
    place_on_gpu_locked(ctx);
    for (unsigned i = 0; i < count; i++) ask_locked(&all, &orr_workers[workers[i]], bit_of(ctx), 0);
    pthread_mutex_unlock(&moves);
    wait_for(&all);
    settle(ctx, orr_load_relaxed(&ctx->generation));
    if (!orr_member_may_wait()) return true;
    for (unsigned i = 0; i < count; i++)
        if (!(orr_member_wanted(&orr_workers[workers[i]]) & bit_of(ctx))) return false;
    return true;
}

static unsigned create(const struct orr_ctx_settings *s, const int *workers, unsigned count)
{
    unsigned id = take_id();
    if (id == STARPU_NMAX_SCHED_CTXS) {
        orr_error(
            "starpu_sched_ctx_create: there are %d contexts already (STARPU_NMAX_SCHED_CTXS); delete one",
            STARPU_NMAX_SCHED_CTXS);
        return id;
    }
    orr_store_release(&orr_tally_drained, hand_over_when_drained);
    if (orr_ctx_open_with(id, s) == 0) {
        if (populate(&orr_contexts[id], workers, count)) {
            for (int i = 0; i < s->nsub_ctxs; i++)
                orr_store_relaxed(&orr_contexts[s->sub_ctxs[i]].nested_in, id);
            starpu_do_schedule();
            return id;
        }
        orr_ctx_close(id);
    }
    return_id(id);
    return STARPU_NMAX_SCHED_CTXS;
}

unsigned starpu_sched_ctx_create(int *workerids_ctx, int nworkers_ctx, const char *sched_ctx_name, ...)
{
    static const char function[] = "starpu_sched_ctx_create";
    struct orr_ctx_settings s = { .name = sched_ctx_name };
    int workers[STARPU_NMAXWORKERS];
    va_list ap;
    if (!is_up(function)) return STARPU_NMAX_SCHED_CTXS;
    va_start(ap, sched_ctx_name);
    const char *why = parse(&s, &ap);
    va_end(ap);
    if (why) {
        orr_error("%s: %s", function, why);
        return STARPU_NMAX_SCHED_CTXS;
    }
    unsigned count = nworkers_ctx < 0 ? orr_worker_count : (unsigned)nworkers_ctx;
    count = select_workers(workers, nworkers_ctx < 0 ? NULL : workerids_ctx, count, function);
    return create(&s, workers, count);
}

/* Appends workers of these kinds: first those in no context but the main one, then, if they may be shared,
 * others. */
static unsigned pick(int *list, unsigned n, bool cpus, unsigned max, bool shared)
{
    unsigned end = n + max;
    for (int pass = 0; pass < (shared ? 2 : 1); pass++)
        for (unsigned i = 0; i < orr_worker_count && n < end; i++) {
            struct orr_worker *w = &orr_workers[i];
            bool alone = !(orr_member_wanted(w) & ~UINT32_C(1));
            if ((w->type == STARPU_CPU_WORKER) == cpus && alone == (pass == 0)) list[n++] = (int)i;
        }
    return n;
}

unsigned starpu_sched_ctx_create_inside_interval(const char *policy_name, const char *sched_ctx_name,
                                                 int min_ncpus, int max_ncpus, int min_ngpus, int max_ngpus,
                                                 unsigned allow_overlap)
{
    static const char function[] = "starpu_sched_ctx_create_inside_interval";
    struct orr_ctx_settings s = { .name = sched_ctx_name,
                                  .policy_name = default_name(policy_name),
                                  .max_priority = 1 };
    int workers[STARPU_NMAXWORKERS];
    if (!is_up(function)) return STARPU_NMAX_SCHED_CTXS;
    unsigned cpus = pick(workers, 0, true, max_ncpus > 0 ? (unsigned)max_ncpus : 0, allow_overlap);
    unsigned all = pick(workers, cpus, false, max_ngpus > 0 ? (unsigned)max_ngpus : 0, allow_overlap);
    if ((int)cpus < min_ncpus || (int)(all - cpus) < min_ngpus) {
        orr_error("%s: %d CPU workers and %d others are wanted; only %u and %u can be had", function,
                  min_ncpus, min_ngpus, cpus, all - cpus);
        return STARPU_NMAX_SCHED_CTXS;
    }
    return create(&s, workers, all);
}

void starpu_sched_ctx_register_close_callback(unsigned sched_ctx_id,
                                              void (*close_callback)(unsigned sched_ctx_id, void *args),
                                              void *args)
{
    struct orr_ctx *ctx = orr_ctx_find(sched_ctx_id, "starpu_sched_ctx_register_close_callback");
    if (!ctx) return;
    pthread_mutex_lock(&moves);
    ctx->close_callback = close_callback;
    ctx->close_arg = args;
    pthread_mutex_unlock(&moves);
}

/* ---- moving workers ---- */

/* False: it is being deleted, and nothing was done. */
static bool move_selected(const int *workers, unsigned count, struct orr_ctx *ctx, uint32_t generation,
                          bool add)
{
    struct asked all;
    pthread_mutex_lock(&moves);
    begin_locked(&all);
    bool refused = !is_there_locked(ctx, generation);
    for (unsigned i = 0; i < count && !refused; i++)
        ask_locked(&all, &orr_workers[workers[i]], add ? bit_of(ctx) : 0, add ? 0 : bit_of(ctx));
    pthread_mutex_unlock(&moves);
    wait_for(&all);
    if (!refused) settle(ctx, generation);
    starpu_do_schedule();
    return !refused;
}

static void move(int *workerids, unsigned nworkers, unsigned id, bool add, const char *function)
{
    struct orr_ctx *ctx = orr_ctx_find(id, function);
    int workers[STARPU_NMAXWORKERS];
    if (!ctx) return;
    uint32_t generation = orr_load_relaxed(&ctx->generation);
    if (nworkers > 0 && !workerids) {
        orr_error("%s: the list of workers is NULL", function);
        return;
    }
    unsigned count = select_workers(workers, workerids, nworkers, function);
    if (!move_selected(workers, count, ctx, generation, add))
        orr_error("%s: scheduling context %u is being deleted", function, id);
}

bool orr_sched_ctx_move_try(const int *workers, unsigned count, unsigned id, bool add)
{
    struct orr_ctx *ctx = orr_ctx_get(id);
    return ctx && move_selected(workers, count, ctx, orr_load_relaxed(&ctx->generation), add);
}

void starpu_sched_ctx_add_workers(int *workerids_ctx, unsigned nworkers_ctx, unsigned sched_ctx_id)
{
    move(workerids_ctx, nworkers_ctx, sched_ctx_id, true, "starpu_sched_ctx_add_workers");
}

void starpu_sched_ctx_remove_workers(int *workerids_ctx, unsigned nworkers_ctx, unsigned sched_ctx_id)
{
    move(workerids_ctx, nworkers_ctx, sched_ctx_id, false, "starpu_sched_ctx_remove_workers");
}

void starpu_sched_ctx_set_priority(int *workers, int nworkers, unsigned sched_ctx_id, unsigned priority)
{
    static const char function[] = "starpu_sched_ctx_set_priority";
    struct orr_ctx *ctx = orr_ctx_find(sched_ctx_id, function);
    int list[STARPU_NMAXWORKERS];
    struct asked all;
    if (!ctx || nworkers <= 0 || !workers) return;
    uint32_t generation = orr_load_relaxed(&ctx->generation);
    unsigned count = select_workers(list, workers, (unsigned)nworkers, function);
    pthread_mutex_lock(&moves);
    begin_locked(&all);
    bool there = is_there_locked(ctx, generation);
    for (unsigned i = 0; there && i < count; i++) {
        orr_store_relaxed(&ctx->worker_priority[list[i]], priority);
        ask_locked(&all, &orr_workers[list[i]], 0, 0); /* it sorts its contexts anew */
    }
    pthread_mutex_unlock(&moves);
    wait_for(&all);
}

/* ---- workers that stand by while one of them uses their cores ---- */

void orr_sched_ctx_suspend(const int *workers, unsigned count, int change)
{
    struct asked all;
    if (count == 0) return;
    pthread_mutex_lock(&moves);
    begin_locked(&all);
    for (unsigned i = 0; i < count; i++) {
        all.entry[all.count].worker = &orr_workers[workers[i]];
        all.entry[all.count++].number = orr_member_suspend(&orr_workers[workers[i]], change);
    }
    pthread_mutex_unlock(&moves);
    wait_for(&all);
    pthread_mutex_lock(&moves);
    if (change < 0) orr_workers_update_plain(ids_taken == 0);
    pthread_mutex_unlock(&moves);
}

/* ---- ending ---- */

void starpu_sched_ctx_set_inheritor(unsigned sched_ctx_id, unsigned inheritor)
{
    struct orr_ctx *ctx = orr_ctx_find(sched_ctx_id, "starpu_sched_ctx_set_inheritor");
    if (ctx && orr_ctx_find(inheritor, "starpu_sched_ctx_set_inheritor"))
        orr_store_relaxed(&ctx->inheritor, inheritor);
}

/* Who gets the workers; called with moves held. */
static struct orr_ctx *heir_of(struct orr_ctx *ctx)
{
    unsigned id = orr_load_relaxed(&ctx->inheritor);
    struct orr_ctx *heir = orr_ctx_get(id);
    if (!heir) heir = orr_ctx_get(orr_load_relaxed(&ctx->nested_in));
    return heir && heir != ctx && !orr_load_relaxed(&heir->closing) ? heir : &orr_contexts[0];
}

/* Members, and those that were to become members, leave for the inheritor. Without one they stay where they
 * are otherwise; those that are nowhere else go to the main context. Called with moves held. */
static void hand_over_locked(struct orr_ctx *ctx, struct asked *all)
{
    struct orr_ctx *heir = heir_of(ctx);
    for (unsigned i = 0; i < orr_worker_count; i++) {
        struct orr_worker *w = &orr_workers[i];
        uint32_t wanted = orr_member_wanted(w), in = orr_load_acquire(&w->in);
        if (!((wanted | in) & bit_of(ctx))) continue;
        bool nowhere = !(wanted & ~bit_of(ctx));
        uint32_t join = heir->id || nowhere ? bit_of(heir) : 0;
        ask_locked(all, w, wanted & bit_of(ctx) ? join : 0, bit_of(ctx));
    }
}

static void call_close_callback(struct orr_ctx *ctx)
{
    struct orr_thread *self = orr_self();
    pthread_mutex_lock(&moves);
    void (*callback)(unsigned, void *) = ctx->close_callback;
    void *arg = ctx->close_arg;
    ctx->close_callback = NULL; /* once */
    pthread_mutex_unlock(&moves);
    if (!callback) return;
    bool may_wait = orr_member_may_wait();
    self->callback_depth += !may_wait;
    orr_acting_begin();
    callback(ctx->id, arg);
    orr_acting_end();
    self->callback_depth -= !may_wait;
}

/* Nothing more will be submitted, and the last task has ended. On any thread, which must not wait. */
static void hand_over_when_drained(struct orr_ctx *ctx)
{
    struct asked all;
    pthread_mutex_lock(&moves);
    begin_locked(&all);
    hand_over_locked(ctx, &all);
    pthread_mutex_unlock(&moves);
    call_close_callback(ctx);
}

void starpu_sched_ctx_finished_submit(unsigned sched_ctx_id)
{
    struct orr_ctx *ctx = orr_ctx_find(sched_ctx_id, "starpu_sched_ctx_finished_submit");
    uint32_t outer;
    if (!ctx || ctx->id == 0) return; /* the main one's workers stay to the end */
    if (!orr_ctx_use_try(orr_worker_own(), ctx->id, &outer)) return;
    orr_store_seq(&ctx->tally.finished, true); /* pairs with count_down in core/worker/tally.c */
    if (orr_tally_outstanding(ctx->id) == 0) hand_over_when_drained(ctx);
    orr_ctx_use_end(orr_worker_own(), outer);
}

/* A context without workers, now or soon, borrows the inheritor's, or all, to end its tasks. */
static void lend_workers(struct orr_ctx *ctx)
{
    struct asked all;
    pthread_mutex_lock(&moves);
    begin_locked(&all);
    struct orr_ctx *heir = heir_of(ctx);
    bool has = false;
    for (unsigned i = 0; i < orr_worker_count; i++)
        has |= (orr_member_wanted(&orr_workers[i]) & bit_of(ctx)) != 0;
    for (unsigned i = 0; i < orr_worker_count && !has; i++)
        if (orr_load_relaxed(&heir->nworkers) == 0 || orr_ctx_has(heir, i))
            ask_locked(&all, &orr_workers[i], bit_of(ctx), 0);
    pthread_mutex_unlock(&moves);
}

/* NULL, or why ctx cannot be deleted now. Marks it as closing. */
static const char *begin_delete(struct orr_ctx *ctx)
{
    if (ctx->id == 0) return "the main context ends with starpu_shutdown";
    if (!orr_member_may_wait()) return "it waits for tasks, and must not be called in a task or a callback";
    bool closing = false;
    return orr_cas_seq(&ctx->closing, &closing, true) ? NULL : "it is being deleted already";
}

void starpu_sched_ctx_delete(unsigned sched_ctx_id)
{
    struct orr_ctx *ctx = orr_ctx_find(sched_ctx_id, "starpu_sched_ctx_delete");
    struct asked all;
    if (!ctx) return;
    const char *why = begin_delete(ctx);
    if (why) {
        orr_error("starpu_sched_ctx_delete: context %u: %s", sched_ctx_id, why);
        return;
    }
    if (orr_tally_outstanding(sched_ctx_id) > 0) lend_workers(ctx);
    orr_tally_wait(ctx, 0);
    orr_tally_wait_unused(sched_ctx_id);
    ORR_EVENT(CONTEXT_DELETED, ctx, ctx->id, 0, 0);
    pthread_mutex_lock(&moves);
    begin_locked(&all);
    hand_over_locked(ctx, &all);
    for (unsigned i = 0; i < STARPU_NMAX_SCHED_CTXS; i++)
        if (orr_load_relaxed(&orr_contexts[i].nested_in) == sched_ctx_id)
            orr_store_relaxed(&orr_contexts[i].nested_in, orr_load_relaxed(&ctx->nested_in));
    pthread_mutex_unlock(&moves);
    wait_for(&all);
    call_close_callback(ctx);
    orr_ctx_close(sched_ctx_id);
    return_id(sched_ctx_id);
    if (orr_worker_own()->sched_ctx == sched_ctx_id) orr_worker_own()->sched_ctx = 0;
    starpu_do_schedule();
}

void orr_sched_ctx_fini(void)
{
    pthread_mutex_lock(&moves);
    ids_taken = 0;
    pthread_mutex_unlock(&moves);
}

/* ---- the context of a thread ---- */

void starpu_sched_ctx_set_context(unsigned *sched_ctx_id)
{
    unsigned id = sched_ctx_id ? *sched_ctx_id : STARPU_NMAX_SCHED_CTXS; /* that many: none, as below */
    if (id != STARPU_NMAX_SCHED_CTXS && !orr_ctx_find(id, __func__)) return;
    orr_worker_own()->sched_ctx = id == STARPU_NMAX_SCHED_CTXS ? 0 : id;
}

unsigned starpu_sched_ctx_get_context(void)
{
    unsigned id = orr_worker_own()->sched_ctx;
    return id ? id : STARPU_NMAX_SCHED_CTXS;
}
