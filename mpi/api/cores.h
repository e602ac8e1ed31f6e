/* SPDX-License-Identifier: BSD-3-Clause */
/* cores.h: ranks of one node that may use the same cores share them.
 * Threads: the main thread of every rank, collectively, before the runtime starts. Owns: nothing. Not here:
 * which cores a worker gets (core/topo). */
#ifndef ORR_MPI_API_CORES_H
#define ORR_MPI_API_CORES_H

#include <starpu_mpi.h>

/* Ranks whose allowed sets overlap, directly or through others, share what they have. Collective. */
void orr_cores_share(MPI_Comm comm);

#endif
