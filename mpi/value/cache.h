/* SPDX-License-Identifier: BSD-3-Clause */
/* cache.h: which ranks already hold the current value of a handle, counted alike by its owner and by each
 * receiver.
 * Threads: the thread that submits. Owns: nothing (struct orr_value knows whether it is on). Not here: the
 * records (ownership.h), transfers (exchange.c). A receiver's mark and the owner's mark for it are set and
 * cleared at the same places of the task stream: that is what lets both decide alone that no message is
 * needed. */
#ifndef ORR_MPI_CACHE_H
#define ORR_MPI_CACHE_H

#include "mpi/value/ownership.h"
#include "mpi/value/value.h"

void orr_cache_init(struct orr_value *v); /* reads STARPU_MPI_CACHE */
bool orr_cache_is_on(struct orr_value *v);
void orr_cache_set(struct orr_value *v, bool on);

/* This rank is about to receive h: true when it holds the value already. */
bool orr_cache_received(struct orr_value *v, struct orr_data *h);
/* This rank made the current value for h's owner. */
void orr_cache_made(struct orr_value *v, struct orr_data *h);
/* This rank is about to send h to rank, of the transport: true when that one holds it already. */
bool orr_cache_sent(struct orr_value *v, struct orr_data *h, int rank);
/* h is written by somebody at this place of the stream: every copy elsewhere is old. */
void orr_cache_written(struct orr_data *h);
/* Memory of this rank for a value that another one owns: taken by a receive or by a task that runs here; the
 * handle's owner is this rank from now on; not needed any more; no longer of use, since somebody else writes
 * the handle at this place of the stream (as orr_cache_written besides). */
void orr_cache_hold(struct orr_data *h);
void orr_cache_own(struct orr_data *h);
/* The same, and who has a copy of the old value stays as it is known. */
void orr_cache_disown(struct orr_data *h);
void orr_cache_drop(struct orr_data *h);
bool orr_cache_let_go(struct orr_data *h); /* the same, but for: true, and the caller gives it back */
void orr_cache_superseded(struct orr_data *h);
/* h belongs to a rank of c, or to each (ORR_RANK_PER_NODE), from this place of the stream on. 0 or -ENOMEM
 * (said). */
int orr_cache_set_owner(struct orr_comm *c, struct orr_data *h, int rank);
/* Forgets what ranks of c hold of each other, and gives the memory of a received value back. */
void orr_cache_flush(const struct orr_comm *c, struct orr_data *h);
void orr_cache_flush_all(struct orr_comm *c);

#endif
