/* SPDX-License-Identifier: BSD-3-Clause */
/* network.h: how fast messages between ranks are, measured once and agreed.
 * Threads: the thread that submits. Owns: nothing. Not here: what follows for where tasks run (dmda.c). */
#ifndef ORR_MPI_NETWORK_H
#define ORR_MPI_NETWORK_H

#include "mpi/place/machine.h"
#include "mpi/wire/cluster.h"

struct orr_network {
    uint64_t latency_ns;   /* of a small message; 0: not known */
    uint64_t bytes_per_us; /* of a large one; 0: not known */
};

/* Between rank 0 and the first rank on another computer, or else rank 1; the best of a few. Zero where it
 * cannot be measured. Collective. Blocks. */
struct orr_network orr_network_measure(struct orr_comm *c, const struct orr_machines *m);

#endif
