/* SPDX-License-Identifier: BSD-3-Clause */
/* crash.h: says which task a worker ran when a signal ends the program.
 * Threads: start and stop by who initialises; workers for themselves. Owns: the handlers of five signals.
 * Not here: errors that can be returned (core/base/log.h). */
#ifndef ORR_WORKER_CRASH_H
#define ORR_WORKER_CRASH_H

#include <starpu.h>

void orr_crash_start(const struct starpu_conf *conf); /* reads STARPU_CATCH_SIGNALS */
void orr_crash_stop(void);

/* What is to be saved before the process dies of the signal; NULL: nothing. A signal handler calls it, on the
 * thread that crashed. Set by core/run. */
extern void (*_Atomic orr_crash_save)(void);

/* Another stack for the handler, so that it can tell of one that overflowed: for the calling worker. Returns
 * what orr_crash_thread_end takes; NULL: it has one, or there is no memory. */
void *orr_crash_thread_begin(void);
void orr_crash_thread_end(void *stack);

#endif
