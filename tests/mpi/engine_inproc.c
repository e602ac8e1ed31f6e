/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine between several ranks of one process, over a network that delays and reorders: random traffic
 * under many seeds is matched completely and in order, whatever is early, late, small, large, synchronous or
 * not yet ready.
 * Threads: main, and in the second half one per rank.
 * Owns: the ranks.
 * Not here: handles and MPI (tests that run under mpirun).
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "mpi/wire/engine.h"
#include "mpi/wire/transports/inproc.h"
#include "tests/tap.h"

enum { RANKS = 4, TAGS = 3, LARGE = 3000, STRIDE = 7 };

static uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
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

static struct rank ranks[RANKS];

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
    for (int i = 0; i < RANKS; i++) {
        ranks[i].ends = calloc((size_t)messages * 2, sizeof *ranks[i].ends);
        ranks[i].count = 0;
        atomic_store(&ranks[i].done, 0);
        ranks[i].random = random_next(seed);
    }
    for (int m = 0; m < messages; m++) {
        struct planned *p = &plan[m];
        uint64_t kind = random_next(seed) % 10;
        *p = (struct planned){ .source = (int)(random_next(seed) % RANKS),
                               .destination = (int)(random_next(seed) % RANKS),
                               .tag = (int64_t)(random_next(seed) % TAGS) << 40,
                               .context = (uint32_t)(random_next(seed) % 2),
                               .content = random_next(seed),
                               .sync = random_next(seed) % 5 == 0,
                               .strided = random_next(seed) % 4 == 0 };
        p->bytes = kind == 0 ? 0 : kind < 7 ? random_next(seed) % 300 : random_next(seed) % LARGE;
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
    for (int i = 0; i < RANKS; i++)
        for (int k = 0; k < ranks[i].count; k++) {
            struct end *e = &ranks[i].ends[k];
            if (atomic_load(&e->done) != 1 || e->request.status)
                wrong++;
            else if (e->request.kind == ORR_RECV && !holds(e->memory, e->plan, e->plan->strided))
                wrong++;
        }
    return wrong;
}

static void clean_up(struct planned *plan, struct orr_inproc *net)
{
    for (int i = 0; i < RANKS; i++) {
        for (int k = 0; k < ranks[i].count; k++) free(ranks[i].ends[k].memory);
        free(ranks[i].ends);
        orr_engine_fini(&ranks[i].engine);
    }
    free(plan);
    orr_inproc_destroy(net);
}

static bool finished(void)
{
    for (int i = 0; i < RANKS; i++)
        if (atomic_load(&ranks[i].done) < ranks[i].count) return false;
    return true;
}

/* All ranks on this thread, a random one at a time. Returns ends that are not right. */
static int run_on_one_thread(uint64_t seed, int messages)
{
    uint64_t state = seed;
    struct planned *plan = make_plan(&state, messages);
    struct orr_inproc *net =
        orr_inproc_create(RANKS, random_next(&state), 1 + (unsigned)(random_next(&state) % 30), 10);
    int posted[RANKS] = { 0 }, oldest[RANKS] = { 0 };
    for (int i = 0; i < RANKS; i++) orr_engine_init(&ranks[i].engine, orr_inproc_rank(net, i));
    for (long steps = 0; steps < 4000000 && !finished(); steps++) {
        int i = (int)(random_next(&state) % RANKS);
        if (!step(&ranks[i], &posted[i], &oldest[i])) orr_engine_poll(&ranks[i].engine);
    }
    int wrong = wrong_ends();
    for (int i = 0; i < RANKS; i++) wrong += (int)orr_engine_visit_early(&ranks[i].engine, NULL, NULL);
    clean_up(plan, net);
    return wrong;
}

static void *run_rank(void *arg)
{
    struct rank *rank = arg;
    int posted = 0, oldest = 0;
    while (step(rank, &posted, &oldest)) continue;
    for (long i = 0; i < 2000000 && !finished(); i++)
        if (!orr_engine_poll(&rank->engine)) sched_yield();
    return NULL;
}

static atomic_bool helpers_stop;

/* A second thread of every rank, which only polls. */
static void *run_helper(void *arg)
{
    struct rank *rank = arg;
    while (!atomic_load(&helpers_stop))
        if (!orr_engine_poll(&rank->engine)) sched_yield();
    return NULL;
}

static int run_on_threads(uint64_t seed, int messages)
{
    uint64_t state = seed;
    struct planned *plan = make_plan(&state, messages);
    struct orr_inproc *net = orr_inproc_create(RANKS, random_next(&state), 10, 5);
    pthread_t threads[RANKS], helpers[RANKS];
    atomic_store(&helpers_stop, false);
    for (int i = 0; i < RANKS; i++) orr_engine_init(&ranks[i].engine, orr_inproc_rank(net, i));
    for (int i = 0; i < RANKS; i++) pthread_create(&helpers[i], NULL, run_helper, &ranks[i]);
    for (int i = 0; i < RANKS; i++) pthread_create(&threads[i], NULL, run_rank, &ranks[i]);
    for (int i = 0; i < RANKS; i++) pthread_join(threads[i], NULL);
    atomic_store(&helpers_stop, true);
    for (int i = 0; i < RANKS; i++) pthread_join(helpers[i], NULL);
    int wrong = wrong_ends();
    clean_up(plan, net);
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

static void poll_both(long rounds)
{
    for (long i = 0; i < rounds; i++)
        for (int k = 0; k < 2; k++) orr_engine_poll(&ranks[k].engine);
}

static void single_facts(void)
{
    static char memory[2][LARGE];
    struct planned p = { .source = 0, .destination = 1, .tag = 9 };
    struct orr_inproc *net = orr_inproc_create(2, 1, 3, 0);
    struct end s, r, s2, r2;
    for (int i = 0; i < 2; i++) orr_engine_init(&ranks[i].engine, orr_inproc_rank(net, i));

    for (size_t bytes = 16; bytes <= LARGE; bytes += LARGE - 16) {
        orr_engine_post(&ranks[0].engine, simple(&s, &p, ORR_SEND, memory[0], bytes, 0), true);
        orr_engine_post(&ranks[1].engine, simple(&r, &p, ORR_RECV, memory[1], 8, 0), true);
        poll_both(100);
        is_int(r.request.status, -EMSGSIZE, "a receive of 8 bytes refuses %zu", bytes);
        ok(s.done == 1 && r.done == 1, "and both ends end");
    }
    orr_engine_post(&ranks[0].engine, simple(&s, &p, ORR_SEND, memory[0], 8, 2 << 24 | 8), true);
    orr_engine_post(&ranks[1].engine, simple(&r, &p, ORR_RECV, memory[1], 8, 2 << 24 | 4), true);
    poll_both(100);
    is_int(r.request.status, -EPROTOTYPE, "equal sizes of different types are an error");

    simple(&s, &p, ORR_SEND, memory[0], 8, 0);
    s.request.failure = -ENODATA;
    orr_engine_post(&ranks[0].engine, &s.request, true);
    orr_engine_post(&ranks[1].engine, simple(&r, &p, ORR_RECV, memory[1], 8, 0), true);
    poll_both(100);
    ok(s.request.status == -ENODATA && r.request.status == -ENODATA,
       "a send that cannot be made is told to the receiver");

    simple(&s, &p, ORR_SEND, memory[0], 8, 0);
    s.request.sync = true;
    orr_engine_post(&ranks[0].engine, &s.request, true);
    poll_both(100);
    is_int(s.done, 0, "a synchronous send does not end before its receive is posted");
    orr_engine_post(&ranks[1].engine, simple(&r, &p, ORR_RECV, memory[1], 8, 0), true);
    poll_both(100);
    ok(s.done == 1 && r.done == 1, "and ends after that");

    memory[0][0] = 1;
    memory[0][8] = 2;
    orr_engine_post(&ranks[0].engine, simple(&s, &p, ORR_SEND, memory[0], 8, 0), false);
    orr_engine_post(&ranks[0].engine, simple(&s2, &p, ORR_SEND, memory[0] + 8, 8, 0), true);
    orr_engine_post(&ranks[1].engine, simple(&r, &p, ORR_RECV, memory[1], 8, 0), true);
    orr_engine_post(&ranks[1].engine, simple(&r2, &p, ORR_RECV, memory[1] + 8, 8, 0), true);
    poll_both(100);
    is_int(r.done + r2.done, 0, "a send waits for an earlier one with the same tag that is not ready");
    orr_engine_ready(&ranks[0].engine, &s.request);
    poll_both(100);
    ok(r.done == 1 && r2.done == 1 && memory[1][0] == 1 && memory[1][8] == 2,
       "and both arrive in the order of posting");

    orr_engine_post(&ranks[1].engine, simple(&r, &p, ORR_RECV, memory[1], 8, 0), true);
    orr_engine_post(&ranks[1].engine, simple(&r2, &p, ORR_RECV, memory[1], 8, 0), false);
    poll_both(10);
    orr_engine_cancel_unmatched(&ranks[1].engine);
    is_int(r.request.status, -ECANCELED, "giving up ends a receive that nobody sends to");
    is_int(r2.done, 0, "but not one whose data is still in use");
    orr_engine_ready(&ranks[1].engine, &r2.request);
    poll_both(10);
    ok(r2.done == 1 && r2.request.status == -ECANCELED, "which ends when it is let go of");
    for (int i = 0; i < 2; i++) orr_engine_fini(&ranks[i].engine);
    orr_inproc_destroy(net);
}

/* A rank that is ahead in a collective call of the layer does not make the program's messages be left. */
static void ahead_of_the_others(void)
{
    static char memory[2][8];
    struct planned p = { .source = 0, .destination = 1, .tag = 9 };
    struct orr_inproc *net = orr_inproc_create(2, 1, 3, 0);
    struct end own, programs;
    for (int i = 0; i < 2; i++) orr_engine_init(&ranks[i].engine, orr_inproc_rank(net, i));
    simple(&own, &p, ORR_SEND, memory[0], 8, 0);
    own.request.node.context = ORR_CONTEXT_UNCOUNTED;
    orr_engine_post(&ranks[0].engine, &own.request, true);
    poll_both(100);
    is_int((long long)orr_engine_visit_early(&ranks[1].engine, NULL, NULL), 0,
           "an early message of the layer itself is none of the program's");
    orr_engine_post(&ranks[0].engine, simple(&programs, &p, ORR_SEND, memory[1], 8, 0), true);
    poll_both(100);
    is_int((long long)orr_engine_visit_early(&ranks[1].engine, NULL, NULL), 1,
           "and the program's is counted");
    for (int i = 0; i < 2; i++) orr_engine_fini(&ranks[i].engine);
    orr_inproc_destroy(net);
}

/* What nobody receives, or not in time, when all give up. */
static void giving_up(void)
{
    static char memory[4][LARGE];
    struct planned p = { .source = 0, .destination = 1, .tag = 9 },
                   q = { .source = 0, .destination = 1, .tag = 8 };
    struct orr_inproc *net = orr_inproc_create(2, 1, 3, 0);
    struct end s, t, u, r;
    for (int i = 0; i < 2; i++) orr_engine_init(&ranks[i].engine, orr_inproc_rank(net, i));
    orr_engine_post(&ranks[0].engine, simple(&s, &p, ORR_SEND, memory[0], LARGE, 0), true);
    orr_engine_post(&ranks[0].engine, simple(&t, &q, ORR_SEND, memory[1], LARGE, 0), true);
    simple(&u, &p, ORR_SEND, memory[2], LARGE, 0);
    u.request.sync = true;
    orr_engine_post(&ranks[0].engine, &u.request, true);
    orr_engine_post(&ranks[1].engine, simple(&r, &p, ORR_RECV, memory[3], LARGE, 0), false);
    poll_both(100);
    struct orr_engine_counts c = orr_engine_get_counts(&ranks[1].engine);
    is_int(c.waiting_data, 1, "a receive that is not ready is counted");
    for (int i = 0; i < 2; i++) orr_engine_cancel_unmatched(&ranks[i].engine);
    poll_both(100);
    ok(s.done == 1 && t.done == 1 && u.done == 1,
       "large sends end when all give up: their bytes are taken off the network");
    is_int(u.request.status, -ECANCELED, "a synchronous one without a receive is cancelled");
    for (int i = 0; i < 2; i++) {
        c = orr_engine_get_counts(&ranks[i].engine);
        is_int(c.bulk_sends + c.bulk_receives, 0, "nothing is under way on rank %d", i);
    }
    for (int i = 0; i < 2; i++) orr_engine_fini(&ranks[i].engine);
    orr_inproc_destroy(net);
    is_int(r.done, 0, "a receive whose data is in use has not ended");
    orr_engine_ready(&ranks[1].engine, &r.request);
    orr_engine_poll(&ranks[1].engine);
    ok(r.done == 1 && r.request.status == -ECANCELED,
       "it ends when it is let go of, the engine being closed");
    ok(!orr_engine_poll(&ranks[0].engine), "and who polls a closed engine finds nothing");
}

/* Nobody takes what rank 0 sends: all buffers for data are in use. */
static void full_window(void)
{
    static char memory[8];
    struct planned p = { .source = 0, .destination = 1, .tag = 9 };
    struct orr_inproc *net = orr_inproc_create(2, 1, 3, 100);
    struct orr_wire_header values = { .type = 1 };
    struct end s;
    for (int i = 0; i < 2; i++) orr_engine_init(&ranks[i].engine, orr_inproc_rank(net, i));
    orr_engine_post(&ranks[0].engine, simple(&s, &p, ORR_SEND, memory, 8, 0), true);
    poll_both(100);
    is_int(s.done, 0, "without a buffer a send waits");
    ok(orr_engine_send_control(&ranks[0].engine, 1, &values, NULL, 0),
       "heartbeats and the like get through beside it");
    orr_engine_cancel_unmatched(&ranks[0].engine);
    for (int i = 0; i < 2; i++) orr_engine_fini(&ranks[i].engine);
    orr_inproc_destroy(net);
}

static void foreign_bytes(void)
{
    struct orr_inproc *net = orr_inproc_create(2, 1, 0, 0);
    struct orr_transport *t = orr_inproc_rank(net, 0);
    uint64_t state = 7;
    for (int i = 0; i < 2; i++) orr_engine_init(&ranks[i].engine, orr_inproc_rank(net, i));
    enum { COUNT = 500 };
    for (int i = 0; i < COUNT; i++) {
        unsigned char *b = t->ops->small_buffer(t, false);
        size_t bytes = random_next(&state) % 200;
        for (size_t k = 0; k < bytes; k++) b[k] = (unsigned char)random_next(&state);
        if (i % 2 && bytes >= sizeof(struct orr_wire_header)) {
            struct orr_wire_header h = { .magic = ORR_WIRE_MAGIC,
                                         .version = ORR_WIRE_VERSION,
                                         .kind = (uint8_t)(1 + i / 2 % 6),
                                         .bytes = UINT64_MAX - (uint64_t)i };
            memcpy(b, &h, sizeof h);
        }
        t->ops->small_send(t, 1, b, bytes);
        orr_engine_poll(&ranks[1].engine);
    }
    poll_both(COUNT);
    struct orr_engine_counts c = orr_engine_get_counts(&ranks[1].engine);
    is_int((long long)c.bad_messages, COUNT, "%d messages that are none are counted and dropped", (int)COUNT);
    is_int((long long)orr_engine_visit_early(&ranks[1].engine, NULL, NULL), 0, "and nothing is kept of them");
    for (int i = 0; i < 2; i++) orr_engine_fini(&ranks[i].engine);
    orr_inproc_destroy(net);
}

int main(int argc, char **argv)
{
    int seeds = argc > 1 ? atoi(argv[1]) : 200;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    setenv("STARPU_SILENT", "1", 1);
    single_facts();
    ahead_of_the_others();
    giving_up();
    full_window();
    foreign_bytes();
    int wrong = 0;
    for (int i = 0; i < seeds; i++) {
        int w = run_on_one_thread(first + (uint64_t)i, 400);
        if (w) diag("seed %llu: %d ends are wrong", (unsigned long long)first + (unsigned long long)i, w);
        wrong += w;
    }
    is_int(wrong, 0, "%d seeds from %llu: every message of %d ranks arrives once, whole, in order", seeds,
           (unsigned long long)first, RANKS);
    wrong = 0;
    for (int i = 0; i < (seeds + 3) / 4; i++) wrong += run_on_threads(first + 1000 + (uint64_t)i, 400);
    is_int(wrong, 0, "%d seeds with the ranks on threads, each polled by two of them", (seeds + 3) / 4);
    return done_testing();
}
