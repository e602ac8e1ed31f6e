/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_scheduler.h: what a scheduling policy provides, and what it may call.
 *
 * Threads: stated per method below; the functions may be called by any thread unless they say otherwise, in
 * methods, task bodies and callbacks too. None waits for tasks.
 * Owns: nothing.
 * Not here: contexts (starpu_sched_ctx.h).
 */
#ifndef STARPU_SCHEDULER_H
#define STARPU_SCHEDULER_H

#include <starpu_data.h>
#include <starpu_task.h>
#include <starpu_thread.h>
#include <starpu_worker.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct starpu_task;
struct starpu_codelet;
struct starpu_perfmodel;
struct starpu_perfmodel_arch;

/* A scheduling policy, for starpu_conf::sched_policy or a context. It must outlive its use. All but push_task
 * may be NULL.
 *
 * A task goes through submit_hook, push_task, pop_task, pre_exec_hook, post_exec_hook; one with
 * execute_on_a_specific_worker has push_task_notify instead of push_task and pop_task. */
struct starpu_sched_policy {
    /* Called first, by the thread that makes the context, before it has workers. */
    void (*init_sched)(unsigned sched_ctx_id);

    /* Called last, when the context has no workers and no tasks. */
    void (*deinit_sched)(unsigned sched_ctx_id);

    /* Take a task that has become ready. Called by the thread that made it so: several at once, with no lock
     * held, workers among them. The task is the policy's until pop_task returns it. The policy then wakes a
     * worker that can run it. Returns 0, or a negative error: the policy has not taken it; it is said once,
     * and the task runs on a worker that can. */
    int (*push_task)(struct starpu_task *);

    /* When would this task end if it were pushed now, in us? Changes nothing. Never called: nothing asks. */
    double (*simulate_push_task)(struct starpu_task *);

    /* Notice that a task was put on a worker without the policy's doing. */
    void (*push_task_notify)(struct starpu_task *, int workerid, int perf_workerid, unsigned sched_ctx_id);

    /* Give the calling worker a task, or NULL: then it sleeps until it is woken. Called with the worker's own
     * mutex held; the policy may release it if it takes it again before deciding to return NULL. NULL:
     * workers run only what was put in their local queues by starpu_push_local_task(). */
    struct starpu_task *(*pop_task)(unsigned sched_ctx_id);

    /* Give the calling worker all tasks there are, chained by their field next, or NULL. Called like pop_task
     * where there is no pop_task, and when the last worker has left the context. */
    struct starpu_task *(*pop_every_task)(unsigned sched_ctx_id);

    /* Notice that a task was submitted. Called by the thread that submits it. */
    void (*submit_hook)(struct starpu_task *task);

    /* Notice that the calling worker is about to run a task, whose data is there, and has run it. */
    void (*pre_exec_hook)(struct starpu_task *, unsigned sched_ctx_id);
    void (*post_exec_hook)(struct starpu_task *, unsigned sched_ctx_id);

    /* It is a good time to decide: starpu_do_schedule() was called, or the program waits for its tasks. */
    void (*do_schedule)(unsigned sched_ctx_id);

    /* Forget what was decided, as after a change of the tasks' parameters. */
    void (*reset_scheduler)(unsigned sched_ctx_id);

    /* Workers enter and leave the context. None of them is then inside push_task or pop_task. */
    void (*add_workers)(unsigned sched_ctx_id, int *workerids, unsigned nworkers);
    void (*remove_workers)(unsigned sched_ctx_id, int *workerids, unsigned nworkers);

    int prefetches; /* the policy asks itself for the data of the tasks it places; 0: starpu_push_local_task
                       does */

    const char *policy_name;        /* what STARPU_SCHED calls it */
    const char *policy_description; /* one line for people */

    enum starpu_worker_collection_type worker_type; /* how the context keeps its workers */
};

/* ---- Policies there are ---- */

/* The built-in policies, ended by NULL; the library's. */
struct starpu_sched_policy **starpu_sched_get_predefined_policies(void);

/* The policy in use: of the main context, of a context. The program's struct, or the library's of a built-in
 * policy; NULL: there is no such context, or it has no policy. */
struct starpu_sched_policy *starpu_sched_get_sched_policy(void);
struct starpu_sched_policy *starpu_sched_get_sched_policy_in_ctx(unsigned sched_ctx_id);

/* ---- Waking workers ---- */

/* The mutex and condition on which a worker sleeps, the library's; NULL: there is no such worker. */
void starpu_worker_get_sched_condition(int workerid, starpu_pthread_mutex_t **sched_mutex,
                                       starpu_pthread_cond_t **sched_cond);

/* Wake a worker, so that it calls pop_task. Returns 1 if it slept, else 0, as for a number that is none.
 * Forms: with the worker's mutex held by the caller; taking that mutex; taking it while the caller is
 * relaxed, so that two workers may wake each other; the other two do the same. */
int starpu_wake_worker_locked(int workerid);
int starpu_wake_worker_no_relax(int workerid);
int starpu_wake_worker_relax(int workerid);
int starpu_wake_worker_relax_light(int workerid);
int starpu_wake_worker(int workerid);

/* ---- Handling tasks ---- */

/* A number of the task, unique in this process; 0: NULL, or out of memory. */
unsigned long starpu_task_get_job_id(struct starpu_task *task);

/* Range of priorities of the current context; the setters are for init_sched. The setters return 0. */
int starpu_sched_get_min_priority(void);
int starpu_sched_get_max_priority(void);
int starpu_sched_set_min_priority(int min_prio);
int starpu_sched_set_max_priority(int max_prio);

/* Can the worker run implementation nimpl of the task? A policy must ask before it chooses a worker. */
int starpu_worker_can_execute_task(unsigned workerid, struct starpu_task *task, unsigned nimpl);

/* Can it run any? Writes a mask of those (0: none),
 * or the first one (if there is one), unless that is NULL. */
int starpu_worker_can_execute_task_impl(unsigned workerid, struct starpu_task *task, unsigned *impl_mask);
int starpu_worker_can_execute_task_first_impl(unsigned workerid, struct starpu_task *task, unsigned *nimpl);

/* Put a task in a worker's local queue, which it looks at before it calls pop_task, and wake it. With back,
 * at the end from which tasks are taken (last in, first out); without, in order. Returns 0; -EINVAL, said in
 * one line: no such worker, or it cannot run the task, or the task is not the policy's to give. */
int starpu_push_local_task(int workerid, struct starpu_task *task, int back);

/* To be called at the end of push_task: the task is now where pop_task will find it. Returns 0. */
int starpu_push_task_end(struct starpu_task *task);

/* Stop the debugger here if the task is the one to stop at (STARPU_TASK_BREAK_ON_SCHED). */
void starpu_sched_task_break(struct starpu_task *task);

/* ---- Bringing data near before the task runs ---- */

/* Should policies ask for data in advance (STARPU_PREFETCH: 1, the default, or 0)? */
int starpu_get_prefetch_flag(void);

/* Ask for the data of a task: on a memory node, or where a worker would use them; with the task's priority or
 * a given one. The idle forms use only links that have nothing else to do. Nothing waits. Return 0, also for
 * a node or worker that there is not, and for want of memory: the task then fetches them itself. */
int starpu_prefetch_task_input_on_node_prio(struct starpu_task *task, unsigned node, int prio);
int starpu_prefetch_task_input_on_node(struct starpu_task *task, unsigned node);
int starpu_idle_prefetch_task_input_on_node_prio(struct starpu_task *task, unsigned node, int prio);
int starpu_idle_prefetch_task_input_on_node(struct starpu_task *task, unsigned node);
int starpu_prefetch_task_input_for_prio(struct starpu_task *task, unsigned worker, int prio);
int starpu_prefetch_task_input_for(struct starpu_task *task, unsigned worker);
int starpu_idle_prefetch_task_input_for_prio(struct starpu_task *task, unsigned worker, int prio);
int starpu_idle_prefetch_task_input_for(struct starpu_task *task, unsigned worker);

/* ---- What a task should cost: times in us, energies in J; NAN: the model wants to be calibrated ---- */

/* Key of a task in its model's history: with the model's own size or footprint function;
 * from the data alone. */
uint32_t starpu_task_footprint(struct starpu_perfmodel *model, struct starpu_task *task,
                               struct starpu_perfmodel_arch *arch, unsigned nimpl);
uint32_t starpu_task_data_footprint(struct starpu_task *task);

/* Time of a task: on an architecture; on a worker; on the workers on average (the harmonic mean of each one's
 * best implementation; NAN: known of none). 0 for a task without codelet, or without model; NAN where the
 * model does not know yet, or there is no such architecture, worker or implementation. sched_ctx_id makes no
 * difference. */
double starpu_task_expected_length(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                                   unsigned nimpl);
double starpu_task_worker_expected_length(struct starpu_task *task, unsigned workerid, unsigned sched_ctx_id,
                                          unsigned nimpl);
double starpu_task_expected_length_average(struct starpu_task *task, unsigned sched_ctx_id);

/* The same of its energy, by the codelet's energy_model. */
double starpu_task_expected_energy(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                                   unsigned nimpl);
double starpu_task_worker_expected_energy(struct starpu_task *task, unsigned workerid, unsigned sched_ctx_id,
                                          unsigned nimpl);
double starpu_task_expected_energy_average(struct starpu_task *task, unsigned sched_ctx_id);

/* Speed of a kind of unit, relative to a CPU core: a rough guess by kind. */
double starpu_worker_get_relative_speedup(struct starpu_perfmodel_arch *perf_arch);

/* Time to bring the data of a task, or one datum, to a memory node or to a worker (NAN: there is no such
 * worker). 0: it is there or on its way, is only written, or there is no such node. */
double starpu_task_expected_data_transfer_time(unsigned memory_node, struct starpu_task *task);
double starpu_task_expected_data_transfer_time_for(struct starpu_task *task, unsigned worker);
double starpu_data_expected_transfer_time(starpu_data_handle_t handle, unsigned memory_node,
                                          enum starpu_data_access_mode mode);

/* Time to convert the task's multiformat data for a worker of an architecture, from where and how they are
 * now. NaN: no model knows. */
double starpu_task_expected_conversion_time(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                                            unsigned nimpl);

/* Say that the lists of this worker in this context are shared with other workers, as with a central queue:
 * when it leaves the context, its tasks stay there. Those of a worker that shares none are popped in its
 * name, and pushed again. */
void starpu_sched_ctx_worker_shares_tasks_lists(int workerid, int sched_ctx_id);

/* ---- Tasks that are about to be ready ---- */

/* Called when a task starts and the time it takes is known, for each task that waits for it alone: it will be
 * ready in about `delay` us. On the worker that starts it, with no lock held; it must not block. */
typedef void (*starpu_notify_ready_soon_func)(void *data, struct starpu_task *task, double delay);

/* Have f called with data; one function at a time, the last that was given. NULL: none. */
void starpu_task_notify_ready_soon_register(starpu_notify_ready_soon_func f, void *data);

/* ---- Policies in a shared library (STARPU_SCHED_LIB) ----
 *
 * The library defines one of these, or both: the policy of a name, or NULL; all it has, ended by NULL.
 * STARPU_SCHED, starpu_conf::sched_policy_name and the policy names of contexts then also mean these, and
 * mean them first. They are not in this library: only such a plug-in has them. */
struct starpu_sched_policy *starpu_get_sched_lib_policy(const char *name);
struct starpu_sched_policy **starpu_get_sched_lib_policies(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
