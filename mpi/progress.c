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
#include "mpi/progress.h"

#include <errno.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/worker/worker.h"
#include "mpi/cluster.h"

/* Whether messages move only if somebody polls. */
static bool is_needed(void)
{
    return orr_load_seq(&orr_cluster.outstanding) > 0 || orr_load_relaxed(&orr_cluster.engine.unsent);
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
    _Atomic uint32_t stop;
} own;

/* The progress thread's own nap: nobody wakes it before its time, because others would pay for that with
 * every message. */
static void nap(uint32_t us)
{
    orr_futex_wait(&own.stop, 0, (int64_t)us * 1000);
}

static void sleep_until_signal(uint32_t us, bool (*done)(void *arg), void *arg)
{
    orr_add_seq(&orr_cluster.sleepers, 1u); /* pairs with the load in orr_progress_signal */
    uint32_t seen = orr_load_seq(&orr_cluster.signal);
    if (!done(arg)) orr_futex_wait(&orr_cluster.signal, seen, (int64_t)us * 1000);
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

void orr_progress_wait(bool (*done)(void *arg), void *arg)
{
    struct idler i = { 0 };
    if (done(arg)) return;
    orr_thread_blocked_begin();
    while (!done(arg)) {
        if (orr_engine_poll(&orr_cluster.engine))
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

static bool must_stop(void)
{
    return orr_load_acquire(&own.stop) != 0;
}

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
    struct orr_engine *e = &orr_cluster.engine;
    uint64_t polls = orr_load_relaxed(&e->polls);
    for (uint32_t by_others = 0, looks = 0; !must_stop() && is_needed(); looks++) {
        if (orr_engine_poll(e))
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
    return orr_engine_poll(&orr_cluster.engine);
}

static const struct orr_progress for_others = { .poll = poll_for_others };

int orr_progress_start(void)
{
    orr_store_relaxed(&own.stop, 0u);
    orr_store_relaxed(&own.asleep, 0u);
    int r = pthread_create(&own.thread, NULL, run, NULL);
    if (r) {
        orr_error("starpu_mpi_init: the progress thread cannot be started");
        return -r;
    }
    pthread_setname_np(own.thread, "orr-mpi");
    r = orr_progress_register(for_others);
    if (r) orr_progress_stop();
    return r;
}

void orr_progress_stop(void)
{
    orr_progress_unregister(for_others);
    orr_store_release(&own.stop, 1u);
    orr_store_seq(&own.asleep, 0u);
    orr_futex_wake(&own.asleep, 1);
    orr_futex_wake(&own.stop, 1);
    pthread_join(own.thread, NULL);
}
