/* SPDX-License-Identifier: BSD-3-Clause */
/* rank.h: locks that know their place in the order (ranks.def), checked in builds with --enable-lock-checks.
 * Threads: any. Owns: nothing; each thread's record has the locks that it holds. Not here: what locks protect
 * (doc/LOCKS.md).
 *
 * A lock is declared with its name: ORR_SPIN(queue) lock; ORR_MUTEX(plans) plans. In ordinary builds that is
 * an orr_spin and a pthread_mutex_t, and nothing else. With checks the type has the rank in it, and what
 * takes a lock tells it and the place to the checker, which ends the process at the first lock that is taken
 * out of order, whether anybody waited or not. Taking one by trying is always in order. Included at the end
 * of sync.h. */
#ifndef ORR_BASE_RANK_H
#define ORR_BASE_RANK_H

#ifndef ORR_CHECK_LOCKS
#define ORR_SPIN(name) orr_spin
#define ORR_MUTEX(name) pthread_mutex_t
#define ORR_PLAIN_MUTEX(m) (m) /* for functions that take any mutex */
#else

#pragma GCC diagnostic ignored "-Wmissing-braces" /* PTHREAD_MUTEX_INITIALIZER in a union */

enum orr_rank {
    ORR_RANK_none,
#define RANK(name, how) ORR_RANK_##name,
#include "core/base/ranks.def"
#undef RANK
};

/* The rank is in the type: the length of an array of no elements, or what is added to the size. */
#define RANK(name, how)                                                                                      \
    struct orr_spin_##name {                                                                                 \
        orr_spin spin;                                                                                       \
        char rank[0][ORR_RANK_##name + 1];                                                                   \
    };                                                                                                       \
    union orr_mutex_##name {                                                                                 \
        pthread_mutex_t mutex;                                                                               \
        char room[sizeof(pthread_mutex_t) + 8 * ORR_RANK_##name];                                            \
    };
#include "core/base/ranks.def"
#undef RANK
#define ORR_SPIN(name) struct orr_spin_##name
#define ORR_MUTEX(name) union orr_mutex_##name
#define ORR_PLAIN_MUTEX(m) ((pthread_mutex_t *)(void *)(m))
#define ORR_MUTEX_RANK(m) ((unsigned)((sizeof *(m) - sizeof(pthread_mutex_t)) / 8))
#define ORR_SPIN_RANK(s) ((unsigned)sizeof((s)->rank[0]) - 1)
#define ORR_PLACE_OF(file, line) file ":" #line
#define ORR_PLACE_AT(file, line) ORR_PLACE_OF(file, line)
#define ORR_PLACE ORR_PLACE_AT(__FILE__, __LINE__)

/* Before a lock is waited for; once it is held; before it is let go. */
ORR_EXPORT void orr_rank_wanted(const void *lock, unsigned rank, const char *place);
ORR_EXPORT void orr_rank_taken(const void *lock, unsigned rank, const char *place);
ORR_EXPORT void orr_rank_left(const void *lock);

static inline void orr_spin_lock_at(orr_spin *s, unsigned rank, const char *place)
{
    orr_rank_wanted(s, rank, place);
    orr_spin_lock(s);
    orr_rank_taken(s, rank, place);
}
static inline bool orr_spin_try_at(orr_spin *s, unsigned rank, const char *place)
{
    bool taken = orr_spin_try(s);
    if (taken) orr_rank_taken(s, rank, place);
    return taken;
}
static inline void orr_spin_unlock_at(orr_spin *s)
{
    orr_rank_left(s);
    orr_spin_unlock(s);
}
static inline int orr_mutex_lock_at(pthread_mutex_t *m, unsigned rank, const char *place)
{
    orr_rank_wanted(m, rank, place);
    int r = pthread_mutex_lock(m);
    if (r == 0) orr_rank_taken(m, rank, place);
    return r;
}
static inline int orr_mutex_try_at(pthread_mutex_t *m, unsigned rank, const char *place)
{
    int r = pthread_mutex_trylock(m);
    if (r == 0) orr_rank_taken(m, rank, place);
    return r;
}
static inline int orr_mutex_unlock_at(pthread_mutex_t *m)
{
    orr_rank_left(m);
    return pthread_mutex_unlock(m);
}

#define orr_spin_init(s) orr_spin_init((orr_spin *)(void *)(s))
#define orr_spin_lock(s) orr_spin_lock_at((orr_spin *)(void *)(s), ORR_SPIN_RANK(s), ORR_PLACE)
#define orr_spin_try(s) orr_spin_try_at((orr_spin *)(void *)(s), ORR_SPIN_RANK(s), ORR_PLACE)
#define orr_spin_unlock(s) orr_spin_unlock_at((orr_spin *)(void *)(s))
#define pthread_mutex_lock(m) orr_mutex_lock_at(ORR_PLAIN_MUTEX(m), ORR_MUTEX_RANK(m), ORR_PLACE)
#define pthread_mutex_trylock(m) orr_mutex_try_at(ORR_PLAIN_MUTEX(m), ORR_MUTEX_RANK(m), ORR_PLACE)
#define pthread_mutex_unlock(m) orr_mutex_unlock_at(ORR_PLAIN_MUTEX(m))
#define pthread_mutex_init(m, attr) pthread_mutex_init(ORR_PLAIN_MUTEX(m), attr)
#define pthread_mutex_destroy(m) pthread_mutex_destroy(ORR_PLAIN_MUTEX(m))
#define pthread_cond_wait(c, m) pthread_cond_wait(c, ORR_PLAIN_MUTEX(m))
#define pthread_cond_timedwait(c, m, until) pthread_cond_timedwait(c, ORR_PLAIN_MUTEX(m), until)

#endif
#endif
