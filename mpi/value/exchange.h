/* SPDX-License-Identifier: BSD-3-Clause */
/* exchange.h: the messages a task on some rank needs: its inputs before, its results to their owners after.
 * Threads: the thread that submits. Owns: nothing. Not here: which rank it is (place/), messages
 * (message.h). */
#ifndef ORR_MPI_EXCHANGE_H
#define ORR_MPI_EXCHANGE_H

#include "mpi/wire/comm.h"
#include "mpi/value/ownership.h"

/* What this rank does for access mode of h by a task on rank xrank (or ORR_RANK_PER_NODE: on all). 0 or a
 * negative errno. */
int orr_exchange_before(struct orr_comm *c, struct orr_data *h, int mode, int xrank, int priority);
int orr_exchange_after(struct orr_comm *c, struct orr_data *h, int mode, int xrank, int priority);

/* The value is here, or on its way: the callback waits its turn in the handle's queue. 0 or -ENOMEM. */
int orr_exchange_call_when_here(struct orr_comm *c, struct orr_data *h, void (*callback)(void *), void *arg);
/* Brings h's value to rank node; the callback runs there when it has come. */
int orr_exchange_get(struct orr_comm *c, struct orr_data *h, int node, int priority, void (*callback)(void *),
                     void *arg);

#endif
