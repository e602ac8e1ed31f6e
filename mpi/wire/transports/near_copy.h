/* SPDX-License-Identifier: BSD-3-Clause */
/* near_copy.h: large transfers between ranks of a node: the receiver copies the bytes out of the sender's
 * memory, once.
 * Threads: one at a time (the engine's lock). Owns: the transfers that have only one of their ends, and those
 * being copied. Not here: the rings that carry the notes about them (near.h), transfers by other ways
 * (mpi.c).
 */
#ifndef ORR_MPI_TRANSPORTS_NEAR_COPY_H
#define ORR_MPI_TRANSPORTS_NEAR_COPY_H

#include "mpi/wire/transports/near.h"

/* Notes about large transfers, among the kinds of a ring; others may be above the last. */
enum orr_near_note { ORR_NEAR_OFFER, ORR_NEAR_COPIED, ORR_NEAR_REFUSED, ORR_NEAR_KINDS };

struct orr_near_copies;

/* far: starts a transfer in another way, on both of its ends. NULL: no memory. Borrows n. */
struct orr_near_copies *orr_near_copies_new(struct orr_near *n, void (*far)(void *arg, struct orr_bulk *b),
                                            void *arg);
/* Nothing is under way. May be NULL. */
void orr_near_copies_free(struct orr_near_copies *c);

/* Starts an end of a transfer to or from a rank of whose memory the receiver reads or sees some. */
void orr_near_copies_start(struct orr_near_copies *c, struct orr_bulk *b);
/* A note came. False: no memory, it is to be offered again. */
bool orr_near_copies_heard(struct orr_near_copies *c, int rank, unsigned kind, const void *note,
                           const struct orr_transport_sink *sink);
/* Copies for a while; true if anything moved. */
bool orr_near_copies_poll(struct orr_near_copies *c, const struct orr_transport_sink *sink);
/* Whether notes wait for room, which polls find. */
bool orr_near_copies_unsent(const struct orr_near_copies *c);

#endif
