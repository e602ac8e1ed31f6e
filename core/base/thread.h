/* SPDX-License-Identifier: BSD-3-Clause */
/* thread.h: what the runtime keeps for every thread that ever called it, workers and others alike.
 * Threads: each touches its own record; sums over all records take the registry's mutex.
 * Owns: submission and completion counters, slab caches, what the thread is doing. Not here: struct
 * orr_worker.
 *
 * Counting tasks without a shared counter: a thread adds to counters that only it writes. The runtime is
 * quiescent when the completions, read first, equal the submissions, read after: both only grow, so they were
 * equal at a moment between the two readings. */
#ifndef ORR_BASE_THREAD_H
#define ORR_BASE_THREAD_H

#include "core/base/export.h"
#include "core/base/slab.h"
#include "core/base/sync.h"

struct orr_worker;
struct orr_task;
struct orr_ready_list;
struct orr_waiter;

/* A method of the program's scheduling policy, while it runs on a thread. [own, read by the deadlock
 * detector]
 */
struct orr_method {
    _Atomic uint64_t calls;     /* odd while inside; publishes the others */
    _Atomic(const char *) name; /* of the method */
    _Atomic uint32_t context;   /* whose policy */
    _Atomic int32_t worker;     /* the calling worker, -1: none */
    _Atomic int32_t clock;      /* clockid_t of the thread's processor time */
    uint32_t depth;             /* [own] methods within each other: the outermost one is shown */
};

/* What would call functions of the program, put aside by a thread that must not call them just now: it posts
 * a message, say, and the program may hold a lock that they take. Another thread goes on with it. */
struct orr_put_off {
    struct orr_waiter *waiters, *last_waiter; /* to be granted (core/data/access.h) */
    struct orr_task *tasks, *last_task;       /* ready (core/task/task.h) */
};

/* What layers above keep for each thread: who of them, and how much room each has. They do not use
 * thread-local variables of their own: see orr_thread_own. */
enum orr_local {
    ORR_LOCAL_LET_IN,     /* core/data/acquire.c */
    ORR_LOCAL_PREFETCHES, /* core/data/transfer.c */
    ORR_LOCAL_FEEDING,    /* core/data/hungry.c */
    ORR_LOCAL_SWITCHES,   /* core/data/partition.c */
    ORR_LOCAL_FILTER,     /* core/data/filters/cut.c */
    ORR_LOCAL_LOCKS,      /* core/worker/policy.c */
    ORR_LOCAL_ITERATIONS, /* core/run/trace.c */
    ORR_LOCAL_TREES,      /* sched/components */
    ORR_LOCAL_HYPERVISOR, /* sched/hypervisor */
    ORR_LOCAL_DRAW,       /* sched/draw.h */
    ORR_LOCAL_MPI,        /* mpi/wire/engine.c */
    ORR_LOCAL_COUNT
};
enum { ORR_LOCAL_BYTES = 80, ORR_SCRATCH_BYTES = 1024 };

struct orr_thread {
    struct orr_worker *worker; /* [own] NULL outside of workers */
    struct orr_task *current;  /* [own] the task whose body runs here */
    struct orr_ready_list
        *collect; /* [own] where tasks that become ready are put aside; NULL: they are dispatched */
    struct orr_put_off *put_off; /* [own] where what calls functions of the program is put; NULL: it does */
    uint32_t callback_depth;     /* [own] callbacks of the program within each other */
    bool checks_later; /* [own] a worker at work: it looks for waiting threads before it rests (wait.h) */
    _Atomic uint64_t submitted; /* [own, read by sums] */
    _Atomic uint64_t completed; /* [own, read by sums] */
    /* Of these, in contexts other than the main one: counted after submitted, and before completed. */
    _Atomic uint64_t submitted_elsewhere, completed_elsewhere; /* [own, read by sums] */
    _Atomic uint32_t using_ctx; /* [own, read by who deletes a context] 1 + a context it works for; 0: none */
    uint32_t inside_policies;   /* [own] bit: in a method of that context's policy, the program's (user.c) */
    struct orr_slab_cache caches[ORR_SLAB_COUNT]; /* [own] */
    _Atomic uint32_t blocked; /* [own, read by the deadlock detector] depth of blocking calls */
    _Atomic uint32_t acting;  /* [own, read by census] depth of functions of the program: it is not stuck */
    uint32_t sched_ctx;       /* [own] context for submissions from here */
    uint64_t next_job_id;     /* [own] */
    struct orr_thread *next, **prev; /* [lock: registry] */
    struct orr_method method;        /* what it is doing for a policy of the program */
    _Atomic bool
        exempt;    /* one of the runtime's own threads: nobody waits for it to act [own, read by census] */
    int number;    /* [lock: registry] the system's, as in /proc/self/task */
    void *scratch; /* [own] see orr_thread_scratch */
#ifdef ORR_WATCH_LOCKS
    unsigned spins_shown; /* [own] spin locks held that ThreadSanitizer was shown (sync.c) */
#endif
    _Alignas(16) char local[ORR_LOCAL_COUNT][ORR_LOCAL_BYTES]; /* [own] zero at first */
};

/* The library's one thread-local variable, the record of the calling thread. It is reached in one
 * instruction, for which it must lie in the space that the C library keeps for libraries that are loaded
 * later (dlopen). That space is small, and others want some: so it is a pointer. */
extern ORR_EXPORT _Thread_local struct orr_thread *orr_thread_own __attribute__((tls_model("initial-exec")));

ORR_EXPORT struct orr_thread *orr_thread_register(void);

/* The calling thread's record; registers the thread the first time. Never NULL. */
static inline struct orr_thread *orr_self(void)
{
    struct orr_thread *t = orr_thread_own;
    return orr_likely(t != NULL) ? t : orr_thread_register();
}

/* ORR_LOCAL_BYTES for the layer that is meant. */
static inline void *orr_thread_local(enum orr_local whose)
{
    return orr_self()->local[whose];
}

/* ORR_SCRATCH_BYTES that nobody relies on once another function of the runtime is called; NULL: out of
 * memory. */
void *orr_thread_scratch(void);

/* Called by a thread of the program's that is about to block, once it counts as blocked; NULL: nobody needs
 * to know. Set by core/worker. */
extern ORR_EXPORT void (*_Atomic orr_blocking)(void);

static inline void orr_thread_blocked_begin(void)
{
    struct orr_thread *self = orr_self();
    orr_store_seq(&self->blocked,
                  orr_load_relaxed(&self->blocked) + 1); /* pairs with orr_threads_any_blocked */
    void (*blocking)(void) = orr_load_acquire(&orr_blocking);
    if (orr_unlikely(blocking != NULL) && !self->worker && orr_load_relaxed(&self->blocked) == 1) blocking();
}
static inline void orr_thread_blocked_end(void)
{
    orr_own_add(&orr_self()->blocked, (uint32_t)-1);
}

/* Whether some other thread, not one of the runtime's own, is blocked in the runtime. */
bool orr_threads_any_blocked(void);

/* Tasks submitted and not yet completed, over all threads; exact when it returns 0. The second: those of the
 * main context. */
uint64_t orr_threads_outstanding(void);
uint64_t orr_threads_outstanding_main(void);

/* Whether a thread works for context id just now (using_ctx). */
bool orr_threads_use(unsigned id);

/* What all threads do, for the deadlock detector: sums, and whether every thread that is no worker is blocked
 * in the runtime. */
struct orr_census {
    uint64_t submitted, completed;
    bool all_blocked; /* or inside a method; a thread in a callback of the program is not */
    bool any_blocked; /* not counting the runtime's own */
    /* Threads inside methods of the program's policies; sums that stay equal while none of them moves. */
    unsigned in_methods, workers_in_methods;
    uint64_t method_calls, method_cpu_ns;
};
ORR_EXPORT struct orr_census orr_threads_census(void);

/* The system's numbers of the threads that called the runtime, at most max. */
unsigned orr_threads_numbers(int *numbers_out, unsigned max);

/* Around a function of the program's, but bodies of tasks: called on a thread of the runtime's, or on one
 * that waits, which may act on whatever it likes meanwhile. */
static inline void orr_acting_begin(void)
{
    orr_own_add(&orr_self()->acting, 1);
}
static inline void orr_acting_end(void)
{
    orr_own_add(&orr_self()->acting, (uint32_t)-1);
}

/* Around a callback of the program's that belongs to no task. On a worker it must not block: tasks that it
 * waits for may need that worker. */
static inline void orr_callback_begin(void)
{
    struct orr_thread *self = orr_self();
    if (self->worker) self->callback_depth++;
    orr_acting_begin();
}
static inline void orr_callback_end(void)
{
    struct orr_thread *self = orr_self();
    orr_acting_end();
    if (self->worker) self->callback_depth--;
}

/* Calls fn for each thread inside a method. It must not call the runtime. */
void orr_threads_in_methods(void (*fn)(const struct orr_method *m, void *arg), void *arg);

/* Around a method of the program's policy. */
void orr_method_begin(const char *name, unsigned context, int worker);
void orr_method_end(void);

/* The calling thread is the runtime's own: it is never waited for. The second: the program says so of one of
 * its threads, or takes it back. */
ORR_EXPORT void orr_thread_is_internal(void);
void orr_thread_set_passive(bool passive);

/* For slab.c. */
long orr_threads_cached_blocks(enum orr_slab_id id);
void orr_threads_drop_caches(enum orr_slab_id id);

/* Fresh numbers for jobs, unique in the process, from blocks so that threads do not share a counter. */
uint64_t orr_job_id_block(void);
enum { ORR_JOB_ID_BLOCK = 1024 };

struct orr_free_link {
    struct orr_free_link *next;
};

/* A block of slab id, uninitialised, or NULL. The block that comes next is prefetched: it was written by
 * another core. */
static inline void *orr_slab_alloc(enum orr_slab_id id)
{
    struct orr_slab_cache *c = &orr_self()->caches[id];
    struct orr_free_link *b = c->free_list;
    if (orr_unlikely(!b)) return orr_slab_alloc_slow(id);
    c->free_list = b->next;
    c->count--;
    return b;
}

enum { ORR_SLAB_CACHE_MAX = 64 };

static inline void orr_slab_free(enum orr_slab_id id, void *block)
{
    struct orr_slab_cache *c = &orr_self()->caches[id];
    struct orr_free_link *b = block;
    b->next = c->free_list;
    c->free_list = b;
    if (orr_unlikely(++c->count >= ORR_SLAB_CACHE_MAX)) orr_slab_free_slow(id);
}

#endif
