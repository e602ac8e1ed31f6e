/* SPDX-License-Identifier: BSD-3-Clause */
/* recorder.h: keeps what happens: an observer with a ring of records for each thread.
 * Threads: any thread records; one at a time drains. Owns: the rings. Not here: what a record means
 * (event.def), files made of them.
 *
 * Recording waits for nobody and takes no lock but for a thread's first record. */
#ifndef ORR_BASE_RECORDER_H
#define ORR_BASE_RECORDER_H

#include <stddef.h>

#include "core/base/event.h"

struct orr_thread;
struct orr_ring;

struct orr_record {
    uint64_t ticks;      /* when (clock.h) */
    uint64_t subject;    /* only a name: it may be gone */
    uint64_t a, b, c;    /* of USER_TEXT: its first 24 characters */
    uint32_t thread;     /* the system's number of it */
    uint16_t kind, slot; /* enum orr_event_kind; 0 */
};

struct orr_recorder {
    struct orr_observer observer; /* first; its kinds are what is recorded */
    /* set before it starts [const while it records] */
    size_t records; /* in each ring: a power of two */
    /* A ring is full: to drain, on the thread that records. What it leaves no room for is lost. NULL: the
     * oldest records are overwritten. */
    void (*full)(struct orr_recorder *r);
    /* its own */
    unsigned number;
    uint64_t generation;
    _Atomic(struct orr_ring *) rings;
    _Atomic uint64_t lost;                /* records without room, or memory */
    ORR_MUTEX(recorder_drain) drain_lock; /* protects reading */
    _Atomic(struct orr_thread *) drainer; /* who has it */
};

/* Records from now on. 0, -EINVAL, or -ENOSPC: there are too many recorders, or observers. */
int orr_recorder_start(struct orr_recorder *r);
/* No more, once it returns. What was recorded can be drained still. Not inside of an observer. */
void orr_recorder_stop(struct orr_recorder *r);
/* A stopped one's rings are gone. */
void orr_recorder_free(struct orr_recorder *r);

/* Adds a record; for observers that put together their own. Any thread, between start and stop. */
void orr_recorder_put(struct orr_recorder *r, const struct orr_record *record);

/* Gives what was recorded since the last call to take, the oldest first as far as a thread is concerned.
 * Returns how many records that were. take may not drain. */
size_t orr_recorder_drain(struct orr_recorder *r, void (*take)(const struct orr_record *record, void *arg),
                          void *arg);
/* How many were lost until now. */
uint64_t orr_recorder_lost(const struct orr_recorder *r);

/* For thread.c: t ends, and others may go on with its rings. */
void orr_recorders_let_go(struct orr_thread *t);

#endif
