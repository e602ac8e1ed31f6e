/* SPDX-License-Identifier: BSD-3-Clause */
/* deps.h: explicit dependencies: groups of prerequisites that a task (or a tag) waits for.
 * Threads: any. Owns: struct orr_dep_group. Not here: dependencies inferred from data (core/data/access.h).
 */
#ifndef ORR_TASK_DEPS_H
#define ORR_TASK_DEPS_H

#include "core/task/task.h"

/* "All of these must have completed." Counts down; at zero it fires and is ready for the next round at once,
 * so that tasks which are submitted again wait again. A task takes one firing a round; what comes early is
 * kept for the next. */
struct orr_dep_group {
    void (*fire)(struct orr_dep_group *g);
    _Atomic(struct orr_task *) task; /* who waits; NULL once it is gone */
    void *owner;                     /* for other waiters (tags) */
    struct orr_dep_group *next;      /* among its task's groups [own: task] */
    _Atomic int32_t remaining;
    _Atomic int32_t balance; /* firings less rounds begun: -1 the task waits for it, above 0 come early */
    int32_t total;
    _Atomic int32_t refs; /* edges that point here, and the owner */
    bool once; /* its waiter runs once: each edge serves once, even if the prerequisite runs again */
};

struct orr_dep_group *orr_dep_group_create(int total, void (*fire)(struct orr_dep_group *));
void orr_dep_group_unref(struct orr_dep_group *g);
/* One prerequisite fewer. */
void orr_dep_group_notify(struct orr_dep_group *g);

/* Hangs g on prerequisite; false when that has completed already (nothing was hung on it). -ENOMEM through
 * *status_out. */
bool orr_dep_hang(_Atomic(struct orr_edge *) *list, struct orr_dep_group *g, int *status_out);
/* Closes the list and notifies everybody on it. keep: edges are returned for the next round, else freed. */
struct orr_edge *orr_dep_close(_Atomic(struct orr_edge *) *list, bool keep);
/* The same in two steps, for those who close under a lock: what was taken is notified without it. */
struct orr_edge *orr_dep_take(_Atomic(struct orr_edge *) *list);
struct orr_edge *orr_dep_notify(struct orr_edge *taken, bool keep);
void orr_edges_free(struct orr_edge *e);

/* A new round of t begins: each of its groups counts once more. Called when t is ready, after its countdown
 * was raised by one for each group. */
void orr_dep_next_round(struct orr_task *t);

/* Makes t wait for one more group. */
void orr_task_add_group(struct orr_task *t, struct orr_task_rare *r, struct orr_dep_group *g);
void orr_dep_fire_task(struct orr_dep_group *g);

#endif
