/* SPDX-License-Identifier: BSD-3-Clause */
/* relatives.h: a datum and those that overlap it, as far as the layer keeps a record of them: what it is a
 * piece of, its pieces, and pieces of other plans.
 * Threads: any. Owns: struct orr_relatives. Not here: partitioning (core/data/partition.h). */
#ifndef ORR_MPI_RELATIVES_H
#define ORR_MPI_RELATIVES_H

#include "core/data/data.h"

enum { ORR_RELATIVES_INLINE = 16 };

struct orr_relatives {
    int count, room;
    struct orr_data **list; /* inline_list or heap */
    bool failed;            /* [own: relatives.c] */
    struct orr_data *inline_list[ORR_RELATIVES_INLINE];
};

static inline bool orr_has_relatives(const struct orr_data *h)
{
    return orr_unlikely(h->parent || orr_load_relaxed(&h->partitioned) || orr_load_relaxed(&h->planned));
}

/* h first, if it has a record. They stay as long as the program does not end them. Ends the process where
 * memory is out. */
void orr_relatives_find(struct orr_relatives *r, struct orr_data *h);
void orr_relatives_free(struct orr_relatives *r);

#endif
