/* SPDX-License-Identifier: BSD-3-Clause */
/* steps.h: what sends and receives have in common on their way: buffers, headers, large transfers, ends.
 * Threads: who holds the engine's busy. Owns: nothing. Not here: the order of sends (sending.h), what a
 * message that came is for (receiving.h). */
#ifndef ORR_MPI_STEPS_H
#define ORR_MPI_STEPS_H

#include "mpi/wire/engine_state.h"

/* ---- lists ---- */

static inline void orr_requests_init(struct orr_request_list *l)
{
    l->head = NULL, l->tail = &l->head;
}

static inline void orr_requests_append(struct orr_request_list *l, struct orr_request *r)
{
    r->next = NULL;
    *l->tail = r;
    l->tail = &r->next;
}

static inline struct orr_request *orr_requests_take_all(struct orr_request_list *l)
{
    struct orr_request *all = l->head;
    orr_requests_init(l);
    return all;
}

/* ---- small messages ---- */

/* NULL: there is none just now. urgent: it may be one of those kept for answers. */
static inline void *orr_step_take_buffer(struct orr_engine *e, int peer, bool urgent)
{
    void *b = e->spare_buffer;
    if (!b) return e->transport->ops->small_buffer(e->transport, peer, urgent);
    e->spare_buffer = NULL;
    return b;
}

/* For one that was taken and is not sent. buffer may be NULL. */
void orr_step_release_buffer(struct orr_engine *e, void *buffer);

static inline void orr_step_fill_header(struct orr_wire_header *h, uint8_t kind,
                                        const struct orr_match_node *n)
{
    *h = (struct orr_wire_header){ .magic = ORR_WIRE_MAGIC,
                                   .version = ORR_WIRE_VERSION,
                                   .kind = kind,
                                   .context = n->context,
                                   .tag = n->tag };
}

/* Something of a transfer or message went to a rank that may be asleep. */
static inline void orr_step_ring(struct orr_engine *e, int peer, bool answer)
{
    if (e->bells) orr_bells_ring(e->bells, peer, answer);
}

/* Tells a rank in h what was taken of what it sent. */
void orr_step_tell_credit(struct orr_peer *p, struct orr_wire_header *h);
/* Sends a header that was filled in, and what is behind it: bytes in all. */
void orr_step_send_small(struct orr_engine *e, int peer, struct orr_wire_header *buffer, size_t bytes);

/* ---- requests ---- */

/* Whether its payload goes with its header. */
static inline bool orr_step_is_small(const struct orr_engine *e, const struct orr_request *r)
{
    return r->payload.bytes <= e->transport->ops->small_max - sizeof(struct orr_wire_header);
}

/* r is ready, and it is its turn among those of its key: it leaves at the next orr_send_all. */
static inline void orr_step_release_send(struct orr_engine *e, struct orr_request *r)
{
    if (r->priority) e->priorities = true;
    orr_requests_append(&e->outgoing, r);
}

/* r is over: its done is called once busy is let go. */
void orr_step_complete(struct orr_engine *e, struct orr_request *r, int status);
/* The same if nothing else of it is to come. */
void orr_step_one_end(struct orr_engine *e, struct orr_request *r, int status);

/* Puts r on a list that is linked both ways, or takes it off. */
void orr_step_link(struct orr_request **list, struct orr_request *r);
void orr_step_unlink(struct orr_request **list, struct orr_request *r);
/* A tag that no transfer to, or from, this peer has: senders choose from the lower half, receivers, for those
 * who asked, from the upper one. False: none was found so soon. */
bool orr_step_choose_tag(struct orr_engine *e, uint8_t kind, int peer, uint32_t *tag_out);
/* Its bytes go, or come, under this tag of large transfers. */
void orr_step_start_bulk(struct orr_engine *e, struct orr_request *r, int peer, uint32_t tag, bool sending);

#endif
