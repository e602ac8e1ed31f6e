/* SPDX-License-Identifier: BSD-3-Clause */
/* gaps.h: a recorded iteration where data move: what this rank leaves out of it, and its replay.
 * Threads: the thread that submits. Owns: what is in struct orr_gaps. Not here: the record itself
 * (recording.h), when it is replayed (replay.h).
 *
 * Left out are insertions of other ranks all of whose data have another home and are not here. Each changes
 * only the position, the hash, and who has these data: the first is added at once, the second is known, and
 * the third is made good, all of it for each datum, before the next insertion that is kept and uses it. So
 * those are decided as if all had been inserted, whatever state data are in; but a datum that is left out
 * before anything is kept of it must have nothing here when the iteration begins (orr_gaps_fit). */
#ifndef ORR_MPI_GAPS_H
#define ORR_MPI_GAPS_H

#include "mpi/place/repeat.h"

/* All of r was noted: throws out what this rank leaves out. False: out of memory. */
bool orr_gaps_make(struct orr_recording *r, struct orr_comm *c);
/* Whether r can be replayed, as data are now. */
bool orr_gaps_fit(const struct orr_recording *r, const struct orr_comm *c);
/* Does all of it; at: the position of its first insertion now. What failed first (said), or 0. */
int orr_gaps_replay(struct orr_comm *c, const struct orr_recording *r, uint64_t at, orr_replay_patch_fn patch,
                    void *arg);

#endif
