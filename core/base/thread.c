/* SPDX-License-Identifier: BSD-3-Clause */
/* thread.c: the registry of threads that called the runtime.
 * Threads: any. Owns: the records and their list, and what ended threads had counted. Not here: the fast
 * paths (thread.h), what the rooms hold.
 *
 * Records outlive the library's being closed (dlclose): threads that called it free theirs at their end, with
 * a function of the library's, which is therefore linked so that it stays (-z nodelete). */
#include "core/base/thread.h"

#include <signal.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/recorder.h"
#include "core/base/tape.h"

_Thread_local struct orr_thread *orr_thread_own __attribute__((tls_model("initial-exec")));

static ORR_MUTEX(threads) registry = PTHREAD_MUTEX_INITIALIZER; /* rank: leaf but for slab locks */
static struct orr_thread ended = { .exempt = true }; /* [lock: registry] counters of ended threads */
static struct orr_thread *threads = &ended;          /* [lock: registry] `ended` is the last */
static pthread_key_t exit_key;
static pthread_once_t exit_key_once = PTHREAD_ONCE_INIT;

/* Of the process's first thread, whose end nobody is told of. */
static ORR_ALIGNED_LINE struct orr_thread main_record;
static _Alignas(16) char main_scratch[ORR_SCRATCH_BYTES];

static struct orr_thread *record_create(void)
{
    struct orr_thread *t = &main_record;
    if (syscall(SYS_gettid) != getpid())
        t = orr_malloc_wait(ORR_CACHE_LINE, ORR_SLAB_ROUND(sizeof *t, ORR_CACHE_LINE));
    memset(t, 0, sizeof *t);
    return t;
}

static void record_free(struct orr_thread *t)
{
    if (t == &main_record) return;
    orr_free(t->scratch);
    orr_free(t);
}

static void keep_counters_of(char *sums, char *room, unsigned n)
{
    _Atomic uint64_t *to = (void *)sums, *from = (void *)room;
    for (unsigned i = 0; i < n; i++) orr_own_add(&to[i], orr_load_relaxed(&from[i]));
}

/* What t counted stays when it goes. With the registry locked. */
static void keep_counters(struct orr_thread *t)
{
#define ROOM(name, counters, bytes)                                                                          \
    _Static_assert((counters) * sizeof(uint64_t) <= (bytes), "counters fit into their room");                \
    keep_counters_of(ended.room_##name, t->room_##name, counters);
#include "core/base/rooms.def"
#undef ROOM
}

static void unregister(void *record)
{
    struct orr_thread *t = record;
    orr_recorders_let_go(t);
    orr_tape_let_go(t);
    orr_slab_flush(t->caches);
    pthread_mutex_lock(&registry);
    keep_counters(t);
    *t->prev = t->next;
    t->next->prev = t->prev;
    pthread_mutex_unlock(&registry);
    orr_thread_own = NULL; /* another function of this kind may call the runtime after this one */
    record_free(t);
}

static void link_first(struct orr_thread *t)
{
    t->next = threads;
    t->prev = &threads;
    threads->prev = &t->next;
    threads = t;
}

/* A child has one thread, under another number. What the others had counted stays. */
static void before_fork(void)
{
    pthread_mutex_lock(&registry);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&registry);
}

static void after_fork_in_child(void)
{
    struct orr_thread *self = orr_thread_own;
    for (struct orr_thread *t = threads; t != &ended; t = t->next)
        if (t != self) keep_counters(t);
    threads = &ended;
    ended.prev = &threads;
    if (self) {
        link_first(self);
        self->number = (int)syscall(SYS_gettid);
    }
    pthread_mutex_unlock(&registry);
}

static void make_exit_key(void)
{
    pthread_key_create(&exit_key, unregister);
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

struct orr_thread *orr_thread_register(void)
{
    struct orr_thread *t = record_create();
    pthread_once(&exit_key_once, make_exit_key);
    pthread_setspecific(exit_key, t);
    orr_thread_own = t;
    pthread_mutex_lock(&registry);
    t->number = (int)syscall(SYS_gettid);
    link_first(t);
    pthread_mutex_unlock(&registry);
    return t;
}

void *orr_thread_scratch(void)
{
    struct orr_thread *self = orr_self();
    if (self == &main_record) return main_scratch;
    if (!self->scratch) self->scratch = orr_malloc_aligned(16, ORR_SCRATCH_BYTES);
    return self->scratch;
}

void (*_Atomic orr_blocking)(void);

bool orr_threads_any_blocked(void)
{
    bool any = false;
    pthread_mutex_lock(&registry);
    for (struct orr_thread *t = threads; t; t = t->next)
        any |= t != orr_thread_own && !orr_load_relaxed(&t->exempt) && orr_load_seq(&t->blocked) > 0;
    pthread_mutex_unlock(&registry);
    return any;
}

struct orr_thread *orr_threads_lock(void)
{
    pthread_mutex_lock(&registry);
    return threads;
}

void orr_threads_unlock(void)
{
    pthread_mutex_unlock(&registry);
}

void orr_thread_is_internal(void)
{
    orr_store_relaxed(&orr_self()->exempt, true);
}

void orr_thread_set_passive(bool passive)
{
    orr_store_relaxed(&orr_self()->exempt, passive);
}

int orr_thread_start(pthread_t *out, void *(*run)(void *), void *arg, const char *name)
{
    static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS };
    sigset_t others, before;
    sigfillset(&others);
    for (unsigned i = 0; i < sizeof faults / sizeof faults[0]; i++) sigdelset(&others, faults[i]);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    int r = pthread_create(out, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r == 0) pthread_setname_np(*out, name);
    return -r;
}

unsigned orr_threads_numbers(int *numbers_out, unsigned max)
{
    unsigned n = 0;
    pthread_mutex_lock(&registry);
    for (struct orr_thread *t = threads; t != &ended && n < max; t = t->next) numbers_out[n++] = t->number;
    pthread_mutex_unlock(&registry);
    return n;
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
