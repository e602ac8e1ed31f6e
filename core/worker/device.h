/* SPDX-License-Identifier: BSD-3-Clause */
/* device.h: the loop of workers with a memory of their own.
 * Threads: the worker's. Owns: nothing. Not here: bringing a task's data (inputs.h), how a body is run
 * (worker.h). */
#ifndef ORR_WORKER_DEVICE_H
#define ORR_WORKER_DEVICE_H

#include "core/worker/worker.h"

struct orr_pipeline;

/* The loop of a worker on a node other than main memory: data of the next tasks come in while one runs. */
void orr_device_loop(struct orr_worker *w);

/* The same in pieces, for who is the worker now and then (driven.c). Begin: NULL: out of memory. */
struct orr_pipeline *orr_device_begin(struct orr_worker *w);
/* Takes tasks, and does one thing that can be done; false: there is none. Does not wait, but where workers
 * pause and it has no task left. */
bool orr_device_step(struct orr_pipeline *p, struct orr_worker *w);
/* Whether it has no task whose data it has, or fetches. */
bool orr_device_is_empty(const struct orr_pipeline *p);
/* While it has one: waits a little for the next thing. *since: 0 after each. */
void orr_device_wait(struct orr_pipeline *p, struct orr_worker *w, uint64_t *since);
/* Once it is empty; a task that it took goes back. */
void orr_device_end(struct orr_pipeline *p);

/* For a body on the calling thread that lacks memory: if that is a device's worker, its next tasks give back
 * the data they have, and are loaded again. False: there are none. */
bool orr_device_give_back(void);

/* The task whose kernel w's device computes now, or whose end w has not seen yet: only an address, since it
 * may end meanwhile (core/base/peek.h). NULL: none, or it cannot be told just now. Any thread. */
struct orr_task *orr_device_peek(const struct orr_worker *w);

#endif
