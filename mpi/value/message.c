/* SPDX-License-Identifier: BSD-3-Clause */
/* message.c: a send is a read access and a receive a write access in the handle's queue. They join when the
 * program calls, so that tasks before and after see the right value; the engine is told that the request is
 * ready when the access is granted and the bytes are in place.
 * Threads: start from any; granted, fetched and done on whoever causes them, none blocks. Owns: its part of
 * struct orr_value. Not here: the protocol (engine.c). */
#include "mpi/value/message.h"

#include <errno.h>
#include <string.h>

#include "core/base/block.h"
#include "core/base/log.h"
#include "core/base/thread.h"
#include "core/data/interfaces/dense.h"
#include "core/mem/node.h"
#include "core/run/deadlock.h"
#include "mpi/value/direct.h"
#include "mpi/value/handle_payload.h"
#include "mpi/value/loan.h"
#include "mpi/value/seen.h"
#include "mpi/live/stream.h"
#include "mpi/wire/event.h"

enum { HOT_LINES = 5 }; /* what a message of plain bytes needs of its record */
_Static_assert(offsetof(struct orr_message, request.payload.run_bytes) <= HOT_LINES * ORR_CACHE_LINE,
               "see there");

void orr_message_free(struct orr_message *m)
{
    if (orr_message_is_current(m)) orr_comm_drop(m->comm);
    if (orr_unlikely(m->fetch != NULL)) orr_block_free(m->fetch, sizeof *m->fetch);
    orr_block_free(m, sizeof *m);
}

void orr_messages_count(struct orr_value *v, bool counting)
{
    orr_store_relaxed(&v->counting, counting);
}

void orr_messages_end(struct orr_value *v)
{
    orr_add_relaxed(&v->session, 1u);
}

int orr_messages_take_failure(struct orr_value *v)
{
    return atomic_exchange_explicit(&v->failed, 0, memory_order_relaxed);
}

static struct orr_message *of_request(struct orr_request *r)
{
    return (struct orr_message *)((char *)r - offsetof(struct orr_message, request));
}

/* ---- data that the program has acquired ---- */

static void unawait(struct orr_message *m)
{
    m->unawaited = true;
    orr_progress_unawait(&m->cluster->progress);
}

/* The program has released them: a send has its turn, or a receive what it waited for. */
static void await(struct orr_message *m)
{
    m->unawaited = false;
    if (orr_message_is_current(m)) orr_progress_await(&m->cluster->progress);
}

/* ---- values that are read where they are ---- */

static uint64_t show(struct orr_request *r)
{
    struct orr_message *m = of_request(r);
    return orr_seen_show(m->cluster->value, m->handle, r->node.peer, &m->showing);
}

static bool see(struct orr_request *r, void *at, uint64_t name)
{
    struct orr_message *m = of_request(r);
    return orr_seen_see(m->cluster->value, r->node.peer, name, at, &m->seen);
}

/* ---- the layer starts ---- */

void orr_messages_begin(struct orr_value *v, bool counting)
{
    orr_store_relaxed(&v->failed, 0);
    orr_messages_count(v, counting);
    orr_store_relaxed(&v->moves.on, false);
    v->cluster->engine.show = show;
    v->cluster->engine.see = see;
    orr_direct_begin(v);
}

/* ---- from granted to ready ---- */

static void *make_room(struct orr_request *r, size_t bytes)
{
    struct orr_message *m = of_request(r);
    m->packed_size = bytes;
    m->packed_bytes = (void *)starpu_malloc_on_node_flags(orr_node_home(), bytes ? bytes : 1, 0);
    return m->packed_bytes;
}

/* The interface has no plain layout: it packs and unpacks itself. Its status. */
static int describe_packed(struct orr_message *m)
{
    const struct starpu_data_interface_ops *ops = m->handle->ops;
    m->packed = true;
    m->packed_bytes = NULL;
    m->packed_size = 0;
    if (m->mode == STARPU_W) {
        if (!ops->peek_data && !ops->unpack_data) return -ENOTSUP;
        m->request.payload = (struct orr_payload){ .any_size = true };
        return 0;
    }
    starpu_ssize_t bytes = 0;
    if (!ops->pack_data) return -ENOTSUP;
    int r = ops->pack_data(m->handle, orr_node_home(), &m->packed_bytes, &bytes);
    if (r || bytes < 0) return r < 0 ? r : -EIO;
    m->packed_size = (size_t)bytes;
    m->request.payload = (struct orr_payload){ .base = m->packed_bytes, .bytes = (size_t)bytes };
    return 0;
}

static const char *reason(int status)
{
    return status == -ENODATA ? "nobody has written it there yet"
           : status == -ENOTSUP
               ? "its interface has no pack_data/unpack_data and no MPI type was registered for it"
               : strerror(-status);
}

/* The data of m, for messages. */
static const char *label(const struct orr_message *m, char *text, size_t bytes)
{
    char name[80];
    if (orr_data_name(m->handle, name, sizeof name))
        snprintf(text, bytes, "\"%s\"", name);
    else
        snprintf(text, bytes, "%p (%s)", (void *)m->handle,
                 m->handle->ops->name ? m->handle->ops->name : "unnamed");
    return text;
}

static void fail(struct orr_message *m, int status)
{
    char text[100];
    orr_error("data %s with tag %lld cannot be %s rank %d: %s", label(m, text, sizeof text),
              (long long)m->tag, m->mode == STARPU_R ? "sent to" : "received from", m->peer, reason(status));
    m->request.payload = (struct orr_payload){ .any_size = m->mode == STARPU_W };
    m->request.in_place = false;
    if (m->mode == STARPU_R)
        m->request.failure = status;
    else
        m->request.status = status;
}

/* Whether a value that is only read may be read where it is (seen.h). */
static bool may_be_in_place(const struct orr_message *m)
{
    const struct orr_request *r = &m->request;
    return !m->packed && m->detached && r->payload.kind == ORR_PAYLOAD_BYTES &&
           m->access.group != ORR_GROUP_NONE && orr_seen_may(m->cluster->value, r, m->handle);
}

static void describe(struct orr_message *m, void *interface)
{
    int r = 0;
    if (!orr_handle_payload(m->handle, interface, &m->request.payload)) r = describe_packed(m);
    if (r) fail(m, r);
    if (orr_likely(!m->request.in_place)) return;
    m->request.in_place = may_be_in_place(m);
    if (m->request.in_place) m->showing = NULL;
}

/* m may be over, and gone, before this returns. */
static void say_ready(struct orr_message *m)
{
    struct orr_cluster *cl = m->cluster;
    orr_engine_ready(&cl->engine, &m->request);
    orr_progress_pass(&cl->progress);
}

/* The bytes are where they were asked for, or will not come. */
static void fetch_ended(struct orr_message *m, int status)
{
    m->fetched = status == 0;
    if (status) {
        fail(m, status);
        return;
    }
    describe(m, m->handle->replicates[m->node].interface);
    m->request.payload.on_device = m->cluster->value->direct_nodes >> m->node & 1;
}

static void fetch_done(struct orr_fetch *f, int status)
{
    struct orr_message *m = f->arg;
    fetch_ended(m, status);
    say_ready(m);
}

/* Has the bytes brought to a node, or memory for them there: true when they are described; false: fetch_done
 * follows. */
static bool fetch(struct orr_message *m, unsigned node)
{
    m->node = (uint8_t)node;
    if (!m->fetch) m->fetch = orr_block_alloc(sizeof *m->fetch); /* the value went since it began */
    if (m->fetch)
        *m->fetch = (struct orr_fetch){
            .done = fetch_done, .handle = m->handle, .node = m->node, .mode = m->mode, .arg = m
        };
    int r = m->fetch ? orr_fetch_start(m->fetch) : -ENOMEM;
    if (r == 0) return false;
    fetch_ended(m, r < 0 ? r : 0);
    return true;
}

/* The message is there: its bytes go where they are used next. Only now, because who waits for a message must
 * not hold memory of a device that a task may need so that the message can be sent. */
static void place(struct orr_request *r)
{
    struct orr_message *m = of_request(r);
    if (fetch(m, orr_direct_target(m->cluster->value, m->handle))) say_ready(m);
}

/* The access is granted: describes the bytes. False: they are on their way, fetch_done follows. */
static bool prepare(struct orr_message *m)
{
    const struct orr_value *v = m->cluster->value;
    void *interface = orr_load_acquire(&m->handle->ready_interface);
    if (interface) {
        describe(m, interface);
        return true;
    }
    if (m->access.group == ORR_GROUP_NONE) return fetch(m, orr_node_home());
    if (!orr_direct_may(v, m->handle)) return fetch(m, orr_direct_main(m->handle));
    if (m->mode == STARPU_R) return fetch(m, orr_direct_source(v, m->handle));
    describe(m, m->handle->replicates[orr_node_home()].interface);
    m->request.place = place;
    m->request.relays = false; /* where its bytes are, or will be, is said too late for that */
    return true;
}

static void granted(struct orr_waiter *w);

/* Sends that tasks made of one large value become ready together: the engine is told of all at once, and may
 * leave most to those who receive it. Not where all ranks decide who sends (moves.c). */
static bool may_spread(const struct orr_message *m)
{
    const struct orr_value *v = m->cluster->value;
    return m->mode == STARPU_R && m->request.inferred && !m->request.sync && orr_comm_is_base(m->comm) &&
           !orr_load_relaxed(&v->moves.on) && m->handle->ops->get_size(m->handle) >= v->moves.tree_bytes;
}

static struct orr_ready_batch *batch_of_thread(void)
{
    return orr_thread_room(orr_self(), spreading, struct orr_ready_batch);
}

/* granted() for another send of the same value follows at once, on this thread. */
static bool is_followed(const struct orr_message *m)
{
    const struct orr_message *next = (const struct orr_message *)m->access.waiter.next;
    return next && next->access.waiter.granted == granted && next->handle == m->handle && may_spread(next);
}

/* One of several of a value, or the last of them. */
static void say_ready_together(struct orr_cluster *cl, struct orr_message *m, bool ready, bool followed)
{
    struct orr_ready_batch *b = batch_of_thread();
    if (ready) {
        m->request.spreads = !m->packed;
        orr_ready_batch_add(b, &m->request);
    }
    if (followed) return;
    orr_engine_ready_all(&cl->engine, b); /* m may be gone from here on */
    orr_progress_pass(&cl->progress);
}

static void granted(struct orr_waiter *w)
{
    struct orr_message *m = (struct orr_message *)w;
    bool followed = orr_unlikely(w->next != NULL) && may_spread(m) && is_followed(m);
    struct orr_cluster *cl =
        m->cluster; /* m may be over once it is prepared, by another thread, or this one */
    if (orr_unlikely(m->unawaited) && m->mode == STARPU_R) await(m);
    if (orr_unlikely(followed || batch_of_thread()->first))
        say_ready_together(cl, m, prepare(m), followed);
    else if (prepare(m))
        say_ready(m);
}

/* ---- the end ---- */

static int unpack(struct orr_message *m)
{
    const struct starpu_data_interface_ops *ops = m->handle->ops;
    if (ops->unpack_data)
        return ops->unpack_data(m->handle, orr_node_home(), m->packed_bytes, m->packed_size);
    int r = ops->peek_data(m->handle, orr_node_home(), m->packed_bytes, m->packed_size);
    starpu_free_on_node_flags(orr_node_home(), (uintptr_t)m->packed_bytes,
                              m->packed_size ? m->packed_size : 1, 0);
    return r;
}

static void end_payload(struct orr_message *m)
{
    struct orr_request *r = &m->request;
    if (!m->packed) {
        orr_handle_payload_end(&r->payload);
        return;
    }
    if (!m->packed_bytes) return;
    if (m->mode == STARPU_W && r->status == 0)
        r->status = unpack(m) ? -EIO : 0;
    else
        starpu_free_on_node_flags(orr_node_home(), (uintptr_t)m->packed_bytes,
                                  m->packed_size ? m->packed_size : 1, 0);
}

static void print_type(char *text, size_t bytes, uint32_t type)
{
    uint32_t id = (type >> 24) - 1;
    snprintf(text, bytes, "%s of %u-byte elements",
             id < STARPU_MAX_INTERFACE_ID ? orr_interface_phrases[id] : "data of another interface",
             type & 0xffffff);
}

static void say_types(const struct orr_message *m)
{
    char sent[80], here[80];
    print_type(sent, sizeof sent, m->request.sent_type);
    print_type(here, sizeof here, m->request.payload.type);
    orr_error("message with tag %lld from rank %d to rank %d: %s was sent, but the receiving data is %s of "
              "the same "
              "%llu bytes; register both alike, or give them different tags",
              (long long)m->tag, m->peer, m->comm->rank, sent, here,
              (unsigned long long)m->request.moved_bytes);
}

/* A message that a task made does not fit: the ranks differ, and the job ends. */
static bool is_fatal(const struct orr_message *m)
{
    int s = m->request.status;
    return m->request.inferred && m->mode == STARPU_W && (s == -EMSGSIZE || s == -EPROTOTYPE || s == -EILSEQ);
}

static void say_failure(const struct orr_message *m)
{
    char text[100];
    int s = m->request.status;
    if (s == -EMSGSIZE)
        orr_error(
            "message with tag %lld from rank %d to rank %d: %llu bytes were sent, but the receiving data "
            "has %llu (%s); register both with the same size, or give them different tags",
            (long long)m->tag, m->peer, m->comm->rank, (unsigned long long)m->request.moved_bytes,
            (unsigned long long)m->handle->ops->get_size(m->handle), label(m, text, sizeof text));
    else if (s == -EPROTOTYPE)
        say_types(m);
    else if (s == -EILSEQ)
        orr_error(
            "message with tag %lld from rank %d to rank %d: it was sent for place %llu of the stream of "
            "tasks, and is received for place %llu of another one: the ranks insert different tasks",
            (long long)m->tag, m->peer, m->comm->rank, (unsigned long long)m->request.sent_position + 1,
            (unsigned long long)m->request.position + 1);
    else if (m->mode == STARPU_W)
        orr_error("data %s did not come from rank %d (tag %lld): %s", label(m, text, sizeof text), m->peer,
                  (long long)m->tag, reason(s));
}

/* The data did not come, or not whole: it has no value now, and nobody may go on as if it had. Whoever waits
 * for everything is told as well. The access is still held. */
static void take_failure(struct orr_message *m)
{
    int none = 0, s = m->request.status;
    if (s == -ECANCELED) return;
    say_failure(m);
    if (m->mode == STARPU_W && m->access.group != ORR_GROUP_NONE) orr_data_invalidate_copies(m->handle);
    atomic_compare_exchange_strong_explicit(&m->cluster->value->failed, &none, s, memory_order_relaxed,
                                            memory_order_relaxed);
}

/* The very last: m may be gone from here on. */
static void over(struct orr_message *m)
{
    bool counts = orr_message_is_current(m);
    struct orr_mpi_progress *p = &m->cluster->progress;
    if (orr_unlikely(m->callback != NULL) && counts) orr_add_relaxed(&p->callbacks, -1);
    if (m->detached)
        orr_message_free(m);
    else
        orr_store_release(&m->over, 1); /* pairs with orr_message_is_over */
    if (orr_likely(counts)) orr_progress_over(p, true);
}

static struct orr_message *of_waiter(struct orr_waiter *w)
{
    return (struct orr_message *)w;
}

static void call_and_end(struct orr_waiter *w)
{
    struct orr_message *m = of_waiter(w);
    orr_progress_call_back(m->callback, m->arg);
    over(m);
}

/* The message has arrived, or has been sent; the access is still held. */
static void end(struct orr_waiter *w)
{
    struct orr_message *m = of_waiter(w);
    struct orr_request *r = &m->request;
    end_payload(m);
    if (orr_unlikely(r->in_place) && m->mode == STARPU_R && m->showing) orr_seen_sent(m->showing, r->seen);
    if (orr_unlikely(r->seen) && m->mode == STARPU_W) orr_seen_received(m->seen, m->handle);
    if (m->fetched) orr_fetch_end(m->handle, m->node, m->mode);
    if (r->status) take_failure(m);
    if (is_fatal(m)) { /* the guard ends this process */
        orr_stream_blame(m->comm, r->node.peer);
        return;
    }
    if (orr_unlikely(m->unawaited)) await(m);
    if (m->access.group != ORR_GROUP_NONE) orr_data_leave(m->handle, &m->access);
    if (!m->callback)
        over(m);
    else if (!orr_waiter_put_off(&m->access.waiter, call_and_end))
        call_and_end(&m->access.waiter);
}

/* The value is here and goes on to other ranks: those who read it need not wait for that. */
static void arrived(struct orr_request *r)
{
    struct orr_message *m = of_request(r);
    if (m->fetched || m->access.group != ORR_GROUP_WRITE) return; /* its end comes first */
    m->access.group = ORR_GROUP_READ;
    orr_data_downgrade(m->handle);
}

/* Functions of the program are put off: its callback, and the interface's own that unpack. */
static void done(struct orr_request *r)
{
    struct orr_message *m = of_request(r);
    if (!m->packed || !orr_waiter_put_off(&m->access.waiter, end)) end(&m->access.waiter);
}

/* ---- the beginning ---- */

static int check(const struct orr_message_spec *s, const char *fn)
{
    if (!orr_data_valid(s->handle)) {
        orr_error("%s: %s; register the data first", fn,
                  s->handle ? "the handle is not a registered one" : "the handle is NULL");
        return -EINVAL;
    }
    if (!s->comm) {
        orr_error("%s: the communicator is not a valid one", fn);
        return -EINVAL;
    }
    if (orr_comm_peer(s->comm, s->peer) < 0) {
        orr_error("%s: there is no rank %d in a communicator of %d ranks (tag %lld)", fn, s->peer,
                  s->comm->size, (long long)s->tag);
        return -EINVAL;
    }
    if (orr_load_relaxed(&s->handle->partitioned)) {
        orr_error("%s: the data with tag %lld is partitioned; send its pieces, or unpartition it first", fn,
                  (long long)s->tag);
        return -EINVAL;
    }
    return orr_comm_introduce(s->comm, s->peer, s->kind);
}

/* With all that may be wanted later, when nobody can be told that there is no memory; zeroed up to its
 * request: the rest when it is needed. */
static struct orr_message *new_message(struct orr_data *h)
{
    struct orr_message *m = orr_block_alloc(sizeof *m);
    if (!m) return NULL;
    memset(m, 0, offsetof(struct orr_message, request));
    bool is_there = orr_load_acquire(&h->ready_interface) != NULL; /* and stays, as a rule */
    m->fetch = orr_likely(is_there) ? NULL : orr_block_alloc(sizeof *m->fetch);
    if (is_there || m->fetch) return m;
    orr_block_free(m, sizeof *m);
    return NULL;
}

int orr_message_start(const struct orr_message_spec *s, const char *fn, struct orr_message **out)
{
    int status = check(s, fn);
    if (status) return status;
    struct orr_cluster *cl = s->comm->cluster;
    struct orr_mpi_progress *p = &cl->progress;
    struct orr_message *m = new_message(s->handle);
    if (!m) {
        orr_error("%s: out of memory for a message", fn);
        return -ENOMEM;
    }
    bool sends = s->kind == ORR_SEND;
    m->handle = s->handle;
    m->comm = s->comm;
    m->cluster = cl;
    m->tag = s->tag;
    m->peer = s->peer;
    m->mode = sends ? STARPU_R : STARPU_W;
    m->detached = s->detached;
    m->session = orr_load_relaxed(&cl->value->session);
    m->callback = s->callback;
    m->arg = s->arg;
    m->access.waiter.granted = granted;
    m->access.group = s->unordered ? ORR_GROUP_NONE : sends ? ORR_GROUP_READ : ORR_GROUP_WRITE;
    m->access.lines = HOT_LINES;
    orr_request_init(&m->request);
    m->request.foreign = !sends && orr_comm_is_foreign(s->comm, s->peer);
    orr_comm_hold(s->comm);
    m->request.node = (struct orr_match_node){ .context = s->comm->context | (s->away ? ORR_CONTEXT_AWAY : 0),
                                               .peer = orr_comm_peer(s->comm, s->peer),
                                               .tag = s->tag };
    m->request.kind = s->kind;
    m->request.sync = s->sync;
    m->request.inferred = s->inferred;
    m->request.in_place = s->only_read;
    m->request.position = s->position;
    m->request.hash = s->hash;
    m->request.priority = s->priority;
    m->request.uncounted = !orr_load_relaxed(&cl->value->counting);
    m->request.relays = !sends && s->inferred && orr_comm_is_base(s->comm);
    m->request.arrived = arrived;
    m->request.done = done;
    m->request.make_room = make_room;
    orr_progress_begun(p);
    if (orr_unlikely(s->callback != NULL)) orr_add_relaxed(&p->callbacks, 1);
    if (orr_unlikely(s->unawaited)) unawait(m);
    if (sends && !s->unordered) orr_data_announce(s->handle, STARPU_R);
    if (!s->unordered) ORR_EVENT(DATA_JOINED, s->handle, &m->request, m->access.group, 1);
    int granted = s->unordered ? 1 : orr_data_join(s->handle, &m->access);
    if (granted && orr_unlikely(s->unawaited) && (sends || granted < 0)) await(m);
    if (granted < 0) {
        if (s->callback) orr_add_relaxed(&p->callbacks, -1);
        orr_message_free(m);
        orr_progress_over(p, false);
        return granted;
    }
    if (out) *out = m;
    orr_engine_post(&cl->engine, &m->request, granted && prepare(m));
    if (s->will_wait) {
        orr_progress_pass_and_wait(p);
        return 0;
    }
    orr_progress_pass(p);
    orr_progress_needed(p);
    return 0;
}

static bool is_over(void *m)
{
    return orr_message_is_over(m);
}

int orr_message_wait(struct orr_message *m)
{
    orr_progress_wait(&m->cluster->progress, is_over, m);
    return m->request.status;
}

/* The first few are; the others are counted. */
static bool is_told(struct orr_unmatched *u)
{
    bool told = u->shown < ORR_UNMATCHED_SHOWN;
    *(told ? &u->shown : &u->more) += 1;
    return told;
}

void orr_message_describe(const struct orr_request *r, void *arg)
{
    struct orr_unmatched *u = arg;
    const struct orr_message *m = of_request((struct orr_request *)r);
    if (r->node.context & ORR_CONTEXT_UNCOUNTED) {
        if (!u->at_end && r->kind == ORR_RECV && r->node.tag < ORR_LOAN_TAG_TASK)
            orr_error("  this rank waits for rank %d in a barrier", r->node.peer);
        return;
    }
    if (r->nameless) return;
    if (!is_told(u)) return;
    char name[100];
    if (!orr_data_name(m->handle, name, sizeof name)) name[0] = '\0';
    const char *what = r->kind == ORR_RECV ? "receive"
                       : r->sync           ? "synchronous send"
                                           : "send",
               *to = r->kind == ORR_SEND ? "to" : "from";
    if (!u->at_end)
        orr_error("  a %s of tag %lld %s rank %d (%zu bytes%s%s) waits for its other end", what,
                  (long long)m->tag, to, m->peer, m->handle->ops->get_size(m->handle), *name ? ", data " : "",
                  name);
    else
        orr_error("starpu_mpi_shutdown: the %s of tag %lld %s rank %d (%zu bytes%s%s) was never matched; "
                  "every send needs a receive "
                  "with the same tag on the other rank",
                  what, (long long)m->tag, to, m->peer, m->handle->ops->get_size(m->handle),
                  *name ? ", data " : "", name);
}

static bool is_programs(const struct orr_request *r)
{
    return !(r->node.context & ORR_CONTEXT_UNCOUNTED) && !r->nameless;
}

/* As orr_message_place says. */
static const char *place_of(char *dst, size_t bytes, uint64_t position, uint64_t hash)
{
    dst[0] = 0;
    if (hash) snprintf(dst, bytes, ", for insertion %llu", (unsigned long long)position + 1);
    return dst;
}

/* One end of a message, as all ranks call it in the graph of who waits for whom. place: as place_of says. */
static void name_end(char *dst, size_t bytes, bool sends, int64_t tag, int peer, const char *place)
{
    snprintf(dst, bytes, "%s of tag %lld %s rank %d%s", sends ? "send" : "receive", (long long)tag,
             sends ? "to" : "from", peer, place);
}

void orr_message_place(const struct orr_message *m, char *dst, size_t bytes)
{
    place_of(dst, bytes, m->request.position, m->request.hash);
}

void orr_message_name(const struct orr_message *m, char *dst, size_t bytes)
{
    const struct orr_request *r = &m->request;
    char place[48];
    name_end(dst, bytes, r->kind == ORR_SEND, m->tag, r->node.peer,
             place_of(place, sizeof place, r->position, r->hash));
}

static bool holds(const struct orr_request *r, const struct orr_data *h, char *text, size_t bytes)
{
    if (!is_programs(r) || !r->ready) return false;
    const struct orr_message *m = orr_message_of(r);
    if (m->handle != h) return false;
    orr_message_name(m, text, bytes);
    return true;
}

void orr_message_describe_under_way(const struct orr_request *r)
{
    char text[100];
    if (!is_programs(r)) return;
    const struct orr_message *m = of_request((struct orr_request *)r);
    orr_warn("  the %s of data %s (tag %lld) %s rank %d: %s", r->kind == ORR_SEND ? "send" : "receive",
             label(m, text, sizeof text), (long long)m->tag, r->kind == ORR_SEND ? "to" : "from", m->peer,
             r->ready ? "under way" : "the data is in use, by tasks or by the program");
}

void orr_message_describe_left(const struct orr_request *r)
{
    char text[100];
    if (!is_programs(r) || r->ready) return;
    const struct orr_message *m = of_request((struct orr_request *)r);
    orr_error(
        "starpu_mpi_shutdown: the %s of data %s (tag %lld) %s rank %d was not made: the data is still in "
        "use; release it before",
        r->kind == ORR_SEND ? "send" : "receive", label(m, text, sizeof text), (long long)m->tag,
        r->kind == ORR_SEND ? "to" : "from", m->peer);
}

struct waiting_message {
    struct orr_data *handle;
    char name[64];
    size_t bytes;
    int64_t tag;
    int peer, transport_peer;
    bool sends;
    char place[48];
    const void *held_at; /* where the program acquired the data; NULL: it has not, or perhaps not */
};

struct waiting_messages {
    const struct orr_cluster *cluster;
    struct waiting_message message[16];
    unsigned count, more;
};

/* Copies what is to be said: nothing of it need exist once the locks are let go. */
static void collect_waiting(struct orr_data *h, struct orr_access *a, void *arg)
{
    struct waiting_messages *w = arg;
    const struct orr_message *m = (const struct orr_message *)a;
    if (a->waiter.granted != granted || m->cluster != w->cluster) return;
    if (w->count == sizeof w->message / sizeof w->message[0]) {
        w->more++;
        return;
    }
    struct waiting_message *to = &w->message[w->count++];
    *to = (struct waiting_message){ .handle = h,
                                    .bytes = h->ops->get_size(h),
                                    .tag = m->tag,
                                    .peer = m->peer,
                                    .transport_peer = m->request.node.peer,
                                    .sends = m->mode == STARPU_R };
    if (orr_data_is_wanted(h)) to->held_at = orr_load_relaxed(&h->acquired_at);
    char name[sizeof to->name - sizeof ", data "];
    if (orr_data_name(h, name, sizeof name)) snprintf(to->name, sizeof to->name, ", data %s", name);
    place_of(to->place, sizeof to->place, m->request.position, m->request.hash);
}

/* holder: "which ... has", or nothing. */
static void say_waiting(void (*say)(const char *fmt, ...), const struct waiting_message *m,
                        const char *holder)
{
    say("  a %s of tag %lld %s rank %d (%zu bytes%s%s) waits for its data%s%s", m->sends ? "send" : "receive",
        (long long)m->tag, m->sends ? "to" : "from", m->peer, m->bytes, m->name, m->place,
        *holder ? ", " : "", holder);
}

/* Others act: the data is not looked at once the locks are let go. */
static unsigned describe_held(const struct orr_cluster *cl, bool print)
{
    struct waiting_messages w = { .cluster = cl };
    unsigned n = 0;
    orr_data_visit_waiting(collect_waiting, &w);
    for (unsigned i = 0; i < w.count; i++) {
        char holder[512];
        if (!w.message[i].held_at) continue;
        n++;
        orr_deadlock_program_holds(w.message[i].held_at, holder, sizeof holder);
        if (print) say_waiting(orr_warn, &w.message[i], holder);
    }
    return n;
}

static void describe_waiting(const struct orr_cluster *cl, bool certain)
{
    struct waiting_messages w = { .cluster = cl };
    orr_data_visit_waiting(collect_waiting, &w);
    for (unsigned i = 0; i < w.count; i++) {
        char holder[512] = "";
        if (certain) orr_deadlock_holder(w.message[i].handle, holder, sizeof holder);
        say_waiting(orr_error, &w.message[i], holder);
    }
    if (w.more) orr_error("  ... and %u more messages wait for their data", w.more);
}

struct drawing {
    const struct orr_cluster *cluster;
    struct orr_waits *waits;
};

/* Adds that this rank's end of a message, or its meeting with all, waits for the other rank's. */
static void draw_unmatched(const struct orr_request *r, void *arg)
{
    struct drawing *d = arg;
    char own[ORR_WAITS_LABEL], other[ORR_WAITS_LABEL], program[64], end[100];
    int me = d->cluster->rank, peer = r->node.peer;
    snprintf(program, sizeof program, "rank %d: the program", me);
    if (!is_programs(r)) {
        if (r->kind != ORR_RECV || r->nameless) return;
        snprintf(own, sizeof own, "rank %d: a wait for all ranks", me);
        snprintf(other, sizeof other, "rank %d: a wait for all ranks", peer);
    } else {
        const struct orr_message *m = of_request((struct orr_request *)r);
        char place[48];
        place_of(place, sizeof place, r->position, r->hash);
        name_end(end, sizeof end, r->kind == ORR_SEND, m->tag, peer, place);
        snprintf(own, sizeof own, "rank %d: %s", me, end);
        name_end(end, sizeof end, r->kind != ORR_SEND, m->tag, me, place);
        snprintf(other, sizeof other, "rank %d: %s", peer, end);
    }
    orr_waits_for(d->waits, program, own);
    orr_waits_for(d->waits, own, other);
}

static void draw_waiting(const struct orr_cluster *cl, struct orr_waits *waits)
{
    struct waiting_messages w = { .cluster = cl };
    struct drawing d = { cl, waits };
    char own[ORR_WAITS_LABEL], prefix[32], end[100], program[64];
    snprintf(prefix, sizeof prefix, "rank %d: ", cl->rank);
    snprintf(program, sizeof program, "%sthe program", prefix);
    orr_engine_visit_unmatched(&((struct orr_cluster *)cl)->engine, draw_unmatched, &d);
    orr_data_visit_waiting(collect_waiting, &w);
    for (unsigned i = 0; i < w.count; i++) {
        const struct waiting_message *m = &w.message[i];
        name_end(end, sizeof end, m->sends, m->tag, m->transport_peer, m->place);
        snprintf(own, sizeof own, "%s%s", prefix, end);
        orr_waits_for(waits, program, own);
        orr_deadlock_graph_data(waits, prefix, own, m->handle);
    }
}

void orr_message_describe_early(const struct orr_match_node *n, const struct orr_wire_header *h, void *arg)
{
    struct orr_unmatched *u = arg;
    unsigned long long bytes = h->bytes;
    if (!is_told(u)) return;
    if (!u->at_end)
        orr_error(
            "  a message of %llu bytes with tag %lld came from rank %d, and no receive was started for it",
            bytes, (long long)n->tag, n->peer);
    else
        orr_error("starpu_mpi_shutdown: a message of %llu bytes with tag %lld from rank %d was never "
                  "received; every send needs a "
                  "receive with the same tag",
                  bytes, (long long)n->tag, n->peer);
}

const struct orr_stuck_story orr_message_story = {
    orr_message_describe, orr_message_describe_early, describe_waiting, describe_held, holds, draw_waiting
};
