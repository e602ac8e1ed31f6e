/* SPDX-License-Identifier: BSD-3-Clause */
/* clock.c: calibration of the processor's time counter.
 * Threads: orr_clock_init once, before others read. Owns: the ratio.
 * Not here: reading the clock (clock.h). */
#include "core/base/clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { CALIBRATION_NS = 1000000 };

double orr_ns_per_tick = 1.0;
bool orr_clock_uses_counter;

#if defined(__x86_64__)
/* Whether the counter runs at one rate in every power state (CPUID 8000_0007h, EDX bit 8). */
static bool counter_is_invariant(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1);
}
#endif

void orr_clock_init(void)
{
#if defined(__x86_64__)
    if (orr_clock_uses_counter || !counter_is_invariant()) return;
    uint64_t ns0 = orr_clock_ns(), t0 = __builtin_ia32_rdtsc(), ns1;
    do ns1 = orr_clock_ns();
    while (ns1 - ns0 < CALIBRATION_NS);
    uint64_t t1 = __builtin_ia32_rdtsc();
    if (t1 <= t0) return;
    orr_ns_per_tick = (double)(ns1 - ns0) / (double)(t1 - t0);
    orr_clock_uses_counter = true;
#endif
}
