/* SPDX-License-Identifier: BSD-3-Clause */
/* acquire.h: which threads wait for data in a function that blocks, and where the program acquired what they
 * wait for.
 * Threads: any; for the deadlock detector. Owns: nothing. Not here: acquiring (acquire.c), other waits. */
#ifndef ORR_DATA_ACQUIRE_H
#define ORR_DATA_ACQUIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/data/data.h"

/* A thread that waits, on its stack. */
struct orr_acquiring {
    struct orr_data *handle;            /* [const] this and the next three */
    const void *at;                     /* where the program called; NULL: not known */
    int thread;                         /* the system's number */
    uint64_t since_ticks;               /* it waits */
    bool told;                          /* [lock: acquirers] somebody was told of it */
    struct orr_acquiring *next, **prev; /* [lock: acquirers] */
};
/* Around the wait of the calling thread, which was not granted at once. */
void orr_acquiring_begin(struct orr_acquiring *a, struct orr_data *h, const void *at);
void orr_acquiring_end(struct orr_acquiring *a);

/* A thread that waits until others let data go: to acquire, unregister, invalidate, cut or bring them. */
struct orr_acquirer {
    const void *id;
    struct orr_data *handle;  /* there while it waits */
    char label[64];           /* of the handle */
    const void *at, *held_at; /* where the program called, and acquired it last; NULL: not known */
    int thread;               /* the system's number */
    double seconds;
};

/* How many there are. */
unsigned orr_acquirers_count(void);
/* Copies at most max of those that have waited for so long, untold: of which nobody was told. Returns how
 * many. */
unsigned orr_acquirers_list(struct orr_acquirer *out, unsigned max, double seconds, bool untold);
/* One of them was told of, if it waits still. */
void orr_acquirers_told(const struct orr_acquirer *a);

#endif
