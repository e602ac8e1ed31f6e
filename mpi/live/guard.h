/* SPDX-License-Identifier: BSD-3-Clause */
/* guard.h: a thread of the layer's own on every rank: it beats, notices ranks that died or stopped and ends
 * the job, and does what others of the room leave to it. Threads: start, closing and stop by the main thread;
 * wake from any. Owns: that thread. Not here: who listens to whom (pulse.h), other ranks' questions about the
 * stream of insertions (stream.h). */
#ifndef ORR_MPI_GUARD_H
#define ORR_MPI_GUARD_H

#include "mpi/wire/cluster.h"

struct orr_guard_setup {
    uint32_t limit_ms;   /* how long a rank may be silent, the same on all ranks; 0: nobody is watched */
    const pid_t *pids;   /* by rank: its process as seen from here, 0 unknown; borrowed during start */
    bool (*chore)(void); /* what the thread does besides, each time it looks; true: the job is to end */
};

/* How long a rank may be silent, as this rank's environment says. */
uint32_t orr_guard_limit_ms(void);
/* 0, or -EAGAIN: no thread. With one rank there is nothing to guard. */
int orr_guard_start(const struct orr_guard_setup *setup);
/* All ranks are about to stop: one that ends now may have done all its work. */
void orr_guard_closing(void);
void orr_guard_stop(void);

/* There is something to do before the next look. */
void orr_guard_wake(void);
/* This rank ends for a reason that was said: what becomes of the others is not. */
void orr_guard_hush(void);
/* Ends this process with status 1 for such a reason, and the job with it, but lets the others say theirs
 * first. */
_Noreturn void orr_guard_end(void);

#endif
