/* SPDX-License-Identifier: BSD-3-Clause */
/* monitor.h: performance counters for listeners of the program (starpu_perf_monitoring.h), at start and stop.
 * Threads: that of starpu_init. Owns: nothing. Not here: what is public. */
#ifndef ORR_RUN_MONITOR_H
#define ORR_RUN_MONITOR_H

#include <starpu.h>

/* The runtime starts: counters are collected if conf, or the program before, says so. */
void orr_monitor_start(const struct starpu_conf *conf);
void orr_monitor_stop(void);

#endif
