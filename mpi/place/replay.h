/* SPDX-License-Identifier: BSD-3-Clause */
/* replay.h: iterations of the stream: recorded once, then repeated without the program's insertions.
 * Threads: the thread that submits. Owns: struct orr_replays, one for each communicator with iterations.
 * Not here: what a record is (recording.h), the public functions (api/iteration.c).
 *
 * Each rank decides for itself whether it replays: a replay does on this rank exactly what the insertions
 * would do on it, so it does not matter to others. Tasks are made anew each time, from models, and depend on
 * others by their data as ever; so any number of iterations may be under way. */
#ifndef ORR_MPI_REPLAY_H
#define ORR_MPI_REPLAY_H

#include <starpu_task.h>

#include "mpi/place/repeat.h"

/* Where an iteration begins: 1: it was replayed, and the program inserts nothing; 0: it inserts; a negative
 * errno (said why): iterations nest, or (then it counts as replayed) a task or message failed. */
int orr_replay_begin(struct orr_comm *c, int id, orr_replay_patch_fn patch, void *arg);
int orr_replay_end(struct orr_comm *c);             /* 0, or -EINVAL: there was no beginning (said) */
void orr_replay_forget(struct orr_comm *c, int id); /* the next one is recorded anew; -1: all of them */
/* An iteration begins, or ends, between starpu_iteration_push and _pop: it is replayed as far as it repeats
 * (script.h). */
void orr_replay_push(struct orr_comm *c);
void orr_replay_pop(struct orr_comm *c);
void orr_replay_drop(struct orr_comm *c); /* c ends */

#endif
