/* SPDX-License-Identifier: BSD-3-Clause */
/* wait.h: threads that wait for tasks in general: for all of them, or until only so many are left.
 * Threads: any waits; workers check. Owns: the number of waiters. Not here: waiting for one task
 * (core/task/task.c). */
#ifndef ORR_WORKER_WAIT_H
#define ORR_WORKER_WAIT_H

#include "core/base/export.h"
#include "core/base/sync.h"

/* Blocks until at most n tasks are outstanding. 0, or -EDEADLK inside a task. */
int orr_wait_until(uint64_t n);

/* After completions: wakes waiters whose number is reached. Called by a worker before it rests, and by
 * whoever is no worker at work after every completion. */
void orr_wait_check(void);

/* Around a time in which the calling worker runs no tasks: idle, paused, before it begins, after it has left.
 * What it completes meanwhile all the same (a progress function or a callback ended a task that has no body)
 * is told at once, as by threads that are no workers. The first checks as well. */
void orr_wait_rest_begin(void);
void orr_wait_rest_end(void);

/* Set while somebody waits for a number other than zero: workers then check between tasks. */
extern _Atomic uint32_t orr_wait_thresholds;

/* Blocks submission while there are more than the limit of tasks; installed as orr_task_hooks.throttle when
 * there is one. */
void orr_wait_init_limits(void);

#endif
