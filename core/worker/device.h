/* SPDX-License-Identifier: BSD-3-Clause */
/* device.h: the loop of workers with a memory of their own.
 * Threads: the worker's. Owns: nothing. Not here: bringing a task's data (inputs.h), how a body is run
 * (worker.h). */
#ifndef ORR_WORKER_DEVICE_H
#define ORR_WORKER_DEVICE_H

#include "core/worker/worker.h"

/* The loop of a worker on a node other than main memory: data of the next tasks come in while one runs. */
void orr_device_loop(struct orr_worker *w);

#endif
