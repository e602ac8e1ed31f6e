/* SPDX-License-Identifier: BSD-3-Clause */
/* dm.h: what policies need that decide like dmda, and about more than single workers (pheft.c).
 * Threads: any. Owns: nothing. Not here: how it is decided (dm.c). */
#ifndef ORR_SCHED_DM_H
#define ORR_SCHED_DM_H

#include "core/worker/combined.h"
#include "core/worker/weighed.h"

/* An offer to run a task. */
struct orr_dm_offer {
    double cost; /* by alpha, beta and gamma, in ns; NaN: no model knows */
    double us;   /* of the body */
    unsigned nimpl;
    int worker;        /* alone: whose offer it is, -1: nobody's; together: the number of c */
    bool uncalibrated; /* somebody who could run it lacks measures */
};

/* dm: what create of orr_policy_dmda returned. The best offer of its workers for t, which has a model; and
 * that of all workers of c together, which can run t: it begins when the last of them is free. weighed: gets
 * what was compared; NULL: nobody wants to know. */
extern const struct orr_policy_ops orr_policy_dmda;
struct orr_dm_offer orr_dm_offer_alone(void *dm, struct orr_task *t, struct orr_weighed *weighed);
struct orr_dm_offer orr_dm_offer_together(void *dm, struct orr_task *t, const struct orr_combined *c,
                                          struct orr_weighed *weighed);
/* As the policy's push, without telling observers what was compared: who calls has told more. */
void orr_dm_push_untold(void *dm, struct orr_task *t);

/* Counts t, which each worker of c will run for so long without dm's doing; post_exec takes it off again. */
void orr_dm_count_together(void *dm, struct orr_task *t, const struct orr_combined *c, double us);
void orr_dm_uncount_together(void *dm, struct orr_task *t, const struct orr_combined *c);

/* How much c has to do before it could begin: ns, and a little for each task of which no model knows the
 * time. */
int64_t orr_dm_busy_ns(void *dm, const struct orr_combined *c);

#endif
