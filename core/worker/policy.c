/* SPDX-License-Identifier: BSD-3-Clause */
/* policy.c: what the program's own scheduling policies call: waking workers, asking what they can run,
 * handing them tasks.
 * Threads: any; `self` below is the calling worker. Owns: nothing. Not here: how such a
 * policy is called (sched/user.c).
 *
 * A worker calls pop_task with its own mutex held. While it waits for another lock inside, it is relaxed: its
 * mutex is released, so that two workers that lock or wake each other do not wait in a circle. No wake-up is
 * lost by that, for whoever wakes also sets keep_awake. */
#include <signal.h>

#include <starpu.h>

#include "core/base/env.h"
#include "core/base/log.h"
#include "core/worker/driver.h"
#include "core/worker/park.h"
#include "core/worker/profile.h"
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

void starpu_worker_lock(int workerid)
{
    struct orr_worker *w = worker_of((unsigned)workerid);
    if (!w) return;
    starpu_worker_relax_on();
    pthread_mutex_lock(&w->sched_mutex);
}

int starpu_worker_trylock(int workerid)
{
    struct orr_worker *w = worker_of((unsigned)workerid);
    if (!w) return -EINVAL;
    starpu_worker_relax_on();
    if (pthread_mutex_trylock(&w->sched_mutex) == 0) return 0;
    starpu_worker_relax_off();
    return -EBUSY;
}

void starpu_worker_unlock(int workerid)
{
    struct orr_worker *w = worker_of((unsigned)workerid);
    if (!w) return;
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
    *sched_mutex = w ? &w->sched_mutex : NULL;
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
    int slept = (orr_load_seq(&orr_lot.who[w->id / 64]) & bit) != 0;
    orr_wake_worker(w);
    return slept;
}

int starpu_wake_worker_no_relax(int workerid)
{
    struct orr_worker *w = worker_of((unsigned)workerid);
    if (!w) return 0;
    if (!(w->ctx->policy->flags & ORR_POLICY_USER)) return wake_parked(w);
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

/* ---- who can run what ---- */

int starpu_worker_can_execute_task(unsigned workerid, struct starpu_task *task, unsigned nimpl)
{
    struct orr_worker *w = worker_of(workerid);
    if (!w || nimpl >= STARPU_MAXIMPLEMENTATIONS) return 0;
    if (!task->cl) return nimpl == 0; /* nothing to run */
    struct orr_task *t = orr_codelet_check(task->cl) == 0 ? orr_task_private(task) : NULL;
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

int starpu_push_local_task(int workerid, struct starpu_task *task, int back)
{
    struct orr_worker *w = worker_of((unsigned)workerid);
    if (!w) {
        orr_error("starpu_push_local_task: there is no worker %d", workerid);
        return -EINVAL;
    }
    starpu_push_task_end(task);
    starpu_worker_relax_on(); /* waking takes w's mutex */
    orr_worker_push_local(w, orr_task_of(task), back != 0);
    starpu_worker_relax_off();
    return 0;
}

int starpu_push_task_end(struct starpu_task *task)
{
    task->scheduled = 1;
    if (orr_unlikely(orr_load_relaxed(&orr_profiling))) orr_profile_pushed(task);
    return 0;
}

static const struct orr_env env_break = { "STARPU_TASK_BREAK_ON_SCHED", "none", "job id",
                                          "stop the debugger when this task is scheduled" };

void starpu_sched_task_break(struct starpu_task *task)
{
    static _Atomic long wanted = -2; /* -2: not read yet */
    if (orr_load_relaxed(&wanted) == -2)
        orr_store_relaxed(&wanted, orr_env_long(&env_break, -1, 0, INT64_MAX));
    long id = orr_load_relaxed(&wanted);
    if (id >= 0 && (unsigned long)id == starpu_task_get_job_id(task)) raise(SIGTRAP);
}

void starpu_sched_ctx_worker_shares_tasks_lists(int workerid, int sched_ctx_id)
{
    (void)workerid; /* a worker looks for tasks in one context only: there is nothing to choose by this */
    (void)sched_ctx_id;
}

/* ---- good times to decide ---- */

void starpu_do_schedule(void)
{
    for (unsigned i = 0; i < STARPU_NMAX_SCHED_CTXS; i++) {
        struct orr_ctx *ctx = orr_ctx_get(i);
        if (ctx && ctx->policy->do_schedule) ctx->policy->do_schedule(ctx->instance);
    }
}

void starpu_reset_scheduler(void)
{
    for (unsigned i = 0; i < STARPU_NMAX_SCHED_CTXS; i++) {
        struct orr_ctx *ctx = orr_ctx_get(i);
        if (ctx && ctx->policy == &orr_user_policy && ctx->user->reset_scheduler)
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
    for (int i = 0; orr_policies[i]; i++)
        if (orr_policies[i] == ctx->policy) return all[i];
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
