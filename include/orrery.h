/* SPDX-License-Identifier: BSD-3-Clause */
/* orrery.h: what Orrery offers beyond the StarPU interface.
 *
 * Threads: any, unless a function says otherwise; none blocks but orrery_joblist_wait_for_all(). Results and
 * ownership: as starpu.h says at its head.
 * Owns: nothing.
 * Not here: the StarPU interface (starpu.h, starpu_mpi.h).
 */
#ifndef ORRERY_H
#define ORRERY_H

#include <starpu.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* The version that a program is compiled against. */
#define ORRERY_VERSION_MAJOR 0
#define ORRERY_VERSION_MINOR 1
#define ORRERY_VERSION_PATCH 0
#define ORRERY_VERSION_NUMBER(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
#define ORRERY_VERSION ORRERY_VERSION_NUMBER(ORRERY_VERSION_MAJOR, ORRERY_VERSION_MINOR, ORRERY_VERSION_PATCH)

/* The version of the library that a program runs with: as a number to compare with ORRERY_VERSION; as
 * "0.1.0", a static string. At any time, starpu_init() or not. */
int orrery_version(void);
const char *orrery_version_string(void);

/* Called with each message about an error in a function that cannot return one, on the thread that made it;
 * without a hook, such an error ends the process with status 1. The message is borrowed until the hook
 * returns. fn NULL: no hook. At any time, starpu_init() or not.
 *
 * Such an error is also that of a task whose data cannot be brought to its worker: nobody wrote it, or it
 * does not fit. When the hook returns the task fails: its body does not run, and what it was to write has
 * no value until somebody writes it, so tasks that read it fail in turn; its memory may hold anything. Its
 * callbacks are called, and tasks that wait for its end go on. starpu_task_wait(),
 * starpu_task_wait_for_all() and starpu_task_submit() of a synchronous task (which remains the caller's
 * then) return an error. */
void orrery_set_error_hook(void (*fn)(const char *message, void *arg), void *arg);

/* ---- settings ---- */

/* An environment variable that the library knows. All strings are borrowed and constant but the value, which
 * is the environment's, or the runtime's until starpu_shutdown(). */
struct orrery_setting {
    const char *theme;         /* "workers", "scheduling", ... */
    const char *name;          /* of one that has no effect: a pattern with *, as the shell takes it */
    const char *default_value; /* of one that has an effect, as text */
    const char *unit;          /* likewise; what it takes: "0|1", "MiB", ... */
    const char *help;          /* what it does; why it has no effect */
    const char *value;         /* now; NULL: unset or empty, or it has no effect */
    int is_honoured;           /* 0: a variable of StarPU that has no effect here */
    const char *source;        /* of the value, if it has an effect: "environment", "starpu_conf" (the program
                                * gave it and started the runtime), "default" (value is NULL) */
};

/* The n-th of them, from 0: first those that have an effect, by theme, then the others, by theme. Returns 0;
 * -EINVAL: there are not so many. */
int orrery_setting_get(unsigned n, struct orrery_setting *setting_out);

/* ---- job lists ----
 *
 * A job is an ordinary task that was added to a list instead of submitted: its data, dependencies, models,
 * callbacks and profiling are as ever. The list adds an order. Its jobs start in the order in which they were
 * added; any number may run at a time. Between jobs there may be pairs of a signal and a wait: jobs after the
 * wait start only when all jobs before the signal have ended; those in between may run at any time. Pairs
 * follow one another: they neither nest nor overlap.
 *
 * A job starts when one worker takes it (also one of a parallel codelet), which may then have to fetch its
 * data. When the first job that has not started waits for data or for other tasks, or only for workers that
 * are busy, the list blocks: no job behind it starts before. So a job may wait for jobs before it in its
 * list, and must not wait for one behind it; who does so all the same is told by the deadlock detector.
 *
 * A worker stays with its list as long as it can take jobs from it. Then it takes up the list which the
 * fewest workers serve, among those that have a job for it; of several, the one with the most work left: by
 * performance models as far as there are any, else by the number of jobs. If first jobs differ in priority,
 * the highest priority goes first; within a list it changes nothing. Lists work beside every scheduling
 * policy: workers ask lists first, and their policy when no list has anything for them, or after 64 jobs in a
 * row.
 *
 * Threads: all functions may be called from any thread, tasks and callbacks too, but where said. Calls for
 * one list from several threads need no locks; in which order they take effect is up to the program. A list
 * belongs to one scheduling context. Examples: examples/basic/joblist.c. */
struct orrery_joblist;

/* Makes a list. name: for messages, copied, may be NULL. sched_ctx_id: the context that runs its jobs; 0 is
 * the main one, STARPU_NMAX_SCHED_CTXS that of the calling thread. Returns NULL: the runtime is not
 * initialised, there is no such context, out of memory. */
struct orrery_joblist *orrery_joblist_create(const char *name, unsigned sched_ctx_id);

/* Gives the list back: nothing more can be added. Its jobs run nevertheless, and it goes away after the last.
 * Does not block. NULL: nothing happens. Undefined: other calls for this list at the same time or later, but
 * for those of its own jobs until they have ended. */
void orrery_joblist_destroy(struct orrery_joblist *list);

/* Appends a job. The task is taken, as by starpu_task_submit(); data are ordered as if it were submitted now.
 * It runs on one worker, also with a codelet for several. A list may be added to at any time, also after all
 * its jobs have ended. Returns 0; or, with the task still the caller's and nothing done: -EINVAL (NULL, the
 * list was destroyed, the task is synchronous, regenerates, has a workerorder, is bound to a combined worker,
 * or names another context), and what starpu_task_submit() returns (-ENODEV: no worker can execute it;
 * -ENOMEM). */
int orrery_joblist_add_job(struct orrery_joblist *list, struct starpu_task *task);

/* Appends a signal, and the wait that belongs to the latest signal. Return 0; -EINVAL: the signal before has
 * no wait yet, there is no signal for this wait, NULL; -ENOMEM. */
int orrery_joblist_add_signal(struct orrery_joblist *list);
int orrery_joblist_add_wait(struct orrery_joblist *list);

/* Holds the list back: none of its jobs starts until orrery_joblist_start(); those that have started go on.
 * So a list can be filled before any of it runs: stop it when it was made. orrery_joblist_destroy() starts
 * it. Return 0; -EINVAL: NULL. */
int orrery_joblist_stop(struct orrery_joblist *list);
int orrery_joblist_start(struct orrery_joblist *list);

/* Blocks until all jobs of the list have ended, their callbacks included; also those added meanwhile. Returns
 * 0; -EIO: jobs of the list failed since this was called last (orrery_set_error_hook); -EINVAL: NULL;
 * -EDEADLK: called from a task or a callback. */
int orrery_joblist_wait_for_all(struct orrery_joblist *list);

/* How many jobs have not started, have started and not ended, have ended since the list was made; how many
 * workers serve it just now. */
struct orrery_joblist_counts {
    unsigned long waiting, running, ended;
    unsigned workers;
};
/* Returns 0, or -EINVAL: NULL. */
int orrery_joblist_get_counts(struct orrery_joblist *list, struct orrery_joblist_counts *counts_out);

/* Jobs that have not ended; 0 for NULL. */
unsigned long orrery_joblist_get_remaining(struct orrery_joblist *list);

/* What models say that the jobs which have not started will take, one after another, in us. *unknown_out (may
 * be NULL): the number of those about which models said nothing when they were added;
 * they are not counted. */
double orrery_joblist_get_remaining_us(struct orrery_joblist *list, unsigned long *unknown_out);

/* The name it was given, borrowed until it is destroyed, "" for none; its context. Of NULL: NULL, and
 * STARPU_NMAX_SCHED_CTXS. */
const char *orrery_joblist_get_name(const struct orrery_joblist *list);
unsigned orrery_joblist_get_context(const struct orrery_joblist *list);

/* ---- what the deadlock detector cannot know ----
 *
 * The runtime ends a program in which nothing can ever move again, after it has said which tasks wait for
 * what (ORRERY_ON_DEADLOCK). It does so only if that is certain: every worker is idle, every thread that ever
 * called the runtime waits inside it, and the process has no other thread that could act. While there is
 * another, of a timer, say, of input and output, or of a pool, it warns after 5 s and the program goes on.
 * Threads of MPI libraries, of libgomp's and OpenBLAS's pools and the like are told by their stacks, and do
 * not count. */

/* Until as many calls of orrery_outside_end, something will act that is no thread of this process: a signal's
 * handler, another process, a device; or a thread that may take its time. Meanwhile no deadlock is noticed.
 * Any thread, at any time, starpu_init() or not; they need not be the same. orrery_outside_end returns 0, or
 * -EINVAL: there is nothing to end. */
void orrery_outside_begin(void);
int orrery_outside_end(void);

/* The calling thread will not submit tasks, notify tags, release data, or do anything else that tasks wait
 * for, as threads of a pool that only compute: the deadlock detector does not wait for it. 0 takes that back.
 * Not the thread that gives the pool its work. At any time. */
void orrery_thread_passive(int passive);

/* ---- how far the run is ---- */

/* This process will have submitted so many tasks when it is done, as the counts of ORRERY_PROGRESS have them:
 * for the time that is left. 0: it is not known, as before the first call. The latest counts. At any time,
 * starpu_init() or not. */
void orrery_progress_expect(unsigned long tasks);

/* ---- the cluster: liborrery-mpi ----
 *
 * The workers of all ranks have numbers: those of rank 0 in the order that they have there, then those of
 * rank 1, and so on. Ranks are those of the communicator given to starpu_mpi_init_conf() or its like. The
 * table is made there, the same on all ranks, and stays until starpu_mpi_shutdown(); before and after,
 * functions return -ESHUTDOWN, with a message. Local, not blocking, also in tasks. */

/* int: among the arguments of starpu_mpi_task_insert(): the worker of the cluster that runs the task. It
 * names the rank, before STARPU_EXECUTE_ON_NODE and _DATA, and on that rank the worker, as
 * STARPU_EXECUTE_ON_WORKER. -1: none. starpu_task_insert() takes it too: without other ranks the numbers are
 * those of the workers. */
#define ORRERY_EXECUTE_ON_CLUSTER_WORKER STARPU_ARGUMENT_KIND_(60)

/* Returns how many workers the cluster has; how many of a type; the number of this rank's first one, which
 * its others follow; that of the worker that calls, -1: the thread is none. */
int orrery_cluster_worker_get_count(void);
int orrery_cluster_worker_get_count_by_type(enum starpu_worker_archtype type);
int orrery_cluster_worker_get_first(void);
int orrery_cluster_worker_get_id(void);

/* Returns the rank of a worker; its number among the workers of that rank (starpu_worker_get_id() there); its
 * type. -EINVAL: there is no such worker. */
int orrery_cluster_worker_get_rank(int worker);
int orrery_cluster_worker_get_local_id(int worker);
int orrery_cluster_worker_get_type(int worker);

/* Returns the number of a rank's worker; -EINVAL: there is no such. */
int orrery_cluster_worker_get_number(int rank, int workerid);

/* Copies its name, "CPU 3", without its rank, with the 0 at most so many bytes. Returns 0; -EINVAL: there is
 * no such worker, or dst is NULL or bytes 0. */
int orrery_cluster_worker_get_name(int worker, char *dst, size_t bytes);

/* For a task that was made by hand: where it is of this rank, binds it to the worker (workerid,
 * execute_on_a_specific_worker), where not, takes that from it. Returns the worker's rank, for
 * starpu_mpi_task_exchange_data_before_execution_on_node(), or to know whether to submit the task here;
 * -EINVAL: there is no such worker, NULL. */
int orrery_task_set_cluster_worker(struct starpu_task *task, int worker);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
