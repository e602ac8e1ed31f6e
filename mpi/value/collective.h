/* SPDX-License-Identifier: BSD-3-Clause */
/* collective.h: pieces of data from one rank to their owners, and back.
 * Threads: the thread that submits, on all ranks. Owns: nothing. Not here: sums (coll.h), reductions
 * (redux.h). */
#ifndef ORR_MPI_COLLECTIVE_H
#define ORR_MPI_COLLECTIVE_H

#include <stdbool.h>
#include <starpu_data.h>

#include "mpi/wire/comm.h"

/* gather: owners send to root; otherwise root sends to the owners. Each callback runs once, when all sends or
 * all receives of this rank are over; at once if there are none. */
struct orr_collective {
    starpu_data_handle_t *handles;
    int count, root;
    bool gather;
    void (*sent)(void *);
    void *sent_arg;
    void (*received)(void *);
    void *received_arg;
};
int orr_collective_start(struct orr_comm *c, const struct orr_collective *what);

#endif
