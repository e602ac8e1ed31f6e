/* SPDX-License-Identifier: BSD-3-Clause */
/* breaks.h: stopping a debugger where one task passes: STARPU_TASK_BREAK_ON_SUBMIT, _SCHED, _PUSH, _POP,
 * _EXEC. Threads: any. Owns: the numbers of the tasks to stop at. Not here: who passes (running.c, profile.c,
 * device.c).
 *
 * While one is set, ORR_PROFILE_BREAKS is in orr_profiling and workers are observed:
 * otherwise nobody looks. */
#ifndef ORR_WORKER_BREAKS_H
#define ORR_WORKER_BREAKS_H

#include <stdbool.h>

struct orr_task;

enum orr_break {
    ORR_BREAK_SUBMIT,
    ORR_BREAK_SCHED,
    ORR_BREAK_PUSH,
    ORR_BREAK_POP,
    ORR_BREAK_EXEC,
    ORR_BREAKS
};

/* Reads the settings; true when one is set. Before workers start. */
bool orr_breaks_init(void);
/* Raises SIGTRAP if t is the task to stop at here. */
void orr_break(enum orr_break where, const struct orr_task *t);

#endif
