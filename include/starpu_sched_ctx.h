/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_sched_ctx.h: scheduling contexts: sets of workers, each with its own policy and tasks.
 *
 * Threads: any, unless a function says otherwise.
 * Owns: nothing.
 * Not here: moving workers between contexts automatically (sc_hypervisor.h).
 *
 * Contexts are numbered from 0, which is the one that starpu_init() makes of all workers. A worker is in one
 * context: it leaves the one where it was. Changes of contexts wait until running tasks have ended; not in
 * tasks or callbacks. Tasks of a context without workers wait for some; those of the main context run in
 * another.
 */
#ifndef STARPU_SCHED_CTX_H
#define STARPU_SCHED_CTX_H

#include <starpu_scheduler.h>
#include <starpu_util.h>
#include <starpu_worker.h>

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct starpu_task;
struct starpu_sched_policy;

/* ---- Arguments of starpu_sched_ctx_create(), each followed by its value. HIERARCHY_LEVEL, NESTED,
 * AWAKE_WORKERS, CUDA_NSMS, SUB_CTXS change nothing in this version. No policy: the default one ---- */

#define STARPU_SCHED_CTX_POLICY_NAME (1 << 16)     /* const char *: name of a policy */
#define STARPU_SCHED_CTX_POLICY_STRUCT (2 << 16)   /* struct starpu_sched_policy * */
#define STARPU_SCHED_CTX_POLICY_MIN_PRIO (3 << 16) /* int */
#define STARPU_SCHED_CTX_POLICY_MAX_PRIO (4 << 16) /* int */
#define STARPU_SCHED_CTX_HIERARCHY_LEVEL (5 << 16) /* unsigned: depth below the main context */
#define STARPU_SCHED_CTX_NESTED (6 << 16)          /* unsigned: the context that gives it its workers */
#define STARPU_SCHED_CTX_AWAKE_WORKERS (7 << 16)   /* no value: without a policy, keep the workers running */
#define STARPU_SCHED_CTX_POLICY_INIT (8 << 16)     /* void (*)(unsigned): called after init_sched */
#define STARPU_SCHED_CTX_USER_DATA (9 << 16)       /* void * */
#define STARPU_SCHED_CTX_CUDA_NSMS (10 << 16)      /* int: multiprocessors of the GPU to use */
#define STARPU_SCHED_CTX_SUB_CTXS (11 << 16)       /* unsigned *, int: contexts that share the GPU */

/* ---- Making and ending ---- */

/* Make a context of the workers given (nworkers_ctx of -1, or a NULL array: all), named for messages; further
 * arguments as above, ended by 0. Returns its number; STARPU_NMAX_SCHED_CTXS: there are too many. May block.
 */
unsigned starpu_sched_ctx_create(int *workerids_ctx, int nworkers_ctx, const char *sched_ctx_name, ...);

/* Have a function called when the context is deleted. */
void starpu_sched_ctx_register_close_callback(unsigned sched_ctx_id,
                                              void (*close_callback)(unsigned sched_ctx_id, void *args),
                                              void *args);

/* Add workers to a context, or take them away once they have ended their tasks there. */
void starpu_sched_ctx_add_workers(int *workerids_ctx, unsigned nworkers_ctx, unsigned sched_ctx_id);
void starpu_sched_ctx_remove_workers(int *workerids_ctx, unsigned nworkers_ctx, unsigned sched_ctx_id);

/* Say which context gets the workers when this one ends. */
void starpu_sched_ctx_set_inheritor(unsigned sched_ctx_id, unsigned inheritor);
unsigned starpu_sched_ctx_get_inheritor(unsigned sched_ctx_id);

/* Say that no more tasks will be submitted here: the workers go to the inheritor, at once if no task is left,
 * else when the context is deleted. */
void starpu_sched_ctx_finished_submit(unsigned sched_ctx_id);

/* Wait for the tasks of a context and end it; its workers go to the inheritor. Blocks. */
void starpu_sched_ctx_delete(unsigned sched_ctx_id);

/* ---- The context of a thread and of a task ---- */

/* Make a context the one to which this thread submits; NULL: the main one. */
void starpu_sched_ctx_set_context(unsigned *sched_ctx_id);

/* The context in which this thread submits, or whose task it runs; STARPU_NMAX_SCHED_CTXS: none was set. */
unsigned starpu_sched_ctx_get_context(void);
unsigned starpu_sched_ctx_get_ctx_for_task(struct starpu_task *task);

/* ---- Workers of a context ---- */

void starpu_sched_ctx_display_workers(unsigned sched_ctx_id, FILE *f);
unsigned starpu_sched_ctx_get_nworkers(unsigned sched_ctx_id);
unsigned starpu_sched_ctx_get_nshared_workers(unsigned sched_ctx_id, unsigned sched_ctx_id2);

/* The workers as an array: a new one, for the caller to free(); or the library's own, which may change.
 * Return its length. */
unsigned starpu_sched_ctx_get_workers_list(unsigned sched_ctx_id, int **workerids);
unsigned starpu_sched_ctx_get_workers_list_raw(unsigned sched_ctx_id, int **workerids);

unsigned starpu_sched_ctx_contains_worker(int workerid, unsigned sched_ctx_id);
unsigned starpu_sched_ctx_contains_type_of_worker(enum starpu_worker_archtype arch, unsigned sched_ctx_id);

/* The calling worker, if it is in the context: its number (-1, as unsigned, if not); its rank there (-1). */
unsigned starpu_sched_ctx_worker_get_id(unsigned sched_ctx_id);
int starpu_sched_ctx_get_worker_rank(unsigned sched_ctx_id);

/* Is the worker in more than one context? */
unsigned starpu_sched_ctx_overlapping_ctxs_on_worker(int workerid);

/* ---- The cores of a context for the program's own parallel code ---- */

unsigned starpu_sched_ctx_has_starpu_scheduler(unsigned sched_ctx_id, unsigned *awake_workers);

/* Run func(param) on the calling thread, bound to a core of the context, while its workers stand still.
 * Blocks; returns its result. Not in tasks. */
void *starpu_sched_ctx_exec_parallel_code(void *(*func)(void *), void *param, unsigned sched_ctx_id);

/* Processing units of the context, as a new array for the caller to free(); bind the caller to one. */
void starpu_sched_ctx_get_available_cpuids(unsigned sched_ctx_id, int **cpuids, int *ncpuids);
void starpu_sched_ctx_bind_current_thread_to_cpuid(unsigned cpuid);

/* ---- Data of a policy, and of the program ---- */

/* What init_sched allocated for this context; borrowed. */
void starpu_sched_ctx_set_policy_data(unsigned sched_ctx_id, void *policy_data);
void *starpu_sched_ctx_get_policy_data(unsigned sched_ctx_id);

void starpu_sched_ctx_set_user_data(unsigned sched_ctx_id, void *user_data);
void *starpu_sched_ctx_get_user_data(unsigned sched_ctx_id);

struct starpu_sched_policy *starpu_sched_ctx_get_sched_policy(unsigned sched_ctx_id);

/* The function given as STARPU_SCHED_CTX_POLICY_INIT. */
void (*starpu_sched_ctx_get_sched_policy_callback(unsigned sched_ctx_id))(unsigned);
#define starpu_sched_ctx_get_sched_policy_init starpu_sched_ctx_get_sched_policy_callback

/* Workers of the context as a collection; init_sched makes it, deinit_sched deletes it, add_workers fills it.
 */
struct starpu_worker_collection *starpu_sched_ctx_create_worker_collection(
    unsigned sched_ctx_id, enum starpu_worker_collection_type type) STARPU_ATTRIBUTE_MALLOC;
void starpu_sched_ctx_delete_worker_collection(unsigned sched_ctx_id);
struct starpu_worker_collection *starpu_sched_ctx_get_worker_collection(unsigned sched_ctx_id);

/* ---- Tasks of a context ---- */

/* Say how many tasks of this context wait for a worker, so that a worker of several contexts looks where
 * there are some: one more, one fewer, none; for one worker, or for all that could run the task. _locked:
 * called from push_task or pop_task with the worker's mutex held. */
void starpu_sched_ctx_list_task_counters_increment(unsigned sched_ctx_id, int workerid);
void starpu_sched_ctx_list_task_counters_decrement(unsigned sched_ctx_id, int workerid);
void starpu_sched_ctx_list_task_counters_reset(unsigned sched_ctx_id, int workerid);
void starpu_sched_ctx_list_task_counters_increment_all_ctx_locked(struct starpu_task *task,
                                                                  unsigned sched_ctx_id);
void starpu_sched_ctx_list_task_counters_decrement_all_ctx_locked(struct starpu_task *task,
                                                                  unsigned sched_ctx_id);
void starpu_sched_ctx_list_task_counters_reset_all(struct starpu_task *task, unsigned sched_ctx_id);

/* ---- Priorities ---- */

int starpu_sched_ctx_get_min_priority(unsigned sched_ctx_id);
int starpu_sched_ctx_get_max_priority(unsigned sched_ctx_id);
int starpu_sched_ctx_set_min_priority(unsigned sched_ctx_id, int min_prio);
int starpu_sched_ctx_set_max_priority(unsigned sched_ctx_id, int max_prio);
int starpu_sched_ctx_min_priority_is_set(unsigned sched_ctx_id);
int starpu_sched_ctx_max_priority_is_set(unsigned sched_ctx_id);

/* The least and the most urgent priority of the current context, and the usual one. */
#define STARPU_MIN_PRIO (starpu_sched_get_min_priority())
#define STARPU_MAX_PRIO (starpu_sched_get_max_priority())
#define STARPU_DEFAULT_PRIO 0

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
