/* SPDX-License-Identifier: BSD-3-Clause */
/* stuck.h: deadlocks across ranks: known, not guessed, because the ranks agree that nobody can move and
 * nothing is under way.
 * Threads: start and stop by the main thread; asked by the runtime's watching thread. Owns: the ranks'
 * reports.
 * Not here: when one rank is stuck (core/run/deadlock.h). */
#ifndef ORR_MPI_STUCK_H
#define ORR_MPI_STUCK_H

#include "mpi/wire/wire.h"

int orr_stuck_start(void); /* 0 or -ENOMEM */
void orr_stuck_stop(void);

/* A control message came: REPORT, WAVE or DEADLOCK. Called with the engine busy. */
void orr_stuck_heard(int source, const struct orr_wire_header *h);

#endif
