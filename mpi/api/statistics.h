/* SPDX-License-Identifier: BSD-3-Clause */
/* statistics.h: what this rank sent.
 * Threads: any. Owns: nothing (the engine counts). Not here: which messages count (value/message.c). */
#ifndef ORR_MPI_API_STATISTICS_H
#define ORR_MPI_API_STATISTICS_H

#include "mpi/wire/cluster.h"

bool orr_statistics_wanted(void); /* STARPU_MPI_STATS, STARPU_COMM_STATS */
/* Prints them; messages still count. */
void orr_statistics_show(struct orr_cluster *cl);

#endif
