/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_thread_util.h: the functions of starpu_thread.h with their result checked: abort when it is an
 * error.
 *
 * Threads: any.
 * Owns: nothing; macros only.
 * Not here: the forms that return an error (starpu_thread.h).
 */
#ifndef STARPU_THREAD_UTIL_H
#define STARPU_THREAD_UTIL_H

#include <starpu_thread.h>

/* Run a call that returns an error number; abort, naming the call and the place, unless that is 0. */
#define STARPU_PTHREAD_CHECK_(call)                                                                          \
    do {                                                                                                     \
        const int starpu_pthread_ret_ = (call);                                                              \
        if (STARPU_UNLIKELY(starpu_pthread_ret_ != 0))                                                       \
            starpu_pthread_failed_(__FILE__, __LINE__, #call, starpu_pthread_ret_);                          \
    } while (0)

/* For the macros above and below: say which call failed, and abort. */
static STARPU_INLINE void starpu_pthread_failed_(const char *file, int line, const char *call, int err)
{
    fprintf(stderr, "[starpu] %s:%d: %s: %s\n", file, line, call, strerror(err));
    STARPU_ABORT();
}

/* The result of a try-lock: 0, or EBUSY; abort for anything else. */
static STARPU_INLINE int starpu_pthread_try_(int ret, const char *file, int line, const char *call)
{
    if (STARPU_UNLIKELY(ret != 0 && ret != EBUSY)) starpu_pthread_failed_(file, line, call, ret);
    return ret;
}

/* The result of a timed wait: 0, or ETIMEDOUT; abort for anything else. */
static STARPU_INLINE int starpu_pthread_timed_(int ret, const char *file, int line, const char *call)
{
    if (STARPU_UNLIKELY(ret != 0 && ret != ETIMEDOUT)) starpu_pthread_failed_(file, line, call, ret);
    return ret;
}

#define STARPU_PTHREAD_CREATE(thread, attr, routine, arg)                                                    \
    STARPU_PTHREAD_CHECK_(starpu_pthread_create((thread), (attr), (routine), (arg)))
#define STARPU_PTHREAD_CREATE_ON(name, thread, attr, routine, arg, where)                                    \
    STARPU_PTHREAD_CHECK_(starpu_pthread_create_on((name), (thread), (attr), (routine), (arg), (where)))
#define STARPU_PTHREAD_JOIN(thread, retval) STARPU_PTHREAD_CHECK_(starpu_pthread_join((thread), (retval)))

#define STARPU_PTHREAD_MUTEX_INIT(mutex, attr)                                                               \
    STARPU_PTHREAD_CHECK_(starpu_pthread_mutex_init((mutex), (attr)))
/* For memory that is zero already. */
#define STARPU_PTHREAD_MUTEX_INIT0(mutex, attr) STARPU_PTHREAD_MUTEX_INIT(mutex, attr)
#define STARPU_PTHREAD_MUTEX_DESTROY(mutex) STARPU_PTHREAD_CHECK_(starpu_pthread_mutex_destroy(mutex))
#define STARPU_PTHREAD_MUTEX_LOCK(mutex) STARPU_PTHREAD_CHECK_(starpu_pthread_mutex_lock(mutex))
#define STARPU_PTHREAD_MUTEX_UNLOCK(mutex) STARPU_PTHREAD_CHECK_(starpu_pthread_mutex_unlock(mutex))
#define STARPU_PTHREAD_MUTEX_TRYLOCK(mutex)                                                                  \
    starpu_pthread_try_(starpu_pthread_mutex_trylock(mutex), __FILE__, __LINE__,                             \
                        "starpu_pthread_mutex_trylock")
#define STARPU_PTHREAD_MUTEX_LOCK_SCHED(mutex) STARPU_PTHREAD_MUTEX_LOCK(mutex)
#define STARPU_PTHREAD_MUTEX_UNLOCK_SCHED(mutex) STARPU_PTHREAD_MUTEX_UNLOCK(mutex)
#define STARPU_PTHREAD_MUTEX_TRYLOCK_SCHED(mutex) STARPU_PTHREAD_MUTEX_TRYLOCK(mutex)

#define STARPU_PTHREAD_KEY_CREATE(key, destr) STARPU_PTHREAD_CHECK_(starpu_pthread_key_create((key), (destr)))
#define STARPU_PTHREAD_KEY_DELETE(key) STARPU_PTHREAD_CHECK_(starpu_pthread_key_delete(key))
#define STARPU_PTHREAD_SETSPECIFIC(key, ptr) STARPU_PTHREAD_CHECK_(starpu_pthread_setspecific((key), (ptr)))
#define STARPU_PTHREAD_GETSPECIFIC(key) starpu_pthread_getspecific(key)

#define STARPU_PTHREAD_RWLOCK_INIT(rwlock, attr)                                                             \
    STARPU_PTHREAD_CHECK_(starpu_pthread_rwlock_init((rwlock), (attr)))
#define STARPU_PTHREAD_RWLOCK_INIT0(rwlock, attr) STARPU_PTHREAD_RWLOCK_INIT(rwlock, attr)
#define STARPU_PTHREAD_RWLOCK_DESTROY(rwlock) STARPU_PTHREAD_CHECK_(starpu_pthread_rwlock_destroy(rwlock))
#define STARPU_PTHREAD_RWLOCK_RDLOCK(rwlock) STARPU_PTHREAD_CHECK_(starpu_pthread_rwlock_rdlock(rwlock))
#define STARPU_PTHREAD_RWLOCK_WRLOCK(rwlock) STARPU_PTHREAD_CHECK_(starpu_pthread_rwlock_wrlock(rwlock))
#define STARPU_PTHREAD_RWLOCK_UNLOCK(rwlock) STARPU_PTHREAD_CHECK_(starpu_pthread_rwlock_unlock(rwlock))
#define STARPU_PTHREAD_RWLOCK_TRYRDLOCK(rwlock)                                                              \
    starpu_pthread_try_(starpu_pthread_rwlock_tryrdlock(rwlock), __FILE__, __LINE__,                         \
                        "starpu_pthread_rwlock_tryrdlock")
#define STARPU_PTHREAD_RWLOCK_TRYWRLOCK(rwlock)                                                              \
    starpu_pthread_try_(starpu_pthread_rwlock_trywrlock(rwlock), __FILE__, __LINE__,                         \
                        "starpu_pthread_rwlock_trywrlock")

#define STARPU_PTHREAD_COND_INIT(cond, attr) STARPU_PTHREAD_CHECK_(starpu_pthread_cond_init((cond), (attr)))
#define STARPU_PTHREAD_COND_INIT0(cond, attr) STARPU_PTHREAD_COND_INIT(cond, attr)
#define STARPU_PTHREAD_COND_DESTROY(cond) STARPU_PTHREAD_CHECK_(starpu_pthread_cond_destroy(cond))
#define STARPU_PTHREAD_COND_SIGNAL(cond) STARPU_PTHREAD_CHECK_(starpu_pthread_cond_signal(cond))
#define STARPU_PTHREAD_COND_BROADCAST(cond) STARPU_PTHREAD_CHECK_(starpu_pthread_cond_broadcast(cond))
#define STARPU_PTHREAD_COND_WAIT(cond, mutex) STARPU_PTHREAD_CHECK_(starpu_pthread_cond_wait((cond), (mutex)))
#define STARPU_PTHREAD_COND_TIMEDWAIT(cond, mutex, abstime)                                                  \
    starpu_pthread_timed_(starpu_pthread_cond_timedwait((cond), (mutex), (abstime)), __FILE__, __LINE__,     \
                          "starpu_pthread_cond_timedwait")

#define STARPU_PTHREAD_BARRIER_INIT(barrier, attr, count)                                                    \
    STARPU_PTHREAD_CHECK_(starpu_pthread_barrier_init((barrier), (attr), (count)))
#define STARPU_PTHREAD_BARRIER_DESTROY(barrier) STARPU_PTHREAD_CHECK_(starpu_pthread_barrier_destroy(barrier))
#define STARPU_PTHREAD_BARRIER_WAIT(barrier)                                                                 \
    do {                                                                                                     \
        const int starpu_pthread_ret_ = starpu_pthread_barrier_wait(barrier);                                \
        if (STARPU_UNLIKELY(starpu_pthread_ret_ != 0 &&                                                      \
                            starpu_pthread_ret_ != STARPU_PTHREAD_BARRIER_SERIAL_THREAD))                    \
            starpu_pthread_failed_(__FILE__, __LINE__, "starpu_pthread_barrier_wait", starpu_pthread_ret_);  \
    } while (0)

#endif
