/* SPDX-License-Identifier: BSD-3-Clause */
/* heft.h: a schedule for a recorded stream of tasks on a given cluster, by upward ranks and earliest finish
 * (HEFT). Threads: main. Owns: nothing. Not here: the file (mpi/place/planfile.h), the command line
 * (orrery_plan.c). */
#ifndef ORR_TOOLS_HEFT_H
#define ORR_TOOLS_HEFT_H

#include "mpi/place/planfile.h"

struct heft_setup {
    double bytes_per_us, latency_us; /* of a transfer between ranks */
    int store; /* the performance models of this machine first, then what the run took */
};

/* Gives each task of p a rank and worker of m, an order, and the times that it should have; p->machines
 * becomes a copy of m's. 0, -ENOMEM, or -EINVAL (why): some task can run nowhere. */
int heft(struct orr_plan *p, const struct orr_machines *m, const struct heft_setup *setup,
         char why[ORR_PLAN_TEXT]);

#endif
