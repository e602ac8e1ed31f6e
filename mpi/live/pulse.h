/* SPDX-License-Identifier: BSD-3-Clause */
/* pulse.h: who beats for whom, and who has been silent for too long. No clock, thread or message of its own,
 * so that it can be tested in one process. Threads: heard from any, the rest one at a time. Owns: struct
 * orr_pulse. Not here: what follows from a verdict (guard.c).
 *
 * Ranks form a ring; each beats for the next two and listens to the two before it, so that two neighbours
 * that fall silent together are both found. Silence is counted in the listener's own waking time: a listener
 * that was itself stopped, or a job that was suspended as a whole, blames nobody. */
#ifndef ORR_MPI_PULSE_H
#define ORR_MPI_PULSE_H

#include "core/base/sync.h"

enum { ORR_PULSE_NEIGHBOURS = 2 };

struct orr_pulse {
    int rank, size;
    int neighbours;                           /* listened to: at most ORR_PULSE_NEIGHBOURS */
    uint32_t limit_ms, beat_ms, look_ms;      /* silence allowed; between beats; between two ticks at most */
    uint32_t since_beat_ms;                   /* since the last beat was due */
    bool owes[ORR_PULSE_NEIGHBOURS];          /* a beat to rank + 1 + i could not be sent yet */
    uint32_t silent_ms[ORR_PULSE_NEIGHBOURS]; /* of rank - 1 - i */
    bool given_up[ORR_PULSE_NEIGHBOURS];
    _Atomic uint32_t heard[ORR_PULSE_NEIGHBOURS]; /* 1: a beat came since the last tick */
};

/* limit_ms > 0. */
void orr_pulse_init(struct orr_pulse *p, int rank, int size, uint32_t limit_ms);
/* A beat of source came. */
void orr_pulse_heard(struct orr_pulse *p, int source);
/* elapsed_ms after the last tick. Sends beats when they are due, and again at the next tick those for which
 * beat returned false. Returns a rank that has just been silent for too long, or -1; each rank once. */
int orr_pulse_tick(struct orr_pulse *p, uint64_t elapsed_ms, bool (*beat)(void *arg, int peer), void *arg);

#endif
