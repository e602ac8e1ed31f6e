/* SPDX-License-Identifier: BSD-3-Clause */
/* wire.h: the header that begins every message between ranks.
 * Threads: none. Owns: the format. Not here: what is done with a message (engine.c).
 * Fixed width, versioned, and checked against the length that really arrived before anything is done with it.
 * */
#ifndef ORR_MPI_WIRE_H
#define ORR_MPI_WIRE_H

#include <stdint.h>

#define ORR_WIRE_MAGIC 0x4f725279u /* also tells a rank of the other byte order */
enum { ORR_WIRE_VERSION = 9 };

enum orr_wire_kind {
    ORR_WIRE_EAGER = 1, /* the payload follows the header */
    ORR_WIRE_ANNOUNCE,  /* the payload comes as a bulk transfer named bulk_tag */
    ORR_WIRE_FAILED,    /* the sender could not send: status says why */
    ORR_WIRE_ACK,       /* the message called id was matched; if it asked: its payload comes as bulk_tag */
    /* between the layers above the engines: type says what, tag, id and bulk_tag are its values, bytes follow
     * the header */
    ORR_WIRE_CONTROL,
    ORR_WIRE_CREDIT, /* the header alone, for what it says of credit */
    ORR_WIRE_RETURN, /* the ranks behind it (spread.h) do not get the value of that tag from who says so */
    /* of sends that are not announced before they are wanted (credit.h): there is one of that tag; the first
     * of that tag is wanted, or as many as id says; there are none */
    ORR_WIRE_MORE,
    ORR_WIRE_WANT,
    ORR_WIRE_NO_MORE,
    ORR_WIRE_KINDS
};

enum orr_wire_flag {
    ORR_WIRE_WANTS_ACK = 1 << 0,
    ORR_WIRE_INFERRED = 1 << 1, /* a task made the message, not the program */
    ORR_WIRE_ASKS = 1 << 2,     /* ANNOUNCE: the payload comes only when this was acknowledged, named there */
    /* ANNOUNCE, FAILED: a list of ranks is behind the header (spread.h). ACK: with an id, that message is not
     * wanted from who passes it on; else the one of that tag, which another rank has passed on, was matched
     */
    ORR_WIRE_SPREAD = 1 << 3,
    ORR_WIRE_BEHIND = 1 << 4, /* others of its tag are behind it, and wait to be wanted */
    /* ANNOUNCE, with ASKS: the value may be used where it is; that follows (orr_wire_place). ACK: it is */
    ORR_WIRE_SHOWS = 1 << 5
};

struct orr_wire_header {
    uint32_t magic;
    uint8_t version;
    uint8_t kind;     /* enum orr_wire_kind */
    uint16_t flags;   /* enum orr_wire_flag */
    uint32_t context; /* which communicator */
    uint32_t type;    /* what kind of data, 0 not known */
    int64_t tag;
    uint64_t bytes; /* of the payload */
    uint64_t id;    /* for ACK */
    uint32_t bulk_tag;
    union {
        int32_t status;  /* FAILED: negative errno */
        uint32_t credit; /* others: what was taken of what the receiver of this sent (credit.h) */
    };
    /* Where all ranks must insert the same: where in the stream the message was made, and the hash of the
     * stream up to there. Hash 0: not said. */
    uint64_t position, hash;
};

_Static_assert(sizeof(struct orr_wire_header) == 64, "the same on every machine");

/* Where a value is that is shown: its address there, and its name. */
struct orr_wire_place {
    uint64_t at, name;
};

#endif
