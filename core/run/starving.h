/* SPDX-License-Identifier: BSD-3-Clause */
/* starving.h: for the deadlock detector: workers and tasks that wait for memory of a device, and who has it.
 * Threads: the watching thread. Owns: nothing. Not here: serving them (core/data/hungry.c). */
#ifndef ORR_RUN_STARVING_H
#define ORR_RUN_STARVING_H

#include <stdbool.h>

#include "core/task/task.h"

/* How many workers wait for data of a task, or for nothing, beside transfers that can never go on; 0 when a
 * transfer moves. */
unsigned orr_starving_workers(void);

typedef void (*orr_say_fn)(const char *fmt, ...);
/* Says for which memory t, called name, waits; false: for none. */
bool orr_starving_explain_task(struct orr_task *t, const char *name, orr_say_fn say);
/* Says what the program asked for and does not get, and what uses the memory: tasks are looked for among
 * these. */
void orr_starving_explain(struct orr_task *const *tasks, unsigned count, orr_say_fn say);

#endif
