/* SPDX-License-Identifier: BSD-3-Clause */
/* seen.h: values of tasks that ranks of one node read where their owner has them, without a copy.
 * Threads: any. Owns: struct orr_views, and what is kept of each value that is shown or seen. Not here: how a
 * handle goes on meanwhile (core/data/view.h), whose memory is mapped (mpi/wire/transports/near.h).
 *
 * A send of a large value says where it is. Its receiver, if it sees that memory, reads there, and its handle
 * has a view in the place of a copy; the send is over, but the sender's handle remembers who reads. When it
 * is to be written there, or ends, readers are asked to give it back: they copy it, and say when no task
 * reads there any more. They say so by themselves when they have no use for it: it is superseded, flushed or
 * unregistered. Whoever was made to wait by that sends copies for a while. */
#ifndef ORR_MPI_SEEN_H
#define ORR_MPI_SEEN_H

#include "core/data/data.h"
#include "mpi/live/control.h"
#include "mpi/value/value.h"

struct orr_showing; /* a value of this rank's that another was told of */
struct orr_seen;    /* a value of another rank's that is read there */

struct orr_view_counts {
    uint64_t shown, declined; /* of sends that said where their value is: how they went */
    uint64_t recalled;        /* of those shown, how many were asked back */
    uint64_t hasty;           /* of those, how many somebody had to wait for, or that were back too soon */
};

/* The layer starts, before messages flow; ends, when none does. 0 or -ENOMEM. */
int orr_views_begin(struct orr_value *v, struct orr_controls *controls);
void orr_views_end(struct orr_value *v);
/* At shutdown: has all views left, and waits until others have left what is shown. All ranks do. */
void orr_views_leave(struct orr_value *v);

/* Whether the bytes of r, an end of a message of h's value that is described and in a row, and whose other
 * end only reads it, may be used so: of a send, its receiver sees them. The access is granted. */
bool orr_seen_may(struct orr_value *v, const struct orr_request *r, struct orr_data *h);
/* A send says where h is: the name of that; 0: it is out of memory. With the engine's lock. */
uint64_t orr_seen_show(struct orr_value *v, struct orr_data *h, int peer, struct orr_showing **out);
/* A receive is to read there; false: it is out of memory. With the engine's lock. */
bool orr_seen_see(struct orr_value *v, int peer, uint64_t name, void *at, struct orr_seen **out);
/* The send is over (seen: h is read elsewhere from now on), or the receive, whose h is read where it is. The
 * access is still held. */
void orr_seen_sent(struct orr_showing *s, bool seen);
void orr_seen_received(struct orr_seen *s, struct orr_data *h);

struct orr_view_counts orr_views_get_counts(struct orr_value *v);

#endif
