/* SPDX-License-Identifier: BSD-3-Clause */
/* context.h: scheduling contexts: a set of workers and an instance of a policy that serves them.
 * Threads: making and ending by the program's threads while no task of the context is under way.
 * Owns: the table orr_contexts (declared in core/worker/policy.h). Not here: policies (sched/). */
#ifndef ORR_RUN_CONTEXT_H
#define ORR_RUN_CONTEXT_H

#include <starpu.h>

#include "core/worker/policy.h"

/* Fills ctx with a policy: the program's table `user`, or the built-in one of that name, or the default when
 * both are NULL. 0, -EINVAL for an unknown name (which are known is printed), -ENOMEM. */
int orr_ctx_open(unsigned id, const char *policy_name, struct starpu_sched_policy *user, const int *workers,
                 unsigned count);
void orr_ctx_close(unsigned id);

/* The same with more to say. policy_init: called after the policy's own init. */
struct orr_ctx_settings {
    const char *name; /* borrowed while the context is open */
    const char *policy_name;
    struct starpu_sched_policy *policy;
    bool priorities_set;
    int min_priority, max_priority;
    void (*policy_init)(unsigned id);
    void *user_data;
    unsigned nested_in;
};
int orr_ctx_open_with(unsigned id, const struct orr_ctx_settings *s, const int *workers, unsigned count);

/* Workers of no context join; members leave, and then belong to none. Called while workers are halted. */
int orr_ctx_add_workers(struct orr_ctx *ctx, const int *workers, unsigned count);
void orr_ctx_remove_workers(struct orr_ctx *ctx, const int *workers, unsigned count);

/* Prints the names and descriptions of the built-in policies. */
void orr_policies_print(void);

#endif
