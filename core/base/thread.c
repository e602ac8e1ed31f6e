/* SPDX-License-Identifier: BSD-3-Clause */
/* thread.c: the registry of threads that called the runtime.
 * Threads: any. Owns: the list of records and what dead threads had counted. Not here: the fast paths
 * (thread.h). */
#include "core/base/thread.h"

_Thread_local struct orr_thread orr_thread_record __attribute__((tls_model("initial-exec")));

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER; /* rank: leaf but for slab locks */
static struct orr_thread *threads;                           /* [lock: registry] */
static uint64_t retired_submitted, retired_completed;        /* [lock: registry] */
static pthread_key_t exit_key;
static pthread_once_t exit_key_once = PTHREAD_ONCE_INIT;
static _Atomic uint64_t next_job_block = 1;

static void unregister(void *record)
{
    struct orr_thread *t = record;
    orr_slab_flush(t->caches);
    pthread_mutex_lock(&registry);
    retired_submitted += orr_load_relaxed(&t->submitted);
    retired_completed += orr_load_relaxed(&t->completed);
    *t->prev = t->next;
    if (t->next) t->next->prev = t->prev;
    pthread_mutex_unlock(&registry);
    t->registered = false;
    orr_store_relaxed(&t->submitted, 0);
    orr_store_relaxed(&t->completed, 0);
}

static void make_exit_key(void)
{
    pthread_key_create(&exit_key, unregister);
}

void orr_thread_register(void)
{
    struct orr_thread *t = &orr_thread_record;
    pthread_once(&exit_key_once, make_exit_key);
    pthread_setspecific(exit_key, t);
    t->registered = true;
    pthread_mutex_lock(&registry);
    t->next = threads;
    t->prev = &threads;
    if (threads) threads->prev = &t->next;
    threads = t;
    pthread_mutex_unlock(&registry);
}

uint64_t orr_threads_outstanding(void)
{
    pthread_mutex_lock(&registry);
    uint64_t completed = retired_completed, submitted = retired_submitted;
    for (struct orr_thread *t = threads; t; t = t->next) completed += orr_load_acquire(&t->completed);
    for (struct orr_thread *t = threads; t; t = t->next) submitted += orr_load_acquire(&t->submitted);
    pthread_mutex_unlock(&registry);
    return submitted - completed;
}

struct orr_census orr_threads_census(void)
{
    pthread_mutex_lock(&registry);
    struct orr_census c = { .submitted = retired_submitted,
                            .completed = retired_completed,
                            .all_blocked = true };
    for (struct orr_thread *t = threads; t; t = t->next) {
        c.completed += orr_load_acquire(&t->completed);
        if (!orr_load_relaxed(&t->exempt) && orr_load_acquire(&t->blocked) == 0) c.all_blocked = false;
    }
    for (struct orr_thread *t = threads; t; t = t->next) c.submitted += orr_load_acquire(&t->submitted);
    pthread_mutex_unlock(&registry);
    return c;
}

void orr_thread_is_internal(void)
{
    orr_store_relaxed(&orr_self()->exempt, true);
}

long orr_threads_cached_blocks(enum orr_slab_id id)
{
    long n = 0;
    pthread_mutex_lock(&registry);
    for (struct orr_thread *t = threads; t; t = t->next) n += t->caches[id].count;
    pthread_mutex_unlock(&registry);
    return n;
}

void orr_threads_drop_caches(enum orr_slab_id id)
{
    pthread_mutex_lock(&registry);
    for (struct orr_thread *t = threads; t; t = t->next) t->caches[id] = (struct orr_slab_cache){ 0 };
    pthread_mutex_unlock(&registry);
}

uint64_t orr_job_id_block(void)
{
    return orr_add_relaxed(&next_job_block, (uint64_t)ORR_JOB_ID_BLOCK);
}
