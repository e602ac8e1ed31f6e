/* SPDX-License-Identifier: BSD-3-Clause */
/* session.h: all of the layer's state on one rank.
 * Threads: any between init and shutdown; fields say more. Owns: struct orr_session, and the one that the
 * StarPU interface means, whose functions have no argument for it. Not here: MPI, and what the program asks
 * for (init.c). */
#ifndef ORR_MPI_API_SESSION_H
#define ORR_MPI_API_SESSION_H

#include "core/base/log.h"
#include "mpi/live/live.h"
#include "mpi/place/history.h"
#include "mpi/place/machine.h"
#include "mpi/place/policies.h"
#include "mpi/place/recording.h"
#include "mpi/value/checkpoint.h"
#include "mpi/value/lend.h"
#include "mpi/value/standing.h"
#include "mpi/value/value.h"
#include "mpi/wire/cluster.h"

/* Begins as ORR_SESSION_INITIALIZER. It is used again by the next start, and never given back: threads, data
 * and messages may be late. */
struct orr_session {
    struct orr_cluster cluster;
    struct orr_live live;
    struct orr_value value;
    struct orr_place place;
    struct orr_checkpoints checkpoints;
    struct orr_lend lend;
    struct orr_standing standing;
    struct orr_machines machines; /* place.machines while it runs */
    int imposed;                  /* the placement that the environment chose; 0, -1: none */
    bool writes_history;          /* at the end, on all ranks */
    bool owns_mpi;                /* we initialised it */
    bool owns_runtime;            /* one count of starpu_init is ours, till the end */
};

/* Whether ready tasks go to ranks that have none. */
enum orr_lends { ORR_LENDS_NOT, ORR_LENDS_WHEN_ASKED, ORR_LENDS_AND_ASKS };

/* What a start needs to know. */
struct orr_session_setup {
    const struct orr_bootstrap *bootstrap;     /* borrowed for the start */
    const struct orr_transport_ops *transport; /* on all ranks the same; NULL: this one has none (said) */
    const struct orr_comm_source *source; /* for other communicators than the first; borrowed until stop */
    int placement;            /* its number, on all ranks; -1: as the program chose; less: none (said) */
    const void *program_comm; /* what the first stands for */
    const char
        *history;     /* rank 0: the file for the schedule (history.h); others: not NULL; NULL on all: none */
    bool counts;      /* the bytes of messages, from the beginning on */
    bool wants_trees; /* large values go along trees, if all ranks want it */
    enum orr_lends lends; /* the least of all ranks counts */
    bool free_threads;    /* the transport's library lets any thread call it */
};

/* Starts on all ranks of the bootstrap, or on none; each says what it lacks. Collective. Blocks. 0, -EINVAL,
 * -ENOMEM, -EAGAIN (no thread), -ENOSPC or -EIO. */
int orr_session_start(struct orr_session *s, const struct orr_session_setup *setup);
/* After orr_shutdown. What is late finds it closed. */
void orr_session_stop(struct orr_session *s);

#define ORR_SESSION_INITIALIZER                                                                              \
    {                                                                                                        \
        .value = ORR_VALUE_INITIALIZER, .live.stuck = ORR_STUCK_INITIALIZER,                                 \
        .checkpoints = ORR_CHECKPOINTS_INITIALIZER                                                           \
    }

extern struct orr_session orr_the_session;

static inline bool orr_session_runs(void)
{
    return orr_likely(orr_the_session.cluster.started);
}

/* Says that fn was called before init, if so. */
static inline bool orr_session_check(const char *fn)
{
    if (orr_session_runs()) {
        struct orr_recording *r =
            orr_load_acquire(&orr_the_session.place.recording); /* pairs with replay.c */
        if (orr_unlikely(r != NULL)) orr_recording_called(r, fn);
        return true;
    }
    orr_error("%s: the MPI layer is not running; call starpu_mpi_init_conf first", fn);
    return false;
}

#endif
