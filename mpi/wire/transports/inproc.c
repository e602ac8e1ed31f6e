/* SPDX-License-Identifier: BSD-3-Clause */
/* transports/inproc.c: see transports/inproc.h.
 * Threads: any; one mutex guards the whole network. Owns: messages in flight. Not here: tests (tests/mpi). */
#include "mpi/wire/transports/inproc.h"

#include <errno.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/sync.h"
#include "core/base/log.h"

/* Few tags: they are used up soon, and must not meet those still under way. */
enum { SMALL_MAX = 512, DELIVERIES_PER_POLL = 3, BULK_TAG_MAX = 2 };

/* A message, while it is written and on its way; or a free one. */
struct buffer {
    struct buffer *next;
    uint64_t due;
    size_t count;
    char bytes[SMALL_MAX];
};

struct pair {
    struct buffer *head, **tail;
};

/* What a rank calls a communicator, on its way to another of its ranks. */
struct greeting {
    struct greeting *next;
    const void *comm;
    int from, to; /* ranks of the network */
    uint32_t name;
    uint64_t due;
};

struct rank {
    struct orr_transport transport; /* first */
    struct orr_inproc *net;
    uint64_t now; /* polls so far */
    bool stalled; /* no buffers for data that go there */
    struct buffer *free_buffers;
    struct orr_bulk *posted; /* receives and sends without their other end; words[0]: due */
    struct orr_bulk *ended;
    struct orr_hello *hellos; /* that nobody answered yet; word: whom they wait for */
};

struct orr_inproc {
    ORR_MUTEX(inproc) lock; /* protects everything but the const fields; leaf */
    int size;
    bool alone; /* it goes with its only rank [const] */
    bool shown; /* what ranks have is used in place [const once there are ranks] */
    uint64_t random;
    unsigned max_delay, refuse_percent;
    struct pair *pairs;                          /* [source * size + destination] */
    struct greeting *greetings, **last_greeting; /* in order */
    struct rank ranks[];
};

static uint64_t next_random(struct orr_inproc *net)
{
    uint64_t z = (net->random += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static struct rank *rank_of(struct orr_transport *t)
{
    return (struct rank *)t;
}

static void *small_buffer(struct orr_transport *t, int peer, bool urgent)
{
    struct rank *r = rank_of(t);
    struct orr_inproc *net = r->net;
    pthread_mutex_lock(&net->lock);
    struct buffer *b = NULL;
    unsigned refuse = net->ranks[peer].stalled ? 100 : net->refuse_percent;
    if (next_random(net) % 100 >= refuse || (urgent && refuse >= 100)) {
        if ((b = r->free_buffers))
            r->free_buffers = b->next;
        else
            b = orr_malloc(sizeof *b);
    }
    pthread_mutex_unlock(&net->lock);
    return b ? b->bytes : NULL;
}

static struct buffer *buffer_of(void *bytes)
{
    return (struct buffer *)((char *)bytes - offsetof(struct buffer, bytes));
}

static void small_release(struct orr_transport *t, void *buffer)
{
    struct rank *r = rank_of(t);
    struct buffer *b = buffer_of(buffer);
    pthread_mutex_lock(&r->net->lock);
    b->next = r->free_buffers;
    r->free_buffers = b;
    pthread_mutex_unlock(&r->net->lock);
}

static void small_send(struct orr_transport *t, int peer, void *buffer, size_t bytes)
{
    struct rank *r = rank_of(t);
    struct orr_inproc *net = r->net;
    struct buffer *m = buffer_of(buffer);
    pthread_mutex_lock(&net->lock);
    m->next = NULL;
    m->count = bytes;
    m->due = net->ranks[peer].now + (net->max_delay ? next_random(net) % net->max_delay : 0);
    struct pair *p = &net->pairs[t->rank * net->size + peer];
    *p->tail = m;
    p->tail = &m->next;
    pthread_mutex_unlock(&net->lock);
}

static void free_message(struct orr_inproc *net, int source, struct buffer *m)
{
    m->next = net->ranks[source].free_buffers;
    net->ranks[source].free_buffers = m;
}

/* ---- bulk ---- */

static void post_bulk(struct orr_transport *t, struct orr_bulk *b)
{
    struct rank *r = rank_of(t);
    pthread_mutex_lock(&r->net->lock);
    b->words[0] = r->now + (r->net->max_delay ? next_random(r->net) % r->net->max_delay : 0);
    b->next = r->posted;
    r->posted = b;
    pthread_mutex_unlock(&r->net->lock);
}

static int copy_payload(const struct orr_payload *to, const struct orr_payload *from)
{
    if (to->bytes != from->bytes) return -EIO;
    void *row = orr_malloc(from->bytes);
    if (!row) return -EIO;
    orr_payload_gather(from, row);
    orr_payload_scatter(to, row);
    orr_free(row);
    return 0;
}

static struct orr_bulk **find_send(struct rank *source, int destination, uint32_t tag)
{
    struct orr_bulk **p = &source->posted;
    while (*p && !((*p)->sending && (*p)->peer == destination && (*p)->tag == tag)) p = &(*p)->next;
    return p;
}

static void end_bulk(struct rank *r, struct orr_bulk *b, int status)
{
    b->words[1] = (uint64_t)(int64_t)status;
    b->next = r->ended;
    r->ended = b;
}

/* Receives of r that are due and whose send is there: the bytes are copied, both ends have ended. */
static void match_bulk(struct rank *r)
{
    for (struct orr_bulk **p = &r->posted, *b; (b = *p);) {
        struct rank *source = &r->net->ranks[b->peer];
        struct orr_bulk **send =
            b->sending || b->words[0] > r->now ? NULL : find_send(source, r->transport.rank, b->tag);
        if (!send || !*send) {
            p = &b->next;
            continue;
        }
        struct orr_bulk *other = *send;
        int status = copy_payload(b->payload, other->payload);
        *p = b->next; /* first, in case the other is its neighbour on the same list (a message to oneself) */
        send = find_send(source, r->transport.rank, b->tag);
        *send = other->next;
        end_bulk(source, other, status);
        end_bulk(r, b, status);
        p = &r->posted;
    }
}

/* ---- names of communicators ---- */

static int rank_in_network(const struct orr_foreign *f)
{
    return ((const struct orr_inproc_comm *)f->comm)->ranks[f->rank];
}

static int greet(struct orr_transport *t, const struct orr_foreign *to, uint32_t name)
{
    struct orr_inproc *net = rank_of(t)->net;
    struct greeting *g = orr_malloc(sizeof *g);
    if (!g) return -ENOMEM;
    *g = (struct greeting){ .comm = to->comm, .from = t->rank, .to = rank_in_network(to), .name = name };
    pthread_mutex_lock(&net->lock);
    g->due = net->ranks[g->to].now + (net->max_delay ? next_random(net) % net->max_delay : 0);
    *net->last_greeting = g;
    net->last_greeting = &g->next;
    pthread_mutex_unlock(&net->lock);
    return 0;
}

static int listen_to(struct orr_transport *t, const struct orr_foreign *from, struct orr_hello *h)
{
    struct rank *r = rank_of(t);
    h->from = *from;
    h->word = (uint64_t)rank_in_network(from);
    pthread_mutex_lock(&r->net->lock);
    h->next = r->hellos;
    r->hellos = h;
    pthread_mutex_unlock(&r->net->lock);
    return 0;
}

static void unlisten(struct orr_transport *t, struct orr_hello *h)
{
    struct rank *r = rank_of(t);
    pthread_mutex_lock(&r->net->lock);
    struct orr_hello **p = &r->hellos;
    while (*p && *p != h) p = &(*p)->next;
    if (*p) *p = h->next;
    pthread_mutex_unlock(&r->net->lock);
}

/* The first that answers h; it is taken off. */
static struct greeting *take_greeting(struct rank *r, const struct orr_hello *h)
{
    struct orr_inproc *net = r->net;
    struct greeting **p = &net->greetings, *g;
    while ((g = *p) && !(g->comm == h->from.comm && g->from == (int)h->word && g->to == r->transport.rank))
        p = &g->next;
    if (!g || g->due > r->now) return NULL;
    if (!(*p = g->next)) net->last_greeting = p;
    return g;
}

static bool hear_one(struct rank *r, const struct orr_transport_sink *sink)
{
    for (struct orr_hello **p = &r->hellos, *h; (h = *p); p = &h->next) {
        struct greeting *g = take_greeting(r, h);
        if (!g) continue;
        *p = h->next;
        h->name = g->name;
        orr_free(g);
        pthread_mutex_unlock(&r->net->lock); /* the sink may send */
        sink->heard(sink->arg, h);
        pthread_mutex_lock(&r->net->lock);
        return true;
    }
    return false;
}

/* ---- polling ---- */

static bool deliver_one(struct rank *r, const struct orr_transport_sink *sink)
{
    struct orr_inproc *net = r->net;
    int first = (int)(next_random(net) % (uint64_t)net->size);
    for (int i = 0; i < net->size; i++) {
        int source = (first + i) % net->size;
        struct pair *p = &net->pairs[source * net->size + r->transport.rank];
        struct buffer *m = p->head;
        if (!m || m->due > r->now) continue;
        pthread_mutex_unlock(&net->lock); /* the sink may send */
        bool taken = sink->small(sink->arg, source, m->bytes, m->count);
        pthread_mutex_lock(&net->lock);
        if (!taken) continue;
        p->head = m->next;
        if (!p->head) p->tail = &p->head;
        free_message(net, source, m);
        return true;
    }
    return false;
}

static bool poll_rank(struct orr_transport *t, const struct orr_transport_sink *sink)
{
    struct rank *r = rank_of(t);
    bool moved = false;
    pthread_mutex_lock(&r->net->lock);
    r->now++;
    for (int i = 0; i < DELIVERIES_PER_POLL && deliver_one(r, sink); i++) moved = true;
    while (r->hellos && hear_one(r, sink)) moved = true;
    match_bulk(r);
    while (r->ended) {
        struct orr_bulk *b = r->ended;
        r->ended = b->next;
        pthread_mutex_unlock(&r->net->lock);
        sink->bulk_done(sink->arg, b, (int)(int64_t)b->words[1]);
        pthread_mutex_lock(&r->net->lock);
        moved = true;
    }
    pthread_mutex_unlock(&r->net->lock);
    return moved;
}

static bool unsent(struct orr_transport *t)
{
    (void)t;
    return false;
}

static bool shows(struct orr_transport *t, int peer, const void *p, bool changes)
{
    (void)peer, (void)p, (void)changes;
    return rank_of(t)->net->shown;
}

static void *view(struct orr_transport *t, int peer, uint64_t at, uint64_t bytes)
{
    (void)peer, (void)bytes;
    return rank_of(t)->net->shown ? (void *)(uintptr_t)at : NULL;
}

/* ---- the network ---- */

extern const struct orr_transport_ops orr_transport_inproc;

struct orr_inproc *orr_inproc_create(int ranks, uint64_t seed, unsigned max_delay, unsigned refuse_percent)
{
    struct orr_inproc *net = orr_calloc(1, sizeof *net + (size_t)ranks * sizeof net->ranks[0]);
    struct pair *pairs = orr_calloc((size_t)ranks * (size_t)ranks, sizeof *pairs);
    if (!net || !pairs) {
        orr_free(net);
        orr_free(pairs);
        return NULL;
    }
    *net = (struct orr_inproc){ .size = ranks,
                                .random = seed,
                                .max_delay = max_delay,
                                .refuse_percent = refuse_percent,
                                .pairs = pairs };
    net->last_greeting = &net->greetings;
    pthread_mutex_init(&net->lock, NULL);
    for (int i = 0; i < ranks * ranks; i++) pairs[i].tail = &pairs[i].head;
    for (int i = 0; i < ranks; i++)
        net->ranks[i] = (struct rank){ .transport = { .ops = &orr_transport_inproc,
                                                      .rank = i,
                                                      .size = ranks,
                                                      .bulk_tag_max = BULK_TAG_MAX },
                                       .net = net };
    return net;
}

struct orr_transport *orr_inproc_rank(struct orr_inproc *net, int rank)
{
    return &net->ranks[rank].transport;
}

void orr_inproc_show(struct orr_inproc *net)
{
    net->shown = true;
}

void orr_inproc_stall(struct orr_inproc *net, int rank, bool stalled)
{
    pthread_mutex_lock(&net->lock);
    net->ranks[rank].stalled = stalled;
    pthread_mutex_unlock(&net->lock);
}

void orr_inproc_destroy(struct orr_inproc *net)
{
    for (int i = 0; i < net->size * net->size; i++)
        for (struct buffer *m = net->pairs[i].head, *next; m; m = next) {
            next = m->next;
            free_message(net, i / net->size, m);
        }
    for (int i = 0; i < net->size; i++)
        for (struct buffer *b = net->ranks[i].free_buffers, *next; b; b = next) {
            next = b->next;
            orr_free(b);
        }
    for (struct greeting *g = net->greetings, *next; g; g = next) {
        next = g->next;
        orr_free(g);
    }
    pthread_mutex_destroy(&net->lock);
    orr_free(net->pairs);
    orr_free(net);
}

/* ---- the transport of a job ---- */

static struct orr_transport *open_alone(const struct orr_bootstrap *b)
{
    if (b->size > 1) {
        orr_error(
            "the transport inproc carries messages inside of one process only, and there are %d; start one, "
            "or unset ORRERY_MPI_TRANSPORT",
            b->size);
        return NULL;
    }
    struct orr_inproc *net = orr_inproc_create(1, 1, 0, 0);
    if (!net) {
        orr_error("starpu_mpi_init: out of memory");
        return NULL;
    }
    net->alone = true;
    return &net->ranks[0].transport;
}

static void destroy_rank(struct orr_transport *t)
{
    if (rank_of(t)->net->alone) orr_inproc_destroy(rank_of(t)->net);
}

const struct orr_transport_ops orr_transport_inproc = {
    .name = "inproc",
    .open = open_alone,
    .small_max = SMALL_MAX,
    .small_buffer = small_buffer,
    .small_release = small_release,
    .small_send = small_send,
    .bulk_send = post_bulk,
    .bulk_recv = post_bulk,
    .poll = poll_rank,
    .unsent = unsent,
    .greet = greet,
    .listen = listen_to,
    .unlisten = unlisten,
    .shows = shows,
    .view = view,
    .destroy = destroy_rank,
};
