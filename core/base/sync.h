/* SPDX-License-Identifier: BSD-3-Clause */
/* sync.h: the one door to atomics, futexes, spin locks and mutexes, so that a test build can replace them.
 * Threads: any. Owns: nothing. Not here: parking of workers (core/worker/park.h).
 * The order is always on the operation (relaxed, acquire, release, seq_cst); there is no free-standing fence
 * between threads, because ThreadSanitizer does not model them. */
#ifndef ORR_BASE_SYNC_H
#define ORR_BASE_SYNC_H

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/base/export.h"

#if defined(__SANITIZE_THREAD__)
#define ORR_WATCH_LOCKS
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ORR_WATCH_LOCKS
#endif
#endif

#define ORR_CACHE_LINE 64
#define ORR_ALIGNED_LINE _Alignas(ORR_CACHE_LINE)

#define orr_likely(x) __builtin_expect(!!(x), 1)
#define orr_unlikely(x) __builtin_expect(!!(x), 0)

/* Short names for the four orders in use. */
#define orr_load_relaxed(p) atomic_load_explicit((p), memory_order_relaxed)
#define orr_load_acquire(p) atomic_load_explicit((p), memory_order_acquire)
#define orr_load_seq(p) atomic_load_explicit((p), memory_order_seq_cst)
#define orr_store_relaxed(p, v) atomic_store_explicit((p), (v), memory_order_relaxed)
#define orr_store_release(p, v) atomic_store_explicit((p), (v), memory_order_release)
#define orr_store_seq(p, v) atomic_store_explicit((p), (v), memory_order_seq_cst)
#define orr_add_relaxed(p, v) atomic_fetch_add_explicit((p), (v), memory_order_relaxed)
#define orr_add_acq_rel(p, v) atomic_fetch_add_explicit((p), (v), memory_order_acq_rel)
#define orr_add_seq(p, v) atomic_fetch_add_explicit((p), (v), memory_order_seq_cst)
#define orr_sub_acq_rel(p, v) atomic_fetch_sub_explicit((p), (v), memory_order_acq_rel)
#define orr_sub_seq(p, v) atomic_fetch_sub_explicit((p), (v), memory_order_seq_cst)
#define orr_exchange_acq_rel(p, v) atomic_exchange_explicit((p), (v), memory_order_acq_rel)
#define orr_cas_seq(p, e, v)                                                                                 \
    atomic_compare_exchange_strong_explicit((p), (e), (v), memory_order_seq_cst, memory_order_seq_cst)
#define orr_cas_weak_acq_rel(p, e, v)                                                                        \
    atomic_compare_exchange_weak_explicit((p), (e), (v), memory_order_acq_rel, memory_order_acquire)

/* Between memory that is written here and read by another process, or the other way round, where it is not
 * ours to say how: that of MPI. ThreadSanitizer models no free-standing fences, and sees one process. */
static inline void orr_fence(void)
{
#ifndef ORR_WATCH_LOCKS
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* Adds to a counter which only the calling thread writes: no locked instruction. Others read it with
 * orr_load_acquire. */
#define orr_own_add(p, v) orr_store_release((p), orr_load_relaxed(p) + (v))

static inline void orr_cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#define orr_prefetch_write(p) __builtin_prefetch((p), 1, 3)
#define orr_prefetch_read(p) __builtin_prefetch((p), 0, 3)

/* Spin lock for sections of a few dozen instructions; gives its core away when the holder seems to be
 * preempted. */
typedef struct {
    _Atomic uint8_t held;
#ifdef ORR_WATCH_LOCKS
    bool shown; /* [lock] */
#endif
#ifdef ORR_CHECK_LOCKS
    char rank[0][1]; /* none: see rank.h */
#endif
} orr_spin;

ORR_EXPORT void orr_spin_lock_slow(orr_spin *s);

static inline void orr_spin_init(orr_spin *s)
{
    orr_store_relaxed(&s->held, 0);
}

static inline bool orr_spin_take(orr_spin *s)
{
    return atomic_exchange_explicit(&s->held, 1, memory_order_acquire) == 0; /* pairs with orr_spin_unlock */
}

#ifdef ORR_WATCH_LOCKS /* ThreadSanitizer is shown what they are: it tells of locks taken in two orders */
ORR_EXPORT bool orr_spin_try(orr_spin *s);
ORR_EXPORT void orr_spin_lock(orr_spin *s);
ORR_EXPORT void orr_spin_unlock(orr_spin *s);
#else
static inline bool orr_spin_try(orr_spin *s)
{
    return orr_spin_take(s);
}

static inline void orr_spin_lock(orr_spin *s)
{
    if (orr_unlikely(!orr_spin_take(s))) orr_spin_lock_slow(s);
}

static inline void orr_spin_unlock(orr_spin *s)
{
    orr_store_release(&s->held, 0);
}
#endif

/* Futex on a 32-bit word. wait returns when *word != seen, on a wake, or spuriously; timeout_ns < 0 means for
 * ever. Returns false only when the time-out passed. */
ORR_EXPORT bool orr_futex_wait(_Atomic uint32_t *word, uint32_t seen, int64_t timeout_ns);
ORR_EXPORT void orr_futex_wake(_Atomic uint32_t *word, int how_many);
/* Whether a thread that is in the system's call of this number waits on a futex, a mutex or a condition. */
bool orr_futex_is(long call);

/* The same on a word in memory that processes share, for those that have a bit in common. Wait returns
 * whenever it likes; wake returns how many it woke. */
void orr_futex_wait_shared(_Atomic uint32_t *word, uint32_t seen, int64_t timeout_ns, uint32_t bits);
int orr_futex_wake_shared(_Atomic uint32_t *word, int how_many, uint32_t bits);

/* Called now and then by threads that block in the runtime, so that messages move meanwhile; NULL: nobody
 * needs it. Returns true while it wants to be called again soon. Set by core/worker. */
extern bool (*_Atomic orr_blocked_poll)(void);

/* A one-shot event: wait blocks until set was called; set may free nothing (the waiter owns the event). */
struct orr_event {
    _Atomic uint32_t word;
};

static inline void orr_event_init(struct orr_event *e)
{
    orr_store_relaxed(&e->word, 0);
}
void orr_event_set(struct orr_event *e);
void orr_event_wait(struct orr_event *e);
void orr_event_nap(struct orr_event *e, int64_t timeout_ns); /* waits that long at most */
static inline bool orr_event_is_set(struct orr_event *e)
{
    return orr_load_acquire(&e->word) == 1;
}

#include "core/base/rank.h"

#endif
