/* SPDX-License-Identifier: BSD-3-Clause */
/* context.h: a scheduling context: workers, an instance of a policy, and the tasks that were given to it.
 * Threads: fields say whose they are. Owns: the table of contexts. Not here: how they are made and deleted
 * (core/run/context.c), how workers move between them (member.h), policies (policy.h). */
#ifndef ORR_WORKER_CONTEXT_H
#define ORR_WORKER_CONTEXT_H

#include "core/worker/policy.h"

struct orr_raw_list;
struct starpu_sched_ctx_performance_counters;

/* What is counted of the tasks of a context that is not the main one (tally.h). */
struct orr_tally {
    ORR_ALIGNED_LINE _Atomic int64_t outstanding; /* submitted and not completed */
    _Atomic int32_t ready;                        /* of these, ready or running */
    _Atomic double ready_flops;                   /* their operations */
    _Atomic uint32_t waiters;                     /* threads that wait until few enough are outstanding */
    _Atomic int64_t enough;                       /* the largest number one of them waits for */
    _Atomic uint32_t epoch;                       /* futex of the waiters */
    _Atomic bool finished;                        /* nothing more will be submitted */
};

/* A scheduling context: workers and an instance of a policy. */
struct orr_ctx {
    unsigned id;
    _Atomic bool in_use;         /* its number is taken */
    _Atomic bool open;           /* it has its policy */
    _Atomic bool avoids;         /* devices are out: tasks are kept from them (elsewhere.h) */
    _Atomic uint32_t generation; /* counts who had this number [lock: sched_ctx.c moves, read by any] */
    _Atomic unsigned nworkers; /* [lock: change_lock, read by any] 0: ready tasks are held until some come */
    const struct orr_policy_ops *policy; /* [const while in use] */
    struct starpu_sched_policy *user; /* the program's table, or the public one of a policy of the library */
    void *instance;
    int min_priority, max_priority;
    bool priorities_set;
    const char *name;
    void *policy_data, *user_data;
    /* The members by number: an entry may just be changing, or be out of date; and as bits, which are exact.
     * Workers change these themselves (member.h). [lock: change_lock, read by any] */
    _Atomic int workers[STARPU_NMAXWORKERS];
    _Atomic uint64_t member[STARPU_NMAXWORKERS / 64];
    struct starpu_worker_collection
        *collection;               /* the same, for users' policies, in whose methods it is still */
    ORR_MUTEX(change) change_lock; /* protects members; held while the policy hears of a change */
    int join_error;                /* why a worker was not taken, 0: all were [lock: change_lock] */
    _Atomic uint32_t worker_priority[STARPU_NMAXWORKERS]; /* of this context on a worker of several */
    unsigned hierarchy_level;                             /* [const while open] */
    _Atomic bool closing;                                 /* it takes no workers any more */
    _Atomic unsigned nested_in; /* the context in which it was made; 0: the main one */
    _Atomic unsigned
        inheritor; /* the context that gets the workers at the end; none: STARPU_NMAX_SCHED_CTXS */
    _Atomic bool sees_bodies, sees_submissions; /* its policy wants to (hooked.c) */
    _Atomic(struct orr_raw_list *) raw; /* members as they were when last asked for (core/run/context.c) */
    int nsms;           /* multiprocessors of a GPU it is to use; 0: not said [const while open] */
    int sms_start;      /* the first of them */
    bool awake_workers; /* [const while open] without a policy: all workers run each task */
    struct orr_tally tally;
    void (*policy_init)(unsigned id); /* NULL; called after the policy's own init */
    void (*close_callback)(unsigned id, void *arg);
    void *close_arg;
    /* functions of a hypervisor that are told what happens here; NULL: none (counters.c) */
    _Atomic(const struct starpu_sched_ctx_performance_counters *) counters;
    _Atomic double sample_start_us; /* idle time before that is not told */
    ORR_SPIN(held) held_lock;       /* protects held; leaf */
    struct orr_task *held;          /* ready while there was no worker, latest first */
    _Atomic uint32_t policy_holds;  /* tasks that the program's policy was given and has not given back */
    _Atomic bool gave_stale;        /* it has given some that it did not hold [any: hint] */
    _Atomic uint32_t
        shares[(STARPU_NMAXWORKERS + 31) / 32]; /* by worker: others pop what was pushed for it */
};
extern struct orr_ctx orr_contexts[STARPU_NMAX_SCHED_CTXS];

static inline struct orr_ctx *orr_ctx_get(unsigned id)
{
    return id < STARPU_NMAX_SCHED_CTXS && orr_load_acquire(&orr_contexts[id].in_use) ? &orr_contexts[id]
                                                                                     : NULL;
}

/* Whether worker id is in ctx, just now. Any thread. */
static inline bool orr_ctx_has(const struct orr_ctx *ctx, unsigned id)
{
    return orr_load_relaxed(&ctx->member[id / 64]) >> (id % 64) & 1;
}

/* Whether its policy is one of the program's. */
static inline bool orr_ctx_is_programs(const struct orr_ctx *ctx)
{
    return ctx->policy->flags & ORR_POLICY_USER;
}

#endif
