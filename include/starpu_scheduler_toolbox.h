/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_scheduler_toolbox.h: a queue of tasks with the bookkeeping of a model-based policy, for policies to
 * use.
 *
 * Threads: the policy keeps others out of a queue while it uses it.
 * Owns: nothing.
 * Not here: plain lists (starpu_task_list.h), the policy interface (starpu_scheduler.h).
 */
#ifndef STARPU_SCHEDULER_TOOLBOX_H
#define STARPU_SCHEDULER_TOOLBOX_H

#include <starpu_scheduler.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct starpu_task;

/* A queue of tasks, and what is expected of them; all times in us. */
typedef struct starpu_st_fifo_taskq *starpu_st_fifo_taskq_t;

/* Make an empty queue (NULL: out of memory); empty one; free an empty one. */
starpu_st_fifo_taskq_t starpu_st_fifo_taskq_create(void) STARPU_ATTRIBUTE_MALLOC;
void starpu_st_fifo_taskq_init(starpu_st_fifo_taskq_t fifo);
void starpu_st_fifo_taskq_destroy(starpu_st_fifo_taskq_t fifo);
int starpu_st_fifo_taskq_empty(starpu_st_fifo_taskq_t fifo);

/* Number of tasks in the queue, and of those ever taken from it. */
unsigned starpu_st_fifo_ntasks_get(starpu_st_fifo_taskq_t fifo);
void starpu_st_fifo_ntasks_inc(starpu_st_fifo_taskq_t fifo, int n);
unsigned starpu_st_fifo_nprocessed_get(starpu_st_fifo_taskq_t fifo);
void starpu_st_fifo_nprocessed_inc(starpu_st_fifo_taskq_t fifo, int n);

/* The same and exp_len by priority level, as arrays of the library's; a policy fills them. */
unsigned *starpu_st_fifo_ntasks_per_priority_get(starpu_st_fifo_taskq_t fifo);
double *starpu_st_fifo_exp_len_per_priority_get(starpu_st_fifo_taskq_t fifo);

/* When the first task should start, when the last should end, how long all take, how long those already given
 * to the worker take. */
double starpu_st_fifo_exp_start_get(starpu_st_fifo_taskq_t fifo);
void starpu_st_fifo_exp_start_set(starpu_st_fifo_taskq_t fifo, double exp_start);
double starpu_st_fifo_exp_end_get(starpu_st_fifo_taskq_t fifo);
void starpu_st_fifo_exp_end_set(starpu_st_fifo_taskq_t fifo, double exp_end);
double starpu_st_fifo_exp_len_get(starpu_st_fifo_taskq_t fifo);
void starpu_st_fifo_exp_len_set(starpu_st_fifo_taskq_t fifo, double exp_len);
void starpu_st_fifo_exp_len_inc(starpu_st_fifo_taskq_t fifo, double exp_len);
double starpu_st_fifo_pipeline_len_get(starpu_st_fifo_taskq_t fifo);
void starpu_st_fifo_pipeline_len_set(starpu_st_fifo_taskq_t fifo, double pipeline_len);
void starpu_st_fifo_pipeline_len_inc(starpu_st_fifo_taskq_t fifo, double pipeline_len);

/* Put a task in: behind those of its priority or a higher one; the same; at the end. Return 0. */
int starpu_st_fifo_taskq_push_sorted_task(starpu_st_fifo_taskq_t fifo_queue, struct starpu_task *task);
int starpu_st_fifo_taskq_push_task(starpu_st_fifo_taskq_t fifo, struct starpu_task *task);
int starpu_st_fifo_taskq_push_back_task(starpu_st_fifo_taskq_t fifo_queue, struct starpu_task *task);

/* Take out the first task: that the worker can run; of all; among those of the highest priority the one that
 * misses the fewest bytes on the worker's memory node. NULL: none. */
struct starpu_task *starpu_st_fifo_taskq_pop_task(starpu_st_fifo_taskq_t fifo, int workerid);
struct starpu_task *starpu_st_fifo_taskq_pop_local_task(starpu_st_fifo_taskq_t fifo);
struct starpu_task *starpu_st_fifo_taskq_pop_first_ready_task(starpu_st_fifo_taskq_t fifo_queue,
                                                              unsigned workerid, int num_priorities);

/* Take out this very task, if the worker can run it. Returns 1; 0: it is not there, or the worker cannot. */
int starpu_st_fifo_taskq_pop_this_task(starpu_st_fifo_taskq_t fifo_queue, int workerid,
                                       struct starpu_task *task);

/* Time that the tasks before this one take, if it were put in by priority; also their number, unless NULL. */
double starpu_st_fifo_taskq_get_exp_len_prev_task_list(starpu_st_fifo_taskq_t fifo_queue,
                                                       struct starpu_task *task, int workerid, int nimpl,
                                                       int *fifo_ntasks);

/* What the task lacks on the worker's memory node: number of data; bytes that are absent, on their way, not
 * allocated. */
int starpu_st_non_ready_buffers_count(struct starpu_task *task, unsigned worker);
void starpu_st_non_ready_buffers_size(struct starpu_task *task, unsigned worker, size_t *non_readyp,
                                      size_t *non_loadingp, size_t *non_allocatedp);

/* A priority as a level from 0 to num_priorities - 1, by the context's range. */
int starpu_st_normalize_prio(int priority, int num_priorities, unsigned sched_ctx_id);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
