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
    /* w found nothing and is about to sleep, or slept for a millisecond as a watchman. A task that was given
     * to another worker which does not get to it, or NULL; *again_out: w is to be asked every millisecond
     * while it sleeps (see also orr_watch_appoint), and its watch_end is called when it does not any more:
     * with a task as well, where it was the watchman. On w's thread. Both or none. */
    struct orr_task *(*watch)(void *instance, struct orr_worker *w, bool *again_out);
    void (*watch_end)(void *instance, struct orr_worker *w);
    void (*submit_hook)(void *instance, struct orr_task *t);
    void (*push_notify)(void *instance, struct orr_task *t,
                        struct orr_worker *w); /* a task bound to w bypasses the policy */
    void (*pre_exec)(void *instance, struct orr_task *t, struct orr_worker *w);
    void (*post_exec)(void *instance, struct orr_task *t, struct orr_worker *w);
    void (*do_schedule)(void *instance);
};

/* What sched/ lends to core, in one place (sched/builtin.c). */
struct orr_policy_set {
    const struct orr_policy_ops *const
        *builtin;                         /* from sched/builtin.def, the default first, NULL at the end */
    const struct orr_policy_ops *adapter; /* for a policy of the program's, which the instance copies */
};
extern const struct orr_policy_set orr_policy_set;

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
