/* SPDX-License-Identifier: BSD-3-Clause */
/* wait.c: waiting for all tasks, or for few enough; limits on how many are pending.
 * Threads: see wait.h. Owns: waiters' count and epoch, limits. Not here: counting (core/task/count.c).
 *
 * A waiter announces itself with a read-modify-write on `waiters`, then counts. Who has completed tasks does
 * one as well, afterwards: a worker at work not before it rests, everybody else after each (`checks_later`).
 * Whichever comes second sees the other: the waiter the completions, or the other the waiter.
 *
 * wait.pml, beside this file, is a model of it for spin: change both. */
#include "core/worker/wait.h"

#include <errno.h>
#include <starpu.h>

#include "core/base/env.h"
#include "core/base/log.h"
#include "core/data/data.h"
#include "core/worker/jobpool.h"
#include "core/worker/member.h"
#include "core/worker/park.h"
#include "core/worker/tally.h"
#include "core/worker/worker.h"

enum { YIELDS_BEFORE_SLEEP = 30, THRESHOLD_SLEEP_NS = 200000, BACKLOG_WORTH_WAKING = 16 };

static ORR_ALIGNED_LINE _Atomic uint32_t waiters; /* its own line: workers write it when they rest */
static _Atomic uint32_t epoch;                    /* futex */
_Atomic uint32_t orr_wait_thresholds;
static _Atomic long limit_max = -1, limit_min = -1;

void orr_wait_check(void)
{
    if (orr_add_acq_rel(&waiters, 0u) == 0) return; /* pairs with the addition in orr_wait_until */
    if (!orr_load_relaxed(&orr_wait_thresholds) && orr_tasks_outstanding() != 0) return;
    orr_add_acq_rel(&epoch, 1u);
    orr_futex_wake(&epoch, INT32_MAX);
}

void orr_wait_rest_begin(void)
{
    orr_task_self()->checks_later = false;
    orr_wait_check();
}

void orr_wait_rest_end(void)
{
    orr_task_self()->checks_later = true;
}

static struct orr_worker *any_member(struct orr_ctx *ctx)
{
    for (unsigned i = 0; i < orr_worker_count; i++)
        if (orr_ctx_has(ctx, i)) return &orr_workers[i];
    return NULL;
}

/* Workers asleep may have left tasks to one that is busy with short ones; now that this thread stops, its
 * core is free. */
static void wake_for_backlog(void)
{
    struct orr_ctx *ctx = &orr_contexts[0];
    if (!orr_load_acquire(&ctx->open)) return;
    if (orr_load_seq(&orr_parking.parked) == 0 || !ctx->policy->backlog) return;
    struct orr_worker *w = any_member(ctx);
    if (w && ctx->policy->backlog(ctx->instance, w) > BACKLOG_WORTH_WAKING) orr_wake_any(ctx, UINT32_MAX);
}

/* What a wait is about. */
typedef uint64_t (*count_fn)(void);

/* Yields for a while; true when the number is reached. */
static bool reached_soon(uint64_t n, count_fn count)
{
    bool (*poll)(void) = orr_load_acquire(&orr_blocked_poll);
    for (int i = 0; i < YIELDS_BEFORE_SLEEP; i++) {
        if (count() <= n) return true;
        if (poll && poll()) i = 0;
        sched_yield();
    }
    return false;
}

static int refuse_in_task(void)
{
    if (!orr_task_inside()) return 0;
    orr_error("waiting for tasks inside task %s: a task must not block; use a dependency or a callback",
              orr_task_name(orr_task_current()));
    return -EDEADLK;
}

/* precise: nobody runs dry when this number is reached. */
static int wait_until(uint64_t n, count_fn count, bool precise)
{
    int r = refuse_in_task();
    if (r) return r;
    orr_thread_blocked_begin(); /* policies that wait for a good time to decide hear of it */
    wake_for_backlog();
    if (count() <= n) {
        orr_thread_blocked_end();
        return 0;
    }
    orr_add_acq_rel(&waiters, 1u);
    if (precise) orr_add_acq_rel(&orr_wait_thresholds, 1u);
    while (!reached_soon(n, count)) {
        uint32_t seen = orr_load_acquire(&epoch);
        if (count() <= n) break;
        if (precise) orr_thread_looks_again();
        orr_futex_wait(&epoch, seen, precise ? THRESHOLD_SLEEP_NS : -1);
    }
    orr_thread_looks_end();
    orr_thread_blocked_end();
    if (precise) orr_sub_acq_rel(&orr_wait_thresholds, 1u);
    orr_sub_acq_rel(&waiters, 1u);
    return 0;
}

int orr_wait_until(uint64_t n)
{
    return wait_until(n, orr_tasks_outstanding, n > 0);
}

/* While there is no other context, the main one's tasks are all. */
static int wait_main(uint64_t n)
{
    bool alone = true;
    for (unsigned i = 1; i < STARPU_NMAX_SCHED_CTXS; i++) alone &= !orr_load_acquire(&orr_contexts[i].in_use);
    return alone ? orr_wait_until(n) : wait_until(n, orr_tasks_outstanding_main, true);
}

static int wait_in_ctx(unsigned id, uint64_t n, const char *function)
{
    struct orr_ctx *ctx = orr_ctx_get(id);
    if (!ctx) {
        orr_error("%s: there is no scheduling context %u", function, id);
        return -EINVAL;
    }
    if (id == 0) return wait_main(n);
    int r = refuse_in_task();
    if (r) return r;
    orr_tally_wait(ctx, n);
    return 0;
}

/* A thread that has set a context waits for that one. */
static int wait_in_own_ctx(uint64_t n, const char *function)
{
    unsigned id = orr_worker_own()->sched_ctx;
    return id && orr_ctx_get(id) ? wait_in_ctx(id, n, function) : orr_wait_until(n);
}

/* Whether tasks of contexts first to last failed since somebody asked: -EIO, once. */
static int failures(unsigned first, unsigned last)
{
    int r = 0;
    for (unsigned i = first; i <= last; i++)
        if (orr_load_relaxed(&orr_tasks_failed[i]) && orr_exchange_acq_rel(&orr_tasks_failed[i], 0u))
            r = -EIO;
    return r;
}

int starpu_task_wait_for_all(void)
{
    unsigned own = orr_worker_own()->sched_ctx;
    orr_acting(orr_self())->looks++;
    if (orr_unlikely(orr_data_hooks.settle != NULL)) orr_data_hooks.settle();
    int r = wait_in_own_ctx(0, "starpu_task_wait_for_all");
    return r ? r : failures(own, own ? own : STARPU_NMAX_SCHED_CTXS - 1);
}

int starpu_task_wait_for_n_submitted(unsigned n)
{
    orr_acting(orr_self())->looks++;
    return wait_in_own_ctx(n, "starpu_task_wait_for_n_submitted");
}

int starpu_task_wait_for_all_in_ctx(unsigned sched_ctx)
{
    orr_acting(orr_self())->looks++;
    if (orr_unlikely(orr_data_hooks.settle != NULL)) orr_data_hooks.settle();
    int r = wait_in_ctx(sched_ctx, 0, "starpu_task_wait_for_all_in_ctx");
    return r ? r : failures(sched_ctx, sched_ctx);
}

int starpu_task_wait_for_n_submitted_in_ctx(unsigned sched_ctx, unsigned n)
{
    orr_acting(orr_self())->looks++;
    return wait_in_ctx(sched_ctx, n, "starpu_task_wait_for_n_submitted_in_ctx");
}

int starpu_task_nready(void)
{
    unsigned n = 0, own = orr_worker_own()->sched_ctx;
    for (unsigned i = 0; i < STARPU_NMAX_SCHED_CTXS; i++) {
        struct orr_ctx *ctx = orr_ctx_get(i);
        if (ctx && orr_load_acquire(&ctx->open) && (!own || own == i)) n += orr_tally_nready(ctx);
    }
    return (int)n;
}

static void count_started(void *block, void *arg)
{
    const struct orr_task *t = block;
    uint32_t state = orr_load_acquire(&t->state);
    *(unsigned *)arg += state == ORR_TASK_READY || state == ORR_TASK_PUSHED || state == ORR_TASK_RUNNING;
}

/* What starpu_task_nready says is nearly exact: a task may just be on its way from a queue to its worker. */
static bool nothing_ready(void)
{
    unsigned started = 0;
    if (starpu_task_nready() > 0) return false;
    orr_slab_for_each(ORR_SLAB_TASK, count_started, &started);
    orr_slab_for_each(ORR_SLAB_JOB, count_started, &started);
    return started == 0;
}

int starpu_task_wait_for_no_ready(void)
{
    enum { NAP_NS = 200000 };
    bool (*poll)(void) = orr_load_acquire(&orr_blocked_poll);
    orr_acting(orr_self())->looks++;
    int r = refuse_in_task();
    if (r) return r;
    orr_thread_blocked_begin();
    for (int i = 0; !nothing_ready(); i++) {
        orr_thread_looks_again();
        if (poll && poll()) i = 0;
        if (i < YIELDS_BEFORE_SLEEP)
            sched_yield();
        else
            nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
    }
    orr_thread_looks_end();
    orr_thread_blocked_end();
    return 0;
}

int starpu_task_nsubmitted(void)
{
    unsigned own = orr_worker_own()->sched_ctx;
    return (int)(own ? orr_tally_outstanding(own) : orr_tasks_outstanding());
}

/* ---- limits ---- */

static void throttle(void)
{
    long max = orr_load_relaxed(&limit_max), min = orr_load_relaxed(&limit_min);
    if (max < 0 || orr_worker_self() || orr_task_inside()) return; /* a worker must not block */
    if ((long)orr_tasks_outstanding() < max) return;
    orr_wait_until((uint64_t)(min >= 0 && min < max ? min : max > 0 ? max - 1 : 0));
}

static void install(void)
{
    orr_task_hooks.throttle = orr_load_relaxed(&limit_max) >= 0 ? throttle : NULL;
}

void orr_wait_init_limits(void)
{
    failures(0, STARPU_NMAX_SCHED_CTXS - 1); /* of the last time */
    orr_store_relaxed(&limit_max,
                      orr_env_long(ORR_SETTING(STARPU_LIMIT_MAX_SUBMITTED_TASKS), -1, 1, INT32_MAX));
    orr_store_relaxed(&limit_min,
                      orr_env_long(ORR_SETTING(STARPU_LIMIT_MIN_SUBMITTED_TASKS), -1, 0, INT32_MAX));
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
