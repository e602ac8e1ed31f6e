/* SPDX-License-Identifier: BSD-3-Clause */
/* why.h: what every waiting task waits for, while the program runs on.
 * Threads: any, one at a time; nobody waits for it. Owns: nothing lasting, but the name of who knows of
 * messages between ranks. Not here: when nothing moves any more (deadlock.h), who asks (live.c), where
 * messages stand (mpi/value/standing.c). */
#ifndef ORR_RUN_WHY_H
#define ORR_RUN_WHY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "core/base/export.h"

struct orr_access;
struct orr_data;

/* Writes it, a line for each; lines begin with prefix. */
void orr_why(FILE *f, const char *prefix);

/* ---- messages between ranks ---- */

/* Something that waits for another rank, as it was a moment ago. */
struct orr_why_message {
    const struct orr_data *handle;   /* whose value it is; only an address. NULL: of none that is known */
    const struct orr_access *access; /* its place in the data's queue, likewise; NULL: it has none there */
    bool has_data;                   /* it needs nothing more of this rank; else it waits for its data */
    char name[100];                  /* "receive of tag 1 from rank 2" */
    char line[220];                  /* the same, and more: "a receive of tag 1 from rank 2 (8 bytes)" */
    char stands[100]; /* what follows that: "waits for its other end"; of one without its data: "", or more
                       * that is known */
    char until[60];   /* until when one that has its data holds it: "until its other end comes" */
};
struct orr_why_messages {
    struct orr_why_message *message; /* room for so many */
    unsigned room, count, more;      /* more: how many did not fit */
};

/* Who knows of them. The functions get the table itself. */
struct orr_why_outside {
    /* Writes what there is. False: it cannot be told just now. The thread of orr_why; it may take some tenths
     * of a second, and holds nobody up. */
    bool (*look)(const struct orr_why_outside *self, struct orr_why_messages *out);
};
/* The latest counts, borrowed until it is over: then nobody is in it any more. Any thread. */
ORR_EXPORT void orr_why_outside(const struct orr_why_outside *outside);
ORR_EXPORT void orr_why_outside_over(const struct orr_why_outside *outside);

#endif
