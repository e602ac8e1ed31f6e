/* SPDX-License-Identifier: BSD-3-Clause */
/* sc_hypervisor.h: the hypervisor: moves workers between scheduling contexts while the program runs.
 *
 * Threads: any, also tasks and workers, unless a function says otherwise.
 * Owns: nothing.
 * Not here: conditions (sc_hypervisor_config.h), measures (sc_hypervisor_monitoring.h), what strategies are
 * built from (sc_hypervisor_policy.h, sc_hypervisor_lp.h), older names (sched_ctx_hypervisor.h).
 *
 * There is one hypervisor, without a thread: workers take its role when what they report meets conditions.
 * One resize is done at a time, over when each worker moved was seen in its new context; others wait. A
 * context takes part once it is registered and has as counters what sc_hypervisor_init() returned. */
#ifndef SC_HYPERVISOR_H
#define SC_HYPERVISOR_H

/* What holds for all headers of the hypervisor, besides what starpu.h says at its head. Results: where there
 * is no hypervisor, or the context is not registered, a function that changes something says so on stderr and
 * does nothing; one that asks answers 0, or NULL, without a word. None of them returns a status. Arrays that
 * are given are read until the return. */

#include <starpu.h>
#include <starpu_sched_ctx_hypervisor.h>
#include <sc_hypervisor_config.h>
#include <sc_hypervisor_monitoring.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* A strategy. Every function may be NULL. Those that begin with handle_ are called by workers (submitted_job:
 * by submitters), several at once, between tasks; they must not block. Lists of contexts: NULL and -1 stand
 * for all; lists of workers as well. */
struct sc_hypervisor_policy {
    const char *name; /* when custom is 0: the strategy of that name in the library */
    unsigned custom;  /* 1: use the functions below */
    /* Distribute the workers over contexts that have none yet. */
    void (*size_ctxs)(unsigned *sched_ctxs, int nsched_ctxs, int *workers, int nworkers);
    /* Reconsider the distribution. */
    void (*resize_ctxs)(unsigned *sched_ctxs, int nsched_ctxs, int *workers, int nworkers);
    /* A worker has found nothing to do once more. */
    void (*handle_idle_cycle)(unsigned sched_ctx, int worker);
    /* A task was pushed for a worker. */
    void (*handle_pushed_task)(unsigned sched_ctx, int worker);
    /* A worker took a task and has run it. */
    void (*handle_poped_task)(unsigned sched_ctx, int worker, struct starpu_task *task, uint32_t footprint);
    /* A worker that was idle has a task again. */
    void (*handle_idle_end)(unsigned sched_ctx, int worker);
    /* A task with a tag has run for which a resize was requested. */
    void (*handle_post_exec_hook)(unsigned sched_ctx, int task_tag);
    /* A task was submitted, or announced by sc_hypervisor_set_type_of_task(). */
    void (*handle_submitted_job)(struct starpu_codelet *cl, unsigned sched_ctx, uint32_t footprint,
                                 size_t data_size);
    /* A context is unregistered or deleted; is registered; has a new worker. */
    void (*end_ctx)(unsigned sched_ctx);
    void (*start_ctx)(unsigned sched_ctx);
    void (*init_worker)(int workerid, unsigned sched_ctx);
};

/* The role of the hypervisor: whoever decides about a resize holds it, having tried to lock it and otherwise
 * gone on. sc_hypervisor_policy_resize() and the like lock it themselves; moving workers does not. */
extern starpu_pthread_mutex_t act_hypervisor_mutex;

/* ---- Life ---- */

/* Start the hypervisor: with the custom strategy given (copied), the one of the name given, the one that
 * SC_HYPERVISOR_POLICY names ("help" lists them), or "idle". Returns the counters for
 * starpu_sched_ctx_set_perf_counters(); NULL, with a message: it runs already, there is no such strategy, it
 * needs linear programs and the library was built without them, or memory is out. Not in tasks. */
void *sc_hypervisor_init(struct sc_hypervisor_policy *policy);

/* Free everything. After starpu_shutdown(), or before it: then contexts are no longer observed. Waits for
 * workers that are in the hypervisor. Not in tasks. */
void sc_hypervisor_shutdown(void);

/* Begin to resize a context. total_flops: operations it will execute, for the strategies that divide work
 * (gflops_rate, feft_lp, ispeed_lp, throughput_lp); 0: not known. */
void sc_hypervisor_register_ctx(unsigned sched_ctx, double total_flops);

/* Leave a context as it is from now on. Waits until no callback for it, and no resize that concerns it, is
 * under way, unless it is called in a callback. Deleting a context does that, too. */
void sc_hypervisor_unregister_ctx(unsigned sched_ctx);

/* Name of the strategy, the library's or that of the struct given to sc_hypervisor_init(); NULL: there is no
 * hypervisor. */
const char *sc_hypervisor_get_policy(void);

/* ---- Asking for a resize ---- */

/* Resize a context once a task with this hypervisor_tag has run in it; several tags may be waited for. Tag 0,
 * which tasks without a tag have, and lack of memory are a message, and nothing is requested. */
void sc_hypervisor_post_resize_request(unsigned sched_ctx, int task_tag);

/* Have the strategy reconsider the distribution, or make the first one, on the calling thread. NULL and -1:
 * all. A strategy that has no such function does nothing, and a warning says so. */
void sc_hypervisor_resize_ctxs(unsigned *sched_ctxs, int nsched_ctxs, int *workers, int nworkers);
void sc_hypervisor_size_ctxs(unsigned *sched_ctxs, int nsched_ctxs, int *workers, int nworkers);

/* A demand for a first distribution that a strategy could not meet yet. get: outputs borrowed, 1 if there is
 * one; save: copies. */
unsigned sc_hypervisor_get_size_req(unsigned **sched_ctxs, int *nsched_ctxs, int **workers, int *nworkers);
void sc_hypervisor_save_size_req(unsigned *sched_ctxs, int nsched_ctxs, int *workers, int nworkers);
void sc_hypervisor_free_size_req(void);

/* Forbid moving workers from or to a context; allow it. Moves under way are completed. */
void sc_hypervisor_stop_resize(unsigned sched_ctx);
void sc_hypervisor_start_resize(unsigned sched_ctx);

/* Is it allowed, and is no resize under way? The answer may be out of date when it comes. */
unsigned sc_hypervisor_can_resize(unsigned sched_ctx);

/* ---- Moving workers ---- */

/* Move workers: now 0: they join the receiver, and leave the sender (if they can be in both) once they were
 * seen in the receiver; 1: at once. Workers fixed there, and those that are not in the sender, stay. Each
 * worker changes when it has ended its task. Blocks only where starpu_sched_ctx_add_workers() does. */
void sc_hypervisor_move_workers(unsigned sender_sched_ctx, unsigned receiver_sched_ctx, int *workers_to_move,
                                unsigned nworkers_to_move, unsigned now);

/* Add to or take from a context. now 0: when the worker is next seen there; 1: as
 * starpu_sched_ctx_remove_workers() does, which is where errors are told. */
void sc_hypervisor_add_workers_to_sched_ctx(int *workers_to_add, unsigned nworkers_to_add,
                                            unsigned sched_ctx);
void sc_hypervisor_remove_workers_from_sched_ctx(int *workers_to_remove, unsigned nworkers_to_remove,
                                                 unsigned sched_ctx, unsigned now);

/* Note that a worker has joined a context: its measures there begin now. */
void sc_hypervisor_init_worker(int workerid, unsigned sched_ctx);

/* ---- What the program knows better ---- */

/* Announce a task of the future: its codelet (not NULL; borrowed until the hypervisor's end), context, key
 * (starpu_task_footprint()) and bytes of data. From the first announcement on, submissions in the context are
 * not counted themselves. */
void sc_hypervisor_set_type_of_task(struct starpu_codelet *cl, unsigned sched_ctx, uint32_t footprint,
                                    size_t data_size);

/* Correct the operations that a context has to execute, or has executed: the difference is added, and may be
 * negative. */
void sc_hypervisor_update_diff_total_flops(unsigned sched_ctx, double diff_total_flops);
void sc_hypervisor_update_diff_elapsed_flops(unsigned sched_ctx, double diff_task_flops);

/* Set the limits of contexts by what they have to do: at most max_nworkers workers, and as many as tasks are
 * unfinished; at least one where there are any. */
void sc_hypervisor_update_resize_interval(unsigned *sched_ctxs, int nsched_ctxs, int max_nworkers);

/* ---- Contexts in contexts: the inheritor of a context, if it is registered, is above it ---- */

/* The registered contexts on a level, 0 being the highest: all of them (parent: STARPU_NMAX_SCHED_CTXS), or
 * those below parent. *sched_ctxs is a new array for the caller to free(), NULL when out of memory. The
 * other: how many levels there are, 0 without registered contexts. */
void sc_hypervisor_get_ctxs_on_level(unsigned **sched_ctxs, int *nsched_ctxs, unsigned hierarchy_level,
                                     unsigned parent_sched_ctx_id);
unsigned sc_hypervisor_get_nhierarchy_levels(void);

/* Those contexts of the list that have none of it below them; leaves has room for all. */
void sc_hypervisor_get_leaves(unsigned *sched_ctxs, int nsched_ctxs, unsigned *leaves, int *nleaves);

/* Operations (starpu_task.flops) of tasks that were submitted to the contexts below and have not run; 0:
 * none, or nothing is below. */
double sc_hypervisor_get_nready_flops_of_all_sons_of_sched_ctx(unsigned sched_ctx);

/* ---- Cost ---- */

/* Print what the hypervisor did, and how long that took, to stderr. */
void sc_hypervisor_print_overhead(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
