/* SPDX-License-Identifier: BSD-3-Clause */
/* tally.c: see tally.h.
 * Threads: see there. Owns: see there. Not here: what follows from a context's last task
 * (core/run/sched_ctx.c).
 *
 * A waiter registers and then counts; a thread that ends a task counts down and then looks for waiters
 * (seq_cst both). */
#include "core/worker/tally.h"

#include <starpu.h>

#include "core/worker/park.h"
#include "core/worker/wait.h"

void (*_Atomic orr_tally_drained)(struct orr_ctx *ctx);

/* ---- counting ---- */

void orr_tally_submitted(unsigned id)
{
    orr_own_add(&orr_task_self()->submitted_elsewhere, 1);
    orr_add_relaxed(&orr_contexts[id].tally.outstanding, 1);
}

void orr_tally_revert(struct orr_ctx *ctx, int change, double flops)
{
    double sum = orr_load_relaxed(&ctx->tally.ready_flops);
    orr_add_relaxed(&ctx->tally.ready, change);
    if (flops != 0)
        while (!orr_cas_weak_acq_rel(&ctx->tally.ready_flops, &sum, sum + change * flops)) continue;
}

void orr_tally_ready(struct orr_task *t)
{
    if (t->flags & ORR_TF_READY) return;
    t->flags |= ORR_TF_READY;
    orr_tally_revert(&orr_contexts[t->sched_ctx], 1, t->pub->flops);
}

/* Counts down, and wakes those for whom few enough are left.
 * Called with the context in use by this thread. */
static void count_down(struct orr_ctx *ctx)
{
    struct orr_tally *y = &ctx->tally;
    int64_t left = orr_sub_seq(&y->outstanding, 1) - 1; /* pairs with orr_tally_wait */
    if (orr_unlikely(left == 0 && orr_load_seq(&y->finished))) {
        void (*drained)(struct orr_ctx *) = orr_load_acquire(&orr_tally_drained);
        if (drained) drained(ctx);
    }
    if (orr_load_seq(&y->waiters) == 0 || left > orr_load_seq(&y->enough)) return;
    orr_add_seq(&y->epoch, 1);
    orr_futex_wake(&y->epoch, INT32_MAX);
}

void orr_tally_completed(unsigned id, bool was_ready, double flops)
{
    struct orr_worker_thread *own = orr_worker_own();
    struct orr_ctx *ctx = &orr_contexts[id];
    uint32_t outer = orr_ctx_use_begin(own, id);
    if (was_ready) orr_tally_revert(ctx, -1, flops);
    count_down(ctx);
    orr_ctx_use_end(own, outer);
}

void orr_tally_move(struct orr_task *t, unsigned to)
{
    struct orr_worker_thread *own = orr_worker_own();
    struct orr_ctx *from = &orr_contexts[t->sched_ctx];
    uint32_t outer = orr_ctx_use_begin(own, from->id);
    bool counted = t->flags & ORR_TF_READY;
    t->flags &= ~(uint32_t)ORR_TF_READY;
    t->sched_ctx = (uint16_t)to;
    t->pub->sched_ctx = to;
    if (to) orr_tally_submitted(to);
    if (from->id) {
        if (counted) orr_tally_revert(from, -1, t->pub->flops);
        orr_own_add(&orr_task_self()->completed_elsewhere, 1);
        count_down(from);
    }
    orr_ctx_use_end(own, outer);
}

/* ---- asking ---- */

uint64_t orr_tally_outstanding(unsigned id)
{
    if (id == 0) return orr_tasks_outstanding_main();
    int64_t n = orr_load_seq(&orr_contexts[id].tally.outstanding);
    return n > 0 ? (uint64_t)n : 0;
}

/* What the policy of the main context, and its workers, have: nobody counts there. */
static unsigned nready_main(struct orr_ctx *ctx)
{
    unsigned most = 0, others = 0;
    for (unsigned i = 0; i < orr_worker_count; i++) {
        struct orr_worker *w = &orr_workers[i];
        if (!orr_ctx_has(ctx, i)) continue;
        unsigned n = ctx->policy->backlog ? ctx->policy->backlog(ctx->instance, w) : 0;
        if (n > most) most = n;
        others += orr_load_relaxed(&w->local_count) + !orr_load_relaxed(&w->idle_shown);
    }
    uint64_t outstanding = orr_tally_outstanding(0);
    return outstanding < most + others ? (unsigned)outstanding : most + others;
}

unsigned orr_tally_nready(struct orr_ctx *ctx)
{
    int n = orr_load_relaxed(&ctx->tally.ready);
    return ctx->id == 0 ? nready_main(ctx) : n > 0 ? (unsigned)n : 0;
}

/* ---- waiting ---- */

static void raise_enough(struct orr_tally *y, int64_t n)
{
    int64_t enough = orr_load_relaxed(&y->enough);
    while (enough < n && !orr_cas_seq(&y->enough, &enough, n)) continue;
}

void orr_tally_wait(struct orr_ctx *ctx, uint64_t n)
{
    enum { YIELDS_BEFORE_SLEEP = 30, POLL_NS = 200000 };
    struct orr_tally *y = &ctx->tally;
    bool (*poll)(void) = orr_load_acquire(&orr_blocked_poll);
    orr_add_seq(&y->waiters, 1); /* pairs with count_down */
    raise_enough(y, (int64_t)n);
    orr_thread_blocked_begin();
    for (int i = 0;; i++) {
        uint32_t seen = orr_load_seq(&y->epoch);
        if (orr_tally_outstanding(ctx->id) <= n) break;
        if (poll) orr_thread_looks_again();
        if ((poll && poll()) || i < YIELDS_BEFORE_SLEEP)
            sched_yield();
        else
            orr_futex_wait(&y->epoch, seen, poll ? POLL_NS : -1);
    }
    orr_thread_looks_end();
    orr_thread_blocked_end();
    orr_sub_seq(&y->waiters, 1);
}

/* Whether a thread works for context id just now. */
static bool is_used(unsigned id)
{
    bool used = false;
    for (struct orr_thread *t = orr_threads_lock(); t; t = t->next)
        used |= orr_load_seq(&orr_worker_thread(t)->using_ctx) == id + 1;
    orr_threads_unlock();
    return used;
}

void orr_tally_wait_unused(unsigned id)
{
    enum { NAP_NS = 50000, YIELDS = 16 };
    for (int i = 0; is_used(id); i++) {
        if (i < YIELDS)
            sched_yield();
        else
            nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
    }
}
