/* SPDX-License-Identifier: BSD-3-Clause */
/* value.h: what the room keeps for one cluster.
 * Threads: any; fields say more.
 * Owns: struct orr_value; each part is for the file named there alone.
 * Not here: what is kept of a handle (ownership.h).
 * It lives longer than the layer: data, and messages that were given up, do as well. */
#ifndef ORR_MPI_VALUE_H
#define ORR_MPI_VALUE_H

#include <stddef.h>

#include "core/base/sync.h"
#include "mpi/wire/cluster.h"

struct orr_message;
struct orr_owned;
struct orr_away;
struct orr_tag_range;
struct orr_views;

/* Begins as ORR_VALUE_INITIALIZER: the program may name data before the layer starts. */
struct orr_value {
    struct orr_cluster *cluster; /* [const] */
    /* message.c: written by few calls, read by each message */
    ORR_ALIGNED_LINE _Atomic bool counting; /* the bytes of messages that are started now [any] */
    _Atomic uint32_t session;               /* counts the ends of the layer [atomic] */
    _Atomic int failed;      /* status of the first that failed since it was asked for; 0: none [atomic] */
    _Atomic bool cache_on;   /* cache.c [any] */
    _Atomic uint32_t upsets; /* ownership.c: how often records of iterations became wrong [any] */
    _Atomic uint32_t ends;   /* of these: how often data went, or got another owner [any] */
    _Atomic(const char *) upset_why; /* the latest reason [any] */
    /* ownership.c: protects records; recursive: what orr_owned_visit calls may end the very handle */
    ORR_MUTEX(records) records_lock;
    struct orr_owned *records;
    _Atomic size_t pending;   /* data to which contributions are pending */
    _Atomic size_t old_bytes; /* of copies that are old, and kept for the next value */
    /* moves.c [own: who submits] */
    struct {
        struct orr_owned **list; /* data that are away from home, in any order [lock: records] */
        uint32_t away, room;     /* so many [lock: records] */
        _Atomic bool on;         /* a placement moves data, from some insertion on */
        _Atomic bool pieces;     /* there are, or were, records of pieces [any] */
        size_t tree_bytes; /* values of so many go along trees; the same on all ranks [const while running] */
    } moves;
    struct orr_away *away;   /* away.c [const while running] */
    struct orr_views *views; /* seen.c; NULL: values are copied, at least until now [const while running] */
    /* A record goes, or gets another tag: homes do not ask for it any more. Set with away, else NULL. */
    void (*forget_guest)(struct orr_owned *o);
    /* direct.c [const while running] */
    uint32_t direct_nodes; /* devices (a bit each) whose memory the network takes */
    size_t direct_bytes;   /* of messages larger than this */
    /* tags.c */
    ORR_SPIN(tags) tags_lock; /* protects tags; leaf */
    struct orr_tag_range *tags;
};

#define ORR_VALUE_INITIALIZER                                                                                \
    {                                                                                                        \
        .cache_on = true, .records_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP                             \
    }

/* Each start: borrows the cluster, which knows v from then on. */
static inline void orr_value_attach(struct orr_value *v, struct orr_cluster *cl)
{
    v->cluster = cl;
    cl->value = v;
}

#endif
