/* SPDX-License-Identifier: BSD-3-Clause */
/* session.h: all of the layer's state on one rank.
 * Threads: any between init and shutdown; fields say more. Owns: struct orr_session, and the one that the
 * StarPU interface means, whose functions have no argument for it. Not here: how it is started (init.c). */
#ifndef ORR_MPI_API_SESSION_H
#define ORR_MPI_API_SESSION_H

#include "core/base/log.h"
#include "mpi/live/live.h"
#include "mpi/value/value.h"
#include "mpi/wire/cluster.h"

/* Begins as ORR_SESSION_INITIALIZER. It is used again by the next start, and never given back: threads, data
 * and messages may be late. */
struct orr_session {
    struct orr_cluster cluster;
    struct orr_live live;
    struct orr_value value;
};

#define ORR_SESSION_INITIALIZER                                                                              \
    {                                                                                                        \
        .value = ORR_VALUE_INITIALIZER, .live.stuck = ORR_STUCK_INITIALIZER                                  \
    }

extern struct orr_session orr_the_session;

static inline bool orr_session_runs(void)
{
    return orr_likely(orr_the_session.cluster.started);
}

/* Says that fn was called before init, if so. */
static inline bool orr_session_check(const char *fn)
{
    if (orr_session_runs()) return true;
    orr_error("%s: the MPI layer is not running; call starpu_mpi_init_conf first", fn);
    return false;
}

#endif
