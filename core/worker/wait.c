/* SPDX-License-Identifier: BSD-3-Clause */
/* wait.c: waiting for all tasks, or for few enough; limits on how many are pending.
 * Threads: see wait.h. Owns: waiters' count and epoch, limits. Not here: counting (core/base/thread.h).
 *
 * A waiter announces itself with a read-modify-write on `waiters`, then counts. A worker that runs dry does
 * one as well, after its completions. Whichever comes second sees the other: the waiter the completions, or
 * the worker the waiter. */
#include "core/worker/wait.h"

#include <errno.h>
#include <starpu.h>

#include "core/base/env.h"
#include "core/base/log.h"
#include "core/worker/park.h"
#include "core/worker/worker.h"

enum { YIELDS_BEFORE_SLEEP = 30, THRESHOLD_SLEEP_NS = 200000, BACKLOG_WORTH_WAKING = 16 };

static _Atomic uint32_t waiters;
static _Atomic uint32_t epoch; /* futex */
_Atomic uint32_t orr_wait_thresholds;
static _Atomic long limit_max = -1, limit_min = -1;

static const struct orr_env env_max = { "STARPU_LIMIT_MAX_SUBMITTED_TASKS", "none", "tasks",
                                        "submission blocks when so many tasks are pending" };
static const struct orr_env env_min = { "STARPU_LIMIT_MIN_SUBMITTED_TASKS", "none", "tasks",
                                        "submission goes on when so few tasks are pending" };

void orr_wait_check(void)
{
    if (orr_add_acq_rel(&waiters, 0u) == 0) return; /* pairs with the addition in orr_wait_until */
    if (!orr_load_relaxed(&orr_wait_thresholds) && orr_threads_outstanding() != 0) return;
    orr_add_acq_rel(&epoch, 1u);
    orr_futex_wake(&epoch, INT32_MAX);
}

/* Workers asleep may have left tasks to one that is busy with short ones; now that this thread stops, its
 * core is free. */
static void wake_for_backlog(void)
{
    struct orr_ctx *ctx = &orr_contexts[0];
    if (!ctx->in_use) return;
    if (ctx->policy->do_schedule) ctx->policy->do_schedule(ctx->instance);
    if (orr_load_seq(&orr_lot.parked) == 0 || !ctx->policy->backlog || ctx->nworkers == 0) return;
    if (ctx->policy->backlog(ctx->instance, &orr_workers[ctx->workers[0]]) > BACKLOG_WORTH_WAKING)
        orr_wake_any(ctx, UINT32_MAX);
}

/* Yields for a while; true when the number is reached. */
static bool reached_soon(uint64_t n)
{
    bool (*poll)(void) = orr_load_acquire(&orr_blocked_poll);
    for (int i = 0; i < YIELDS_BEFORE_SLEEP; i++) {
        if (orr_threads_outstanding() <= n) return true;
        if (poll && poll()) i = 0;
        sched_yield();
    }
    return false;
}

int orr_wait_until(uint64_t n)
{
    struct orr_thread *self = orr_self();
    if (self->current || self->callback_depth) {
        orr_error("waiting for tasks inside task %s: a task must not block; use a dependency or a callback",
                  orr_task_name(self->current));
        return -EDEADLK;
    }
    wake_for_backlog();
    if (orr_threads_outstanding() <= n) return 0;
    orr_add_acq_rel(&waiters, 1u);
    if (n) orr_add_acq_rel(&orr_wait_thresholds, 1u);
    orr_thread_blocked_begin();
    while (!reached_soon(n)) {
        uint32_t seen = orr_load_acquire(&epoch);
        if (orr_threads_outstanding() <= n) break;
        orr_futex_wait(&epoch, seen, n ? THRESHOLD_SLEEP_NS : -1);
    }
    orr_thread_blocked_end();
    if (n) orr_sub_acq_rel(&orr_wait_thresholds, 1u);
    orr_sub_acq_rel(&waiters, 1u);
    return 0;
}

int starpu_task_wait_for_all(void)
{
    return orr_wait_until(0);
}

int starpu_task_wait_for_n_submitted(unsigned n)
{
    return orr_wait_until(n);
}

int starpu_task_wait_for_all_in_ctx(unsigned sched_ctx)
{
    (void)sched_ctx; /* counters are for all contexts together: waits for more than it must */
    return orr_wait_until(0);
}

int starpu_task_wait_for_n_submitted_in_ctx(unsigned sched_ctx, unsigned n)
{
    (void)sched_ctx;
    return orr_wait_until(n);
}

int starpu_task_nsubmitted(void)
{
    return (int)orr_threads_outstanding();
}

/* ---- limits ---- */

static void throttle(void)
{
    struct orr_thread *self = orr_self();
    long max = orr_load_relaxed(&limit_max), min = orr_load_relaxed(&limit_min);
    if (max < 0 || self->worker || self->current || self->callback_depth)
        return; /* a worker must not block */
    if ((long)orr_threads_outstanding() < max) return;
    orr_wait_until((uint64_t)(min >= 0 && min < max ? min : max > 0 ? max - 1 : 0));
}

static void install(void)
{
    orr_task_hooks.throttle = orr_load_relaxed(&limit_max) >= 0 ? throttle : NULL;
}

void orr_wait_init_limits(void)
{
    orr_store_relaxed(&limit_max, orr_env_long(&env_max, -1, 1, INT32_MAX));
    orr_store_relaxed(&limit_min, orr_env_long(&env_min, -1, 0, INT32_MAX));
    install();
}

void starpu_set_limit_max_submitted_tasks(int limit)
{
    orr_store_relaxed(&limit_max, limit);
    install();
}

void starpu_set_limit_min_submitted_tasks(int limit)
{
    orr_store_relaxed(&limit_min, limit);
}

int starpu_get_limit_max_submitted_tasks(void)
{
    return (int)orr_load_relaxed(&limit_max);
}

int starpu_get_limit_min_submitted_tasks(void)
{
    return (int)orr_load_relaxed(&limit_min);
}
