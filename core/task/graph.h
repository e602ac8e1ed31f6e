/* SPDX-License-Identifier: BSD-3-Clause */
/* graph.h: the recorded graph of tasks, for policies that look ahead (starpu_graph.h is what they see).
 * Threads: any; one lock. Owns: nodes and edges. Not here: the dependencies themselves (deps.h, tag.h,
 * core/data/access.h), which do not need it. */
#ifndef ORR_TASK_GRAPH_H
#define ORR_TASK_GRAPH_H

#include <starpu_graph.h>

#include "core/task/task.h"

struct orr_graph_node;

/* Blocks of its slabs. */
enum { ORR_GRAPH_NODE_BYTES = 384, ORR_GRAPH_DATUM_BYTES = 48 };

/* Which tasks are recorded: none; those that data, tags or declarations connect with others, or may; all. */
enum { ORR_GRAPH_OFF, ORR_GRAPH_CONNECTED, ORR_GRAPH_ALL };

/* What everybody reads, apart from what changes with each task. */
struct orr_graph {
    ORR_ALIGNED_LINE _Atomic uint32_t recording; /* as above; unless it is OFF, or for what was recorded
                                                  * before, nothing below is called */
    _Atomic uint32_t late;                       /* tasks that got a node after they were submitted */
};
extern struct orr_graph orr_graph;

/* A policy that wants a graph comes or goes (change 1 or -1; 0: the program may have set its variable). */
void orr_graph_want(int change);
/* The runtime ends: recording does. */
void orr_graph_fini(void);

/* t is being submitted, and its accesses are known, but nobody else can see it yet. */
void orr_graph_submitted(struct orr_task *t);
/* t will soon: what its end touches is fetched meanwhile. */
void orr_graph_expect_end(struct orr_task *t);
/* t has ended. again: it may be submitted again, and what was declared for it stays. */
void orr_graph_ended(struct orr_task *t, bool again);
/* t is about to be declared to wait for p, which is the program's still. */
void orr_graph_declared(struct orr_task *t, struct orr_task *p);
/* No task can be made to wait for t any more, and orr_graph.late is not 0. again: as above. */
void orr_graph_late_ended(struct orr_task *t, bool again);
/* The node of a task that is freed. */
void orr_graph_free(struct orr_graph_node *n);

/* A tag, as two nodes: what its task waits for, and what waits for it. Zeroed at first. [lock: graph] */
struct orr_graph_tag {
    struct orr_graph_node *before, *after;
};
void orr_graph_tag_declared(struct orr_graph_tag *tag, struct orr_graph_tag *waits_for);
void orr_graph_tag_bound(struct orr_graph_tag *tag, struct orr_task *t);
void orr_graph_tag_free(struct orr_graph_tag *tag);

/* What was last computed for t, a task that is ready and has not run: its depth, or its descendants. */
unsigned orr_graph_depth(struct orr_task *t);
unsigned orr_graph_descendants(struct orr_task *t);
/* Whether t, which is being submitted, has a node; tasks submitted and not ended that have one; a number that
 * changes with the graph. */
bool orr_graph_has(struct orr_task *t);
unsigned orr_graph_live(void);
uint64_t orr_graph_version(void);

#endif
