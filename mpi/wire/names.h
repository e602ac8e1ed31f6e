/* SPDX-License-Identifier: BSD-3-Clause */
/* names.h: what other ranks call the communicators of the program.
 * Threads: one at a time (the engine's lock). Owns: struct orr_name, from the first receive on a communicator
 * from a rank until the communicator ends. Not here: how a name travels (transport.h), communicators
 * (comm.h).
 *
 * Each rank numbers the communicators that it meets, in the order in which it meets them, and puts its own
 * number on what it sends. Whoever receives must know that number: the sender tells it once, by a message on
 * the very communicator, which MPI matches. Nobody calls anything collectively for this. Until the name is
 * there, receives wait here in their order; what has arrived waits among the early messages, as ever. */
#ifndef ORR_MPI_NAMES_H
#define ORR_MPI_NAMES_H

#include "mpi/wire/request.h"

struct orr_name {
    struct orr_match_node node; /* first: context here, peer, tag 0 */
    struct orr_hello hello;
    bool known;
    struct orr_request_list waiting; /* receives, in order */
};

/* Makes the name by which peer calls context, not known yet; NULL: out of memory. */
struct orr_name *orr_name_add(struct orr_match_table *names, uint32_t context, int peer);
void orr_name_remove(struct orr_match_table *names, struct orr_name *n);
struct orr_name *orr_name_find(const struct orr_match_table *names, uint32_t context, int peer);
static inline struct orr_name *orr_name_of(struct orr_hello *h)
{
    return (struct orr_name *)((char *)h - offsetof(struct orr_name, hello));
}

/* Gives a receive the sender's name for its communicator. False: it waits for that. */
bool orr_name_apply(const struct orr_match_table *names, struct orr_request *r);
/* The name has come: the receives that waited, in order, with it. */
struct orr_request *orr_name_heard(struct orr_name *n);
/* Takes the receives that wait, as they are. */
struct orr_request *orr_name_take_waiting(struct orr_name *n);
/* Calls visit for every receive that waits. */
void orr_names_visit(const struct orr_match_table *names,
                     void (*visit)(const struct orr_request *r, void *arg), void *arg);

#endif
