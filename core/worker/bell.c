/* SPDX-License-Identifier: BSD-3-Clause */
/* bell.c: see bell.h.
 * Threads: any. Owns: who listens in this process. Not here: see bell.h. */
#include "core/worker/bell.h"

#include <limits.h>
#include <sched.h>

#include "core/worker/park.h"

/* The protocol. Who is about to sleep says that a ring is wanted, and then looks once more for what may have
 * come; who has sent something reads whether a ring is wanted afterwards. One of the two sees the other. Who
 * rings takes the wish away and wakes one thread, so that a burst of messages costs one system call. The
 * thread that wakes up, or any other that is awake and looks, sees what comes next; when it turns to
 * something else while others still sleep, it says again that a ring is wanted, and looks once more
 * (orr_bell_give_back). So while anybody sleeps here, either a ring is wanted, or a thread is awake that will
 * say so.
 *
 * While a worker searches it looks for messages, too, and so does a thread that waits for one: who falls
 * asleep meanwhile wants no rings. The last one to stop says for all what they want, when it falls asleep
 * itself or gives back. So beside a thread that waits nobody else gives back either: each message that it
 * posted before would else have its answer wake a sleeper.
 *
 * One that dozes is awake for whoever rings: it sees that the word changes, and does as if it had been woken.
 * So it must not have taken the word as it is after a ring for what it was before: it reads it before it
 * looks whether others search, or whether something is to come at all.
 *
 * A wish that nobody has any more costs its sender one ring in vain; who wants an answer and woke nobody
 * rings for the attendant then.
 *
 * bell.pml, beside this file, is a model for spin, one that dozes included: change both. It has one kind of
 * listeners, and no deaf ones: a thread that computes stands for them. */

ORR_ALIGNED_LINE _Atomic uint32_t orr_bell_listeners;
ORR_ALIGNED_LINE _Atomic uint32_t orr_bell_lookers;
static ORR_ALIGNED_LINE _Atomic uint32_t listeners_of[ORR_LISTENERS];
static _Atomic(const struct orr_bell_watch *) bell_watch; /* NULL: there is no bell */
static _Atomic uint32_t deaf; /* of the workers that search, those that do not look just now, and others */

/* ---- bits ---- */

/* In the futex: who is woken. Workers share bits where there are many. */
enum { WORKER_BITS = 24 };

static uint32_t futex_bits(enum orr_listener kind, int number)
{
    return UINT32_C(1) << (kind == ORR_LISTEN_WORKER ? number % WORKER_BITS : WORKER_BITS + (int)kind);
}

static uint32_t futex_all(enum orr_listener kind)
{
    return kind == ORR_LISTEN_WORKER ? (UINT32_C(1) << WORKER_BITS) - 1 : futex_bits(kind, 0);
}

static void change_and_wake(struct orr_bell *b, int how_many, uint32_t bits)
{
    orr_add_seq(&b->rings, 1u);
    orr_futex_wake_shared(&b->rings, how_many, bits);
}

/* ---- ringing ---- */

bool orr_bell_ring_slow(struct orr_bell *b)
{
    uint32_t wanted = atomic_exchange_explicit(&b->wanted, 0, memory_order_seq_cst);
    if (!wanted) return false; /* another was faster */
    orr_add_seq(&b->rings, 1u);
    if (orr_load_seq(&b->dozing)) return true; /* it watches that, whichever kind it is of */
    for (int kind = 0; kind < ORR_LISTENERS; kind++)
        if (wanted >> kind & 1 && orr_futex_wake_shared(&b->rings, 1, futex_all((enum orr_listener)kind)) > 0)
            return true;
    return false;
}

/* ---- listening ---- */

/* Says whom to ring for: all kinds that are there. True: that was not said before. */
static bool want_rings(struct orr_bell *b)
{
    uint32_t kinds = 0;
    for (int kind = 0; kind < ORR_LISTENERS; kind++)
        if (orr_load_seq(&listeners_of[kind]) > 0) kinds |= UINT32_C(1) << kind;
    if (kinds == 0 || (orr_load_seq(&b->wanted) & kinds) == kinds) return false;
    atomic_fetch_or_explicit(&b->wanted, kinds, memory_order_seq_cst);
    return true;
}

bool orr_bell_hangs(void)
{
    return orr_load_relaxed(&bell_watch) != NULL;
}

bool orr_bell_somebody_waits(void)
{
    const struct orr_worker *w = orr_worker_self();
    return (w && orr_load_relaxed(&w->idle_shown)) || orr_load_relaxed(&orr_bell_lookers) > 0 ||
           orr_load_relaxed(&listeners_of[ORR_LISTEN_WAITER]) > 0 ||
           orr_load_relaxed(&orr_parking.searching) > 0 || orr_load_relaxed(&orr_parking.parked) > 0;
}

static void count(enum orr_listener kind)
{
    orr_add_seq(&listeners_of[kind], 1u);
    orr_add_seq(&orr_bell_listeners, 1u); /* before the bell is looked up: pairs with orr_bell_take_down */
}

static void uncount(enum orr_listener kind)
{
    orr_sub_seq(&listeners_of[kind], 1u);
    orr_sub_seq(&orr_bell_listeners, 1u);
}

/* The last one needs no rings any more. One who enters just now may lose its wish by that: the caller is
 * awake, and says it again when it gives back or comes again. */
void orr_bell_leave(struct orr_bell *b, enum orr_listener kind)
{
    bool last = orr_sub_seq(&listeners_of[kind], 1u) == 1;
    for (int k = 0; last && k < ORR_LISTENERS; k++) last = orr_load_seq(&listeners_of[k]) == 0;
    if (last && orr_load_relaxed(&b->wanted)) orr_store_seq(&b->wanted, 0);
    orr_sub_seq(&orr_bell_listeners, 1u); /* last: the bell may be taken down now */
}

struct orr_bell *orr_bell_enter(enum orr_listener kind, uint32_t *seen_out, bool *moved_out)
{
    *moved_out = false;
    if (!orr_load_relaxed(&bell_watch)) return NULL;
    count(kind);
    const struct orr_bell_watch *w = orr_load_seq(&bell_watch);
    if (!w) {
        uncount(kind);
        return NULL;
    }
    *seen_out =
        orr_load_seq(&w->bell->rings); /* before all looks: who rings for another one changes this, too */
    /* pairs with orr_bell_give_back of who makes it needed, or stops searching: that counts first, and then
     * looks who listens */
    bool searched =
             orr_load_seq(&orr_parking.searching) + orr_load_seq(&orr_bell_lookers) > orr_load_seq(&deaf),
         needed = !searched && w->needed(w->arg);
    if (needed) want_rings(w->bell);
    orr_fence();
    if (needed) *moved_out = w->look(w->arg);
    return w->bell;
}

void orr_bell_sleep(struct orr_bell *b, enum orr_listener kind, int number, uint32_t seen, int64_t timeout_ns,
                    struct orr_doze *doze)
{
    const struct orr_bed bed = { .word = &b->rings,
                                 .seen = seen,
                                 .bits = futex_bits(kind, number),
                                 .dozing = &b->dozing,
                                 .pollers = &orr_bell_lookers };
    orr_doze(doze, &bed, timeout_ns);
}

/* Does fn for the bell, if there is one, which stays meanwhile. */
static bool with_bell(bool (*fn)(const struct orr_bell_watch *w, uint32_t bits), uint32_t bits)
{
    orr_add_seq(&orr_bell_listeners, 1u);
    const struct orr_bell_watch *w = orr_load_seq(&bell_watch);
    bool r = w && fn(w, bits);
    orr_sub_seq(&orr_bell_listeners, 1u);
    return r;
}

/* Beside a thread that looks nothing is said: it says so itself when it stops, counted no more. A worker that
 * searches may have lost its core, and is not relied on. */
static bool give_back(const struct orr_bell_watch *w, uint32_t unused)
{
    (void)unused;
    if (orr_load_seq(&orr_bell_lookers) > orr_load_seq(&deaf)) return false;
    if (!w->needed(w->arg) || !want_rings(w->bell)) return false;
    orr_fence(); /* as in orr_bell_enter */
    return w->look(w->arg);
}

void orr_bell_give_back_slow(void)
{
    with_bell(give_back, 0);
}

void orr_bell_deaf_begin(void)
{
    orr_add_seq(&deaf, 1u); /* before the look who listens: pairs with orr_bell_enter */
    orr_bell_give_back();
}

void orr_bell_deaf_end(void)
{
    orr_sub_seq(&deaf, 1u);
}

static bool call(const struct orr_bell_watch *w, uint32_t bits)
{
    change_and_wake(w->bell, INT_MAX, bits);
    return true;
}

void orr_bell_call_worker(int number)
{
    with_bell(call, futex_bits(ORR_LISTEN_WORKER, number));
}

void orr_bell_call(enum orr_listener kind)
{
    if (orr_load_seq(&listeners_of[kind]) > 0) with_bell(call, futex_all(kind));
}

/* ---- the attendant ---- */

void orr_bell_attend_begin(struct orr_bell *b)
{
    orr_store_seq(&b->attended, 1u);
    orr_fence(); /* then the look: pairs with that in orr_bell_ring */
}

void orr_bell_attend_sleep(struct orr_bell *b, int64_t timeout_ns)
{
    orr_futex_wait_shared(&b->attended, 1, timeout_ns, UINT32_MAX);
}

bool orr_bell_attend_end(struct orr_bell *b)
{
    return orr_exchange_acq_rel(&b->attended, 0u) == 0;
}

void orr_bell_ring_attendant(struct orr_bell *b)
{
    if (orr_exchange_acq_rel(&b->attended, 0u)) orr_futex_wake_shared(&b->attended, 1, UINT32_MAX);
}

static bool call_attendant(const struct orr_bell_watch *w, uint32_t unused)
{
    (void)unused;
    orr_bell_ring_attendant(w->bell);
    return true;
}

void orr_bell_call_attendant(void)
{
    with_bell(call_attendant, 0);
}

/* ---- beginning and end ---- */

bool orr_bell_hang(const struct orr_bell_watch *w)
{
    const struct orr_bell_watch *none = NULL;
    if (!orr_cas_seq(&bell_watch, &none, w)) return false;
    orr_wake_all(); /* who sleeps already comes to listen */
    return true;
}

void orr_bell_take_down(void)
{
    const struct orr_bell_watch *w = orr_load_seq(&bell_watch);
    if (!w) return;
    orr_store_seq(&bell_watch, NULL);
    while (orr_load_seq(&orr_bell_listeners) > 0) {
        change_and_wake(w->bell, INT_MAX, UINT32_MAX);
        sched_yield();
    }
}
