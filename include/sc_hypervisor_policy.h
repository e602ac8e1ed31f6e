/* SPDX-License-Identifier: BSD-3-Clause */
/* sc_hypervisor_policy.h: what strategies of the hypervisor are built from.
 *
 * Threads: any, with a hypervisor running; functions that are given a wrapper or a context lock the wrapper's
 * mutex, so not while it is held. They are made for the functions of a strategy, and do not block there.
 * Owns: nothing.
 * Not here: linear programs (sc_hypervisor_lp.h); what holds for contexts that are not registered
 * (sc_hypervisor.h).
 */
#ifndef SC_HYPERVISOR_POLICY_H
#define SC_HYPERVISOR_POLICY_H

#include <sc_hypervisor.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Share of a context's operations in a sample, when the program does not say; and before the first resize. */
#define HYPERVISOR_REDIM_SAMPLE 0.02
#define HYPERVISOR_START_REDIM_SAMPLE 0.1

/* What triggers a resize (SC_HYPERVISOR_TRIGGER_RESIZE): nothing, idle workers, different speeds. */
#define SC_NOTHING 0
#define SC_IDLE 1
#define SC_SPEED 2

/* Kinds of workers: CPUs and others. Where there are both, index 0 stands for the others, 1 for CPUs. */
struct types_of_workers {
    unsigned ncpus;
    union {
        unsigned ncuda;
        unsigned naccelerators; /* the same: of all kinds but CPU */
    };
    unsigned nw; /* number of kinds: 1 or 2 */
};

/* Tasks of a context with the same codelet and data sizes, in a list. */
struct sc_hypervisor_policy_task_pool {
    struct starpu_codelet *cl;
    uint32_t footprint;
    unsigned sched_ctx_id;
    unsigned long n;
    size_t data_size;
    struct sc_hypervisor_policy_task_pool *next;
};

/* ---- Pools of tasks. A clone is the caller's, to be freed element by element with free() ---- */

/* Count one task of this codelet, context, footprint and size in the list, to which an element is added if
 * there is none. Out of memory: a message, and it is not counted. Not locked: by one thread at a time. */
void sc_hypervisor_policy_add_task_to_pool(struct starpu_codelet *cl, unsigned sched_ctx, uint32_t footprint,
                                           struct sc_hypervisor_policy_task_pool **task_pools,
                                           size_t data_size);
/* Count one less, and drop the element when it was the last; a task that was not counted is nothing. Not
 * locked. */
void sc_hypervisor_policy_remove_task_from_pool(struct starpu_task *task, uint32_t footprint,
                                                struct sc_hypervisor_policy_task_pool **task_pools);
/* A copy of the list, in the same order; a shorter one when out of memory. NULL: it is empty. */
struct sc_hypervisor_policy_task_pool *sc_hypervisor_policy_clone_task_pool(
    struct sc_hypervisor_policy_task_pool *tp);

#ifndef __cplusplus /* which has no arrays of variable length */
/* times[i][j]: us that a task of the j-th pool takes on workers[i] (NULL: worker i), by its model; INFINITY:
 * it cannot run there; where the model says nothing, the mean of what is known, or 1. size_ctxs 0: INFINITY
 * also on workers that are not in the pool's context. */
void sc_hypervisor_get_tasks_times(int nw, int nt, double times[nw][nt], int *workers, unsigned size_ctxs,
                                   struct sc_hypervisor_policy_task_pool *task_pools);
#endif

/* ---- Choosing contexts and workers ---- */

/* Returns the context, other than the one given, whose workers have the least priority together, and that has
 * room for so many more. STARPU_NMAX_SCHED_CTXS: none. */
unsigned sc_hypervisor_find_lowest_prio_sched_ctx(unsigned req_sched_ctx, int nworkers_to_move);

/* At most *nworkers movable workers of a kind (STARPU_ANY_WORKER: of all), least priority first, then the
 * idlest. Sets *nworkers; a new array for the caller to free(); NULL: none. */
int *sc_hypervisor_get_idlest_workers(unsigned sched_ctx, int *nworkers, enum starpu_worker_archtype arch);

/* Same among workers[*start] to workers[nall_workers - 1] (NULL: all workers), without regard to contexts;
 * those chosen are swapped to the front of that part, and *start moves behind them. */
int *sc_hypervisor_get_idlest_workers_in_list(int *start, int *workers, int nall_workers, int *nworkers,
                                              enum starpu_worker_archtype arch);

/* How many workers of a kind may leave a context: not fixed, and not below min_nworkers. */
int sc_hypervisor_get_movable_nworkers(struct sc_hypervisor_policy_config *config, unsigned sched_ctx,
                                       enum starpu_worker_archtype arch);

/* How many workers a resize takes from a context: its granularity, or what it has above its maximum; never
 * more than may leave. */
int sc_hypervisor_compute_nworkers_to_move(unsigned req_sched_ctx);

/* ---- Resizing by the conditions of the contexts ---- */

/* Move that many workers (fewer, if the receiver has no room), lock the role meanwhile. force_resize: wait
 * for the role, and do not mind MIN_TASKS. Returns 1 if workers move. */
unsigned sc_hypervisor_policy_resize(unsigned sender_sched_ctx, unsigned receiver_sched_ctx,
                                     unsigned force_resize, unsigned now);

/* Same, to a context with unfinished tasks, the least in priority of those with room. Returns 1 if workers
 * move; 0 also when there is no such context. */
unsigned sc_hypervisor_policy_resize_to_unknown_receiver(unsigned sender_sched_ctx, unsigned now);

/* ---- Speeds, in Gflop/s; -1: the sample is not complete ---- */

/* Of a context, over the sample; of a worker in it, while it ran tasks (-1 also: there is no such worker);
 * the mean of its workers of a kind: CPUs are one kind, all others the other. */
double sc_hypervisor_get_ctx_speed(struct sc_hypervisor_wrapper *sc_w);
double sc_hypervisor_get_speed_per_worker(struct sc_hypervisor_wrapper *sc_w, unsigned worker);
double sc_hypervisor_get_speed_per_worker_type(struct sc_hypervisor_wrapper *sc_w,
                                               enum starpu_worker_archtype arch);
/* As it was last known, from earlier samples too; -1: never. */
double sc_hypervisor_get_ref_speed_per_worker_type(struct sc_hypervisor_wrapper *sc_w,
                                                   enum starpu_worker_archtype arch);
/* Mean over all contexts since they were registered; -1: nothing was measured. */
double sc_hypervisor_get_avg_speed(enum starpu_worker_archtype arch);

/* Seconds since the beginning of the sample, of the context where it is longest, or shortest. */
double sc_hypervisor_get_slowest_ctx_exec_time(void);
double sc_hypervisor_get_fastest_ctx_exec_time(void);

/* ---- Kinds of workers ---- */

/* What kinds these workers (NULL: all) are of; for the caller to free(). NULL: out of memory. */
struct types_of_workers *sc_hypervisor_get_types_of_workers(int *workers, unsigned nworkers);
/* total_nw[i]: workers of kind i, for i below tw->nw. The others: the kind that an index stands for (any
 * accelerator: the first kind that there is), and the index of a kind, 0 where there are workers of one sort
 * only. */
void sc_hypervisor_group_workers_by_type(struct types_of_workers *tw, int *total_nw);
enum starpu_worker_archtype sc_hypervisor_get_arch_for_index(unsigned w, struct types_of_workers *tw);
unsigned sc_hypervisor_get_index_for_arch(enum starpu_worker_archtype arch, struct types_of_workers *tw);
/* Set consider_max of each context: whether its max_nworkers is less than there are workers. */
void sc_hypervisor_check_if_consider_max(struct types_of_workers *tw);

/* ---- Is it time to resize? ---- */

/* Returns what was set (SC_HYPERVISOR_TRIGGER_RESIZE): SC_NOTHING, SC_IDLE or SC_SPEED. */
unsigned sc_hypervisor_get_resize_criteria(void);
/* By that criterion? Never by SC_NOTHING. */
unsigned sc_hypervisor_criteria_fulfilled(unsigned sched_ctx, int worker);
/* Has the worker been idle for longer than its max_idle in this context? */
unsigned sc_hypervisor_check_idle(unsigned sched_ctx, int worker);
/* Is a context's speed off what it should be by more than SC_HYPERVISOR_MAX_SPEED_GAP %: by a linear program,
 * if total_flops are known; else, by the fastest context? NULL and -1: all contexts, all workers. */
unsigned sc_hypervisor_check_speed_gap_btw_ctxs(unsigned *sched_ctxs, int nsched_ctxs, int *workers,
                                                int nworkers);
/* The same question for the contexts of a level; *sched_ctxs as by sc_hypervisor_get_ctxs_on_level(). */
unsigned sc_hypervisor_check_speed_gap_btw_ctxs_on_level(int level, int *workers_in, int nworkers_in,
                                                         unsigned parent_sched_ctx_id, unsigned **sched_ctxs,
                                                         int *nsched_ctxs);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
