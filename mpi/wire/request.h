/* SPDX-License-Identifier: BSD-3-Clause */
/* request.h: one send or receive, between the call that makes it and its end.
 * Threads: filled in by who posts it, then the engine's until done is called. Owns: struct orr_request (the
 * memory is the poster's). Not here: what is done with it (engine.h). */
#ifndef ORR_MPI_REQUEST_H
#define ORR_MPI_REQUEST_H

#include "core/base/sync.h"
#include "mpi/wire/match.h"
#include "mpi/wire/payload.h"
#include "mpi/wire/transport.h"

struct orr_early;
struct orr_relay;
struct orr_spread;

/* Contexts with this bit are the layer's own: their bytes are not counted. */
#define ORR_CONTEXT_UNCOUNTED 0x80000000u
/* The communicator that the layer was started on is called so by all ranks. */
#define ORR_CONTEXT_BASE 1u

struct orr_inbox_item {
    struct orr_inbox_item *next;
    bool says_ready; /* [const] the second of a request's two items */
};

enum orr_request_kind { ORR_SEND, ORR_RECV };

/* What every message needs comes first: thousands may be posted ahead, and each line of theirs is fetched
 * twice, when they are posted and when they move. */
struct orr_request {
    struct orr_match_node node;     /* first. context, peer, tag: the caller's; the links: the engine's */
    struct orr_inbox_item items[2]; /* the engine's own */
    /* set by the caller before posting */
    uint8_t kind;   /* enum orr_request_kind */
    bool sync;      /* a send that ends only when it is matched */
    bool inferred;  /* made by a task; the engine only passes it on */
    bool uncounted; /* a send that statistics leave out; after init. The engine only passes it on */
    bool nameless;  /* it has no data of the program's; after init. The engine only passes it on */
    bool foreign;   /* a receive whose sender calls the context by a number of its own; after init */
    bool spreads;   /* a send whose bytes may come from another rank that gets the same; after init, before
                     * ready */
    bool relays;    /* a receive that may pass its bytes on; after init, before ready */
    bool in_place;  /* both ends: the receiver may use the bytes where the sender has them, and longer than
                     * the send lasts; after init, before ready */
    bool seen;      /* a result, at both ends: it does */
    /* the engine's own */
    uint8_t waits; /* ends that are still to come: bulk, acknowledgement */
    bool posted, ready;
    bool asks;      /* a send whose bytes follow when the receiver wants them */
    bool relayed;   /* a send that another rank makes; its receiver tells when it is matched */
    bool wants;     /* a receive of which its sender is still to be told, */
    bool wants_all; /* and of those of its key behind it */
    bool behind;    /* a send that tells its receiver that there are others of its key behind it */
    bool given_up;  /* ends with -ECANCELED once it is ready, whatever has become of the engine */
    /* set by the caller before posting */
    int32_t priority; /* among sends that are ready at the same time */
    int failure;      /* a send that cannot be made, before ready: negative errno, told to the receiver */
    /* results, valid in done */
    int status; /* 0, -EMSGSIZE, -EPROTOTYPE (other type), -EILSEQ (made elsewhere in the stream), -EIO,
                   -ECANCELED, or the sender's failure */
    uint32_t sent_type; /* after -EPROTOTYPE */
    uint64_t moved_bytes;
    /* set by the caller before posting */
    uint64_t position, hash;             /* where in the stream it was made; hash 0: not said; after init */
    void (*done)(struct orr_request *r); /* once, no lock held; r is the caller's again */
    /* Of one that relays: its bytes are here, and go on being read until done is called. No lock held. */
    void (*arrived)(struct orr_request *r);
    void *(*make_room)(struct orr_request *r,
                       size_t bytes); /* payload.any_size: memory for the bytes, or NULL; short */
    /* A receive, optional, before it is ready: that may then be said before payload.base is known, and place
     * is called once a large message is there that fits: it says ready again when the base is. Not called for
     * messages that are not put there. No lock held, as done. After init. */
    void (*place)(struct orr_request *r);
    /* the engine's own */
    struct orr_request *next;    /* on one of the engine's lists */
    struct orr_early *early;     /* matched by this message, which waits for ready */
    struct orr_relay *relay;     /* a receive that passes it on, and its sends (spread.h); else NULL */
    const struct orr_spread *to; /* a send: whom its receiver is to pass it on to; else NULL */
    /* set by the caller before ready */
    struct orr_payload payload; /* of one in a row its first 32 bytes */
    /* few need the rest */
    uint64_t id;
    uint64_t sent_position;     /* a result: after -EILSEQ */
    struct orr_request *before; /* on lists that are linked both ways */
    struct orr_request *next_to_place;
    struct orr_bulk bulk;
};

/* Sets up the engine's own fields; before anything else is done with r, and again before it is used again. */
static inline void orr_request_init(struct orr_request *r)
{
    r->items[0].says_ready = false;
    r->items[1].says_ready = true;
    r->early = NULL;
    r->place = NULL;
    r->waits = 0;
    r->status = r->failure = 0;
    r->moved_bytes = 0;
    r->position = r->hash = 0;
    r->posted = r->ready = r->foreign = r->uncounted = r->nameless = r->asks = r->given_up = false;
    r->in_place = r->seen = false;
    r->spreads = r->relays = r->relayed = r->wants = r->wants_all = r->behind = false;
    r->relay = NULL;
    r->to = NULL;
}

/* The peer for observers, as tags are of a context. */
static inline uint64_t orr_request_peer(const struct orr_request *r, int peer)
{
    return (uint32_t)peer | (uint64_t)r->node.context << 32;
}

struct orr_request_list {
    struct orr_request *head, **tail;
};

#endif
