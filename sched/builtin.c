/* SPDX-License-Identifier: BSD-3-Clause */
/* builtin.c: the list of policies, from builtin.def.
 * Threads: none. Owns: the list, and the public structs that stand for its entries. Not here: policies. */
#include <stddef.h>
#include <starpu.h>

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

enum { POLICIES = sizeof orr_policies / sizeof orr_policies[0] };

/* Names to choose by; a program that hands one of these to starpu_conf.sched_policy gets the policy of that
 * name. */
static struct starpu_sched_policy stand_in[POLICIES];
struct starpu_sched_policy *orr_public_policies[POLICIES];

struct starpu_sched_policy **starpu_sched_get_predefined_policies(void)
{
    for (int i = 0; orr_policies[i]; i++) {
        stand_in[i].policy_name = orr_policies[i]->name;
        stand_in[i].policy_description = orr_policies[i]->description;
        orr_public_policies[i] = &stand_in[i];
    }
    return orr_public_policies;
}
