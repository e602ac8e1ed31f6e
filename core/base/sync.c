/* SPDX-License-Identifier: BSD-3-Clause */
/* sync.c: the slow halves of spin locks, futexes and events.
 * Threads: any. Owns: nothing. Not here: the fast halves (sync.h). */
#include "core/base/sync.h"

#include "core/base/thread.h"

#ifdef ORR_CHECK_LOCKS /* here are the functions that they stand for */
#undef orr_spin_lock
#undef orr_spin_try
#undef orr_spin_unlock
#endif

#ifdef ORR_WATCH_LOCKS
#include <sanitizer/tsan_interface.h>
#endif

bool (*_Atomic orr_blocked_poll)(void);

enum { SPINS_BEFORE_YIELD = 64, EVENT_SPINS = 40 };

void orr_spin_lock_slow(orr_spin *s)
{
    for (;;) {
        for (int i = 0; i < SPINS_BEFORE_YIELD; i++) {
            if (orr_load_relaxed(&s->held) == 0 && orr_spin_take(s)) return;
            orr_cpu_relax();
        }
        sched_yield(); /* the holder was preempted, perhaps on this very core */
    }
}

#ifdef ORR_WATCH_LOCKS
/* ThreadSanitizer remembers 64 locks of a thread at most: of the queues of a task with more data, which are
 * taken in the order of their addresses, the rest is not shown. */
static bool may_show(void)
{
    enum { SHOWN_MAX = 48 };
    return orr_thread_own && orr_thread_own->spins_shown < SHOWN_MAX;
}

bool orr_spin_try(orr_spin *s)
{
    bool show = may_show();
    if (show) __tsan_mutex_pre_lock(s, __tsan_mutex_try_lock);
    bool taken = orr_spin_take(s);
    if (show)
        __tsan_mutex_post_lock(s, __tsan_mutex_try_lock | (taken ? 0 : __tsan_mutex_try_lock_failed), 0);
    if (taken) s->shown = show;
    if (taken && show) orr_thread_own->spins_shown++;
    return taken;
}

void orr_spin_lock(orr_spin *s)
{
    bool show = may_show();
    if (show) __tsan_mutex_pre_lock(s, 0);
    if (!orr_spin_take(s)) orr_spin_lock_slow(s);
    if (show) __tsan_mutex_post_lock(s, 0, 0);
    if (show) orr_thread_own->spins_shown++;
    s->shown = show;
}

void orr_spin_unlock(orr_spin *s)
{
    bool show = s->shown;
    if (show) __tsan_mutex_pre_unlock(s, 0);
    orr_store_release(&s->held, 0);
    if (show) __tsan_mutex_post_unlock(s, 0);
    if (show && orr_thread_own) orr_thread_own->spins_shown--;
}
#endif

bool orr_futex_wait(_Atomic uint32_t *word, uint32_t seen, int64_t timeout_ns)
{
    struct timespec ts = { .tv_sec = timeout_ns / 1000000000, .tv_nsec = timeout_ns % 1000000000 };
    long r = syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, timeout_ns < 0 ? NULL : &ts, NULL, 0);
    return !(r < 0 && errno == ETIMEDOUT);
}

void orr_futex_wake(_Atomic uint32_t *word, int how_many)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, how_many, NULL, NULL, 0);
}

bool orr_futex_is(long call)
{
    return call == SYS_futex;
}

void orr_futex_wait_shared(_Atomic uint32_t *word, uint32_t seen, int64_t timeout_ns, uint32_t bits)
{
    struct timespec until, *limit = NULL; /* with bits, the kernel wants the end, not the duration */
    if (timeout_ns >= 0) {
        clock_gettime(CLOCK_MONOTONIC, &until);
        int64_t ns = until.tv_nsec + timeout_ns;
        until.tv_sec += ns / 1000000000;
        until.tv_nsec = ns % 1000000000;
        limit = &until;
    }
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET, seen, limit, NULL, bits);
}

int orr_futex_wake_shared(_Atomic uint32_t *word, int how_many, uint32_t bits)
{
    return (int)syscall(SYS_futex, word, FUTEX_WAKE_BITSET, how_many, NULL, NULL, bits);
}

/* The word: 0 not set, 1 set, 2 not set and somebody sleeps. */
void orr_event_set(struct orr_event *e)
{
    if (atomic_exchange_explicit(&e->word, 1, memory_order_acq_rel) == 2) orr_futex_wake(&e->word, INT32_MAX);
}

void orr_event_wait(struct orr_event *e)
{
    bool (*poll)(void) = orr_load_acquire(&orr_blocked_poll);
    for (int i = 0; i < EVENT_SPINS; i++) {
        if (orr_event_is_set(e)) return;
        if (poll && poll()) i = 0;
        sched_yield();
    }
    orr_thread_blocked_begin();
    while (!orr_event_is_set(e)) {
        uint32_t unset = 0;
        if (orr_load_relaxed(&e->word) == 2 || orr_cas_weak_acq_rel(&e->word, &unset, 2))
            orr_futex_wait(&e->word, 2, -1);
    }
    orr_thread_blocked_end();
}

void orr_event_nap(struct orr_event *e, int64_t timeout_ns)
{
    uint32_t unset = 0;
    if (orr_load_relaxed(&e->word) == 2 || orr_cas_weak_acq_rel(&e->word, &unset, 2))
        orr_futex_wait(&e->word, 2, timeout_ns);
}
