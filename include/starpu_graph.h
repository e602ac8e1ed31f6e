/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_graph.h: the graph of tasks that are submitted and have not ended, for scheduling policies that look
 * ahead.
 *
 * Threads: stated per function. Owns: nothing. Not here: when a policy is called (starpu_scheduler.h,
 * do_schedule); the successors of one task without recording (starpu_task_get_task_succs() in starpu_task.h).
 *
 * Recording is off until a policy's init_sched asks for it. While only policies of the library want it, tasks
 * without data, tags and declared dependencies are left out. An edge leads from a task to one that waits for
 * it: declared, through tags, or inferred from the data both use. What is inferred between a datum and its
 * pieces while it is partitioned is not recorded.
 */
#ifndef STARPU_GRAPH_H
#define STARPU_GRAPH_H

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct starpu_task;

/* Set to 1 in init_sched to have the graph recorded from then on, until starpu_shutdown(). */
extern int _starpu_graph_record;

/* A task, or (task NULL) a tag on the way between tasks. The library's, and to be read only while it is
 * shown. */
struct _starpu_graph_node {
    struct starpu_task *task;
    unsigned depth;       /* tasks after it on the longest path, as last computed */
    unsigned descendants; /* tasks that wait for it, directly or not, as last computed */
    unsigned n_incoming;  /* edges, and the nodes at their other ends */
    unsigned n_outgoing;
    struct _starpu_graph_node **incoming;
    struct _starpu_graph_node **outgoing;
};

/* Compute the depth (bottom-up rank) of every task: 0 when none waits for it. Any thread outside of the next
 * function; linear in the size of the graph. */
void _starpu_graph_compute_depths(void);

/* Compute the number of descendants of every task.
 * The same; up to the number of tasks times that of edges. */
void _starpu_graph_compute_descendants(void);

/* Call a function for every task, in no particular order. The graph is locked meanwhile: the function may
 * read nodes and set the priorities of their tasks, and must not call the library. Any thread. */
void _starpu_graph_foreach(void (*func)(void *data, struct _starpu_graph_node *node), void *data);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
