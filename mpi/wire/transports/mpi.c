/* SPDX-License-Identifier: BSD-3-Clause */
/* transports/mpi.c: messages over MPI: small ones into a ring of receives that are always posted, large ones
 * by plain non-blocking sends and receives of unique tags. Between ranks of one node over memory that they
 * share (near.h, near_copy.h), which is several times as fast; MPI takes what cannot go there.
 * Threads: one at a time (the engine's lock); create and destroy by the main thread. Owns: two communicators
 * duplicated from the program's, buffers, MPI requests. Not here: who matches what (receiving.c), the
 * program's communicators (api/comm.c).
 *
 * The ring is served strictly in the order of posting. MPI matches receives in that order and messages of one
 * sender in the order of sending, so this keeps each sender's order even when a later receive completes
 * first.
 *
 * Where ranks outnumber cores, Open MPI yields the core inside each test that finds nothing. The engine
 * decides itself when to yield (progress.c), and a yield between two tests delays a message by a turn of
 * whoever else polls on the core: so yielding is switched off while the engine polls, and only then. */
#include <dlfcn.h>
#include <errno.h>
#include <mpi.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/sync.h"
#include "core/mem/arena.h"
#include "mpi/wire/transport.h"
#include "mpi/wire/transports/near.h"
#include "mpi/wire/transports/near_copy.h"

enum {
    SMALL_MAX = ORR_NEAR_MAX,
    RING = 32, /* receives posted for small messages */
    RING_PER_POLL = 16,
    SENDING_MAX = 512,     /* small messages that MPI has not finished with: more wait for a buffer, ... */
    URGENT_MAX = 128,      /* ... but for so many that are urgent: acknowledgements and heartbeats */
    TEST_WINDOW = 64,      /* large transfers tested in one poll */
    CHUNK_BYTES = 1 << 30, /* a transfer of more goes in several messages: MPI counts with ints */
    SMALL_TAG = 1,
    NEAR_SMALL = ORR_NEAR_KINDS /* kind of a small message between ranks that are near */
};

struct buffer {
    struct buffer *next;
    MPI_Request request;
    int peer; /* whom it is for */
    _Alignas(64) char bytes[SMALL_MAX];
};

struct slot {
    MPI_Request request;
    char *bytes;
    bool kept; /* offered and refused: it is offered again */
    int source, count;
};

/* A name on its way to a rank of the program's communicator. */
struct greeting {
    struct greeting *next;
    MPI_Request request;
    uint32_t words[2]; /* the name, and in which start of the layer it holds */
};

struct mpi_transport {
    struct orr_transport base; /* first */
    MPI_Comm small_comm, bulk_comm;
    struct orr_near *near; /* NULL: no rank is near */
    struct orr_near_copies *copies;
    bool all_near; /* nothing small comes over MPI */
    struct slot ring[RING];
    unsigned head; /* the oldest posted receive */
    char *ring_memory;
    uint64_t *sent, received; /* small messages: by rank, and from all */
    int *pending;             /* of nsending, by rank */
    struct buffer *free_buffers;
    struct buffer *sending; /* sends MPI has not finished with */
    int nsending;
    struct orr_bulk *bulk, **bulk_tail;
    struct orr_bulk *failed;    /* could not even be started */
    struct greeting *greetings; /* sends of names that MPI has not finished with */
    struct orr_hello *hellos;   /* names that are waited for */
    uint32_t start;             /* which one this is: all its ranks count alike, and none met it before */
    bool (*set_yield)(bool);    /* Open MPI's switch, returns how it stood; NULL: not Open MPI, or none */
    bool error_shown;
};

/* In struct orr_bulk.words: */
enum { WORD_REQUEST, WORD_DONE_BYTES };
_Static_assert(sizeof(MPI_Request) <= sizeof(uint64_t), "fits in a word, also of struct orr_hello");

static MPI_Request request_of(const struct orr_bulk *b)
{
    MPI_Request r;
    memcpy(&r, &b->words[WORD_REQUEST], sizeof r);
    return r;
}

static void set_request(struct orr_bulk *b, MPI_Request r)
{
    memcpy(&b->words[WORD_REQUEST], &r, sizeof r);
}

static bool failed(struct mpi_transport *m, int code, const char *what)
{
    if (code == MPI_SUCCESS) return false;
    if (!m->error_shown) {
        char text[MPI_MAX_ERROR_STRING] = "";
        int length = 0;
        MPI_Error_string(code, text, &length);
        orr_error("rank %d: %s failed: %s", m->base.rank, what, text);
        m->error_shown = true;
    }
    return true;
}

/* Around calls that would yield the core; end takes what begin returned. */
static bool no_yield_begin(struct mpi_transport *m)
{
    return m->set_yield && m->set_yield(false);
}

static void no_yield_end(struct mpi_transport *m, bool yielded)
{
    if (yielded) m->set_yield(true);
}

/* ---- small messages ---- */

/* No rank has more than are left: one that takes nothing gets half of them, two a third each, and there are
 * always some for the next. */
static void *small_buffer(struct orr_transport *t, int peer, bool urgent)
{
    struct mpi_transport *m = (struct mpi_transport *)t;
    bool near = orr_near_reaches(m->near, peer);
    if (near ? !orr_near_reserve(m->near, peer, urgent)
             : m->pending[peer] >= SENDING_MAX + (urgent ? URGENT_MAX : 0) - m->nsending)
        return NULL;
    struct buffer *b = m->free_buffers;
    if (b)
        m->free_buffers = b->next;
    else
        b = orr_malloc_aligned(64, sizeof *b);
    if (b)
        b->peer = peer;
    else if (near)
        orr_near_release(m->near, peer);
    return b ? b->bytes : NULL;
}

static struct buffer *buffer_of(void *bytes)
{
    return (struct buffer *)((char *)bytes - offsetof(struct buffer, bytes));
}

static void recycle(struct mpi_transport *m, struct buffer *b)
{
    b->next = m->free_buffers;
    m->free_buffers = b;
}

static void small_release(struct orr_transport *t, void *bytes)
{
    struct mpi_transport *m = (struct mpi_transport *)t;
    struct buffer *b = buffer_of(bytes);
    if (orr_near_reaches(m->near, b->peer)) orr_near_release(m->near, b->peer);
    recycle(m, b);
}

static void small_send(struct orr_transport *t, int peer, void *bytes, size_t count)
{
    struct mpi_transport *m = (struct mpi_transport *)t;
    struct buffer *b = buffer_of(bytes);
    if (orr_near_reaches(m->near, peer)) {
        orr_near_put(m->near, peer, NEAR_SMALL, bytes, count);
        recycle(m, b);
        return;
    }
    int done = 0;
    bool yielded = no_yield_begin(m);
    bool over =
        failed(m, MPI_Isend(b->bytes, (int)count, MPI_BYTE, peer, SMALL_TAG, m->small_comm, &b->request),
               "MPI_Isend");
    m->sent[peer] += !over;
    if (!over) over = MPI_Test(&b->request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done;
    no_yield_end(m, yielded);
    if (over) {
        recycle(m, b);
        return;
    }
    b->next = m->sending;
    m->sending = b;
    m->nsending++;
    m->pending[peer]++;
}

static void test_sending(struct mpi_transport *m, const struct orr_transport_sink *sink)
{
    for (struct buffer **p = &m->sending, *b; (b = *p);) {
        int done = 0;
        if (failed(m, MPI_Test(&b->request, &done, MPI_STATUS_IGNORE), "MPI_Test") || done) {
            *p = b->next;
            m->nsending--;
            m->pending[b->peer]--;
            if (sink && sink->wake) sink->wake(sink->arg, b->peer);
            recycle(m, b);
        } else {
            p = &b->next;
        }
    }
}

static void post_slot(struct mpi_transport *m, struct slot *s)
{
    s->kept = false;
    failed(m, MPI_Irecv(s->bytes, SMALL_MAX, MPI_BYTE, MPI_ANY_SOURCE, SMALL_TAG, m->small_comm, &s->request),
           "MPI_Irecv");
}

static bool poll_ring(struct mpi_transport *m, const struct orr_transport_sink *sink)
{
    bool moved = false;
    for (int i = 0; i < RING_PER_POLL; i++) {
        struct slot *s = &m->ring[m->head];
        if (!s->kept) {
            MPI_Status status;
            int arrived = 0;
            if (failed(m, MPI_Test(&s->request, &arrived, &status), "MPI_Test") || !arrived) break;
            m->received++;
            s->source = status.MPI_SOURCE;
            MPI_Get_count(&status, MPI_BYTE, &s->count);
        }
        s->kept = !sink->small(sink->arg, s->source, s->bytes, (size_t)s->count);
        if (s->kept) break;
        post_slot(m, s);
        m->head = (m->head + 1) % RING;
        moved = true;
    }
    return moved;
}

/* ---- types ---- */

/* The MPI type of so many bytes in a row, which may be more than MPI counts. */
static int run_type(size_t bytes, MPI_Datatype *type_out)
{
    if (bytes <= CHUNK_BYTES) return MPI_Type_contiguous((int)bytes, MPI_BYTE, type_out);
    size_t chunks = bytes / CHUNK_BYTES, rest = bytes % CHUNK_BYTES;
    MPI_Datatype chunk, parts[2];
    int code = MPI_Type_contiguous(CHUNK_BYTES, MPI_BYTE, &chunk);
    if (code == MPI_SUCCESS) code = MPI_Type_contiguous((int)chunks, chunk, &parts[0]);
    if (code == MPI_SUCCESS) code = MPI_Type_contiguous((int)rest, MPI_BYTE, &parts[1]);
    if (code == MPI_SUCCESS)
        code = MPI_Type_create_struct(2, (const int[]){ 1, 1 },
                                      (const MPI_Aint[]){ 0, (MPI_Aint)(chunks * CHUNK_BYTES) }, parts,
                                      type_out);
    if (code != MPI_SUCCESS) return code; /* out of memory: what was made stays */
    MPI_Type_free(&chunk);
    MPI_Type_free(&parts[0]);
    MPI_Type_free(&parts[1]);
    return MPI_SUCCESS;
}

/* The MPI type of a strided payload, committed. */
static int strided_type(const struct orr_payload *p, MPI_Datatype *type_out)
{
    MPI_Datatype type, outer;
    int code = run_type(p->run_bytes, &type);
    for (int i = 0; i < p->ndims && code == MPI_SUCCESS; i++) {
        code = MPI_Type_create_hvector((int)p->dims[i].count, 1, (MPI_Aint)p->dims[i].stride_bytes, type,
                                       &outer);
        MPI_Type_free(&type);
        type = outer;
    }
    if (code == MPI_SUCCESS) code = MPI_Type_commit(&type);
    *type_out = type;
    return code;
}

static MPI_Datatype opaque_type(const struct orr_payload *p)
{
    return *(MPI_Datatype *)p->opaque;
}

static int gather(struct orr_transport *t, const struct orr_payload *p, void *to)
{
    struct mpi_transport *m = (struct mpi_transport *)t;
    int at = 0;
    return failed(m, MPI_Pack(p->base, 1, opaque_type(p), to, SMALL_MAX, &at, m->small_comm), "MPI_Pack")
               ? -EIO
               : 0;
}

static int scatter(struct orr_transport *t, const struct orr_payload *p, const void *from)
{
    struct mpi_transport *m = (struct mpi_transport *)t;
    int at = 0;
    return failed(m, MPI_Unpack(from, (int)p->bytes, &at, p->base, 1, opaque_type(p), m->small_comm),
                  "MPI_Unpack")
               ? -EIO
               : 0;
}

/* ---- large transfers ---- */

static int start(struct mpi_transport *m, struct orr_bulk *b, void *at, int count, MPI_Datatype type)
{
    MPI_Request r = MPI_REQUEST_NULL;
    int code = b->sending ? MPI_Isend(at, count, type, b->peer, (int)b->tag, m->bulk_comm, &r)
                          : MPI_Irecv(at, count, type, b->peer, (int)b->tag, m->bulk_comm, &r);
    set_request(b, r);
    return code;
}

/* Starts the next part, or the whole. */
static int start_part(struct mpi_transport *m, struct orr_bulk *b)
{
    const struct orr_payload *p = b->payload;
    if (p->kind == ORR_PAYLOAD_BYTES) {
        size_t done = b->words[WORD_DONE_BYTES], left = p->bytes - done;
        int count = left > CHUNK_BYTES ? CHUNK_BYTES : (int)left;
        b->words[WORD_DONE_BYTES] += (uint64_t)count;
        return start(m, b, (char *)p->base + done, count, MPI_BYTE);
    }
    b->words[WORD_DONE_BYTES] = p->bytes;
    if (p->kind == ORR_PAYLOAD_OPAQUE) return start(m, b, p->base, 1, opaque_type(p));
    MPI_Datatype type;
    int code = strided_type(p, &type);
    if (code != MPI_SUCCESS) return code;
    code = start(m, b, p->base, 1, type);
    MPI_Type_free(&type); /* lives on until the transfer ends */
    return code;
}

static void start_far(void *transport, struct orr_bulk *b)
{
    struct mpi_transport *m = transport;
    b->next = NULL;
    b->words[WORD_DONE_BYTES] = 0;
    if (failed(m, start_part(m, b), b->sending ? "MPI_Isend" : "MPI_Irecv")) {
        b->next = m->failed;
        m->failed = b;
        return;
    }
    *m->bulk_tail = b;
    m->bulk_tail = &b->next;
}

static void start_bulk(struct orr_transport *t, struct orr_bulk *b)
{
    struct mpi_transport *m = (struct mpi_transport *)t;
    if (b->sending ? orr_near_rank_fetches(m->near, b->peer) : orr_near_fetches_from(m->near, b->peer))
        orr_near_copies_start(m->copies, b);
    else
        start_far(m, b);
}

static bool fetches(struct orr_transport *t, int peer)
{
    return orr_near_rank_fetches(((struct mpi_transport *)t)->near, peer);
}

static bool shows(struct orr_transport *t, int peer, const void *p, bool changes)
{
    const struct orr_near *near = ((struct mpi_transport *)t)->near;
    if (changes ? !orr_near_rank_changes(near, peer) : !orr_near_rank_sees(near, peer)) return false;
    return orr_arena_owns(p);
}

static void *view(struct orr_transport *t, int peer, uint64_t at, uint64_t bytes)
{
    struct orr_near *near = ((struct mpi_transport *)t)->near;
    return orr_near_reaches(near, peer) ? orr_near_view(near, peer, at, bytes) : NULL;
}

/* Goes on with a transfer of which a part ended; returns whether the whole has, with its status. */
static bool part_ended(struct mpi_transport *m, struct orr_bulk *b, int code, int *status_out)
{
    *status_out = failed(m, code, "a large transfer") ? -EIO : 0;
    if (*status_out || b->words[WORD_DONE_BYTES] >= b->payload->bytes) return true;
    if (!failed(m, start_part(m, b), "a large transfer")) return false;
    *status_out = -EIO;
    return true;
}

/* Tests the oldest transfers, and puts those that go on at the end of the list, so that all get their turn.
 * */
static bool poll_bulk(struct mpi_transport *m, const struct orr_transport_sink *sink)
{
    struct orr_bulk *window[TEST_WINDOW], *b;
    MPI_Request requests[TEST_WINDOW];
    MPI_Status statuses[TEST_WINDOW];
    int indices[TEST_WINDOW], count = 0, ended = 0, status;
    for (b = m->bulk; b && count < TEST_WINDOW; b = b->next, count++) {
        window[count] = b;
        requests[count] = request_of(b);
    }
    int code = MPI_Testsome(count, requests, &ended, indices, statuses);
    if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) return false;
    if (ended <= 0) ended = 0;
    if (ended == 0 && !b) return false;
    /* off the list, all of the window */
    m->bulk = b;
    if (!b) m->bulk_tail = &m->bulk;
    for (int i = 0; i < ended; i++) {
        struct orr_bulk *e = window[indices[i]];
        window[indices[i]] = NULL;
        int part_code = code == MPI_ERR_IN_STATUS ? statuses[i].MPI_ERROR : MPI_SUCCESS;
        if (part_ended(m, e, part_code, &status))
            sink->bulk_done(sink->arg, e, status);
        else {
            e->next = NULL;
            *m->bulk_tail = e;
            m->bulk_tail = &e->next;
        }
    }
    for (int i = 0; i < count; i++) {
        if (!window[i]) continue;
        set_request(window[i], requests[i]);
        window[i]->next = NULL;
        *m->bulk_tail = window[i];
        m->bulk_tail = &window[i]->next;
    }
    return ended > 0;
}

/* ---- names of the program's communicators ---- */

/* They go over that communicator itself: MPI alone knows, on both ranks, which it is. */
static MPI_Comm program_comm(const struct orr_foreign *f)
{
    return (MPI_Comm)(intptr_t)f->comm;
}

static int greet(struct orr_transport *t, const struct orr_foreign *to, uint32_t name)
{
    struct mpi_transport *m = (struct mpi_transport *)t;
    struct greeting *g = orr_malloc(sizeof *g);
    if (!g) return -ENOMEM;
    g->words[0] = name;
    g->words[1] = m->start;
    if (failed(m, MPI_Isend(g->words, 2, MPI_UINT32_T, to->rank, to->tag, program_comm(to), &g->request),
               "MPI_Isend")) {
        orr_free(g);
        return -EIO;
    }
    g->next = m->greetings;
    m->greetings = g;
    return 0;
}

static void test_greetings(struct mpi_transport *m)
{
    for (struct greeting **p = &m->greetings, *g; (g = *p);) {
        int done = 0;
        if (failed(m, MPI_Test(&g->request, &done, MPI_STATUS_IGNORE), "MPI_Test") || done) {
            *p = g->next;
            orr_free(g);
        } else {
            p = &g->next;
        }
    }
}

static MPI_Request request_of_hello(const struct orr_hello *h)
{
    MPI_Request r;
    memcpy(&r, &h->word, sizeof r);
    return r;
}

/* Waits for what h->from tells. The program's communicator may have lived through an earlier start of the
 * layer, when its name was told and nobody wanted to know: that is passed over. Whether it came; or -EIO. */
static int hear(struct mpi_transport *m, struct orr_hello *h)
{
    MPI_Request r;
    int heard;
    do {
        if (failed(m,
                   MPI_Irecv(h->said, 2, MPI_UINT32_T, h->from.rank, h->from.tag, program_comm(&h->from), &r),
                   "MPI_Irecv"))
            return -EIO;
        failed(m, MPI_Test(&r, &heard, MPI_STATUS_IGNORE), "MPI_Test");
    } while (heard && h->said[1] != m->start);
    memcpy(&h->word, &r, sizeof r);
    return heard;
}

static int listen_to(struct orr_transport *t, const struct orr_foreign *from, struct orr_hello *h)
{
    struct mpi_transport *m = (struct mpi_transport *)t;
    h->from = *from;
    if (hear(m, h) < 0) return -EIO;
    h->next = m->hellos;
    m->hellos = h;
    return 0;
}

static void unlisten(struct orr_transport *t, struct orr_hello *h)
{
    struct mpi_transport *m = (struct mpi_transport *)t;
    struct orr_hello **p = &m->hellos;
    MPI_Request r = request_of_hello(h);
    while (*p && *p != h) p = &(*p)->next;
    if (!*p) return;
    *p = h->next;
    if (r == MPI_REQUEST_NULL) return; /* it came just before */
    MPI_Cancel(&r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static bool poll_hellos(struct mpi_transport *m, const struct orr_transport_sink *sink)
{
    bool moved = false;
    for (struct orr_hello **p = &m->hellos, *h; (h = *p);) {
        MPI_Request r = request_of_hello(h);
        int heard = 0;
        failed(m, MPI_Test(&r, &heard, MPI_STATUS_IGNORE), "MPI_Test");
        memcpy(&h->word, &r, sizeof r);
        if (heard && h->said[1] != m->start) heard = hear(m, h) > 0;
        if (heard) {
            h->name = h->said[0];
            *p = h->next;
            sink->heard(sink->arg, h);
            moved = true;
        } else {
            p = &h->next;
        }
    }
    return moved;
}

struct near_poll {
    struct mpi_transport *m;
    const struct orr_transport_sink *sink;
};

static bool take_near(void *poll, int rank, unsigned kind, const void *bytes, size_t count)
{
    const struct near_poll *p = poll;
    if (orr_likely(kind == NEAR_SMALL)) return p->sink->small(p->sink->arg, rank, bytes, count);
    return orr_near_copies_heard(p->m->copies, rank, kind, bytes, p->sink);
}

static void tell_room(void *poll, int rank)
{
    const struct near_poll *p = poll;
    p->sink->wake(p->sink->arg, rank);
}

static bool poll_near(struct mpi_transport *m, const struct orr_transport_sink *sink)
{
    struct near_poll p = { m, sink };
    bool moved = orr_near_poll(m->near, take_near, &p, tell_room);
    return orr_near_copies_poll(m->copies, sink) || moved;
}

/* Whether MPI has anything to look at. */
static bool is_far_busy(const struct mpi_transport *m)
{
    return !m->all_near || m->bulk || m->greetings || m->hellos || m->failed;
}

static bool poll(struct orr_transport *t, const struct orr_transport_sink *sink)
{
    struct mpi_transport *m = (struct mpi_transport *)t;
    bool moved = m->near && poll_near(m, sink);
    if (orr_likely(!is_far_busy(m))) return moved;
    bool yielded = no_yield_begin(m);
    if (!m->all_near) moved |= poll_ring(m, sink);
    if (m->sending) test_sending(m, sink);
    if (m->bulk) moved |= poll_bulk(m, sink);
    if (orr_unlikely(m->greetings != NULL)) test_greetings(m);
    if (orr_unlikely(m->hellos != NULL)) moved |= poll_hellos(m, sink);
    while (m->failed) {
        struct orr_bulk *b = m->failed;
        m->failed = b->next;
        sink->bulk_done(sink->arg, b, -EIO);
        moved = true;
    }
    no_yield_end(m, yielded);
    return moved;
}

static bool unsent(struct orr_transport *t)
{
    const struct mpi_transport *m = (struct mpi_transport *)t;
    return m->sending || m->greetings || (m->near && orr_near_copies_unsent(m->copies));
}

/* ---- beginning and end ---- */

/* MPI promises tags up to 32767, and says how far they really go. */
static uint32_t highest_tag(MPI_Comm comm)
{
    void *value = NULL;
    int is_set = 0;
    if (MPI_Comm_get_attr(comm, MPI_TAG_UB, &value, &is_set) != MPI_SUCCESS || !is_set || *(int *)value < 1)
        return 32767;
    return (uint32_t) * (int *)value;
}

/* An MPI library that knows such devices has a function that says so. */
static bool knows(struct orr_transport *t, const char *kind)
{
    char name[64];
    int (*ask)(void);
    (void)t;
    snprintf(name, sizeof name, "MPIX_Query_%s_support", kind);
    *(void **)&ask = dlsym(RTLD_DEFAULT, name);
    return ask && ask();
}

/* Collective. */
static void count_start(struct mpi_transport *m)
{
    static uint32_t starts;
    starts++;
    MPI_Allreduce(&starts, &m->start, 1, MPI_UINT32_T, MPI_MAX, m->small_comm);
    starts = m->start;
}

static void free_memory(struct mpi_transport *m)
{
    while (m->free_buffers) {
        struct buffer *b = m->free_buffers;
        m->free_buffers = b->next;
        orr_free(b);
    }
    orr_near_copies_free(m->copies);
    orr_near_close(m->near);
    orr_free(m->ring_memory);
    orr_free(m->sent);
    orr_free(m->pending);
    orr_free(m);
}

static bool drop(void *arg, int source, const void *message, size_t bytes)
{
    (void)arg;
    (void)source;
    (void)message;
    (void)bytes;
    return true;
}

static void let_sleep(void *arg, int peer)
{
    (void)arg;
    (void)peer;
}

/* Takes everything off the network that was sent to this rank: a heartbeat, say, that overtook the last
 * barrier. Left there, it would come to the next communicator that MPI gives the same number. Collective. */
static void drain(struct mpi_transport *m)
{
    const struct orr_transport_sink sink = { .small = drop };
    uint64_t to_come = 0;
    if (failed(m, MPI_Reduce_scatter_block(m->sent, &to_come, 1, MPI_UINT64_T, MPI_SUM, m->small_comm),
               "MPI_Reduce_scatter_block"))
        return;
    while (m->received < to_come && !m->error_shown)
        if (!poll_ring(m, &sink)) sched_yield();
}

static void destroy(struct orr_transport *t)
{
    static const struct orr_transport_sink nobody = { .wake = let_sleep };
    struct mpi_transport *m = (struct mpi_transport *)t;
    while (m->near && orr_near_copies_unsent(m->copies)) { /* what others wait for before they end */
        orr_near_copies_poll(m->copies, &nobody);
        sched_yield();
    }
    while (m->sending) {
        test_sending(m, NULL);
        sched_yield();
    }
    drain(m);
    while (m->greetings) {
        test_greetings(m);
        sched_yield();
    }
    for (int i = 0; i < RING; i++) {
        if (m->ring[i].kept) continue;
        MPI_Cancel(&m->ring[i].request);
        MPI_Wait(&m->ring[i].request, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&m->small_comm);
    MPI_Comm_free(&m->bulk_comm);
    free_memory(m);
}

static void abort_job(struct orr_transport *t)
{
    MPI_Abort(((struct mpi_transport *)t)->small_comm, 1);
}

extern const struct orr_transport_ops orr_transport_mpi;

/* All that a transport for so many ranks needs; NULL: there is not enough (said). */
static struct mpi_transport *make_memory(int ranks)
{
    struct mpi_transport *m = orr_calloc(1, sizeof *m);
    if (m) m->ring_memory = orr_malloc_aligned(64, (size_t)RING * SMALL_MAX);
    if (m) m->sent = orr_calloc((size_t)ranks, sizeof *m->sent);
    if (m) m->pending = orr_calloc((size_t)ranks, sizeof *m->pending);
    if (m && m->ring_memory && m->sent && m->pending) return m;
    orr_error("starpu_mpi_init: out of memory for the messages to other ranks");
    if (m) free_memory(m);
    return NULL;
}

/* Collective. All go on alike, with it or without. */
static void open_near(struct mpi_transport *m, const struct orr_bootstrap *b)
{
    m->near = orr_near_open(b);
    m->copies = orr_near_copies_new(m->near, start_far, m);
    if (b->agree(b, m->copies ? 0 : -ENOMEM)) {
        orr_near_copies_free(m->copies);
        orr_near_close(m->near);
        m->copies = NULL;
        m->near = NULL;
    }
    m->all_near = orr_near_reaches_all(m->near);
}

/* Duplicates the communicator. */
static struct orr_transport *open_transport(const struct orr_bootstrap *b)
{
    MPI_Comm comm = (MPI_Comm)(intptr_t)b->comm;
    struct mpi_transport *m = make_memory(b->size);
    if (b->agree(b, m ? 0 : -ENOMEM)) { /* else none begins what the others would wait for */
        if (m) free_memory(m);
        return NULL;
    }
    m->base.ops = &orr_transport_mpi;
    *(void **)&m->set_yield = dlsym(RTLD_DEFAULT, "opal_progress_set_yield_when_idle");
    m->bulk_tail = &m->bulk;
    if (failed(m, MPI_Comm_dup(comm, &m->small_comm), "MPI_Comm_dup") ||
        failed(m, MPI_Comm_dup(comm, &m->bulk_comm), "MPI_Comm_dup")) {
        free_memory(m);
        return NULL;
    }
    MPI_Comm_set_errhandler(m->small_comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(m->bulk_comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(m->small_comm, &m->base.rank);
    MPI_Comm_size(m->small_comm, &m->base.size);
    count_start(m);
    open_near(m, b);
    m->base.bulk_tag_max = highest_tag(m->bulk_comm);
    for (int i = 0; i < RING; i++) {
        m->ring[i].bytes = m->ring_memory + (size_t)i * SMALL_MAX;
        post_slot(m, &m->ring[i]);
    }
    return &m->base;
}

const struct orr_transport_ops orr_transport_mpi = {
    .name = "mpi",
    .open = open_transport,
    .small_max = SMALL_MAX,
    .small_buffer = small_buffer,
    .small_release = small_release,
    .small_send = small_send,
    .bulk_send = start_bulk,
    .bulk_recv = start_bulk,
    .poll = poll,
    .unsent = unsent,
    .gather = gather,
    .scatter = scatter,
    .greet = greet,
    .listen = listen_to,
    .unlisten = unlisten,
    .fetches = fetches,
    .shows = shows,
    .view = view,
    .knows = knows,
    .destroy = destroy,
    .abort = abort_job,
};
