/* SPDX-License-Identifier: BSD-3-Clause */
/* own.h: what core/worker keeps for each thread, and what all threads do, for those who look for stillness.
 * Threads: any; each writes its own part. Owns: struct orr_worker_thread, struct orr_method. Not here: the
 * record that it lies in (core/base/thread.h), counts of tasks (core/task/task.h). */
#ifndef ORR_WORKER_OWN_H
#define ORR_WORKER_OWN_H

#include "core/base/export.h"
#include "core/base/thread.h"

struct orr_worker;

struct orr_worker_thread {
    struct orr_worker *worker;  /* [own] NULL outside of workers */
    _Atomic uint32_t using_ctx; /* [own, read by who deletes a context] 1 + a context it works for; 0: none */
    uint32_t inside_policies;   /* [own] bit: in a method of that context's policy, the program's (user.c) */
    uint32_t sched_ctx;         /* [own] context for submissions from here */
};

/* A method of the program's scheduling policy, while it runs on a thread. [own, read by the deadlock
 * detector] */
struct orr_method {
    _Atomic uint64_t calls;     /* odd while inside; publishes the others */
    _Atomic(const char *) name; /* of the method */
    _Atomic uint32_t context;   /* whose policy */
    _Atomic int32_t worker;     /* the calling worker, -1: none */
    _Atomic int32_t clock;      /* clockid_t of the thread's processor time */
    uint32_t depth;             /* [own] methods within each other: the outermost one is shown */
};

static inline struct orr_worker_thread *orr_worker_thread(struct orr_thread *t)
{
    return orr_thread_room(t, worker, struct orr_worker_thread);
}
static inline struct orr_method *orr_method_of(struct orr_thread *t)
{
    return orr_thread_room(t, method, struct orr_method);
}
static inline struct orr_worker_thread *orr_worker_own(void)
{
    return orr_worker_thread(orr_self());
}

/* The calling worker, or NULL on other threads. */
static inline struct orr_worker *orr_worker_self(void)
{
    return orr_worker_own()->worker;
}
/* The calling thread is w from now on, or no worker (NULL); returns what it was. */
static inline struct orr_worker *orr_worker_become(struct orr_worker *w)
{
    struct orr_thread *self = orr_self();
    struct orr_worker *was = orr_worker_thread(self)->worker;
    orr_worker_thread(self)->worker = w;
    self->serves = w != NULL;
    return was;
}

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

/* For the deadlock detector, look by look: whether those who seem to wait do, and are not just late (rest.c).
 * _forget: something has moved, it begins anew. */
void orr_rest_forget(void);
bool orr_rest_look(void);
/* The calling thread is a worker's own: without a task it sleeps. */
void orr_rest_is_worker(void);

/* Calls fn for each thread inside a method. It must not call the runtime. */
bool orr_method_is_inside(const struct orr_method *m);
void orr_threads_in_methods(void (*fn)(const struct orr_method *m, void *arg), void *arg);

/* Around a method of the program's policy. */
void orr_method_begin(const char *name, unsigned context, int worker);
void orr_method_end(void);

#endif
