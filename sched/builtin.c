/* SPDX-License-Identifier: BSD-3-Clause */
/* builtin.c: what core has of this folder: the list of policies, from builtin.def, and the adapter.
 * Threads: none. Owns: the list. Not here: policies; the structs that programs see (predefined.c). */
#include <stddef.h>

#include "core/worker/policy.h"

extern const struct orr_policy_ops orr_user_policy; /* user.c */
#define ORR_POLICY(id) extern const struct orr_policy_ops orr_policy_##id;
#include "sched/builtin.def"
#undef ORR_POLICY

static const struct orr_policy_ops *const builtin[] = {
#define ORR_POLICY(id) &orr_policy_##id,
#include "sched/builtin.def"
#undef ORR_POLICY
    NULL
};

const struct orr_policy_set orr_policy_set = { .builtin = builtin, .adapter = &orr_user_policy };
