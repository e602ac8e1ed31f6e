/* SPDX-License-Identifier: BSD-3-Clause */
/* clock.h: cheap time. Ticks are the processor's constant-rate counter where there is one, else nanoseconds.
 * Threads: any. Owns: the ticks-to-time ratio, fixed at orr_clock_init. Not here: starpu_timing_now
 * (core/run). */
#ifndef ORR_BASE_CLOCK_H
#define ORR_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "core/base/export.h"

extern ORR_EXPORT double orr_ns_per_tick;      /* [const after orr_clock_init] */
extern ORR_EXPORT bool orr_clock_uses_counter; /* [const after orr_clock_init] */

/* Measures the counter against CLOCK_MONOTONIC; about 1 ms, only the first time. */
void orr_clock_init(void);

static inline uint64_t orr_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t orr_ticks(void)
{
#if defined(__x86_64__)
    if (__builtin_expect(orr_clock_uses_counter, 1)) return __builtin_ia32_rdtsc();
#endif
    return orr_clock_ns();
}

static inline double orr_ticks_to_us(uint64_t ticks)
{
    return (double)ticks * orr_ns_per_tick * 1e-3;
}
static inline uint64_t orr_us_to_ticks(double us)
{
    return (uint64_t)(us * 1e3 / orr_ns_per_tick);
}

#endif
