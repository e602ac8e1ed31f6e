/* SPDX-License-Identifier: BSD-3-Clause */
/* policy.c: what the program's own scheduling policies call: waking workers, asking what they can run,
 * handing them tasks.
 * Threads: any; `self` below is the calling worker. Owns: nothing. Not here: how such a policy is called
 * (sched/user.c).
 *
 * A worker calls pop_task with its own mutex held. While it waits for another lock inside, it is relaxed: its
 * mutex is released, so that two workers that lock or wake each other do not wait in a circle. No wake-up is
 * lost by that: a wake-up also sets keep_awake, which the worker looks at before it sleeps. */
#include <starpu.h>
#include <starpu_sched_ctx_hypervisor.h>

#include "core/base/log.h"
#include "core/mem/node.h"
#include "core/task/prefetch.h"
#include "core/worker/driver.h"
#include "core/worker/park.h"
#include "core/worker/tell.h"
#include "core/worker/tally.h"
#include "core/worker/worker.h"

static struct orr_worker *worker_of(unsigned id)
{
    return id < orr_worker_count ? &orr_workers[id] : NULL;
}

/* ---- locks of workers ---- */

void starpu_worker_relax_on(void)
{
    struct orr_worker *self = orr_worker_self();
    if (self && self->holds_mutex && self->relaxed++ == 0) pthread_mutex_unlock(&self->sched_mutex);
}

void starpu_worker_relax_off(void)
{
    struct orr_worker *self = orr_worker_self();
    if (self && self->relaxed > 0 && --self->relaxed == 0) pthread_mutex_lock(&self->sched_mutex);
}

int starpu_worker_get_relax_state(void)
{
    struct orr_worker *self = orr_worker_self();
    return self && (!self->holds_mutex || self->relaxed > 0);
}

int starpu_worker_sched_op_pending(void)
{
    struct orr_worker *self = orr_worker_self();
    return self && self->holds_mutex;
}

/* Whether the caller holds w's mutex because it is w, in pop_task. */
static bool holds(const struct orr_worker *w)
{
    return w == orr_worker_self() && w->holds_mutex && w->relaxed == 0;
}

/* The workers whose mutexes this thread holds, from starpu_worker_lock; latest first. */
enum { LOCKS_MAX = 4 };
struct locked {
    int count, worker[LOCKS_MAX];
};

static struct locked *locked(void)
{
    return orr_thread_room(orr_self(), locked, struct locked);
}

static void note_locked(const struct orr_worker *w)
{
    if (locked()->count < LOCKS_MAX) locked()->worker[locked()->count] = w->id;
    locked()->count++;
}

int orr_policy_locks(void)
{
    return locked()->count;
}

int orr_policy_unlock(int count)
{
    int worker = -1;
    while (locked()->count > count && locked()->count <= LOCKS_MAX) {
        worker = locked()->worker[locked()->count - 1];
        starpu_worker_unlock(worker);
    }
    return worker;
}

void starpu_worker_lock(int workerid)
{
    struct orr_worker *w = worker_of((unsigned)workerid);
    if (!w) return;
    starpu_worker_relax_on();
    pthread_mutex_lock(&w->sched_mutex);
    note_locked(w);
}

int starpu_worker_trylock(int workerid)
{
    struct orr_worker *w = worker_of((unsigned)workerid);
    if (!w) return -EINVAL;
    starpu_worker_relax_on();
    if (pthread_mutex_trylock(&w->sched_mutex) == 0) {
        note_locked(w);
        return 0;
    }
    starpu_worker_relax_off();
    return -EBUSY;
}

void starpu_worker_unlock(int workerid)
{
    struct orr_worker *w = worker_of((unsigned)workerid);
    if (!w) return;
    if (locked()->count > 0) locked()->count--;
    pthread_mutex_unlock(&w->sched_mutex);
    starpu_worker_relax_off();
}

void starpu_worker_lock_self(void)
{
    struct orr_worker *self = orr_worker_self();
    if (self && !holds(self)) pthread_mutex_lock(&self->sched_mutex);
}

void starpu_worker_unlock_self(void)
{
    struct orr_worker *self = orr_worker_self();
    if (self && !holds(self)) pthread_mutex_unlock(&self->sched_mutex);
}

void starpu_worker_get_sched_condition(int workerid, starpu_pthread_mutex_t **sched_mutex,
                                       starpu_pthread_cond_t **sched_cond)
{
    struct orr_worker *w = worker_of((unsigned)workerid);
    *sched_mutex = w ? ORR_PLAIN_MUTEX(&w->sched_mutex) : NULL;
    *sched_cond = w ? &w->sched_cond : NULL;
}

/* ---- waking ---- */

int starpu_wake_worker_locked(int workerid)
{
    struct orr_worker *w = worker_of((unsigned)workerid);
    if (!w) return 0;
    int slept = w->sleeping_on_cond && !w->keep_awake;
    w->keep_awake = true;
    if (slept) pthread_cond_signal(&w->sched_cond);
    return slept;
}

/* Policies that are not the program's have workers that sleep elsewhere. */
static int wake_parked(struct orr_worker *w)
{
    uint64_t bit = UINT64_C(1) << (w->id % 64);
    int slept = (orr_load_seq(&orr_parking.who[w->id / 64]) & bit) != 0;
    orr_wake_worker(w);
    return slept;
}

int starpu_wake_worker_no_relax(int workerid)
{
    struct orr_worker *w = worker_of((unsigned)workerid);
    if (!w) return 0;
    if (!orr_load_seq(&w->on_cond)) return wake_parked(w);
    if (holds(w)) return starpu_wake_worker_locked(workerid);
    pthread_mutex_lock(&w->sched_mutex);
    int slept = starpu_wake_worker_locked(workerid);
    pthread_mutex_unlock(&w->sched_mutex);
    return slept;
}

int starpu_wake_worker_relax(int workerid)
{
    starpu_worker_relax_on();
    int slept = starpu_wake_worker_no_relax(workerid);
    starpu_worker_relax_off();
    return slept;
}

int starpu_wake_worker_relax_light(int workerid)
{
    return starpu_wake_worker_relax(workerid);
}

int starpu_wake_worker(int workerid)
{
    return starpu_wake_worker_relax(workerid);
}

/* ---- who can run what ---- */

int starpu_worker_can_execute_task(unsigned workerid, struct starpu_task *task, unsigned nimpl)
{
    struct orr_worker *w = worker_of(workerid);
    if (!w || nimpl >= STARPU_MAXIMPLEMENTATIONS) return 0;
    if (!task->cl) return nimpl == 0; /* nothing to run */
    struct orr_task *t = orr_codelet_check(task->cl) >= 0 ? orr_task_private(task) : NULL;
    return t && orr_worker_can_run_impl(w, t, nimpl);
}

int starpu_worker_can_execute_task_impl(unsigned workerid, struct starpu_task *task, unsigned *impl_mask)
{
    unsigned mask = 0;
    for (unsigned i = 0; i < STARPU_MAXIMPLEMENTATIONS; i++) {
        if (starpu_worker_can_execute_task(workerid, task, i)) mask |= 1u << i;
        if (mask && !impl_mask) return 1;
    }
    if (impl_mask) *impl_mask = mask;
    return mask != 0;
}

int starpu_worker_can_execute_task_first_impl(unsigned workerid, struct starpu_task *task, unsigned *nimpl)
{
    for (unsigned i = 0; i < STARPU_MAXIMPLEMENTATIONS; i++)
        if (starpu_worker_can_execute_task(workerid, task, i)) {
            if (nimpl) *nimpl = i;
            return 1;
        }
    return 0;
}

/* ---- handing tasks on ---- */

const char *orr_policy_name(const struct orr_ctx *ctx)
{
    if (!orr_ctx_is_programs(ctx)) return ctx->policy->name;
    return ctx->user->policy_name ? ctx->user->policy_name : "of the program";
}

bool orr_policy_releases(struct orr_task *t)
{
    uint32_t pushed = ORR_TASK_PUSHED;
    if (!atomic_compare_exchange_strong_explicit(&t->state, &pushed, ORR_TASK_READY, memory_order_acq_rel,
                                                 memory_order_relaxed)) /* pairs with push in sched/user.c */
        return false;
    orr_sub_acq_rel(&orr_contexts[t->sched_ctx].policy_holds, 1);
    return true;
}

/* Why worker w cannot be given t, or NULL. A task of a policy of the program is given once; copies that it
 * made itself (starpu_task_dup) were never pushed. */
static const char *no_gift(struct orr_worker *w, struct orr_task *t)
{
    uint32_t state = orr_load_acquire(&t->state);
    const struct orr_ctx *ctx = &orr_contexts[t->sched_ctx];
    if (state == ORR_TASK_SUBMITTED) return "it is not ready";
    if (state == ORR_TASK_RUNNING || state == ORR_TASK_DONE || state == ORR_TASK_CALLING ||
        (state == ORR_TASK_READY && orr_ctx_is_programs(ctx)))
        return "it was given to a worker before";
    unsigned nimpl = t->nimpl;
    if (t->nimpl_valid && orr_worker_can_run_impl(w, t, nimpl)) return NULL;
    if (!orr_worker_can_run(w, t, &nimpl))
        return "that worker cannot execute it (ask starpu_worker_can_execute_task first)";
    t->nimpl = (uint8_t)nimpl;
    t->nimpl_valid = 1;
    return NULL;
}

int starpu_push_local_task(int workerid, struct starpu_task *task, int back)
{
    struct orr_worker *w = worker_of((unsigned)workerid);
    struct orr_task *t = task && task->cl ? orr_task_of(task) : NULL;
    if (!w || !t) {
        orr_error("starpu_push_local_task: there is no %s",
                  w ? "task with a codelet" : "worker of that number");
        return -EINVAL;
    }
    const char *why = no_gift(w, t);
    if (orr_unlikely(why != NULL)) {
        orr_error("scheduling policy %s: starpu_push_local_task(%d, task %s): %s",
                  orr_policy_name(&orr_contexts[t->sched_ctx]), workerid, orr_task_name(t), why);
        return -EINVAL;
    }
    starpu_push_task_end(task);
    orr_policy_releases(t);
    const struct orr_ctx *ctx = &orr_contexts[t->sched_ctx];
    if (orr_node_count > 1 && orr_ctx_is_programs(ctx) && !ctx->user->prefetches &&
        starpu_get_prefetch_flag())
        orr_task_prefetch(task, w->node, task->priority, false);
    starpu_worker_relax_on(); /* waking takes w's mutex */
    orr_worker_push_local(w, t, back != 0);
    starpu_worker_relax_off();
    return 0;
}

int starpu_push_task_end(struct starpu_task *task)
{
    task->scheduled = 1;
    struct orr_task *t = orr_task_of(task);
    if (t) ORR_EVENT(TASK_QUEUED, t, t->id, 0, 0);
    return 0;
}

void starpu_sched_task_break(struct starpu_task *task)
{
    ORR_EVENT(TASK_PLACED, orr_task_private(task), -1, task->sched_ctx, 0);
}

void starpu_sched_ctx_call_pushed_task_cb(int workerid, unsigned sched_ctx_id)
{
    if (!orr_ctx_get(sched_ctx_id) || workerid < 0 || (unsigned)workerid >= orr_worker_count)
        orr_error("starpu_sched_ctx_call_pushed_task_cb: there is no worker %d or no context %u", workerid,
                  sched_ctx_id);
    else
        ORR_EVENT(TASK_PLACED, NULL, workerid, sched_ctx_id, 0);
}

/* See remove_workers in sched/user.c. */
void starpu_sched_ctx_worker_shares_tasks_lists(int workerid, int sched_ctx_id)
{
    struct orr_ctx *ctx = sched_ctx_id >= 0 ? orr_ctx_get((unsigned)sched_ctx_id) : NULL;
    if (!ctx || workerid < 0 || workerid >= STARPU_NMAXWORKERS) {
        orr_error("starpu_sched_ctx_worker_shares_tasks_lists: there is no %s %d",
                  ctx ? "worker" : "scheduling context", ctx ? workerid : sched_ctx_id);
        return;
    }
    atomic_fetch_or_explicit(&ctx->shares[workerid / 32], UINT32_C(1) << (workerid % 32),
                             memory_order_relaxed);
}

/* ---- good times to decide ---- */

void starpu_do_schedule(void)
{
    for (unsigned i = 0; i < STARPU_NMAX_SCHED_CTXS; i++) {
        struct orr_ctx *ctx = &orr_contexts[i];
        uint32_t outer;
        if (!orr_load_acquire(&ctx->open) || !orr_ctx_use_try(orr_worker_own(), i, &outer)) continue;
        if (ctx->policy->do_schedule) ctx->policy->do_schedule(ctx->instance);
        orr_ctx_use_end(orr_worker_own(), outer);
    }
}

/* A thread of the program's blocks: what it waits for may be in a policy that waits for a good time. */
static void blocking(void)
{
    struct orr_thread *self = orr_self();
    if (!orr_task_inside() && !orr_worker_thread(self)->inside_policies && !orr_method_of(self)->depth)
        starpu_do_schedule();
}

void orr_policies_listen(void)
{
    static ORR_MUTEX(policy_listeners) lock =
        PTHREAD_MUTEX_INITIALIZER; /* one after another: the last has seen all; leaf */
    bool listen = false;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < STARPU_NMAX_SCHED_CTXS; i++) {
        struct orr_ctx *ctx = &orr_contexts[i];
        if (!orr_load_acquire(&ctx->open) || !ctx->policy->do_schedule) continue;
        listen |= !orr_ctx_is_programs(ctx) || ctx->user->do_schedule;
    }
    orr_store_release(&orr_blocking, listen ? blocking : NULL);
    pthread_mutex_unlock(&lock);
}

void starpu_reset_scheduler(void)
{
    for (unsigned i = 0; i < STARPU_NMAX_SCHED_CTXS; i++) {
        struct orr_ctx *ctx = orr_ctx_get(i);
        if (ctx && orr_ctx_is_programs(ctx) && ctx->user->reset_scheduler)
            ctx->user->reset_scheduler(ctx->id);
    }
}

/* ---- which policy ---- */

struct starpu_sched_policy *starpu_sched_get_sched_policy_in_ctx(unsigned sched_ctx_id)
{
    struct orr_ctx *ctx = orr_ctx_get(sched_ctx_id);
    if (!ctx) return NULL;
    if (ctx->user) return ctx->user;
    struct starpu_sched_policy **all = starpu_sched_get_predefined_policies();
    for (int i = 0; orr_policy_set.builtin[i]; i++)
        if (orr_policy_set.builtin[i] == ctx->policy) return all[i];
    return NULL;
}

struct starpu_sched_policy *starpu_sched_get_sched_policy(void)
{
    return starpu_sched_get_sched_policy_in_ctx(0);
}

struct starpu_sched_policy *starpu_sched_ctx_get_sched_policy(unsigned sched_ctx_id)
{
    return starpu_sched_get_sched_policy_in_ctx(sched_ctx_id);
}
