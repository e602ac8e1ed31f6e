/* SPDX-License-Identifier: BSD-3-Clause */
/* repeat.h: a task goes to the runtime; one recorded insertion is done again.
 * Threads: the thread that submits. Owns: nothing. Not here: what is recorded (recording.h), whole iterations
 * (replay.h, script.h). */
#ifndef ORR_MPI_REPEAT_H
#define ORR_MPI_REPEAT_H

#include "mpi/place/recording.h"

/* Called for each task of this rank before it is submitted; as in orrery_mpi.h. */
typedef void (*orr_replay_patch_fn)(struct starpu_task *task, unsigned position, void *arg);

/* Submits a task that runs here, and shows it to the program before. On an error it is destroyed. As
 * orr_task_submit. */
int orr_mpi_submit(struct orr_comm *c, struct starpu_task *task, uint32_t flags);

/* What the insertion does on this rank; data: its accesses. 0, or a negative errno (said why). */
int orr_repeat(struct orr_comm *c, const struct orr_recorded *p, const struct starpu_data_descr *data,
               orr_replay_patch_fn patch, void *arg);

#endif
