/* SPDX-License-Identifier: BSD-3-Clause */
/* clocks.h: virtual time: until when the workers of each rank are taken, and which ranks have least to do.
 * Threads: the thread that submits. Owns: struct orr_clocks. Not here: how long tasks take (lengths.h), which
 * rank a task gets (dmda.c).
 *
 * A rank's workers of one kind are a few lanes; with more workers than lanes, each lane stands for several.
 * Time is in nanoseconds from the beginning of the placement, moved by the stream alone. */
#ifndef ORR_MPI_CLOCKS_H
#define ORR_MPI_CLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ORR_CLOCK_LANES = 7, ORR_CLOCK_KINDS = 4 };
enum { ORR_CLOCKS_FEW = 8 }; /* ranks up to which all are looked at: they are not sorted */

/* The workers of one kind on one rank; a cache line. */
struct orr_clock {
    uint64_t lane[ORR_CLOCK_LANES]; /* taken until; those that are not there: for ever */
    uint32_t workers;
    uint16_t lanes, earliest;
};
_Static_assert(sizeof(struct orr_clock) == 64, "one line each");

/* A rank, and when the first of its workers is free. */
struct orr_clock_entry {
    uint64_t key;
    int32_t rank, unused;
};

struct orr_clocks {
    int ranks, kinds;
    bool unsorted;                /* nobody asks which ranks have least to do, until orr_clocks_ready */
    uint64_t floor;               /* nothing begins earlier */
    uint64_t latest;              /* the last task so far is over */
    struct orr_clock *clock;      /* [rank * kinds + kind] */
    struct orr_clock_entry *heap; /* ranks, those with least to do first; the few unsorted: by rank */
    int32_t *place;               /* where each is */
};

/* 0 or -ENOMEM; then orr_clocks_fini. */
int orr_clocks_init(struct orr_clocks *c, int ranks, int kinds);
void orr_clocks_fini(struct orr_clocks *c);
/* Before the first task: so many workers are there. */
void orr_clocks_set(struct orr_clocks *c, int rank, int kind, unsigned workers);
void orr_clocks_ready(struct orr_clocks *c); /* all are set */

static inline const struct orr_clock *orr_clocks_at(const struct orr_clocks *c, int rank, int kind)
{
    return &c->clock[(size_t)rank * (size_t)c->kinds + (size_t)kind];
}

/* When a worker of that kind could begin; there is one. */
static inline uint64_t orr_clocks_free(const struct orr_clocks *c, int rank, int kind)
{
    const struct orr_clock *k = orr_clocks_at(c, rank, kind);
    uint64_t t = k->lane[k->earliest];
    return t > c->floor ? t : c->floor;
}

/* A task of that length runs there, not before a time: when it is over. */
uint64_t orr_clocks_take(struct orr_clocks *c, int rank, int kind, uint64_t not_before, uint64_t length);
/* All ranks wait for all tasks here. */
void orr_clocks_meet(struct orr_clocks *c);
/* The rank with least to do, where there are more than ORR_CLOCKS_FEW. */
static inline int orr_clocks_least(const struct orr_clocks *c)
{
    return c->heap[0].rank;
}
/* No worker of any rank is free before. */
static inline uint64_t orr_clocks_least_free(const struct orr_clocks *c)
{
    uint64_t least = c->heap[0].key;
    for (int i = 1; i < c->ranks && c->ranks <= ORR_CLOCKS_FEW; i++)
        if (c->heap[i].key < least) least = c->heap[i].key;
    return least;
}

#endif
