/* SPDX-License-Identifier: BSD-3-Clause */
/* progress.c: see progress.h.
 * Threads: any. Owns: see progress.h. Not here: idle workers (core/worker/park.c).
 *
 * The aim: a message is seen within microseconds while a core is free, and nobody ever spins on a core that a
 * worker needs. A thread that polls in vain yields. While yields come back at once the core is free, or
 * shared with others that only poll; when one takes long, somebody works here, and from then on the thread
 * naps between polls (100 us, growing to 1 ms) and only now and then tries whether the core is free again.
 * Where the ranks of the node ring (bells.h), a thread that has polled for a while in vain, or lost its core,
 * sleeps until one does.
 * The progress thread leaves the polling to others as long as it sees that they poll, or listen (naps of up
 * to 3 ms), and sleeps for good while no message is outstanding. So does who waits for all, without
 * listening, while the workers have all cores and end tasks so often that they see soon what comes. While all
 * others compute it polls by itself, napping; or, where ranks ring, it is the bell's attendant: kernels are
 * interrupted for what other ranks wait for alone. */
#include "mpi/wire/progress.h"

#include <errno.h>
#include <starpu.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/topo/topo.h"
#include "core/worker/worker.h"

/* Others may ask for something at any time. Where they do not ring for all that comes, that alone keeps
 * nobody polling: the progress thread looks now and then. */
static bool is_held(struct orr_mpi_progress *p)
{
    return orr_load_seq(&p->held) > 0;
}

/* Whether somebody has to come by: messages move only if somebody polls. Those of barriers and sums are not
 * counted; who waits for one counts itself when it sleeps. */
static bool is_needed(struct orr_mpi_progress *p)
{
    return orr_load_seq(&p->outstanding) > 0 || orr_load_seq(&p->unawaited) > 0 ||
           orr_load_relaxed(&p->attentive) || (is_held(p) && orr_load_relaxed(&p->bells_suffice)) ||
           orr_load_relaxed(&p->engine->unsent) || orr_load_seq(&p->aside.any) ||
           orr_load_seq(&p->sleepers) > 0;
}

enum {
    LONG_YIELD_US = 50,
    WORK_YIELD_US = 5,   /* somebody else had the core for more than a look */
    ALONE_YIELD_US = 1,  /* nobody had */
    LOOKS_PER_YIELD = 8, /* while nobody else wants the core: a yield costs as much as a message; */
    CALM_MAX = 2,        /* doubled as often while nobody did at the last ones */
    NAP_MIN_US = 100,
    NAP_MAX_US = 1000,
    NAPS_MAX = 64,           /* before a yield is tried again: 1 at first, doubled each time it is long */
    LOOKS_PER_COUNT = 32,    /* of who waits for all: then it asks again whether there are tasks */
    LOOKS_PER_CHECK = 64,    /* of so many polls of the progress thread ... */
    OTHERS_ENOUGH = 8,       /* ... this many met polls of others: they do it */
    POLLED_US = 200,         /* in vain, before a thread that waits sleeps until a ring */
    LISTENED_US = 10000,     /* a sleep of who listens: only to be safe; and of who watches workers instead */
    ATTENDED_US = 3000,      /* a sleep of the attendant: callbacks of the program may wait so long; */
    ATTENDED_MAX_US = 24000, /* doubled up to this while others poll now and then */
    IN_VAIN_US = 1000, /* it leaves that to others who poll, if it was woken in vain sooner than this, */
    OFTEN_US = 100,    /* or who poll more often than this, */
    LEFT_NAPS = 16,    /* for so many naps */
    BESIDE_US = 3000,  /* a nap of the progress thread beside one that listens, and may go to work, */
    COMES_BY_US = 500, /* or beside others who poll as often as this */
    SOON_US = 2000,    /* where workers end tasks so often, who waits for all need not be rung */
    BETWEEN_MOVES_US = 1000, /* from core to core */
    QUIET_NAPS = 20          /* with nothing outstanding, before sleeping for good */
};

struct idler {
    uint32_t nap_us; /* 0: yields */
    uint32_t naps;   /* still to come before a yield is tried again */
    uint32_t period; /* naps after the next long yield, less one */
    uint64_t since;  /* ticks when it began to poll in vain; 0: it did not */
    uint32_t looks;  /* in vain, ever */
    uint32_t calm;   /* yields in a row when nobody had the core */
    uint32_t shared; /* yields in a row when somebody else had it for longer than for a look */
    bool looking;    /* counted in orr_bell_lookers */
    bool counted;    /* tasks were; */
    bool alone;      /* there were none */
};

static bool must_stop(struct orr_mpi_progress *p)
{
    return orr_load_acquire(&p->own.stop) != 0;
}

/* The progress thread's own nap: only a call of a function of the program ends it before its time, because
 * others would pay for that with every message. */
static void nap(struct orr_mpi_progress *p, uint32_t us)
{
    orr_store_seq(&p->own.napping, 1u); /* pairs with end_nap, after what it should see was stored */
    if (!orr_load_seq(&p->aside.any) && !orr_load_seq(&p->own.stop) && !orr_load_seq(&p->own.missed))
        orr_futex_wait(&p->own.napping, 1, (int64_t)us * 1000);
    orr_store_seq(&p->own.napping, 0u);
}

static void end_nap(struct orr_mpi_progress *p)
{
    if (orr_load_seq(&p->own.attends)) orr_bell_call_attendant();
    if (orr_load_seq(&p->own.napping) && orr_exchange_acq_rel(&p->own.napping, 0u))
        orr_futex_wake(&p->own.napping, 1);
}

/* All that may come, comes with a ring for who listens. */
static bool rings_suffice(struct orr_mpi_progress *p)
{
    return orr_load_acquire(&p->bells_suffice) && !orr_load_relaxed(&p->engine->moving);
}

static bool none_is_left(void *progress)
{
    return orr_progress_outstanding(progress) == 0;
}

/* all: those, too, who wait for everything. */
static void wake_sleepers(struct orr_mpi_progress *p, bool some, bool all)
{
    if (orr_likely(!some && !all)) return;
    orr_add_seq(&p->signal, 1u);
    orr_futex_wake(&p->signal, INT32_MAX);
    if (!orr_load_relaxed(&p->listens)) return;
    if (some) orr_bell_call(ORR_LISTEN_WAITER);
    if (all) orr_bell_call(ORR_LISTEN_FOR_ALL);
}

/* Who waits for all leaves what comes to workers as long as these have tasks, all cores, and look for
 * messages often enough: a kernel would be interrupted for what is hardly of use before it ends. But
 * callbacks of the program are not to wait for kernels. */
static bool is_left_to_workers(struct orr_mpi_progress *p)
{
    return orr_load_seq(&p->own.seen_often) && orr_load_relaxed(&p->callbacks) == 0 &&
           starpu_task_nsubmitted() > 0 && orr_workers_have_cores();
}

/* Of the progress thread: looks whether workers come by. When they do not any more, who waits for all is to
 * listen. */
static void watch_workers(struct orr_mpi_progress *p)
{
    uint64_t now = orr_ticks(), run = orr_workers_run();
    if (run != p->own.run) p->own.run_ticks = now;
    p->own.run = run;
    bool often = orr_ticks_to_us(now - p->own.run_ticks) < SOON_US;
    if (often == orr_load_relaxed(&p->own.seen_often)) return;
    orr_store_seq(&p->own.seen_often, often); /* before the look who sleeps: pairs with sleep_until_signal */
    if (!often) wake_sleepers(p, false, orr_load_seq(&p->sleepers_for_all) > 0);
}

/* Until a message is over, or the time is; or, where there is a bell, one has come. */
static void sleep_until_signal(struct orr_mpi_progress *p, uint32_t us, bool (*done)(void *arg), void *arg)
{
    bool moved = false, for_all = done == none_is_left;
    _Atomic uint32_t *sleepers = for_all ? &p->sleepers_for_all : &p->sleepers;
    enum orr_listener kind = for_all ? ORR_LISTEN_FOR_ALL : ORR_LISTEN_WAITER;
    uint32_t rings;
    orr_add_seq(sleepers, 1u); /* pairs with the load in orr_progress_signal; and it is needed from here on */
    uint32_t seen = orr_load_seq(&p->signal);
    bool listens = orr_load_relaxed(&p->listens) && !(for_all && is_left_to_workers(p));
    struct orr_bell *bell = listens ? orr_bell_enter(kind, &rings, &moved) : NULL;
    if (!moved && !done(arg) && !orr_load_seq(&p->aside.any)) {
        if (bell)
            orr_bell_sleep(bell, kind, 0, rings, (int64_t)us * 1000, NULL);
        else
            orr_futex_wait(&p->signal, seen, (int64_t)us * 1000);
    }
    if (bell) orr_bell_leave(bell, kind);
    orr_sub_seq(sleepers, 1u);
}

/* Whether it may be relied on to look: not beside others on its core, or asleep. */
static void set_looking(struct idler *i, bool looking)
{
    if (i->looking == looking) return;
    i->looking = looking;
    if (looking)
        orr_bell_looks_begin();
    else
        orr_bell_looks_end();
}

/* The system may put the waiting threads of two ranks on one core, and leave them there, while the worker of
 * one has the other core for itself. Those who wait go to their rank's own cores then. */
static void leave_strangers(struct orr_mpi_progress *p)
{
    uint64_t now = orr_ticks(), last = orr_load_relaxed(&p->left_strangers);
    if (orr_ticks_to_us(now - last) < BETWEEN_MOVES_US) return;
    orr_store_relaxed(&p->left_strangers, now);
    orr_topo_come_home();
}

/* Lets others have the core after a poll in vain. done is asked once more before sleeping, so that no signal
 * is missed. A long yield may be chance, as when a thread of our own ran here for a moment: the first nap is
 * short, and only a core that stays busy is left for longer. */
static void idle(struct orr_mpi_progress *p, struct idler *i, bool (*done)(void *arg), void *arg)
{
    if (i->nap_us == 0 && !i->shared && ++i->looks % (LOOKS_PER_YIELD << i->calm)) {
        orr_cpu_relax();
        return;
    }
    uint64_t before = orr_ticks();
    if (i->since == 0) i->since = before;
    if (done && rings_suffice(p) && (i->period || orr_ticks_to_us(before - i->since) > POLLED_US)) {
        set_looking(i, false);
        sleep_until_signal(p, LISTENED_US, done, arg);
        return;
    }
    if (i->nap_us == 0) {
        uint64_t polls = orr_load_relaxed(&p->engine->polls);
        sched_yield();
        double us = orr_ticks_to_us(orr_ticks() - before);
        polls = orr_load_relaxed(&p->engine->polls) - polls;   /* of others */
        bool works = us > WORK_YIELD_US * (1 + (double)polls); /* who looked, too, did not work so long */
        i->shared = works ? i->shared + 1 : 0;
        i->calm = us > ALONE_YIELD_US ? 0 : i->calm < CALM_MAX ? i->calm + 1 : CALM_MAX;
        if (orr_unlikely(us > WORK_YIELD_US && done && polls == 0)) leave_strangers(p);
        if (us < LONG_YIELD_US) {
            i->period = 0;
            return;
        }
        i->nap_us = NAP_MIN_US;
        i->naps = i->period + 1;
        i->period = i->naps * 2 > NAPS_MAX ? NAPS_MAX - 1 : i->naps * 2 - 1;
        return;
    }
    set_looking(i, false);
    if (done)
        sleep_until_signal(p, i->nap_us, done, arg);
    else
        nap(p, i->nap_us);
    i->nap_us = i->nap_us * 2 > NAP_MAX_US ? NAP_MAX_US : i->nap_us * 2;
    if (--i->naps == 0) i->nap_us = 0;
}

static void moved(struct idler *i)
{
    i->period = 0;
    i->since = 0;
    if (i->nap_us) i->nap_us = NAP_MIN_US;
}

/* Whether a thread that polls is enough, so that workers need not search: it waits for one message; or for
 * all, and there are no tasks, which a worker that looks itself runs sooner than one that is woken. One long
 * yield may be chance, or the worker that was just woken for a message: were rings wanted for that, the next
 * message would wake it again. */
static bool may_look(struct idler *i, bool for_all)
{
    if (i->shared > 1 || i->nap_us) return false;
    if (!for_all) return true;
    if (!i->counted || i->looks % LOOKS_PER_COUNT == 0) i->alone = starpu_task_nsubmitted() == 0;
    i->counted = true;
    return i->alone;
}

void orr_progress_signal(struct orr_mpi_progress *p)
{
    bool some = orr_load_seq(&p->sleepers) > 0, all = orr_load_seq(&p->sleepers_for_all) > 0;
    wake_sleepers(p, some, orr_unlikely(all) && none_is_left(p));
}

/* ---- functions of the program ---- */

/* A callback of the program may take a lock that the thread holds which posts a message, or that another
 * thread holds until a message of its own has ended. So nothing of the program's is called while messages are
 * moved: it is put aside, and called afterwards by threads that progress, one call at a time, so that one
 * which blocks holds up its thread alone. */

/* True if p had something; it waits from now on for who progresses. */
static bool hand_over(struct orr_mpi_progress *p, const struct orr_put_off *off)
{
    if (orr_likely(!off->waiters && !off->tasks)) return false;
    struct orr_put_off *l = &p->aside.list;
    orr_spin_lock(&p->aside.lock);
    if (off->waiters) {
        *(l->waiters ? &l->last_waiter->next : &l->waiters) = off->waiters;
        l->last_waiter = off->last_waiter;
    }
    if (off->tasks) {
        *(l->tasks ? &l->last_task->next : &l->tasks) = off->tasks;
        l->last_task = off->last_task;
    }
    orr_store_seq(&p->aside.any,
                  1u); /* before the looks for who sleeps: pairs with nap and sleep_until_signal */
    orr_spin_unlock(&p->aside.lock);
    orr_acting_end(); /* since the first was put off: now any says so */
    return true;
}

/* Takes one; false when there is none. */
static bool take_one(struct orr_mpi_progress *p, struct orr_waiter **w_out, struct orr_task **t_out)
{
    struct orr_put_off *l = &p->aside.list;
    orr_spin_lock(&p->aside.lock);
    struct orr_waiter *w = l->waiters;
    struct orr_task *t = w ? NULL : l->tasks;
    if (w) l->waiters = w->next;
    if (t) l->tasks = t->next;
    if (!l->waiters && !l->tasks) orr_store_seq(&p->aside.any, 0u);
    orr_spin_unlock(&p->aside.lock);
    *w_out = w;
    *t_out = t;
    return w || t;
}

static void call_one(struct orr_waiter *w, struct orr_task *t)
{
    if (w) {
        w->granted(w);
        return;
    }
    t->next = NULL;
    struct orr_ready_list list = { t, t };
    orr_ready_dispatch(&list, NULL);
}

/* The progress thread is for when nobody else progresses; while it is inside a function of the program's that
 * takes long, others that sleep have to. */
static bool call_others(struct orr_mpi_progress *p)
{
    wake_sleepers(p, true, true);
    orr_wake_pollers();
    return true;
}

/* Some of them at most: one that makes the next at once does not keep the thread here for ever. */
static bool call_those_aside(struct orr_mpi_progress *p)
{
    enum { CALLS_PER_TURN = 32 };
    struct orr_waiter *w;
    struct orr_task *t;
    int calls = 0;
    bool shared = false;
    orr_add_seq(&p->aside.calling, 1u); /* before any may become 0: see orr_progress_may_call */
    while (orr_load_relaxed(&p->aside.any) && calls < CALLS_PER_TURN && take_one(p, &w, &t)) {
        calls++;
        if (!shared && orr_load_relaxed(&p->own.turns) && orr_load_seq(&p->aside.any))
            shared = call_others(p);
        orr_bell_deaf_begin(); /* it may take long, or wait for the next message */
        call_one(w, t);
        orr_bell_deaf_end();
    }
    orr_sub_seq(&p->aside.calling, 1u);
    return calls > 0;
}

/* Moves messages; *left_out: functions of the program were put p->aside. */
static bool move(struct orr_mpi_progress *p, bool (*poll)(struct orr_engine *e), bool *left_out)
{
    struct orr_data_thread *self = orr_data_thread(orr_self());
    struct orr_put_off off = { 0 };
    /* a message ends here just now: its thread goes on polling, once more at least for who wants a look */
    if (self->put_off) return orr_engine_in_callback() && poll(p->engine);
    self->put_off = &off;
    bool moved = poll(p->engine);
    self->put_off = NULL;
    *left_out = hand_over(p, &off);
    /* what moves now moves while somebody polls, and the caller may go to work */
    if (orr_unlikely(orr_load_relaxed(&p->engine->moving)) && orr_load_relaxed(&p->own.attends)) end_nap(p);
    return moved;
}

/* Messages that a shutdown gave up end later, when nobody progresses any more. */
static void call_all_aside(struct orr_mpi_progress *p)
{
    while (call_those_aside(p)) continue;
}

static void call_somebody(struct orr_mpi_progress *p)
{
    if (orr_unlikely(orr_load_seq(&p->aside.alone))) { /* after any was set; pairs with orr_progress_stop */
        call_all_aside(p);
        return;
    }
    orr_progress_signal(p);
    end_nap(p);
    orr_progress_needed(p);
    /* after any was set; pairs with call_those_aside, which counts first and then looks what is left */
    if (orr_load_seq(&p->own.turns) && orr_load_seq(&p->aside.calling) > 0) call_others(p);
}

static bool pass(struct orr_mpi_progress *p, bool (*poll)(struct orr_engine *e))
{
    bool left = false, moved = move(p, poll, &left);
    if (orr_unlikely(left)) call_somebody(p);
    return moved;
}

bool orr_progress_pass_and_wait(struct orr_mpi_progress *p)
{
    return pass(p, orr_engine_poll);
}

bool orr_progress_pass(struct orr_mpi_progress *p)
{
    orr_bell_give_back(); /* what was posted just now may be answered while all sleep */
    return pass(p, orr_engine_poll);
}

void orr_progress_aside(struct orr_mpi_progress *p, void (*fn)(void *arg), void *arg)
{
    struct orr_data_thread *self = orr_data_thread(orr_self());
    struct orr_put_off off = { 0 }, *outer = self->put_off;
    if (!outer) self->put_off = &off;
    fn(arg);
    self->put_off = outer;
    if (outer) return; /* who called back polls */
    if (hand_over(p, &off)) call_somebody(p);
    /* nobody has polled for what fn posted or made ready, nor looked when it said that rings are wanted */
    if (orr_load_seq(&p->engine->inbox) || orr_load_relaxed(&orr_bell_listeners) > 0)
        pass(p, orr_engine_look);
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

bool orr_progress_may_call(struct orr_mpi_progress *p)
{
    return orr_load_seq(&p->aside.any) || orr_load_seq(&p->aside.calling);
}

static bool turn(struct orr_mpi_progress *p, bool (*poll)(struct orr_engine *e))
{
    bool left = false, moved = move(p, poll, &left);
    if (orr_unlikely(orr_load_relaxed(&p->aside.any))) moved |= call_those_aside(p);
    return moved;
}

bool orr_progress_turn(struct orr_mpi_progress *p)
{
    return turn(p, orr_engine_poll);
}

/* The progress thread's. */
static bool own_turn(struct orr_mpi_progress *p, bool (*poll)(struct orr_engine *e))
{
    orr_store_seq(&p->own.turns, true);
    if (orr_unlikely(orr_load_relaxed(&p->own.missed))) orr_store_seq(&p->own.missed, false); /* before it */
    bool moved = turn(p, poll);
    orr_store_seq(&p->own.turns, false);
    return moved;
}

/* ---- waiting ---- */

void orr_progress_wait(struct orr_mpi_progress *p, bool (*done)(void *arg), void *arg)
{
    struct idler i = { 0 };
    if (done(arg)) return;
    orr_thread_blocked_begin();
    while (!done(arg)) {
        orr_thread_looks_again();
        if (orr_progress_turn(p)) {
            moved(&i);
            continue;
        }
        idle(p, &i, done, arg);
        set_looking(&i, may_look(&i, done == none_is_left));
    }
    if (i.looking)
        set_looking(&i, false);
    else
        orr_bell_give_back();
    orr_thread_looks_end();
    orr_thread_blocked_end();
}

void orr_progress_wait_for_all(struct orr_mpi_progress *p)
{
    orr_progress_wait(p, none_is_left, p);
}

void orr_progress_needed(struct orr_mpi_progress *p)
{
    if (orr_likely(orr_load_seq(&p->own.asleep) == 0) || !(is_needed(p) || is_held(p))) return;
    if (orr_exchange_acq_rel(&p->own.asleep, 0u)) orr_futex_wake(&p->own.asleep, 1);
}

void orr_progress_attend(struct orr_mpi_progress *p, bool now)
{
    if (orr_load_relaxed(&p->attentive) == now) return;
    orr_store_seq(&p->attentive, now);
    if (now) orr_progress_needed(p);
}

void orr_progress_hold(struct orr_mpi_progress *p)
{
    if (orr_add_seq(&p->held, 1) == 0) orr_progress_needed(p);
}

void orr_progress_let_go(struct orr_mpi_progress *p)
{
    orr_sub_seq(&p->held, 1);
}

/* Who held the engine does not poll, and somebody has relied on that it does. */
static void poll_instead(void *progress)
{
    struct orr_mpi_progress *p = progress;
    orr_store_seq(&p->own.missed, true); /* before the looks whether it sleeps: pairs with nap */
    end_nap(p);
    orr_progress_needed(p);
}

/* Somebody does: there is no need to poll. */
static bool is_listened(struct orr_mpi_progress *p)
{
    return rings_suffice(p) && orr_load_relaxed(&orr_bell_listeners) > 0;
}

/* ---- the progress thread ---- */

static void sleep_for_good(struct orr_mpi_progress *p)
{
    orr_store_seq(&p->own.asleep, 1u); /* pairs with orr_progress_needed: it posts before it looks */
    if (is_needed(p) || is_held(p) || must_stop(p)) {
        orr_store_seq(&p->own.asleep, 0u);
        return;
    }
    while (orr_load_seq(&p->own.asleep) && !must_stop(p)) orr_futex_wait(&p->own.asleep, 1, -1);
}

/* Polls until others do, or rings suffice, or nothing is outstanding. */
static void poll_alone(struct orr_mpi_progress *p)
{
    struct idler i = { 0 };
    const struct orr_engine *e = p->engine;
    uint64_t polls = orr_load_relaxed(&e->polls);
    for (uint32_t by_others = 0, looks = 0; !must_stop(p) && is_needed(p) && !rings_suffice(p); looks++) {
        if (own_turn(p, orr_engine_poll))
            moved(&i);
        else
            idle(p, &i, NULL, NULL);
        uint64_t now = orr_load_relaxed(&e->polls);
        by_others += now != polls + 1; /* more than mine, or mine found it busy */
        polls = now;
        if (by_others > OTHERS_ENOUGH) return;
        if (looks % LOOKS_PER_CHECK == 0) by_others = 0;
    }
}

/* Whether others, who polled so often while the attendant slept, do without it. */
static bool is_spared(struct orr_mpi_progress *p, uint64_t slept_us, uint64_t polls)
{
    return !own_turn(p, orr_engine_look) ? slept_us < IN_VAIN_US || polls > slept_us / OFTEN_US
                                         : polls > OTHERS_ENOUGH && polls > slept_us / OFTEN_US;
}

/* Sleeps at the bell while others compute, and answers what rings; until others do without it (then it is
 * true), or nothing is outstanding. */
static bool attend(struct orr_mpi_progress *p)
{
    uint32_t us = ATTENDED_US;
    while (!must_stop(p) && is_needed(p) && rings_suffice(p)) {
        struct orr_bell *b = p->watch.bell;   /* it hangs: rings_suffice has said so */
        orr_store_seq(&p->own.attends, true); /* pairs with end_nap */
        orr_bell_attend_begin(b);
        bool moved = own_turn(p, orr_engine_look);
        uint64_t before = orr_ticks(), polls = orr_load_relaxed(&p->engine->polls);
        if (!moved && !orr_load_seq(&p->aside.any) && !must_stop(p) && rings_suffice(p))
            orr_bell_attend_sleep(b, (int64_t)us * 1000);
        bool woken = orr_bell_attend_end(b);
        polls = orr_load_relaxed(&p->engine->polls) - polls; /* of others */
        orr_store_relaxed(&p->own.attends, false);
        uint32_t most_us = orr_load_relaxed(&p->sleepers_for_all) ? LISTENED_US : ATTENDED_MAX_US;
        us = !polls ? ATTENDED_US : us * 2 > most_us ? most_us : us * 2;
        watch_workers(p);
        if (moved || !woken || !polls) continue;
        if (is_spared(p, (uint64_t)orr_ticks_to_us(orr_ticks() - before), polls)) return true;
    }
    return false;
}

static void *run(void *progress)
{
    struct orr_mpi_progress *p = progress;
    uint32_t quiet = 0, nap_us = NAP_MIN_US, left = 0;
    orr_thread_is_internal();
    while (!must_stop(p)) {
        uint64_t polls = orr_load_relaxed(&p->engine->polls);
        nap(p, nap_us);
        if (!is_needed(p) && is_held(p)) {
            nap_us = own_turn(p, orr_engine_look) ? NAP_MIN_US
                     : nap_us * 2 > NAP_MAX_US    ? NAP_MAX_US
                                                  : nap_us * 2;
            continue;
        }
        if (!is_needed(p)) {
            if (++quiet >= QUIET_NAPS) sleep_for_good(p);
            continue;
        }
        quiet = 0;
        watch_workers(p);
        if (orr_load_relaxed(&p->aside.any) || orr_load_relaxed(&p->own.missed)) own_turn(p, orr_engine_poll);
        polls = orr_load_relaxed(&p->engine->polls) - polls; /* of others */
        bool others = polls > 0, come_by = polls * COMES_BY_US > nap_us;
        uint32_t most_us = come_by || is_listened(p) ? BESIDE_US : NAP_MAX_US;
        nap_us = nap_us * 2 > most_us ? most_us : nap_us * 2;
        if (left > 0) left--;
        if (is_listened(p)) {
            if (!others)
                own_turn(p, orr_engine_look); /* to be safe: something may have come without a ring */
            continue;
        }
        if (others && (left > 0 || !rings_suffice(p))) continue;
        if (attend(p)) left = LEFT_NAPS;
        if (!rings_suffice(p)) poll_alone(p);
        nap_us = NAP_MIN_US;
    }
    return NULL;
}

/* For idle workers and threads that block in the runtime. */
static bool poll_for_others(void *progress)
{
    struct orr_mpi_progress *p = progress;
    if (!is_needed(p)) return false;
    return orr_progress_turn(p);
}

static struct orr_progress for_others(struct orr_mpi_progress *p)
{
    return (struct orr_progress){ .poll = poll_for_others, .arg = p };
}

/* ---- the bell ---- */

static bool bell_needed(void *progress)
{
    return is_needed(progress);
}

static bool bell_look(void *progress)
{
    return pass(progress, orr_engine_look);
}

static void hang_bell(struct orr_mpi_progress *p, const struct orr_bells *bells)
{
    p->watch = (struct orr_bell_watch){
        .bell = orr_bells_mine(bells), .needed = bell_needed, .look = bell_look, .arg = p
    };
    if (!p->watch.bell || !orr_bell_hang(&p->watch)) return;
    orr_store_release(&p->bells_suffice, bells->all_ranks); /* the watch is there: pairs with rings_suffice */
    orr_store_relaxed(&p->listens, true);
}

static void take_bell_down(struct orr_mpi_progress *p)
{
    if (!orr_load_relaxed(&p->listens)) return;
    orr_store_relaxed(&p->listens, false);
    orr_store_relaxed(&p->bells_suffice, false);
    orr_bell_take_down();
}

void orr_progress_init(struct orr_mpi_progress *p, struct orr_engine *e)
{
    if (p->engine != e) p->engine = e; /* a worker may be late, from the start before this one */
    if (e->missed_arg != p) e->missed_arg = p;
    orr_store_release(&e->missed, poll_instead);
    orr_store_relaxed(&p->attentive, false);
    orr_store_seq(&p->held, (int64_t)0);
    orr_store_relaxed(&p->callbacks, (int64_t)0);
    orr_store_seq(&p->outstanding, (int64_t)0); /* what was given up before is not this session's */
    orr_store_seq(&p->unawaited, (int64_t)0);
}

int orr_progress_start(struct orr_mpi_progress *p, const struct orr_bells *bells)
{
    orr_store_relaxed(&p->own.stop, 0u);
    orr_store_relaxed(&p->own.asleep, 0u);
    orr_store_relaxed(&p->own.napping, 0u);
    int r = orr_thread_start(&p->own.thread, run, p, "orr-mpi");
    if (r) {
        orr_error("starpu_mpi_init: the progress thread cannot be started");
        return r;
    }
    orr_store_seq(&p->aside.alone, false);
    r = orr_progress_register(for_others(p));
    if (r)
        orr_progress_stop(p);
    else if (bells)
        hang_bell(p, bells);
    return r;
}

void orr_progress_stop(struct orr_mpi_progress *p)
{
    take_bell_down(p);
    orr_progress_unregister(for_others(p));
    orr_store_seq(&p->own.stop, 1u);
    orr_store_seq(&p->own.asleep, 0u);
    orr_futex_wake(&p->own.asleep, 1);
    end_nap(p);
    if (p->watch.bell) orr_bell_ring_attendant(p->watch.bell); /* it hangs no more */
    pthread_join(p->own.thread, NULL);
    p->watch.bell = NULL; /* its memory goes away */
    orr_store_seq(&p->aside.alone, true);
    call_all_aside(p);
}
