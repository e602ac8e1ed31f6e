/* SPDX-License-Identifier: BSD-3-Clause */
/* heat.h: which rank gives load to which neighbour: from the hotter to the cooler, a unit at a time.
 * Threads: any; the state is the caller's. Owns: struct orr_heat. Not here: what is measured and moved
 * (api/lb.c). */
#ifndef ORR_MPI_HEAT_H
#define ORR_MPI_HEAT_H

#include <stdint.h>

/* What a rank learns. Begins as zeros. */
struct orr_heat {
    int64_t gap;  /* to the neighbour that it gave the last unit, before; 0: it gave none */
    int64_t unit; /* what a unit is worth, in load; 0: not known */
    int receiver;
};

/* load: by rank, in any unit of time, those of the same stretch. The neighbour to which rank me is to give a
 * unit, the coolest; -1: none: all are within a tenth, or giving one would only turn it round. */
int orr_heat_choose(struct orr_heat *heat, const int64_t *load, int me, const int *neighbours, int count);
/* choice: by rank, as it chose. Of those who chose the same rank only the hottest gives, others' choices
 * become -1. The same on whoever computes it. Returns how many give. */
int orr_heat_settle(const int64_t *load, int *choice, int ranks);
/* Rank me's choice was settled: it gives to that rank, or -1. */
void orr_heat_gives(struct orr_heat *heat, const int64_t *load, int me, int receiver);

#endif
