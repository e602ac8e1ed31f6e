/* SPDX-License-Identifier: BSD-3-Clause */
/* wait.h: waiting for all tasks and messages of a communicator.
 * Threads: any that may block. Owns: nothing. Not here: the wait that ends the layer (shutdown.c). */
#ifndef ORR_MPI_API_WAIT_H
#define ORR_MPI_API_WAIT_H

#include "mpi/wire/cluster.h"

/* Whether the calling thread may block; says so if not. instead: what to do then, or "". */
bool orr_wait_may_block(const char *fn, const char *instead);
/* Waits for the tasks of all contexts, whatever context the thread has set. 0, or -EIO: some failed. */
int orr_wait_for_tasks(void);
/* starpu_mpi_wait_for_all: until no rank of c has tasks or messages. Collective. 0, or the first failure. */
int orr_wait_for_all(struct orr_comm *c);

#endif
