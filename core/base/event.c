/* SPDX-License-Identifier: BSD-3-Clause */
/* event.c: see event.h.
 * Threads: any. Owns: the table of observers. Not here: see there.
 *
 * A thread says in its record (its room `observing`) in which observer it is before it looks whether that is
 * still there, and who removes one looks at the records after it took the observer away: so one of them sees
 * the other, and a removed observer is called no more once nobody says to be in it. A place is given away
 * again only then. That needs a fence on both sides. The system makes the one of those who tell, at the
 * moment when somebody looks at the records (membarrier); where it cannot, they make one each time. */
#include "core/base/event.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/thread.h"

enum { PLACES = 32 };

struct orr_events orr_events;
extern ORR_EXPORT struct orr_events orr_events_of_core __attribute__((alias("orr_events")));

static ORR_MUTEX(observers) table_lock =
    PTHREAD_MUTEX_INITIALIZER; /* "table": protects changes; outside the registry */
static _Atomic(struct orr_observer *) observers[PLACES];
static _Atomic uint32_t wanting[ORR_EVENT_KINDS]; /* bit: the observer at that place wants it */
static _Atomic uint32_t nesting;                  /* bit: it is told of what it causes, too [lock: table] */
static uint32_t taken;                            /* [lock: table] bit: place */

/* ---- who is in an observer ---- */

static _Atomic bool fences_come; /* from the system: who tells needs none of its own [set once] */

static bool membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}

static void ask_for_fences(void)
{
    if (!orr_load_relaxed(&fences_come) && membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
        orr_store_release(&fences_come, true);
}

/* A fence in every other thread. Where the system denies by now what it granted (a filter of calls), no store
 * stays in a processor's buffer for so long. */
static void fence_tellers(void)
{
    enum { LONG_US = 10000 };
    orr_fence();
    if (orr_load_relaxed(&fences_come) && !membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) usleep(LONG_US);
}

/* This thread is in the observers that `places` has, and then looks whether they are still there. */
static inline void go_inside(_Atomic uint32_t *observing, uint32_t places)
{
    if (orr_unlikely(!orr_load_relaxed(&fences_come))) {
        orr_store_seq(observing, places); /* pairs with anyone_inside */
        return;
    }
    orr_store_relaxed(observing, places);
    __asm__ volatile("" ::: "memory"); /* the compiler keeps the order; pairs with fence_tellers */
}

/* In which observers a thread is: a bit for each. [own, read by who removes one] */
static _Atomic uint32_t *observing_of(struct orr_thread *t)
{
    return orr_thread_room(t, observing, _Atomic uint32_t);
}

/* Whether another thread is in one of these. */
static bool anyone_inside(uint32_t places)
{
    bool inside = false;
    fence_tellers();
    for (struct orr_thread *t = orr_threads_lock(); t; t = t->next)
        inside |=
            t != orr_thread_own && (orr_load_seq(observing_of(t)) & places); /* pairs with orr_event_tell */
    orr_threads_unlock();
    return inside;
}

const char *orr_event_name(enum orr_event_kind kind)
{
    static const char *const names[] = {
#define EVENT(group, KIND, words, subject, a, b, c) words,
#include "core/base/event.def"
#undef EVENT
    };
    return kind < ORR_EVENT_KINDS ? names[kind] : "unknown";
}

/* ---- telling ---- */

void orr_event_tell(enum orr_event_kind kind, const void *subject, uint64_t a, uint64_t b, uint64_t c)
{
    struct orr_thread *self = orr_self();
    struct orr_seen e = { kind, subject, a, b, c };
    _Atomic uint32_t *observing = observing_of(self);
    uint32_t outer = orr_load_relaxed(observing), skipped = outer & ~orr_load_relaxed(&nesting);
    for (uint32_t left = orr_load_relaxed(&wanting[kind]) & ~skipped; left; left &= left - 1) {
        int place = __builtin_ctz(left);
        uint32_t bit = UINT32_C(1) << place;
        go_inside(observing, outer | bit);
        if (orr_load_seq(&wanting[kind]) & bit) {
            struct orr_observer *o = orr_load_acquire(&observers[place]);
            if (orr_unlikely(o->calls_program)) orr_callback_begin();
            o->see(o, &e);
            if (orr_unlikely(o->calls_program)) orr_callback_end();
        }
        orr_store_release(observing, outer);
    }
}

/* ---- the table ---- */

/* Called with the lock held. */
static void want_locked(int place, uint64_t kinds)
{
    uint32_t bit = UINT32_C(1) << place;
    uint64_t wanted = 0;
    for (int kind = 0; kind < ORR_EVENT_KINDS; kind++) {
        bool wants = kinds >> kind & 1;
        uint32_t before = orr_load_relaxed(&wanting[kind]), now = wants ? before | bit : before & ~bit;
        if (now != before) orr_store_seq(&wanting[kind], now); /* pairs with orr_event_tell */
        if (now) wanted |= UINT64_C(1) << kind;
    }
    orr_store_release(&orr_events.wanted, wanted);
}

/* The first place where nobody is, or -1. */
static int free_place_locked(void)
{
    for (int place = 0; place < PLACES; place++) {
        uint32_t bit = UINT32_C(1) << place;
        if (!(taken & bit) && !anyone_inside(bit)) return place;
    }
    return -1;
}

int orr_observer_add(struct orr_observer *o)
{
    pthread_mutex_lock(&table_lock);
    ask_for_fences();
    int place = free_place_locked();
    if (place >= 0) {
        uint32_t bit = UINT32_C(1) << place, nests = orr_load_relaxed(&nesting);
        taken |= bit;
        orr_store_relaxed(&nesting, o->nests ? nests | bit : nests & ~bit);
        o->place = place + 1;
        orr_store_release(&observers[place], o);
        want_locked(place, o->kinds);
    }
    pthread_mutex_unlock(&table_lock);
    return place >= 0 ? 0 : -ENOSPC;
}

void orr_observer_want(struct orr_observer *o, uint64_t kinds)
{
    pthread_mutex_lock(&table_lock);
    o->kinds = kinds;
    if (o->place > 0) want_locked(o->place - 1, kinds);
    pthread_mutex_unlock(&table_lock);
}

bool orr_observer_remove(struct orr_observer *o)
{
    uint32_t inside = orr_load_relaxed(observing_of(orr_self()));
    pthread_mutex_lock(&table_lock);
    if (o->place > 0) {
        want_locked(o->place - 1, 0);
        taken &= ~(UINT32_C(1) << (o->place - 1));
        o->place = -o->place;
    }
    uint32_t bit = o->place ? UINT32_C(1) << (-o->place - 1) : 0;
    pthread_mutex_unlock(&table_lock);
    while (!inside && anyone_inside(bit)) sched_yield();
    return !(inside & bit) && !(inside && anyone_inside(bit));
}
