/* SPDX-License-Identifier: BSD-3-Clause */
/* pool.h: ready tasks that any capable worker may take: a queue for each set of kinds of workers that tasks
 * ask for, and a list of those that only particular workers can run.
 * Threads: any pushes; workers pop. Owns: the tasks in it. Not here: whose turn it is (the policies). */
#ifndef ORR_SCHED_POOL_H
#define ORR_SCHED_POOL_H

#include "core/worker/worker.h"
#include "sched/queue.h"

enum { ORR_POOL_CLASSES = 8 };

struct orr_pool {
    struct orr_queue queue[ORR_POOL_CLASSES];    /* [const] layout */
    _Atomic uint32_t where[ORR_POOL_CLASSES];    /* what the tasks of that queue may run on; 0: unused */
    uint32_t kinds;                              /* kinds of workers in the process [const] */
    ORR_ALIGNED_LINE ORR_SPIN(picky) picky_lock; /* protects picky; leaf */
    _Atomic uint32_t picky_count;
    struct orr_picky *picky; /* one for each set of workers that is asked for */
    unsigned npicky, picky_room;
    uint64_t picky_sequence;
};

struct orr_pool *orr_pool_create(void);
/* One in which a priority that is not 0 means the front, no more. */
struct orr_pool *orr_pool_create_with_fronts(void);
void orr_pool_destroy(struct orr_pool *p);
void orr_pool_push(struct orr_pool *p, struct orr_task *t);
/* The priority of the first task that w could take, as far as it can be seen just now; INT64_MIN: none. */
int64_t orr_pool_top(struct orr_pool *p, const struct orr_worker *w);
/* The same, and wakes who may take it, all of ctx's workers being served from p. */
void orr_pool_give(struct orr_pool *p, struct orr_ctx *ctx, struct orr_task *t);
struct orr_task *orr_pool_pop(struct orr_pool *p, struct orr_worker *w);
uint32_t orr_pool_length(struct orr_pool *p);

/* Whether every worker of the process can run t. */
bool orr_task_is_universal(const struct orr_task *t, uint32_t kinds);
uint32_t orr_worker_kinds(void);

/* Sets t->nimpl to the first implementation that the kind of w has. */
static inline struct orr_task *orr_first_impl(struct orr_worker *w, struct orr_task *t)
{
    if (orr_likely(t && w->direct && t->pub->cl->cpu_funcs[0])) {
        t->nimpl = 0;
        t->nimpl_valid = 1;
    }
    return t; /* else the worker chooses before it runs the task */
}

#endif
