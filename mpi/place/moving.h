/* SPDX-License-Identifier: BSD-3-Clause */
/* moving.h: an insertion where data move: its transfers and its task, decided whole and then done; and what
 * every rank knows of its data changes on each, whether it has a part in it or not.
 * Threads: the thread that submits. Owns: nothing. Not here: the rank (decide.h), each datum (value/moves.h),
 * owner-computes (insert.c, repeat.h). */
#ifndef ORR_MPI_MOVING_H
#define ORR_MPI_MOVING_H

#include "mpi/value/moves.h"

/* An insertion; borrowed. */
struct orr_moving {
    const struct starpu_data_descr *data;
    int count, priority;
    const int *ranks; /* that run it; the first one's results count */
    int nranks;
    uint64_t hash;                   /* what its messages say of the stream; 0: what that says itself */
    const struct orr_missed *missed; /* what this rank left out before (gaps.h) */
    size_t nmissed;
};

/* All of it. task: where it runs here, taken; NULL: elsewhere, or it could not be made. sorted: as
 * ORR_TF_SORTED. 0 or a negative errno (said); what failed first. */
int orr_moving_do(struct orr_comm *c, const struct orr_moving *m, struct starpu_task *task, bool sorted);

/* Of a task that the program submits itself when it likes: what lies before it, and waits for nothing that
 * was put off, when this returns; and what lies behind it. */
int orr_moving_before(struct orr_comm *c, const struct orr_moving *m);
int orr_moving_after(struct orr_comm *c, const struct orr_moving *m);

#endif
