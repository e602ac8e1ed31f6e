/* SPDX-License-Identifier: BSD-3-Clause */
/* thread.c: the registry of threads that called the runtime.
 * Threads: any. Owns: the records and their list, and what dead threads had counted. Not here: the fast paths
 * (thread.h).
 *
 * Records outlive the library's being closed (dlclose): threads that called it free theirs at their end, with
 * a function of the library's, which is therefore linked so that it stays (-z nodelete). */
#include "core/base/thread.h"

#include <string.h>

#include "core/base/alloc.h"

_Thread_local struct orr_thread *orr_thread_own __attribute__((tls_model("initial-exec")));

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;              /* rank: leaf but for slab locks */
static struct orr_thread *threads;                                        /* [lock: registry] */
static uint64_t retired_submitted, retired_completed;                     /* [lock: registry] */
static uint64_t retired_submitted_elsewhere, retired_completed_elsewhere; /* [lock: registry] */
static pthread_key_t exit_key;
static pthread_once_t exit_key_once = PTHREAD_ONCE_INIT;
static _Atomic uint64_t next_job_block = 1;

/* Of the process's first thread, whose end nobody is told of. */
static struct orr_thread main_record;
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

static void unregister(void *record)
{
    struct orr_thread *t = record;
    orr_slab_flush(t->caches);
    pthread_mutex_lock(&registry);
    retired_submitted += orr_load_relaxed(&t->submitted);
    retired_completed += orr_load_relaxed(&t->completed);
    retired_submitted_elsewhere += orr_load_relaxed(&t->submitted_elsewhere);
    retired_completed_elsewhere += orr_load_relaxed(&t->completed_elsewhere);
    *t->prev = t->next;
    if (t->next) t->next->prev = t->prev;
    pthread_mutex_unlock(&registry);
    orr_thread_own = NULL; /* another function of this kind may call the runtime after this one */
    record_free(t);
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
    for (struct orr_thread *t = threads; t; t = t->next) {
        if (t == self) continue;
        retired_submitted += orr_load_relaxed(&t->submitted);
        retired_completed += orr_load_relaxed(&t->completed);
        retired_submitted_elsewhere += orr_load_relaxed(&t->submitted_elsewhere);
        retired_completed_elsewhere += orr_load_relaxed(&t->completed_elsewhere);
    }
    threads = self;
    if (self) {
        self->next = NULL;
        self->prev = &threads;
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
    t->next = threads;
    t->prev = &threads;
    if (threads) threads->prev = &t->next;
    threads = t;
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

uint64_t orr_threads_outstanding(void)
{
    pthread_mutex_lock(&registry);
    uint64_t completed = retired_completed, submitted = retired_submitted;
    for (struct orr_thread *t = threads; t; t = t->next) completed += orr_load_acquire(&t->completed);
    for (struct orr_thread *t = threads; t; t = t->next) submitted += orr_load_acquire(&t->submitted);
    pthread_mutex_unlock(&registry);
    return submitted - completed;
}

/* Completions first: all, then those elsewhere, of which there are by then at least as many; submissions the
 * other way round. What remains is never less than it was at some moment between. */
uint64_t orr_threads_outstanding_main(void)
{
    pthread_mutex_lock(&registry);
    uint64_t completed = retired_completed - retired_completed_elsewhere,
             submitted = retired_submitted - retired_submitted_elsewhere;
    for (struct orr_thread *t = threads; t; t = t->next) completed += orr_load_acquire(&t->completed);
    for (struct orr_thread *t = threads; t; t = t->next)
        completed -= orr_load_acquire(&t->completed_elsewhere);
    for (struct orr_thread *t = threads; t; t = t->next)
        submitted -= orr_load_acquire(&t->submitted_elsewhere);
    for (struct orr_thread *t = threads; t; t = t->next) submitted += orr_load_acquire(&t->submitted);
    pthread_mutex_unlock(&registry);
    return (int64_t)(submitted - completed) > 0 ? submitted - completed : 0;
}

bool orr_threads_use(unsigned id)
{
    bool used = false;
    pthread_mutex_lock(&registry);
    for (struct orr_thread *t = threads; t; t = t->next) used |= orr_load_seq(&t->using_ctx) == id + 1;
    pthread_mutex_unlock(&registry);
    return used;
}

/* ---- methods of the program's policies ---- */

void orr_method_begin(const char *name, unsigned context, int worker)
{
    struct orr_method *m = &orr_self()->method;
    clockid_t clock;
    if (m->depth++ > 0) return;
    if (orr_unlikely(orr_load_relaxed(&m->clock) == 0) && pthread_getcpuclockid(pthread_self(), &clock) == 0)
        orr_store_relaxed(&m->clock, clock);
    orr_store_relaxed(&m->name, name);
    orr_store_relaxed(&m->context, context);
    orr_store_relaxed(&m->worker, worker);
    orr_own_add(&m->calls, 1); /* pairs with the load in is_inside */
}

void orr_method_end(void)
{
    struct orr_method *m = &orr_self()->method;
    if (--m->depth == 0) orr_own_add(&m->calls, 1);
}

static bool is_inside(const struct orr_method *m)
{
    return orr_load_acquire(&m->calls) % 2 == 1;
}

void orr_threads_in_methods(void (*fn)(const struct orr_method *m, void *arg), void *arg)
{
    pthread_mutex_lock(&registry);
    for (struct orr_thread *t = threads; t; t = t->next)
        if (is_inside(&t->method)) fn(&t->method, arg);
    pthread_mutex_unlock(&registry);
}

/* Counts a thread that is inside a method; false: it is not. */
static bool count_method(struct orr_census *c, const struct orr_method *m)
{
    struct timespec cpu = { 0 };
    if (!is_inside(m)) return false;
    clock_gettime(orr_load_relaxed(&m->clock), &cpu);
    c->in_methods++;
    c->workers_in_methods += orr_load_relaxed(&m->worker) >= 0;
    c->method_calls += orr_load_relaxed(&m->calls);
    c->method_cpu_ns += (uint64_t)cpu.tv_sec * UINT64_C(1000000000) + (uint64_t)cpu.tv_nsec;
    return true;
}

struct orr_census orr_threads_census(void)
{
    pthread_mutex_lock(&registry);
    struct orr_census c = { .submitted = retired_submitted,
                            .completed = retired_completed,
                            .all_blocked = true };
    for (struct orr_thread *t = threads; t; t = t->next) {
        c.completed += orr_load_acquire(&t->completed);
        if (count_method(&c, &t->method)) continue;
        bool exempt = orr_load_relaxed(&t->exempt), blocked = orr_load_acquire(&t->blocked) > 0;
        if ((!exempt && !blocked) || orr_load_acquire(&t->acting) > 0) c.all_blocked = false;
        c.any_blocked |= !exempt && blocked;
    }
    for (struct orr_thread *t = threads; t; t = t->next) c.submitted += orr_load_acquire(&t->submitted);
    pthread_mutex_unlock(&registry);
    return c;
}

void orr_thread_is_internal(void)
{
    orr_store_relaxed(&orr_self()->exempt, true);
}

void orr_thread_set_passive(bool passive)
{
    orr_store_relaxed(&orr_self()->exempt, passive);
}

unsigned orr_threads_numbers(int *numbers_out, unsigned max)
{
    unsigned n = 0;
    pthread_mutex_lock(&registry);
    for (struct orr_thread *t = threads; t && n < max; t = t->next) numbers_out[n++] = t->number;
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

uint64_t orr_job_id_block(void)
{
    return orr_add_relaxed(&next_job_block, (uint64_t)ORR_JOB_ID_BLOCK);
}
