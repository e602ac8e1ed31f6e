/* SPDX-License-Identifier: BSD-3-Clause */
/* memory.h: the memory of a simulated device and its two copy engines.
 * Threads: any. Owns: struct sim_memory. Not here: running tasks (sim.c). */
#ifndef ORR_DRIVERS_SIM_MEMORY_H
#define ORR_DRIVERS_SIM_MEMORY_H

#include <stdbool.h>

#include "core/mem/node.h"
#include "drivers/sim/engine.h"
#include "drivers/sim/faults.h"

struct sim_memory {
    unsigned node;
    double latency_us, bandwidth_MB_per_s;
    bool peers;                /* other devices are reached directly */
    bool shown;                /* others are told that they may read and write it: it is real memory */
    struct sim_faults *faults; /* NULL: nothing fails */
    struct sim_engine to, from;
};

/* Registers a memory node for the device, near one main memory after the other: 0, or -errno. m must stay
 * until orr_sim_memory_fini. */
int orr_sim_memory_init(struct sim_memory *m, enum starpu_node_kind kind, int devid, size_t limit_bytes,
                        const char *name);
void orr_sim_memory_fini(struct sim_memory *m);

#endif
