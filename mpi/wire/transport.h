/* SPDX-License-Identifier: BSD-3-Clause */
/* transport.h: the table that carries messages between ranks: small ones whole, large ones straight into
 * place.
 * Threads: one at a time (the engine's lock). Owns: the table's shape. Not here: matching, order, priorities
 * (engine.c). A transport is one file in transports/ that ends in one const table, named in builtin.def.
 * What it must promise: small messages from one rank to another arrive whole and in order. */
#ifndef ORR_MPI_TRANSPORT_H
#define ORR_MPI_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi/wire/payload.h"

struct orr_transport;

/* A large transfer under way; part of a request, borrowed until bulk_done. */
struct orr_bulk {
    struct orr_bulk *next; /* [own: transport] */
    uint64_t words[4];     /* [own: transport] */
    const struct orr_payload *payload;
    int peer;
    uint32_t tag;
    bool sending;
    bool quiet; /* what was done with this end just now needs no look of the other: a transport may say so */
};

/* A rank of a communicator of the program's own, as the transport can address it. */
struct orr_foreign {
    const void *comm; /* what the transport knows communicators by */
    int rank;         /* there */
    int tag;          /* the program leaves it to us */
};

/* What a rank of such a communicator calls it, once that is heard; borrowed from listen to heard or unlisten.
 */
struct orr_hello {
    struct orr_hello *next; /* [own: transport] */
    uint64_t word;          /* [own: transport] */
    struct orr_foreign from;
    uint32_t said[2]; /* [own: transport] */
    uint32_t name;
};

/* Whom poll tells. */
struct orr_transport_sink {
    /* A small message; the bytes are valid during the call. False: no memory, keep it and offer it again. */
    bool (*small)(void *arg, int source, const void *message, size_t bytes);
    /* A rank is to be woken: a small message that small_send could not get rid of has left for it, or it
     * waited for room that is here now. Optional. */
    void (*wake)(void *arg, int peer);
    void (*bulk_done)(void *arg, struct orr_bulk *bulk, int status); /* 0 or -EIO */
    void (*heard)(void *arg, struct orr_hello *hello);
    void *arg;
};

/* How the ranks of a job reach each other before there is a transport. */
struct orr_bootstrap {
    const void *comm; /* the program's communicator: for a transport on the same library */
    int rank, size;   /* in it */
    bool in_place;    /* ranks of a node are to be able to change each other's values where they are */
    /* all: what each rank has at mine, of so many bytes each, in their order. Collective. 0 or -EIO. */
    int (*all_gather)(const struct orr_bootstrap *b, const void *mine, size_t bytes, void *all);
    /* The least value of all ranks: the worst status, say. Collective; needs no memory. */
    int (*agree)(const struct orr_bootstrap *b, int value);
};

struct orr_transport_ops {
    const char *name; /* first (builtin.h) */
    /* Connects the ranks of b, which is borrowed for the call. NULL: it cannot be (said why on the rank that
     * knows), and then on no rank. Collective; ended by destroy, on all ranks. */
    struct orr_transport *(*open)(const struct orr_bootstrap *b);
    size_t small_max; /* bytes of a small message, header included */
    /* A buffer of small_max bytes for small_send to a rank, or NULL: busy, try again later. A rank that takes
     * nothing leaves some to the others. urgent: for what must get through beside data that nobody takes,
     * such as acknowledgements and heartbeats. */
    void *(*small_buffer)(struct orr_transport *t, int peer, bool urgent);
    /* Gives an unused one back. */
    void (*small_release)(struct orr_transport *t, void *buffer);
    /* Sends it; the buffer is taken. Never blocks. */
    void (*small_send)(struct orr_transport *t, int peer, void *buffer, size_t bytes);
    /* Start a transfer; both ends name it by the sender's rank and tag. Never fail: an error comes with
     * bulk_done. */
    void (*bulk_send)(struct orr_transport *t, struct orr_bulk *b);
    void (*bulk_recv)(struct orr_transport *t, struct orr_bulk *b);
    /* Tells the sink what arrived and ended; true if anything did. Never blocks. */
    bool (*poll)(struct orr_transport *t, const struct orr_transport_sink *sink);
    /* Whether something that was handed over still needs polls to leave this rank. */
    bool (*unsent)(struct orr_transport *t);
    /* Optional: copy a payload of kind OPAQUE to or from bytes in a row. 0 or -EIO. */
    int (*gather)(struct orr_transport *t, const struct orr_payload *p, void *to);
    int (*scatter)(struct orr_transport *t, const struct orr_payload *p, const void *from);
    /* Optional, for communicators of the program: tell a rank there what this rank calls it; wait for what a
     * rank there tells, which heard says; stop waiting. 0, -ENOMEM or -EIO. */
    int (*greet)(struct orr_transport *t, const struct orr_foreign *to, uint32_t name);
    int (*listen)(struct orr_transport *t, const struct orr_foreign *from, struct orr_hello *hello);
    void (*unlisten)(struct orr_transport *t, struct orr_hello *hello);
    /* Whether that rank fetches what is large by itself, so that sending it there costs this one no time.
     * NULL: none does. */
    bool (*fetches)(struct orr_transport *t, int peer);
    /* Memory that a rank uses in place, reading and writing; when, both agree on by messages. shows: whether
     * peer may use the block of this rank's that has this address (changes: and write there); view: where
     * this rank has what is at an address of peer's, NULL: nowhere. Any thread. NULL, both: none is used so.
     */
    bool (*shows)(struct orr_transport *t, int peer, const void *p, bool changes);
    void *(*view)(struct orr_transport *t, int peer, uint64_t at, uint64_t bytes);
    /* Whether large transfers may go from and to the memory of devices of that kind (its word in kind.h).
     * NULL: of none. */
    bool (*knows)(struct orr_transport *t, const char *kind);
    void (*destroy)(struct orr_transport *t); /* nothing is under way */
    void (*abort)(struct orr_transport *t);   /* optional: ends all ranks at once; any thread; may return */
};

struct orr_transport {
    const struct orr_transport_ops *ops; /* [const] */
    int rank, size;                      /* [const] */
    uint32_t bulk_tag_max;               /* tags of large transfers are 0 to this [const] */
};

#endif
