/* SPDX-License-Identifier: BSD-3-Clause */
/* transports/mpi.h: the transport over MPI.
 * Threads: creation and destruction by the main thread of every rank (collective). Owns: nothing.
 * Not here: the table (transport.h). */
#ifndef ORR_MPI_TRANSPORT_MPI_H
#define ORR_MPI_TRANSPORT_MPI_H

#include <mpi.h>

#include "mpi/wire/transport.h"

/* Duplicates comm. NULL: out of memory or an MPI error, said which. Collective. Destroyed through its table.
 * */
struct orr_transport *orr_transport_mpi_create(MPI_Comm comm);

#endif
