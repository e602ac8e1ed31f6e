/* SPDX-License-Identifier: BSD-3-Clause */
/* repeat.h: a task goes to the runtime; one recorded insertion is done again.
 * Threads: the thread that submits. Owns: nothing. Not here: what is recorded (recording.h), whole iterations
 * (replay.h, script.h). */
#ifndef ORR_MPI_REPEAT_H
#define ORR_MPI_REPEAT_H

#include "mpi/place/moving.h"
#include "mpi/place/recording.h"

/* Called for each task of this rank before it is submitted; as in orrery_mpi.h. */
typedef void (*orr_replay_patch_fn)(struct starpu_task *task, unsigned position, void *arg);

/* Submits a task that runs here, and shows it to the program before. On an error it is destroyed. As
 * orr_task_submit. */
int orr_mpi_submit(struct orr_comm *c, struct starpu_task *task, uint32_t flags);

/* Has what orr_repeat reads for a part soon to come fetched: by then others have written to the queues of its
 * data, and the record is longer than a cache. part: the one that is repeated now. */
static inline void orr_repeat_prefetch(const struct orr_recording *r, size_t part)
{
    enum { AHEAD = 4 };
    if (part + AHEAD >= r->nparts) return;
    const struct orr_recorded *p = &r->parts[part + AHEAD];
    if (p->model) orr_task_model_prefetch(p->model);
    for (uint32_t i = 0; i < p->count; i++) {
        const struct orr_data *h = r->data[p->first + i].handle;
        orr_prefetch_write(&h->queue);
        __builtin_prefetch(&h->magic); /* the line behind it */
    }
}

/* What the insertion does on this rank; data: its accesses. 0, or a negative errno (said why). */
int orr_repeat(struct orr_comm *c, const struct orr_recorded *p, const struct starpu_data_descr *data,
               orr_replay_patch_fn patch, void *arg);
/* The same where data move: m is the insertion, position its place as the placement counts. */
int orr_repeat_moving(struct orr_comm *c, const struct orr_recorded *p, const struct orr_moving *m,
                      uint64_t position, orr_replay_patch_fn patch, void *arg);

#endif
