/* SPDX-License-Identifier: BSD-3-Clause */
/* policy.h: the table a scheduling policy fills in, and what the runtime offers to policies.
 * Threads: each slot says who calls it. Owns: the tables' shape. Not here: the policies (sched/), the
 * interface for users' policies, struct starpu_sched_policy (sched/user.c adapts it).
 *
 * A policy is one file in sched/ that ends in one const table, plus one line in sched/builtin.def. */
#ifndef ORR_WORKER_POLICY_H
#define ORR_WORKER_POLICY_H

#include <stdbool.h>
#include <starpu_scheduler.h>
#include <stdint.h>

#include "core/base/sync.h"

struct orr_task;
struct orr_worker;
struct orr_ctx;
struct orr_ready_list;
struct orr_raw_list;
struct starpu_sched_ctx_performance_counters;

enum orr_policy_flag {
    ORR_POLICY_USER = 1 << 0, /* sched/user.c: workers sleep on their condition variable, in pop_or_sleep */
    ORR_POLICY_COMBINES = 1 << 1, /* gives tasks to combined workers, in the shape of the machine */
    ORR_POLICY_GRAPH = 1 << 2,    /* looks at the graph of tasks (core/task/graph.h) */
};

/* Required: name, description, create, destroy, push, pop. Slots may be NULL otherwise. No slot is called
 * with a lock of the runtime held. The instance is what create returned. */
struct orr_policy_ops {
    const char *name;
    const char *description;
    unsigned flags;
    /* The priorities that it distinguishes; both 0: none. (The program's policies say so themselves, in their
     * init_sched.) */
    int min_priority, max_priority;
    /* One instance per scheduling context; workers are added afterwards. NULL: out of memory. May block. */
    void *(*create)(struct orr_ctx *ctx);
    void (*destroy)(void *instance);
    /* Workers that join or leave (they are in, or out of, ctx->member then); a leaving worker's queued tasks
     * go to the others. On that worker's thread, one call at a time, while others push and pop. */
    int (*add_workers)(void *instance, const int *workers, unsigned count);
    void (*remove_workers)(void *instance, const int *workers, unsigned count);
    bool prefetches; /* asks itself for the data of tasks that it gives to particular workers */
    /* Takes the ready task t; any thread; must not block; calls orr_wake_* afterwards. */
    void (*push)(void *instance, struct orr_task *t);
    /* A task that worker w can execute, or NULL; on w's thread; must not block. t->nimpl is set. */
    struct orr_task *(*pop)(void *instance, struct orr_worker *w);
    /* Only with ORR_POLICY_USER: like pop, called with w's mutex held. Tasks that it cannot have are appended
     * to misplaced, and given to place when the mutex is released. */
    struct orr_task *(*pop_locked)(void *instance, struct orr_worker *w, struct orr_ready_list *misplaced);
    void (*place)(void *instance, struct orr_task *t);
    /* Whether w may run t, which it just released, next and past push and pop; NULL: never. w can run t. */
    bool (*may_keep)(void *instance, struct orr_task *t, struct orr_worker *w);
    /* About how many tasks wait that w could get; any thread, cheap. */
    uint32_t (*backlog)(void *instance, struct orr_worker *w);
    void (*submit_hook)(void *instance, struct orr_task *t);
    void (*push_notify)(void *instance, struct orr_task *t,
                        struct orr_worker *w); /* a task bound to w bypasses the policy */
    void (*pre_exec)(void *instance, struct orr_task *t, struct orr_worker *w);
    void (*post_exec)(void *instance, struct orr_task *t, struct orr_worker *w);
    void (*do_schedule)(void *instance);
};

/* The policies in the library, NULL-terminated; defined by sched/builtin.c from sched/builtin.def. The first
 * is the default. */
extern const struct orr_policy_ops *const orr_policies[];
/* The table for a user's policy; the instance keeps a copy of *p. */
extern const struct orr_policy_ops orr_user_policy;

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
    _Atomic uint32_t generation; /* counts who had this number [lock: sched_ctx.c moves, read by any] */
    _Atomic unsigned nworkers; /* [lock: change_lock, read by any] 0: ready tasks are held until some come */
    const struct orr_policy_ops *policy; /* [const while in use] */
    struct starpu_sched_policy
        *user; /* the user's table when policy is orr_user_policy, else the public one */
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
        *collection;             /* the same, for users' policies, in whose methods it is still */
    pthread_mutex_t change_lock; /* protects members; held while the policy hears of a change */
    int join_error;              /* why a worker was not taken, 0: all were [lock: change_lock] */
    _Atomic uint32_t worker_priority[STARPU_NMAXWORKERS]; /* of this context on a worker of several */
    unsigned hierarchy_level;                             /* [const while open] */
    _Atomic bool closing;                                 /* it takes no workers any more */
    _Atomic unsigned nested_in; /* the context in which it was made; 0: the main one */
    _Atomic unsigned
        inheritor; /* the context that gets the workers at the end; none: STARPU_NMAX_SCHED_CTXS */
    _Atomic bool sees_bodies, sees_submissions; /* its policy wants to (profile.c) */
    _Atomic(struct orr_raw_list *) raw; /* members as they were when last asked for (core/run/context.c) */
    int nsms;           /* multiprocessors of a GPU it is to use; 0: not said [const while open] */
    int sms_start;      /* the first of them */
    bool awake_workers; /* [const while open] without a policy: all workers run each task */
    struct orr_tally tally;
    void (*policy_init)(unsigned id); /* NULL; called after the policy's own init */
    void (*close_callback)(unsigned id, void *arg);
    void *close_arg;
    /* who is told what happens here, for a hypervisor; NULL: nobody (counters.h) */
    _Atomic(const struct starpu_sched_ctx_performance_counters *) counters;
    _Atomic double sample_start_us; /* idle time before that is not told */
    orr_spin held_lock;             /* protects held; leaf */
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

/* The program's policy gives t back, from pop_task or to a worker's own queue: true once for each push. */
bool orr_policy_releases(struct orr_task *t);

/* How many mutexes of workers this thread holds (starpu_worker_lock); releases those beyond that number,
 * which a method forgot, and returns the number of such a worker, or -1. */
int orr_policy_locks(void);
int orr_policy_unlock(int count);

/* A context was opened or closed: whether a policy is to hear of threads that block (do_schedule). */
void orr_policies_listen(void);

/* The name of the context's policy, for messages. */
const char *orr_policy_name(const struct orr_ctx *ctx);

/* After a push. any: whoever can take one; only wakes when nobody awake will come by soon. */
void orr_wake_any(struct orr_ctx *ctx, uint32_t backlog);
/* After a push of a task that only some of the workers can take: every one of the context looks. */
void orr_wake_each(struct orr_ctx *ctx);
/* The task is for this worker alone. */
void orr_wake_worker(struct orr_worker *w);

/* Whether w can execute t, and with which implementation (smallest): sets *nimpl_out. Calls the codelet's
 * can_execute. */
bool orr_worker_can_run(struct orr_worker *w, struct orr_task *t, unsigned *nimpl_out);
/* Same for one implementation. */
bool orr_worker_can_run_impl(struct orr_worker *w, struct orr_task *t, unsigned nimpl);

#endif
