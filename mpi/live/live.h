/* SPDX-License-Identifier: BSD-3-Clause */
/* live.h: all that watches over the ranks of one cluster.
 * Threads: none. Owns: struct orr_live. Not here: what each does (control.h, guard.h, stream.h, stuck.h), in
 * which order they start and stop (api/bringup.c). */
#ifndef ORR_MPI_LIVE_H
#define ORR_MPI_LIVE_H

#include "mpi/live/control.h"
#include "mpi/live/guard.h"
#include "mpi/live/stream.h"
#include "mpi/live/stuck.h"

struct orr_live {
    struct orr_controls controls;
    struct orr_guard guard;
    struct orr_streams streams;
    struct orr_stuck stuck;
};

#endif
