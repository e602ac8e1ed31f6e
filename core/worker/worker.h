/* SPDX-License-Identifier: BSD-3-Clause */
/* worker.h: a processing unit and the thread that serves it.
 * Threads: fields say whose they are. Owns: struct orr_worker and the table of workers. Not here: sleeping
 * and waking (park.h), policies (policy.h), device specifics (driver.h). */
#ifndef ORR_WORKER_WORKER_H
#define ORR_WORKER_WORKER_H

#include <pthread.h>
#include <starpu_perfmodel.h>
#include <starpu_worker.h>

#include "core/base/sync.h"
#include "core/task/task.h"
#include "core/worker/policy.h"

struct orr_driver_ops;

enum { ORR_CODELET_CACHE = 16 };

struct orr_worker {
    /* set before the thread starts [const] */
    int id;
    enum starpu_worker_archtype type;
    uint32_t where; /* the STARPU_CPU/STARPU_CUDA... bit of its type */
    int devid;      /* number among the devices of its type */
    unsigned node;  /* memory node */
    int bindid;     /* logical core, -1 not bound */
    const struct orr_driver_ops *driver;
    void *device; /* [own: driver] */
    struct starpu_perfmodel_arch arch;
    char name[64], short_name[32];
    pthread_t thread;
    struct orr_ctx *ctx; /* the context whose policy it serves [atomic by convention: changed while parked] */

    /* parking [atomic: see park.c] */
    ORR_ALIGNED_LINE _Atomic uint32_t futex; /* 0: asleep or about to be, 1: notified */
    _Atomic uint32_t parked;

    /* tasks for this worker alone */
    ORR_ALIGNED_LINE _Atomic uint32_t local_count;
    orr_spin local_lock; /* protects local_* and order; leaf */
    struct orr_task *local_head, *local_tail;
    struct orr_task *ordered; /* tasks with workerorder, sorted, waiting for their turn */
    unsigned next_order;      /* the workerorder that may run next */

    /* the worker's own [own: worker] */
    ORR_ALIGNED_LINE struct orr_task *kept; /* released by the last task, to run next */
    struct orr_task *running;
    bool short_tasks;    /* counted in the lot as one who will come by soon */
    uint64_t last_ticks; /* when the last task ended */
    uint64_t poll_ticks; /* when progress functions were last called */
    struct {
        const void *cl;
        uint64_t ticks;
    } recent[ORR_CODELET_CACHE]; /* duration of recent codelets */
    unsigned kept_in_a_row;
    _Atomic bool observed; /* hooks of the policy or profiling want to see every task */
    bool direct;           /* implementations are called straight from here (CPU) [const] */
    uint64_t tasks_run;    /* [any: statistic] */
    double busy_us;        /* [any: statistic] */
    unsigned rng;

    /* for users' policies (struct starpu_sched_policy): the mutex is held around pop_task */
    ORR_ALIGNED_LINE pthread_mutex_t sched_mutex; /* protects sleeping on sched_cond; outermost of a worker */
    pthread_cond_t sched_cond;
    bool sleeping_on_cond; /* [lock: sched_mutex] */
    bool keep_awake;       /* [lock: sched_mutex] */
    bool holds_mutex;      /* [own: worker] inside pop_task, for which the mutex was taken */
    unsigned relaxed; /* [own: worker] how often it asked others to have the mutex meanwhile (policy.c) */
    _Atomic bool idle_shown; /* [any: statistic] status for starpu_worker_get_status */
};

extern struct orr_worker orr_workers[STARPU_NMAXWORKERS];
extern unsigned orr_worker_count; /* [const between init and shutdown] */

/* The calling worker, or NULL on other threads. */
static inline struct orr_worker *orr_worker_self(void)
{
    return orr_self()->worker;
}

/* Gives t to w's own queue (execute_on_a_specific_worker, starpu_push_local_task); front: ahead of others.
 * Any thread. */
void orr_worker_push_local(struct orr_worker *w, struct orr_task *t, bool front);

/* Runs t on the calling worker and completes it. */
void orr_worker_run(struct orr_worker *w, struct orr_task *t);

/* The pieces of orr_worker_run, for device loops: before the body; after it (completes t, dispatches what it
 * released). */
void orr_worker_begin(struct orr_worker *w, struct orr_task *t);
void orr_worker_finish(struct orr_worker *w, struct orr_task *t);

/* The next task for w (its own queue, then the policy), or NULL. On w's thread. */
struct orr_task *orr_worker_next(struct orr_worker *w);

/* The core of each worker that may come, by its number: as the environment says, else the program, else one
 * after another. */
struct starpu_conf;
void orr_binding_choose(const struct starpu_conf *conf, int *cores_out);

/* Threads of all workers: start (after policies exist) and stop (drains nothing; call when quiescent). */
int orr_workers_start(void);
void orr_workers_stop(void);
/* Workers take no more tasks until as many calls of resume. halt: pause, and returns when no worker runs any;
 * not from tasks. */
void orr_workers_pause(void);
void orr_workers_halt(void);
void orr_workers_resume(void);
/* Stays here while workers are paused. On a worker's thread, between tasks. */
void orr_worker_wait_while_paused(void);

/* Gives the context's workers the tasks that became ready while it had none. */
void orr_ctx_push_held(struct orr_ctx *ctx);
/* Whether searching workers can take whatever there is; after a change of contexts. */
void orr_workers_update_plain(void);

/* How many workers are not known to be idle just now. Any thread. */
ORR_EXPORT unsigned orr_workers_busy(void);

/* A function called by idle workers, by workers between tasks now and then, and by threads blocked in the
 * runtime. Returns true when it moved something. urgent() says cheaply whether calling it at once is
 * worthwhile. */
struct orr_progress {
    bool (*poll)(void *arg);
    void *arg;
};
ORR_EXPORT int orr_progress_register(struct orr_progress p); /* -ENOSPC beyond 8 */
ORR_EXPORT void orr_progress_unregister(struct orr_progress p);
/* Calls the registered functions; true when one of them moved something. Any thread. */
bool orr_progress_poll(void);

#endif
