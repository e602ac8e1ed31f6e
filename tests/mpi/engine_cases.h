/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the engine keeps over every transport: the cases, and random traffic, for ranks that are all in this
 * process or one in each.
 * Threads: main of each process.
 * Owns: the ranks that are here.
 * Not here: how they are connected (engine_inproc.c, engine_mpi.c).
 */
#ifndef ORR_TESTS_ENGINE_CASES_H
#define ORR_TESTS_ENGINE_CASES_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "mpi/wire/engine.h"
#include "tests/tap.h"

static uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

enum { RANKS_MAX = 8, TAGS = 3, LARGE_MAX = 20000, STRIDE = 7 };

/* Where the engines are: all of them in this process, or one in each. */
static struct {
    int ranks, own; /* own: the rank of this process, -1: all are */
    size_t large;   /* bytes that are too many for a small message */
    /* The engines that are here, of so many ranks (others take part all the same). */
    void (*open)(int count);
    void (*close)(void);
    void (*settle)(void);                         /* until nothing moves any more, on any rank */
    long long (*tell)(int rank, long long value); /* what that rank has, on all */
} world;

static bool here(int rank)
{
    return world.own < 0 || world.own == rank;
}

/* One message of the plan: both ends know it. */
struct planned {
    int source, destination;
    int64_t tag;
    uint32_t context;
    size_t bytes;
    uint64_t content;
    bool sync, strided, any_size;
};

struct end {
    struct orr_request request; /* first */
    struct planned *plan;
    char *memory;
    bool has_been_ready;
    _Atomic int done;
};

struct rank {
    struct orr_engine engine;
    struct end *ends; /* in the order of posting */
    int count;
    uint64_t random;
    _Atomic int done;
};

static struct rank ranks[RANKS_MAX];

static void on_done(struct orr_request *r)
{
    struct end *e = (struct end *)r;
    int me = r->kind == ORR_SEND ? e->plan->source : e->plan->destination;
    atomic_fetch_add(&e->done, 1);
    atomic_fetch_add(&ranks[me].done, 1);
}

static void *room(struct orr_request *r, size_t bytes)
{
    struct end *e = (struct end *)r;
    return e->memory = malloc(bytes ? bytes : 1);
}

static void fill(char *memory, const struct planned *p, bool strided)
{
    uint64_t x = p->content;
    for (size_t i = 0; i < p->bytes; i++) memory[strided ? i * STRIDE : i] = (char)random_next(&x);
}

static bool holds(const char *memory, const struct planned *p, bool strided)
{
    uint64_t x = p->content;
    for (size_t i = 0; i < p->bytes; i++)
        if (memory[strided ? i * STRIDE : i] != (char)random_next(&x)) return false;
    return true;
}

static struct orr_payload payload_of(struct end *e, bool receiving)
{
    struct planned *p = e->plan;
    struct orr_payload pay = { .base = e->memory, .bytes = p->bytes, .type = 1 };
    if (receiving && p->any_size) pay.any_size = true, pay.bytes = 0;
    if (p->strided && p->bytes) {
        pay.kind = ORR_PAYLOAD_STRIDED;
        pay.run_bytes = 1;
        pay.ndims = 1;
        pay.dims[0].count = p->bytes;
        pay.dims[0].stride_bytes = STRIDE;
    }
    return pay;
}

/* Posts an end; ready at once or later. */
static void post(struct rank *rank, struct end *e, bool receiving)
{
    struct planned *p = e->plan;
    orr_request_init(&e->request);
    e->request.node = (struct orr_match_node){ .context = p->context,
                                               .peer = receiving ? p->source : p->destination,
                                               .tag = p->tag };
    e->request.kind = receiving ? ORR_RECV : ORR_SEND;
    e->request.sync = p->sync;
    e->request.done = on_done;
    e->request.make_room = room;
    e->request.priority = (int)(random_next(&rank->random) % 3);
    e->has_been_ready = random_next(&rank->random) % 2;
    if (!(receiving && p->any_size)) e->memory = calloc(1, (p->bytes + 1) * STRIDE);
    if (!receiving) fill(e->memory, p, p->strided);
    if (e->has_been_ready) e->request.payload = payload_of(e, receiving);
    orr_engine_post(&rank->engine, &e->request, e->has_been_ready);
}

static void make_ready(struct rank *rank, struct end *e)
{
    e->has_been_ready = true;
    e->request.payload = payload_of(e, e->request.kind == ORR_RECV);
    orr_engine_ready(&rank->engine, &e->request);
}

/* One step of a rank: posts, makes an old end ready, or polls. Returns false when all has been posted and
 * made ready. */
static bool step(struct rank *rank, int *posted, int *oldest)
{
    switch (random_next(&rank->random) % 3) {
    case 0:
        if (*posted < rank->count) {
            struct end *e = &rank->ends[(*posted)++];
            post(rank, e, e->request.kind == ORR_RECV);
        }
        break;
    case 1: {
        while (*oldest < *posted && rank->ends[*oldest].has_been_ready) ++*oldest;
        int window = *posted - *oldest < 20 ? *posted - *oldest : 20;
        int i = window ? *oldest + (int)(random_next(&rank->random) % (uint64_t)window) : -1;
        if (i >= 0 && !rank->ends[i].has_been_ready) make_ready(rank, &rank->ends[i]);
        break;
    }
    default: orr_engine_poll(&rank->engine);
    }
    while (*oldest < *posted && rank->ends[*oldest].has_been_ready) ++*oldest;
    return *oldest < rank->count;
}

static struct planned *make_plan(uint64_t *seed, int messages)
{
    struct planned *plan = calloc((size_t)messages, sizeof *plan);
    for (int i = 0; i < world.ranks; i++) {
        ranks[i].ends = calloc((size_t)messages * 2, sizeof *ranks[i].ends);
        ranks[i].count = 0;
        atomic_store(&ranks[i].done, 0);
        ranks[i].random = random_next(seed);
    }
    for (int m = 0; m < messages; m++) {
        struct planned *p = &plan[m];
        uint64_t kind = random_next(seed) % 10;
        *p = (struct planned){ .source = (int)(random_next(seed) % world.ranks),
                               .destination = (int)(random_next(seed) % world.ranks),
                               .tag = (int64_t)(random_next(seed) % TAGS) << 40,
                               .context = (uint32_t)(random_next(seed) % 2),
                               .content = random_next(seed),
                               .sync = random_next(seed) % 5 == 0,
                               .strided = random_next(seed) % 4 == 0 };
        p->bytes = kind == 0 ? 0 : kind < 7 ? random_next(seed) % 300 : random_next(seed) % world.large;
        p->any_size = !p->strided && random_next(seed) % 4 == 0;
        struct rank *s = &ranks[p->source], *d = &ranks[p->destination];
        s->ends[s->count] = (struct end){ .plan = p, .request.kind = ORR_SEND };
        s->count++;
        d->ends[d->count] = (struct end){ .plan = p, .request.kind = ORR_RECV };
        d->count++;
    }
    return plan;
}

static int wrong_ends(void)
{
    int wrong = 0;
    for (int i = 0; i < world.ranks; i++)
        for (int k = 0; here(i) && k < ranks[i].count; k++) {
            struct end *e = &ranks[i].ends[k];
            if (atomic_load(&e->done) != 1 || e->request.status)
                wrong++;
            else if (e->request.kind == ORR_RECV && !holds(e->memory, e->plan, e->plan->strided))
                wrong++;
        }
    return wrong;
}

/* ---- single facts ---- */

static struct orr_request *simple(struct end *e, struct planned *p, int kind, void *memory, size_t bytes,
                                  uint32_t type)
{
    *e = (struct end){ .plan = p, .memory = memory };
    orr_request_init(&e->request);
    e->request.kind = (uint8_t)kind;
    e->request.done = on_done;
    e->request.node =
        (struct orr_match_node){ .peer = kind == ORR_SEND ? p->destination : p->source, .tag = p->tag };
    e->request.payload = (struct orr_payload){ .base = memory, .bytes = bytes, .type = type };
    return &e->request;
}

static void post_simple(struct end *e, struct planned *p, int kind, void *memory, size_t bytes, uint32_t type)
{
    int rank = kind == ORR_SEND ? p->source : p->destination;
    simple(e, p, kind, memory, bytes, type);
    if (here(rank)) orr_engine_post(&ranks[rank].engine, &e->request, true);
}

/* Posts what simple has made. */
static void post_made(struct end *e, bool ready)
{
    int rank = e->request.kind == ORR_SEND ? e->plan->source : e->plan->destination;
    if (here(rank)) orr_engine_post(&ranks[rank].engine, &e->request, ready);
}

static void now_ready(struct end *e)
{
    int rank = e->request.kind == ORR_SEND ? e->plan->source : e->plan->destination;
    if (here(rank)) orr_engine_ready(&ranks[rank].engine, &e->request);
}

/* What the rank knows whose end it is. */
static long long status_of(const struct end *e)
{
    return world.tell(e->request.kind == ORR_SEND ? e->plan->source : e->plan->destination,
                      e->request.status);
}

static long long times_done(struct end *e)
{
    return world.tell(e->request.kind == ORR_SEND ? e->plan->source : e->plan->destination,
                      atomic_load(&e->done));
}

static long long early_on(int rank)
{
    return world.tell(rank,
                      here(rank) ? (long long)orr_engine_visit_early(&ranks[rank].engine, NULL, NULL) : 0);
}

static void give_up(int rank)
{
    if (here(rank)) orr_engine_cancel_unmatched(&ranks[rank].engine);
}

static void sizes_and_types(void)
{
    static char memory[2][LARGE_MAX];
    struct planned p = { .source = 0, .destination = 1, .tag = 9 };
    struct end s, r;
    size_t sizes[] = { 16, world.large };
    world.open(2);
    for (int i = 0; i < 2; i++) {
        post_simple(&s, &p, ORR_SEND, memory[0], sizes[i], 0);
        post_simple(&r, &p, ORR_RECV, memory[1], 8, 0);
        world.settle();
        is_int(status_of(&r), -EMSGSIZE, "a receive of 8 bytes refuses %zu", sizes[i]);
        is_int(times_done(&s), 1, "the send of %zu ends", sizes[i]);
        is_int(times_done(&r), 1, "and its receive");
    }
    post_simple(&s, &p, ORR_SEND, memory[0], 8, 2 << 24 | 8);
    post_simple(&r, &p, ORR_RECV, memory[1], 8, 2 << 24 | 4);
    world.settle();
    is_int(status_of(&r), -EPROTOTYPE, "equal sizes of different types are an error");

    simple(&s, &p, ORR_SEND, memory[0], 8, 0);
    s.request.failure = -ENODATA;
    post_made(&s, true);
    post_simple(&r, &p, ORR_RECV, memory[1], 8, 0);
    world.settle();
    is_int(status_of(&s), -ENODATA, "a send that cannot be made ends with its failure");
    is_int(status_of(&r), -ENODATA, "which is told to the receiver");
    world.close();
}

static void order(void)
{
    static char memory[2][16];
    struct planned p = { .source = 0, .destination = 1, .tag = 9 };
    struct end s, r, s2, r2;
    world.open(2);
    simple(&s, &p, ORR_SEND, memory[0], 8, 0);
    s.request.sync = true;
    post_made(&s, true);
    world.settle();
    is_int(times_done(&s), 0, "a synchronous send does not end before its receive is posted");
    post_simple(&r, &p, ORR_RECV, memory[1], 8, 0);
    world.settle();
    is_int(times_done(&s), 1, "it ends after that");
    is_int(times_done(&r), 1, "and its receive");

    memory[0][0] = 1;
    memory[0][8] = 2;
    simple(&s, &p, ORR_SEND, memory[0], 8, 0);
    post_made(&s, false);
    post_simple(&s2, &p, ORR_SEND, memory[0] + 8, 8, 0);
    post_simple(&r, &p, ORR_RECV, memory[1], 8, 0);
    post_simple(&r2, &p, ORR_RECV, memory[1] + 8, 8, 0);
    world.settle();
    is_int(times_done(&r) + times_done(&r2), 0,
           "a send waits for an earlier one with the same tag that is not ready");
    now_ready(&s);
    world.settle();
    is_int(times_done(&r) + times_done(&r2), 2, "then both arrive");
    is_int(world.tell(1, memory[1][0] * 10 + memory[1][8]), 12, "in the order of posting");

    post_simple(&r, &p, ORR_RECV, memory[1], 8, 0);
    simple(&r2, &p, ORR_RECV, memory[1], 8, 0);
    post_made(&r2, false);
    world.settle();
    give_up(1);
    is_int(status_of(&r), -ECANCELED, "giving up ends a receive that nobody sends to");
    is_int(times_done(&r2), 0, "but not one whose data is still in use");
    now_ready(&r2);
    world.settle();
    is_int(times_done(&r2), 1, "which ends when it is let go of");
    is_int(status_of(&r2), -ECANCELED, "as cancelled");
    world.close();
}

/* A rank that is ahead in a collective call of the layer does not make the program's messages be left. */
static void ahead_of_the_others(void)
{
    static char memory[2][8];
    struct planned p = { .source = 0, .destination = 1, .tag = 9 };
    struct end own, programs;
    world.open(2);
    simple(&own, &p, ORR_SEND, memory[0], 8, 0);
    own.request.node.context = ORR_CONTEXT_UNCOUNTED;
    post_made(&own, true);
    world.settle();
    is_int(early_on(1), 0, "an early message of the layer itself is none of the program's");
    post_simple(&programs, &p, ORR_SEND, memory[1], 8, 0);
    world.settle();
    is_int(early_on(1), 1, "and the program's is counted");
    world.close();
}

/* What nobody receives, or not in time, when all give up. */
static void giving_up(void)
{
    static char memory[4][LARGE_MAX];
    struct planned p = { .source = 0, .destination = 1, .tag = 9 },
                   q = { .source = 0, .destination = 1, .tag = 8 };
    struct end s, t, u, r;
    world.open(2);
    post_simple(&s, &p, ORR_SEND, memory[0], world.large, 0);
    post_simple(&t, &q, ORR_SEND, memory[1], world.large, 0);
    simple(&u, &p, ORR_SEND, memory[2], world.large, 0);
    u.request.sync = true;
    post_made(&u, true);
    simple(&r, &p, ORR_RECV, memory[3], world.large, 0);
    post_made(&r, false);
    world.settle();
    is_int(world.tell(1, orr_engine_get_counts(&ranks[1].engine).waiting_data), 1,
           "a receive that is not ready is counted");
    for (int i = 0; i < 2; i++) give_up(i);
    world.settle();
    is_int(times_done(&s) + times_done(&t) + times_done(&u), 3,
           "large sends end when all give up: their bytes are taken off the network");
    is_int(status_of(&u), -ECANCELED, "a synchronous one without a receive is cancelled");
    for (int i = 0; i < 2; i++) {
        struct orr_engine_counts c = orr_engine_get_counts(&ranks[i].engine);
        is_int(world.tell(i, c.bulk_sends + c.bulk_receives), 0, "nothing is under way on rank %d", i);
    }
    world.close();
    is_int(times_done(&r), 0, "a receive whose data is in use has not ended");
    now_ready(&r);
    if (here(1)) orr_engine_poll(&ranks[1].engine);
    is_int(times_done(&r), 1, "it ends when it is let go of, the engine being closed");
    is_int(status_of(&r), -ECANCELED, "as cancelled");
    ok(!here(0) || !orr_engine_poll(&ranks[0].engine), "and who polls a closed engine finds nothing");
}

/* More large messages than the network has tags (inproc.c), which nobody receives yet. */
static void nobody_receives(void)
{
    enum { N = 8 };
    static char memory[2][N + 1][LARGE_MAX];
    struct planned p = { .source = 0, .destination = 1, .tag = 9 },
                   q = { .source = 0, .destination = 1, .tag = 8 };
    struct end s[N], r[N], small[2], large[2];
    long long ended = 0, right = 0;
    world.open(2);
    for (int i = 0; i < N; i++) {
        memory[0][i][0] = (char)i;
        post_simple(&s[i], &p, ORR_SEND, memory[0][i], world.large, 0);
    }
    post_simple(&small[0], &q, ORR_SEND, memory[0][N], 8, 0);
    post_simple(&small[1], &q, ORR_RECV, memory[1][N], 8, 0);
    world.settle();
    is_int(times_done(&small[1]), 1, "large messages that nobody receives do not hold up a small one");
    post_simple(&large[0], &q, ORR_SEND, memory[0][N], world.large, 0);
    post_simple(&large[1], &q, ORR_RECV, memory[1][N], world.large, 0);
    world.settle();
    is_int(times_done(&large[1]), 1, "nor another large one");
    for (int i = 0; i < N; i++) post_simple(&r[i], &p, ORR_RECV, memory[1][i], world.large, 0);
    for (int i = 0; i < 2; i++) world.settle();
    for (int i = 0; i < N; i++) {
        ended += times_done(&s[i]) + times_done(&r[i]);
        right += world.tell(1, memory[1][i][0]) == i;
    }
    is_int(ended, 2 * N, "and come when they are received");
    is_int(right, N, "in their order");
    world.close();
}

static void single_facts(void)
{
    nobody_receives();
    sizes_and_types();
    order();
    ahead_of_the_others();
    giving_up();
}

#endif
