/* SPDX-License-Identifier: BSD-3-Clause */
/* stuck.h: deadlocks across ranks: known, not guessed, because the ranks agree that nobody can move and
 * nothing is under way.
 * Threads: start and stop by the main thread; asked by the runtime's watching thread. Owns: the ranks'
 * reports.
 * Not here: when one rank is stuck (core/run/deadlock.h). */
#ifndef ORR_MPI_STUCK_H
#define ORR_MPI_STUCK_H

#include "core/data/data.h"
#include "mpi/wire/request.h"
#include "mpi/wire/wire.h"

/* Who knows what the engine's requests are for, and can tell the program. */
struct orr_stuck_story {
    /* Print a request that waits for its other end, and a message that nobody receives; when: "waits". */
    void (*unmatched)(const struct orr_request *r, void *when);
    void (*early)(const struct orr_match_node *n, const struct orr_wire_header *h, void *when);
    /* Prints those that wait for their data. certain: nobody moves, and who has it is told. */
    void (*waiting)(bool certain);
    /* Whether r holds h's data now, waiting for its other end; text: which. */
    bool (*holds)(const struct orr_request *r, const struct orr_data *h, char *text, size_t bytes);
};

int orr_stuck_start(const struct orr_stuck_story *story); /* 0 or -ENOMEM */
void orr_stuck_stop(void);

#endif
