/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.c: the protocol between ranks: order, matching, eager and bulk messages, acknowledgements.
 * Threads: any; one at a time holds e->busy and runs all that is called _locked. Owns: see engine.h.
 * Not here: where bytes come from (message.c), the network (transport.h).
 *
 * Nobody ever waits for the engine: posting pushes onto a lock-free stack, and whoever holds busy empties it
 * in the order of pushing and looks again after letting go. A small message carries its payload; a large one
 * is announced, and the data follow at once as a bulk transfer, which the transport puts straight into place.
 * Where a rank keeps much already that it has not received, any is announced, and follows when it is wanted
 * (credit.h). Sends for which there is no buffer wait, those to each rank by themselves.
 * Sends with the same key leave in the order in which they were posted, whichever is ready first; receives
 * are matched in the order in which they were posted. A receive on a communicator that its sender numbers by
 * itself waits first, if need be, until it knows that number (names.c).
 * Of several large sends of the same bytes that are ready together most are left to those who receive them
 * (spread.h). */
#include "mpi/wire/engine.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/thread.h"
#include "mpi/wire/credit.h"
#include "mpi/wire/event.h"
#include "mpi/wire/names.h"
#include "mpi/wire/spread.h"

struct orr_early {
    struct orr_match_node node; /* first */
    struct orr_wire_header header;
    int source; /* who sent it; node.peer: whose it is */
    char data[];
};

enum { POLL_ROUNDS_MAX = 16 };

static bool *in_callback(void)
{
    return orr_thread_room(orr_self(), messages, bool);
}

bool orr_engine_in_callback(void)
{
    return *in_callback();
}

static void list_init(struct orr_request_list *l)
{
    l->head = NULL, l->tail = &l->head;
}

static void list_append(struct orr_request_list *l, struct orr_request *r)
{
    r->next = NULL;
    *l->tail = r;
    l->tail = &r->next;
}

static struct orr_request *list_take_all(struct orr_request_list *l)
{
    struct orr_request *all = l->head;
    list_init(l);
    return all;
}

static void lock_blocking(struct orr_engine *e)
{
    while (atomic_exchange_explicit(&e->busy, 1, memory_order_acquire)) sched_yield();
}

static void unlock(struct orr_engine *e)
{
    orr_store_seq(&e->busy, 0);
}

static void set_shares(struct orr_engine *e, int64_t bytes)
{
    int others = e->transport->size - 1;
    e->share = bytes / (others > 0 ? others : 1);
    for (int i = 0; i < e->transport->size; i++) e->peers[i].credit = e->share;
}

void orr_engine_limit_early(struct orr_engine *e, uint64_t bytes)
{
    lock_blocking(e);
    set_shares(e, bytes < INT64_MAX / 2 ? (int64_t)bytes : INT64_MAX / 2);
    unlock(e);
}

int orr_engine_init(struct orr_engine *e, struct orr_transport *t, const struct orr_bells *bells)
{
    struct orr_peer *peers = orr_calloc((size_t)t->size, sizeof *peers);
    if (!peers) return -ENOMEM;
    lock_blocking(e); /* it may have run before, and somebody be late: the lock and the inbox stay */
    memset(&e->unsent, 0, sizeof *e - offsetof(struct orr_engine, unsent));
    e->peers = peers;
    for (int i = 0; i < t->size; i++) list_init(&peers[i].waiting);
    e->transport = t;
    set_shares(e, INT64_MAX / 2);
    e->bells = bells;
    orr_match_init(&e->held);
    orr_match_init(&e->receives);
    orr_match_init(&e->early);
    orr_match_init(&e->unacknowledged);
    orr_match_init(&e->relayed);
    orr_match_init(&e->names);
    list_init(&e->outgoing);
    list_init(&e->stalled);
    list_init(&e->completed);
    unlock(e);
    return 0;
}

static void end_name(struct orr_engine *e, struct orr_name *n)
{
    if (!n->known) e->transport->ops->unlisten(e->transport, &n->hello);
    orr_free(n);
}

void orr_engine_fini(struct orr_engine *e)
{
    struct orr_match_node *n;
    lock_blocking(e);
    while ((n = orr_match_pop_any(&e->early))) orr_free(n);
    while ((n = orr_match_pop_any(&e->names))) end_name(e, (struct orr_name *)n);
    if (e->spare_buffer) e->transport->ops->small_release(e->transport, e->spare_buffer);
    e->spare_buffer = NULL;
    orr_match_fini(&e->held);
    orr_match_fini(&e->receives);
    orr_match_fini(&e->early);
    orr_match_fini(&e->unacknowledged);
    orr_match_fini(&e->relayed);
    orr_match_fini(&e->names);
    orr_free(e->peers);
    e->peers = NULL;
    e->transport = NULL; /* pairs with step_locked */
    e->cancelled = true;
    unlock(e);
}

/* ---- the inbox ---- */

/* Those from latest to first, linked by next. */
static void push_all(struct orr_engine *e, struct orr_inbox_item *latest, struct orr_inbox_item *first)
{
    struct orr_inbox_item *head = orr_load_relaxed(&e->inbox);
    do first->next = head;
    while (!atomic_compare_exchange_weak_explicit(&e->inbox, &head, latest, memory_order_seq_cst,
                                                  memory_order_relaxed));
}

static void push(struct orr_engine *e, struct orr_inbox_item *item)
{
    push_all(e, item, item);
}

void orr_request_init(struct orr_request *r)
{
    r->items[0].says_ready = false;
    r->items[1].says_ready = true;
    r->early = NULL;
    r->place = NULL;
    r->waits = 0;
    r->status = r->failure = 0;
    r->moved_bytes = 0;
    r->position = r->hash = 0;
    r->posted = r->ready = r->foreign = r->uncounted = r->asks = r->given_up = false;
    r->spreads = r->relays = r->relayed = false;
    r->relay = NULL;
    r->to = NULL;
}

void orr_engine_post(struct orr_engine *e, struct orr_request *r, bool ready)
{
    ORR_EVENT(MESSAGE_STARTED, r, r->kind == ORR_SEND, r->node.peer, r->node.tag);
    if (ready) r->ready = true; /* nobody else looks at it yet */
    push(e, &r->items[0]);
}

void orr_engine_ready(struct orr_engine *e, struct orr_request *r)
{
    push(e, &r->items[1]);
}

void orr_ready_batch_add(struct orr_ready_batch *b, struct orr_request *r)
{
    struct orr_inbox_item *item = &r->items[1];
    item->next = b->latest;
    b->latest = item;
    if (!b->first) b->first = item;
}

void orr_engine_ready_all(struct orr_engine *e, struct orr_ready_batch *b)
{
    if (b->first) push_all(e, b->latest, b->first);
    b->latest = b->first = NULL;
}

/* ---- completion ---- */

static void release_send_locked(struct orr_engine *e, struct orr_request *r)
{
    if (r->priority) e->priorities = true;
    list_append(&e->outgoing, r);
}

/* What r has received, or that it failed, goes on to others. */
static void pass_on_locked(struct orr_engine *e, struct orr_request *r)
{
    for (uint32_t i = 0; i < r->relay->branches; i++) {
        struct orr_request *s = &r->relay->sends[i];
        s->payload = r->payload;
        s->failure = r->status;
        release_send_locked(e, s);
    }
}

static void complete_locked(struct orr_engine *e, struct orr_request *r, int status)
{
    if (status && !r->status) r->status = status;
    if (orr_unlikely(r->relay != NULL) && r->kind == ORR_RECV) pass_on_locked(e, r);
    e->counts.ended++;
    if (r->kind == ORR_RECV) ORR_EVENT(MESSAGE_RECEIVED, r, r->moved_bytes, r->node.peer, r->node.tag);
    list_append(&e->completed, r);
}

static void one_end_locked(struct orr_engine *e, struct orr_request *r, int status)
{
    if (status && !r->status) r->status = status;
    if (--r->waits == 0) complete_locked(e, r, 0);
}

/* ---- under way ---- */

static void link_under_way(struct orr_engine *e, struct orr_request *r)
{
    r->before = NULL;
    r->next = e->under_way;
    if (r->next) r->next->before = r;
    e->under_way = r;
}

static void unlink_under_way(struct orr_engine *e, struct orr_request *r)
{
    *(r->before ? &r->before->next : &e->under_way) = r->next;
    if (r->next) r->next->before = r->before;
}

/* ---- sending ---- */

static void *take_buffer(struct orr_engine *e, int peer, bool urgent)
{
    void *b = e->spare_buffer;
    if (!b) return e->transport->ops->small_buffer(e->transport, peer, urgent);
    e->spare_buffer = NULL;
    return b;
}

static void fill_header(struct orr_wire_header *h, uint8_t kind, const struct orr_match_node *n)
{
    *h = (struct orr_wire_header){ .magic = ORR_WIRE_MAGIC,
                                   .version = ORR_WIRE_VERSION,
                                   .kind = kind,
                                   .context = n->context,
                                   .tag = n->tag };
}

/* Something of a transfer or message went to a rank that may be asleep. */
static void ring(struct orr_engine *e, int peer)
{
    if (e->bells) orr_bells_ring(e->bells, peer);
}

/* Tells a rank what was taken of what it sent. */
static void tell_credit(struct orr_peer *p, struct orr_wire_header *h)
{
    if (orr_likely(p->owed == 0) || h->kind == ORR_WIRE_FAILED) return;
    h->credit = p->owed > UINT32_MAX ? UINT32_MAX : (uint32_t)p->owed;
    p->owed -= h->credit;
}

static void send_small(struct orr_engine *e, int peer, struct orr_wire_header *buffer, size_t bytes)
{
    e->counts.sent_messages++;
    tell_credit(&e->peers[peer], buffer);
    e->transport->ops->small_send(e->transport, peer, buffer, bytes);
    ring(e, peer);
}

static int gather(struct orr_engine *e, const struct orr_payload *p, void *to)
{
    if (p->kind == ORR_PAYLOAD_OPAQUE) return e->transport->ops->gather(e->transport, p, to);
    orr_payload_gather(p, to);
    return 0;
}

static int scatter(struct orr_engine *e, const struct orr_payload *p, const void *from)
{
    if (p->kind == ORR_PAYLOAD_OPAQUE) return e->transport->ops->scatter(e->transport, p, from);
    orr_payload_scatter(p, from);
    return 0;
}

static bool is_small(const struct orr_engine *e, const struct orr_request *r)
{
    return r->payload.bytes <= e->transport->ops->small_max - sizeof(struct orr_wire_header);
}

/* The header's kind and, of an eager message, the payload behind it. */
static size_t fill_message(struct orr_engine *e, struct orr_request *r, struct orr_wire_header *h)
{
    const struct orr_payload *p = &r->payload;
    fill_header(h, ORR_WIRE_ANNOUNCE, &r->node);
    h->type = p->type;
    h->bytes = p->bytes;
    h->position = r->position;
    h->hash = r->hash;
    if (r->inferred) h->flags |= ORR_WIRE_INFERRED;
    if (!r->failure && !r->asks && is_small(e, r)) {
        h->kind = ORR_WIRE_EAGER;
        r->failure = gather(e, p, h + 1);
    }
    if (r->failure) {
        h->kind = ORR_WIRE_FAILED;
        h->bytes = 0;
        h->status = r->failure;
    }
    if (orr_unlikely(r->to != NULL)) return sizeof *h + orr_spread_write(h, r->to);
    return sizeof *h + (h->kind == ORR_WIRE_EAGER ? p->bytes : 0);
}

static void start_bulk(struct orr_engine *e, struct orr_request *r, int peer, uint32_t tag, bool sending)
{
    r->asks = false;
    r->waits++;
    e->counts.bulk_receives += !sending;
    e->counts.bulk_sends += sending;
    link_under_way(e, r);
    r->bulk = (struct orr_bulk){ .payload = &r->payload, .peer = peer, .tag = tag, .sending = sending };
    if (sending)
        e->transport->ops->bulk_send(e->transport, &r->bulk);
    else
        e->transport->ops->bulk_recv(e->transport, &r->bulk);
    ring(e, peer);
}

struct tag_use {
    int peer;
    uint32_t tag;
    bool used;
};

static void look_for_tag(struct orr_match_node *n, void *use)
{
    struct tag_use *u = use;
    const struct orr_request *r = (const struct orr_request *)n;
    u->used |= r->asks && r->bulk.tag == u->tag && n->peer == u->peer;
}

static bool tag_is_used(const struct orr_engine *e, int peer, uint32_t tag)
{
    struct tag_use u = { peer, tag, false };
    for (const struct orr_request *r = e->under_way; r; r = r->next)
        if (r->kind == ORR_SEND && r->bulk.tag == tag && r->node.peer == peer) return true;
    orr_match_visit(&e->unacknowledged, look_for_tag, &u);
    return u.used;
}

/* A tag that no transfer to this peer has. False: none was found so soon. */
static bool choose_tag(struct orr_engine *e, int peer, uint32_t *tag_out)
{
    enum { TRIES = 64 };
    for (int i = 0; i < TRIES; i++) {
        uint32_t tag = e->next_bulk_tag;
        bool last = tag >= e->transport->bulk_tag_max;
        e->next_bulk_tag = last ? 0 : tag + 1;
        e->tags_again |= last;
        *tag_out = tag;
        if (orr_likely(!e->tags_again) || !tag_is_used(e, peer, tag)) return true;
    }
    return false;
}

/* Sends what leads the request off; false when there is no buffer, or no tag. */
static bool emit_locked(struct orr_engine *e, struct orr_request *r)
{
    uint32_t bulk_tag = 0;
    int peer = r->node.peer;
    struct orr_wire_header *h = take_buffer(e, peer, false);
    if (!h) return false;
    bool large = !r->failure && !is_small(e, r);
    uint32_t price = r->failure ? 0 : orr_credit_price(r->node.context, large, r->payload.bytes);
    bool asks = (int64_t)price > e->peers[peer].credit;
    if (orr_unlikely(r->relay != NULL) && large) asks = true; /* who does not wait for it says no */
    if ((large || asks) && !choose_tag(e, peer, &bulk_tag)) {
        e->spare_buffer = h;
        return false;
    }
    r->asks = asks;
    size_t bytes = fill_message(e, r, h);
    bool announces = h->kind == ORR_WIRE_ANNOUNCE;
    if (h->kind != ORR_WIRE_EAGER) e->peers[peer].announced++;
    h->bulk_tag = bulk_tag;
    if (asks) {
        h->flags |= ORR_WIRE_ASKS;
        r->bulk.tag = bulk_tag;
        e->counts.asked++;
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
    ORR_EVENT(MESSAGE_SENT, r, h->bytes, peer, h->tag);
    e->counts.program_sent += !(r->node.context & ORR_CONTEXT_UNCOUNTED);
    send_small(e, peer, h, bytes);
    if (announces && !asks) start_bulk(e, r, peer, bulk_tag, true);
    if (r->waits == 0) complete_locked(e, r, r->failure);
    return true;
}

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

/* Sends what a rank's buffers allow of those that wait for them. True: none is left. */
static bool emit_waiting_locked(struct orr_engine *e, struct orr_peer *p)
{
    if (p->priorities && p->unsorted) {
        void *b = take_buffer(e, (int)(p - e->peers), false);
        if (!b) return false;
        e->spare_buffer = b;
        order(&p->waiting);
        p->unsorted = false;
    }
    for (struct orr_request *r; (r = p->waiting.head);) {
        struct orr_request *next = r->next; /* r may be on another list afterwards */
        if (!emit_locked(e, r)) return false;
        p->waiting.head = next;
    }
    list_init(&p->waiting);
    p->priorities = p->unsorted = false;
    return true;
}

static void emit_blocked_locked(struct orr_engine *e)
{
    for (struct orr_peer **at = &e->blocked, *p; (p = *at);)
        if (emit_waiting_locked(e, p))
            *at = p->next_blocked;
        else
            at = &p->next_blocked;
}

static void wait_for_buffer_locked(struct orr_engine *e, struct orr_peer *p, struct orr_request *r)
{
    if (!p->waiting.head) {
        p->next_blocked = e->blocked;
        e->blocked = p;
    }
    list_append(&p->waiting, r);
    p->priorities |= r->priority != 0;
    p->unsorted = true;
}

/* One with the same key is made by another rank: r waits until that is matched. */
static bool is_behind_relayed_locked(struct orr_engine *e, struct orr_request *r)
{
    if (orr_likely(e->relayed.nodes == 0) || r->relay) return false;
    if (!orr_match_first(&e->relayed, r->node.context, r->node.peer, r->node.tag)) return false;
    orr_match_append(&e->relayed, &r->node);
    return true;
}

/* A rank for which there is no buffer holds up its own sends alone. False: r waits. */
static bool emit_or_wait_locked(struct orr_engine *e, struct orr_request *r)
{
    struct orr_peer *p = &e->peers[r->node.peer];
    if (orr_likely(!p->waiting.head) && orr_likely(emit_locked(e, r))) return true;
    wait_for_buffer_locked(e, p, r);
    return false;
}

/* The same bytes for n ranks: the first gets them from here, and passes them on to the others. */
static void emit_branch_locked(struct orr_engine *e, struct orr_request **list, uint32_t n)
{
    struct orr_spread_rank ranks[ORR_SPREAD_MAX];
    for (; n > 1; list++, n--) {
        struct orr_spread to = { { e->transport->rank, 0 }, n - 1, ranks };
        for (uint32_t i = 1; i < n; i++) {
            int32_t rank = list[i]->node.peer;
            ranks[i - 1] = (struct orr_spread_rank){ rank, e->peers[rank].announced };
        }
        list[0]->to = &to;
        bool sent = !e->peers[list[0]->node.peer].waiting.head && emit_locked(e, list[0]);
        list[0]->to = NULL;
        if (sent) break;
        wait_for_buffer_locked(e, &e->peers[list[0]->node.peer], list[0]);
    }
    if (n == 1) emit_or_wait_locked(e, list[0]);
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

/* Sends r and those behind it that send the same, each to another rank, along a tree. Returns what is behind
 * them. */
static struct orr_request *emit_spread_locked(struct orr_engine *e, struct orr_request *r)
{
    struct orr_request *list[ORR_SPREAD_MAX], *first = r, *next;
    uint32_t n = 0, room = orr_spread_room(e->transport->ops->small_max), half;
    e->spreads++;
    for (; r && n < room && has_same_bytes(first, r); r = next) {
        struct orr_peer *p = &e->peers[r->node.peer];
        if (p->spread == e->spreads) break;
        p->spread = e->spreads;
        next = r->next;
        if (is_behind_relayed_locked(e, r)) continue;
        if (p->waiting.head)
            wait_for_buffer_locked(e, p, r); /* one of the same name may be among them */
        else
            list[n++] = r;
    }
    half = orr_spread_half(n);
    if (half) emit_branch_locked(e, list, half);
    if (half < n) emit_branch_locked(e, list + half, n - half);
    return r;
}

static void emit_all_locked(struct orr_engine *e)
{
    if (orr_unlikely(e->blocked != NULL)) emit_blocked_locked(e);
    if (e->priorities) order(&e->outgoing);
    e->priorities = false;
    for (struct orr_request *r = list_take_all(&e->outgoing), *next; r; r = next) {
        next = r->next;
        if (orr_unlikely(r->spreads) && !r->failure && !is_small(e, r))
            next = emit_spread_locked(e, r);
        else if (!is_behind_relayed_locked(e, r))
            emit_or_wait_locked(e, r);
    }
}

/* Those that waited behind one that was relayed, up to the next. */
static void release_followers_locked(struct orr_engine *e, uint32_t context, int32_t peer, int64_t tag)
{
    struct orr_request *r;
    while ((r = (struct orr_request *)orr_match_first(&e->relayed, context, peer, tag)) && !r->relayed) {
        orr_match_pop(&e->relayed, context, peer, tag);
        release_send_locked(e, r);
    }
}

/* The first of this key that another rank was to make; NULL: there is none. */
static struct orr_request *take_relayed_locked(struct orr_engine *e, uint32_t context, int peer, int64_t tag)
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

/* A rank does not pass on what it got. */
static void returned_locked(struct orr_engine *e, const struct orr_wire_header *h, const void *ranks,
                            size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct orr_request *r = take_relayed_locked(e, h->context, orr_spread_at(ranks, i).rank, h->tag);
        if (!r) continue;
        r->waits--;
        release_send_locked(e, r);
    }
    for (size_t i = 0; i < n; i++)
        release_followers_locked(e, h->context, orr_spread_at(ranks, i).rank, h->tag);
}

/* Lets go of the sends at the head of a key's list that are ready. */
static void release_held_locked(struct orr_engine *e, uint32_t context, int32_t peer, int64_t tag)
{
    struct orr_request *r;
    while ((r = (struct orr_request *)orr_match_first(&e->held, context, peer, tag)) && r->ready) {
        orr_match_pop(&e->held, context, peer, tag);
        release_send_locked(e, r);
    }
}

/* ---- receiving ---- */

/* A message is no longer kept for: its sender may send as much again. Without a buffer it is told later. */
static void taken_locked(struct orr_engine *e, int source, const struct orr_wire_header *h)
{
    struct orr_peer *p = &e->peers[source];
    uint32_t price = orr_credit_of(h);
    if (orr_likely(price == 0)) return;
    p->owed += price;
    if (orr_likely((int64_t)p->owed < e->share / ORR_CREDIT_PARTS)) return;
    struct orr_wire_header *back = take_buffer(e, source, true);
    if (!back) return;
    fill_header(back, ORR_WIRE_CREDIT, &(struct orr_match_node){ .tag = 0 });
    tell_credit(p, back);
    e->transport->ops->small_send(e->transport, source, back,
                                  sizeof *back); /* nobody waits for it: no ring */
}

static void send_ack_locked(struct orr_engine *e, int peer, uint32_t context, uint64_t id,
                            struct orr_wire_header *buffer)
{
    fill_header(buffer, ORR_WIRE_ACK, &(struct orr_match_node){ .context = context });
    buffer->id = id;
    e->counts.program_sent += !(context & ORR_CONTEXT_UNCOUNTED);
    send_small(e, peer, buffer, sizeof *buffer);
}

/* What came by way of another rank is matched: its origin may go on. */
static void tell_origin_locked(struct orr_engine *e, int origin, const struct orr_wire_header *h,
                               struct orr_wire_header *buffer)
{
    fill_header(buffer, ORR_WIRE_ACK, &(struct orr_match_node){ .context = h->context, .tag = h->tag });
    buffer->flags = ORR_WIRE_SPREAD;
    e->counts.program_sent++;
    send_small(e, origin, buffer, sizeof *buffer);
}

static void release_buffer(struct orr_engine *e, void *buffer)
{
    if (buffer) e->transport->ops->small_release(e->transport, buffer);
}

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

/* Gives message h from source (and its data, when eager) to the ready request r, which is on no list. False:
 * no memory or no buffer, and nothing was done that cannot be done again. */
static bool deliver_locked(struct orr_engine *e, struct orr_request *r, int source,
                           const struct orr_wire_header *h, const void *data)
{
    void *ack = NULL, *word = NULL;
    bool wants_ack = h->flags & ORR_WIRE_WANTS_ACK, was_relayed = source != r->node.peer;
    if (wants_ack && !(ack = take_buffer(e, source, true))) return false;
    if (orr_unlikely(was_relayed) && !(word = take_buffer(e, r->node.peer, true))) {
        release_buffer(e, ack);
        return false;
    }
    if (!r->status && h->kind != ORR_WIRE_FAILED) r->status = check_receive(r, h);
    if (!make_room(r, h)) {
        release_buffer(e, ack);
        release_buffer(e, word);
        return false;
    }
    taken_locked(e, source, h); /* before the acknowledgement, which tells it */
    if (wants_ack) send_ack_locked(e, source, r->node.context, h->id, ack);
    if (orr_unlikely(was_relayed)) tell_origin_locked(e, r->node.peer, h, word);
    r->moved_bytes = h->bytes;
    if (h->kind == ORR_WIRE_ANNOUNCE) {
        start_bulk(e, r, source, h->bulk_tag, false);
        return true;
    }
    int status = h->kind == ORR_WIRE_FAILED ? h->status : 0;
    if (h->kind == ORR_WIRE_EAGER && !r->status) status = scatter(e, &r->payload, data);
    complete_locked(e, r, status);
    return true;
}

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
static void ask_place_locked(struct orr_engine *e, struct orr_request *r)
{
    r->ready = false;
    e->counts.waiting_data++;
    link_under_way(e, r);
    r->next_to_place = e->to_place;
    e->to_place = r;
}

static struct orr_request *take_to_place_locked(struct orr_engine *e)
{
    struct orr_request *all = e->to_place;
    if (orr_unlikely(all != NULL)) e->to_place = NULL;
    return all;
}

/* Tries to go on with a request that has its early message; otherwise puts it aside for the next poll. */
static void deliver_early_locked(struct orr_engine *e, struct orr_request *r)
{
    struct orr_early *m = r->early;
    if (must_place(r, &m->header)) {
        ask_place_locked(e, r);
        return;
    }
    r->early = NULL;
    if (deliver_locked(e, r, m->source, &m->header, m->data)) {
        free_early(e, m);
        return;
    }
    r->early = m;
    list_append(&e->stalled, r);
}

static struct orr_early *copy_early(struct orr_engine *e, const struct orr_wire_header *h, int origin,
                                    int source, const void *data, size_t bytes)
{
    if (h->kind != ORR_WIRE_EAGER) bytes = 0; /* whom to pass it on to was looked at */
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

/* Takes the message off the network: its sender ends only then. One that has asked first gives up as well. */
static void discard_locked(struct orr_engine *e, struct orr_early *m)
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
            start_bulk(e, r, m->source, m->header.bulk_tag, false);
        } else {
            orr_free(r);
            orr_free(bytes);
        }
    }
    free_early(e, m);
}

/* A message of origin's for a receive; r: the first that may be for it, or NULL. */
static bool arrive_locked(struct orr_engine *e, int origin, int source, struct orr_request *r,
                          const struct orr_wire_header *h, const void *data, size_t bytes)
{
    bool place = r && r->ready && must_place(r, h);
    if (r && r->ready && !place) {
        if (!deliver_locked(e, r, source, h, data)) {
            struct orr_early *copy = copy_early(e, h, origin, source, data, bytes);
            if (!copy) return false;
            orr_match_pop(&e->receives, h->context, origin, h->tag);
            r->early = copy;
            list_append(&e->stalled, r);
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
            ask_place_locked(e, r);
        else
            link_under_way(e, r);
    } else if (orr_unlikely(e->cancelled)) {
        discard_locked(e, m);
    } else {
        e->counts.early_messages++;
        orr_match_append(&e->early, &m->node);
    }
    return true;
}

static struct orr_request *receive_for(struct orr_engine *e, int origin, const struct orr_wire_header *h)
{
    return (struct orr_request *)orr_match_first(&e->receives, h->context, origin, h->tag);
}

/* The ranks of a message, without its origin's; own: and this one. */
static void send_return_locked(struct orr_engine *e, int origin, const struct orr_wire_header *what,
                               const void *ranks, uint32_t count, bool own, struct orr_wire_header *buffer)
{
    const struct orr_spread_rank me = { e->transport->rank, 0 };
    struct orr_spread_rank *to = (struct orr_spread_rank *)(buffer + 1);
    fill_header(buffer, ORR_WIRE_RETURN,
                &(struct orr_match_node){ .context = what->context, .tag = what->tag });
    if (own) *to++ = me;
    memcpy(to, (const struct orr_spread_rank *)ranks + 1, count * sizeof me);
    e->counts.program_sent++;
    send_small(e, origin, buffer, sizeof *buffer + (count + own) * sizeof me);
}

/* Nobody waits for it here now: it is to come from its origin, and who would have passed it on is rid of it.
 */
static bool decline_locked(struct orr_engine *e, int source, int origin, const struct orr_wire_header *h,
                           const void *ranks, uint32_t count)
{
    struct orr_wire_header *no = take_buffer(e, source, true),
                           *back = no ? take_buffer(e, origin, true) : NULL;
    if (!back) {
        release_buffer(e, no);
        return false;
    }
    fill_header(no, ORR_WIRE_ACK, &(struct orr_match_node){ .context = h->context });
    no->flags = ORR_WIRE_SPREAD;
    no->id = h->id;
    e->counts.program_sent++;
    send_small(e, source, no, sizeof *no);
    send_return_locked(e, origin, h, ranks, count, true, back);
    return true;
}

/* By way of others it is here before what its origin sent itself: that may be of the same name. */
static bool is_early_locked(const struct orr_engine *e, const struct orr_spread_rank *first)
{
    return (int32_t)(e->peers[first->rank].heard - first->behind) < 0;
}

/* A message that is to be passed on, or was: by who waits for it now, and only then. Nothing was done that
 * cannot be done again where this is false. */
static bool arrive_spread_locked(struct orr_engine *e, int source, const struct orr_wire_header *h,
                                 const void *data, size_t bytes)
{
    struct orr_spread_rank first = { 0, 0 };
    uint32_t count = 0;
    void *back = NULL;
    orr_spread_read(data, bytes, e->transport->size, &first, &count);
    int32_t origin = first.rank;
    struct orr_request *r = receive_for(e, origin, h);
    if (h->flags & ORR_WIRE_ASKS && source != origin && (!(r && r->ready) || is_early_locked(e, &first)))
        return decline_locked(e, source, origin, h, data, count);
    if (count && r && r->ready && r->relays && !r->payload.any_size && check_receive(r, h) == 0)
        r->relay = orr_relay_new(r, data, count);
    struct orr_relay *relay = count && r ? r->relay : NULL;
    if (count && !relay && !(back = take_buffer(e, origin, true))) return false;
    if (!arrive_locked(e, origin, source, r, h, data, bytes)) {
        release_buffer(e, back);
        if (relay) r->relay = NULL;
        orr_free(relay);
        return false;
    }
    if (back) send_return_locked(e, origin, h, data, count, false, back);
    return true;
}

static void acknowledged_locked(struct orr_engine *e, int source, const struct orr_wire_header *h)
{
    if (orr_unlikely(h->flags & ORR_WIRE_SPREAD) && h->id == 0) {
        struct orr_request *relayed = take_relayed_locked(e, h->context, source, h->tag);
        if (!relayed) return;
        relayed->moved_bytes = relayed->payload.bytes;
        one_end_locked(e, relayed, 0);
        release_followers_locked(e, h->context, source, h->tag);
        return;
    }
    struct orr_request *r =
        (struct orr_request *)orr_match_pop(&e->unacknowledged, h->context, source, (int64_t)h->id);
    if (!r) {
        e->counts.bad_messages++;
        return;
    }
    if (r->asks && !(h->flags & ORR_WIRE_SPREAD)) start_bulk(e, r, source, r->bulk.tag, true);
    r->asks = false;
    one_end_locked(e, r, 0);
}

static bool header_is_sound(const struct orr_wire_header *h, size_t bytes, int size, const void *data)
{
    struct orr_spread_rank rank;
    uint32_t count;
    if (bytes < sizeof *h || h->magic != ORR_WIRE_MAGIC || h->version != ORR_WIRE_VERSION) return false;
    size_t more = bytes - sizeof *h;
    bool list_fits =
        h->flags & ORR_WIRE_SPREAD ? orr_spread_read(data, more, size, &rank, &count) : more == 0;
    switch (h->kind) {
    case ORR_WIRE_EAGER: return more == h->bytes && !(h->flags & ORR_WIRE_SPREAD);
    case ORR_WIRE_FAILED: return list_fits && h->status < 0 && h->bytes == 0;
    case ORR_WIRE_ANNOUNCE: return list_fits && h->bytes > 0 && h->bytes < SIZE_MAX / 2;
    case ORR_WIRE_RETURN: return orr_spread_read(data, more, size, &rank, &count);
    case ORR_WIRE_ACK:
    case ORR_WIRE_CREDIT: return bytes == sizeof *h;
    case ORR_WIRE_CONTROL: return bytes - sizeof *h == h->bytes;
    default: return false;
    }
}

static bool on_small(void *arg, int source, const void *message, size_t bytes)
{
    struct orr_engine *e = arg;
    struct orr_wire_header h;
    memcpy(&h, message, bytes < sizeof h ? bytes : sizeof h);
    const char *data = (const char *)message + sizeof h;
    if (!header_is_sound(&h, bytes, e->transport->size, data)) {
        if (e->counts.bad_messages++ == 0)
            orr_error("rank %d received a message of %zu bytes from rank %d that it does not understand: do "
                      "all ranks run the same "
                      "build of liborrery-mpi?",
                      e->transport->rank, bytes, source);
        return true;
    }
    if (orr_unlikely(h.kind == ORR_WIRE_CREDIT)) {
        e->peers[source].credit += h.credit;
        return true;
    }
    if (h.kind == ORR_WIRE_CONTROL) {
        if (e->on_control) e->on_control(e->on_control_arg, source, &h, data);
        return true;
    }
    bool taken = true;
    if (h.kind == ORR_WIRE_ACK)
        acknowledged_locked(e, source, &h);
    else if (orr_unlikely(h.kind == ORR_WIRE_RETURN))
        returned_locked(e, &h, data, (bytes - sizeof h) / sizeof(struct orr_spread_rank));
    else if (orr_unlikely(h.flags & ORR_WIRE_SPREAD))
        taken = arrive_spread_locked(e, source, &h, data, bytes - sizeof h);
    else
        taken = arrive_locked(e, source, source, receive_for(e, source, &h), &h, data, bytes - sizeof h);
    if (!taken) return false;
    if (h.kind == ORR_WIRE_ANNOUNCE || h.kind == ORR_WIRE_FAILED) e->peers[source].heard++;
    if (orr_unlikely(h.credit) && h.kind != ORR_WIRE_FAILED) e->peers[source].credit += h.credit;
    e->counts.received_messages++;
    e->counts.program_received += !(h.context & ORR_CONTEXT_UNCOUNTED);
    return true;
}

/* A small message that was handed over earlier has only left now. */
static void on_left(void *arg, int peer)
{
    ring(arg, peer);
}

static void on_bulk_done(void *arg, struct orr_bulk *b, int status)
{
    struct orr_engine *e = arg;
    struct orr_request *r = (struct orr_request *)((char *)b - offsetof(struct orr_request, bulk));
    e->counts.bulk_receives -= !b->sending;
    e->counts.bulk_sends -= b->sending;
    unlink_under_way(e, r);
    ring(e, b->peer);              /* its end may need a look, too */
    if (!b->sending && r->early) { /* received only to be thrown away */
        orr_free(r->early);
        r->early = NULL;
    }
    one_end_locked(e, r, status);
}

/* ---- what was posted ---- */

static void posted_send_locked(struct orr_engine *e, struct orr_request *r)
{
    if (e->held.nodes == 0 && r->ready) {
        release_send_locked(e, r);
        return;
    }
    orr_match_append(&e->held, &r->node);
    if (r->ready) release_held_locked(e, r->node.context, r->node.peer, r->node.tag);
}

static void posted_recv_locked(struct orr_engine *e, struct orr_request *r)
{
    if (orr_unlikely(r->foreign) && !orr_name_apply(&e->names, r)) return;
    r->early = (struct orr_early *)orr_match_pop(&e->early, r->node.context, r->node.peer, r->node.tag);
    if (!r->early)
        orr_match_append(&e->receives, &r->node);
    else if (r->ready)
        deliver_early_locked(e, r);
    else
        link_under_way(e, r);
}

/* A rank tells what it calls a communicator: receives that waited for that are as if posted now. */
static void on_heard(void *arg, struct orr_hello *hello)
{
    struct orr_engine *e = arg;
    for (struct orr_request *r = orr_name_heard(orr_name_of(hello)), *next; r; r = next) {
        next = r->next;
        posted_recv_locked(e, r);
    }
}

static void handle_item_locked(struct orr_engine *e, struct orr_inbox_item *item)
{
    struct orr_request *r =
        (struct orr_request *)((char *)(item - item->says_ready) - offsetof(struct orr_request, items));
    if (item->says_ready) {
        r->ready = true;
        if (!r->posted) return; /* the post comes and finds it ready */
        if (!r->given_up) e->counts.waiting_data--;
    } else {
        r->posted = true;
        if (!r->ready) e->counts.waiting_data++;
    }
    if (orr_unlikely(e->cancelled || r->given_up)) {
        if (r->ready) complete_locked(e, r, -ECANCELED);
        r->given_up = true;
        return;
    }
    if (!item->says_ready) {
        if (r->kind == ORR_SEND)
            posted_send_locked(e, r);
        else
            posted_recv_locked(e, r);
    } else if (r->kind == ORR_SEND) {
        release_held_locked(e, r->node.context, r->node.peer, r->node.tag);
    } else if (r->early) {
        unlink_under_way(e, r);
        deliver_early_locked(e, r);
    }
}

static bool drain_inbox_locked(struct orr_engine *e)
{
    struct orr_inbox_item *latest = orr_load_relaxed(&e->inbox), *first = NULL;
    if (!latest) return false;
    latest = atomic_exchange_explicit(&e->inbox, NULL, memory_order_acquire); /* pairs with push */
    while (latest) {
        struct orr_inbox_item *before = latest->next;
        latest->next = first;
        first = latest;
        latest = before;
    }
    while (first) {
        struct orr_inbox_item *next = first->next; /* the request may be the caller's again afterwards */
        handle_item_locked(e, first);
        first = next;
    }
    return true;
}

/* ---- polling ---- */

static bool step_locked(struct orr_engine *e)
{
    const struct orr_transport_sink sink = {
        .small = on_small, .left = on_left, .bulk_done = on_bulk_done, .heard = on_heard, .arg = e
    };
    bool moved = drain_inbox_locked(e);
    if (orr_unlikely(!e->transport)) return moved; /* closed: the calling thread came late */
    if (orr_unlikely(e->stalled.head != NULL))
        for (struct orr_request *r = list_take_all(&e->stalled), *next; r; r = next) {
            next = r->next;
            deliver_early_locked(e, r);
        }
    if (e->outgoing.head || orr_unlikely(e->blocked != NULL)) emit_all_locked(e);
    moved |= e->transport->ops->poll(e->transport, &sink);
    if (orr_unlikely(e->outgoing.head != NULL)) emit_all_locked(e); /* what is passed on, or came back */
    bool unsent = e->transport->ops->unsent(e->transport);
    if (orr_unlikely(unsent != orr_load_relaxed(&e->unsent))) orr_store_relaxed(&e->unsent, unsent);
    bool moving = unsent || e->counts.bulk_receives + e->counts.bulk_sends > 0;
    if (orr_unlikely(moving != orr_load_relaxed(&e->moving))) orr_store_relaxed(&e->moving, moving);
    return moved;
}

/* A receive that is passed on, or a send that does so: the last to end ends the receive. */
static void end_relay(struct orr_request *r)
{
    struct orr_relay *y = r->relay;
    struct orr_request *of = y->of;
    if (r == of && !r->status && r->arrived) r->arrived(r);
    if (orr_sub_acq_rel(&y->left, 1u) != 1) return;
    of->relay = NULL;
    orr_free(y);
    of->done(of);
}

static void run_done(struct orr_request *r)
{
    *in_callback() = true;
    while (r) {
        struct orr_request *next = r->next;
        if (orr_unlikely(r->relay != NULL))
            end_relay(r);
        else
            r->done(r);
        r = next;
    }
    *in_callback() = false;
}

static void run_place(struct orr_request *r)
{
    *in_callback() = true;
    while (r) {
        struct orr_request *next = r->next_to_place; /* it may be over before place returns */
        void (*place)(struct orr_request *) = r->place;
        r->place = NULL;
        place(r);
        r = next;
    }
    *in_callback() = false;
}

bool orr_engine_poll(struct orr_engine *e)
{
    bool moved = false;
    if (*in_callback()) return false;
    for (int round = 0;; round++) {
        if (atomic_exchange_explicit(&e->busy, 1, memory_order_seq_cst))
            return moved;                           /* its holder looks at the inbox again, and at `again` */
        if (round == 0) orr_own_add(&e->polls, 1u); /* [own: who holds busy] */
        /* with busy held, and before the look: who asks later is seen below, who asked before has it now */
        if (orr_unlikely(orr_load_relaxed(&e->again))) orr_exchange_acq_rel(&e->again, false);
        moved |= step_locked(e);
        struct orr_request *ended = list_take_all(&e->completed), *placing = take_to_place_locked(e);
        orr_store_seq(&e->busy, 0); /* before the look at the inbox; pairs with push and the exchange above */
        if (ended) run_done(ended);
        if (orr_unlikely(placing != NULL)) run_place(placing);
        if (orr_unlikely(orr_load_seq(&e->again))) continue;
        if (!orr_load_seq(&e->inbox) || round >= POLL_ROUNDS_MAX) return moved;
    }
}

bool orr_engine_look(struct orr_engine *e)
{
    orr_store_seq(&e->again, true); /* before the exchange in poll: its holder sees this after it lets go */
    return orr_engine_poll(e);
}

/* ---- shutdown ---- */

/* ---- names ---- */

int orr_engine_greet(struct orr_engine *e, const struct orr_foreign *to, uint32_t context)
{
    lock_blocking(e);
    int r = e->transport->ops->greet(e->transport, to, context);
    orr_store_relaxed(&e->unsent, e->transport->ops->unsent(e->transport));
    unlock(e);
    return r;
}

int orr_engine_listen(struct orr_engine *e, const struct orr_foreign *from, uint32_t context, int peer)
{
    int r = -ENOMEM;
    lock_blocking(e);
    struct orr_name *n = orr_name_add(&e->names, context, peer);
    if (n) r = e->transport->ops->listen(e->transport, from, &n->hello);
    if (n && r) orr_name_remove(&e->names, n);
    unlock(e);
    return r;
}

uint32_t orr_engine_name(struct orr_engine *e, uint32_t context, int peer)
{
    if (context == ORR_CONTEXT_BASE) return context;
    lock_blocking(e);
    const struct orr_name *n = orr_name_find(&e->names, context, peer);
    uint32_t name = n && n->known ? n->hello.name : 0;
    unlock(e);
    return name;
}

void orr_engine_forget(struct orr_engine *e, uint32_t context, int peer)
{
    lock_blocking(e);
    struct orr_match_node *n = orr_match_pop(&e->names, context, peer, 0);
    if (n) end_name(e, (struct orr_name *)n);
    unlock(e);
}

void orr_engine_enter(struct orr_engine *e)
{
    lock_blocking(e);
}

void orr_engine_leave(struct orr_engine *e)
{
    unlock(e);
}

size_t orr_engine_control_max(const struct orr_engine *e)
{
    return e->transport->ops->small_max - sizeof(struct orr_wire_header);
}

bool orr_engine_send_control(struct orr_engine *e, int peer, const struct orr_wire_header *values,
                             const void *data, size_t bytes)
{
    lock_blocking(e);
    struct orr_wire_header *h = e->transport ? take_buffer(e, peer, true) : NULL;
    if (h) {
        fill_header(h, ORR_WIRE_CONTROL, &(struct orr_match_node){ .tag = values->tag });
        h->type = values->type;
        h->id = values->id;
        h->bulk_tag = values->bulk_tag;
        h->bytes = bytes;
        if (bytes) memcpy(h + 1, data, bytes);
        e->transport->ops->small_send(e->transport, peer, h, sizeof *h + bytes);
    }
    unlock(e);
    return h != NULL;
}

struct visit {
    void (*fn)(const struct orr_request *r, void *arg);
    void *arg;
};

/* Sends that pass on are part of a receive, which is visited. */
static void visit_one(const struct orr_request *r, const struct visit *v)
{
    if (orr_likely(!r->relay || r->relay->of == r)) v->fn(r, v->arg);
}

static void visit_request(struct orr_match_node *n, void *arg)
{
    visit_one((struct orr_request *)n, arg);
}

void orr_engine_visit_unmatched(struct orr_engine *e, void (*fn)(const struct orr_request *r, void *arg),
                                void *arg)
{
    struct visit v = { fn, arg };
    lock_blocking(e);
    drain_inbox_locked(e);
    orr_match_visit(&e->receives, visit_request, &v);
    orr_match_visit(&e->unacknowledged, visit_request, &v);
    orr_match_visit(&e->relayed, visit_request, &v);
    orr_names_visit(&e->names, fn, arg);
    unlock(e);
}

struct visit_early {
    void (*fn)(const struct orr_match_node *n, const struct orr_wire_header *h, void *arg);
    void *arg;
    size_t count;
};

static void visit_early_node(struct orr_match_node *n, void *arg)
{
    struct visit_early *v = arg;
    if (n->context & ORR_CONTEXT_UNCOUNTED) return; /* a rank is ahead in a collective call of the layer */
    v->count++;
    if (v->fn) v->fn(n, &((struct orr_early *)n)->header, v->arg);
}

size_t orr_engine_visit_early(struct orr_engine *e,
                              void (*fn)(const struct orr_match_node *n, const struct orr_wire_header *h,
                                         void *arg),
                              void *arg)
{
    struct visit_early v = { fn, arg, 0 };
    lock_blocking(e);
    drain_inbox_locked(e);
    orr_match_visit(&e->early, visit_early_node, &v);
    unlock(e);
    return v.count;
}

void orr_engine_visit_under_way(struct orr_engine *e, void (*fn)(const struct orr_request *r, void *arg),
                                void *arg)
{
    struct visit v = { fn, arg };
    lock_blocking(e);
    drain_inbox_locked(e);
    for (struct orr_request *r = e->under_way; r; r = r->next) visit_one(r, &v);
    orr_match_visit(&e->held, visit_request, &v);
    unlock(e);
}

/* Its data is still in use, or it ends now. */
static void give_up_locked(struct orr_engine *e, struct orr_request *r)
{
    r->given_up = true;
    if (r->ready) complete_locked(e, r, -ECANCELED);
}

static void cancel_waiting(struct orr_match_node *n, void *e)
{
    for (struct orr_request *r = orr_name_take_waiting((struct orr_name *)n), *next; r; r = next) {
        next = r->next;
        give_up_locked(e, r);
    }
}

void orr_engine_cancel_unmatched(struct orr_engine *e)
{
    struct orr_match_node *n;
    lock_blocking(e);
    drain_inbox_locked(e);
    e->cancelled = true;
    while ((n = orr_match_pop_any(&e->held))) give_up_locked(e, (struct orr_request *)n);
    while ((n = orr_match_pop_any(&e->receives))) give_up_locked(e, (struct orr_request *)n);
    orr_match_visit(&e->names, cancel_waiting, e);
    while ((n = orr_match_pop_any(&e->unacknowledged)))
        one_end_locked(e, (struct orr_request *)n, -ECANCELED);
    while ((n = orr_match_pop_any(&e->relayed))) give_up_locked(e, (struct orr_request *)n);
    for (struct orr_request *r = e->under_way, *next; r; r = next) {
        next = r->next;
        if (r->ready || !r->early) continue; /* a large transfer */
        struct orr_early *m = r->early;
        unlink_under_way(e, r);
        r->early = NULL;
        give_up_locked(e, r);
        discard_locked(e, m);
    }
    while ((n = orr_match_pop_any(&e->early))) discard_locked(e, (struct orr_early *)n);
    struct orr_request *ended = list_take_all(&e->completed), *placing = take_to_place_locked(e);
    unlock(e);
    run_done(ended);
    run_place(placing);
}

struct orr_engine_counts orr_engine_get_counts(struct orr_engine *e)
{
    lock_blocking(e);
    struct orr_engine_counts c = e->counts;
    c.queued = e->outgoing.head || e->blocked || e->stalled.head;
    unlock(e);
    return c;
}
