/* SPDX-License-Identifier: BSD-3-Clause */
/* graph.h: the recorded graph of tasks, for policies that look ahead (starpu_graph.h is what they see).
 * Threads: any; one lock. Owns: nodes and edges. Not here: the dependencies themselves (deps.h, tag.h,
 * core/data/access.h), which do not need it. */
#ifndef ORR_TASK_GRAPH_H
#define ORR_TASK_GRAPH_H

#include <starpu_graph.h>

#include "core/task/task.h"

struct orr_graph_node;

/* Whether tasks are recorded. Everything below is called only then, or for what was recorded before. */
extern _Atomic uint32_t orr_graph_recording;

/* A policy that wants a graph comes or goes (change 1 or -1; 0: the program may have set its variable). */
void orr_graph_want(int change);
/* The runtime ends: recording does. */
void orr_graph_fini(void);

/* t is being submitted, and its accesses are known, but nobody else can see it yet. */
void orr_graph_submitted(struct orr_task *t);
/* t has ended. again: it may be submitted again, and what was declared for it stays. */
void orr_graph_ended(struct orr_task *t, bool again);
/* t is declared to wait for p, which has not ended. */
void orr_graph_declared(struct orr_task *t, struct orr_task *p);
/* The node of a task that is freed. */
void orr_graph_free(struct orr_graph_node *n);

/* A tag, as two nodes: what its task waits for, and what waits for it. Zeroed at first. [lock: graph] */
struct orr_graph_tag {
    struct orr_graph_node *before, *after;
};
void orr_graph_tag_declared(struct orr_graph_tag *tag, struct orr_graph_tag *waits_for);
void orr_graph_tag_bound(struct orr_graph_tag *tag, struct orr_task *t);
void orr_graph_tag_free(struct orr_graph_tag *tag);

/* What was last computed for t: its depth, or its descendants. */
unsigned orr_graph_depth(struct orr_task *t);
unsigned orr_graph_descendants(struct orr_task *t);
/* Tasks submitted and not ended that are recorded; a number that changes with the graph. */
unsigned orr_graph_live(void);
uint64_t orr_graph_version(void);

#endif
