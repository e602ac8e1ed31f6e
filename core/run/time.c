/* SPDX-License-Identifier: BSD-3-Clause */
/* time.c: time and sleeping for programs.
 * Threads: any. Owns: nothing. Not here: the runtime's own clock (core/base/clock.h). */
#include <errno.h>
#include <starpu.h>
#include <time.h>

#include "core/base/clock.h"

double starpu_timing_now(void)
{
    return (double)orr_clock_ns() * 1e-3;
}

double starpu_timing_get_reference(void)
{
    return 0;
} /* where starpu_timing_now counts from */

static void sleep_ns(double ns)
{
    if (!(ns > 0)) return;
    struct timespec t = { .tv_sec = (time_t)(ns / 1e9) };
    t.tv_nsec = (long)(ns - (double)t.tv_sec * 1e9);
    while (nanosleep(&t, &t) == -1 && errno == EINTR) continue;
}

void starpu_sleep(float nb_sec)
{
    sleep_ns((double)nb_sec * 1e9);
}

void starpu_usleep(float nb_micro_sec)
{
    sleep_ns((double)nb_micro_sec * 1e3);
}
