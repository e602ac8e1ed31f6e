/* SPDX-License-Identifier: BSD-3-Clause */
/* handle_payload.h: the bytes of a handle in main memory as a payload.
 * Threads: any, with the access granted. Owns: the hooks for types of the program. Not here: payloads
 * (payload.h). */
#ifndef ORR_MPI_HANDLE_PAYLOAD_H
#define ORR_MPI_HANDLE_PAYLOAD_H

#include "core/data/data.h"
#include "mpi/wire/payload.h"

/* Describes h's value in interface (on main memory). Returns true when that is possible; false: the interface
 * has to pack. */
bool orr_handle_payload(struct orr_data *h, void *interface, struct orr_payload *out);
/* The same for dense arrays alone, whatever types the program has: BYTES or STRIDED, nothing is taken. */
bool orr_handle_payload_dense(const struct orr_data *h, const void *interface, struct orr_payload *out);
/* Frees what describing took. */
void orr_handle_payload_end(struct orr_payload *p);

/* Types of the program (api/datatype.c). make sets kind OPAQUE, opaque and bytes; false: no type for this
 * one. */
struct orr_program_types {
    bool (*make)(struct orr_data *h, struct orr_payload *p);
    void (*end)(void *opaque);
};
extern struct orr_program_types orr_program_types;

#endif
