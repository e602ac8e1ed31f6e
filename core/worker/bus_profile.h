/* SPDX-License-Identifier: BSD-3-Clause */
/* bus_profile.h: what went between memory nodes.
 * Threads: any. Owns: see bus_profile.c. Not here: what programs ask (starpu_profiling.h). */
#ifndef ORR_WORKER_BUS_PROFILE_H
#define ORR_WORKER_BUS_PROFILE_H

#include <stdint.h>

/* Bytes copied from one node to another since the process began, where there are several nodes. */
/* A second node has come: looks at copies from now on. Any thread. */
void orr_bus_profile_watch(void);
uint64_t orr_bus_moved_bytes(unsigned src, unsigned dst);

#endif
