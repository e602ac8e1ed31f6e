/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster.h: this rank's part of the running MPI layer.
 * Threads: any between init and shutdown; fields say more. Owns: struct orr_cluster. Not here: how it is
 * started (api/init.c). */
#ifndef ORR_MPI_CLUSTER_H
#define ORR_MPI_CLUSTER_H

#include "core/base/log.h"
#include "core/base/sync.h"
#include "mpi/wire/comm.h"
#include "mpi/wire/engine.h"
#include "mpi/wire/progress.h"

struct orr_cluster {
    bool started;      /* [const while running] */
    int rank, size;    /* in the communicator given to init [const] */
    bool free_threads; /* MPI lets any thread call it at any time [const while running] */
    struct orr_engine engine;
    struct orr_comms comms;
    struct orr_comm *comm; /* that communicator [const] */
    struct orr_mpi_progress progress;
};

extern struct orr_cluster orr_cluster;

/* Says that fn was called before init, if so. */
#define orr_cluster_check(fn)                                                                                \
    (orr_likely(orr_cluster.started) ||                                                                      \
     (orr_error("%s: the MPI layer is not running; call starpu_mpi_init_conf first", (fn)), false))

#endif
