/* SPDX-License-Identifier: BSD-3-Clause */
/* api/comm.h: from MPI_Comm to our own communicators; the last place but the transport that sees an MPI_Comm.
 * Threads: any. Owns: nothing. Not here: struct orr_comm (wire/comm.h). */
#ifndef ORR_MPI_API_COMM_H
#define ORR_MPI_API_COMM_H

#include <starpu_mpi.h>

#include "mpi/wire/comm.h"

/* Ours for comm, made on first use; NULL for MPI_COMM_NULL, an intercommunicator, or out of memory. */
struct orr_comm *orr_comm_lookup(MPI_Comm comm);

/* MPI_Comm is a pointer in some MPIs and a number in others. */
static inline const void *orr_comm_key(MPI_Comm comm)
{
    return (const void *)(intptr_t)comm;
}

/* The program's communicator that c stands for; MPI_COMM_NULL: it is freed. */
static inline MPI_Comm orr_comm_mpi(struct orr_comm *c)
{
    const void *key = orr_load_acquire(&c->program_comm);
    return key ? (MPI_Comm)(intptr_t)key : MPI_COMM_NULL;
}

extern _Atomic(struct orr_comm *) orr_comm_latest; /* [any: a hint] */

static inline struct orr_comm *orr_comm_of(MPI_Comm comm)
{
    struct orr_comm *c = orr_load_acquire(&orr_comm_latest);
    return orr_likely(c && orr_load_acquire(&c->program_comm) == orr_comm_key(comm)) ? c
                                                                                     : orr_comm_lookup(comm);
}

/* What MPI knows of the program's communicators. */
extern const struct orr_comm_source orr_comm_mpi_source;
/* The session runs, on comm: from here on its other communicators are met, and their end is heard of. */
void orr_comms_attach(MPI_Comm comm);
void orr_comms_detach(void); /* it is over */

/* Around calls of MPI that the transport does not make: where MPI lets one thread in at a time, the engine
 * waits meanwhile. Not twice, and not while the engine is held. */
void orr_mpi_enter(void);
void orr_mpi_leave(void);

#endif
