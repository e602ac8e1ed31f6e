/* SPDX-License-Identifier: BSD-3-Clause */
/* perf.h: what a task should take, and what it took: models (core/perf) applied to tasks.
 * Threads: the task's owner (who pushes it, or the worker that runs it) unless a function says any.
 * Owns: the footprint kept in a task. Not here: models themselves (core/perf), choosing a worker
 * (sched/dm.c). */
#ifndef ORR_TASK_PERF_H
#define ORR_TASK_PERF_H

#include "core/perf/perfmodel.h"
#include "core/task/task.h"

struct orr_worker;

uint32_t orr_task_footprint_compute(struct orr_task *t);

/* Hash of the shapes of the task's data; kept in the task. */
static inline uint32_t orr_task_data_footprint(struct orr_task *t)
{
    return orr_likely(t->flags & ORR_TF_FOOTPRINT) ? t->footprint : orr_task_footprint_compute(t);
}

/* What t's model knows it by, on the worker that ran it. t has a model. */
uint32_t orr_task_model_footprint(struct orr_task *t);

/* What model m says of t on architecture comb with implementation nimpl, in the model's unit. workerid: a
 * worker of that architecture, -1: any. NaN: not calibrated, or m says nothing. */
double orr_task_expected(struct orr_task *t, struct starpu_perfmodel *m, int comb, unsigned nimpl,
                         int workerid);

/* Time to bring t's inputs to a memory node, in us.
 * Not to be called while there is one node only (it is 0). */
double orr_task_transfer_us(struct orr_task *t, unsigned node);
/* Time to make room for t's data on a memory node with a limit, by writing back what others have there, in
 * us; infinite: they never fit. */
double orr_task_room_us(struct orr_task *t, unsigned node);
/* Time to convert what is multiformat, as far as models know; and that with the copies. */
double orr_task_conversion_us(struct orr_task *t, unsigned node);
static inline double orr_task_bring_us(struct orr_task *t, unsigned node)
{
    return orr_task_transfer_us(t, node) + orr_task_conversion_us(t, node);
}
/* How many of the data that it reads are not there, nor on their way. */
unsigned orr_task_missing(struct orr_task *t, unsigned node);

void orr_perf_task_measured(struct orr_task *t, uint64_t ticks);
/* The same for a task that ran on architecture comb: several workers together. */
void orr_perf_task_measured_on(struct orr_task *t, int comb, uint64_t ticks);

/* Worker w ran t's body in so many ticks. */
static inline void orr_perf_task_done(struct orr_worker *w, struct orr_task *t, uint64_t ticks)
{
    (void)w; /* t->worker says it */
    if (orr_likely(t->pub->cl->model != NULL)) orr_perf_task_measured(t, ticks);
}

#endif
