/* SPDX-License-Identifier: BSD-3-Clause */
/* kept.h: the value of a datum that is away from its home, set aside on its holder before the program there
 * writes the copy by itself (receives into it, acquires it): home may still ask for it.
 * Threads: each list by one at a time (the caller's lock), but orr_kept_make and orr_kept_drop: any.
 * Owns: struct orr_kept. Not here: who asks, and what is answered (away.c). */
#ifndef ORR_MPI_KEPT_H
#define ORR_MPI_KEPT_H

#include "mpi/value/ownership.h"

struct orr_kept {
    struct orr_kept *next;
    struct orr_owned *owned;
    uint32_t version;
    struct orr_data *value; /* of the same tag, and of nobody */
};

/* o's value, as tasks that were submitted until now leave it: it is copied in its turn. NULL: out of memory
 * (said). */
struct orr_kept *orr_kept_make(struct orr_owned *o);
/* Of o, in that version; NULL: none. */
struct orr_kept *orr_kept_find(struct orr_kept *list, const struct orr_owned *o, uint32_t version);
/* Takes one out that nobody will ask for any more: its datum is o, or has another version, and what this rank
 * does with that was not put off, since home has come as far; NULL: none. */
struct orr_kept *orr_kept_take_old(struct orr_kept **list, const struct orr_owned *o);
/* What uses its value is submitted. */
void orr_kept_drop(struct orr_kept *k);

#endif
