/* SPDX-License-Identifier: BSD-3-Clause */
/* feedback.h: what tasks really take, on all ranks, told to a placement at the same places of the stream on
 * all of them.
 * Threads: the thread that submits; workers measure, and whoever polls passes messages on. Owns: struct
 * orr_feedback. Not here: what follows from measures (times.h), what the placement makes of it (dmda.c).
 *
 * At a position that all ranks know, each sends what it measured since the last time up a tree to rank 0,
 * which makes lengths and slownesses of it and sends them down. Nobody waits for that but at a later
 * position, an epoch on, where all apply what came, and begin again. Where all ranks wait for all tasks they
 * do both at once. Epochs get longer while little changes. */
#ifndef ORR_MPI_FEEDBACK_H
#define ORR_MPI_FEEDBACK_H

#include "mpi/place/place.h"

struct orr_feedback;

/* For c, the layer's own communicator. measured: told on apply, with arg. NULL: out of memory. */
struct orr_feedback *orr_feedback_create(struct orr_comm *c,
                                         void (*measured)(void *arg, const struct orr_place_measure *m),
                                         void *arg);
/* What is under way may end later, and frees itself then. */
void orr_feedback_destroy(struct orr_feedback *f);
/* The position of the stream from which on orr_feedback_turn is to be called. */
uint64_t orr_feedback_next(const struct orr_feedback *f);
/* An epoch ends before the insertion at that position. Blocks until what was begun an epoch ago is there. */
void orr_feedback_turn(struct orr_feedback *f, uint64_t position);
/* All ranks wait here for all tasks: what was measured until now is known to all on return. Collective. */
void orr_feedback_meet(struct orr_feedback *f, uint64_t position);
/* The stream has a task of a new kind: what this rank's models say of it counts as measured once. */
void orr_feedback_seen(struct orr_feedback *f, const struct starpu_codelet *cl, uint32_t footprint);
/* A word of this rank's goes with the rounds to come (0: none); what all ranks said in the round that was
 * applied last, 0: not all the same. */
void orr_feedback_say(struct orr_feedback *f, uint64_t word);
uint64_t orr_feedback_agreed(const struct orr_feedback *f);
/* A task took so long here. Any thread. */
void orr_feedback_took(struct orr_feedback *f, uint64_t key, uint32_t type, uint64_t ns);

#endif
