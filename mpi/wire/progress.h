/* SPDX-License-Identifier: BSD-3-Clause */
/* progress.h: who polls the engine, and when: threads that wait, idle workers, and one thread of our own for
 * when nobody else does.
 * Threads: any. Owns: the progress thread. Not here: what polling does (engine.c). */
#ifndef ORR_MPI_PROGRESS_H
#define ORR_MPI_PROGRESS_H

#include <stdbool.h>

/* Moves messages on behalf of a thread that only comes by: it posts one, or lets go of data. Functions of the
 * program are left to threads that progress. True if anything moved. */
bool orr_progress_pass(void);
/* The same by a thread that progresses: calls functions of the program as well. True if anything moved. */
bool orr_progress_turn(void);
/* Calls fn; what calls functions of the program from it is left to threads that progress. */
void orr_progress_aside(void (*fn)(void *arg), void *arg);

/* Calls a callback of the program, which must not block. */
void orr_progress_call_back(void (*callback)(void *arg), void *arg);

/* Whether functions of the program run after messages, or will: they may do anything. For who looks for
 * deadlocks: such a thread may count as blocked, or be the layer's own. */
bool orr_progress_may_call(void);

int orr_progress_start(void); /* 0, -EAGAIN: no thread */
void orr_progress_stop(void);

/* Messages are outstanding and the caller goes on with other things: the progress thread wakes up. */
void orr_progress_needed(void);
/* A message is over: wakes those who sleep in orr_progress_wait. */
void orr_progress_signal(void);
/* Polls until done(arg). Blocks; not in callbacks. */
void orr_progress_wait(bool (*done)(void *arg), void *arg);

#endif
