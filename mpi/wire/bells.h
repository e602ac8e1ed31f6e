/* SPDX-License-Identifier: BSD-3-Clause */
/* bells.h: the ranks of a node share a little memory in which each has a bell: one that sleeps is woken by
 * the one that sends it a message.
 * Threads: opened and closed by one thread; ringing: any. Owns: the shared memory. Not here: who listens
 * (core/worker/bell.h), who rings when (steps.h). */
#ifndef ORR_MPI_BELLS_H
#define ORR_MPI_BELLS_H

#include "core/worker/bell.h"
#include "mpi/wire/transport.h"

struct orr_bells {
    struct orr_bell *first; /* of the ranks of this node that share memory, in their order; NULL: none */
    int32_t *places;        /* by rank: which is its bell; -1: it has none here */
    int mine, count;        /* count: ranks of the node */
    bool all_ranks;         /* that is all there are */
    size_t mapped_bytes;
};

/* Collective over the ranks of b. What cannot be shared is done without: ranks then look for messages from
 * time to time. */
void orr_bells_open(struct orr_bells *bells, const struct orr_bootstrap *b);
/* Nobody rings any more, on any rank. */
void orr_bells_close(struct orr_bells *bells);

/* This rank's; NULL: none. */
static inline struct orr_bell *orr_bells_mine(const struct orr_bells *bells)
{
    return bells->first ? &bells->first[bells->mine] : NULL;
}

/* Something was sent to a rank that it is to look at; answer: soon, whether or not somebody waits for it. */
static inline void orr_bells_ring(const struct orr_bells *bells, int rank, bool answer)
{
    if (!bells->first || bells->places[rank] < 0) return;
    orr_bell_ring(&bells->first[bells->places[rank]], answer);
}

#endif
