/* SPDX-License-Identifier: BSD-3-Clause */
/* credit.h: how much a rank may send to another before it is received there.
 * Threads: one at a time (the engine's lock). Owns: the rule, which both ends compute from the header.
 * Not here: who asks first and who tells when (sending.c, receiving.c).
 *
 * A message that comes before its receive has to be kept, by the engine or by MPI. So each rank has a credit
 * at each other one: a share of what that one keeps for all. Who has none left announces the message and
 * sends the bytes when they are wanted; nothing ever waits for credit, which comes back with any message, or
 * by itself when much has gathered. Announcements are kept, too: of those that wait to be wanted there are
 * only so many. One that would be too many is not made before a receive wants a message of that tag. */
#ifndef ORR_MPI_CREDIT_H
#define ORR_MPI_CREDIT_H

#include "mpi/wire/request.h"
#include "mpi/wire/wire.h"

enum {
    ORR_CREDIT_FREE = 128, /* a payload of so many bytes costs nothing: its announcement would take as much */
    ORR_CREDIT_BULK = 4096,    /* what MPI may keep of a large one */
    ORR_CREDIT_PARTS = 4,      /* of a share: so much goes back by itself */
    ORR_CREDIT_RECORD = 160,   /* what a receiver remembers of an announcement, with its place in the table */
    ORR_CREDIT_ASKED_LEAST = 8 /* announcements that may wait to be wanted */
};

/* Of a message with a payload of so many bytes. */
static inline uint32_t orr_credit_price(uint32_t context, bool large, size_t bytes)
{
    if (context & ORR_CONTEXT_UNCOUNTED) return 0; /* the layer's own sums always get through */
    return large ? ORR_CREDIT_BULK : bytes > ORR_CREDIT_FREE ? (uint32_t)bytes : 0;
}

/* How many announcements to one rank may wait to be wanted: as many as take its share once more. Of a send
 * beyond them its receiver is told the tag (ORR_WIRE_MORE), and remembers no more than that there are such.
 * It asks for the first of a tag when a receive finds no message (ORR_WIRE_WANT): that is announced whatever
 * else is. Receives that wait already when it is told of their tag ask together, for as many as they are: the
 * last message that comes of that says whether others are behind it (ORR_WIRE_BEHIND), and who still waits
 * then asks again. A tag is told of when the first is kept back; those behind are found in this way. So
 * receives may come in any order, and what a rank keeps grows only by what its program waits for. */
static inline uint32_t orr_credit_asked_most(int64_t share)
{
    int64_t most = share / ORR_CREDIT_RECORD;
    if (most < ORR_CREDIT_ASKED_LEAST) return ORR_CREDIT_ASKED_LEAST;
    return most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
}

/* The price of a message, at the other end. */
static inline uint32_t orr_credit_of(const struct orr_wire_header *h)
{
    bool large = h->kind == ORR_WIRE_ANNOUNCE;
    if (h->flags & ORR_WIRE_ASKS || (!large && h->kind != ORR_WIRE_EAGER)) return 0;
    return orr_credit_price(h->context, large, (size_t)h->bytes);
}

#endif
