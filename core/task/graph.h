/* SPDX-License-Identifier: BSD-3-Clause */
/* graph.h: the recorded graph of tasks, for policies that look ahead (starpu_graph.h is what they see).
 * Threads: any; one lock. Owns: nodes and edges. Not here: the dependencies themselves (deps.h, tag.h,
 * core/data/access.h), which do not need it. */
#ifndef ORR_TASK_GRAPH_H
#define ORR_TASK_GRAPH_H

#include <starpu_graph.h>

#include "core/task/task.h"

/* A policy that wants a graph comes or goes (change 1 or -1). */
void orr_graph_want(int change);
/* t will soon have ended: what that touches is fetched meanwhile. */
void orr_graph_expect_end(struct orr_task *t);

/* What was last computed for t, a task that is ready and has not run: its depth, or its descendants. */
unsigned orr_graph_depth(struct orr_task *t);
unsigned orr_graph_descendants(struct orr_task *t);
/* Whether t, which is being submitted, has a node; tasks submitted and not ended that have one; a number that
 * changes with the graph. */
bool orr_graph_has(struct orr_task *t);
unsigned orr_graph_live(void);
uint64_t orr_graph_version(void);

#endif
