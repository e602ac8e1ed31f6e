/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_sched_ctx.h: scheduling contexts: sets of workers, each with its own policy and tasks.
 *
 * Threads: any, unless a function says otherwise.
 * Owns: nothing.
 * Not here: moving workers between contexts automatically (sc_hypervisor.h).
 *
 * Contexts are numbered from 0, the main one, which starpu_init() makes of all workers. A worker may be in
 * several: it serves those of the highest priority first (starpu_sched_ctx_set_priority(), then the level in
 * the hierarchy), equals in turn. Joining one does not make it leave another; so all stay in the main
 * context, unless the program removes them from it. Tasks of a context without workers wait for some.
 *
 * A worker changes contexts between two tasks. Calls that change them return when that was done; those made
 * in a task, a callback or a method of a policy return at once, and the worker that makes one follows when it
 * has ended what it does. The last call counts,
 * whatever became of those before it. Nobody else stops. */
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

/* ---- Arguments of starpu_sched_ctx_create(), each followed by its value ----
 *
 * With neither a policy's name nor a struct, the context is one resource: its first CPU worker runs its
 * tasks, one at a time; the others stand by, out of all other contexts,
 * so that the task may use their cores. */

#define STARPU_SCHED_CTX_POLICY_NAME (1 << 16)     /* const char *: name of a policy; "": the default one */
#define STARPU_SCHED_CTX_POLICY_STRUCT (2 << 16)   /* struct starpu_sched_policy * */
#define STARPU_SCHED_CTX_POLICY_MIN_PRIO (3 << 16) /* int */
#define STARPU_SCHED_CTX_POLICY_MAX_PRIO (4 << 16) /* int */
#define STARPU_SCHED_CTX_HIERARCHY_LEVEL                                                                     \
    (5 << 16) /* unsigned: depth below the main context; workers                                             \
               * look in deeper ones first */
#define STARPU_SCHED_CTX_NESTED                                                                              \
    (6 << 16) /* unsigned: the context it is part of, and that                                               \
               * inherits its workers */
#define STARPU_SCHED_CTX_AWAKE_WORKERS                                                                       \
    (7 << 16)                                  /* no value: without a policy, all CPU workers run            \
                                                * the body of each task */
#define STARPU_SCHED_CTX_POLICY_INIT (8 << 16) /* void (*)(unsigned): called after init_sched */
#define STARPU_SCHED_CTX_USER_DATA (9 << 16)   /* void * */
#define STARPU_SCHED_CTX_CUDA_NSMS                                                                           \
    (10 << 16)                               /* int: multiprocessors of the GPU, for its tasks to            \
                                              * know */
#define STARPU_SCHED_CTX_SUB_CTXS (11 << 16) /* unsigned *, int: contexts that are parts of it */

/* ---- Making and ending ---- */

/* Make a context of the workers given (nworkers_ctx of -1: all; a NULL array: the first ones), named for
 * messages; further arguments as above, ended by 0. Returns its number; STARPU_NMAX_SCHED_CTXS, with a
 * message: an argument is wrong, there are too many contexts, there is no memory. Blocks until the workers
 * are there. */
unsigned starpu_sched_ctx_create(int *workerids_ctx, int nworkers_ctx, const char *sched_ctx_name, ...);

/* The same with workers that are in no context but the main one: as many CPU workers and accelerators as
 * there are up to max. With allow_overlap also others, if these do not suffice. Returns the same;
 * STARPU_NMAX_SCHED_CTXS also if there are fewer than min. */
unsigned starpu_sched_ctx_create_inside_interval(const char *policy_name, const char *sched_ctx_name,
                                                 int min_ncpus, int max_ncpus, int min_ngpus, int max_ngpus,
                                                 unsigned allow_overlap);

/* Have a function called once: when the last task has ended after starpu_sched_ctx_finished_submit(), on the
 * thread that ended it; else when the context is deleted. */
void starpu_sched_ctx_register_close_callback(unsigned sched_ctx_id,
                                              void (*close_callback)(unsigned sched_ctx_id, void *args),
                                              void *args);

/* Add workers to a context, or take them away. Tasks that were queued for a worker that leaves go to the
 * others, or wait for others. Wait until the workers have ended what they run; in tasks, callbacks, methods
 * of policies they do not, and it happens later. Workers that there are not are left out, with a message; a
 * context that is being deleted is refused with one. */
void starpu_sched_ctx_add_workers(int *workerids_ctx, unsigned nworkers_ctx, unsigned sched_ctx_id);
void starpu_sched_ctx_remove_workers(int *workerids_ctx, unsigned nworkers_ctx, unsigned sched_ctx_id);

/* Say which context gets the workers when this one ends. Not said: the one in which it is nested; else they
 * stay in the others where they are, or go to the main one. */
void starpu_sched_ctx_set_inheritor(unsigned sched_ctx_id, unsigned inheritor);

/* What was said; STARPU_NMAX_SCHED_CTXS: nothing. */
unsigned starpu_sched_ctx_get_inheritor(unsigned sched_ctx_id);

/* Say that no more tasks will be submitted here: the workers go to the inheritor when the last one has ended.
 * Nothing happens for the main context. */
void starpu_sched_ctx_finished_submit(unsigned sched_ctx_id);

/* Wait for the tasks of a context and end it; its workers go to the inheritor. If it has none, the
 * inheritor's end its tasks. Blocks: in tasks, callbacks and methods of policies it is refused with a
 * message, as it is for the main context. */
void starpu_sched_ctx_delete(unsigned sched_ctx_id);

/* Accepted and not needed: tasks of contexts without workers wait until there are some. */
void starpu_sched_ctx_stop_task_submission(void);

/* ---- The context of a thread and of a task ---- */

/* Make a context the one to which this thread submits, from now on. NULL, or STARPU_NMAX_SCHED_CTXS: the main
 * one. A number that is no context's is refused with a message, and changes nothing. */
void starpu_sched_ctx_set_context(unsigned *sched_ctx_id);

/* The context to which this thread submits; STARPU_NMAX_SCHED_CTXS: none was set, so that it is the main one.
 * And the context of a task. */
unsigned starpu_sched_ctx_get_context(void);
unsigned starpu_sched_ctx_get_ctx_for_task(struct starpu_task *task);

/* ---- Workers of a context: as they are at this moment, since others may be moving them; where there is no
 * such context, 0 ---- */

/* Print the workers of a context. */
void starpu_sched_ctx_display_workers(unsigned sched_ctx_id, FILE *f);

/* Number of its workers; of those that two contexts share. */
unsigned starpu_sched_ctx_get_nworkers(unsigned sched_ctx_id);
unsigned starpu_sched_ctx_get_nshared_workers(unsigned sched_ctx_id, unsigned sched_ctx_id2);

/* The workers as an array: a new one, for the caller to free(); or the library's own, which stays as it is,
 * whatever changes, until the context ends. Return its length; 0, and NULL: none, or no memory. */
unsigned starpu_sched_ctx_get_workers_list(unsigned sched_ctx_id, int **workerids);
unsigned starpu_sched_ctx_get_workers_list_raw(unsigned sched_ctx_id, int **workerids);

/* Is the worker in the context? Is one of that kind? */
unsigned starpu_sched_ctx_contains_worker(int workerid, unsigned sched_ctx_id);
unsigned starpu_sched_ctx_contains_type_of_worker(enum starpu_worker_archtype arch, unsigned sched_ctx_id);

/* The calling worker, if it is in the context: its number (-1, as unsigned, if not); its rank there (-1). */
unsigned starpu_sched_ctx_worker_get_id(unsigned sched_ctx_id);
int starpu_sched_ctx_get_worker_rank(unsigned sched_ctx_id);

/* Is the worker in more than one context? */
unsigned starpu_sched_ctx_overlapping_ctxs_on_worker(int workerid);

/* The priority of a context among those of a worker, 0 if not set: a worker of several contexts looks for
 * tasks in those of the highest first. Then in those of the highest level of the hierarchy. */
void starpu_sched_ctx_set_priority(int *workers, int nworkers, unsigned sched_ctx_id, unsigned priority);
unsigned starpu_sched_ctx_get_priority(int worker, unsigned sched_ctx_id);
unsigned starpu_sched_ctx_get_hierarchy_level(unsigned sched_ctx_id);

/* ---- The cores of a context for the program's own parallel code ---- */

/* Has the context a policy (1, else 0)? Writes whether STARPU_SCHED_CTX_AWAKE_WORKERS was given,
 * unless NULL. */
unsigned starpu_sched_ctx_has_starpu_scheduler(unsigned sched_ctx_id, unsigned *awake_workers);

/* Have these workers of the context stand by for a parallel task of the first of them, whose number is
 * returned (-1: none is in the context), and let them go. Those that are booked already are left out. Wait
 * for what these run, as starpu_sched_ctx_add_workers() does. */
int starpu_sched_ctx_book_workers_for_task(unsigned sched_ctx_id, int *workerids, int nworkers);
void starpu_sched_ctx_unbook_workers_for_task(unsigned sched_ctx_id, int master);

/* The context, of those without a policy, whose tasks this worker runs: any, or among those nested in a
 * context. STARPU_NMAX_SCHED_CTXS: none. The names of StarPU 1.3, and those that came later. */
unsigned starpu_sched_ctx_master_get_context(int masterid);
unsigned starpu_sched_ctx_worker_is_master_for_child_ctx(int workerid, unsigned sched_ctx_id);
#define starpu_sched_ctx_primary_get_context starpu_sched_ctx_master_get_context
#define starpu_sched_ctx_worker_is_primary_for_child_ctx starpu_sched_ctx_worker_is_master_for_child_ctx

/* Run func(param) on the calling thread, bound to a core of the context, while its workers stand still.
 * Blocks; returns its result. Not in tasks. */
void *starpu_sched_ctx_exec_parallel_code(void *(*func)(void *), void *param, unsigned sched_ctx_id);

/* Processing units of the context, as a new array for the caller to free(); bind the caller to one. */
void starpu_sched_ctx_get_available_cpuids(unsigned sched_ctx_id, int **cpuids, int *ncpuids);
void starpu_sched_ctx_bind_current_thread_to_cpuid(unsigned cpuid);

/* The multiprocessors of a GPU that a context was given with STARPU_SCHED_CTX_CUDA_NSMS: how many (0: not
 * said); the first, and the one after the last, for a worker of such a context (-1 if it is in none):
 * contexts get theirs one after another; the worker of such a context (-1: none). */
int starpu_sched_ctx_get_nsms(unsigned sched_ctx);
void starpu_sched_ctx_get_sms_interval(int stream_workerid, int *start, int *end);
int starpu_sched_ctx_get_stream_worker(unsigned sub_ctx);

/* ---- Data of a policy, and of the program ---- */

/* What init_sched allocated for this context: the policy's; NULL at first, and, after a message, where there
 * is no such context. */
void starpu_sched_ctx_set_policy_data(unsigned sched_ctx_id, void *policy_data);
void *starpu_sched_ctx_get_policy_data(unsigned sched_ctx_id);

/* A pointer of the program's (STARPU_SCHED_CTX_USER_DATA), never read by the library; NULL: none, or no such
 * context. */
void starpu_sched_ctx_set_user_data(unsigned sched_ctx_id, void *user_data);
void *starpu_sched_ctx_get_user_data(unsigned sched_ctx_id);

/* The struct of the policy: the program's, or the library's own of a built-in one. */
struct starpu_sched_policy *starpu_sched_ctx_get_sched_policy(unsigned sched_ctx_id);

/* The function given as STARPU_SCHED_CTX_POLICY_INIT; NULL: none. */
void (*starpu_sched_ctx_get_sched_policy_callback(unsigned sched_ctx_id))(unsigned);
#define starpu_sched_ctx_get_sched_policy_init starpu_sched_ctx_get_sched_policy_callback

/* Workers of the context as a collection; init_sched makes it, deinit_sched deletes it, add_workers fills it.
 * Every context has one already: the first returns that, of the type asked for while it is empty, the second
 * does nothing. It lives as long as the context. NULL: there is no such context, or no memory. */
struct starpu_worker_collection *starpu_sched_ctx_create_worker_collection(
    unsigned sched_ctx_id, enum starpu_worker_collection_type type) STARPU_ATTRIBUTE_MALLOC;
void starpu_sched_ctx_delete_worker_collection(unsigned sched_ctx_id);
struct starpu_worker_collection *starpu_sched_ctx_get_worker_collection(unsigned sched_ctx_id);

/* ---- Tasks of a context ---- */

/* Tasks of the context that are ready or running (of the main one, about), and the sum of their flops (of the
 * main one, 0). */
int starpu_sched_ctx_get_nready_tasks(unsigned sched_ctx_id);
double starpu_sched_ctx_get_nready_flops(unsigned sched_ctx_id);

/* From a policy that holds the task: give it to another context, and with_repush to that one's policy;
 * without, the caller has it. And: count one ready task of that many flops less in a context that is not the
 * main one. */
void starpu_sched_ctx_move_task_to_ctx_locked(struct starpu_task *task, unsigned sched_ctx,
                                              unsigned with_repush);
void starpu_sched_ctx_revert_task_counters_ctx_locked(unsigned sched_ctx_id, double flops);

/* Accepted from policies that count their tasks for workers of several contexts. Not needed: a worker looks
 * in all its contexts. */
void starpu_sched_ctx_list_task_counters_increment(unsigned sched_ctx_id, int workerid);
void starpu_sched_ctx_list_task_counters_decrement(unsigned sched_ctx_id, int workerid);
void starpu_sched_ctx_list_task_counters_reset(unsigned sched_ctx_id, int workerid);
void starpu_sched_ctx_list_task_counters_increment_all_ctx_locked(struct starpu_task *task,
                                                                  unsigned sched_ctx_id);
void starpu_sched_ctx_list_task_counters_decrement_all_ctx_locked(struct starpu_task *task,
                                                                  unsigned sched_ctx_id);
void starpu_sched_ctx_list_task_counters_reset_all(struct starpu_task *task, unsigned sched_ctx_id);

/* ---- Priorities ---- */

/* The least and the most urgent priority of a context; 0, after a message: there is no such context. */
int starpu_sched_ctx_get_min_priority(unsigned sched_ctx_id);
int starpu_sched_ctx_get_max_priority(unsigned sched_ctx_id);

/* Set one of them: for policies, in init_sched. Return 0; -EINVAL: there is no such context. */
int starpu_sched_ctx_set_min_priority(unsigned sched_ctx_id, int min_prio);
int starpu_sched_ctx_set_max_priority(unsigned sched_ctx_id, int max_prio);

/* Has the context a range of priorities, set by the program, the environment or the policy? Both ask the
 * same. */
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
