/* SPDX-License-Identifier: BSD-3-Clause */
/* joblist.h: lists of jobs: tasks that start in the order of their list, with windows of signal and wait.
 * Threads: each function says. Owns: struct orrery_joblist, struct orr_job. Not here: which worker serves
 * which list (jobpool.h), the functions for programs (core/run/joblist.c). */
#ifndef ORR_WORKER_JOBLIST_H
#define ORR_WORKER_JOBLIST_H

#include "core/base/slab.h"
#include "core/worker/jobpool.h"
#include "core/worker/worker.h"

/* The jobs between two signals. */
struct orr_segment {
    struct orr_segment *next;
    uint64_t number;     /* signals before it [const] */
    uint64_t unfinished; /* [lock: list] */
};

enum orr_job_state {
    ORR_JOB_ABSENT,  /* waits for data or other tasks */
    ORR_JOB_PRESENT, /* waits for its turn only: then it ends, having no body, or takes late accesses */
    ORR_JOB_CALLED,  /* has its turn, and waits for late accesses */
    ORR_JOB_READY,   /* a worker can run it */
};

/* The place of a task in a list. [lock: list, but where said] */
struct orr_job {
    struct orr_job *next;        /* in the list, until it starts */
    struct orr_task *task;       /* [const] */
    struct orrery_joblist *list; /* [const, ref] */
    struct orr_segment *segment; /* counts it until its end */
    uint64_t index;              /* jobs added before it [const] */
    uint64_t gate;               /* it starts when all segments of lower numbers have ended [const] */
    double work_us;              /* what models say it takes; below 0: they say nothing [const] */
    enum orr_job_state state;
    bool started;
    struct orr_job_place place; /* who can run it; ready is only used by the list */
};

/* A thread that waits for a list. */
struct orr_joblist_waiter {
    struct orr_joblist_waiter *next;
    struct orr_event drained;
};

struct orrery_joblist {
    char *name;            /* [const] */
    unsigned sched_ctx;    /* [const] */
    uint32_t generation;   /* of that context, whose number another may get [const] */
    _Atomic uint32_t refs; /* the program, each job until its end, each worker that serves it */
    ORR_ALIGNED_LINE ORR_SPIN(joblist) lock; /* protects all from here to pool */
    bool destroyed;                          /* takes no more jobs */
    bool pair_open;                          /* there was a signal, and no wait yet */
    bool stopped;                            /* none of its jobs starts */
    bool failed;                             /* a job did, and no orr_joblist_drain has told yet */
    struct orr_job *first, *last;            /* that have not started */
    struct orr_segment *oldest, *newest;     /* all before oldest have ended */
    uint64_t gate;                           /* of the next job */
    uint64_t added, started, ended;
    uint64_t ready;  /* jobs READY that have not started */
    uint64_t known;  /* jobs that have not started, and that models know */
    double known_us; /* what these will take */
    struct orr_joblist_waiter *waiters;
    uint64_t version;          /* of the latest news for the pool */
    struct orr_job_place told; /* what they said */
    double told_left, told_us;
    ORR_ALIGNED_LINE struct orr_jobpool_entry pool;
};

/* A list in a context; the caller holds the one reference. name is copied. NULL: out of memory. */
struct orrery_joblist *orr_joblist_create(const char *name, unsigned sched_ctx);
void orr_joblist_ref(struct orrery_joblist *list);
void orr_joblist_unref(struct orrery_joblist *list);
/* No job may be added any more. */
void orr_joblist_close(struct orrery_joblist *list);

/* Blank ones; NULL: out of memory. */
struct orr_job *orr_job_create(void);
void orr_job_destroy(struct orr_job *job);

/* Appends t, prepared with ORR_TF_LISTED | ORR_TF_HELD and u, and commits it, in one step: data are joined in
 * the order of the list. job is taken. Any thread. */
void orr_joblist_append(struct orrery_joblist *list, struct orr_job *job, struct orr_task *t,
                        struct orr_partition_use *u);

/* The next jobs are a new segment; jobs from here on wait for the segments before it. 0; -EINVAL: a pair is
 * open already, or none is; -ENOMEM. Any thread. */
int orr_joblist_signal(struct orrery_joblist *list);
int orr_joblist_wait(struct orrery_joblist *list);

/* No job starts until start is called; those that have started go on. Any thread. */
void orr_joblist_stop(struct orrery_joblist *list);
void orr_joblist_start(struct orrery_joblist *list);

/* Waits until the list has no job that has not ended. Not in tasks. 0; -EIO: a job has failed since this was
 * asked last. */
int orr_joblist_drain(struct orrery_joblist *list);

/* Installed as orr_task_hooks.job_ready and job_ended. */
void orr_job_ready(struct orr_task *t);
void orr_job_ended(struct orr_job *job, bool failed);

/* The next job of the list that w serves, else of another that w takes up; NULL: none. On w's thread. */
struct orr_task *orr_joblist_next(struct orr_worker *w);
/* The same among the lists of the contexts from number first to before end that w serves (serve.h), which
 * are of one rank: a list of another rank that w serves is left when there is a job here. */
struct orr_task *orr_joblist_next_among(struct orr_worker *w, unsigned first, unsigned end);

/* w, which left news of its list untold because it would be back at once, does something else before. On w's
 * thread. */
void orr_joblist_tell(struct orr_worker *w);

enum orr_job_obstacle {
    ORR_JOB_FREE,        /* it need not wait for that one */
    ORR_JOB_AFTER_START, /* that one is first in the list, and has to start before */
    ORR_JOB_AFTER_END,   /* that one is before a signal, and has to end before */
};
/* For diagnosis: why t does not start before p has. Any two tasks under way. */
enum orr_job_obstacle orr_job_obstacle(const struct orr_task *t, const struct orr_task *p);
/* Whether t, a task under way, waits for orrery_joblist_start alone as far as its list is concerned. */
bool orr_job_is_stopped(const struct orr_task *t);
/* The name of the list of t, a task under way; NULL: it is in none. */
const char *orr_job_list_name(const struct orr_task *t);

#endif
