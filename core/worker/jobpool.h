/* SPDX-License-Identifier: BSD-3-Clause */
/* jobpool.h: the job lists that have a job ready to start, and which of them a worker takes up.
 * Threads: any, unless a function says otherwise. Owns: the pools, one for each context. Not here: the order
 * within a list (joblist.h). */
#ifndef ORR_WORKER_JOBPOOL_H
#define ORR_WORKER_JOBPOOL_H

#include <starpu_config.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/sync.h"

struct orr_worker;
struct orrery_joblist;

enum { ORR_JOBPOOL_CLASSES = 8 };

/* The first job of a list, as far as workers must know it to choose. */
struct orr_job_place {
    bool ready;      /* there is one: the list does not block */
    bool restricted; /* not every worker of these kinds can run it: see bound, capable */
    int16_t bound;   /* the worker it is bound to, -1: none */
    uint32_t where;  /* kinds of workers that can run it */
    int32_t priority;
    uint64_t capable[STARPU_NMAXWORKERS / 64]; /* with restricted and not bound: the workers that can */
};

/* What a list tells its pool. */
struct orr_jobpool_news {
    uint64_t version; /* 0: nothing; else later news have higher ones */
    struct orr_job_place place;
    uint64_t waiting;     /* jobs of which only the list keeps the workers */
    uint64_t left, known; /* jobs that have not started; those of them that models know */
    double known_us;      /* and what they will take */
};

/* A list's part in its pool. [lock: pool] */
struct orr_jobpool_entry {
    struct orr_jobpool_entry *child, *next, *prev; /* in a heap: first child, sibling, sibling or parent */
    struct orr_jobpool_entry **root;               /* where it is; NULL: nowhere */
    struct orrery_joblist *list;                   /* [const] */
    uint64_t version;                              /* of the news it has heard */
    struct orr_job_place place;
    unsigned workers; /* that serve the list */
    double work;      /* what is left of the list: us where models know something of the pool, else jobs */
    uint32_t waiting; /* as last heard, at least 1 */
    uint64_t serial;  /* of two equal ones the earlier wins */
};

/* Whether w can run a job of this place. member: w is in the context of its list, which only bound jobs do
 * not ask for. */
bool orr_job_suits(const struct orr_job_place *place, const struct orr_worker *w, bool member);

/* A list begins and ends: workers look at pools only while there are lists. */
void orr_jobpool_open(struct orr_jobpool_entry *e, struct orrery_joblist *list);
void orr_jobpool_close(struct orr_jobpool_entry *e, unsigned sched_ctx);
/* Workers are about to start. */
void orr_jobpool_workers_start(void);

/* The list is now as news say, unless it has told newer ones already; wakes workers if it became ready. */
void orr_jobpool_hear(struct orr_jobpool_entry *e, unsigned sched_ctx, const struct orr_jobpool_news *news);
/* More jobs of a ready list can be started: workers asleep may be worth waking. */
void orr_jobpool_grown(unsigned sched_ctx, uint64_t waiting);

/* The list that w takes up: among those with a job it can run, of the highest priority, the one that the
 * fewest workers serve, and of these the one with the most work left. Counts w, and takes a reference. NULL:
 * none. On w's thread. */
struct orrery_joblist *orr_jobpool_pick(struct orr_worker *w);
/* The same among the contexts from number first to before end that w serves, which are of one rank. */
struct orrery_joblist *orr_jobpool_pick_among(struct orr_worker *w, unsigned first, unsigned end);
/* A worker serves the list no longer. */
void orr_jobpool_leave(struct orr_jobpool_entry *e, unsigned sched_ctx);
unsigned orr_jobpool_workers(struct orr_jobpool_entry *e, unsigned sched_ctx);

/* About how many jobs wait that w could get. Any thread, cheap. */
uint32_t orr_jobpool_backlog(const struct orr_worker *w);

#endif
