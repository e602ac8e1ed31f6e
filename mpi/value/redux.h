/* SPDX-License-Identifier: BSD-3-Clause */
/* redux.h: reductions across ranks: tasks anywhere contribute to a copy of their rank; later the owner
 * gathers them.
 * Threads: the thread that submits. Owns: nothing (the map of contributors is in struct orr_owned).
 * Not here: contributions within a rank (core/task/redux.c). */
#ifndef ORR_MPI_REDUX_H
#define ORR_MPI_REDUX_H

#include "mpi/wire/comm.h"
#include "mpi/value/ownership.h"

/* A task on rank xrank contributes to h. */
int orr_redux_contribute(struct orr_comm *c, struct orr_data *h, int xrank);
/* The same where not all ranks see it, and data may be away: what all know of h stays as it is. */
int orr_redux_contribute_unseen(struct orr_comm *c, struct orr_data *h, int xrank);
/* Whether such contributions are pending. */
static inline bool orr_redux_is_unseen(const struct orr_data *h)
{
    return h->mpi_flags & ORR_MPI_REDUX && orr_owned_of(h)->redux->unseen;
}
/* The contributions that are pending go to the owner, in a tree in which every rank sums up from arity others
 * (0: chosen). All that contributed, and the owner, are in c. Nothing is done when nothing is pending. */
int orr_redux_gather(struct orr_comm *c, struct orr_data *h, int priority, int arity);
/* Gathers what is pending among ranks of c alone, in the order of tags. Called by all of c when they wait for
 * all. */
int orr_redux_gather_all(struct orr_comm *c);
/* Of these, what not all ranks know of. */
int orr_redux_gather_unseen(struct orr_comm *c);
/* The same, of those on other communicators than the layer's own. */
int orr_redux_gather_aside(struct orr_comm *c);

#endif
