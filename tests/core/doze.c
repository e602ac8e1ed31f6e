/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Light sleep: who dozes sees that its word changes without a system call of who changes it, for no longer
 * than ORRERY_BLOCKTIME, one thread at a time where they share a word, and not where another thread computes
 * on its core. Threads: main wakes, another sleeps. Owns: nothing. Not here: who sleeps (park.c, bell.c).
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/worker/bell.h"
#include "core/worker/doze.h"
#include "tests/helper.h"

struct sleeper {
    pthread_t thread;
    struct orr_doze doze;
    _Atomic uint32_t *word, *dozing, *pollers;
    int64_t timeout_ns;
    int core; /* -1: any */
    bool changed;
    double took_ms;
    atomic_int over;
};

static _Atomic uint32_t word, dozing, pollers;

static void stay_on(int core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

static int first_core(void)
{
    cpu_set_t set;
    int core = 0;
    pthread_getaffinity_np(pthread_self(), sizeof set, &set);
    while (!CPU_ISSET(core, &set)) core++;
    return core;
}

static void *sleep_there(void *arg)
{
    struct sleeper *s = arg;
    const struct orr_bed bed = { .word = s->word, .dozing = s->dozing, .pollers = s->pollers };
    if (s->core >= 0) stay_on(s->core);
    uint64_t began = orr_ticks();
    orr_doze_begin(&s->doze);
    s->changed = orr_doze(&s->doze, &bed, s->timeout_ns);
    s->took_ms = orr_ticks_to_us(orr_ticks() - began) / 1e3;
    atomic_store(&s->over, 1);
    return NULL;
}

/* blocktime: what the setting says. */
static void begin(struct sleeper *s, const char *blocktime, int64_t timeout_ns, int core)
{
    *s = (struct sleeper){
        .word = &word, .dozing = &dozing, .pollers = &pollers, .timeout_ns = timeout_ns, .core = core
    };
    setenv("ORRERY_BLOCKTIME", blocktime, 1);
    orr_doze_configure();
    atomic_store(&word, 0);
    pthread_create(&s->thread, NULL, sleep_there, s);
}

static bool becomes(_Atomic uint32_t *what, uint32_t value, int ms)
{
    for (int i = 0; i < ms * 10 && atomic_load(what) != value; i++) usleep(100);
    return atomic_load(what) == value;
}

static bool ends(struct sleeper *s, int ms)
{
    for (int i = 0; i < ms * 10 && !atomic_load(&s->over); i++) usleep(100);
    return atomic_load(&s->over);
}

static void end(struct sleeper *s)
{
    atomic_store(&word, 1);
    orr_futex_wake(&word, 2);
    pthread_join(s->thread, NULL);
}

static void is_woken(void)
{
    struct sleeper s;
    begin(&s, "60000", -1, -1);
    ok(becomes(&dozing, 1, 5000), "who has nothing to do dozes");
    atomic_store(&word, 1);
    ok(ends(&s, 5000) && s.changed, "and sees that its word changes, without being woken");
    end(&s);
    is_int((int)dozing, 0, "then it says so");
}

static void has_limits(void)
{
    struct sleeper s;
    begin(&s, "60000", 30000000, -1);
    bool over = ends(&s, 5000);
    ok(over && !s.changed && s.took_ms >= 30, "a time that is over ends it, %.1f of 30 ms", s.took_ms);
    end(&s);
    begin(&s, "20", -1, -1);
    usleep(100000);
    ok(becomes(&dozing, 0, 5000) && !atomic_load(&s.over), "ORRERY_BLOCKTIME ends it, then it sleeps");
    atomic_store(&word, 1);
    ok(!ends(&s, 20), "and is to be woken");
    end(&s);
    ok(s.changed, "which ends its sleep");
    begin(&s, "0", -1, -1);
    usleep(20000);
    is_int((int)dozing, 0, "with ORRERY_BLOCKTIME=0 nobody dozes");
    end(&s);
}

static void one_at_a_time(void)
{
    struct sleeper s;
    atomic_store(&dozing, 1); /* another does */
    begin(&s, "60000", -1, -1);
    usleep(20000);
    atomic_store(&word, 1);
    ok(!ends(&s, 20), "where another thread dozes at a word one sleeps");
    end(&s);
    is_int((int)dozing, 1, "and leaves the other alone");
    atomic_store(&dozing, 0);
}

/* Programs that run beside this one take the core, too: what is to be seen is seen in one of so many tries.
 */
enum { TRIES = 10 };

/* Main computes, or polls, on the core of who dozes. How long that one naps at last; -1: it never dozed. */
static int64_t naps_ns(bool polls)
{
    cpu_set_t before;
    struct sleeper s;
    int core = first_core();
    pthread_getaffinity_np(pthread_self(), sizeof before, &before);
    begin(&s, "60000", -1, core);
    bool dozes = becomes(&dozing, 1, 5000);
    stay_on(core);
    uint64_t until = orr_ticks() + orr_us_to_ticks(300000);
    while (orr_ticks() < until)
        if (polls) sched_yield();
    end(&s);
    pthread_setaffinity_np(pthread_self(), sizeof before, &before);
    return dozes ? (int64_t)s.doze.nap_ns : -1;
}

static void leaves_the_core(bool polls)
{
    int64_t nap_ns = 0;
    for (int i = 0; i < TRIES && nap_ns < 4000000; i++) nap_ns = naps_ns(polls);
    ok(nap_ns >= 4000000, "where another %s it naps, %.0f ms at last", polls ? "polls" : "computes",
       (double)nap_ns / 1e6);
}

/* Main looks in now and then: two switches each, which who polls for a message would have to wait for. */
static bool leaves_it_to_pollers(void)
{
    cpu_set_t before;
    struct sleeper s;
    int core = first_core();
    pthread_getaffinity_np(pthread_self(), sizeof before, &before);
    atomic_store(&pollers, 1);
    begin(&s, "60000", -1, core);
    bool dozes = becomes(&dozing, 1, 5000);
    stay_on(core);
    for (int i = 0; i < 50 && atomic_load(&dozing); i++) usleep(300); /* less than the first nap */
    bool leaves = !atomic_load(&dozing);
    end(&s);
    atomic_store(&pollers, 0);
    pthread_setaffinity_np(pthread_self(), sizeof before, &before);
    return dozes && leaves && s.doze.nap_ns > 0;
}

static void leaves_it_soon(void)
{
    bool left = false;
    for (int i = 0; i < TRIES && !left; i++) left = leaves_it_to_pollers();
    ok(left, "beside one that polls it naps as soon as another had the core");
}

/* ---- at a bell ---- */

static struct orr_bell bell;

/* While a thread enters another one stops looking and says that it wants rings, and one comes. */
static bool rings_meanwhile(void *unused UNUSED)
{
    atomic_store(&bell.wanted, 1);
    orr_bell_ring(&bell, false);
    return false;
}
static bool finds_nothing(void *unused UNUSED)
{
    return false;
}

static void ring_is_seen(void)
{
    const struct orr_bell_watch watch = { .bell = &bell, .needed = rings_meanwhile, .look = finds_nothing };
    uint32_t seen;
    bool moved;
    bool hangs = orr_bell_hang(&watch);
    struct orr_bell *b = orr_bell_enter(ORR_LISTEN_WORKER, &seen, &moved);
    ok(hangs && b && orr_bell_has_rung(b, seen),
       "who enters does not take a ring that comes meanwhile for an old one");
    if (b) orr_bell_leave(b, ORR_LISTEN_WORKER);
    orr_bell_take_down();
}

int main(void)
{
    is_woken();
    has_limits();
    one_at_a_time();
    leaves_the_core(false);
    leaves_the_core(true);
    leaves_it_soon();
    ring_is_seen();
    return done_testing();
}
