/* SPDX-License-Identifier: BSD-3-Clause */
/* bus.h: how long a transfer between two memory nodes takes, from what the nodes' drivers say of their links.
 * Threads: any. Owns: nothing. Not here: making transfers (core/data/coherency.h), the network (mpi/). */
#ifndef ORR_PERF_BUS_H
#define ORR_PERF_BUS_H

#include <stddef.h>

/* In microseconds; 0 within a node. */
double orr_bus_predict_us(unsigned src_node, unsigned dst_node, size_t bytes);

#endif
