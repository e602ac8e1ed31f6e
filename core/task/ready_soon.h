/* SPDX-License-Identifier: BSD-3-Clause */
/* ready_soon.h: telling a policy which tasks will be ready when the one that starts now has ended
 * (starpu_task_notify_ready_soon_register).
 * Threads: stated below. Owns: the registered function.
 * Not here: dependencies (deps.h, core/data/access.h). */
#ifndef ORR_TASK_READY_SOON_H
#define ORR_TASK_READY_SOON_H

#include <stdbool.h>

struct orr_task;

/* Whether somebody wants to know: then workers are observed. */
bool orr_ready_soon_wanted(void);

/* t's body starts now and should take so many us (NaN: nobody knows, nothing is told): calls the function for
 * each task that waits for t alone. On t's worker, without locks. */
void orr_ready_soon_tell(struct orr_task *t, double us);

/* Called when the answer of orr_ready_soon_wanted changes; set by core/worker. */
extern void (*orr_ready_soon_changed)(void);

#endif
