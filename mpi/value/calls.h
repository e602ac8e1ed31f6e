/* SPDX-License-Identifier: BSD-3-Clause */
/* calls.h: what all ranks of a communicator ask for between insertions: a value somewhere else, another
 * owner, a copy, all copies gone, values from one rank to many and back, contributions summed up.
 * Threads: the thread that submits. Owns: nothing. Not here: whether arguments make sense, and what blocks
 * (api/data.c); where data move (moves.h), where they stay (exchange.h, cache.h). */
#ifndef ORR_MPI_CALLS_H
#define ORR_MPI_CALLS_H

#include "mpi/value/collective.h"
#include "mpi/value/ownership.h"

/* h's value goes to rank node; the callback, which may be NULL, runs there when it has come. 0 or a negative
 * errno (said), as all that follow. */
int orr_call_get(struct orr_comm *c, struct orr_data *h, int node, void (*callback)(void *), void *arg);
/* The value goes to rank node, which owns the data from then on. */
int orr_call_migrate(struct orr_comm *c, struct orr_data *h, int node);
/* From here on rank owns it; no value goes anywhere. */
int orr_call_set_owner(struct orr_comm *c, struct orr_data *h, int rank);

/* dst gets src's value; the callback runs on dst's owner. asynchronous: else it has come, or gone, when this
 * returns. */
int orr_call_copy(struct orr_comm *c, struct orr_data *dst, struct orr_data *src, bool asynchronous,
                  void (*callback)(void *), void *arg, int priority);
int orr_call_collective(struct orr_comm *c, const struct orr_collective *what);
/* As orr_redux_gather. */
int orr_call_gather_sums(struct orr_comm *c, struct orr_data *h, int priority, int arity);

/* Copies elsewhere than at the owner go: of h, of all data; of all, and none are kept from now on, or again.
 */
void orr_call_flush(struct orr_comm *c, struct orr_data *h);
void orr_call_flush_all(struct orr_comm *c);
void orr_call_set_cache(struct orr_comm *c, bool on);

#endif
