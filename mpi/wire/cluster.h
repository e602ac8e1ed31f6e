/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster.h: this rank's part of the running MPI layer.
 * Threads: any between init and shutdown; fields say more. Owns: struct orr_cluster. Not here: how it is
 * started (api/session.c). */
#ifndef ORR_MPI_CLUSTER_H
#define ORR_MPI_CLUSTER_H

#include "core/base/sync.h"
#include "mpi/wire/comm.h"
#include "mpi/wire/engine.h"
#include "mpi/wire/progress.h"

struct orr_streams; /* of rooms above: only the places for them are here */
struct orr_value;
struct orr_place;

struct orr_cluster {
    bool started;      /* [const while running] */
    int rank, size;    /* in the communicator given to init [const] */
    bool free_threads; /* MPI lets any thread call it at any time [const while running] */
    struct orr_engine engine;
    struct orr_comms comms;
    struct orr_comm *comm;       /* that communicator [const] */
    struct orr_streams *streams; /* [const] live/stream.h */
    struct orr_value *value;     /* [const] value/value.h */
    struct orr_place *place;     /* [const] place/policies.h */
    struct orr_mpi_progress progress;
    struct orr_bells bells;
};

#endif
