/* SPDX-License-Identifier: BSD-3-Clause */
/* standing.h: what each message of this rank waits for, while the program runs on: for core/run/why.h.
 * Threads: start and stop by the main thread; asked by the live view's. Owns: struct orr_standing. Not here:
 * when nothing moves any more (live/stuck.h). */
#ifndef ORR_MPI_STANDING_H
#define ORR_MPI_STANDING_H

#include "core/run/why.h"
#include "mpi/wire/cluster.h"

struct orr_standing {
    struct orr_why_outside outside; /* first: what core knows of it [const while running] */
    struct orr_cluster *cluster;    /* [const while running] */
};

/* Borrows the cluster, whose engine is open until the stop. */
void orr_standing_start(struct orr_standing *s, struct orr_cluster *cl);
/* Nobody is in it any more. Also of one that was not started. */
void orr_standing_stop(struct orr_standing *s);

#endif
