/* SPDX-License-Identifier: BSD-3-Clause */
/* tag.h: tags: names for tasks that need not exist yet, with dependencies between them.
 * Threads: any. Owns: the table of tags (tag.c). Not here: dependencies between tasks (deps.h). */
#ifndef ORR_TASK_TAG_H
#define ORR_TASK_TAG_H

#include "core/task/task.h"

/* A tag in the recorded graph of tasks (graph.c): what its task waits for, and what waits for it. Zero at
 * first. [lock: graph] */
struct orr_tag_nodes {
    struct orr_graph_node *before, *after;
};

/* Called at submission of a task with use_tag: binds the task to its tag, and makes it wait for the tag's own
 * dependencies. 0 or -ENOMEM, -EINVAL (the tag has a task under way). */
int orr_tag_bind(struct orr_task *t);
/* Called when such a task begins to end: from here on its tag may be removed, or bound again, before its data
 * can be had. */
void orr_tag_ending(struct orr_task *t);
/* Called at its completion: what depends on the tag goes on. Returns the tag, which orr_tag_announce is to be
 * told of when nothing touches the task any more: threads that wait for it may go on then. */
struct orr_tag *orr_tag_done(struct orr_task *t);
void orr_tag_announce(struct orr_tag *g);
/* How often tags were reached. [lock: tags; read: any] */
extern _Atomic uint64_t orr_tags_closings;
/* A tag that threads wait for (starpu_tag_wait). */
struct orr_tag_wait {
    starpu_tag_t id;
    unsigned threads, tasks; /* tasks: that have it and have not ended */
};
/* Those, at most so many; returns how many there are. Any thread. */
unsigned orr_tags_waited(struct orr_tag_wait *list, unsigned most);
/* Frees all tags; at shutdown. */
void orr_tags_fini(void);

#endif
