/* SPDX-License-Identifier: BSD-3-Clause */
/* draw.h: random numbers for policies.
 * Threads: any; each has a sequence of its own, so that they share no line. Owns: nothing. Not here: who is
 * drawn (random.c, components/eager.c). */
#ifndef ORR_SCHED_DRAW_H
#define ORR_SCHED_DRAW_H

#include <stdint.h>

#include "core/base/clock.h"
#include "core/base/thread.h"

/* In [0, 1). xorshift64 (G. Marsaglia, Journal of Statistical Software 8, 2003). */
static inline double orr_draw(void)
{
    uint64_t *own = orr_thread_room(orr_self(), draw, uint64_t), state = *own;
    if (!state) state = ((uint64_t)(uintptr_t)own ^ orr_clock_ns()) | 1;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    *own = state;
    return (double)(state >> 11) * 0x1p-53;
}

#endif
