/* SPDX-License-Identifier: BSD-3-Clause */
/* spread.h: one large value for several ranks goes along a tree: who gets it passes it on.
 * Threads: those of the engine. Owns: struct orr_relay, from the announcement until all have what it passes
 * on. Not here: when (sending.c, receiving.c).
 *
 * A sender that has several sends of the same bytes ready makes two, which say who else is to have them. The
 * others end when their receivers, who go on expecting them from the first sender, tell it that they are
 * matched: so it changes the value only then, and the next one cannot overtake. Only who waits for the bytes
 * at that moment (and has all that their origin sent before) passes them on, and gets them from another than
 * the first sender; of anybody else that one is told (ORR_WIRE_RETURN), and sends itself. So nobody ever
 * waits for the program of a rank between. */
#ifndef ORR_MPI_SPREAD_H
#define ORR_MPI_SPREAD_H

#include "mpi/wire/request.h"
#include "mpi/wire/wire.h"

/* A rank, and how many announcements its origin had sent it itself (modulo 2^32) when it left this one to
 * others: until all of those have come, what it gets from others would overtake them. */
struct orr_spread_rank {
    int32_t rank;
    uint32_t behind;
};

/* Behind a header with ORR_WIRE_SPREAD: whose message it is, with what holds for who gets it; then the ranks
 * that it is to be passed on to. */
struct orr_spread {
    struct orr_spread_rank origin;
    uint32_t count;
    const struct orr_spread_rank *ranks;
};

enum { ORR_SPREAD_MAX = 1024, ORR_SPREAD_BRANCHES = 2 };

/* What a receive passes on. */
struct orr_relay {
    struct orr_request *of;
    _Atomic uint32_t left; /* of the receive and its sends, those that have not ended [atomic] */
    uint32_t branches;
    struct orr_request sends[ORR_SPREAD_BRANCHES];
    struct orr_spread to[ORR_SPREAD_BRANCHES];
    struct orr_spread_rank ranks[];
};

/* How many ranks fit behind a header, of messages of so many bytes. */
uint32_t orr_spread_room(size_t small_max);
/* Writes it behind h, and says so there. Returns how many bytes it takes. */
size_t orr_spread_write(struct orr_wire_header *h, const struct orr_spread *s);
/* The first of the ranks in so many bytes behind a header, and how many follow it; false: they are not sound
 * in a job of that size. */
bool orr_spread_read(const void *data, size_t bytes, int size, struct orr_spread_rank *first_out,
                     uint32_t *count_out);
/* One of them. */
struct orr_spread_rank orr_spread_at(const void *data, size_t i);
/* So many of n ranks in a row go along the first branch. */
static inline uint32_t orr_spread_half(uint32_t n)
{
    return n <= 1 ? n : (n + 1) / 2;
}
/* r is to pass on what it gets to the ranks of such a message. NULL: out of memory. */
struct orr_relay *orr_relay_new(struct orr_request *r, const void *data, uint32_t count);

#endif
