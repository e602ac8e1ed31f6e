/* SPDX-License-Identifier: BSD-3-Clause */
/* group.h: the policy of contexts that were made without one.
 * Threads: any. Owns: nothing. Not here: how it works (group.c). */
#ifndef ORR_WORKER_GROUP_H
#define ORR_WORKER_GROUP_H

#include "core/worker/worker.h"

extern const struct orr_policy_ops orr_group_policy;

/* The worker that runs the context's tasks; -1: there is none, or it has a policy. */
int orr_group_master(struct orr_ctx *ctx);

#endif
