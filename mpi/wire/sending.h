/* SPDX-License-Identifier: BSD-3-Clause */
/* sending.h: which sends leave when, and how.
 * Threads: who holds the engine's busy. Owns: nothing. Not here: what is received (receiving.h), how trees
 * are written down (spread.h).
 *
 * A small message carries its payload; a large one is announced, and the data follow at once as a bulk
 * transfer, which the transport puts straight into place. Where a rank keeps much already that it has not
 * received, any is announced, and follows when it is wanted; where it has many such announcements, it is
 * announced only when it is wanted (credit.h). Sends for which there is no buffer
 * wait, those to each rank by themselves. Sends with the same key leave in the order in which they were
 * posted, whichever is ready first. Of several large sends of the same bytes that are ready together most
 * are left to those who receive them (spread.h). */
#ifndef ORR_MPI_SENDING_H
#define ORR_MPI_SENDING_H

#include "mpi/wire/engine_state.h"

/* r was posted, ready or not. */
void orr_send_posted(struct orr_engine *e, struct orr_request *r);
/* Lets go of the sends at the head of a key's list that are ready. */
void orr_send_release_held(struct orr_engine *e, uint32_t context, int32_t peer, int64_t tag);
/* Sends what may leave, as far as buffers go; the rest waits, that for each rank by itself. */
void orr_send_all(struct orr_engine *e);
/* A rank has matched a message, or wants its bytes: h says which. */
void orr_send_acknowledged(struct orr_engine *e, int source, const struct orr_wire_header *h);
/* A rank waits for the message of a tag: if it is here, not announced so far, it is now. */
void orr_send_wanted(struct orr_engine *e, int source, const struct orr_wire_header *h);
/* A rank does not pass on what it got: these n ranks (spread.h) get it from here. */
void orr_send_returned(struct orr_engine *e, const struct orr_wire_header *h, const void *ranks, size_t n);

#endif
