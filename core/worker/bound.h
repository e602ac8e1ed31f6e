/* SPDX-License-Identifier: BSD-3-Clause */
/* bound.h: tasks recorded for the lower bound.
 * Threads: any. Owns: whether tasks are recorded. Not here: the public functions (starpu_bound.h). */
#ifndef ORR_WORKER_BOUND_H
#define ORR_WORKER_BOUND_H

#include "core/task/task.h"

extern _Atomic uint32_t orr_bound_recording; /* 1 between starpu_bound_start and starpu_bound_stop */
void orr_bound_record(struct orr_task *t);   /* t is being submitted */

#endif
