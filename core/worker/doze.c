/* SPDX-License-Identifier: BSD-3-Clause */
/* doze.c: see doze.h. Threads: any. Owns: how long (const after the start). Not here: see doze.h.
 *
 * A thread that dozes yields its core every few microseconds. If another thread ran there for long, or each
 * time, or once while one polls, it sleeps for a millisecond, then tries again, each time after
 * twice as long: to try costs that one a few microseconds, and who wakes this one meanwhile, or another that
 * sleeps at the same bell, may wait until the other has had its slice. So that goes on from one time of
 * idleness to the next, until it dozed for a while undisturbed. A yield alone may take long, too, where the
 * system has the core from a hypervisor: so it is asked whether another thread ran. */
#include "core/worker/doze.h"

#include <sched.h>
#include <sys/resource.h>

#include "core/base/clock.h"
#include "core/base/env.h"

enum { LOOKS_PER_YIELD = 64, IN_A_ROW = 3 }; /* with a pause each: 1 to 3 us */
enum { NAP_MIN_NS = 1000000, NAP_MAX_NS = 64000000 };
static const double long_yield_us = 50.0, calm_us = 1000.0;

static uint64_t block_ticks;

void orr_doze_configure(void)
{
    double ms = orr_env_double(ORR_SETTING(ORRERY_BLOCKTIME), 200, 0, 1e9);
    block_ticks = orr_us_to_ticks(ms * 1e3);
}

void orr_doze_begin(struct orr_doze *d)
{
    d->until = block_ticks ? orr_ticks() + block_ticks : 0;
}

/* How often the calling thread had its core taken by another, yields included. */
static long switches(void)
{
    struct rusage u;
    return getrusage(RUSAGE_THREAD, &u) == 0 ? u.ru_nivcsw : 0;
}

static bool has_changed(const struct orr_bed *bed)
{
    return orr_load_seq(bed->word) != bed->seen;
}

static bool somebody_polls(const struct orr_bed *bed)
{
    return bed->pollers && orr_load_relaxed(bed->pollers) > 0;
}

/* Until the word changes, the time comes, or another wants the core; true: another does. That is one that ran
 * for long at one yield, or at several in a row: it yields, too, as who polls for messages does; or at one,
 * while a thread polls. */
static bool watch(const struct orr_bed *bed, uint64_t until)
{
    uint64_t is_long = orr_us_to_ticks(long_yield_us);
    long taken = switches();
    for (unsigned in_a_row = 0; in_a_row < IN_A_ROW;) {
        for (int i = 0; i < LOOKS_PER_YIELD; i++) {
            if (has_changed(bed)) return false;
            orr_cpu_relax();
        }
        uint64_t before = orr_ticks();
        if (before >= until) return false;
        sched_yield();
        long now_taken = switches();
        in_a_row = now_taken != taken ? in_a_row + 1 : 0;
        taken = now_taken;
        if (orr_likely(in_a_row == 0)) continue;
        if (orr_ticks() - before > is_long || somebody_polls(bed)) return true;
    }
    return true;
}

static bool may_doze(const struct orr_doze *d, const struct orr_bed *bed, uint64_t now)
{
    uint32_t nobody = 0;
    if (!d || now >= d->until || now < d->again) return false;
    return !bed->dozing || orr_cas_seq(bed->dozing, &nobody, 1u);
}

static void doze(struct orr_doze *d, const struct orr_bed *bed, uint64_t end)
{
    uint64_t since = orr_ticks();
    bool wanted = watch(bed, end < d->until ? end : d->until);
    uint64_t now = orr_ticks();
    if (bed->dozing) orr_store_seq(bed->dozing, 0u); /* before the word is read again: pairs with who rings */
    if (wanted) {
        d->nap_ns = d->nap_ns ? 2 * d->nap_ns : NAP_MIN_NS;
        if (d->nap_ns > NAP_MAX_NS) d->nap_ns = NAP_MAX_NS;
        d->again = now + orr_us_to_ticks((double)d->nap_ns * 1e-3);
    } else if (orr_ticks_to_us(now - since) > calm_us) {
        d->nap_ns = 0;
    }
}

static int64_t ns_until(uint64_t now, uint64_t then)
{
    return (int64_t)(orr_ticks_to_us(then - now) * 1e3) + 1;
}

static void sleep_soundly(const struct orr_bed *bed, int64_t timeout_ns)
{
    if (bed->bits)
        orr_futex_wait_shared(bed->word, bed->seen, timeout_ns, bed->bits);
    else
        orr_futex_wait(bed->word, bed->seen, timeout_ns);
}

bool orr_doze(struct orr_doze *d, const struct orr_bed *bed, int64_t timeout_ns)
{
    uint64_t now = orr_ticks(),
             end = timeout_ns < 0 ? UINT64_MAX : now + orr_us_to_ticks((double)timeout_ns * 1e-3);
    for (; !has_changed(bed) && now < end; now = orr_ticks()) {
        if (may_doze(d, bed, now)) {
            doze(d, bed, end);
            continue;
        }
        bool tries_again = d && now < d->again && d->again < d->until && d->again < end;
        uint64_t then = tries_again ? d->again : end;
        sleep_soundly(bed, then == UINT64_MAX ? -1 : ns_until(now, then));
    }
    return has_changed(bed);
}
