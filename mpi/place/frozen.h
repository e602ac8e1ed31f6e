/* SPDX-License-Identifier: BSD-3-Clause */
/* frozen.h: where the insertions of an iteration went: once a placement would choose alike again, the
 * iteration goes there without asking it.
 * Threads: the thread that submits. Owns: struct orr_frozen. Not here: what the placement goes by (figures,
 * in place.h), what a rank does for an iteration (replay.h).
 *
 * All of it follows from the stream and from what the placement says of itself, which all ranks know alike.
 * Whether a rank replays an iteration or inserts it changes nothing here: an inserted one is followed step by
 * step, and what is no step of it, or comes behind the last, ends the freeze at that place of the stream. */
#ifndef ORR_MPI_FROZEN_H
#define ORR_MPI_FROZEN_H

#include "mpi/place/place.h"

struct orr_frozen_iteration;

struct orr_frozen {
    struct orr_frozen_iteration *list; /* the one that began last is the first */
    size_t count;                      /* of list */
    /* of the iteration that has begun */
    struct orr_frozen_iteration *current; /* NULL: none has */
    uint64_t figures;                     /* at its beginning */
    uint64_t stream, choices;             /* hashes of its insertions so far; with their ranks */
    size_t steps;                         /* followed, or kept */
    bool repeats;                         /* it goes where it went */
    bool replayed;                        /* and this rank has done so: none of its insertions comes */
    bool keeps;                           /* its steps are kept */
};

/* An iteration begins; figures: of the placement; they_stand: it may go by them for long. Whether it goes
 * where it went before; or it went so the last time, and does no more; or neither; or -ENOMEM: nothing has
 * begun. */
enum orr_frozen_state { ORR_FROZEN_NOT, ORR_FROZEN_STILL, ORR_FROZEN_NO_MORE };
#define ORR_FROZEN_MARKED INT64_MIN /* the number of those that the program only marks: they have none */
int orr_frozen_begin(struct orr_frozen *f, int64_t id, uint64_t figures, bool they_stand);
/* Of an insertion: what it does, and what the program says of its rank. */
uint32_t orr_frozen_hash(const struct orr_place_view *v);
/* The rank of the next insertion of the iteration, which counts as gone there; ORR_PLACE_OPEN: the placement
 * is to be asked, and orr_frozen_note called with its answer. */
int orr_frozen_next(struct orr_frozen *f, uint32_t hash);
int orr_frozen_note(struct orr_frozen *f, uint32_t hash, int rank); /* 0 or -ENOMEM */
/* Its next insertion, number `step` from 0 on, is known to be the same: it goes where it went. False: the
 * iteration does not, or is not so far; nothing has happened. */
bool orr_frozen_step(struct orr_frozen *f, size_t step);
/* Instead of its insertions, all at once: whether there are so many, with these choices. */
bool orr_frozen_repeat(struct orr_frozen *f, uint64_t choices, size_t count);
/* It ends; figures: as they are now. What it chose (a hash). */
uint64_t orr_frozen_end(struct orr_frozen *f, uint64_t figures);
/* What the iteration that has begun repeats; 0: nothing. */
uint64_t orr_frozen_choices(const struct orr_frozen *f);
/* From the next beginning on all are chosen anew. */
void orr_frozen_thaw(struct orr_frozen *f);
void orr_frozen_fini(struct orr_frozen *f);

#endif
