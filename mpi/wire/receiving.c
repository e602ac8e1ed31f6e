/* SPDX-License-Identifier: BSD-3-Clause */
/* receiving.c: see receiving.h.
 * Threads: who holds busy. Owns: nothing. Not here: see receiving.h. */
#include "mpi/wire/receiving.h"

#include <string.h>

#include "core/base/alloc.h"
#include "mpi/wire/credit.h"
#include "mpi/wire/event.h"
#include "mpi/wire/names.h"
#include "mpi/wire/spread.h"
#include "mpi/wire/steps.h"

/* ---- answers ---- */

/* A message is no longer kept for: its sender may send as much again. Without a buffer it is told later. */
static void taken(struct orr_engine *e, int source, const struct orr_wire_header *h)
{
    struct orr_peer *p = &e->peers[source];
    uint32_t price = orr_credit_of(h);
    if (orr_likely(price == 0)) return;
    p->owed += price;
    if (orr_likely((int64_t)p->owed < e->share / ORR_CREDIT_PARTS)) return;
    struct orr_wire_header *back = orr_step_take_buffer(e, source, true);
    if (!back) return;
    orr_step_fill_header(back, ORR_WIRE_CREDIT, &(struct orr_match_node){ .tag = 0 });
    orr_step_tell_credit(p, back);
    e->transport->ops->small_send(e->transport, source, back,
                                  sizeof *back); /* nobody waits for it: no ring */
}

/* bulk_tag: for the bytes of one that asked, unless they are used where they are (sees). */
static void send_ack(struct orr_engine *e, int peer, uint32_t context, uint64_t id, uint32_t bulk_tag,
                     bool sees, struct orr_wire_header *buffer)
{
    orr_step_fill_header(buffer, ORR_WIRE_ACK, &(struct orr_match_node){ .context = context });
    buffer->id = id;
    buffer->bulk_tag = bulk_tag;
    if (orr_unlikely(sees)) buffer->flags = ORR_WIRE_SHOWS;
    e->counts.program_sent += !(context & ORR_CONTEXT_UNCOUNTED);
    orr_step_send_small(e, peer, buffer, sizeof *buffer);
}

/* What came by way of another rank is matched: its origin may go on. */
static void tell_origin(struct orr_engine *e, int origin, const struct orr_wire_header *h,
                        struct orr_wire_header *buffer)
{
    orr_step_fill_header(buffer, ORR_WIRE_ACK,
                         &(struct orr_match_node){ .context = h->context, .tag = h->tag });
    buffer->flags = ORR_WIRE_SPREAD;
    e->counts.program_sent++;
    orr_step_send_small(e, origin, buffer, sizeof *buffer);
}

/* ---- a receive and its message ---- */

static int check_receive(struct orr_request *r, const struct orr_wire_header *h)
{
    if (orr_unlikely(h->hash != r->hash) && h->hash && r->hash) {
        r->sent_position = h->position;
        return -EILSEQ;
    }
    if (!r->payload.any_size && h->bytes != r->payload.bytes) return -EMSGSIZE;
    if (!h->type || !r->payload.type || h->type == r->payload.type) return 0;
    r->sent_type = h->type;
    return -EPROTOTYPE;
}

/* Memory for a message whose size is the sender's, or which is only taken off the network. */
static bool make_room(struct orr_request *r, const struct orr_wire_header *h)
{
    if (h->kind == ORR_WIRE_FAILED) return true;
    if (r->status) { /* to be thrown away; an eager payload needs no room for that */
        if (h->kind == ORR_WIRE_EAGER) return true;
        void *p = orr_malloc(h->bytes ? h->bytes : 1);
        if (!p) return false;
        r->payload = (struct orr_payload){ .base = p, .bytes = h->bytes };
        r->early = p; /* freed when the bulk transfer ends */
        return true;
    }
    if (!r->payload.any_size) return true;
    void *p = r->make_room(r, h->bytes);
    if (!p) return false;
    r->payload.base = p;
    r->payload.bytes = h->bytes;
    r->payload.kind = ORR_PAYLOAD_BYTES;
    r->payload.any_size = false;
    return true;
}

static int scatter(struct orr_engine *e, const struct orr_payload *p, const void *from)
{
    if (p->kind == ORR_PAYLOAD_OPAQUE) return e->transport->ops->scatter(e->transport, p, from);
    orr_payload_scatter(p, from);
    return 0;
}

/* Whether r uses the bytes where its sender says that they are. */
static bool sees(struct orr_engine *e, struct orr_request *r, int source, const struct orr_wire_header *h,
                 const void *data)
{
    struct orr_wire_place place;
    const struct orr_transport_ops *ops = e->transport->ops;
    if (orr_likely(!(h->flags & ORR_WIRE_SHOWS)) || h->kind != ORR_WIRE_ANNOUNCE || r->status || !r->in_place)
        return false;
    memcpy(&place, data, sizeof place);
    void *here = ops->view ? ops->view(e->transport, source, place.at, h->bytes) : NULL;
    return here && e->see(r, here, place.name);
}

/* Gives message h from source (and its data, when eager) to the ready request r, which is on no list. False:
 * no memory, buffer or tag, and nothing was done that cannot be done again. */
static bool deliver(struct orr_engine *e, struct orr_request *r, int source, const struct orr_wire_header *h,
                    const void *data)
{
    void *ack = NULL, *word = NULL;
    uint32_t bulk_tag = h->bulk_tag;
    bool wants_ack = h->flags & ORR_WIRE_WANTS_ACK, was_relayed = source != r->node.peer;
    if (h->flags & ORR_WIRE_ASKS && !orr_step_choose_tag(e, ORR_RECV, source, &bulk_tag)) return false;
    if (wants_ack && !(ack = orr_step_take_buffer(e, source, true))) return false;
    if (orr_unlikely(was_relayed) && !(word = orr_step_take_buffer(e, r->node.peer, true))) {
        orr_step_release_buffer(e, ack);
        return false;
    }
    if (!r->status && h->kind != ORR_WIRE_FAILED) r->status = check_receive(r, h);
    if (!make_room(r, h)) {
        orr_step_release_buffer(e, ack);
        orr_step_release_buffer(e, word);
        return false;
    }
    taken(e, source, h); /* before the acknowledgement, which tells it */
    r->seen = sees(e, r, source, h, data);
    if (wants_ack) send_ack(e, source, r->node.context, h->id, bulk_tag, r->seen, ack);
    if (orr_unlikely(was_relayed)) {
        tell_origin(e, r->node.peer, h, word);
        ORR_EVENT(MESSAGE_PASSED, r, source, 0, 0);
    }
    r->moved_bytes = h->bytes;
    if (orr_unlikely(r->seen)) {
        orr_step_complete(e, r, 0);
        return true;
    }
    if (h->kind == ORR_WIRE_ANNOUNCE) {
        orr_step_start_bulk(e, r, source, bulk_tag, false);
        return true;
    }
    int status = h->kind == ORR_WIRE_FAILED ? h->status : 0;
    if (h->kind == ORR_WIRE_EAGER && !r->status) status = scatter(e, &r->payload, data);
    orr_step_complete(e, r, status);
    return true;
}

/* ---- messages that are kept ---- */

static size_t kept_bytes(const struct orr_early *m)
{
    return m->header.kind == ORR_WIRE_EAGER ? (size_t)m->header.bytes : 0;
}

static void free_early(struct orr_engine *e, struct orr_early *m)
{
    e->counts.kept_bytes -= kept_bytes(m);
    orr_free(m);
}

/* Whether r is still to be told where its bytes go. */
static bool must_place(const struct orr_request *r, const struct orr_wire_header *h)
{
    return orr_unlikely(r->place != NULL) && h->kind == ORR_WIRE_ANNOUNCE && r->status == 0 &&
           h->bytes == r->payload.bytes;
}

/* r has its early message, is on no list, and goes on when it is ready once more. */
static void ask_place(struct orr_engine *e, struct orr_request *r)
{
    r->ready = false;
    e->counts.waiting_data++;
    orr_step_link(&e->under_way, r);
    r->next_to_place = e->to_place;
    e->to_place = r;
}

struct orr_request *orr_receive_take_to_place(struct orr_engine *e)
{
    struct orr_request *all = e->to_place;
    if (orr_unlikely(all != NULL)) e->to_place = NULL;
    return all;
}

void orr_receive_early(struct orr_engine *e, struct orr_request *r)
{
    struct orr_early *m = r->early;
    if (must_place(r, &m->header)) {
        ask_place(e, r);
        return;
    }
    r->early = NULL;
    if (deliver(e, r, m->source, &m->header, m->data)) {
        free_early(e, m);
        return;
    }
    r->early = m;
    orr_requests_append(&e->stalled, r);
}

static struct orr_early *copy_early(struct orr_engine *e, const struct orr_wire_header *h, int origin,
                                    int source, const void *data, size_t bytes)
{
    if (h->kind != ORR_WIRE_EAGER && !(h->flags & ORR_WIRE_SHOWS))
        bytes = 0; /* whom to pass it on to was looked at */
    struct orr_early *m = orr_malloc(sizeof *m + bytes);
    if (!m) return NULL;
    m->node = (struct orr_match_node){ .tag = h->tag, .peer = origin, .context = h->context };
    m->header = *h;
    m->source = source;
    if (bytes) memcpy(m->data, data, bytes);
    e->counts.kept_bytes += kept_bytes(m);
    if (e->counts.kept_bytes > e->counts.kept_most) e->counts.kept_most = e->counts.kept_bytes;
    return m;
}

static void free_discarded(struct orr_request *r)
{
    orr_free(r);
}

void orr_receive_discard(struct orr_engine *e, struct orr_early *m)
{
    if (m->header.kind == ORR_WIRE_ANNOUNCE && !(m->header.flags & ORR_WIRE_ASKS)) {
        struct orr_request *r = orr_calloc(1, sizeof *r);
        void *bytes = orr_malloc(m->header.bytes);
        if (r && bytes) {
            orr_request_init(r);
            r->kind = ORR_RECV;
            r->ready = true;
            r->node = (struct orr_match_node){ .context = m->node.context | ORR_CONTEXT_UNCOUNTED,
                                               .peer = m->source,
                                               .tag = m->node.tag };
            r->payload = (struct orr_payload){ .base = bytes, .bytes = m->header.bytes };
            r->early = bytes; /* freed when the transfer ends */
            r->done = free_discarded;
            orr_step_start_bulk(e, r, m->source, m->header.bulk_tag, false);
        } else {
            orr_free(r);
            orr_free(bytes);
        }
    }
    free_early(e, m);
}

/* ---- what senders do not announce ---- */

static struct orr_request *receive_for(struct orr_engine *e, int origin, const struct orr_wire_header *h)
{
    return (struct orr_request *)orr_match_first(&e->receives, h->context, origin, h->tag);
}

/* Those of r's key that wait, from r on; of many some. */
static uint64_t count_waiting(const struct orr_request *r)
{
    enum { MANY = 32 };
    uint64_t n = 0;
    for (const struct orr_match_node *i = &r->node; i && n < MANY; i = i->same) n++;
    return n;
}

void orr_receive_wants_no_more(struct orr_engine *e, struct orr_request *r)
{
    if (orr_likely(!r->wants)) return;
    r->wants = r->wants_all = false;
    orr_step_unlink(&e->wanting, r);
}

void orr_receive_tell_wanting(struct orr_engine *e)
{
    for (struct orr_request *r = e->wanting, *next; r; r = next) {
        struct orr_wire_header *buffer = orr_step_take_buffer(e, r->node.peer, true);
        next = r->next;
        if (!buffer) continue; /* of this rank; at the next poll */
        orr_step_fill_header(buffer, ORR_WIRE_WANT, &r->node);
        buffer->id = r->wants_all ? count_waiting(r) : 0;
        e->counts.program_sent++;
        orr_step_send_small(e, r->node.peer, buffer, sizeof *buffer);
        orr_receive_wants_no_more(e, r);
    }
}

static void link_wanting(struct orr_engine *e, struct orr_request *r)
{
    r->wants = true;
    orr_step_link(&e->wanting, r);
    orr_receive_tell_wanting(e);
}

/* Nothing is here for r, or for those of its key behind it, and their sender keeps something back: it is told
 * so once more. For which of them is all the same. */
static void want(struct orr_engine *e, struct orr_request *r)
{
    while (r && r->wants) r = (struct orr_request *)r->node.same;
    if (r) link_wanting(e, r); /* else it is going to be told as often as there are receives */
}

/* The sender keeps some back of which the receives of that key that wait, of which r is the first, may not
 * have told it: it is told of all. NULL: none waits; each that comes tells by itself. */
static void want_all(struct orr_engine *e, struct orr_request *r)
{
    if (!r) return;
    r->wants_all = true;
    if (!r->wants) link_wanting(e, r);
}

/* Something has come for r: who told of it was another of its key, which may not be served by that. */
static void leave_wanting(struct orr_engine *e, struct orr_request *r)
{
    struct orr_request *behind = (struct orr_request *)r->node.same;
    bool all = r->wants_all;
    orr_receive_wants_no_more(e, r);
    if (all)
        want_all(e, behind);
    else
        want(e, behind);
}

void orr_receive_more(struct orr_engine *e, int source, const struct orr_wire_header *h)
{
    e->peers[source].has_more = h->kind == ORR_WIRE_MORE;
    if (h->kind == ORR_WIRE_MORE) want_all(e, receive_for(e, source, h));
}

/* ---- one that came ---- */

/* A message of origin's for a receive; r: the first that may be for it, or NULL. */
static bool arrive(struct orr_engine *e, int origin, int source, struct orr_request *r,
                   const struct orr_wire_header *h, const void *data, size_t bytes)
{
    bool place = r && r->ready && must_place(r, h);
    if (orr_unlikely(r && r->wants)) leave_wanting(e, r); /* before it is on another list */
    if (r && r->ready && !place) {
        if (!deliver(e, r, source, h, data)) {
            struct orr_early *copy = copy_early(e, h, origin, source, data, bytes);
            if (!copy) return false;
            orr_match_pop(&e->receives, h->context, origin, h->tag);
            r->early = copy;
            orr_requests_append(&e->stalled, r);
            return true;
        }
        orr_match_pop(&e->receives, h->context, origin, h->tag);
        return true;
    }
    struct orr_early *m = copy_early(e, h, origin, source, data, bytes);
    if (!m) return false;
    if (r) {
        orr_match_pop(&e->receives, h->context, origin, h->tag);
        r->early = m;
        if (place)
            ask_place(e, r);
        else
            orr_step_link(&e->under_way, r);
    } else if (orr_unlikely(e->cancelled)) {
        orr_receive_discard(e, m);
    } else {
        e->counts.early_messages++;
        orr_match_append(&e->early, &m->node);
    }
    return true;
}

bool orr_receive_message(struct orr_engine *e, int source, const struct orr_wire_header *h, const void *data,
                         size_t bytes)
{
    if (!arrive(e, source, source, receive_for(e, source, h), h, data, bytes)) return false;
    if (orr_unlikely(h->flags & ORR_WIRE_BEHIND)) want_all(e, receive_for(e, source, h));
    return true;
}

/* ---- trees ---- */

/* The ranks of a message, without its origin's; own: and this one. */
static void send_return(struct orr_engine *e, int origin, const struct orr_wire_header *what,
                        const void *ranks, uint32_t count, bool own, struct orr_wire_header *buffer)
{
    const struct orr_spread_rank me = { e->transport->rank, 0 };
    struct orr_spread_rank *to = (struct orr_spread_rank *)(buffer + 1);
    orr_step_fill_header(buffer, ORR_WIRE_RETURN,
                         &(struct orr_match_node){ .context = what->context, .tag = what->tag });
    if (own) *to++ = me;
    memcpy(to, (const struct orr_spread_rank *)ranks + 1, count * sizeof me);
    e->counts.program_sent++;
    orr_step_send_small(e, origin, buffer, sizeof *buffer + (count + own) * sizeof me);
}

/* Nobody waits for it here now: it is to come from its origin, and who would have passed it on is rid of it.
 */
static bool decline(struct orr_engine *e, int source, int origin, const struct orr_wire_header *h,
                    const void *ranks, uint32_t count)
{
    struct orr_wire_header *no = orr_step_take_buffer(e, source, true),
                           *back = no ? orr_step_take_buffer(e, origin, true) : NULL;
    if (!back) {
        orr_step_release_buffer(e, no);
        return false;
    }
    orr_step_fill_header(no, ORR_WIRE_ACK, &(struct orr_match_node){ .context = h->context });
    no->flags = ORR_WIRE_SPREAD;
    no->id = h->id;
    e->counts.program_sent++;
    orr_step_send_small(e, source, no, sizeof *no);
    send_return(e, origin, h, ranks, count, true, back);
    return true;
}

/* By way of others it is here before what its origin sent itself: that may be of the same name. */
static bool is_early(const struct orr_engine *e, const struct orr_spread_rank *first)
{
    return (int32_t)(e->peers[first->rank].heard - first->behind) < 0;
}

bool orr_receive_spread(struct orr_engine *e, int source, const struct orr_wire_header *h, const void *data,
                        size_t bytes)
{
    struct orr_spread_rank first = { 0, 0 };
    uint32_t count = 0;
    void *back = NULL;
    orr_spread_read(data, bytes, e->transport->size, &first, &count);
    int32_t origin = first.rank;
    struct orr_request *r = receive_for(e, origin, h);
    if (h->flags & ORR_WIRE_ASKS && source != origin && (!(r && r->ready) || is_early(e, &first)))
        return decline(e, source, origin, h, data, count);
    if (count && r && r->ready && r->relays && !r->payload.any_size && check_receive(r, h) == 0)
        r->relay = orr_relay_new(r, data, count);
    struct orr_relay *relay = count && r ? r->relay : NULL;
    if (count && !relay && !(back = orr_step_take_buffer(e, origin, true))) return false;
    if (!arrive(e, origin, source, r, h, data, bytes)) {
        orr_step_release_buffer(e, back);
        if (relay) r->relay = NULL;
        orr_free(relay);
        return false;
    }
    if (back) send_return(e, origin, h, data, count, false, back);
    return true;
}

void orr_receive_posted(struct orr_engine *e, struct orr_request *r)
{
    if (orr_unlikely(r->foreign) && !orr_name_apply(&e->names, r)) return;
    r->early = (struct orr_early *)orr_match_pop(&e->early, r->node.context, r->node.peer, r->node.tag);
    if (!r->early) {
        orr_match_append(&e->receives, &r->node);
        if (orr_unlikely(e->peers[r->node.peer].has_more) && !(r->node.context & ORR_CONTEXT_UNCOUNTED))
            want(e, r);
    } else if (r->ready)
        orr_receive_early(e, r);
    else
        orr_step_link(&e->under_way, r);
}
