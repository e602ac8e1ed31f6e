/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_thread.h: POSIX threads, mutexes and the like under StarPU's names.
 *
 * Threads: any.
 * Owns: nothing; each name is the POSIX one, with its types, arguments and results.
 * Not here: the forms that check the result (starpu_thread_util.h).
 *
 * Read-write locks, barriers and spin locks need a POSIX.1-2001 environment: with -std=c11 define
 * _POSIX_C_SOURCE or _GNU_SOURCE, or they are left out.
 */
#ifndef STARPU_THREAD_H
#define STARPU_THREAD_H

#include <starpu_util.h>

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

/* ---- Threads ---- */

typedef pthread_t starpu_pthread_t;
typedef pthread_attr_t starpu_pthread_attr_t;
typedef void *starpu_sg_host_t; /* where a simulated thread would run: ignored */

#define starpu_pthread_equal pthread_equal
#define starpu_pthread_self pthread_self
#define starpu_pthread_create pthread_create
#define starpu_pthread_create_on(name, thread, attr, routine, arg, where)                                    \
    pthread_create(thread, attr, routine, arg)
#define starpu_pthread_join pthread_join
#define starpu_pthread_detach pthread_detach
#define starpu_pthread_exit pthread_exit
#define starpu_pthread_attr_init pthread_attr_init
#define starpu_pthread_attr_destroy pthread_attr_destroy
#define starpu_pthread_attr_setdetachstate pthread_attr_setdetachstate
#define starpu_pthread_attr_setstacksize pthread_attr_setstacksize
#define starpu_pthread_setname(name) pthread_setname_np(pthread_self(), name)

/* ---- Mutexes; the _sched forms are for a worker's own mutex ---- */

typedef pthread_mutex_t starpu_pthread_mutex_t;
typedef pthread_mutexattr_t starpu_pthread_mutexattr_t;

#define STARPU_PTHREAD_MUTEX_INITIALIZER PTHREAD_MUTEX_INITIALIZER
#define starpu_pthread_mutex_init pthread_mutex_init
#define starpu_pthread_mutex_destroy pthread_mutex_destroy
#define starpu_pthread_mutex_lock pthread_mutex_lock
#define starpu_pthread_mutex_unlock pthread_mutex_unlock
#define starpu_pthread_mutex_trylock pthread_mutex_trylock
#define starpu_pthread_mutex_lock_sched pthread_mutex_lock
#define starpu_pthread_mutex_unlock_sched pthread_mutex_unlock
#define starpu_pthread_mutex_trylock_sched pthread_mutex_trylock
#define starpu_pthread_mutex_check_sched(mutex, file, line) ((void)(mutex))
#define starpu_pthread_mutexattr_init pthread_mutexattr_init
#define starpu_pthread_mutexattr_destroy pthread_mutexattr_destroy
#define starpu_pthread_mutexattr_gettype pthread_mutexattr_gettype
#define starpu_pthread_mutexattr_settype pthread_mutexattr_settype

/* ---- Data of a thread ---- */

typedef pthread_key_t starpu_pthread_key_t;

#define starpu_pthread_key_create pthread_key_create
#define starpu_pthread_key_delete pthread_key_delete
#define starpu_pthread_setspecific pthread_setspecific
#define starpu_pthread_getspecific pthread_getspecific

/* ---- Condition variables ---- */

typedef pthread_cond_t starpu_pthread_cond_t;
typedef pthread_condattr_t starpu_pthread_condattr_t;

#define STARPU_PTHREAD_COND_INITIALIZER PTHREAD_COND_INITIALIZER
#define starpu_pthread_cond_init pthread_cond_init
#define starpu_pthread_cond_destroy pthread_cond_destroy
#define starpu_pthread_cond_signal pthread_cond_signal
#define starpu_pthread_cond_broadcast pthread_cond_broadcast
#define starpu_pthread_cond_wait pthread_cond_wait
#define starpu_pthread_cond_timedwait pthread_cond_timedwait

/* ---- Read-write locks, barriers, spin locks ---- */

#ifdef PTHREAD_RWLOCK_INITIALIZER
typedef pthread_rwlock_t starpu_pthread_rwlock_t;
typedef pthread_rwlockattr_t starpu_pthread_rwlockattr_t;
#endif

#define STARPU_PTHREAD_RWLOCK_INITIALIZER PTHREAD_RWLOCK_INITIALIZER
#define starpu_pthread_rwlock_init pthread_rwlock_init
#define starpu_pthread_rwlock_destroy pthread_rwlock_destroy
#define starpu_pthread_rwlock_rdlock pthread_rwlock_rdlock
#define starpu_pthread_rwlock_tryrdlock pthread_rwlock_tryrdlock
#define starpu_pthread_rwlock_wrlock pthread_rwlock_wrlock
#define starpu_pthread_rwlock_trywrlock pthread_rwlock_trywrlock
#define starpu_pthread_rwlock_unlock pthread_rwlock_unlock

#ifdef PTHREAD_BARRIER_SERIAL_THREAD
typedef pthread_barrier_t starpu_pthread_barrier_t;
typedef pthread_barrierattr_t starpu_pthread_barrierattr_t;
typedef pthread_spinlock_t starpu_pthread_spinlock_t;
#endif

#define STARPU_PTHREAD_BARRIER_SERIAL_THREAD PTHREAD_BARRIER_SERIAL_THREAD
#define starpu_pthread_barrier_init pthread_barrier_init
#define starpu_pthread_barrier_destroy pthread_barrier_destroy
#define starpu_pthread_barrier_wait pthread_barrier_wait

#define starpu_pthread_spin_init pthread_spin_init
#define starpu_pthread_spin_destroy pthread_spin_destroy
#define starpu_pthread_spin_lock pthread_spin_lock
#define starpu_pthread_spin_trylock pthread_spin_trylock
#define starpu_pthread_spin_unlock pthread_spin_unlock

/* ---- Semaphores; a wait goes on when a signal interrupts it ---- */

typedef sem_t starpu_sem_t;

#define starpu_sem_init sem_init
#define starpu_sem_destroy sem_destroy
#define starpu_sem_getvalue sem_getvalue
#define starpu_sem_post sem_post

/* Wait until the count is above 0, and lower it. Returns 0; -1: sem is no semaphore (errno). */
static STARPU_INLINE int starpu_sem_wait(starpu_sem_t *sem)
{
    int ret;
    do ret = sem_wait(sem);
    while (ret == -1 && errno == EINTR);
    return ret;
}

/* Lower the count if it is above 0. Returns 0; -1: it is 0 (errno is EAGAIN), or sem is no semaphore. */
static STARPU_INLINE int starpu_sem_trywait(starpu_sem_t *sem)
{
    int ret;
    do ret = sem_trywait(sem);
    while (ret == -1 && errno == EINTR);
    return ret;
}

#endif
