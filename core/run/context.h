/* SPDX-License-Identifier: BSD-3-Clause */
/* context.h: scheduling contexts: a set of workers and an instance of a policy that serves them.
 * Threads: any opens and closes, one for each context at a time.
 * Owns: the table orr_contexts (declared in core/worker/policy.h). Not here: policies (sched/). */
#ifndef ORR_RUN_CONTEXT_H
#define ORR_RUN_CONTEXT_H

#include <starpu.h>

#include "core/worker/context.h"

/* Opens context id with a policy: the program's table `user`, or the one of that name, or the default when
 * both are NULL; and, while workers have no threads, with these workers. 0, -EINVAL for an unknown name
 * (which are known is printed), -ENOMEM. */
int orr_ctx_open(unsigned id, const char *policy_name, struct starpu_sched_policy *user, const int *workers,
                 unsigned count);

/* Its members leave, its policy is destroyed. It has no tasks, and nobody adds workers. */
void orr_ctx_close(unsigned id);

/* Opens with more to say, and without workers. */
struct orr_ctx_settings {
    const char *name;        /* borrowed while the context is open */
    const char *policy_name; /* "": the default; NULL, and no policy: none, see group.c */
    struct starpu_sched_policy *policy;
    bool priorities_set;
    int min_priority, max_priority;
    void (*policy_init)(unsigned id); /* called after the policy's own init */
    void *user_data;
    unsigned nested_in, hierarchy_level;
    bool awake_workers;
    int nsms;           /* multiprocessors of a GPU; 0: not said */
    unsigned *sub_ctxs; /* borrowed */
    int nsub_ctxs;
};
int orr_ctx_open_with(unsigned id, const struct orr_ctx_settings *s);

/* The members by number; room for all workers. Any thread, with whatever locks. */
unsigned orr_ctx_list(struct orr_ctx *ctx, int *workers_out);
/* The members as an array that stays as it is until the context is closed, even if they change. */
unsigned orr_ctx_raw(struct orr_ctx *ctx, int **workers_out);

/* Prints the names and descriptions of the built-in policies. */
void orr_policies_print(void);

#endif
