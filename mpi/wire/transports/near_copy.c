/* SPDX-License-Identifier: BSD-3-Clause */
/* near_copy.c: see near_copy.h.
 * Threads: see near_copy.h. Owns: see near_copy.h. Not here: see near_copy.h.
 *
 * The sender notes where its bytes are. Once the receiver has that note and the receive, whichever comes
 * first, it copies, a part at each poll, and notes that it has; the sender's memory is its own again then.
 * What is in the sender's arena the receiver sees in its own memory, and that is up to three times as fast as
 * what the system copies for it from the other process (process_vm_readv), because that looks up each page.
 * What cannot be had so, such as memory of a device, or elements behind a type that only MPI knows, is
 * refused by either end, and goes as it would between nodes. */
#include "mpi/wire/transports/near_copy.h"

#include <string.h>
#include <sys/uio.h>

#include "core/base/alloc.h"
#include "core/base/sync.h"
#include "core/mem/arena.h"

enum {
    BUCKETS = 64,
    PIECES = 128,  /* in one call */
    RUN_MIN = 256, /* bytes in a row: what the system would read in smaller pieces is sooner packed */
    COPIED_PER_POLL = 1 << 20 /* bytes: others have their turn then */
};

/* How a transfer goes: in another way, read by the system, or seen in the arena. */
enum way { FAR, READ, SEEN };

/* Bytes in memory, as the sender has them: orr_payload's, without what is the receiver's to know. */
struct shape {
    uint64_t base, bytes, run_bytes;
    uint64_t count[ORR_PAYLOAD_DIMS], stride_bytes[ORR_PAYLOAD_DIMS];
    uint32_t ndims;
};

struct offer {
    uint64_t token; /* the sender's name for it */
    struct shape from;
    uint32_t tag;
    uint32_t way; /* enum way */
};
_Static_assert(sizeof(struct offer) <= ORR_NEAR_NOTE_MAX, "fits into a note");

/* An offer that was heard of, until it is answered. */
struct heard {
    struct heard *next;
    int rank;
    struct offer offer;
    struct orr_bulk *into; /* NULL: not received yet */
    struct shape to;
    const char *seen; /* its base, where it is seen; else NULL */
    uint64_t done_bytes;
    unsigned answer; /* which note is owed for it */
};

struct heard_list {
    struct heard *head, **tail;
};

struct orr_near_copies {
    struct orr_near *near;
    void (*far)(void *arg, struct orr_bulk *b);
    void *far_arg;
    struct heard *offers[BUCKETS];      /* without a receive */
    struct orr_bulk *receives[BUCKETS]; /* without an offer */
    struct heard_list copying, owing;
    struct orr_bulk *unoffered; /* for which there was no room */
    struct heard *free;
};

/* ---- bytes in memory ---- */

/* False: it cannot be described. */
static bool describe(const struct orr_payload *p, struct shape *s)
{
    *s = (struct shape){ .base = (uintptr_t)p->base, .bytes = p->bytes, .run_bytes = p->bytes };
    if (p->on_device || p->kind == ORR_PAYLOAD_OPAQUE) return false;
    if (p->kind == ORR_PAYLOAD_BYTES) return true;
    s->run_bytes = p->run_bytes;
    s->ndims = p->ndims;
    for (int i = 0; i < p->ndims; i++) {
        s->count[i] = p->dims[i].count;
        s->stride_bytes[i] = p->dims[i].stride_bytes;
    }
    return true;
}

/* From the first byte to the last. */
static uint64_t extent(const struct shape *s)
{
    uint64_t bytes = s->run_bytes;
    for (uint32_t i = 0; i < s->ndims; i++) bytes += (s->count[i] - 1) * s->stride_bytes[i];
    return bytes;
}

/* The pieces that the bytes behind so many are in, no more than most; returns how many bytes they have. */
static uint64_t list_pieces(const struct shape *s, uint64_t before, uint64_t most, struct iovec *v, int *n)
{
    uint64_t at = s->base, run = before / s->run_bytes, within = before % s->run_bytes, listed = 0;
    uint64_t index[ORR_PAYLOAD_DIMS];
    for (uint32_t i = 0; i < s->ndims; i++) {
        index[i] = run % s->count[i];
        at += index[i] * s->stride_bytes[i];
        run /= s->count[i];
    }
    for (*n = 0; *n < PIECES && listed < most; ++*n, within = 0) {
        uint64_t left = s->run_bytes - within;
        if (left > most - listed) left = most - listed;
        v[*n] = (struct iovec){ (void *)(uintptr_t)(at + within), left };
        listed += left;
        for (uint32_t i = 0; i < s->ndims; i++) {
            at += s->stride_bytes[i];
            if (++index[i] < s->count[i]) break;
            at -= index[i] * s->stride_bytes[i];
            index[i] = 0;
        }
    }
    return listed;
}

/* What is in some pieces of seen, which are listed as the sender has them, goes into others. */
static uint64_t copy_pieces(const struct heard *h, struct iovec *there, int nthere, struct iovec *here,
                            int nhere)
{
    uint64_t copied = 0;
    for (int t = 0, i = 0; t < nthere && i < nhere;) {
        size_t bytes = there[t].iov_len < here[i].iov_len ? there[t].iov_len : here[i].iov_len;
        const char *from = h->seen + ((uintptr_t)there[t].iov_base - h->offer.from.base);
        memcpy(here[i].iov_base, from, bytes);
        there[t].iov_base = (char *)there[t].iov_base + bytes;
        here[i].iov_base = (char *)here[i].iov_base + bytes;
        t += (there[t].iov_len -= bytes) == 0;
        i += (here[i].iov_len -= bytes) == 0;
        copied += bytes;
    }
    return copied;
}

/* Copies some of h's bytes; returns how many, or -1. */
static ssize_t copy_some(struct orr_near_copies *c, struct heard *h)
{
    struct iovec here[PIECES], there[PIECES];
    int nhere, nthere;
    uint64_t left = h->offer.from.bytes - h->done_bytes,
             most = left < COPIED_PER_POLL ? left : COPIED_PER_POLL;
    most = list_pieces(&h->offer.from, h->done_bytes, most, there, &nthere);
    list_pieces(&h->to, h->done_bytes, most, here, &nhere); /* if it has fewer, so many are copied */
    if (h->seen) return (ssize_t)copy_pieces(h, there, nthere, here, nhere);
    return process_vm_readv(orr_near_process(c->near, h->rank), here, (unsigned long)nhere, there,
                            (unsigned long)nthere, 0);
}

/* ---- lists ---- */

static void list_init(struct heard_list *l)
{
    l->head = NULL;
    l->tail = &l->head;
}

static void list_append(struct heard_list *l, struct heard *h)
{
    h->next = NULL;
    *l->tail = h;
    l->tail = &h->next;
}

static struct heard *list_take(struct heard_list *l)
{
    struct heard *h = l->head;
    l->head = h->next;
    if (!l->head) l->tail = &l->head;
    return h;
}

static unsigned bucket_of(int rank, uint32_t tag)
{
    return (tag + (uint32_t)rank * 7) % BUCKETS;
}

/* The receive that an offer is for, or NULL. */
static struct orr_bulk *take_receive(struct orr_near_copies *c, int rank, uint32_t tag)
{
    struct orr_bulk **p = &c->receives[bucket_of(rank, tag)], *b;
    while ((b = *p) && (b->peer != rank || b->tag != tag)) p = &b->next;
    if (b) *p = b->next;
    return b;
}

/* The offer that a receive is for, or NULL. */
static struct heard *take_offer(struct orr_near_copies *c, int rank, uint32_t tag)
{
    struct heard **p = &c->offers[bucket_of(rank, tag)], *h;
    while ((h = *p) && (h->rank != rank || h->offer.tag != tag)) p = &h->next;
    if (h) *p = h->next;
    return h;
}

static void recycle(struct orr_near_copies *c, struct heard *h)
{
    h->next = c->free;
    c->free = h;
}

/* ---- the receiver ---- */

/* Answers h's sender; false: there is no room. */
static bool answer(struct orr_near_copies *c, struct heard *h)
{
    if (!orr_near_note(c->near, h->rank, h->answer, &h->offer.token, sizeof h->offer.token)) return false;
    recycle(c, h);
    return true;
}

static void answer_now_or_later(struct orr_near_copies *c, struct heard *h, unsigned note)
{
    h->answer = note;
    if (!answer(c, h)) list_append(&c->owing, h);
}

/* Neither end copies. */
static void refuse(struct orr_near_copies *c, struct heard *h)
{
    struct orr_bulk *b = h->into;
    answer_now_or_later(c, h, ORR_NEAR_REFUSED);
    b->quiet = false;
    c->far(c->far_arg, b);
}

/* Whether h can be copied; if so, how is found. */
static bool find_way(struct orr_near_copies *c, struct heard *h)
{
    const struct shape *from = &h->offer.from;
    if (!describe(h->into->payload, &h->to) || h->to.bytes != from->bytes) return false;
    h->seen = NULL;
    if (h->offer.way == SEEN) h->seen = orr_near_view(c->near, h->rank, from->base, extent(from));
    return h->offer.way == SEEN ? h->seen != NULL : h->to.run_bytes >= RUN_MIN;
}

/* h has its receive. False: it goes in the other way, and the sender is to look. */
static bool begin(struct orr_near_copies *c, struct heard *h)
{
    struct orr_bulk *b = h->into;
    if (h->offer.way == FAR) {
        recycle(c, h);
        b->quiet = false;
        c->far(c->far_arg, b);
        return false;
    }
    if (!find_way(c, h)) {
        refuse(c, h);
        return false;
    }
    h->done_bytes = 0;
    list_append(&c->copying, h);
    return true;
}

static bool hear_offer(struct orr_near_copies *c, int rank, const struct offer *offer,
                       const struct orr_transport_sink *sink)
{
    struct heard *h = c->free;
    if (h)
        c->free = h->next;
    else if (!(h = orr_malloc(sizeof *h)))
        return false;
    h->rank = rank;
    h->offer = *offer;
    h->into = take_receive(c, rank, offer->tag);
    if (h->into) {
        if (!begin(c, h)) sink->wake(sink->arg, rank);
    } else {
        struct heard **list = &c->offers[bucket_of(rank, offer->tag)];
        h->next = *list;
        *list = h;
    }
    return true;
}

/* One part of h, which is on no list. */
static void go_on(struct orr_near_copies *c, struct heard *h, uint64_t *copied,
                  const struct orr_transport_sink *sink)
{
    struct orr_bulk *b = h->into;
    ssize_t some = copy_some(c, h);
    if (orr_unlikely(some <= 0)) {
        refuse(c, h);
        sink->wake(sink->arg, b->peer);
        return;
    }
    h->done_bytes += (uint64_t)some;
    *copied += (uint64_t)some;
    if (h->done_bytes < h->offer.from.bytes) {
        list_append(&c->copying, h);
        return;
    }
    answer_now_or_later(c, h, ORR_NEAR_COPIED);
    b->quiet = false;
    sink->bulk_done(sink->arg, b, 0);
}

/* ---- the sender ---- */

static enum way way_of(const struct orr_near_copies *c, int rank, const struct shape *s)
{
    if (orr_near_rank_sees(c->near, rank) && orr_arena_owns((void *)(uintptr_t)s->base)) return SEEN;
    return orr_near_rank_reads(c->near, rank) && s->run_bytes >= RUN_MIN ? READ : FAR;
}

static bool offer(struct orr_near_copies *c, struct orr_bulk *b)
{
    struct offer o = { .token = (uintptr_t)b, .tag = b->tag };
    o.way = describe(b->payload, &o.from) ? way_of(c, b->peer, &o.from) : FAR;
    if (!orr_near_note(c->near, b->peer, ORR_NEAR_OFFER, &o, sizeof o)) return false;
    if (o.way == FAR) c->far(c->far_arg, b);
    return true;
}

static bool offer_now_or_later(struct orr_near_copies *c, struct orr_bulk *b)
{
    if (offer(c, b)) return true;
    b->next = c->unoffered;
    c->unoffered = b;
    return false;
}

/* ---- in all ---- */

void orr_near_copies_start(struct orr_near_copies *c, struct orr_bulk *b)
{
    if (b->sending) {
        offer_now_or_later(c, b);
        return;
    }
    struct heard *h = take_offer(c, b->peer, b->tag);
    b->quiet = true;
    if (h) {
        h->into = b;
        begin(c, h);
    } else {
        struct orr_bulk **list = &c->receives[bucket_of(b->peer, b->tag)];
        b->next = *list;
        *list = b;
    }
}

bool orr_near_copies_heard(struct orr_near_copies *c, int rank, unsigned kind, const void *note,
                           const struct orr_transport_sink *sink)
{
    if (kind == ORR_NEAR_OFFER) return hear_offer(c, rank, note, sink);
    struct orr_bulk *b = (struct orr_bulk *)(uintptr_t) * (const uint64_t *)note;
    b->quiet = kind == ORR_NEAR_COPIED;
    if (kind == ORR_NEAR_COPIED) {
        sink->bulk_done(sink->arg, b, 0);
    } else {
        c->far(c->far_arg, b);
        sink->wake(sink->arg, rank);
    }
    return true;
}

/* Notes for which there was no room. A rank that reads none holds up its own alone. */
static void catch_up(struct orr_near_copies *c, const struct orr_transport_sink *sink)
{
    struct heard *owing = c->owing.head, *h;
    struct orr_bulk *unoffered = c->unoffered, *b;
    list_init(&c->owing);
    c->unoffered = NULL;
    while ((h = owing)) {
        int rank = h->rank;
        owing = h->next;
        if (answer(c, h))
            sink->wake(sink->arg, rank);
        else
            list_append(&c->owing, h);
    }
    while ((b = unoffered)) {
        int rank = b->peer;
        unoffered = b->next;
        if (offer_now_or_later(c, b)) sink->wake(sink->arg, rank);
    }
}

bool orr_near_copies_poll(struct orr_near_copies *c, const struct orr_transport_sink *sink)
{
    uint64_t copied = 0;
    if (orr_unlikely(c->owing.head || c->unoffered)) catch_up(c, sink);
    bool moved = c->copying.head != NULL;
    while (c->copying.head && copied < COPIED_PER_POLL) go_on(c, list_take(&c->copying), &copied, sink);
    return moved;
}

bool orr_near_copies_unsent(const struct orr_near_copies *c)
{
    return c->owing.head || c->unoffered;
}

struct orr_near_copies *orr_near_copies_new(struct orr_near *n, void (*far)(void *arg, struct orr_bulk *b),
                                            void *arg)
{
    struct orr_near_copies *c = orr_calloc(1, sizeof *c);
    if (!c) return NULL;
    c->near = n;
    c->far = far;
    c->far_arg = arg;
    list_init(&c->copying);
    list_init(&c->owing);
    return c;
}

void orr_near_copies_free(struct orr_near_copies *c)
{
    if (!c) return;
    for (struct heard *h = c->free, *next; h; h = next) {
        next = h->next;
        orr_free(h);
    }
    orr_free(c);
}
