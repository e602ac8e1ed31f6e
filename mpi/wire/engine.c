/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.c: see engine.h.
 * Threads: any; one at a time holds e->busy. Owns: see engine.h.
 * Not here: which sends leave and how (sending.c), which receive a message is for (receiving.c).
 *
 * Who posts or polls never waits for the engine: posting pushes onto a lock-free stack, and whoever holds
 * busy empties it in the order of pushing and looks again after letting go. Who only asks something, or sends
 * a control message, waits for busy, and must not move messages: it says when somebody has relied on it
 * (missed). */
#include "mpi/wire/engine.h"

#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/thread.h"
#include "mpi/wire/credit.h"
#include "mpi/wire/event.h"
#include "mpi/wire/names.h"
#include "mpi/wire/receiving.h"
#include "mpi/wire/sending.h"
#include "mpi/wire/spread.h"
#include "mpi/wire/steps.h"

enum { POLL_ROUNDS_MAX = 16, LOOK_ROUNDS_MAX = 256 };

static bool *in_callback(void)
{
    return orr_thread_room(orr_self(), messages, bool);
}

bool orr_engine_in_callback(void)
{
    return *in_callback();
}

static void lock_blocking(struct orr_engine *e)
{
    while (atomic_exchange_explicit(&e->busy, 1, memory_order_acquire)) sched_yield();
}

/* Who found busy held relies on its holder. */
static void unlock(struct orr_engine *e)
{
    bool left = e->outgoing.head || e->completed.head; /* of what a visit has taken from the inbox */
    orr_store_seq(&e->busy, 0); /* before the looks: pairs with push, and with orr_engine_look */
    if (orr_likely(!left && !orr_load_seq(&e->inbox) && !orr_load_seq(&e->again))) return;
    void (*missed)(void *) = orr_load_acquire(&e->missed);
    if (missed) missed(e->missed_arg);
}

static void set_shares(struct orr_engine *e, int64_t bytes)
{
    int others = e->transport->size - 1;
    e->share = bytes / (others > 0 ? others : 1);
    e->asked_most = orr_credit_asked_most(e->share);
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
    for (int i = 0; i < t->size; i++) {
        orr_requests_init(&peers[i].waiting);
        orr_requests_init(&peers[i].wanted);
    }
    e->transport = t;
    set_shares(e, INT64_MAX / 2);
    e->bells = bells;
    orr_match_init(&e->held);
    orr_match_init(&e->receives);
    orr_match_init(&e->early);
    orr_match_init(&e->unacknowledged);
    orr_match_init(&e->unannounced);
    orr_match_init(&e->relayed);
    orr_match_init(&e->names);
    orr_requests_init(&e->outgoing);
    orr_requests_init(&e->stalled);
    orr_requests_init(&e->completed);
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
    orr_match_fini(&e->unannounced);
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

/* ---- what comes ---- */

static bool header_is_sound(const struct orr_wire_header *h, size_t bytes, int size, const void *data)
{
    struct orr_spread_rank rank;
    uint32_t count;
    if (bytes < sizeof *h || h->magic != ORR_WIRE_MAGIC || h->version != ORR_WIRE_VERSION) return false;
    size_t more = bytes - sizeof *h;
    if (orr_unlikely(h->flags & ORR_WIRE_SHOWS) && h->kind == ORR_WIRE_ANNOUNCE)
        return more == sizeof(struct orr_wire_place) && h->flags & ORR_WIRE_ASKS &&
               !(h->flags & ORR_WIRE_SPREAD) && h->bytes > 0 && h->bytes < SIZE_MAX / 2;
    bool list_fits =
        h->flags & ORR_WIRE_SPREAD ? orr_spread_read(data, more, size, &rank, &count) : more == 0;
    switch (h->kind) {
    case ORR_WIRE_EAGER: return more == h->bytes && !(h->flags & ORR_WIRE_SPREAD);
    case ORR_WIRE_FAILED: return list_fits && h->status < 0 && h->bytes == 0;
    case ORR_WIRE_ANNOUNCE: return list_fits && h->bytes > 0 && h->bytes < SIZE_MAX / 2;
    case ORR_WIRE_RETURN: return orr_spread_read(data, more, size, &rank, &count);
    case ORR_WIRE_ACK:
    case ORR_WIRE_MORE:
    case ORR_WIRE_WANT:
    case ORR_WIRE_NO_MORE:
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
        orr_send_acknowledged(e, source, &h);
    else if (orr_unlikely(h.kind == ORR_WIRE_MORE || h.kind == ORR_WIRE_NO_MORE))
        orr_receive_more(e, source, &h);
    else if (orr_unlikely(h.kind == ORR_WIRE_WANT))
        orr_send_wanted(e, source, &h);
    else if (orr_unlikely(h.kind == ORR_WIRE_RETURN))
        orr_send_returned(e, &h, data, (bytes - sizeof h) / sizeof(struct orr_spread_rank));
    else if (orr_unlikely(h.flags & ORR_WIRE_SPREAD))
        taken = orr_receive_spread(e, source, &h, data, bytes - sizeof h);
    else
        taken = orr_receive_message(e, source, &h, data, bytes - sizeof h);
    if (!taken) return false;
    if (h.kind == ORR_WIRE_ANNOUNCE || h.kind == ORR_WIRE_FAILED) e->peers[source].heard++;
    if (orr_unlikely(h.credit) && h.kind != ORR_WIRE_FAILED) e->peers[source].credit += h.credit;
    e->counts.received_messages++;
    e->counts.program_received += !(h.context & ORR_CONTEXT_UNCOUNTED);
    return true;
}

/* Something that was handed over earlier has only left now, or has made room there. */
static void on_wake(void *arg, int peer)
{
    orr_step_ring(arg, peer, true); /* whatever it is */
}

static void on_bulk_done(void *arg, struct orr_bulk *b, int status)
{
    struct orr_engine *e = arg;
    struct orr_request *r = (struct orr_request *)((char *)b - offsetof(struct orr_request, bulk));
    e->counts.bulk_receives -= !b->sending;
    e->counts.bulk_sends -= b->sending;
    orr_step_unlink(&e->under_way, r);
    if (!b->quiet) orr_step_ring(e, b->peer, false); /* its end may need a look, too */
    if (!b->sending && r->early) {                   /* received only to be thrown away */
        orr_free(r->early);
        r->early = NULL;
    }
    orr_step_one_end(e, r, status);
}

/* ---- what was posted ---- */

/* A rank tells what it calls a communicator: receives that waited for that are as if posted now. */
static void on_heard(void *arg, struct orr_hello *hello)
{
    struct orr_engine *e = arg;
    for (struct orr_request *r = orr_name_heard(orr_name_of(hello)), *next; r; r = next) {
        next = r->next;
        orr_receive_posted(e, r);
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
        if (r->ready) orr_step_complete(e, r, -ECANCELED);
        r->given_up = true;
        return;
    }
    if (!item->says_ready) {
        if (r->kind == ORR_SEND)
            orr_send_posted(e, r);
        else
            orr_receive_posted(e, r);
    } else if (r->kind == ORR_SEND) {
        orr_send_release_held(e, r->node.context, r->node.peer, r->node.tag);
    } else if (r->early) {
        orr_step_unlink(&e->under_way, r);
        orr_receive_early(e, r);
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
        .small = on_small, .wake = on_wake, .bulk_done = on_bulk_done, .heard = on_heard, .arg = e
    };
    bool moved = drain_inbox_locked(e);
    if (orr_unlikely(!e->transport)) return moved; /* closed: the calling thread came late */
    if (orr_unlikely(e->stalled.head != NULL))
        for (struct orr_request *r = orr_requests_take_all(&e->stalled), *next; r; r = next) {
            next = r->next;
            orr_receive_early(e, r);
        }
    if (orr_unlikely(e->wanting != NULL)) orr_receive_tell_wanting(e);
    if (e->outgoing.head || orr_unlikely(e->blocked != NULL)) orr_send_all(e);
    moved |= e->transport->ops->poll(e->transport, &sink);
    if (orr_unlikely(e->outgoing.head || e->blocked)) orr_send_all(e); /* what is passed on, or came back */
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
    bool moved = false, asked = false;
    if (*in_callback()) return false;
    for (int round = 0;; round++) {
        if (atomic_exchange_explicit(&e->busy, 1, memory_order_seq_cst))
            return moved;                           /* its holder looks at the inbox again, and at `again` */
        if (round == 0) orr_own_add(&e->polls, 1u); /* [own: who holds busy] */
        /* with busy held, and before the look: who asks later is seen below, who asked before has it now */
        if (orr_unlikely(orr_load_relaxed(&e->again))) asked |= orr_exchange_acq_rel(&e->again, false);
        bool some = step_locked(e);
        moved |= some;
        struct orr_request *ended = orr_requests_take_all(&e->completed),
                           *placing = orr_receive_take_to_place(e);
        bool acts = ended || placing; /* what has come is counted: until all know it, nobody is stuck */
        if (acts) orr_acting_begin();
        orr_store_seq(&e->busy, 0); /* before the look at the inbox; pairs with push and the exchange above */
        if (ended) run_done(ended);
        if (orr_unlikely(placing != NULL)) run_place(placing);
        if (acts) orr_acting_end();
        if (orr_unlikely(orr_load_seq(&e->again))) continue;
        /* a step takes a few; who asked falls asleep, and for what came before it nobody rings */
        if (orr_unlikely(asked) && some && round < LOOK_ROUNDS_MAX) continue;
        if (!orr_load_seq(&e->inbox) || round >= POLL_ROUNDS_MAX) return moved;
    }
}

bool orr_engine_look(struct orr_engine *e)
{
    orr_store_seq(&e->again, true); /* before the exchange in poll: its holder sees this after it lets go */
    return orr_engine_poll(e);
}

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
    struct orr_wire_header *h = e->transport ? orr_step_take_buffer(e, peer, true) : NULL;
    if (h) {
        orr_step_fill_header(h, ORR_WIRE_CONTROL, &(struct orr_match_node){ .tag = values->tag });
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

/* ---- for others to look at, and the end ---- */

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
    orr_match_visit(&e->unannounced, visit_request, &v);
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

/* ---- for who looks while all goes on ---- */

static void view_one(const struct orr_engine_view *v, const struct orr_request *r,
                     enum orr_request_stands stands)
{
    if (orr_likely(!r->relay || r->relay->of == r)) v->request(r, stands, v->arg);
}

static void view_list(const struct orr_engine_view *v, const struct orr_request_list *l,
                      enum orr_request_stands stands)
{
    for (const struct orr_request *r = l->head; r; r = r->next) view_one(v, r, stands);
}

static void view_receive(struct orr_match_node *n, void *v)
{
    view_one(v, (struct orr_request *)n, ORR_STANDS_UNMATCHED);
}

/* One whose bytes are on their way is among those, too. */
static void view_unacknowledged(struct orr_match_node *n, void *v)
{
    const struct orr_request *r = (struct orr_request *)n;
    if (r->waits == 1) view_one(v, r, ORR_STANDS_UNMATCHED);
}

static void view_unannounced(struct orr_match_node *n, void *v)
{
    view_one(v, (struct orr_request *)n, ORR_STANDS_UNANNOUNCED);
}

static void view_held(struct orr_match_node *n, void *v)
{
    view_one(v, (struct orr_request *)n, ORR_STANDS_HELD);
}

static void view_relayed(struct orr_match_node *n, void *v)
{
    view_one(v, (struct orr_request *)n, ORR_STANDS_RELAYED);
}

static void view_unnamed(const struct orr_request *r, void *v)
{
    view_one(v, r, ORR_STANDS_UNNAMED);
}

static void view_early(struct orr_match_node *n, void *arg)
{
    const struct orr_engine_view *v = arg;
    if (!(n->context & ORR_CONTEXT_UNCOUNTED)) v->early(n, &((struct orr_early *)n)->header, v->arg);
}

static void view_locked(struct orr_engine *e, const struct orr_engine_view *v)
{
    void *arg = (void *)v;
    orr_names_visit(&e->names, view_unnamed, arg);
    orr_match_visit(&e->receives, view_receive, arg);
    orr_match_visit(&e->unacknowledged, view_unacknowledged, arg);
    orr_match_visit(&e->unannounced, view_unannounced, arg);
    orr_match_visit(&e->held, view_held, arg);
    orr_match_visit(&e->relayed, view_relayed, arg);
    view_list(v, &e->outgoing, ORR_STANDS_LEAVES);
    for (const struct orr_peer *p = e->blocked; p; p = p->next_blocked) {
        view_list(v, &p->wanted, ORR_STANDS_LEAVES);
        view_list(v, &p->waiting, ORR_STANDS_LEAVES);
    }
    view_list(v, &e->stalled, ORR_STANDS_STALLED);
    for (const struct orr_request *r = e->under_way; r; r = r->next)
        view_one(v, r, r->kind == ORR_RECV && r->early && !r->ready ? ORR_STANDS_MATCHED : ORR_STANDS_MOVES);
    orr_match_visit(&e->early, view_early, arg);
}

/* Without keeping its line from those who poll. */
static bool lock_patiently(struct orr_engine *e, unsigned patience_ms)
{
    uint64_t until = orr_clock_ns() + (uint64_t)patience_ms * 1000000;
    for (unsigned i = 0;; i++) {
        if (!orr_load_relaxed(&e->busy) && !atomic_exchange_explicit(&e->busy, 1, memory_order_acquire))
            return true;
        if (orr_clock_ns() > until) return false;
        if (i % 16)
            sched_yield();
        else
            usleep(50);
    }
}

bool orr_engine_view(struct orr_engine *e, const struct orr_engine_view *v, unsigned patience_ms)
{
    if (!lock_patiently(e, patience_ms)) return false;
    if (e->transport) view_locked(e, v);
    unlock(e);
    return true;
}

/* Its data is still in use, or it ends now. */
static void give_up_locked(struct orr_engine *e, struct orr_request *r)
{
    r->given_up = true;
    if (r->ready) orr_step_complete(e, r, -ECANCELED);
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
    while (e->wanting) orr_receive_wants_no_more(e, e->wanting);
    while ((n = orr_match_pop_any(&e->receives))) give_up_locked(e, (struct orr_request *)n);
    while ((n = orr_match_pop_any(&e->unannounced))) give_up_locked(e, (struct orr_request *)n);
    orr_match_visit(&e->names, cancel_waiting, e);
    while ((n = orr_match_pop_any(&e->unacknowledged)))
        orr_step_one_end(e, (struct orr_request *)n, -ECANCELED);
    while ((n = orr_match_pop_any(&e->relayed))) give_up_locked(e, (struct orr_request *)n);
    for (struct orr_request *r = e->under_way, *next; r; r = next) {
        next = r->next;
        if (r->ready || !r->early) continue; /* a large transfer */
        struct orr_early *m = r->early;
        orr_step_unlink(&e->under_way, r);
        r->early = NULL;
        give_up_locked(e, r);
        orr_receive_discard(e, m);
    }
    while ((n = orr_match_pop_any(&e->early))) orr_receive_discard(e, (struct orr_early *)n);
    struct orr_request *ended = orr_requests_take_all(&e->completed), *placing = orr_receive_take_to_place(e);
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
