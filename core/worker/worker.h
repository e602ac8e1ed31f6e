/* SPDX-License-Identifier: BSD-3-Clause */
/* worker.h: a processing unit and the thread that serves it.
 * Threads: fields say whose they are. Owns: struct orr_worker and the table of workers. Not here: sleeping
 * and waking (park.h), policies (policy.h), device specifics (driver.h). */
#ifndef ORR_WORKER_WORKER_H
#define ORR_WORKER_WORKER_H

#include <starpu_perfmodel.h>
#include <starpu_worker.h>

#include "core/base/kind.h"
#include "core/base/sync.h"
#include "core/task/task.h"
#include "core/worker/context.h"
#include "core/worker/doze.h"
#include "core/worker/own.h"

struct orr_device;
struct orr_pipeline;
struct orr_team;

enum { ORR_CODELET_CACHE = 16 };

struct orr_worker {
    /* set before the thread starts [const] */
    int id;
    enum starpu_worker_archtype type;
    uint32_t where;            /* the bit of its type; those of all types whose functions it runs */
    int devid;                 /* number among the devices of its type */
    unsigned node;             /* memory node */
    int bindid;                /* logical core, -1 not bound */
    struct orr_device *device; /* shared with other workers, perhaps */
    size_t functions;          /* offset in a codelet of what it runs; 0: what its kind has, or else CPUs */
    struct starpu_perfmodel_arch arch;
    char name[64], short_name[32];
    pthread_t thread;
    struct orr_ctx *ctx; /* whose policy it asks: that of its context, or serve.c [own: worker] */
    _Atomic uint32_t in; /* bit: a member of that context [own, read by any; changes seldom] */
    _Atomic bool
        on_cond; /* it sleeps on its condition: one of its policies is the program's [own, read by any] */

    /* parking [atomic: see park.c] */
    ORR_ALIGNED_LINE _Atomic uint32_t futex; /* 0: asleep or about to be, 1: notified, 2: sentry (park.c) */
    _Atomic uint32_t dozing; /* 1: it watches that word, and needs no system call to wake up */
    _Atomic bool at_bell;    /* it sleeps there, not at the futex (bell.h) */
    _Atomic bool watches;    /* a policy wants to be asked every millisecond while it sleeps (park.c) */

    /* tasks for this worker alone */
    ORR_ALIGNED_LINE _Atomic uint32_t local_count;
    _Atomic uint32_t lists; /* 1: there are job lists, which are asked before the policy (jobpool.c) */
    ORR_SPIN(worker_local) local_lock; /* protects local_* and order; leaf */
    struct orr_task *local_head, *local_tail;
    struct orr_task *ordered, *ordered_last; /* tasks with workerorder, sorted, waiting for their turn */
    unsigned next_order;                     /* the workerorder that may run next */
    unsigned skipped_orders;                 /* those below it do not wait for each other any more */

    /* the worker's own [own: worker] */
    ORR_ALIGNED_LINE struct orr_task *kept; /* released by the last task, to run next */
    struct orr_task *running;
    _Atomic bool
        short_tasks;     /* counted in orr_parking as one who will come by soon [own; the sentry clears it] */
    uint64_t last_ticks; /* when the last task ended */
    uint64_t poll_ticks; /* when progress functions were last called */
    struct orr_doze doze; /* since it has nothing to do */
    struct {
        const void *cl;
        uint64_t ticks;
    } recent[ORR_CODELET_CACHE]; /* duration of recent codelets */
    unsigned kept_in_a_row;
    struct orrery_joblist *list; /* [ref] the job list that it serves; NULL: none */
    bool list_due;               /* it has not told the pool what is ready in that list (joblist.c) */
    unsigned jobs_in_a_row;      /* without asking the policy */
    bool driven;                 /* by a thread of the program's (driven.c): it has none of its own [const] */
    bool direct;                 /* implementations are called straight from here (CPU) [const] */
    _Atomic uint64_t tasks_run;  /* [own, read by any] */
    _Atomic uint64_t body_job, body_since; /* see orr_worker_body [own, read by any] */
    uint64_t run_when_dry;                 /* of tasks_run, when it last found nothing */
    unsigned gathering; /* how much longer it waits between looks (look_briefly in park.c) */
    unsigned yields_skipped, yields_period; /* note_yield in park.c */
    bool core_shared;                       /* the same */
    uint64_t tasks_seen;                    /* [own: the sentry of park.c] of tasks_run, at its last look */
    double busy_us;                         /* [any: statistic] */
    unsigned rng;
    struct {
        struct orr_ctx *ctx;
        uint64_t rank;
    } serves[STARPU_NMAX_SCHED_CTXS]; /* its contexts, the highest rank first (serve.h) */
    unsigned serves_count, serves_turn;
    bool changing;               /* it is about to leave and join contexts */
    struct orr_team *team;       /* whose body it runs (parallel.h); NULL: no parallel task's */
    int team_rank;               /* its rank there */
    _Atomic uint32_t gate;       /* futex: counts what happens to it while it waits for its team */
    _Atomic bool at_gate;        /* it does [own, read by any] */
    _Atomic bool waits_for_data; /* of a task; or it only waits for others' transfers [own, read by any] */
    _Atomic(struct orr_pipeline *) pipeline; /* of its device (device.h); NULL: none [own, read by any] */

    /* what others ask of it: member.c */
    ORR_ALIGNED_LINE ORR_SPIN(asked) asked_lock; /* protects these; leaf */
    uint32_t wanted;                             /* bit: to be in that context */
    uint32_t captured;                           /* while not 0: to be in no others */
    uint32_t going;                              /* bit: it is in that context, or on the way there */
    int suspended;                               /* while above 0: to be in none */
    _Atomic uint32_t asked;                      /* number of the latest asking [read by any] */
    _Atomic uint32_t done; /* number of the latest asking that it has followed [own, read by any]; futex */
    _Atomic int booked_by; /* 1 + the worker that has its core for a parallel task; 0: none */

    /* for users' policies (struct starpu_sched_policy): the mutex is held around pop_task */
    ORR_ALIGNED_LINE ORR_MUTEX(worker_sched) sched_mutex; /* protects sleeping on sched_cond */
    pthread_cond_t sched_cond;
    bool sleeping_on_cond; /* [lock: sched_mutex] */
    unsigned sleeps;       /* [lock: sched_mutex] how often it has gone to sleep there */
    bool counted_parked;   /* [lock: sched_mutex] and is counted in orr_parking.parked meanwhile */
    bool keep_awake;       /* [lock: sched_mutex] */
    bool holds_mutex;      /* [own: worker] inside pop_task, for which the mutex was taken */
    unsigned relaxed; /* [own: worker] how often it asked others to have the mutex meanwhile (policy.c) */
    _Atomic bool
        idle_shown; /* [any: statistic] status for starpu_worker_get_status; false before local_count falls */
    _Atomic uint64_t idle_since_ns; /* 0: it is not [own, read by any] */
    _Atomic uint64_t idle_account; /* 2 * how long it has been idle while somebody listened (lending.h); while
                                      it is idle 1 + 2 * (now - that) [own, read by any] */
};

extern struct orr_worker orr_workers[STARPU_NMAXWORKERS];
extern unsigned orr_worker_count; /* [const between init and shutdown] */

/* What the files of this folder do before threads start, the table of workers being complete. */
void orr_running_init(void);
void orr_ready_init(void);
void orr_admission_init(void);

/* The same as below, for a worker that also runs what is for CPUs (admission.c). */
starpu_cpu_func_t orr_worker_function_borrowed(const struct orr_worker *w, const struct starpu_codelet *cl,
                                               unsigned nimpl);

/* Whether what w runs of a codelet is for CPUs, though w is none. */
bool orr_worker_borrows(const struct orr_worker *w, const struct starpu_codelet *cl);

/* Whom the program takes the calling thread for: a worker, also while a method of an interface copies for
 * its device on another thread, or NULL. */
struct orr_worker *orr_worker_here(void);

/* What implementation nimpl of a codelet is on w; NULL: it has none. */
static inline starpu_cpu_func_t orr_worker_function(const struct orr_worker *w,
                                                    const struct starpu_codelet *cl, unsigned nimpl)
{
    if (orr_unlikely(w->functions == 0)) return orr_worker_function_borrowed(w, cl, nimpl);
    return orr_kind_functions(w->functions, cl)[nimpl];
}

/* Gives t to w's own queue (execute_on_a_specific_worker, starpu_push_local_task); front: ahead of others.
 * Any thread. */
void orr_worker_push_local(struct orr_worker *w, struct orr_task *t, bool front);
/* Takes the first task out of w's own queue that is not bound to it, and that may() allows; NULL: there is
 * none. may is called with the lock of the queue. Any thread. */
struct orr_task *orr_worker_take_local(struct orr_worker *w, bool (*may)(const struct orr_task *t, void *arg),
                                       void *arg);

/* Whether a task that is bound to w has this workerorder, or one has run with it that was not skipped
 * (order.h). Any thread. */
bool orr_worker_order_is_taken(struct orr_worker *w, unsigned n);

/* Gives a task to each of these different workers, in order of number: behind what each has. None is bound
 * with an order. Any thread. */
void orr_worker_push_together(struct orr_worker *const *workers, struct orr_task *const *tasks,
                              unsigned count);

/* Runs t on the calling worker, a CPU, and completes it. */
void orr_worker_run(struct orr_worker *w, struct orr_task *t);

/* The pieces of that, for who does other things while a body runs (device.c), or runs it otherwise. Begin: t
 * is w's and about to run. Observed: somebody wants to see it run, whom `popped` tells that w has it,
 * `starts` that its body starts, its data being here, and `ended` how long it took. Finish: completes t,
 * dispatches what it released. Ran: what w learns from a task that is over. */
void orr_worker_begin(struct orr_worker *w, struct orr_task *t);
bool orr_worker_observes(const struct orr_task *t);
void orr_worker_popped(struct orr_worker *w, struct orr_task *t);
void orr_worker_starts(struct orr_worker *w, struct orr_task *t);
void orr_worker_ended(struct orr_worker *w, struct orr_task *t, uint64_t ticks);
/* In the place of the last (started: after the one before it): t came to nothing here. Only its policy is
 * told, for which it began and ended. */
void orr_worker_gave_up(struct orr_worker *w, struct orr_task *t, bool started);
void orr_worker_finish(struct orr_worker *w, struct orr_task *t);
/* Before a body of that codelet: what others may expect of w meanwhile; after it. */
void orr_worker_will_run(struct orr_worker *w, const struct starpu_codelet *cl);
void orr_worker_ran(struct orr_worker *w, const struct starpu_codelet *cl);

/* How long tasks of that codelet took on w lately, with what w did between them; 0: not known. On w's thread.
 */
ORR_EXPORT double orr_worker_recent_ns(const struct orr_worker *w, const struct starpu_codelet *cl);

/* The number of the task whose body w is inside of, and since when, in ticks; 0: of none, or nobody observes
 * it. Any thread. */
uint64_t orr_worker_body(const struct orr_worker *w, uint64_t *since_out);

/* The next task for w (its own queue, then the policy), or NULL. On w's thread. */
struct orr_task *orr_worker_next(struct orr_worker *w);
/* About how many tasks wait that w could get: its policy's, and jobs of lists. On w's thread. */
uint32_t orr_worker_backlog(struct orr_worker *w);

/* The core of each of so many workers, whose devices are given by their numbers: as the environment says,
 * else the program; else workers of a device of which it is known where it is have cores near it, and the
 * others one after another of what is left. */
struct starpu_conf;
void orr_binding_choose(const struct starpu_conf *conf, struct orr_device *const *devices, unsigned workers,
                        int *cores_out);

/* Cores that the main thread is to have for itself: 0 or 1; and binds the calling one, which it is, when
 * workers have theirs. */
unsigned orr_binding_main_cores(void);
void orr_binding_main_start(void);

/* Runs one task, if there is one, on the calling thread, which is w's meanwhile. False: there was none. */
bool orr_worker_step(struct orr_worker *w);

/* Which workers the program runs itself; before they start. 0; -EINVAL (said why). And at their stop: waits
 * until no thread of the program's is inside one. */
int orr_driven_choose(const struct starpu_conf *conf);
void orr_driven_stop(void);

/* Opens what devices there are and numbers the workers that share them; before policies exist. 0; -ENODEV:
 * there is none; -ENOMEM, -ENOSPC: then, as after the end of all, teardown is due. */
int orr_workers_setup(const struct starpu_conf *conf);
void orr_workers_teardown(void);
/* How many cores that will want (conf may be NULL): a core for each worker; 0: as many as there are. Before
 * setup, or after teardown. */
ORR_EXPORT unsigned orr_cores_wanted(const struct starpu_conf *conf);

/* Threads of all workers: start (after policies exist) and stop (drains nothing; call when quiescent). */
int orr_workers_start(void);
/* There are copies between nodes from now on: idle workers that may drive them are woken when one starts. */
void orr_workers_drive_transfers(void);
void orr_workers_stop(void);
/* Workers take no more tasks until as many calls of resume. */
void orr_workers_pause(void);
void orr_workers_resume(void);
/* Does what orr_parking.attention may be about: stays while workers are paused, changes contexts, serves
 * lenders. On w's thread, between tasks. */
void orr_worker_attend(struct orr_worker *w);

/* Gives the context's workers the tasks that became ready while it had none. */
void orr_ctx_push_held(struct orr_ctx *ctx);
/* Whether searching workers can take whatever there is; before and after changes of contexts. alone: there is
 * only the main one, and nobody is about to change that. */
void orr_workers_update_plain(bool alone);

/* How many workers are not known to be idle just now. Any thread. */
ORR_EXPORT unsigned orr_workers_busy(void);
/* Whether workers have all cores, look for messages between tasks, and listen at the bell (bell.h), if there
 * is one, when they have nothing to do: not those that a policy of the program's, or a thread of its own, has
 * sleep elsewhere, nor those that wait for a device, nor while they are paused. Any thread. */
ORR_EXPORT bool orr_workers_have_cores(void);
/* How many tasks they have run. Any thread. */
ORR_EXPORT uint64_t orr_workers_run(void);

/* A function called by idle workers, by workers between tasks now and then, and by threads blocked in the
 * runtime. Returns true when it moved something. urgent() says cheaply whether calling it at once is
 * worthwhile. */
struct orr_progress {
    bool (*poll)(void *arg);
    void *arg;
};
ORR_EXPORT int orr_progress_register(struct orr_progress p); /* -ENOSPC beyond 64 */
ORR_EXPORT void orr_progress_unregister(struct orr_progress p);
/* Workers that sleep come to call them, for a thread that is inside of one. Any thread. */
ORR_EXPORT void orr_wake_pollers(void);
/* Calls the registered functions; true when one of them moved something. Any thread. */
bool orr_progress_poll(void);

#endif
