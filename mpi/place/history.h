/* SPDX-License-Identifier: BSD-3-Clause */
/* history.h: writes the schedule that a run took (ORRERY_PLAN_RECORD): what was inserted, and where and when
 * it ran. Threads: note and task by who inserts; workers add what they ran; write by the main threads of all
 * ranks. Owns: struct orr_history. Not here: the file (planfile.h), running it (plan.c). Costs nothing while
 * there is none. */
#ifndef ORR_MPI_HISTORY_H
#define ORR_MPI_HISTORY_H

#include "mpi/place/arguments.h"
#include "mpi/place/machine.h"
#include "mpi/wire/cluster.h"

struct orr_history;

/* The ranks start, and have just met: path is rank 0's. NULL: out of memory (said). */
struct orr_history *orr_history_start(const char *path);
/* An insertion on c that was decided, and its task, where it runs here (NULL: it does not). */
void orr_history_note(struct orr_history *r, const struct orr_comm *c, const struct starpu_codelet *cl,
                      const struct orr_arguments *a, int xrank);
/* All ranks wait for all tasks here. */
void orr_history_met(struct orr_history *r, const struct orr_comm *c);
/* The program posts a message of its own: a plan does not have it. Any thread. */
void orr_history_act(struct orr_history *r);
void orr_history_task(struct orr_history *r, struct starpu_task *task);
/* Something that a plan cannot say was inserted: there will be no file, and what is why. A literal. */
void orr_history_spoil(struct orr_history *r, const char *what);
/* All tasks are over: rank 0 writes the file, or says why there is none. failed: something did here. r may be
 * NULL. Collective. */
void orr_history_write(struct orr_history *r, struct orr_comm *base, const struct orr_machines *m,
                       bool failed);
void orr_history_end(struct orr_history *r); /* NULL: nothing */

#endif
