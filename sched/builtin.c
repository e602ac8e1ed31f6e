/* SPDX-License-Identifier: BSD-3-Clause */
/* builtin.c: the list of policies, from builtin.def.
 * Threads: none. Owns: the list. Not here: policies; the structs that programs see (predefined.c). */
#include <stddef.h>

#include "core/worker/policy.h"

#define ORR_POLICY(id) extern const struct orr_policy_ops orr_policy_##id;
#include "sched/builtin.def"
#undef ORR_POLICY

const struct orr_policy_ops *const orr_policies[] = {
#define ORR_POLICY(id) &orr_policy_##id,
#include "sched/builtin.def"
#undef ORR_POLICY
    NULL
};
