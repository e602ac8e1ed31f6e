/* SPDX-License-Identifier: BSD-3-Clause */
/* near.h: rings in memory that the ranks of a node share: each writes short messages into one ring of each
 * other.
 * Threads: one at a time (the engine's lock). Owns: the memory. Not here: large transfers (near_copy.h), what
 * the messages mean (mpi.c), waking who sleeps (mpi/wire/bells.h). */
#ifndef ORR_MPI_TRANSPORTS_NEAR_H
#define ORR_MPI_TRANSPORTS_NEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "mpi/wire/transport.h"

enum {
    ORR_NEAR_MAX = 16 * 1024, /* bytes of a message */
    ORR_NEAR_NOTE_MAX = 112   /* of one that has room wherever there is any */
};

struct orr_near;

/* Whom take is told of: false: not now, it is offered again. The bytes are valid during the call. */
typedef bool (*orr_near_take_fn)(void *arg, int rank, unsigned kind, const void *bytes, size_t count);
/* There is room again for what that rank writes, which may sleep: it is to be woken. */
typedef void (*orr_near_room_fn)(void *arg, int rank);

/* Collective over the ranks of b. NULL: this rank shares memory with none, and none with it. */
struct orr_near *orr_near_open(const struct orr_bootstrap *b);
/* Nobody sends any more to this rank what it would have to take. May be NULL. */
void orr_near_close(struct orr_near *n);

/* Whether that rank is one with whom this one shares memory; both say the same. n may be NULL: none is. */
bool orr_near_reaches(const struct orr_near *n, int rank);
/* Whether all are. */
bool orr_near_reaches_all(const struct orr_near *n);
/* Whether that rank reads this one's memory, or sees what of it is in the arena (core/mem/arena.h). */
bool orr_near_rank_reads(const struct orr_near *n, int rank);
bool orr_near_rank_sees(const struct orr_near *n, int rank);
/* Whether it may write to that, too, in agreement with this one. */
bool orr_near_rank_changes(const struct orr_near *n, int rank);
/* Whether that rank does one of the first two with this one's memory, or this one with that rank's: both say
 * the same. */
bool orr_near_rank_fetches(const struct orr_near *n, int rank);
bool orr_near_fetches_from(const struct orr_near *n, int rank);
/* Where this rank sees so many bytes that are at an address there; NULL: nowhere. Any thread. */
char *orr_near_view(struct orr_near *n, int rank, uint64_t at, uint64_t bytes);
/* The process of a rank that is near. */
pid_t orr_near_process(const struct orr_near *n, int rank);

/* Reserves room for one message to a rank that is near; false: there is none just now. urgent: it may take
 * what is kept for such. Ends with put, or with release. */
bool orr_near_reserve(struct orr_near *n, int rank, bool urgent);
void orr_near_release(struct orr_near *n, int rank);
/* Writes one, of at most ORR_NEAR_MAX bytes, into the room that was reserved. The bytes are copied. */
void orr_near_put(struct orr_near *n, int rank, unsigned kind, const void *bytes, size_t count);
/* Writes a short one, of at most ORR_NEAR_NOTE_MAX bytes, without that; false: there is no room just now. */
bool orr_near_note(struct orr_near *n, int rank, unsigned kind, const void *bytes, size_t count);

/* Tells take what has come, each rank's in its order, some of it. True if anything was taken. */
bool orr_near_poll(struct orr_near *n, orr_near_take_fn take, void *arg, orr_near_room_fn room);

#endif
