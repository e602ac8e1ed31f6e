/* SPDX-License-Identifier: BSD-3-Clause */
/* lb.h: the load balancer's step.
 * Threads: the main thread of every rank, collectively. Owns: nothing. Not here: the interface
 * (starpu_mpi_lb.h). */
#ifndef ORR_MPI_API_LB_H
#define ORR_MPI_API_LB_H

#include "mpi/wire/comm.h"

/* All tasks of c are over, on all ranks: data may change their owners, if there is a balancer. Collective. 0
 * or -EIO: the ranks do not hear each other. */
int orr_lb_step(struct orr_comm *c);

#endif
