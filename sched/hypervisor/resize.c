/* SPDX-License-Identifier: BSD-3-Clause */
/* resize.c: moves workers from one context to another, one resize at a time, until each was seen there.
 * Threads: any; callbacks of workers report which were seen. Owns: moves under way and moves that wait.
 * Not here: which workers to move (tools.c, planning.c), how a context takes and leaves them (core/run).
 *
 * A wish is kept for each worker: where it is to go. A resize takes the wishes of one sender and one
 * receiver, adds the workers to the receiver, and is over when the last of them took a task there or looked
 * for one, and has left the sender. Then the next begins. Lazy: a worker leaves the sender when it was seen
 * in the receiver; else at once. */
#include <string.h>

#include "core/run/sched_ctx.h"
#include "core/worker/member.h"
#include "sched/hypervisor/hypervisor.h"

enum { NOWHERE = -1 };

struct move {
    int from, to; /* contexts; NOWHERE: this worker does not move */
    bool now;
    bool arrived; /* it was seen there */
    bool leaves;  /* and has left the sender, or was asked to */
};

static ORR_MUTEX(hyp_resize) lock = PTHREAD_MUTEX_INITIALIZER; /* protects all of this */
static struct move wishes[STARPU_NMAXWORKERS], moves[STARPU_NMAXWORKERS];
static unsigned nwishes, nmoves;
static bool carrying;         /* a resize is being begun: contexts are being told */
static bool ready;            /* the arrays are initialised */
static _Atomic unsigned busy; /* nwishes, nmoves and carrying together, for those who only look */

/* Called with the lock held. */
static void prepare_locked(void)
{
    if (ready) return;
    for (int i = 0; i < STARPU_NMAXWORKERS; i++) wishes[i].to = moves[i].to = NOWHERE;
    ready = true;
}

static void count_locked(void)
{
    orr_store_seq(&busy, nwishes + nmoves + carrying);
}

bool orr_hyp_resizing(void)
{
    return orr_load_seq(&busy) > 0;
}

static void drop_locked(struct move *m, unsigned *count)
{
    if (m->to == NOWHERE) return;
    m->to = NOWHERE;
    --*count;
}

bool orr_hyp_is_moving(int worker)
{
    if (!orr_hyp_resizing()) return false;
    pthread_mutex_lock(&lock);
    bool moving = ready && (wishes[worker].to != NOWHERE || moves[worker].to != NOWHERE);
    pthread_mutex_unlock(&lock);
    return moving;
}

int orr_hyp_place_of(int worker, const unsigned *ctxs, int n)
{
    int to = NOWHERE;
    pthread_mutex_lock(&lock);
    if (ready) to = wishes[worker].to != NOWHERE ? wishes[worker].to : moves[worker].to;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < n; i++)
        if (to == NOWHERE ? starpu_sched_ctx_contains_worker(worker, ctxs[i]) : (unsigned)to == ctxs[i])
            return i;
    return -1;
}

/* ---- a resize ---- */

/* Fills in the sender's acknowledgement. */
static void begin_ack(unsigned from, int to, const int *workers, unsigned n)
{
    struct orr_hyp_slot *slot = orr_hyp_slot(from);
    if (!slot) return;
    struct sc_hypervisor_resize_ack *ack = &slot->w->resize_ack;
    pthread_mutex_lock(&slot->w->mutex);
    ack->receiver_sched_ctx = to;
    ack->nmoved_workers = (int)n;
    memcpy(ack->moved_workers, workers, n * sizeof *workers);
    memset(ack->acked_workers, 0, n * sizeof *ack->acked_workers);
    pthread_mutex_unlock(&slot->w->mutex);
}

static void acknowledge(unsigned from, int worker)
{
    struct orr_hyp_slot *slot = orr_hyp_slot(from);
    if (!slot) return;
    struct sc_hypervisor_resize_ack *ack = &slot->w->resize_ack;
    pthread_mutex_lock(&slot->w->mutex);
    for (int i = 0; i < ack->nmoved_workers; i++)
        if (ack->moved_workers[i] == worker) ack->acked_workers[i] = 1;
    pthread_mutex_unlock(&slot->w->mutex);
}

/* The wishes of one pair of contexts become moves. Returns how many; 0: no wish can be met. Called with the
 * lock held. */
static unsigned take_wishes_locked(struct move *pair_out, int *workers_out)
{
    unsigned n = 0;
    for (int i = 0; i < STARPU_NMAXWORKERS && nwishes > 0; i++) {
        struct move *m = &wishes[i];
        if (m->to == NOWHERE || (n > 0 && (m->from != pair_out->from || m->to != pair_out->to))) continue;
        struct move wish = *m;
        drop_locked(m, &nwishes);
        if (!orr_hyp_slot((unsigned)wish.to) || !starpu_sched_ctx_contains_worker(i, (unsigned)wish.from))
            continue;
        if (n == 0) *pair_out = wish;
        pair_out->now |= wish.now;
        moves[i] = wish;
        nmoves++;
        workers_out[n++] = i;
    }
    count_locked();
    return n;
}

/* Takes a worker out of its old context, if it is still there beside the new one. */
static void leave_sender(int worker, const struct move *m)
{
    if (starpu_sched_ctx_contains_worker(worker, (unsigned)m->from))
        orr_sched_ctx_move_try(&worker, 1, (unsigned)m->from, false);
}

static void carry_out(const struct move *pair, int *workers, unsigned n)
{
    struct orr_hyp_slot *from = orr_hyp_slot((unsigned)pair->from), *to = orr_hyp_slot((unsigned)pair->to);
    orr_hyp_print_speeds();
    if (from) orr_hyp_begin_sample(from);
    if (to) orr_hyp_begin_sample(to);
    orr_add_relaxed(&orr_hyp.resizes, 1);
    orr_add_relaxed(&orr_hyp.moved, n);
    for (unsigned i = 0; i < n; i++) sc_hypervisor_init_worker(workers[i], (unsigned)pair->to);
    if (!orr_sched_ctx_move_try(workers, n, (unsigned)pair->to, true)) { /* it is being deleted */
        orr_hyp_forget_moves((unsigned)pair->to);
        return;
    }
    if (pair->now || !orr_hyp.lazy)
        for (unsigned i = 0; i < n; i++) leave_sender(workers[i], pair);
}

/* Who unregisters one of the two contexts waits until this is over. */
static void carry_out_inside(const struct move *pair, int *workers, unsigned n)
{
    struct orr_hyp_slot *from = orr_hyp_enter((unsigned)pair->from), *to = orr_hyp_enter((unsigned)pair->to);
    if (from && to)
        carry_out(pair, workers, n);
    else
        orr_hyp_forget_moves((unsigned)(to ? pair->from : pair->to));
    if (from) orr_hyp_leave(from);
    if (to) orr_hyp_leave(to);
}

/* A move is over when the worker has arrived and left the sender. Not before: the sender would count it as
 * one it can spare, and the next resize could bring it back there first. */
static void settle_locked(int worker)
{
    struct move *m = &moves[worker];
    if (m->to != NOWHERE && m->leaves && !orr_member_leaves(&orr_workers[worker], (unsigned)m->from))
        drop_locked(m, &nmoves);
}

void orr_hyp_advance(void)
{
    int workers[STARPU_NMAXWORKERS];
    struct move pair = { 0 };
    for (unsigned n = 1; n > 0 && orr_hyp_resizing() && !orr_hyp_is_deciding();) {
        pthread_mutex_lock(&lock);
        for (int i = 0; ready && nmoves > 0 && i < STARPU_NMAXWORKERS; i++) settle_locked(i);
        n = nmoves == 0 && !carrying && nwishes > 0 ? take_wishes_locked(&pair, workers) : 0;
        if (n > 0) begin_ack((unsigned)pair.from, pair.to, workers, n);
        carrying |= n > 0;
        count_locked();
        pthread_mutex_unlock(&lock);
        if (n == 0) return;
        carry_out_inside(&pair, workers, n);
        pthread_mutex_lock(&lock);
        carrying = false;
        count_locked();
        pthread_mutex_unlock(&lock);
    } /* perhaps all were seen meanwhile: then the next */
}

void orr_hyp_seen(unsigned ctx, int worker)
{
    if (!orr_hyp_resizing()) return;
    pthread_mutex_lock(&lock);
    struct move m = { .to = NOWHERE };
    if (ready) m = moves[worker];
    bool moving = m.to != NOWHERE && !m.arrived;
    bool arrives = moving && ctx == (unsigned)m.to;
    if (arrives) moves[worker].arrived = true;
    if (moving && !arrives && ctx != (unsigned)m.from)
        drop_locked(&moves[worker], &nmoves); /* the program took it */
    if (!moving && ready) settle_locked(worker);
    count_locked();
    pthread_mutex_unlock(&lock);
    if (!arrives) return;
    acknowledge((unsigned)m.from, worker);
    leave_sender(worker, &m);
    pthread_mutex_lock(&lock);
    moves[worker].leaves = moves[worker].arrived; /* else it was forgotten meanwhile */
    settle_locked(worker);
    count_locked();
    pthread_mutex_unlock(&lock);
}

void orr_hyp_forget_moves(unsigned ctx)
{
    pthread_mutex_lock(&lock);
    bool all = ctx >= STARPU_NMAX_SCHED_CTXS;
    for (int i = 0; ready && i < STARPU_NMAXWORKERS; i++) {
        if (all || wishes[i].from == (int)ctx || wishes[i].to == (int)ctx) drop_locked(&wishes[i], &nwishes);
        if (all || moves[i].from == (int)ctx || moves[i].to == (int)ctx) drop_locked(&moves[i], &nmoves);
    }
    count_locked();
    pthread_mutex_unlock(&lock);
}

/* ---- asking for it ---- */

static bool is_fixed(struct orr_hyp_slot *slot, int worker)
{
    pthread_mutex_lock(&slot->w->mutex);
    bool fixed = slot->w->config->fixed_workers[worker] != 0;
    pthread_mutex_unlock(&slot->w->mutex);
    return fixed;
}

static void wish(const struct move *m, int worker)
{
    pthread_mutex_lock(&lock);
    prepare_locked();
    if (wishes[worker].to == NOWHERE) nwishes++;
    wishes[worker] = *m;
    count_locked();
    pthread_mutex_unlock(&lock);
}

void sc_hypervisor_move_workers(unsigned sender_sched_ctx, unsigned receiver_sched_ctx, int *workers_to_move,
                                unsigned nworkers_to_move, unsigned now)
{
    struct orr_hyp_slot *from = orr_hyp_slot_or_error(sender_sched_ctx, "sc_hypervisor_move_workers");
    struct orr_hyp_slot *to = orr_hyp_slot_or_error(receiver_sched_ctx, "sc_hypervisor_move_workers");
    struct move m = { .from = (int)sender_sched_ctx, .to = (int)receiver_sched_ctx, .now = now != 0 };
    if (!from || !to || from == to) return;
    if (!orr_load_relaxed(&from->allowed) || !orr_load_relaxed(&to->allowed)) {
        orr_info("sc_hypervisor_move_workers: the program forbids resizing context %u; no worker is moved",
                 orr_load_relaxed(&from->allowed) ? receiver_sched_ctx : sender_sched_ctx);
        return;
    }
    for (unsigned i = 0; i < nworkers_to_move; i++) {
        int worker = workers_to_move[i];
        if (worker < 0 || (unsigned)worker >= starpu_worker_get_count())
            orr_error("sc_hypervisor_move_workers: there is no worker %d; it is left out", worker);
        else if (!is_fixed(from, worker) &&
                 (starpu_sched_ctx_contains_worker(worker, sender_sched_ctx) || orr_hyp_is_moving(worker)))
            wish(&m, worker);
    }
    orr_hyp_advance();
}

/* ---- single contexts ---- */

void sc_hypervisor_init_worker(int workerid, unsigned sched_ctx)
{
    struct orr_hyp_slot *slot = orr_hyp_slot(sched_ctx);
    if (!slot || workerid < 0 || workerid >= STARPU_NMAXWORKERS) return;
    struct sc_hypervisor_wrapper *w = slot->w;
    pthread_mutex_lock(&w->mutex);
    w->start_time_w[workerid] = starpu_timing_now();
    w->current_idle_time[workerid] = w->idle_time[workerid] = w->idle_start_time[workerid] = 0.0;
    w->exec_time[workerid] = 0.0;
    w->worker_to_be_removed[workerid] = 0;
    slot->worked_us[workerid] = 0.0;
    if (w->config->new_workers_max_idle < MAX_IDLE_TIME)
        w->config->max_idle[workerid] = w->config->new_workers_max_idle;
    pthread_mutex_unlock(&w->mutex);
    if (orr_hyp.policy.init_worker) orr_hyp.policy.init_worker(workerid, sched_ctx);
}

/* A strategy is not told that the context is just being deleted; the program is. */
static void change_members(int *workers, unsigned n, unsigned ctx, bool add)
{
    int there[STARPU_NMAXWORKERS];
    if (orr_hyp_is_inside())
        orr_sched_ctx_move_try(there, (unsigned)orr_hyp_workers(there, workers, (int)n), ctx, add);
    else if (add)
        starpu_sched_ctx_add_workers(workers, n, ctx);
    else
        starpu_sched_ctx_remove_workers(workers, n, ctx);
}

void sc_hypervisor_add_workers_to_sched_ctx(int *workers_to_add, unsigned nworkers_to_add, unsigned sched_ctx)
{
    if (!orr_hyp_slot_or_error(sched_ctx, "sc_hypervisor_add_workers_to_sched_ctx") || nworkers_to_add == 0)
        return;
    for (unsigned i = 0; i < nworkers_to_add; i++) sc_hypervisor_init_worker(workers_to_add[i], sched_ctx);
    change_members(workers_to_add, nworkers_to_add, sched_ctx, true);
}

void sc_hypervisor_remove_workers_from_sched_ctx(int *workers_to_remove, unsigned nworkers_to_remove,
                                                 unsigned sched_ctx, unsigned now)
{
    struct orr_hyp_slot *slot =
        orr_hyp_slot_or_error(sched_ctx, "sc_hypervisor_remove_workers_from_sched_ctx");
    if (!slot || nworkers_to_remove == 0) return;
    if (now) {
        change_members(workers_to_remove, nworkers_to_remove, sched_ctx, false);
        return;
    }
    pthread_mutex_lock(&slot->w->mutex);
    for (unsigned i = 0; i < nworkers_to_remove; i++)
        if (workers_to_remove[i] >= 0 && workers_to_remove[i] < STARPU_NMAXWORKERS)
            slot->w->worker_to_be_removed[workers_to_remove[i]] = 1;
    pthread_mutex_unlock(&slot->w->mutex);
}
