/* SPDX-License-Identifier: BSD-3-Clause */
/* statistics.h: what this rank sent to whom: an observer of messages that leave.
 * Threads: who starts and ends the layer. Owns: the counts, of the session that the StarPU interface means.
 * Not here: which messages count (value/message.c). */
#ifndef ORR_MPI_API_STATISTICS_H
#define ORR_MPI_API_STATISTICS_H

#include "mpi/wire/cluster.h"

/* Reads STARPU_MPI_STATS and STARPU_COMM_STATS. True: messages count from the beginning on. Collective. */
bool orr_statistics_begin(const struct orr_bootstrap *b);
/* Prints what this rank sent, and on rank 0 what all did, where the settings say so. Collective; messages
 * still count. */
void orr_statistics_show(const struct orr_cluster *cl);
/* Nothing moves any more: all is forgotten. */
void orr_statistics_end(void);

#endif
