/* SPDX-License-Identifier: BSD-3-Clause */
/* receiving.h: which receive a message is for, and what becomes of it: delivered, kept, placed, passed on,
 * thrown away.
 * Threads: who holds the engine's busy. Owns: struct orr_early. Not here: what is sent (sending.h), reading
 * a message (engine.c).
 *
 * Receives are matched in the order in which they were posted. One on a communicator that its sender numbers
 * by itself waits first, if need be, until it knows that number (names.h). */
#ifndef ORR_MPI_RECEIVING_H
#define ORR_MPI_RECEIVING_H

#include "mpi/wire/engine_state.h"

/* A message that is kept until its receive is posted and ready. */
struct orr_early {
    struct orr_match_node node; /* first */
    struct orr_wire_header header;
    int source; /* who sent it; node.peer: whose it is */
    char data[];
};

/* r was posted, ready or not. */
void orr_receive_posted(struct orr_engine *e, struct orr_request *r);
/* Tries to go on with a request that has its early message; otherwise puts it aside for the next poll. */
void orr_receive_early(struct orr_engine *e, struct orr_request *r);
/* A message came, its header and so many bytes behind it. False: there is no memory or buffer, and nothing
 * was done that cannot be done again. */
bool orr_receive_message(struct orr_engine *e, int source, const struct orr_wire_header *h, const void *data,
                         size_t bytes);
/* The same of one that is to be passed on, or was: by who waits for it now, and only then. */
bool orr_receive_spread(struct orr_engine *e, int source, const struct orr_wire_header *h, const void *data,
                        size_t bytes);
/* A rank has sends for this one that it does not announce: one of that tag; or none any more. */
void orr_receive_more(struct orr_engine *e, int source, const struct orr_wire_header *h);
/* Tells senders of receives that wait, as far as buffers go. */
void orr_receive_tell_wanting(struct orr_engine *e);
/* A receive has its message, or is given up: its sender need not be told. */
void orr_receive_wants_no_more(struct orr_engine *e, struct orr_request *r);
/* Takes the message off the network: its sender ends only then. One that has asked first gives up as well. */
void orr_receive_discard(struct orr_engine *e, struct orr_early *m);
/* Those whose place is to be called, once busy is let go, chained by next_to_place. */
struct orr_request *orr_receive_take_to_place(struct orr_engine *e);

#endif
