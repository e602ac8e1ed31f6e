/* SPDX-License-Identifier: BSD-3-Clause */
/* payload.h: where the bytes of one message are in memory: in a row, in rows at a stride, or behind a
 * transport's own type.
 * Threads: none of its own. Owns: nothing (the bytes belong to a handle or to who posted the request).
 * Not here: how a data interface is turned into a payload (handle_payload.c). */
#ifndef ORR_MPI_PAYLOAD_H
#define ORR_MPI_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ORR_PAYLOAD_DIMS = 3 };

enum orr_payload_kind {
    ORR_PAYLOAD_BYTES,   /* bytes at base */
    ORR_PAYLOAD_STRIDED, /* runs of run_bytes, repeated along dims, innermost first */
    ORR_PAYLOAD_OPAQUE   /* one element of a type that only the transport knows */
};

struct orr_payload {
    void *base;
    size_t bytes;  /* on the wire */
    uint32_t type; /* what kind of data: compared at both ends, 0 not known */
    uint8_t kind;  /* enum orr_payload_kind */
    uint8_t ndims;
    bool on_device;   /* base is an address of a device's, of a kind that the transport knows */
    bool any_size;    /* receiving: the size is the sender's, base comes from the request's make_room */
    size_t run_bytes; /* from here on: of STRIDED */
    struct {
        size_t count, stride_bytes;
    } dims[ORR_PAYLOAD_DIMS];
    void *opaque; /* of OPAQUE [own: transport] */
};

/* Nothing, in a row: what every kind has. */
static inline void orr_payload_clear(struct orr_payload *p)
{
    p->base = NULL;
    p->bytes = 0;
    p->type = 0;
    p->kind = ORR_PAYLOAD_BYTES;
    p->ndims = 0;
    p->on_device = p->any_size = false;
}

/* Copies the bytes of p, BYTES or STRIDED, to to / from from, which hold p->bytes in a row. */
void orr_payload_gather(const struct orr_payload *p, void *to);
void orr_payload_scatter(const struct orr_payload *p, const void *from);

#endif
