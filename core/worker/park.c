/* SPDX-License-Identifier: BSD-3-Clause */
/* park.c: idle workers: spinning briefly, then sleeping, never missing a task and never holding a core that
 * others need.
 * Threads: workers idle here; any thread wakes. Owns: orr_parking. Not here: what is popped.
 *
 * The protocol. A producer makes its task visible (a seq_cst store), then reads who is parked. A worker that
 * gives up looking marks itself parked and then stops counting as searching (seq_cst both), and only then
 * looks once more. Either the producer sees it parked, or the worker sees the task: no wake-up is lost. While
 * somebody searches nobody is woken, so at most one waker is in flight; a searcher that finds a task and was
 * the last one wakes the next if more tasks wait.
 *
 * Waking costs a system call and, on another core, 20 us; many tasks are far shorter. So a worker says when
 * it is busy with tasks that are known to be brief: it will come by, and a producer need not wake another
 * unless the backlog is large. If it then meets a longer task, it wakes somebody before running it
 * (orr_worker_expects): the debt is always paid.
 *
 * But a task that is known to be brief may take long this once, or block. So while wake-ups are withheld for
 * that reason one of the sleepers is the sentry: it sleeps a millisecond at a time, and when a worker that
 * counts as brief has run nothing since the last look, it does not count any more, and the sentry looks for
 * tasks. Whoever withholds a wake-up first makes a sentry; it resigns when nobody is brief for a while.
 *
 * A policy that gives tasks to single workers has the same trouble with each of them. It has watchmen: while
 * tasks wait at a busy worker one that sleeps asks the policy every millisecond whether there is something to
 * take from others. Who is about to sleep asks as well, and becomes the watchman if need be; who gives a task
 * to a worker that is awake appoints one (orr_watch_appoint). The handshakes are those of the sentry.
 *
 * park.pml, beside this file, is a model for spin of all but the bell, which has bell.pml, and the watchmen,
 * who are in sched/components/guard.pml with those that appoint them: change both sides.
 *
 * An idle worker yields its core between looks. When a yield takes long, somebody else needs the core: it
 * sleeps at once. */
#include "core/worker/park.h"

#include <starpu_profiling.h>

#include "core/base/clock.h"
#include "core/data/coherency.h"
#include "core/mem/node.h"
#include "core/worker/bell.h"
#include "core/worker/lending.h"
#include "core/worker/member.h"
#include "core/worker/parallel.h"
#include "core/worker/tell.h"
#include "core/worker/serve.h"
#include "core/worker/wait.h"

enum { PAUSES_BETWEEN_LOOKS = 4, PAUSES_BEFORE_SEARCHING = 96, GATHERING_MOST = 3 };
enum { LOOKS_PER_YIELD = 4, LARGE_BACKLOG = 1024, SENTRY_NS = 1000000, SENTRY_QUIET = 16 };
enum { NOTIFIED = 1, TO_BE_SENTRY = 2 }; /* what is said to who sleeps */
static const double search_us = 120.0, yield_is_long_us = 60.0, yield_is_work_us = 5.0,
                    yield_is_slice_us = 500.0, yield_is_switch_us = 1.0;

struct orr_parking orr_parking;

/* ---- waking ---- */

/* Wakes w from where it sleeps, to look at its futex word, which was changed. */
static void call(struct orr_worker *w)
{
    if (orr_unlikely(orr_load_seq(&w->at_bell))) /* pairs with sleep_in: the word is changed before */
        orr_bell_call_worker(w->id);
    else if (!orr_load_seq(&w->dozing)) /* so does orr_doze */
        orr_futex_wake(&w->futex, 1);
}

static void wake_claimed(struct orr_worker *w)
{
    orr_sub_seq(&orr_parking.parked, 1);
    orr_store_seq(&w->futex, NOTIFIED); /* pairs with the load in sleep_parked */
    call(w);
}

/* Takes w's parked bit; whoever gets it must wake w. */
static bool claim(unsigned id)
{
    uint64_t bit = UINT64_C(1) << (id % 64);
    return atomic_fetch_and_explicit(&orr_parking.who[id / 64], ~bit, memory_order_seq_cst) & bit;
}

static void wake_one(void)
{
    for (unsigned i = 0; i < (orr_worker_count + 63) / 64; i++) {
        uint64_t bits;
        while ((bits = orr_load_seq(&orr_parking.who[i])) != 0) {
            unsigned id = i * 64 + (unsigned)__builtin_ctzll(bits);
            if (!claim(id)) continue;
            orr_add_seq(&orr_parking.searching, 1); /* on behalf of the woken one */
            wake_claimed(&orr_workers[id]);
            return;
        }
    }
}

/* Makes a sleeper the sentry, the last one: the first is woken next. It stays parked. */
static void appoint_sentry(void)
{
    for (unsigned i = (orr_worker_count + 63) / 64; i-- > 0;) {
        uint64_t bits = orr_load_seq(&orr_parking.who[i]), bit;
        if (!bits) continue;
        unsigned id = i * 64 + 63 - (unsigned)__builtin_clzll(bits);
        uint32_t nobody = 0, mine = id + 1, asleep = 0;
        bit = UINT64_C(1) << (id % 64);
        if (!orr_cas_seq(&orr_parking.sentry, &nobody, mine)) return;
        if (!(orr_load_seq(&orr_parking.who[i]) & bit)) { /* pairs with resign: it was woken meanwhile */
            orr_cas_seq(&orr_parking.sentry, &mine, 0);
            return; /* it looks for tasks now */
        }
        if (orr_cas_seq(&orr_workers[id].futex, &asleep, TO_BE_SENTRY)) call(&orr_workers[id]);
        return;
    }
}

static void wake_on_cond(struct orr_worker *w)
{
    pthread_mutex_lock(&w->sched_mutex);
    w->keep_awake = true;
    pthread_cond_signal(&w->sched_cond);
    pthread_mutex_unlock(&w->sched_mutex);
}

void orr_wake_worker(struct orr_worker *w)
{
    if (orr_unlikely(orr_load_seq(&w->on_cond))) { /* pairs with orr_serve_choose */
        if (orr_worker_self() != w) wake_on_cond(w);
        return;
    }
    if (orr_load_seq(&orr_parking.parked) == 0) return;
    if (!claim((unsigned)w->id)) return;
    orr_add_seq(&orr_parking.searching, 1);
    wake_claimed(w);
}

void orr_wake_pollers(void)
{
    orr_add_seq(&orr_parking.calls, 1); /* pairs with the last look in park */
    for (unsigned i = 0; i < orr_worker_count; i++) orr_wake_worker(&orr_workers[i]);
}

void orr_wake_each(struct orr_ctx *ctx)
{
    for (unsigned i = 0; i < (orr_worker_count + 63) / 64; i++)
        for (uint64_t bits = orr_load_seq(&ctx->member[i]); bits; bits &= bits - 1)
            orr_wake_worker(&orr_workers[i * 64 + (unsigned)__builtin_ctzll(bits)]);
}

void orr_wake_any(struct orr_ctx *ctx, uint32_t backlog)
{
    if (orr_likely(orr_load_seq(&orr_parking.parked) == 0)) return;
    if (orr_unlikely(!orr_load_seq(&orr_parking.plain))) {
        orr_wake_each(ctx);
        return;
    }
    if (orr_load_seq(&orr_parking.searching) > 0) return;
    /* pairs with orr_worker_expects: who is no longer brief looks at the backlog afterwards */
    if (orr_load_seq(&orr_parking.brief) > 0 && backlog < LARGE_BACKLOG) {
        if (orr_unlikely(orr_load_seq(&orr_parking.sentry) == 0)) appoint_sentry();
        return;
    }
    wake_one();
}

void orr_wake_all(void)
{
    orr_add_seq(&orr_parking.calls, 1); /* pairs with the last look in park */
    for (unsigned i = 0; i < orr_worker_count; i++) {
        wake_on_cond(&orr_workers[i]);
        if (claim(i)) {
            orr_add_seq(&orr_parking.searching, 1);
            wake_claimed(&orr_workers[i]);
        }
        orr_gate_open(&orr_workers[i]);
    }
}

bool orr_worker_is_parked(const struct orr_worker *w)
{
    return orr_load_relaxed(&orr_parking.who[w->id / 64]) >> (w->id % 64) & 1;
}

/* Awake, and soon to take what it is given: it searches, or is busy with tasks that are known to be brief, or
 * is the calling worker, between two tasks. */
static bool comes_by(struct orr_worker *w, const struct orr_worker *self)
{
    enum { SHORT_QUEUE = 16 };
    if (orr_worker_is_parked(w)) return false;
    unsigned given = orr_load_relaxed(&w->local_count);
    if (orr_load_relaxed(&w->short_tasks)) return given < SHORT_QUEUE;
    return given == 0 && (w == self ? !orr_task_current() : orr_load_relaxed(&w->idle_shown));
}

struct orr_worker *orr_awake_beside(struct orr_worker *w, bool (*may)(const void *arg, struct orr_worker *it),
                                    const void *arg)
{
    int core = orr_worker_is_parked(w) ? starpu_worker_get_bindid(w->id) : -1;
    if (core < 0) return w;
    struct orr_worker *self = orr_worker_self();
    unsigned first = self ? (unsigned)self->id : 0;
    for (unsigned i = 0; i < orr_worker_count; i++) {
        struct orr_worker *it = &orr_workers[(first + i) % orr_worker_count];
        if (starpu_worker_get_bindid(it->id) == core && comes_by(it, self) && may(arg, it)) return it;
    }
    return w;
}

/* w no longer counts as brief. True: it did, and who calls was first. By w, or the sentry. */
static bool is_brief_no_more(struct orr_worker *w)
{
    if (!orr_load_relaxed(&w->short_tasks)) return false;
    if (!atomic_exchange_explicit(&w->short_tasks, false, memory_order_seq_cst)) return false;
    orr_sub_seq(&orr_parking.brief, 1);
    return true;
}

void orr_worker_expects(struct orr_worker *w, bool is_short)
{
    bool was_short = orr_load_relaxed(&w->short_tasks);
    if (is_short && was_short) return;
    if (is_short) {
        orr_add_seq(&orr_parking.brief, 1); /* first: the count never falls short */
        orr_store_seq(&w->short_tasks, true);
    } else {
        is_brief_no_more(w);
    }
    if (is_short || orr_load_seq(&orr_parking.parked) == 0 || orr_load_seq(&orr_parking.searching) > 0)
        return;
    if (orr_worker_backlog(w) > 0) wake_one();
}

/* ---- the program's callbacks around sleeping ---- */

static void (*_Atomic going_to_sleep)(unsigned workerid);
static void (*_Atomic waking_up)(unsigned workerid);

void starpu_worker_set_going_to_sleep_callback(void (*callback)(unsigned workerid))
{
    orr_store_release(&going_to_sleep, callback);
}

void starpu_worker_set_waking_up_callback(void (*callback)(unsigned workerid))
{
    orr_store_release(&waking_up, callback);
}

void orr_sleep_begin(struct orr_worker *w)
{
    void (*callback)(unsigned) = orr_load_acquire(&going_to_sleep);
    ORR_EVENT(WORKER_SLEEPS, w, w->id, 0, 0);
    if (orr_unlikely(callback != NULL)) callback((unsigned)w->id);
}

void orr_sleep_end(struct orr_worker *w)
{
    void (*callback)(unsigned) = orr_load_acquire(&waking_up);
    ORR_EVENT(WORKER_WAKES, w, w->id, 0, 0);
    if (orr_unlikely(callback != NULL)) callback((unsigned)w->id);
}

/* ---- idling ---- */

/* One found a task: lets others go on if there is more. */
static void stop_searching(struct orr_worker *w, bool found)
{
    uint32_t others = orr_sub_seq(&orr_parking.searching, 1) - 1;
    if (!found || others > 0 || orr_load_seq(&orr_parking.parked) == 0) return;
    if (orr_worker_backlog(w) > 0) wake_one();
}

/* Where memory is taken back a worker does not sleep while copies are under way: it drives them. */
static bool must_leave(struct orr_worker *w)
{
    if (orr_load_seq(&orr_parking.stopping) || orr_load_seq(&orr_parking.paused) || orr_member_called(w))
        return true;
    if (w->direct && orr_load_seq(&orr_parking.lenders)) return true; /* pairs with orr_lend_call */
    return orr_node_evicts(w->node) &&
           (orr_load_seq(&orr_transfers_active) > 0 || orr_load_seq(&orr_memory_untidy[w->node]));
}

/* Who has the core while a worker yields it. Another thread that works for a moment, as one of another rank
 * that shares the core, gives it back soon: then it is yielded at once, without looking for long before. One
 * that computes without end keeps it for a slice, milliseconds: then a worker that waits for messages sleeps
 * at once, and is given the core when it is woken; only now and then it tries whether the other is gone. One
 * that waits for tasks of its own process alone may have met the thread that submits them, which is not to be
 * kept busy with waking it. */
static void note_yield(struct orr_worker *w, uint64_t ticks)
{
    enum { SKIPPED_MOST = 64 };
    bool slice = ticks >= orr_us_to_ticks(yield_is_slice_us);
    w->core_shared = !slice && ticks > orr_us_to_ticks(yield_is_work_us);
    if (!slice) {
        w->yields_period = 0;
        return;
    }
    w->yields_period = w->yields_period ? w->yields_period * 2 : 1;
    if (w->yields_period > SKIPPED_MOST) w->yields_period = SKIPPED_MOST;
    w->yields_skipped = w->yields_period;
}

static bool leaves_core_alone(struct orr_worker *w)
{
    if (orr_likely(w->yields_skipped == 0)) return false;
    w->yields_skipped--;
    return orr_bell_hangs();
}

/* Looks for a while, yielding. A yield that takes long says that others need the core: then it stops at once;
 * so it does if anybody had the core while a thread waits for a message: each of the two would else switch to
 * the other between any two looks, which takes longer than a message.
 * While a progress function wants to be called again soon it goes on, but where a thread waits for a message
 * and calls it all the time: perhaps nobody else would call it. What
 * that moved may have made a task ready: it looks for that before it yields, but for a function that always
 * wants to be called again. *calls_out: of orr_parking, before it polled for the last time. */
static struct orr_task *search(struct orr_worker *w, uint32_t *calls_out)
{
    uint64_t search_ticks = orr_us_to_ticks(search_us), is_long = orr_us_to_ticks(yield_is_long_us),
             is_switch = orr_us_to_ticks(yield_is_switch_us);
    orr_idle_say(w);
    uint64_t until = orr_ticks() + search_ticks;
    for (unsigned moved = 0;;) {
        struct orr_task *t = orr_worker_next(w);
        if (t || must_leave(w)) return t;
        *calls_out = orr_load_seq(&orr_parking.calls);
        bool again = orr_progress_poll() && orr_load_relaxed(&orr_bell_lookers) == 0;
        if (again && ++moved % LOOKS_PER_YIELD) continue;
        if (!again && leaves_core_alone(w)) return NULL;
        uint64_t before = orr_ticks();
        sched_yield();
        uint64_t now = orr_ticks();
        note_yield(w, now - before);
        if (again) {
            orr_idle_say(w); /* it may go on so for long */
            until = now + search_ticks;
            continue;
        }
        if (now - before > is_long || now > until) return NULL;
        if (now - before > is_switch && orr_load_relaxed(&orr_bell_lookers) > 0) return NULL;
    }
}

/* ---- the sentry ---- */

static bool is_sentry(const struct orr_worker *w)
{
    return orr_load_seq(&orr_parking.sentry) == (uint32_t)w->id + 1;
}

/* w does not sleep any more, or nobody is brief. Pairs with appoint_sentry: either that sees that w was
 * woken, or w sees that it was appointed. */
static void resign(struct orr_worker *w)
{
    uint32_t mine = (uint32_t)w->id + 1;
    if (orr_unlikely(orr_load_seq(&orr_parking.sentry) == mine)) orr_cas_seq(&orr_parking.sentry, &mine, 0);
}

/* Whether workers that count as brief have run nothing since the last look; they do not count any more. */
static bool finds_slow_ones(void)
{
    bool any = false;
    for (unsigned i = 0; i < orr_worker_count; i++) {
        struct orr_worker *w = &orr_workers[i];
        uint64_t run = orr_load_acquire(&w->tasks_run);
        if (orr_load_relaxed(&w->short_tasks) && run == w->tasks_seen) any |= is_brief_no_more(w);
        w->tasks_seen = run;
    }
    return any;
}

/* Nobody has been brief for a while. Who withholds a wake-up just now relies on the sentry: it looks again.
 */
static void retire(struct orr_worker *w)
{
    uint32_t nobody = 0;
    resign(w);
    if (orr_load_seq(&orr_parking.brief) > 0) orr_cas_seq(&orr_parking.sentry, &nobody, (uint32_t)w->id + 1);
}

/* w goes to look for tasks by itself. False: somebody is waking it. */
static bool rise(struct orr_worker *w)
{
    if (!claim((unsigned)w->id)) return false;
    orr_sub_seq(&orr_parking.parked, 1);
    orr_add_seq(&orr_parking.searching, 1);
    return true;
}

/* One look of the sentry. True: it is to look for tasks. */
static bool stand_guard(struct orr_worker *w, unsigned *quiet)
{
    if (finds_slow_ones() && rise(w)) return true;
    *quiet = orr_load_seq(&orr_parking.brief) > 0 ? 0 : *quiet + 1;
    if (*quiet >= SENTRY_QUIET) retire(w);
    return false;
}

/* ---- watchmen ---- */

bool orr_watch_appoint(struct orr_worker *w)
{
    uint32_t asleep = 0;
    orr_store_seq(&w->watches, true);
    if (!(orr_load_seq(&orr_parking.who[w->id / 64]) >> (w->id % 64) & 1))
        return false; /* pairs with watch_end */
    if (orr_cas_seq(&w->futex, &asleep, TO_BE_SENTRY)) call(w);
    return true;
}

/* Asks w's policies for what they gave to others, and whether they want to be asked again. */
static struct orr_task *watch(struct orr_worker *w)
{
    struct orr_task *t = NULL;
    bool again = false;
    for (unsigned i = 0; !t && i < w->serves_count; i++) {
        struct orr_ctx *ctx = w->serves[i].ctx;
        bool wanted = false;
        if (ctx->policy->watch) t = ctx->policy->watch(ctx->instance, w, &wanted);
        again |= wanted;
    }
    if (again) orr_store_seq(&w->watches, true); /* who is appointed just now stays one */
    return t;
}

/* w does not sleep any more. Pairs with orr_watch_appoint: either that sees that w was woken, or w sees that
 * it was appointed. */
static void watch_end(struct orr_worker *w)
{
    if (orr_likely(!orr_load_seq(&w->watches))) return;
    orr_store_seq(&w->watches, false);
    for (unsigned i = 0; i < w->serves_count; i++) {
        struct orr_ctx *ctx = w->serves[i].ctx;
        if (ctx->policy->watch_end) ctx->policy->watch_end(ctx->instance, w);
    }
}

/* ---- sleeping ---- */

/* -1: never. */
static int64_t sooner(int64_t a_ns, int64_t b_ns)
{
    return b_ns < 0 || (a_ns >= 0 && a_ns < b_ns) ? a_ns : b_ns;
}

static int64_t sleep_period_ns(const struct orr_worker *w, bool looks)
{
    int64_t period_ns = sooner(orr_tell_idle_period_ns(w), orr_idle_due(w));
    return looks ? sooner(period_ns, SENTRY_NS) : period_ns;
}

/* The watchman's look; its flag is set again if it is to go on. With a task that it took, w is parked no more
 * unless somebody is waking it, and it waits for that. */
static struct orr_task *watch_asleep(struct orr_worker *w, bool *awake_out)
{
    orr_store_seq(&w->watches, false);
    struct orr_task *t = watch(w);
    *awake_out = t && rise(w);
    return t;
}

/* What a worker sleeps at: its own futex word, or the bell. */
struct place {
    struct orr_bell *bell; /* NULL: the word */
    uint32_t seen;         /* of the bell */
};

/* False: the time is over. */
static bool sleep_at(struct place *at, struct orr_worker *w, int64_t period_ns)
{
    const struct orr_bed own = { .word = &w->futex, .dozing = &w->dozing, .pollers = &orr_bell_lookers };
    if (!at->bell) return orr_doze(&w->doze, &own, period_ns);
    orr_store_seq(&w->at_bell, true); /* pairs with call */
    if (orr_load_seq(&w->futex) == 0)
        orr_bell_sleep(at->bell, ORR_LISTEN_WORKER, w->id, at->seen, period_ns, &w->doze);
    orr_store_relaxed(&w->at_bell, false);
    return orr_load_acquire(&w->futex) != 0 || orr_bell_has_rung(at->bell, at->seen);
}

/* Sleeps until woken, or until it sees as the sentry or a watchman that it is needed, or the bell has rung,
 * or somebody wants to know that it is idle; says meanwhile for how long, to who counts that. A task that the
 * watchman took, or NULL. */
static struct orr_task *sleep_parked(struct orr_worker *w, struct place *at)
{
    struct orr_task *t = NULL;
    unsigned quiet = 0;
    bool awake = false;
    for (uint32_t said; !awake && (said = orr_load_acquire(&w->futex)) != NOTIFIED;) {
        if (said == TO_BE_SENTRY && orr_cas_seq(&w->futex, &said, 0)) quiet = 0;
        bool sentry = is_sentry(w), watches = orr_load_seq(&w->watches);
        if (at->bell && orr_bell_has_rung(at->bell, at->seen)) {
            awake = rise(w);
            at->bell = NULL; /* else it waits for who wakes it */
            continue;
        }
        if (sleep_at(at, w, sleep_period_ns(w, sentry || watches))) continue;
        if (orr_idle_due(w) == 0 && rise(w)) break; /* it says so when it searches */
        if (orr_tell_idle_period_ns(w) >= 0) orr_tell_still_idle(w);
        if (!t && watches) t = watch_asleep(w, &awake);
        if (!awake && sentry && stand_guard(w, &quiet)) break;
    }
    return t;
}

/* Who clears w's bit notifies it. */
static void wait_notified(struct orr_worker *w)
{
    for (uint32_t said; (said = orr_load_acquire(&w->futex)) != NOTIFIED;)
        orr_futex_wait(&w->futex, said, -1);
}

static void end_sleep(struct orr_worker *w)
{
    resign(w);
    watch_end(w);
}

/* Announces w as parked, looks once more, sleeps. Returns a task if the last look found one; w searches again
 * either way. calls: of orr_parking, when it last polled. */
static struct orr_task *park(struct orr_worker *w, uint32_t calls)
{
    uint64_t bit = UINT64_C(1) << (w->id % 64);
    bool moved;
    struct place at;
    orr_store_relaxed(&w->futex, 0);
    orr_add_seq(&orr_parking.parked, 1); /* before the bit: parked never falls short of the bits (park.pml) */
    atomic_fetch_or_explicit(&orr_parking.who[w->id / 64], bit, memory_order_seq_cst);
    orr_sub_seq(&orr_parking.searching, 1);
    struct orr_bell *bell = at.bell = orr_bell_enter(ORR_LISTEN_WORKER, &at.seen, &moved);
    struct orr_task *t = orr_worker_next(w);
    if (!t && !must_leave(w)) t = watch(w);
    if (t || moved || must_leave(w) || orr_load_seq(&orr_parking.calls) != calls) {
        if (!rise(w))
            wait_notified(w); /* somebody is waking us and counted us as searching: take note of it */
    } else {
        orr_sleep_begin(w);
        t = sleep_parked(w, &at);
        orr_sleep_end(w);
    }
    if (bell) orr_bell_leave(bell, ORR_LISTEN_WORKER);
    end_sleep(w);
    return t;
}

static void wait_on_cond_locked(struct orr_worker *w, int64_t period_ns)
{
    struct timespec until;
    if (period_ns < 0) {
        pthread_cond_wait(&w->sched_cond, &w->sched_mutex);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += period_ns;
    until.tv_sec += until.tv_nsec / STARPU_NS_PER_S;
    until.tv_nsec %= STARPU_NS_PER_S;
    pthread_cond_timedwait(&w->sched_cond, &w->sched_mutex, &until);
}

void orr_sleep_on_cond_locked(struct orr_worker *w, bool counted)
{
    if (w->keep_awake || orr_load_seq(&w->local_count) > 0 || must_leave(w)) return;
    int64_t period_ns = sleep_period_ns(w, false);
    w->sleeping_on_cond = true;
    w->sleeps += period_ns < 0; /* it is woken by others */
    w->counted_parked = counted;
    orr_sleep_begin(w);
    wait_on_cond_locked(w, period_ns);
    orr_sleep_end(w);
    w->sleeping_on_cond = false;
}

static struct orr_task *idle_on_cond(struct orr_worker *w)
{
    enum { TRIES_BEFORE_SLEEP = 32 };
    for (int i = 0; !must_leave(w); i++) {
        struct orr_task *t = orr_worker_next(w);
        if (t) return t;
        orr_idle_say(w);
        orr_progress_poll();
        if (i < TRIES_BEFORE_SLEEP) {
            sched_yield();
            continue;
        }
        t = orr_serve_pop_or_sleep(w);
        if (t) return t;
        orr_tell_still_idle(w);
    }
    return NULL;
}

/* Looks without telling anybody, for messages as well: what comes at once costs others nothing.
 *
 * But for each look the cores pass the queue's lines to and fro, and those of the task, and of the data that
 * it shares with the next one. A worker that takes tasks as fast as they are submitted, one by one, makes
 * submission half as fast again. So where several came since it last ran dry, and more come at once, it lets
 * them gather for a moment longer. Who submits one task and waits for its end is served as before. */
static struct orr_task *look_briefly(struct orr_worker *w)
{
    uint64_t run = orr_load_relaxed(&w->tasks_run);
    bool several = run - w->run_when_dry > 1;
    w->run_when_dry = run;
    if (!several) w->gathering = 0;
    unsigned pauses = PAUSES_BETWEEN_LOOKS << w->gathering;
    for (unsigned paused = 0; paused < PAUSES_BEFORE_SEARCHING; paused += pauses) {
        if (!orr_progress_poll())
            for (unsigned k = 0; k < pauses; k++) orr_cpu_relax();
        struct orr_task *t = orr_worker_next(w);
        if (t) {
            if (paused > 0)
                w->gathering = 0;
            else if (several && w->gathering < GATHERING_MOST)
                w->gathering++;
            return t;
        }
        if (w->core_shared) break;
    }
    w->gathering = 0;
    return NULL;
}

static struct orr_task *search_and_park(struct orr_worker *w)
{
    struct orr_task *t = NULL;
    orr_doze_begin(&w->doze);
    orr_add_seq(&orr_parking.searching, 1);
    while (!t && !must_leave(w)) {
        uint32_t calls = 0;
        t = search(w, &calls);
        if (!t && !must_leave(w)) t = park(w, calls);
    }
    stop_searching(w, t != NULL);
    w->last_ticks = 0;
    return t;
}

static struct orr_task *idle(struct orr_worker *w)
{
    orr_store_relaxed(&w->idle_shown, true);
    is_brief_no_more(w);
    struct orr_task *t = NULL;
    if (orr_unlikely(orr_load_relaxed(&w->on_cond)))
        t = idle_on_cond(w);
    else if (!(t = look_briefly(w)))
        t = search_and_park(w);
    orr_store_relaxed(&w->idle_shown, false);
    orr_bell_give_back();
    return t;
}

struct orr_task *orr_worker_idle(struct orr_worker *w)
{
    orr_wait_rest_begin();
    orr_tell_idle_begin(w, false);
    struct orr_task *t = idle(w);
    orr_tell_idle_end(w, false);
    orr_wait_rest_end();
    return t;
}
