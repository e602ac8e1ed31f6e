/* SPDX-License-Identifier: BSD-3-Clause */
/* watchdog.h: says when no task has ended for as long as the program wants to be told.
 * Threads: one of its own, if it is wanted. Owns: that thread. Not here: whether anything can still move
 * (deadlock.h). */
#ifndef ORR_RUN_WATCHDOG_H
#define ORR_RUN_WATCHDOG_H

void orr_watchdog_start(void); /* reads STARPU_WATCHDOG_TIMEOUT, _DELAY and _CRASH */
void orr_watchdog_stop(void);

#endif
