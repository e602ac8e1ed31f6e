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

void orr_step_link(struct orr_request **list, struct orr_request *r)
{
    r->before = NULL;
    r->next = *list;
    if (r->next) r->next->before = r;
    *list = r;
}

void orr_step_unlink(struct orr_request **list, struct orr_request *r)
{
    *(r->before ? &r->before->next : list) = r->next;
    if (r->next) r->next->before = r->before;
}

void orr_step_tell_credit(struct orr_peer *p, struct orr_wire_header *h)
{
    if (orr_likely(p->owed == 0) || h->kind == ORR_WIRE_FAILED) return;
    h->credit = p->owed > UINT32_MAX ? UINT32_MAX : (uint32_t)p->owed;
    p->owed -= h->credit;
}

/* Whether the peer is to see it while it computes. It would not use a value before its kernel ends; others
 * may wait for what it passes on, and a rank with nothing else to do waits for what it has asked for. */
static bool is_urgent(const struct orr_wire_header *h)
{
    if (orr_likely(h->kind == ORR_WIRE_EAGER)) return false;
    if (h->flags & ORR_WIRE_SPREAD) return true;
    return (h->kind == ORR_WIRE_ACK || h->kind == ORR_WIRE_WANT) && orr_bell_somebody_waits();
}

void orr_step_send_small(struct orr_engine *e, int peer, struct orr_wire_header *buffer, size_t bytes)
{
    e->counts.sent_messages++;
    orr_step_tell_credit(&e->peers[peer], buffer);
    bool answer = is_urgent(buffer);
    e->transport->ops->small_send(e->transport, peer, buffer, bytes);
    orr_step_ring(e, peer, answer);
}

void orr_step_release_buffer(struct orr_engine *e, void *buffer)
{
    if (buffer) e->transport->ops->small_release(e->transport, buffer);
}

static bool tag_is_used(const struct orr_engine *e, uint8_t kind, int peer, uint32_t tag)
{
    for (const struct orr_request *r = e->under_way; r; r = r->next)
        if (r->kind == kind && r->waits && r->bulk.tag == tag && r->bulk.peer == peer) return true;
    return false;
}

bool orr_step_choose_tag(struct orr_engine *e, uint8_t kind, int peer, uint32_t *tag_out)
{
    enum { TRIES = 64 };
    uint32_t half = e->transport->bulk_tag_max / 2, first = kind == ORR_SEND ? 0 : half + 1,
             last = kind == ORR_SEND ? half : e->transport->bulk_tag_max;
    struct orr_bulk_tags *t = &e->tags[kind];
    for (int i = 0; i < TRIES; i++) {
        *tag_out = first + t->next;
        bool again = *tag_out >= last;
        t->next = again ? 0 : t->next + 1;
        t->again |= again;
        if (orr_likely(!t->again) || !tag_is_used(e, kind, peer, *tag_out)) return true;
    }
    return false;
}

void orr_step_start_bulk(struct orr_engine *e, struct orr_request *r, int peer, uint32_t tag, bool sending)
{
    r->asks = false;
    r->waits++;
    e->counts.bulk_receives += !sending;
    e->counts.bulk_sends += sending;
    orr_step_link(&e->under_way, r);
    r->bulk = (struct orr_bulk){ .payload = &r->payload, .peer = peer, .tag = tag, .sending = sending };
    if (sending)
        e->transport->ops->bulk_send(e->transport, &r->bulk);
    else
        e->transport->ops->bulk_recv(e->transport, &r->bulk);
    if (!r->bulk.quiet) orr_step_ring(e, peer, false);
}
