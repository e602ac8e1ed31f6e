/* SPDX-License-Identifier: BSD-3-Clause */
/* progress.c: see progress.h.
 * Threads: any. Owns: the progress thread and how it sleeps. Not here: idle workers (core/worker/park.c).
 *
 * The aim: a message is seen within microseconds while a core is free, and nobody ever spins on a core that a
 * worker needs. A thread that polls in vain yields. While yields come back at once the core is free, or
 * shared with others that only poll; when one takes long, somebody works here, and from then on the thread
 * naps between polls (100 us, growing to 1 ms) and only now and then tries whether the core is free again.
 * The progress thread leaves the polling to others as long as it sees that they do poll, and sleeps for good
 * while no message is outstanding. */
#include "mpi/wire/progress.h"

#include <errno.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/worker/worker.h"
#include "mpi/wire/cluster.h"

/* What calls functions of the program, until a thread that progresses takes it. */
static struct {
    orr_spin lock; /* protects list; leaf */
    struct orr_put_off list;
    _Atomic uint32_t any;     /* [atomic] whether the list has something */
    _Atomic uint32_t calling; /* [atomic] threads inside a function of the program, or about to be */
    _Atomic bool alone;       /* [atomic] nobody progresses: whoever leaves something calls it */
} aside = { .alone = true };

/* Whether somebody has to come by: messages move only if somebody polls. */
static bool is_needed(void)
{
    return orr_load_seq(&orr_cluster.outstanding) > 0 || orr_load_relaxed(&orr_cluster.engine.unsent) ||
           orr_load_seq(&aside.any);
}

enum {
    LONG_YIELD_US = 50,
    NAP_MIN_US = 100,
    NAP_MAX_US = 1000,
    NAPS_MAX = 64,        /* before a yield is tried again: 1 at first, doubled each time it is long */
    LOOKS_PER_CHECK = 64, /* of so many polls of the progress thread ... */
    OTHERS_ENOUGH = 8,    /* ... this many met polls of others: they do it */
    QUIET_NAPS = 20       /* with nothing outstanding, before sleeping for good */
};

struct idler {
    uint32_t nap_us; /* 0: yields */
    uint32_t naps;   /* still to come before a yield is tried again */
    uint32_t period; /* naps after the next long yield, less one */
};

static struct {
    pthread_t thread;
    ORR_ALIGNED_LINE _Atomic uint32_t asleep; /* futex: 1 while the thread sleeps for good */
    _Atomic uint32_t napping;                 /* futex: 1 while it naps */
    _Atomic uint32_t stop;
} own;

static bool must_stop(void)
{
    return orr_load_acquire(&own.stop) != 0;
}

/* The progress thread's own nap: only a call of a function of the program ends it before its time, because
 * others would pay for that with every message. */
static void nap(uint32_t us)
{
    orr_store_seq(&own.napping, 1u); /* pairs with end_nap, after what it should see was stored */
    if (!orr_load_seq(&aside.any) && !orr_load_seq(&own.stop))
        orr_futex_wait(&own.napping, 1, (int64_t)us * 1000);
    orr_store_seq(&own.napping, 0u);
}

static void end_nap(void)
{
    if (orr_load_seq(&own.napping) && orr_exchange_acq_rel(&own.napping, 0u)) orr_futex_wake(&own.napping, 1);
}

static void sleep_until_signal(uint32_t us, bool (*done)(void *arg), void *arg)
{
    orr_add_seq(&orr_cluster.sleepers, 1u); /* pairs with the load in orr_progress_signal */
    uint32_t seen = orr_load_seq(&orr_cluster.signal);
    if (!done(arg) && !orr_load_seq(&aside.any))
        orr_futex_wait(&orr_cluster.signal, seen, (int64_t)us * 1000);
    orr_sub_seq(&orr_cluster.sleepers, 1u);
}

/* Lets others have the core after a poll in vain. done is asked once more before sleeping, so that no signal
 * is missed. A long yield may be chance, as when a thread of our own ran here for a moment: the first nap is
 * short, and only a core that stays busy is left for longer. */
static void idle(struct idler *i, bool (*done)(void *arg), void *arg)
{
    if (i->nap_us == 0) {
        uint64_t before = orr_ticks();
        sched_yield();
        if (orr_ticks_to_us(orr_ticks() - before) < LONG_YIELD_US) {
            i->period = 0;
            return;
        }
        i->nap_us = NAP_MIN_US;
        i->naps = i->period + 1;
        i->period = i->naps * 2 > NAPS_MAX ? NAPS_MAX - 1 : i->naps * 2 - 1;
        return;
    }
    if (done)
        sleep_until_signal(i->nap_us, done, arg);
    else
        nap(i->nap_us);
    i->nap_us = i->nap_us * 2 > NAP_MAX_US ? NAP_MAX_US : i->nap_us * 2;
    if (--i->naps == 0) i->nap_us = 0;
}

static void moved(struct idler *i)
{
    i->period = 0;
    if (i->nap_us) i->nap_us = NAP_MIN_US;
}

void orr_progress_signal(void)
{
    if (orr_likely(orr_load_seq(&orr_cluster.sleepers) == 0)) return;
    orr_add_seq(&orr_cluster.signal, 1u);
    orr_futex_wake(&orr_cluster.signal, INT32_MAX);
}

/* ---- functions of the program ---- */

/* A callback of the program may take a lock that the thread holds which posts a message, or that another
 * thread holds until a message of its own has ended. So nothing of the program's is called while messages are
 * moved: it is put aside, and called afterwards by threads that progress, one call at a time, so that one
 * which blocks holds up its thread alone. */

/* True if p had something; it waits from now on for who progresses. */
static bool hand_over(const struct orr_put_off *p)
{
    if (orr_likely(!p->waiters && !p->tasks)) return false;
    struct orr_put_off *l = &aside.list;
    orr_spin_lock(&aside.lock);
    if (p->waiters) {
        *(l->waiters ? &l->last_waiter->next : &l->waiters) = p->waiters;
        l->last_waiter = p->last_waiter;
    }
    if (p->tasks) {
        *(l->tasks ? &l->last_task->next : &l->tasks) = p->tasks;
        l->last_task = p->last_task;
    }
    orr_store_seq(&aside.any,
                  1u); /* before the looks for who sleeps: pairs with nap and sleep_until_signal */
    orr_spin_unlock(&aside.lock);
    return true;
}

/* Takes one; false when there is none. */
static bool take_one(struct orr_waiter **w_out, struct orr_task **t_out)
{
    struct orr_put_off *l = &aside.list;
    orr_spin_lock(&aside.lock);
    struct orr_waiter *w = l->waiters;
    struct orr_task *t = w ? NULL : l->tasks;
    if (w) l->waiters = w->next;
    if (t) l->tasks = t->next;
    if (!l->waiters && !l->tasks) orr_store_seq(&aside.any, 0u);
    orr_spin_unlock(&aside.lock);
    *w_out = w;
    *t_out = t;
    return w || t;
}

/* Some of them at most: one that makes the next at once does not keep the thread here for ever. */
static bool call_those_aside(void)
{
    enum { CALLS_PER_TURN = 32 };
    struct orr_waiter *w;
    struct orr_task *t;
    int calls = 0;
    orr_add_seq(&aside.calling, 1u); /* before any may become 0: see orr_progress_may_call */
    while (orr_load_relaxed(&aside.any) && calls < CALLS_PER_TURN && take_one(&w, &t)) {
        calls++;
        if (w) {
            w->granted(w);
            continue;
        }
        t->next = NULL;
        struct orr_ready_list list = { t, t };
        orr_ready_dispatch(&list, NULL);
    }
    orr_sub_seq(&aside.calling, 1u);
    return calls > 0;
}

/* Moves messages; *left_out: functions of the program were put aside. */
static bool move(bool *left_out)
{
    struct orr_thread *self = orr_self();
    struct orr_put_off p = { 0 };
    if (self->put_off) return false; /* a message ends here just now: its thread goes on polling */
    self->put_off = &p;
    bool moved = orr_engine_poll(&orr_cluster.engine);
    self->put_off = NULL;
    *left_out = hand_over(&p);
    return moved;
}

/* Messages that a shutdown gave up end later, when nobody progresses any more. */
static void call_all_aside(void)
{
    while (call_those_aside()) continue;
}

static void call_somebody(void)
{
    if (orr_unlikely(orr_load_seq(&aside.alone))) { /* after any was set; pairs with orr_progress_stop */
        call_all_aside();
        return;
    }
    orr_progress_signal();
    end_nap();
    orr_progress_needed();
}

bool orr_progress_pass(void)
{
    bool left = false, moved = move(&left);
    if (orr_unlikely(left)) call_somebody();
    return moved;
}

void orr_progress_aside(void (*fn)(void *arg), void *arg)
{
    struct orr_thread *self = orr_self();
    struct orr_put_off p = { 0 }, *outer = self->put_off;
    if (!outer) self->put_off = &p;
    fn(arg);
    self->put_off = outer;
    if (hand_over(&p)) call_somebody();
}

void orr_progress_call_back(void (*callback)(void *arg), void *arg)
{
    struct orr_thread *self = orr_self();
    self->callback_depth++;
    orr_acting_begin();
    callback(arg);
    orr_acting_end();
    self->callback_depth--;
}

bool orr_progress_may_call(void)
{
    return orr_load_seq(&aside.any) || orr_load_seq(&aside.calling);
}

bool orr_progress_turn(void)
{
    bool left = false, moved = move(&left);
    if (orr_unlikely(orr_load_relaxed(&aside.any))) moved |= call_those_aside();
    return moved;
}

/* ---- waiting ---- */

void orr_progress_wait(bool (*done)(void *arg), void *arg)
{
    struct idler i = { 0 };
    if (done(arg)) return;
    orr_thread_blocked_begin();
    while (!done(arg)) {
        if (orr_progress_turn())
            moved(&i);
        else
            idle(&i, done, arg);
    }
    orr_thread_blocked_end();
}

void orr_progress_needed(void)
{
    if (orr_likely(orr_load_seq(&own.asleep) == 0) || !is_needed()) return;
    if (orr_exchange_acq_rel(&own.asleep, 0u)) orr_futex_wake(&own.asleep, 1);
}

/* ---- the progress thread ---- */

static void sleep_for_good(void)
{
    orr_store_seq(&own.asleep, 1u); /* pairs with orr_progress_needed: it posts before it looks */
    if (is_needed() || must_stop()) {
        orr_store_seq(&own.asleep, 0u);
        return;
    }
    while (orr_load_seq(&own.asleep) && !must_stop()) orr_futex_wait(&own.asleep, 1, -1);
}

/* Polls until others do, or nothing is outstanding. */
static void poll_alone(void)
{
    struct idler i = { 0 };
    const struct orr_engine *e = &orr_cluster.engine;
    uint64_t polls = orr_load_relaxed(&e->polls);
    for (uint32_t by_others = 0, looks = 0; !must_stop() && is_needed(); looks++) {
        if (orr_progress_turn())
            moved(&i);
        else
            idle(&i, NULL, NULL);
        uint64_t now = orr_load_relaxed(&e->polls);
        by_others += now != polls + 1; /* more than mine, or mine found it busy */
        polls = now;
        if (by_others > OTHERS_ENOUGH) return;
        if (looks % LOOKS_PER_CHECK == 0) by_others = 0;
    }
}

static void *run(void *unused)
{
    (void)unused;
    uint32_t quiet = 0, nap_us = NAP_MIN_US;
    orr_thread_is_internal();
    while (!must_stop()) {
        uint64_t polls = orr_load_relaxed(&orr_cluster.engine.polls);
        nap(nap_us);
        if (!is_needed()) {
            if (++quiet >= QUIET_NAPS) sleep_for_good();
            continue;
        }
        quiet = 0;
        if (orr_load_relaxed(&aside.any)) orr_progress_turn();
        nap_us = nap_us * 2 > NAP_MAX_US ? NAP_MAX_US : nap_us * 2;
        if (orr_load_relaxed(&orr_cluster.engine.polls) != polls) continue; /* others poll */
        poll_alone();
        nap_us = NAP_MIN_US;
    }
    return NULL;
}

/* For idle workers and threads that block in the runtime. */
static bool poll_for_others(void *unused)
{
    (void)unused;
    if (!is_needed()) return false;
    return orr_progress_turn();
}

static const struct orr_progress for_others = { .poll = poll_for_others };

int orr_progress_start(void)
{
    orr_store_relaxed(&own.stop, 0u);
    orr_store_relaxed(&own.asleep, 0u);
    orr_store_relaxed(&own.napping, 0u);
    int r = pthread_create(&own.thread, NULL, run, NULL);
    if (r) {
        orr_error("starpu_mpi_init: the progress thread cannot be started");
        return -r;
    }
    pthread_setname_np(own.thread, "orr-mpi");
    orr_store_seq(&aside.alone, false);
    r = orr_progress_register(for_others);
    if (r) orr_progress_stop();
    return r;
}

void orr_progress_stop(void)
{
    orr_progress_unregister(for_others);
    orr_store_seq(&own.stop, 1u);
    orr_store_seq(&own.asleep, 0u);
    orr_futex_wake(&own.asleep, 1);
    end_nap();
    pthread_join(own.thread, NULL);
    orr_store_seq(&aside.alone, true);
    call_all_aside();
}
