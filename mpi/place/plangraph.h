/* SPDX-License-Identifier: BSD-3-Clause */
/* plangraph.h: what waits for what in a schedule: by data, by orders of workers, by waits of the program; and
 * whether it can run.
 * Threads: any, each on a plan of its own. Owns: struct orr_plan_graph. Not here: the plan (planfile.h);
 * tools/plan/, which is compiled with this file. */
#ifndef ORR_MPI_PLANGRAPH_H
#define ORR_MPI_PLANGRAPH_H

#include "mpi/place/planfile.h"

/* What must be over before a task begins: edges to it from the tasks and meeting points (numbers from tasks
 * on) before it. Nodes are in order: an edge that follows data leads to a higher number only at tasks. */
struct orr_plan_graph {
    size_t nodes, edges;
    size_t *first;   /* nodes + 1: of each node's edges in target */
    size_t *target;  /* who waits for it */
    size_t *missing; /* by node: for how many it waits */
};
/* placed: as they are on ranks, with the orders of workers, and what is said of data that are others; else
 * wherever they may be. 0 or -ENOMEM. */
int orr_plan_graph(const struct orr_plan *p, bool placed, struct orr_plan_graph *g);
void orr_plan_graph_fini(struct orr_plan_graph *g);

/* Whether it can run: orders are complete, and go with the dependencies. 0, -EINVAL (why says what is
 * missing, or the circle) or -ENOMEM. */
int orr_plan_check(const struct orr_plan *p, char why[ORR_PLAN_TEXT]);

#endif
