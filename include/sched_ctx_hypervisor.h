/* SPDX-License-Identifier: BSD-3-Clause */
/* sched_ctx_hypervisor.h: the hypervisor of scheduling contexts under its first names.
 *
 * Threads: any, unless a function says otherwise.
 * Owns: nothing.
 * Not here: what the functions do in detail: sc_hypervisor.h has them under later names, and may be included
 * beside this header. The structures are the same; only strategies (struct
 * starpu_sched_ctx_hypervisor_policy) and counters differ.
 */
#ifndef SCHED_CTX_HYPERVISOR_H
#define SCHED_CTX_HYPERVISOR_H

#include <sc_hypervisor.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- Arguments of sched_ctx_hypervisor_ioctl(), each followed by its values; "workers": int * and int, an
 * array of workers and its length. Times in us. The list ends with 0 or NULL ---- */

#define HYPERVISOR_MAX_IDLE SC_HYPERVISOR_MAX_IDLE                         /* workers, double */
#define HYPERVISOR_PRIORITY SC_HYPERVISOR_PRIORITY                         /* workers, int */
#define HYPERVISOR_MIN_WORKERS SC_HYPERVISOR_MIN_WORKERS                   /* int */
#define HYPERVISOR_MAX_WORKERS SC_HYPERVISOR_MAX_WORKERS                   /* int */
#define HYPERVISOR_GRANULARITY SC_HYPERVISOR_GRANULARITY                   /* int */
#define HYPERVISOR_FIXED_WORKERS SC_HYPERVISOR_FIXED_WORKERS               /* workers */
#define HYPERVISOR_MIN_TASKS SC_HYPERVISOR_MIN_TASKS                       /* int */
#define HYPERVISOR_NEW_WORKERS_MAX_IDLE SC_HYPERVISOR_NEW_WORKERS_MAX_IDLE /* double */
#define HYPERVISOR_TIME_TO_APPLY SC_HYPERVISOR_TIME_TO_APPLY               /* int */

/* The same structures under two names. */
#define starpu_sched_ctx_hypervisor_policy_config sc_hypervisor_policy_config
#define starpu_sched_ctx_hypervisor_wrapper sc_hypervisor_wrapper
#define starpu_sched_ctx_hypervisor_resize_ack sc_hypervisor_resize_ack

/* The counters, for starpu_sched_ctx_set_perf_counters(). sched_ctx_hypervisor_init() makes the hypervisor's:
 * a program that runs tasks by other means may call the functions itself. A program may also fill in a table
 * of its own, and is told then what happens in a context; each function may be NULL. They are called by
 * workers, several at once, and must not block. */
struct starpu_performance_counters {
    /* First. The hypervisor's: what the runtime calls. In a table of the program's own: told what there is no
     * function for below; all NULL will do. */
    struct starpu_sched_ctx_performance_counters runtime;
    /* A worker has been idle for that much longer (us). */
    void (*notify_idle_cycle)(unsigned sched_ctx_id, int worker, double idle_time);
    /* It has executed a task after that: its idleness counts from 0. */
    void (*notify_idle_end)(unsigned sched_ctx_id, int worker);
    /* A task was queued for a worker. */
    void (*notify_pushed_task)(unsigned sched_ctx_id, int worker);
    /* A worker took a task of so many operations (starpu_task.flops). */
    void (*notify_poped_task)(unsigned sched_ctx_id, int worker, double flops);
    /* A task with this hypervisor_tag (0: none) has run. */
    void (*notify_post_exec_hook)(unsigned sched_ctx_id, int taskid);
};

/* The tags at which a context is to be resized. */
struct starpu_htbl32_node;

/* A strategy. Every function may be NULL; they are called by workers, several at once, and must not block. */
struct starpu_sched_ctx_hypervisor_policy {
    const char *name; /* when custom is 0: the strategy of that name in the library */
    unsigned custom;  /* 1: use the functions below */
    /* A worker has found nothing to do once more. */
    void (*handle_idle_cycle)(unsigned sched_ctx_id, int worker);
    /* A task was queued for a worker; was taken by it. */
    void (*handle_pushed_task)(unsigned sched_ctx_id, int worker);
    void (*handle_poped_task)(unsigned sched_ctx_id, int worker);
    /* A worker that was idle has a task again. */
    void (*handle_idle_end)(unsigned sched_ctx_id, int worker);
    /* A task with a tag has run. resize_requests: borrowed, for orrery_hypervisor_is_requested(). */
    void (*handle_post_exec_hook)(unsigned sched_ctx_id, struct starpu_htbl32_node *resize_requests,
                                  int task_tag);
};

/* Is a resize requested at this tag (and not done yet)? */
int orrery_hypervisor_is_requested(const struct starpu_htbl32_node *resize_requests, int task_tag);

/* Start the hypervisor with a strategy; see sc_hypervisor_init(). NULL, with a message: it cannot be. */
struct starpu_performance_counters *sched_ctx_hypervisor_init(
    struct starpu_sched_ctx_hypervisor_policy *policy);
/* After starpu_shutdown(), or before. */
void sched_ctx_hypervisor_shutdown(void);

/* Begin to resize a context that will execute total_flops operations (0.0: not known), and cease to. */
void sched_ctx_hypervisor_register_ctx(unsigned sched_ctx, double total_flops);
void sched_ctx_hypervisor_unregister_ctx(unsigned sched_ctx);

/* Forbid resizing a context; allow it. */
void sched_ctx_hypervisor_stop_resize(unsigned sched_ctx);
void sched_ctx_hypervisor_start_resize(unsigned sched_ctx);

/* Resize a context when a task with this tag has run in it. */
void sched_ctx_hypervisor_resize(unsigned sched_ctx, int task_tag);

/* Set conditions. A list with a mistake changes nothing, and is an error message. */
void sched_ctx_hypervisor_ioctl(unsigned sched_ctx, ...);

/* The conditions of a context; NULL: it is not registered. set: copies. */
struct starpu_sched_ctx_hypervisor_policy_config *sched_ctx_hypervisor_get_config(unsigned sched_ctx);
void sched_ctx_hypervisor_set_config(unsigned sched_ctx,
                                     struct starpu_sched_ctx_hypervisor_policy_config *config);

/* Move workers; now 0: they leave the sender once they were seen in the receiver. */
void sched_ctx_hypervisor_move_workers(unsigned sender_sched_ctx, unsigned receiver_sched_ctx,
                                       int *workers_to_move, unsigned nworkers_to_move, unsigned now);

/* The registered contexts, in the library's array, and their number. */
int *sched_ctx_hypervisor_get_sched_ctxs(void);
int sched_ctx_hypervisor_get_nsched_ctxs(void);

/* What is known of a context; NULL: it is not registered. */
struct starpu_sched_ctx_hypervisor_wrapper *sched_ctx_hypervisor_get_wrapper(unsigned sched_ctx);

/* How many operations (starpu_task.flops, added up) the context has executed since its last resize. Locks the
 * wrapper's mutex. */
double sched_ctx_hypervisor_get_elapsed_flops_per_sched_ctx(struct starpu_sched_ctx_hypervisor_wrapper *sc_w);

/* The name of the strategy; borrowed, not to be changed; NULL: there is no hypervisor. */
char *sched_ctx_hypervisor_get_policy(void);

/* What starpu_sched_ctx_set_perf_counters() does with a struct starpu_performance_counters: it is borrowed
 * until starpu_shutdown(). */
void orrery_hypervisor_set_perf_counters(unsigned sched_ctx_id, struct starpu_performance_counters *counters);

#pragma GCC visibility pop
#ifdef __cplusplus
}
/* The same in C++, whatever the table: as below. */
extern "C++" {
/* For a table of the first names. */
static inline void orrery_set_perf_counters(unsigned sched_ctx_id,
                                            struct starpu_performance_counters *counters)
{
    orrery_hypervisor_set_perf_counters(sched_ctx_id, counters);
}
/* For any other, or NULL. */
static inline void orrery_set_perf_counters(unsigned sched_ctx_id, void *counters)
{
    starpu_sched_ctx_set_perf_counters(sched_ctx_id, counters);
}
/* Chooses between them. */
template <class Table>
static inline void starpu_sched_ctx_set_perf_counters(unsigned sched_ctx_id, Table *counters)
{
    orrery_set_perf_counters(sched_ctx_id, counters);
}
}
#elif defined(__GNUC__) || __STDC_VERSION__ >= 201112L
#define starpu_sched_ctx_set_perf_counters(sched_ctx_id, counters)                                           \
    _Generic((counters), struct starpu_performance_counters *                                                \
             : orrery_hypervisor_set_perf_counters, default                                                  \
             : starpu_sched_ctx_set_perf_counters)((sched_ctx_id), (counters))
#endif

#endif
