/* SPDX-License-Identifier: BSD-3-Clause */
/* device.h: bringing a task's data to where its worker sees them, and the loop of workers with a memory of
 * their own.
 * Threads: the worker's. Owns: nothing. Not here: what is valid where (core/data/coherency.h), how
 * a body is run (worker.h). */
#ifndef ORR_WORKER_DEVICE_H
#define ORR_WORKER_DEVICE_H

#include "core/worker/worker.h"

/* Brings what t needs to the nodes where worker w uses it, pins it there and fills in t's interfaces; sets
 * ORR_TF_FETCHED. Does nothing when that is set. Blocks, driving transfers meanwhile. 0, or -ENOMEM,
 * -ENODATA, -EIO with nothing pinned. */
int orr_fetch_task_inputs(struct orr_worker *w, struct orr_task *t);

/* Says that it could not, with this status, and has t fail. */
void orr_task_without_inputs(struct orr_worker *w, struct orr_task *t, int status);

/* Ends the uses that orr_fetch_task_inputs began, after t's body; the caller clears ORR_TF_FETCHED. */
void orr_task_inputs_done(struct orr_worker *w, struct orr_task *t);

/* The loop of a worker on a node other than main memory: data of the next tasks come in while one runs. */
void orr_device_loop(struct orr_worker *w);

#endif
