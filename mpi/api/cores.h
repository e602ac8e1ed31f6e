/* SPDX-License-Identifier: BSD-3-Clause */
/* cores.h: ranks of one node share its cores and devices, and say how.
 * Threads: the main thread of every rank, collectively. Owns: nothing. Not here: who gets what
 * (core/topo/share.h), which cores a worker gets (core/topo). */
#ifndef ORR_MPI_API_CORES_H
#define ORR_MPI_API_CORES_H

#include <starpu_mpi.h>
#include <stdbool.h>

/* Before the runtime starts: of the processors that the launcher left to each, and as many as its workers
 * will want (conf, or NULL), each rank is to take its part; devices by index. runs: this rank's runtime runs
 * already, and keeps what it has. Collective on all of comm. */
void orr_cores_share(MPI_Comm comm, const struct starpu_conf *conf, bool runs);

/* When the runtime runs on all ranks: the first of each node that has several says in one line what each got,
 * and warns when workers share cores or ranks devices, by how much and what mends it. Once. Collective. */
void orr_cores_tell(MPI_Comm comm);

#endif
