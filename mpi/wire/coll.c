/* SPDX-License-Identifier: BSD-3-Clause */
/* coll.c: up a binomial tree to rank 0, and down again.
 * Threads: see coll.h. Owns: nothing. Not here: matching (receiving.c). */
#include "mpi/wire/coll.h"

#include <errno.h>
#include <string.h>

#include "core/base/alloc.h"

struct hop {
    struct orr_request request; /* first */
    struct orr_mpi_progress *progress;
    _Atomic uint32_t over;
};

static void hop_done(struct orr_request *r)
{
    struct hop *h = (struct hop *)r;
    struct orr_mpi_progress *progress = h->progress;
    orr_store_seq(&h->over, 1u); /* h may be gone from here on; before the look who sleeps */
    orr_progress_signal(progress);
}

static bool hop_is_over(void *h)
{
    return orr_load_acquire(&((struct hop *)h)->over);
}

static int hop_bytes(struct orr_comm *c, enum orr_request_kind kind, int rank, int64_t tag, void *data,
                     size_t bytes)
{
    struct hop h;
    memset(&h, 0, sizeof h);
    orr_request_init(&h.request);
    h.progress = &c->cluster->progress;
    h.request.node = (struct orr_match_node){ .context = c->context | ORR_CONTEXT_UNCOUNTED,
                                              .peer = orr_comm_peer(c, rank),
                                              .tag = tag };
    h.request.kind = kind;
    h.request.foreign = kind == ORR_RECV && orr_comm_is_foreign(c, rank);
    h.request.done = hop_done;
    h.request.payload = (struct orr_payload){ .base = data, .bytes = bytes };
    if (h.request.node.peer < 0 || orr_comm_introduce(c, rank, kind)) return -EIO;
    orr_engine_post(&c->cluster->engine, &h.request, true);
    orr_progress_wait(h.progress, hop_is_over, &h);
    return h.request.status;
}

static int hop(struct orr_comm *c, enum orr_request_kind kind, int rank, int64_t tag, int64_t *values)
{
    return hop_bytes(c, kind, rank, tag, values, ORR_COLL_VALUES * sizeof *values);
}

static int sum(struct orr_comm *c, int64_t tag, int64_t values[ORR_COLL_VALUES])
{
    int64_t other[ORR_COLL_VALUES];
    int parent_bit = 1, status = 0;
    for (; parent_bit < c->size && !(c->rank & parent_bit); parent_bit <<= 1) {
        if ((c->rank | parent_bit) >= c->size) continue;
        int r = hop(c, ORR_RECV, c->rank | parent_bit, tag, other);
        if (r)
            status = r;
        else
            for (int i = 0; i < ORR_COLL_VALUES; i++) values[i] += other[i];
    }
    if (c->rank) {
        int r = hop(c, ORR_SEND, c->rank & ~parent_bit, tag, values);
        if (!r) r = hop(c, ORR_RECV, c->rank & ~parent_bit, tag + 1, values);
        if (r) status = r;
    }
    for (int bit = parent_bit >> 1; bit; bit >>= 1)
        if ((c->rank | bit) < c->size && hop(c, ORR_SEND, c->rank | bit, tag + 1, values)) status = -EIO;
    return status;
}

/* Two tags for each call, up and down. Barriers have their own: on two ranks a barrier of one thread and a
 * sum of another may come in either order. */
static const int64_t barrier_tags = INT64_C(1) << 40;

int orr_coll_sum(struct orr_comm *c, int64_t values[ORR_COLL_VALUES])
{
    return sum(c, (int64_t)orr_add_relaxed(&c->sums, 1u) << 1, values);
}

int orr_coll_barrier(struct orr_comm *c)
{
    int64_t nothing[ORR_COLL_VALUES] = { 0 };
    return sum(c, barrier_tags + ((int64_t)orr_add_relaxed(&c->barriers, 1u) << 1), nothing);
}

/* Rank 0: one rank says how much it has, and sends it once there is room. */
static int gather_one(struct orr_comm *c, int rank, int64_t tag,
                      void (*take)(void *arg, int rank, const void *data, size_t bytes), void *arg)
{
    int64_t size[ORR_COLL_VALUES], room[ORR_COLL_VALUES] = { 0 };
    int r = hop(c, ORR_RECV, rank, tag, size);
    if (r) return r;
    void *data = orr_malloc((size_t)size[0] + 1);
    room[0] = data != NULL;
    r = hop(c, ORR_SEND, rank, tag + 1, room);
    if (!r && data && size[0]) r = hop_bytes(c, ORR_RECV, rank, tag, data, (size_t)size[0]);
    if (!r && data) take(arg, rank, data, (size_t)size[0]);
    orr_free(data);
    return r ? r : data ? 0 : -ENOMEM;
}

int orr_coll_gather(struct orr_comm *c, const void *mine, size_t bytes,
                    void (*take)(void *arg, int rank, const void *data, size_t bytes), void *arg)
{
    int64_t tag = (int64_t)orr_add_relaxed(&c->sums, 1u) << 1, room[ORR_COLL_VALUES];
    int64_t size[ORR_COLL_VALUES] = { (int64_t)bytes };
    int status = 0;
    if (c->rank) {
        status = hop(c, ORR_SEND, 0, tag, size);
        if (!status) status = hop(c, ORR_RECV, 0, tag + 1, room);
        if (!status && !room[0]) return -ENOMEM;
        return status || !bytes ? status : hop_bytes(c, ORR_SEND, 0, tag, (void *)mine, bytes);
    }
    take(arg, 0, mine, bytes);
    for (int rank = 1; rank < c->size; rank++) {
        int r = gather_one(c, rank, tag, take, arg);
        if (r) status = r;
    }
    return status;
}

int orr_coll_greet_root(struct orr_comm *c, int last)
{
    int64_t tag = (int64_t)orr_add_relaxed(&c->sums, 1u) << 1, nothing[ORR_COLL_VALUES] = { 0 };
    int status = 0;
    if (c->rank > 0 && c->rank <= last) return hop(c, ORR_SEND, 0, tag, nothing);
    for (int rank = 1; c->rank == 0 && rank < c->size && rank <= last; rank++)
        if (hop(c, ORR_RECV, rank, tag, nothing)) status = -EIO;
    return status;
}

/* Beside sums and barriers: both ends count what they pass to each other. */
static const int64_t pass_tag = INT64_C(3) << 40;

int orr_coll_pass(struct orr_comm *c, int from, int to, void *data, size_t bytes)
{
    if (c->rank == from) return hop_bytes(c, ORR_SEND, to, pass_tag, data, bytes);
    return c->rank == to ? hop_bytes(c, ORR_RECV, from, pass_tag, data, bytes) : 0;
}
