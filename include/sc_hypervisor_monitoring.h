/* SPDX-License-Identifier: BSD-3-Clause */
/* sc_hypervisor_monitoring.h: what the hypervisor knows of the contexts it resizes.
 *
 * Threads: any; the fields of a wrapper are guarded by its mutex.
 * Owns: nothing.
 * Not here: decisions (sc_hypervisor_policy.h).
 */
#ifndef SC_HYPERVISOR_MONITORING_H
#define SC_HYPERVISOR_MONITORING_H

#include <starpu.h>
#include <sc_hypervisor_config.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* The last workers sent from a context, and which of them were seen in the one they were sent to. */
struct sc_hypervisor_resize_ack {
    int receiver_sched_ctx; /* -1: none was sent yet */
    int *moved_workers;
    int nmoved_workers;
    int *
        acked_workers; /* [i]: 1 once moved_workers[i] has taken a task, or looked for one, in the receiver */
};

/* A context as the hypervisor sees it; arrays by worker. "Sample": since the last resize of the context, or
 * since it was registered. Times in us, as of starpu_timing_now(). */
struct sc_hypervisor_wrapper {
    unsigned sched_ctx;
    struct sc_hypervisor_policy_config *config;
    double start_time_w[STARPU_NMAXWORKERS];      /* when the worker joined */
    double current_idle_time[STARPU_NMAXWORKERS]; /* since it last had a task */
    double idle_time[STARPU_NMAXWORKERS];         /* in this sample */
    double idle_start_time[STARPU_NMAXWORKERS];   /* 0: it is not idle */
    double exec_time[STARPU_NMAXWORKERS];         /* in tasks, in this sample */
    double exec_start_time[STARPU_NMAXWORKERS];   /* 0: it runs no task */
    int worker_to_be_removed[STARPU_NMAXWORKERS]; /* 1: it leaves when it is next seen here */
    int pushed_tasks[STARPU_NMAXWORKERS];
    int poped_tasks[STARPU_NMAXWORKERS];
    double total_flops;                             /* as registered and corrected */
    double total_elapsed_flops[STARPU_NMAXWORKERS]; /* since registration */
    double elapsed_flops[STARPU_NMAXWORKERS];       /* in this sample */
    size_t elapsed_data[STARPU_NMAXWORKERS];        /* bytes of the tasks, in this sample */
    int elapsed_tasks[STARPU_NMAXWORKERS];          /* in this sample */
    double ref_speed[2];         /* last known Gflop/s of a CPU worker, of another one; -1: not known */
    double submitted_flops;      /* since registration */
    double remaining_flops;      /* of total_flops */
    double start_time;           /* of this sample */
    double real_start_time;      /* of the first task; 0: there was none */
    double hyp_react_start_time; /* of the last resize */
    struct sc_hypervisor_resize_ack resize_ack;
    starpu_pthread_mutex_t mutex;
    unsigned total_flops_available;                    /* the program has given total_flops */
    unsigned to_be_sized;                              /* a first distribution is still owed */
    unsigned compute_idle[STARPU_NMAXWORKERS];         /* 0: idleness of the worker does not count */
    unsigned compute_partial_idle[STARPU_NMAXWORKERS]; /* the worker has had work since it became idle */
    unsigned consider_max;                             /* linear programs obey max_nworkers */
};

/* Borrowed while the context is registered; NULL if it is not. */
struct sc_hypervisor_wrapper *sc_hypervisor_get_wrapper(unsigned sched_ctx);

/* The registered contexts; the array is the library's, and changes when contexts come and go. */
unsigned *sc_hypervisor_get_sched_ctxs(void);
int sc_hypervisor_get_nsched_ctxs(void);

/* How many workers of a kind a context has, registered or not; STARPU_ANY_WORKER: of all kinds. */
int sc_hypervisor_get_nworkers_ctx(unsigned sched_ctx, enum starpu_worker_archtype arch);

/* How many operations (starpu_task.flops, added up) were executed in this sample; since registration. These
 * and the following lock the wrapper's mutex: not while it is held. */
double sc_hypervisor_get_elapsed_flops_per_sched_ctx(struct sc_hypervisor_wrapper *sc_w);
double sc_hypervisor_get_total_elapsed_flops_per_sched_ctx(struct sc_hypervisor_wrapper *sc_w);

/* Gflop/s of a worker of a kind in the context, measured in this sample; -1: not known yet. */
double sc_hypervisorsc_hypervisor_get_speed_per_worker_type(struct sc_hypervisor_wrapper *sc_w,
                                                            enum starpu_worker_archtype arch);

/* The same, or the last that was known, or the mean over all contexts, or a guess: always positive. */
double sc_hypervisor_get_speed(struct sc_hypervisor_wrapper *sc_w, enum starpu_worker_archtype arch);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
