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
/* The contributions that are pending go to the owner, in a tree in which every rank sums up from arity others
 * (0: chosen). All that contributed, and the owner, are in c. Nothing is done when nothing is pending. */
int orr_redux_gather(struct orr_comm *c, struct orr_data *h, int priority, int arity);
/* Gathers what is pending among ranks of c alone, in the order of tags. Called by all of c when they wait for
 * all. */
int orr_redux_gather_all(struct orr_comm *c);

#endif
