/* SPDX-License-Identifier: BSD-3-Clause */
/* member.c: see member.h.
 * Threads: see there. Owns: see there. Not here: the queue of tasks of contexts without workers (ready.c).
 *
 * A thread that asks for a change writes it under the worker's lock, then wakes the worker: by the protocol
 * of park.c, with `asked` in the place of the task. A policy hears of a change from the worker itself, one
 * worker at a time in each context. A worker that leaves wakes the others: tasks that it was expected to take
 * are theirs now. */
#include "core/worker/member.h"

#include <starpu.h>

#include "core/base/log.h"
#include "core/base/event.h"
#include "core/worker/lending.h"
#include "core/worker/parallel.h"
#include "core/worker/park.h"
#include "core/worker/serve.h"

/* ---- asking ---- */

/* Called with w->asked_lock held, which it releases. */
static uint32_t asked_locked(struct orr_worker *w)
{
    uint32_t n = orr_load_relaxed(&w->asked) + 1;
    orr_add_seq(&orr_parking.attention, 1);
    orr_store_seq(&w->asked, n); /* pairs with orr_member_called */
    orr_spin_unlock(&w->asked_lock);
    if (!orr_load_acquire(&orr_parking.running)) {
        orr_member_change(w);
        return n;
    }
    orr_add_seq(&orr_parking.pause_epoch, 1);
    if (orr_load_seq(&orr_parking.paused)) orr_futex_wake(&orr_parking.pause_epoch, INT32_MAX);
    starpu_worker_relax_on(); /* waking may take its mutex */
    orr_wake_worker(w);
    starpu_worker_relax_off();
    orr_gate_open(w);
    return n;
}

uint32_t orr_member_ask(struct orr_worker *w, uint32_t join, uint32_t leave)
{
    orr_spin_lock(&w->asked_lock);
    w->wanted = (w->wanted & ~leave) | join;
    return asked_locked(w);
}

uint32_t orr_member_suspend(struct orr_worker *w, int change)
{
    orr_spin_lock(&w->asked_lock);
    w->suspended += change;
    return asked_locked(w);
}

uint32_t orr_member_capture(struct orr_worker *w, uint32_t capture, uint32_t release)
{
    orr_spin_lock(&w->asked_lock);
    w->captured = (w->captured & ~release) | capture;
    return asked_locked(w);
}

bool orr_member_may_wait(void)
{
    const struct orr_worker_thread *own = orr_worker_own();
    return !own->worker && !orr_task_inside() && !own->inside_policies;
}

void orr_member_wait(struct orr_worker *w, uint32_t n)
{
    enum { POLL_NS = 1000000 };
    bool (*poll)(void) = orr_load_acquire(&orr_blocked_poll);
    for (;;) {
        uint32_t done = orr_load_acquire(&w->done); /* pairs with orr_member_change */
        if ((int32_t)(done - n) >= 0 || !orr_load_acquire(&orr_parking.running)) return;
        if (poll && poll()) continue;
        orr_futex_wait(&w->done, done, poll ? POLL_NS : -1);
    }
}

uint32_t orr_member_wanted(struct orr_worker *w)
{
    orr_spin_lock(&w->asked_lock);
    uint32_t wanted = w->wanted;
    orr_spin_unlock(&w->asked_lock);
    return wanted;
}

bool orr_member_has_to_move(struct orr_worker *w, uint32_t join, uint32_t leave)
{
    orr_spin_lock(&w->asked_lock);
    uint32_t in = orr_load_relaxed(&w->in), held = w->suspended > 0 || (w->captured & w->wanted);
    bool moves = (!held && (join & ~(in & w->going))) || (leave & (in | w->going));
    orr_spin_unlock(&w->asked_lock);
    return moves;
}

bool orr_member_leaves(struct orr_worker *w, unsigned ctx)
{
    uint32_t bit = UINT32_C(1) << ctx;
    orr_spin_lock(&w->asked_lock);
    bool leaves = ((orr_load_relaxed(&w->in) | w->going) & bit) && !(w->wanted & bit);
    orr_spin_unlock(&w->asked_lock);
    return leaves;
}

bool orr_member_is_plain(struct orr_worker *w)
{
    orr_spin_lock(&w->asked_lock);
    bool plain = w->wanted == 1 && w->going == 1 && orr_load_relaxed(&w->in) == 1 && w->suspended == 0;
    orr_spin_unlock(&w->asked_lock);
    return plain;
}

bool orr_member_held(struct orr_worker *w)
{
    orr_spin_lock(&w->asked_lock);
    bool held = w->suspended > 0 || (w->captured & w->wanted);
    orr_spin_unlock(&w->asked_lock);
    return held;
}

/* ---- the list of a context; called with its change_lock held ---- */

static void enlist(struct orr_ctx *ctx, unsigned id)
{
    unsigned n = orr_load_relaxed(&ctx->nworkers), at = n;
    for (int before; at > 0 && (before = orr_load_relaxed(&ctx->workers[at - 1])) > (int)id; at--)
        orr_store_relaxed(&ctx->workers[at], before);
    orr_store_relaxed(&ctx->workers[at], (int)id);
    atomic_fetch_or_explicit(&ctx->member[id / 64], UINT64_C(1) << (id % 64), memory_order_seq_cst);
    orr_store_seq(&ctx->nworkers, n + 1);
}

static void strike(struct orr_ctx *ctx, unsigned id)
{
    unsigned at = 0, n = orr_load_relaxed(&ctx->nworkers);
    while (orr_load_relaxed(&ctx->workers[at]) != (int)id) at++;
    for (; at + 1 < n; at++) orr_store_relaxed(&ctx->workers[at], orr_load_relaxed(&ctx->workers[at + 1]));
    atomic_fetch_and_explicit(&ctx->member[id / 64], ~(UINT64_C(1) << (id % 64)), memory_order_seq_cst);
    orr_store_seq(&ctx->nworkers, n - 1);
}

/* ---- joining and leaving ---- */

/* False, with a message: out of memory. */
static bool join(struct orr_ctx *ctx, struct orr_worker *w)
{
    bool user = ctx->policy->flags & ORR_POLICY_USER; /* its adapter keeps the collection */
    pthread_mutex_lock(&ctx->change_lock);
    if (!user) ctx->collection->add(ctx->collection, w->id);
    enlist(ctx, (unsigned)w->id);
    int r = ctx->policy->add_workers ? ctx->policy->add_workers(ctx->instance, &w->id, 1) : 0;
    if (r) {
        ctx->join_error = r;
        strike(ctx, (unsigned)w->id);
        if (!user) ctx->collection->remove(ctx->collection, w->id);
    }
    pthread_mutex_unlock(&ctx->change_lock);
    if (r) {
        orr_error("scheduling policy %s: it cannot take worker %d%s", orr_policy_name(ctx), w->id,
                  r == -ENOMEM ? ": out of memory" : "");
        return false;
    }
    orr_store_release(&w->in, orr_load_relaxed(&w->in) | UINT32_C(1) << ctx->id);
    orr_ctx_push_held(ctx);
    return true;
}

static void leave(struct orr_ctx *ctx, struct orr_worker *w)
{
    bool user = ctx->policy->flags & ORR_POLICY_USER;
    pthread_mutex_lock(&ctx->change_lock);
    strike(ctx, (unsigned)w->id);
    if (!user) ctx->collection->remove(ctx->collection, w->id);
    if (ctx->policy->remove_workers) ctx->policy->remove_workers(ctx->instance, &w->id, 1);
    pthread_mutex_unlock(&ctx->change_lock);
    orr_wake_each(ctx);
    /* last: starpu_sched_ctx_delete waits for it */
    orr_store_release(&w->in, orr_load_relaxed(&w->in) & ~(UINT32_C(1) << ctx->id));
}

/* What w was to run next without asking the policy goes back to it. */
static void give_back_kept(struct orr_worker *w)
{
    struct orr_task *t = w->kept;
    if (!t || orr_member_may_run(w, t)) return;
    w->kept = NULL;
    t->nimpl_valid = 0;
    orr_task_hooks.push(t);
}

/* What is asked of w: where it is to be. Returns the number of the asking. */
static uint32_t read_asked(struct orr_worker *w, uint32_t *target_out)
{
    orr_spin_lock(&w->asked_lock);
    uint32_t captured = w->wanted & w->captured; /* by those it is in */
    uint32_t target = w->suspended > 0 ? 0 : captured ? captured : w->wanted;
    uint32_t n = orr_load_relaxed(&w->asked);
    w->going = target;
    orr_spin_unlock(&w->asked_lock);
    *target_out = target;
    return n;
}

/* It cannot be where it was told to be. */
static void give_up(struct orr_worker *w, uint32_t bit)
{
    orr_spin_lock(&w->asked_lock);
    w->wanted &= ~bit;
    orr_spin_unlock(&w->asked_lock);
}

static void change(struct orr_worker *w)
{
    uint32_t target, n = read_asked(w, &target), before = orr_load_relaxed(&w->in), joined = 0;
    w->serves_count = 0; /* nobody, until all is done */
    for (uint32_t out = before & ~target; out; out &= out - 1) leave(&orr_contexts[__builtin_ctz(out)], w);
    give_back_kept(w);
    for (uint32_t new = target & ~before; new; new &= new - 1) {
        uint32_t bit = new & -new;
        if (join(&orr_contexts[__builtin_ctz(new)], w))
            joined |= bit;
        else
            give_up(w, bit);
    }
    orr_serve_choose(w);
    orr_sub_seq(&orr_parking.attention, n - orr_load_relaxed(&w->done));
    orr_store_release(&w->done, n); /* pairs with orr_member_wait */
    orr_futex_wake(&w->done, INT32_MAX);
    for (; joined; joined &= joined - 1) ORR_EVENT(WORKER_JOINED, w, w->id, __builtin_ctz(joined), 0);
}

void orr_member_change(struct orr_worker *w)
{
    if (w->changing) return; /* its policy asks something of it meanwhile: that is the next change */
    w->changing = true;
    change(w);
    while (!orr_load_acquire(&orr_parking.running) && orr_member_called(w)) change(w);
    w->changing = false;
    orr_idle_left();
}
