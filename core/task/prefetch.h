/* SPDX-License-Identifier: BSD-3-Clause */
/* prefetch.h: asking for a task's inputs on a memory node before it runs there.
 * Threads: any; nothing blocks. Owns: nothing. Not here: see prefetch.c. */
#ifndef ORR_TASK_PREFETCH_H
#define ORR_TASK_PREFETCH_H

#include <starpu_task.h>
#include <stdbool.h>

/* idle: only over links that have nothing else to do. Returns 0. */
int orr_task_prefetch(struct starpu_task *p, unsigned node, int prio, bool idle);

#endif
