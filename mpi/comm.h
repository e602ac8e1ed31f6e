/* SPDX-License-Identifier: BSD-3-Clause */
/* comm.h: our own communicators: a number that all its ranks agree on, and who they are.
 * Threads: any. Owns: struct orr_comm. Not here: MPI_Comm (api_comm.c turns one into an orr_comm). */
#ifndef ORR_MPI_COMM_H
#define ORR_MPI_COMM_H

#include <stdint.h>

#include "core/base/sync.h"

struct orr_stream;

struct orr_comm {
    uint32_t context; /* [const] the top bit is free for ORR_CONTEXT_UNCOUNTED */
    int rank, size;   /* [const] */
    int *peers;       /* [const] rank here -> rank of the transport, -1 out of reach; NULL: the same */
    _Atomic uint32_t sums, barriers;     /* collective calls so far (coll.c) [any thread] */
    const void *program_comm;            /* [const] the MPI_Comm it stands for */
    struct orr_comm *next;               /* [const] */
    _Atomic(struct orr_stream *) stream; /* what was inserted on it; NULL: nothing [atomic: publishes it] */
};

/* The transport's rank, or -1. */
static inline int orr_comm_peer(const struct orr_comm *c, int rank)
{
    if (rank < 0 || rank >= c->size) return -1;
    return c->peers ? c->peers[rank] : rank;
}

#endif
