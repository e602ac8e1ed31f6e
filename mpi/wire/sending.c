/* SPDX-License-Identifier: BSD-3-Clause */
/* sending.c: see sending.h.
 * Threads: who holds busy. Owns: nothing. Not here: see sending.h. */
#include "mpi/wire/sending.h"

#include <string.h>

#include "mpi/wire/credit.h"
#include "mpi/wire/event.h"
#include "mpi/wire/spread.h"
#include "mpi/wire/steps.h"

static int gather(struct orr_engine *e, const struct orr_payload *p, void *to)
{
    if (p->kind == ORR_PAYLOAD_OPAQUE) return e->transport->ops->gather(e->transport, p, to);
    orr_payload_gather(p, to);
    return 0;
}

/* Under which name its receiver may use its bytes where they are; 0: it may not. */
static uint64_t show(struct orr_engine *e, struct orr_request *r)
{
    return orr_likely(!r->in_place) || r->failure || r->relay || r->to ? 0 : e->show(r);
}

/* The header's kind and, of an eager message, the payload behind it; of one that shows its bytes, where they
 * are. */
static size_t fill_message(struct orr_engine *e, struct orr_request *r, struct orr_wire_header *h,
                           uint64_t name)
{
    const struct orr_payload *p = &r->payload;
    orr_step_fill_header(h, ORR_WIRE_ANNOUNCE, &r->node);
    h->type = p->type;
    h->bytes = p->bytes;
    h->position = r->position;
    h->hash = r->hash;
    if (r->inferred) h->flags |= ORR_WIRE_INFERRED;
    if (!r->failure && !r->asks && orr_step_is_small(e, r)) {
        h->kind = ORR_WIRE_EAGER;
        r->failure = gather(e, p, h + 1);
    }
    if (r->failure) {
        h->kind = ORR_WIRE_FAILED;
        h->bytes = 0;
        h->status = r->failure;
    }
    if (orr_unlikely(r->to != NULL)) return sizeof *h + orr_spread_write(h, r->to);
    if (orr_unlikely(name)) {
        struct orr_wire_place place = { (uintptr_t)p->base, name };
        h->flags |= ORR_WIRE_SHOWS;
        memcpy(h + 1, &place, sizeof place);
        return sizeof *h + sizeof place;
    }
    return sizeof *h + (h->kind == ORR_WIRE_EAGER ? p->bytes : 0);
}

/* ---- those that are not announced ---- */

static uint32_t price_of(const struct orr_engine *e, const struct orr_request *r)
{
    if (r->failure) return 0;
    return orr_credit_price(r->node.context, !orr_step_is_small(e, r), r->payload.bytes);
}

static bool is_behind_unannounced(const struct orr_engine *e, const struct orr_match_node *n)
{
    return e->peers[n->peer].unannounced && orr_match_first(&e->unannounced, n->context, n->peer, n->tag);
}

/* Whether its receiver is to want it first: one more announcement would be too many, or it is behind such a
 * one. Who passes a message on is answered at once. */
static bool is_kept_back(const struct orr_engine *e, const struct orr_request *r)
{
    const struct orr_peer *p = &e->peers[r->node.peer];
    if (r->relay) return false;
    if (p->asked >= e->asked_most && price_of(e, r) > p->credit) return true;
    return is_behind_unannounced(e, &r->node);
}

/* Its receiver is told that there is one with this tag, if it is the first. */
static void keep_back(struct orr_engine *e, struct orr_request *r, struct orr_wire_header *h)
{
    int peer = r->node.peer;
    bool first = !is_behind_unannounced(e, &r->node);
    orr_match_append(&e->unannounced, &r->node);
    e->peers[peer].unannounced++;
    e->counts.kept_back++;
    if (!first) {
        orr_step_release_buffer(e, h);
        return;
    }
    orr_step_fill_header(h, ORR_WIRE_MORE, &r->node);
    e->counts.program_sent++;
    orr_step_send_small(e, peer, h, sizeof *h);
}

/* ---- one message ---- */

/* Sends what leads the request off; false when there is no buffer. Without a tag the receiver is asked for
 * one: transfers that nobody receives may have all of them, and hold up nothing. wanted: it was kept back. */
static bool emit(struct orr_engine *e, struct orr_request *r, bool wanted)
{
    uint32_t bulk_tag = 0;
    int peer = r->node.peer;
    struct orr_wire_header *h = orr_step_take_buffer(e, peer, false);
    if (!h) return false;
    bool large = !r->failure && !orr_step_is_small(e, r);
    uint32_t price = price_of(e, r);
    bool asks = (int64_t)price > e->peers[peer].credit;
    if (orr_unlikely(asks || e->unannounced.nodes) && !wanted && is_kept_back(e, r)) {
        keep_back(e, r, h);
        return true;
    }
    if (orr_unlikely(r->relay != NULL) && large) asks = true; /* who does not wait for it says no */
    uint64_t name = large ? show(e, r) : 0;
    if (orr_unlikely(name)) asks = true;
    if (large && !asks) asks = !orr_step_choose_tag(e, ORR_SEND, peer, &bulk_tag);
    r->asks = asks;
    size_t bytes = fill_message(e, r, h, name);
    bool announces = h->kind == ORR_WIRE_ANNOUNCE;
    if (h->kind != ORR_WIRE_EAGER) e->peers[peer].announced++;
    h->bulk_tag = bulk_tag;
    if (orr_unlikely(r->behind)) h->flags |= ORR_WIRE_BEHIND;
    if (asks) {
        h->flags |= ORR_WIRE_ASKS;
        e->counts.asked++;
        e->peers[peer].asked++;
    } else if (h->kind != ORR_WIRE_FAILED) {
        e->peers[peer].credit -= price;
    }
    if ((r->sync || asks) && !r->failure) {
        h->flags |= ORR_WIRE_WANTS_ACK;
        h->id = r->id = ++e->next_id;
        r->waits++;
        r->node.tag = (int64_t)r->id; /* from here on it is looked up by its id */
        orr_match_append(&e->unacknowledged, &r->node);
    }
    r->moved_bytes = h->bytes;
    if (orr_unlikely(r->relay != NULL))
        ORR_EVENT(MESSAGE_PASSED, r, r->to->origin.rank, (uintptr_t)r->relay->of, 0);
    ORR_EVENT(MESSAGE_SENT, r, h->bytes, orr_request_peer(r, peer), h->tag);
    e->counts.program_sent += !(r->node.context & ORR_CONTEXT_UNCOUNTED);
    orr_step_send_small(e, peer, h, bytes);
    if (announces && !asks) orr_step_start_bulk(e, r, peer, bulk_tag, true);
    if (r->waits == 0) orr_step_complete(e, r, r->failure);
    return true;
}

/* ---- priorities ---- */

/* Merge sort of a list, highest priority first, equal ones in order. */
static struct orr_request *sort_by_priority(struct orr_request *list)
{
    if (!list || !list->next) return list;
    struct orr_request *slow = list, *fast = list->next, *second, *sorted = NULL, **tail = &sorted;
    while (fast && fast->next) slow = slow->next, fast = fast->next->next;
    second = slow->next;
    slow->next = NULL;
    list = sort_by_priority(list);
    second = sort_by_priority(second);
    while (list && second) {
        struct orr_request **first = second->priority > list->priority ? &second : &list;
        *tail = *first;
        tail = &(*tail)->next;
        *first = (*first)->next;
    }
    *tail = list ? list : second;
    return sorted;
}

/* Sends with the same key stay in order: a later one is not more urgent than an earlier one. */
static void level_priorities(struct orr_request *list)
{
    struct orr_match_table keys;
    orr_match_init(&keys);
    for (struct orr_request *r = list; r; r = r->next) {
        struct orr_match_node *first = orr_match_first(&keys, r->node.context, r->node.peer, r->node.tag);
        if (first && ((struct orr_request *)first->last)->priority < r->priority)
            r->priority = ((struct orr_request *)first->last)->priority;
        orr_match_append(&keys, &r->node);
    }
    orr_match_fini(&keys);
}

static void order(struct orr_request_list *l)
{
    if (!l->head || !l->head->next) return;
    level_priorities(l->head);
    l->head = sort_by_priority(l->head);
    l->tail = &l->head;
    while (*l->tail) l->tail = &(*l->tail)->next;
}

/* ---- those that have to wait ---- */

/* In its order, as far as buffers go. True: none is left. */
static bool emit_list(struct orr_engine *e, struct orr_request_list *l, bool wanted)
{
    for (struct orr_request *r; (r = l->head);) {
        struct orr_request *next = r->next; /* r may be on another list afterwards */
        if (!emit(e, r, wanted)) return false;
        l->head = next;
    }
    orr_requests_init(l);
    return true;
}

/* Sends what a rank's buffers allow of those that wait for them. True: none is left. */
static bool emit_waiting(struct orr_engine *e, struct orr_peer *p)
{
    if (!emit_list(e, &p->wanted, true)) return false; /* first: others of the same key are later */
    if (p->priorities && p->unsorted) {
        void *b = orr_step_take_buffer(e, (int)(p - e->peers), false);
        if (!b) return false;
        e->spare_buffer = b;
        order(&p->waiting);
        p->unsorted = false;
    }
    if (!emit_list(e, &p->waiting, false)) return false;
    p->priorities = p->unsorted = p->blocked = false;
    return true;
}

static void emit_blocked(struct orr_engine *e)
{
    for (struct orr_peer **at = &e->blocked, *p; (p = *at);)
        if (emit_waiting(e, p))
            *at = p->next_blocked;
        else
            at = &p->next_blocked;
}

static void block(struct orr_engine *e, struct orr_peer *p)
{
    if (p->blocked) return;
    p->blocked = true;
    p->next_blocked = e->blocked;
    e->blocked = p;
}

static void wait_for_buffer(struct orr_engine *e, struct orr_peer *p, struct orr_request *r)
{
    block(e, p);
    orr_requests_append(&p->waiting, r);
    p->priorities |= r->priority != 0;
    p->unsorted = true;
}

/* One with the same key is made by another rank: r waits until that is matched. */
static bool is_behind_relayed(struct orr_engine *e, struct orr_request *r)
{
    if (orr_likely(e->relayed.nodes == 0) || r->relay) return false;
    if (!orr_match_first(&e->relayed, r->node.context, r->node.peer, r->node.tag)) return false;
    orr_match_append(&e->relayed, &r->node);
    return true;
}

/* A rank for which there is no buffer holds up its own sends alone. False: r waits. */
static bool emit_or_wait(struct orr_engine *e, struct orr_request *r)
{
    struct orr_peer *p = &e->peers[r->node.peer];
    if (orr_likely(!p->blocked) && orr_likely(emit(e, r, false))) return true;
    wait_for_buffer(e, p, r);
    return false;
}

/* ---- trees ---- */

/* The same bytes for n ranks: the first gets them from here, and passes them on to the others. */
static void emit_branch(struct orr_engine *e, struct orr_request **list, uint32_t n)
{
    struct orr_spread_rank ranks[ORR_SPREAD_MAX];
    for (; n > 1; list++, n--) {
        struct orr_spread to = { { e->transport->rank, 0 }, n - 1, ranks };
        for (uint32_t i = 1; i < n; i++) {
            int32_t rank = list[i]->node.peer;
            ranks[i - 1] = (struct orr_spread_rank){ rank, e->peers[rank].announced };
        }
        list[0]->to = &to;
        bool sent = !e->peers[list[0]->node.peer].blocked && emit(e, list[0], false);
        list[0]->to = NULL;
        if (sent) break;
        wait_for_buffer(e, &e->peers[list[0]->node.peer], list[0]);
    }
    if (n == 1) emit_or_wait(e, list[0]);
    for (uint32_t i = 1; i < n; i++) {
        list[i]->relayed = true;
        list[i]->waits++;
        e->counts.relayed++;
        orr_match_append(&e->relayed, &list[i]->node);
    }
}

static bool has_same_bytes(const struct orr_request *a, const struct orr_request *b)
{
    return b->spreads && !b->failure && a->payload.base == b->payload.base &&
           a->payload.bytes == b->payload.bytes && a->node.tag == b->node.tag &&
           a->node.context == b->node.context;
}

/* Whether others may pass r on: it is large, and its receiver does not take it out of this rank's memory. */
static bool may_spread(const struct orr_engine *e, const struct orr_request *r)
{
    if (orr_likely(!r->spreads) || r->failure || orr_step_is_small(e, r)) return false;
    bool (*fetches)(struct orr_transport *, int) = e->transport->ops->fetches;
    return !(fetches && fetches(e->transport, r->node.peer));
}

/* Sends r and those behind it that send the same, each to another rank, along a tree. Returns what is behind
 * them. */
static struct orr_request *emit_spread(struct orr_engine *e, struct orr_request *r)
{
    struct orr_request *list[ORR_SPREAD_MAX], *first = r, *next;
    uint32_t n = 0, room = orr_spread_room(e->transport->ops->small_max), half;
    e->spreads++;
    for (; r && n < room && has_same_bytes(first, r) && may_spread(e, r); r = next) {
        struct orr_peer *p = &e->peers[r->node.peer];
        if (p->spread == e->spreads) break;
        p->spread = e->spreads;
        next = r->next;
        if (is_behind_relayed(e, r)) continue;
        if (p->blocked || is_kept_back(e, r))
            wait_for_buffer(e, p, r); /* one of the same name may be among them */
        else
            list[n++] = r;
    }
    half = orr_spread_half(n);
    if (half) emit_branch(e, list, half);
    if (half < n) emit_branch(e, list + half, n - half);
    return r;
}

/* ---- in all ---- */

void orr_send_all(struct orr_engine *e)
{
    if (orr_unlikely(e->blocked != NULL)) emit_blocked(e);
    if (e->priorities) order(&e->outgoing);
    e->priorities = false;
    for (struct orr_request *r = orr_requests_take_all(&e->outgoing), *next; r; r = next) {
        next = r->next;
        if (may_spread(e, r))
            next = emit_spread(e, r);
        else if (!is_behind_relayed(e, r))
            emit_or_wait(e, r);
    }
}

/* ---- answers ---- */

/* Those that waited behind one that was relayed, up to the next. */
static void release_followers(struct orr_engine *e, uint32_t context, int32_t peer, int64_t tag)
{
    struct orr_request *r;
    while ((r = (struct orr_request *)orr_match_first(&e->relayed, context, peer, tag)) && !r->relayed) {
        orr_match_pop(&e->relayed, context, peer, tag);
        orr_step_release_send(e, r);
    }
}

/* The first of this key that another rank was to make; NULL: there is none. */
static struct orr_request *take_relayed(struct orr_engine *e, uint32_t context, int peer, int64_t tag)
{
    struct orr_request *r = (struct orr_request *)orr_match_first(&e->relayed, context, peer, tag);
    if (!r || !r->relayed) {
        e->counts.bad_messages++;
        return NULL;
    }
    orr_match_pop(&e->relayed, context, peer, tag);
    r->relayed = false;
    return r;
}

void orr_send_returned(struct orr_engine *e, const struct orr_wire_header *h, const void *ranks, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct orr_request *r = take_relayed(e, h->context, orr_spread_at(ranks, i).rank, h->tag);
        if (!r) continue;
        r->waits--;
        orr_step_release_send(e, r);
    }
    for (size_t i = 0; i < n; i++) release_followers(e, h->context, orr_spread_at(ranks, i).rank, h->tag);
}

void orr_send_release_held(struct orr_engine *e, uint32_t context, int32_t peer, int64_t tag)
{
    struct orr_request *r;
    while ((r = (struct orr_request *)orr_match_first(&e->held, context, peer, tag)) && r->ready) {
        orr_match_pop(&e->held, context, peer, tag);
        orr_step_release_send(e, r);
    }
}

void orr_send_acknowledged(struct orr_engine *e, int source, const struct orr_wire_header *h)
{
    if (orr_unlikely(h->flags & ORR_WIRE_SPREAD) && h->id == 0) {
        struct orr_request *relayed = take_relayed(e, h->context, source, h->tag);
        if (!relayed) return;
        relayed->moved_bytes = relayed->payload.bytes;
        orr_step_one_end(e, relayed, 0);
        release_followers(e, h->context, source, h->tag);
        return;
    }
    struct orr_request *r =
        (struct orr_request *)orr_match_pop(&e->unacknowledged, h->context, source, (int64_t)h->id);
    if (!r) {
        e->counts.bad_messages++;
        return;
    }
    if (orr_unlikely(h->flags & ORR_WIRE_SPREAD)) ORR_EVENT(MESSAGE_PASSED, r, ORR_PASSED_DECLINED, 0, 0);
    e->peers[source].asked -= r->asks;
    r->seen = h->flags & ORR_WIRE_SHOWS;
    if (r->asks && !(h->flags & (ORR_WIRE_SPREAD | ORR_WIRE_SHOWS)))
        orr_step_start_bulk(e, r, source, h->bulk_tag, true);
    r->asks = false;
    orr_step_one_end(e, r, 0);
}

void orr_send_wanted(struct orr_engine *e, int source, const struct orr_wire_header *h)
{
    struct orr_peer *p = &e->peers[source];
    struct orr_match_node *n = NULL;
    for (uint64_t i = h->id ? h->id : 1; i > 0; i--) {
        struct orr_match_node *next = orr_match_pop(&e->unannounced, h->context, source, h->tag);
        if (!next) break;
        n = next;
        p->unannounced--;
        orr_requests_append(&p->wanted, (struct orr_request *)n);
    }
    if (n) {
        ((struct orr_request *)n)->behind = h->id && is_behind_unannounced(e, n);
        block(e, p);
    } else if (p->unannounced == 0) { /* else it left, or is told of when it is ready */
        struct orr_wire_header *none = orr_step_take_buffer(e, source, true);
        if (!none) return; /* at the next question */
        orr_step_fill_header(none, ORR_WIRE_NO_MORE, &(struct orr_match_node){ .tag = 0 });
        e->counts.program_sent++;
        orr_step_send_small(e, source, none, sizeof *none);
    }
}

void orr_send_posted(struct orr_engine *e, struct orr_request *r)
{
    if (e->held.nodes == 0 && r->ready) {
        orr_step_release_send(e, r);
        return;
    }
    orr_match_append(&e->held, &r->node);
    if (r->ready) orr_send_release_held(e, r->node.context, r->node.peer, r->node.tag);
}
