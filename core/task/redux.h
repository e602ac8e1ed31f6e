/* SPDX-License-Identifier: BSD-3-Clause */
/* redux.h: reductions: every worker contributes to a copy of its own, which are summed up when somebody wants
 * the value.
 * Threads: contributions on their worker; the summing up as tasks. Owns: contributions (in struct
 * orr_data_rare). Not here: the order of accesses (core/data/access.h). */
#ifndef ORR_TASK_REDUX_H
#define ORR_TASK_REDUX_H

#include "core/task/task.h"

/* The contribution of worker id to h, initialised with the init codelet; NULL with a message on failure. If
 * that has no implementation for CPUs, and the worker has one (own_init), its worker has to run that on it
 * once it is fetched: while neutral_due is set. */
struct orr_data *orr_redux_contribution(struct orr_data *h, unsigned worker_id, bool own_init);
/* For a task with a codelet of a reduction: modes of its own when the codelet gives STARPU_REDUX or
 * STARPU_MPI_REDUX for what it works on, which would make it one more contribution. 0 or -ENOMEM. */
ORR_EXPORT int orr_redux_set_modes(struct starpu_task *task);
/* Installed as orr_data_hooks.initialise: has a task run h's init codelet on h,
 * unless somebody writes first. */
void orr_redux_initialise(struct orr_data *h);
/* A contribution to h could not be made: the reduction under way, or the next one, gives h no value. */
void orr_redux_lose(struct orr_data *h);
/* Installed as orr_data_hooks.reduction_start. */
void orr_redux_start(struct orr_data *h);

#endif
