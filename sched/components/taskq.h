/* SPDX-License-Identifier: BSD-3-Clause */
/* taskq.h: tasks in order, or by priority and then in order, from which any can be taken.
 * Threads: the owner's lock is held around every call. Owns: the links (starpu_task.prev, .next) of the tasks
 * in it. Not here: limits and predicted lengths (flow.h). */
#ifndef ORR_COMPONENTS_TASKQ_H
#define ORR_COMPONENTS_TASKQ_H

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

enum { ORR_TASKQ_KINDS = 32, ORR_TASKQ_INLINE = 4 };

struct orr_taskq_rank { /* tasks of one priority, in order */
    int32_t priority;
    struct starpu_task *first, *last;
};

struct orr_taskq {
    struct orr_taskq_rank *rank; /* by rising priority; none is empty */
    uint32_t ranks, count;
    struct orr_taskq_rank inline_ranks[ORR_TASKQ_INLINE];
    uint32_t room;
    bool sorted;                     /* [const] else all tasks are of one rank */
    uint32_t kinds;                  /* of the machine's workers [const] */
    struct orr_taskq_skip *skips;    /* by worker: what it has walked past; NULL: nobody has */
    uint32_t where[ORR_TASKQ_KINDS]; /* how many may run on each kind, where there are several */
};

void orr_taskq_init(struct orr_taskq *q, bool sorted);
void orr_taskq_fini(struct orr_taskq *q); /* empty by now */

/* At the end of the tasks of its priority, or (front) ahead of them. */
void orr_taskq_add(struct orr_taskq *q, struct starpu_task *p, bool front);
/* The same in front for one that was the first of all before, the last taken first. */
void orr_taskq_put_back(struct orr_taskq *q, struct starpu_task *p);
void orr_taskq_remove(struct orr_taskq *q, struct starpu_task *p);

/* A walk from the first: by falling priority, then in order. NULL: no more. */
struct starpu_task *orr_taskq_first(const struct orr_taskq *q);
struct starpu_task *orr_taskq_next(const struct orr_taskq *q, const struct starpu_task *p);
/* The same for one that only takes what worker w can execute: without the many that it has walked past
 * before, and that are still there. It is to say how far it came (NULL: not past the first), and how many it
 * walked past. */
struct starpu_task *orr_taskq_first_for(struct orr_taskq *q, int w);
void orr_taskq_skipped(struct orr_taskq *q, int w, struct starpu_task *last, uint32_t n);
/* Whether all others are before p. */
static inline bool orr_taskq_is_last(const struct orr_taskq *q, const struct starpu_task *p)
{
    return q->rank[0].last == p;
}
/* The last of those of the highest priority. */
struct starpu_task *orr_taskq_last_of_first(const struct orr_taskq *q);

/* Whether a task is there that may run on one of these kinds of workers, as far as `where` tells. */
bool orr_taskq_has_for(const struct orr_taskq *q, uint32_t where);

#endif
