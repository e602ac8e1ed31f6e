/* SPDX-License-Identifier: BSD-3-Clause */
/* transports/inproc.h: a network inside of one process, for tests: every rank is plain state.
 * Threads: each rank's transport as any other; the ranks may be on different threads. Owns: struct
 * orr_inproc.
 * Not here: real messages (transports/mpi.c).
 * The transport "inproc" of a job is such a network of one rank, which the transport owns.
 * The network is adversarial, from a seed: messages between different pairs of ranks overtake each other, are
 * late, buffers are refused, bulk transfers end in any order. */
#ifndef ORR_MPI_TRANSPORT_INPROC_H
#define ORR_MPI_TRANSPORT_INPROC_H

#include "mpi/wire/transport.h"

struct orr_inproc;

/* A communicator of the program on such a network, as struct orr_foreign knows it: the same for all its
 * ranks. */
struct orr_inproc_comm {
    int size;
    const int *ranks; /* its ranks, as the network counts them */
};

/* NULL: no memory. max_delay: in polls of the receiving rank; refuse_percent: of requests for a buffer. */
struct orr_inproc *orr_inproc_create(int ranks, uint64_t seed, unsigned max_delay, unsigned refuse_percent);
struct orr_transport *orr_inproc_rank(struct orr_inproc *net, int rank);
/* Before its ranks begin: they may use each other's memory in place. */
void orr_inproc_show(struct orr_inproc *net);
/* A rank takes nothing for a while: there are no buffers for data that go there. */
void orr_inproc_stall(struct orr_inproc *net, int rank, bool stalled);
void orr_inproc_destroy(struct orr_inproc *net); /* after the transports */

#endif
