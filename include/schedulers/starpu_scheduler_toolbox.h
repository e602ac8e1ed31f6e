/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_scheduler_toolbox.h: queues for the program's own scheduling policies, with the predicted times that
 * go with them.
 *
 * Threads: the caller keeps others out of a queue.
 * Owns: a queue owns the links of the tasks in it, which must have been submitted.
 * Not here: components (starpu_sched_component.h), plain lists (starpu_task_list.h).
 */
#ifndef STARPU_SCHEDULER_TOOLBOX_H
#define STARPU_SCHEDULER_TOOLBOX_H

#include <starpu.h>
#include <starpu_scheduler.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct starpu_st_fifo_taskq;
typedef struct starpu_st_fifo_taskq *starpu_st_fifo_taskq_t;

/* An empty queue, NULL: out of memory; ending one, which must be empty. */
starpu_st_fifo_taskq_t starpu_st_fifo_taskq_create(void);
void starpu_st_fifo_taskq_destroy(starpu_st_fifo_taskq_t fifo);
int starpu_st_fifo_taskq_empty(starpu_st_fifo_taskq_t fifo);

/* Tasks in it, and tasks taken out so far, as counted by the functions below; the _inc forms add n to the
 * number for tasks that are elsewhere. */
unsigned starpu_st_fifo_ntasks_get(starpu_st_fifo_taskq_t fifo);
void starpu_st_fifo_ntasks_inc(starpu_st_fifo_taskq_t fifo, int n);
unsigned starpu_st_fifo_nprocessed_get(starpu_st_fifo_taskq_t fifo);
void starpu_st_fifo_nprocessed_inc(starpu_st_fifo_taskq_t fifo, int n);

/* What the policy expects of the worker whose queue it is, in us: numbers that it sets and changes itself.
 * When its next task starts, how long those in the queue take, when all are done (set by the policy, not
 * derived), and how long those take that the worker has taken but not ended. */
double starpu_st_fifo_exp_start_get(starpu_st_fifo_taskq_t fifo);
void starpu_st_fifo_exp_start_set(starpu_st_fifo_taskq_t fifo, double exp_start);
double starpu_st_fifo_exp_len_get(starpu_st_fifo_taskq_t fifo);
void starpu_st_fifo_exp_len_set(starpu_st_fifo_taskq_t fifo, double exp_len);
void starpu_st_fifo_exp_len_inc(starpu_st_fifo_taskq_t fifo, double exp_len);
double starpu_st_fifo_exp_end_get(starpu_st_fifo_taskq_t fifo);
void starpu_st_fifo_exp_end_set(starpu_st_fifo_taskq_t fifo, double exp_end);
double starpu_st_fifo_pipeline_len_get(starpu_st_fifo_taskq_t fifo);
void starpu_st_fifo_pipeline_len_set(starpu_st_fifo_taskq_t fifo, double pipeline_len);
void starpu_st_fifo_pipeline_len_inc(starpu_st_fifo_taskq_t fifo, double pipeline_len);

/* Put a task at the end; at the end of those of its priority, in a queue that is only filled by this. Return
 * 0. */
int starpu_st_fifo_taskq_push_task(starpu_st_fifo_taskq_t fifo, struct starpu_task *task);
int starpu_st_fifo_taskq_push_back_task(starpu_st_fifo_taskq_t fifo_queue, struct starpu_task *task);
int starpu_st_fifo_taskq_push_sorted_task(starpu_st_fifo_taskq_t fifo_queue, struct starpu_task *task);

/* Take the first task; the first that a worker can execute; this one, if that worker can (returns 1, else 0).
 * NULL: there is none. */
struct starpu_task *starpu_st_fifo_taskq_pop_local_task(starpu_st_fifo_taskq_t fifo);
struct starpu_task *starpu_st_fifo_taskq_pop_task(starpu_st_fifo_taskq_t fifo, int workerid);
int starpu_st_fifo_taskq_pop_this_task(starpu_st_fifo_taskq_t fifo_queue, int workerid,
                                       struct starpu_task *task);

/* Where a priority of the context's range falls among num_priorities levels, from 0 up. */
int starpu_st_normalize_prio(int priority, int num_priorities, unsigned sched_ctx_id);
/* How many data of the task are not where the worker would use them. */
int starpu_st_non_ready_buffers_count(struct starpu_task *task, unsigned worker);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
