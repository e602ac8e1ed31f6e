/* SPDX-License-Identifier: BSD-3-Clause */
/* decide.h: the rank of a task: where the program says, where the data it writes are owned, or where a
 * placement says. Threads: the thread that submits. Owns: nothing. Not here: placements (place.h), the
 * transfers that follow (value/exchange.h). It decides, and changes nothing but the state of a placement that
 * is asked for all tasks. */
#ifndef ORR_MPI_DECIDE_H
#define ORR_MPI_DECIDE_H

#include "mpi/place/arguments.h"

/* *xrank_out: the rank of c that runs the task, or ORR_RANK_PER_NODE. Returns 1 when this rank has something
 * to do for it, 0 when it has not, or a negative errno (said why). cl may be NULL; it is named in messages.
 */
int orr_decide(struct orr_comm *c, const struct starpu_codelet *cl, const struct orr_arguments *a,
               int *xrank_out);

#endif
