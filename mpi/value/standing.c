/* SPDX-License-Identifier: BSD-3-Clause */
/* standing.c: see standing.h.
 * Threads: see there. Owns: nothing. Not here: which list of the engine means what (wire/engine.h).
 *
 * What is to be said is copied while the engine is held, and put into words afterwards, so that messages do
 * not stand still for that. A message holds an access to its data as long as the engine has its request: so
 * the data are there while it is copied. Only the library's own interfaces are asked for the size, since a
 * function of the program's might call the layer. */
#include "mpi/value/standing.h"

#include "core/base/alloc.h"
#include "core/run/sentences.h"
#include "mpi/value/loan.h"
#include "mpi/value/message.h"

enum { PATIENCE_MS = 300 };
#define NOT_KNOWN SIZE_MAX

struct copied {
    enum { MESSAGE, BARRIER, EARLY } what;
    enum orr_request_stands stands;
    struct orr_why_message to; /* its data, and its name */
    size_t bytes;
    int64_t tag;
    int peer;
    bool sends, sync, asks, relayed, came;
    char place[48], data[64];
};

struct copies {
    struct copied *all;
    unsigned room, count, more;
};

static struct copied *next_copy(struct copies *c)
{
    if (c->count < c->room) return &c->all[c->count++];
    c->more++;
    return NULL;
}

/* Of one that is ready. Apart: compilers would read it ahead, while it is still being written. */
__attribute__((noinline)) static size_t payload_bytes(const struct orr_request *r)
{
    return r->payload.any_size ? NOT_KNOWN : r->payload.bytes;
}

static size_t bytes_of(const struct orr_request *r, struct orr_data *h)
{
    size_t bytes = NOT_KNOWN;
    if (r->ready) bytes = payload_bytes(r);
    if (bytes != NOT_KNOWN) return bytes;
    return h->ops->interfaceid < STARPU_MAX_INTERFACE_ID && h->ops->get_size ? h->ops->get_size(h)
                                                                             : NOT_KNOWN;
}

static void copy_message(const struct orr_request *r, enum orr_request_stands stands, struct copied *to)
{
    const struct orr_message *m = orr_message_of(r);
    *to = (struct copied){ .what = MESSAGE,
                           .stands = stands,
                           .to = { .handle = m->handle, .has_data = r->ready },
                           .bytes = bytes_of(r, m->handle),
                           .tag = m->tag,
                           .peer = m->peer,
                           .sends = r->kind == ORR_SEND,
                           .sync = r->sync,
                           .asks = r->asks,
                           .relayed = r->relayed };
    if (!orr_message_is_unordered(m)) to->to.access = &m->access;
    orr_message_name(m, to->to.name, sizeof to->to.name);
    orr_message_place(m, to->place, sizeof to->place);
    if (!orr_data_name(m->handle, to->data, sizeof to->data)) to->data[0] = '\0';
}

static void copy_request(const struct orr_request *r, enum orr_request_stands stands, void *arg)
{
    bool own = r->node.context & ORR_CONTEXT_UNCOUNTED || r->nameless; /* of the layer's own barriers count */
    bool barrier = own && !r->nameless && !r->uncounted && r->kind == ORR_RECV &&
                   r->node.tag < ORR_LOAN_TAG_TASK && stands <= ORR_STANDS_UNMATCHED;
    struct copied *to = own && !barrier ? NULL : next_copy(arg);
    if (to && own)
        *to = (struct copied){ .what = BARRIER, .peer = r->node.peer };
    else if (to)
        copy_message(r, stands, to);
}

static void copy_early(const struct orr_match_node *n, const struct orr_wire_header *h, void *arg)
{
    struct copied *to = next_copy(arg);
    if (to) *to = (struct copied){ .what = EARLY, .bytes = (size_t)h->bytes, .tag = n->tag, .peer = n->peer };
}

/* ---- in words ---- */

static const char *receive_stands(const struct copied *c)
{
    switch (c->stands) {
    case ORR_STANDS_UNNAMED: return "waits for its other end: nothing came on its communicator yet";
    case ORR_STANDS_UNMATCHED: return c->to.has_data ? "waits for its other end: not announced" : "";
    case ORR_STANDS_MATCHED: return "its message is announced, or here";
    case ORR_STANDS_STALLED: return "is announced, and waits for memory or for a buffer";
    default: return "is coming";
    }
}

static const char *send_stands(const struct copied *c)
{
    switch (c->stands) {
    case ORR_STANDS_UNMATCHED:
        return c->asks ? "waits for its other end: announced" : "waits for its other end: sent";
    case ORR_STANDS_HELD:
        return c->to.has_data ? "waits for an earlier one with that tag, whose data are in use" : "";
    case ORR_STANDS_LEAVES: return "waits for a buffer";
    case ORR_STANDS_UNANNOUNCED: return "waits for its other end: not announced, as many others are";
    case ORR_STANDS_RELAYED:
        return c->relayed ? "is left to another rank that has the value"
                          : "waits for an earlier one with that tag, which is left to another rank";
    default: return "is announced, and its bytes are on their way";
    }
}

static const char *until(const struct copied *c)
{
    switch (c->stands) {
    case ORR_STANDS_MOVES: return c->sends ? "until its bytes are sent" : "until its bytes have come";
    case ORR_STANDS_LEAVES: return "until there is a buffer for it";
    case ORR_STANDS_STALLED: return "until there is memory, or a buffer, for it";
    case ORR_STANDS_HELD: return "until an earlier one with that tag is sent";
    default: return c->to.has_data ? ORR_SAY_UNTIL_MATCHED : "until its data are where it needs them";
    }
}

static void put_message(const struct copied *c, struct orr_why_message *to)
{
    char size[40] = "unknown size";
    bool waits = c->to.has_data && c->stands == ORR_STANDS_UNMATCHED;
    if (c->bytes != NOT_KNOWN) snprintf(size, sizeof size, "%zu bytes", c->bytes);
    snprintf(to->line, sizeof to->line, "a %s of tag %lld %s rank %d (%s%s%s%s)",
             !c->sends          ? "receive"
             : c->sync && waits ? "synchronous send"
                                : "send",
             (long long)c->tag, c->sends ? "to" : "from", c->peer, size, *c->data ? ", data " : "", c->data,
             c->place);
    snprintf(to->stands, sizeof to->stands, "%s", c->sends ? send_stands(c) : receive_stands(c));
    snprintf(to->until, sizeof to->until, "%s", until(c));
}

static void put(const struct copied *c, struct orr_why_message *to)
{
    *to = c->to;
    if (c->what == MESSAGE) {
        put_message(c, to);
        return;
    }
    to->has_data = true;
    if (c->what == BARRIER) {
        snprintf(to->line, sizeof to->line, "this rank");
        snprintf(to->stands, sizeof to->stands, "waits for rank %d in a barrier", c->peer);
    } else {
        snprintf(to->line, sizeof to->line, "a message of %zu bytes with tag %lld", c->bytes,
                 (long long)c->tag);
        snprintf(to->stands, sizeof to->stands, "came from rank %d, and no receive was started for it",
                 c->peer);
    }
}

/* ---- being asked ---- */

static bool look(const struct orr_why_outside *self, struct orr_why_messages *out)
{
    const struct orr_standing *s = (const struct orr_standing *)self;
    struct copies c = { .all = orr_calloc(out->room, sizeof *c.all), .room = out->room };
    const struct orr_engine_view view = { copy_request, copy_early, &c };
    bool seen = c.all && orr_engine_view(&s->cluster->engine, &view, PATIENCE_MS);
    if (seen) orr_progress_pass(&s->cluster->progress); /* who found the engine held relies on that */
    for (unsigned i = 0; i < c.count; i++) put(&c.all[i], &out->message[i]);
    out->count = c.count;
    out->more = c.more;
    orr_free(c.all);
    return seen;
}

void orr_standing_start(struct orr_standing *s, struct orr_cluster *cl)
{
    s->outside = (struct orr_why_outside){ .look = look };
    s->cluster = cl;
    orr_why_outside(&s->outside);
}

void orr_standing_stop(struct orr_standing *s)
{
    orr_why_outside_over(&s->outside);
}
