/* SPDX-License-Identifier: BSD-3-Clause */
/* tape.h: words that threads write down and one thread takes away: a ring for each thread, for recordings.
 * Threads: any writes, into its own ring; one at a time takes. Owns: the rings. Not here: what the words mean
 * (otrace.h), records of fixed size that overwrite the oldest (recorder.h).
 *
 * Writing waits for nobody. A ring that is full takes nothing more and counts what it lost, so that what was
 * written before is kept; memory is the rings, one for each thread, which those that end leave to others. */
#ifndef ORR_BASE_TAPE_H
#define ORR_BASE_TAPE_H

#include <stddef.h>

#include "core/base/sync.h"
#include "core/base/thread.h"

enum { ORR_TAPE_NAMES = 256 };

struct orr_tape_ring {
    struct orr_tape_ring *next; /* [const once listed] */
    struct orr_tape *tape;      /* [const] */
    uint64_t mask;              /* [const] */
    uint32_t number;            /* [const] */
    bool owned;                 /* [lock: tapes] it has a thread */
    /* the writer's [own: the thread] */
    ORR_ALIGNED_LINE uint64_t head; /* words written, those that were skipped included */
    uint64_t limit;                 /* up to there it need not look at anything else */
    _Atomic uint64_t done;          /* head, published */
    _Atomic uint64_t lost;          /* records without room [own, read by any] */
    uint64_t asked;                 /* 1 + where `taken` was when the taker was last told; 0: never */
    uint32_t names[ORR_TAPE_NAMES]; /* for who writes: what it has written names of */
    ORR_ALIGNED_LINE _Atomic uint64_t taken; /* [own: who takes] words before that may be overwritten */
    ORR_ALIGNED_LINE uint64_t words[];       /* from taken to done: the taker's; the others: the writer's */
};

struct orr_tape {
    size_t words;        /* in each ring: a power of two [const while it is open] */
    uint64_t generation; /* [const while it is open] */
    _Atomic(struct orr_tape_ring *) rings;
    uint32_t count;            /* [lock: tapes] of rings */
    _Atomic uint64_t homeless; /* records of threads for which there was no memory */
    _Atomic uint32_t due;      /* futex: 1: some ring is half full */
};

/* What a thread has of the one tape that is open. */
struct orr_tape_own {
    struct orr_tape_ring *ring;
    uint64_t generation;
};
static inline struct orr_tape_own *orr_tape_own(struct orr_thread *t)
{
    return orr_thread_room(t, tape, struct orr_tape_own);
}

/* Opens the tape, with rings of so many words, a power of two. One at a time in a process. Any thread writes
 * from then on until nobody does any more, which the caller sees to; then it is closed. */
void orr_tape_open(struct orr_tape *tape, size_t words);
void orr_tape_close(struct orr_tape *tape);

/* The calling thread's ring; *anew_out: it was another's before, or nobody's. NULL: out of memory, counted.
 */
struct orr_tape_ring *orr_tape_ring_find(struct orr_tape *tape, bool *anew_out);
static inline struct orr_tape_ring *orr_tape_ring(struct orr_tape *tape, bool *anew_out)
{
    const struct orr_tape_own *own = orr_tape_own(orr_self());
    if (orr_likely(own->generation == tape->generation && own->ring)) return own->ring;
    return orr_tape_ring_find(tape, anew_out);
}

/* Room for a record of n words, which the caller fills, and then puts down; or NULL: there is none, which was
 * counted. By the ring's thread. */
uint64_t *orr_tape_room_slow(struct orr_tape_ring *ring, unsigned n);
static inline uint64_t *orr_tape_room(struct orr_tape_ring *ring, unsigned n)
{
    if (orr_unlikely(ring->head + n > ring->limit)) return orr_tape_room_slow(ring, n);
    return &ring->words[ring->head & ring->mask];
}
static inline void orr_tape_put(struct orr_tape_ring *ring, unsigned n)
{
    ring->head += n;
    orr_store_release(&ring->done, ring->head); /* pairs with orr_tape_take */
}

/* Hands what was written to take, in runs of words of one ring that begin with a record's first; false: it
 * could not, and is asked again with the next call. One thread at a time. */
bool orr_tape_take(struct orr_tape *tape,
                   bool (*take)(void *arg, const struct orr_tape_ring *ring, const uint64_t *words, size_t n),
                   void *arg);
/* How many records were lost until now. */
uint64_t orr_tape_lost(struct orr_tape *tape);

/* For thread.c: t ends, and another may go on with its ring. */
void orr_tape_let_go(struct orr_thread *t);

#endif
