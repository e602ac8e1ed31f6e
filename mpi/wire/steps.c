/* SPDX-License-Identifier: BSD-3-Clause */
/* steps.c: see steps.h.
 * Threads: who holds busy. Owns: nothing. Not here: see steps.h. */
#include "mpi/wire/steps.h"

#include "mpi/wire/event.h"
#include "mpi/wire/spread.h"

/* What r has received, or that it failed, goes on to others. */
static void pass_on(struct orr_engine *e, struct orr_request *r)
{
    for (uint32_t i = 0; i < r->relay->branches; i++) {
        struct orr_request *s = &r->relay->sends[i];
        s->payload = r->payload;
        s->failure = r->status;
        orr_step_release_send(e, s);
    }
}

void orr_step_complete(struct orr_engine *e, struct orr_request *r, int status)
{
    if (status && !r->status) r->status = status;
    if (orr_unlikely(r->relay != NULL) && r->kind == ORR_RECV) pass_on(e, r);
    e->counts.ended++;
    if (r->kind == ORR_RECV)
        ORR_EVENT(MESSAGE_RECEIVED, r, r->moved_bytes, orr_request_peer(r, r->node.peer), r->node.tag);
    orr_requests_append(&e->completed, r);
}

void orr_step_one_end(struct orr_engine *e, struct orr_request *r, int status)
{
    if (status && !r->status) r->status = status;
    if (--r->waits == 0) orr_step_complete(e, r, 0);
}

void orr_step_link(struct orr_engine *e, struct orr_request *r)
{
    r->before = NULL;
    r->next = e->under_way;
    if (r->next) r->next->before = r;
    e->under_way = r;
}

void orr_step_unlink(struct orr_engine *e, struct orr_request *r)
{
    *(r->before ? &r->before->next : &e->under_way) = r->next;
    if (r->next) r->next->before = r->before;
}

void orr_step_tell_credit(struct orr_peer *p, struct orr_wire_header *h)
{
    if (orr_likely(p->owed == 0) || h->kind == ORR_WIRE_FAILED) return;
    h->credit = p->owed > UINT32_MAX ? UINT32_MAX : (uint32_t)p->owed;
    p->owed -= h->credit;
}

void orr_step_send_small(struct orr_engine *e, int peer, struct orr_wire_header *buffer, size_t bytes)
{
    e->counts.sent_messages++;
    orr_step_tell_credit(&e->peers[peer], buffer);
    e->transport->ops->small_send(e->transport, peer, buffer, bytes);
    orr_step_ring(e, peer);
}

void orr_step_release_buffer(struct orr_engine *e, void *buffer)
{
    if (buffer) e->transport->ops->small_release(e->transport, buffer);
}

void orr_step_start_bulk(struct orr_engine *e, struct orr_request *r, int peer, uint32_t tag, bool sending)
{
    r->asks = false;
    r->waits++;
    e->counts.bulk_receives += !sending;
    e->counts.bulk_sends += sending;
    orr_step_link(e, r);
    r->bulk = (struct orr_bulk){ .payload = &r->payload, .peer = peer, .tag = tag, .sending = sending };
    if (sending)
        e->transport->ops->bulk_send(e->transport, &r->bulk);
    else
        e->transport->ops->bulk_recv(e->transport, &r->bulk);
    orr_step_ring(e, peer);
}
