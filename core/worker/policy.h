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

enum orr_policy_flag {
    ORR_POLICY_USER = 1 << 0, /* sched/user.c: workers sleep on their condition variable, in pop_or_sleep */
};

/* Required: name, description, create, destroy, push, pop. Slots may be NULL otherwise. No slot is called
 * with a lock of the runtime held. The instance is what create returned. */
struct orr_policy_ops {
    const char *name;
    const char *description;
    unsigned flags;
    /* One instance per scheduling context; workers are added afterwards. NULL: out of memory. May block. */
    void *(*create)(struct orr_ctx *ctx);
    void (*destroy)(void *instance);
    /* Workers that join or leave; a leaving worker's queued tasks go to the others. May run while others push
     * and pop. */
    int (*add_workers)(void *instance, const int *workers, unsigned count);
    void (*remove_workers)(void *instance, const int *workers, unsigned count);
    /* Takes the ready task t; any thread; must not block; calls orr_wake_* afterwards. */
    void (*push)(void *instance, struct orr_task *t);
    /* A task that worker w can execute, or NULL; on w's thread; must not block. t->nimpl is set. */
    struct orr_task *(*pop)(void *instance, struct orr_worker *w);
    /* Only with ORR_POLICY_USER: like pop, but sleeps on w's condition variable when there is nothing, until
     * woken. */
    struct orr_task *(*pop_or_sleep)(void *instance, struct orr_worker *w);
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
/* The same as public structs (parallel to orr_policies), for starpu_sched_get_predefined_policies. */
extern struct starpu_sched_policy *orr_public_policies[];
/* The table for a user's policy; the instance keeps a copy of *p. */
extern const struct orr_policy_ops orr_user_policy;

/* A scheduling context: workers and an instance of a policy. */
struct orr_ctx {
    unsigned id;
    bool in_use;
    _Atomic unsigned nworkers; /* changes while workers are halted; 0: ready tasks are held until some come */
    const struct orr_policy_ops *policy; /* [const while in use] */
    struct starpu_sched_policy
        *user; /* the user's table when policy is orr_user_policy, else the public one */
    void *instance;
    int min_priority, max_priority;
    bool priorities_set;
    const char *name;
    void *policy_data, *user_data;
    int workers[STARPU_NMAXWORKERS];             /* changes while workers are halted */
    struct starpu_worker_collection *collection; /* the same, for users' policies */
    _Atomic bool closing;                        /* without workers, its tasks go to another context */
    _Atomic unsigned
        nested_in;      /* the context that gives it tasks when it has no worker itself; 0: the main one */
    unsigned inheritor; /* the context that gets the workers at the end */
    void (*policy_init)(unsigned id); /* NULL; called after the policy's own init */
    void (*close_callback)(unsigned id, void *arg);
    void *close_arg;
    orr_spin held_lock;    /* protects held; leaf */
    struct orr_task *held; /* ready while there was no worker, latest first */
};
extern struct orr_ctx orr_contexts[STARPU_NMAX_SCHED_CTXS];

static inline struct orr_ctx *orr_ctx_get(unsigned id)
{
    return id < STARPU_NMAX_SCHED_CTXS && orr_contexts[id].in_use ? &orr_contexts[id] : NULL;
}

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
