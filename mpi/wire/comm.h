/* SPDX-License-Identifier: BSD-3-Clause */
/* comm.h: our own communicators: who their ranks are, and the number that this rank gave to each.
 * Threads: any. Owns: struct orr_comm, struct orr_comms. Not here: MPI_Comm (api/comm.c turns one into an
 * orr_comm), what other ranks call it (names.h).
 *
 * Each rank numbers the communicators of the program in the order in which it meets them: other ranks meet
 * them in another order, and two that look alike may be used by two threads at once. So the number is told to
 * whoever needs it, once, on the program's communicator itself, before the first message to that rank. */
#ifndef ORR_MPI_COMM_H
#define ORR_MPI_COMM_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/sync.h"
#include "mpi/wire/engine.h"

struct orr_cluster;
struct orr_stream; /* of rooms above: comm.h only has the places for them */
struct orr_placed;
struct orr_replays;
struct orr_recording;

/* Its memory is used again for another communicator, never given back while the layer runs: who compares
 * program_comm with a communicator of the program that exists may do so at any time. */
struct orr_comm {
    uint32_t context; /* this rank's number for it, without the top bit (ORR_CONTEXT_UNCOUNTED) [const] */
    int rank, size;   /* [const] */
    struct orr_comms *comms;     /* the list of all [const] */
    struct orr_cluster *cluster; /* whose it is [const] */
    int *peers; /* [const] rank here -> rank of the transport, -1 out of reach; NULL: the same */
    int *ranks; /* [const] the other way round, -1 not a member; NULL: the same */
    _Atomic uint32_t sums, barriers; /* collective calls so far (coll.c) [any thread] */
    _Atomic uint32_t holders; /* the program's MPI_Comm, messages and data [atomic: the last ends it] */
    _Atomic(const void *) program_comm;        /* the MPI_Comm it stands for; NULL: freed [atomic: a key] */
    _Atomic uint8_t *met;                      /* by rank: enum in comm.c; NULL: the layer's own [atomic] */
    struct orr_comm *next;                     /* [lock: comm.c] */
    struct orr_placed *placed;                 /* [own: who inserts] place/policies.h */
    struct orr_replays *replays;               /* [own: who inserts] place/replay.h; NULL: no iterations */
    _Atomic(struct orr_recording *) recording; /* [own: who inserts, read by others that do] inside of an
                                                * iteration that is recorded, or was replayed; else NULL */
    _Atomic(struct orr_stream *) stream; /* what was inserted on it; NULL: nothing [atomic: publishes it] */
};

/* The one that the layer was started on: all ranks call it the same, and it lasts as long as the layer. */
static inline bool orr_comm_is_base(const struct orr_comm *c)
{
    return orr_likely(c->context == ORR_CONTEXT_BASE);
}

/* The transport's rank, or -1. */
static inline int orr_comm_peer(const struct orr_comm *c, int rank)
{
    if (rank < 0 || rank >= c->size) return -1;
    return c->peers ? c->peers[rank] : rank;
}

/* The rank in c of a rank of the transport, or -1. */
static inline int orr_comm_rank_of(const struct orr_comm *c, int peer)
{
    return c->ranks && peer >= 0 ? c->ranks[peer] : peer;
}

/* Whether all of part are in c. */
static inline bool orr_comm_includes(const struct orr_comm *c, const struct orr_comm *part)
{
    for (int i = 0; c->ranks && c != part && i < part->size; i++)
        if (orr_comm_rank_of(c, orr_comm_peer(part, i)) < 0) return false;
    return true;
}

/* Before a message: sees to it that both ends know which communicator is meant. Before the first one of each
 * direction this calls MPI, on the program's communicator. 0, -ENOMEM or -EIO (said why). */
int orr_comm_introduce_slow(struct orr_comm *c, int rank, enum orr_request_kind kind);
static inline int orr_comm_introduce(struct orr_comm *c, int rank, enum orr_request_kind kind)
{
    return orr_comm_is_base(c) ? 0 : orr_comm_introduce_slow(c, rank, kind);
}

/* Whether a receive from that rank needs the name by which it calls c. */
static inline bool orr_comm_is_foreign(const struct orr_comm *c, int rank)
{
    return !orr_comm_is_base(c) && rank != c->rank;
}

/* What may outlive the program's MPI_Comm holds it. The last that drops it may hold a lock of MPI's: then the
 * record is only put aside, and used again or given back when the next communicator is met. */
void orr_comm_end(struct orr_comm *c);
static inline void orr_comm_hold(struct orr_comm *c)
{
    if (!orr_comm_is_base(c)) orr_add_relaxed(&c->holders, 1u);
}
static inline void orr_comm_drop(struct orr_comm *c)
{
    if (!orr_comm_is_base(c) && orr_sub_acq_rel(&c->holders, 1u) == 1) orr_comm_end(c);
}

/* ---- the list of them ---- */

/* What is to be asked of those whose communicators these stand for. */
struct orr_comm_source {
    /* Fills in rank, size, peers, ranks and met of a communicator of the program that was not met before, and
     * sees to it that c is dropped when the program frees it. 0 or a negative errno (said why). */
    int (*ask)(struct orr_comm *c, const void *program_comm);
    void (*forget)(const void *program_comm); /* the program's communicator lives on: c is not dropped */
    bool (*is_over)(void);                    /* nothing may be asked any more */
    void (*ended)(struct orr_comm *c);        /* what hangs on c goes; NULL: nothing does */
    int (*tag)(void); /* of what is sent on the program's communicators, to tell names */
};

/* The communicators of a cluster. */
struct orr_comms {
    /* Held while a communicator is met, or a rank of one for the first time, and while the source is asked.
     */
    ORR_MUTEX(comm_meeting) meeting;
    ORR_SPIN(comms) lock;                 /* protects the lists; leaf */
    struct orr_comm *met, *ended, *spare; /* [lock] */
    uint32_t latest_context;              /* [lock: meeting] */
    struct orr_engine *engine;            /* which takes messages [const while running] */
    struct orr_cluster *cluster;          /* [const while running] */
    const struct orr_comm_source *source; /* [const while running] */
};

/* The beginning of the list, and the base communicator in it; all are cl's. NULL: out of memory. */
struct orr_comm *orr_comms_init(struct orr_comms *all, struct orr_cluster *cl, struct orr_engine *e,
                                const struct orr_comm_source *source, const void *program_comm, int rank,
                                int size);
void orr_comms_fini(struct orr_comms *all);
/* The one that stands for program_comm; NULL: it was not met. */
struct orr_comm *orr_comm_find(struct orr_comms *all, const void *program_comm);
/* The same, met now if it was not before. NULL: out of memory, or refused by the source. */
struct orr_comm *orr_comm_meet(struct orr_comms *all, const void *program_comm);

#endif
