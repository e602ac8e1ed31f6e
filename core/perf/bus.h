/* SPDX-License-Identifier: BSD-3-Clause */
/* bus.h: how long a transfer between two memory nodes takes: as measured on this machine once (a file keeps
 * it), else as the nodes' drivers say.
 * Threads: any between init and fini, which the main thread calls. Owns: the table of links. Not here: making
 * transfers (core/data/coherency.h), the network (mpi/). */
#ifndef ORR_PERF_BUS_H
#define ORR_PERF_BUS_H

#include <stdbool.h>
#include <stddef.h>

/* After all nodes are registered, before workers start. Reads what was measured before; measures all links
 * again, and saves that, if the program (starpu_conf.bus_calibrate, -1: unset, which wins over the
 * environment with conf_wins) or STARPU_BUS_CALIBRATE says so; measures those of which the driver says
 * nothing. */
void orr_bus_init(int conf_calibrate, bool conf_wins);
/* Before nodes are forgotten. */
void orr_bus_fini(void);
/* A store has come: its links are measured. One thread at a time, between init and fini. */
void orr_bus_add(unsigned node);

/* In microseconds; 0 within a node. */
double orr_bus_predict_us(unsigned src_node, unsigned dst_node, size_t bytes);

#endif
