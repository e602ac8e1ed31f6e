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

struct orr_cluster {
    bool started;      /* [const while running] */
    int rank, size;    /* in the communicator given to init [const] */
    bool free_threads; /* MPI lets any thread call it at any time [const while running] */
    struct orr_engine engine;
    struct orr_comm *comm; /* that communicator [const] */
    ORR_ALIGNED_LINE _Atomic int64_t
        outstanding;            /* messages posted and not over [atomic: pairs with waiters] */
    _Atomic uint64_t posted;    /* messages ever posted */
    _Atomic uint64_t completed; /* messages ever over */
    _Atomic uint32_t signal;    /* futex: changes when a message is over and somebody sleeps */
    _Atomic uint32_t sleepers;  /* threads that sleep on signal */
};

extern struct orr_cluster orr_cluster;

/* Says that fn was called before init, if so. */
#define orr_cluster_check(fn)                                                                                \
    (orr_likely(orr_cluster.started) ||                                                                      \
     (orr_error("%s: the MPI layer is not running; call starpu_mpi_init_conf first", (fn)), false))

#endif
