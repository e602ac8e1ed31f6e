/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine between several ranks of one process, over a network that delays and reorders: random traffic
 * under many seeds is matched completely and in order, whatever is early, late, small, large, synchronous or
 * not yet ready.
 * Threads: main, and in the second half one per rank.
 * Owns: the network.
 * Not here: the cases (engine_cases.h), the same over MPI (engine_mpi.c).
 */
#include <pthread.h>

#include "mpi/wire/credit.h"
#include "mpi/wire/progress.h"
#include "mpi/wire/transports/inproc.h"
#include "tests/mpi/engine_cases.h"

enum { RANKS = 4, LARGE = 3000 };

static struct orr_inproc *open_net;

static void poll_both(long rounds)
{
    for (long i = 0; i < rounds; i++)
        for (int k = 0; k < 2; k++) orr_engine_poll(&ranks[k].engine);
}

static void settle(void)
{
    poll_both(100);
}

static void open_ranks(int count)
{
    open_net = orr_inproc_create(count, 1, 3, 0);
    for (int i = 0; i < count; i++) orr_engine_init(&ranks[i].engine, orr_inproc_rank(open_net, i), NULL);
}

static void close_ranks(void)
{
    for (int i = 0; i < 2; i++) orr_engine_fini(&ranks[i].engine);
    orr_inproc_destroy(open_net);
}

static long long tell(int rank, long long value)
{
    (void)rank;
    return value;
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

/* None, less than one message, a few, as many as there are. */
static void limit_early(uint64_t random)
{
    static const uint64_t bytes[] = { 0, 300 * (RANKS - 1), 3000 * (RANKS - 1), UINT64_MAX };
    for (int i = 0; i < RANKS; i++) orr_engine_limit_early(&ranks[i].engine, bytes[random % 4]);
}

/* All ranks on this thread, a random one at a time. Returns ends that are not right. */
static int run_on_one_thread(uint64_t seed, int messages)
{
    uint64_t state = seed;
    struct planned *plan = make_plan(&state, messages);
    struct orr_inproc *net =
        orr_inproc_create(RANKS, random_next(&state), 1 + (unsigned)(random_next(&state) % 30), 10);
    int posted[RANKS] = { 0 }, oldest[RANKS] = { 0 };
    for (int i = 0; i < RANKS; i++) orr_engine_init(&ranks[i].engine, orr_inproc_rank(net, i), NULL);
    limit_early(seed);
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
    for (int i = 0; i < RANKS; i++) orr_engine_init(&ranks[i].engine, orr_inproc_rank(net, i), NULL);
    limit_early(seed);
    for (int i = 0; i < RANKS; i++) pthread_create(&helpers[i], NULL, run_helper, &ranks[i]);
    for (int i = 0; i < RANKS; i++) pthread_create(&threads[i], NULL, run_rank, &ranks[i]);
    for (int i = 0; i < RANKS; i++) pthread_join(threads[i], NULL);
    atomic_store(&helpers_stop, true);
    for (int i = 0; i < RANKS; i++) pthread_join(helpers[i], NULL);
    int wrong = wrong_ends();
    clean_up(plan, net);
    return wrong;
}

/* Nobody takes what rank 0 sends: all buffers for data are in use. */
static void full_window(void)
{
    static char memory[8];
    struct planned p = { .source = 0, .destination = 1, .tag = 9 };
    struct orr_inproc *net = orr_inproc_create(2, 1, 3, 100);
    struct orr_wire_header values = { .type = 1 };
    struct end s;
    for (int i = 0; i < 2; i++) orr_engine_init(&ranks[i].engine, orr_inproc_rank(net, i), NULL);
    post_simple(&s, &p, ORR_SEND, memory, 8, 0);
    poll_both(100);
    is_int(s.done, 0, "without a buffer a send waits");
    ok(orr_engine_send_control(&ranks[0].engine, 1, &values, NULL, 0),
       "heartbeats and the like get through beside it");
    orr_engine_cancel_unmatched(&ranks[0].engine);
    for (int i = 0; i < 2; i++) orr_engine_fini(&ranks[i].engine);
    orr_inproc_destroy(net);
}

enum { MANY = SCALED(20000, 4000), MANY_BYTES = 400, KEPT_MOST = 64 * 1024 };

/* Two ranks, of which the first has sent many messages when the second posts its first receive. */
static struct end *many[2];
static char many_bytes[2][MANY_BYTES];

static void begin_many(struct orr_inproc *net, struct planned *plans)
{
    for (int i = 0; i < 2; i++) {
        orr_inproc_rank(net, i)->bulk_tag_max = INT32_MAX; /* so many are under way */
        orr_engine_init(&ranks[i].engine, orr_inproc_rank(net, i), NULL);
        orr_engine_limit_early(&ranks[i].engine, KEPT_MOST);
        many[i] = calloc(MANY, sizeof *many[i]);
    }
    for (int k = 0; k < MANY; k++) {
        plans[k] = (struct planned){ .source = 0, .destination = 1, .tag = k };
        post_simple(&many[0][k], &plans[k], ORR_SEND, many_bytes[0], MANY_BYTES, 0);
    }
    poll_both(MANY);
}

static void end_many(struct orr_inproc *net, struct planned *plans)
{
    for (int i = 0; i < 2; i++) {
        orr_engine_fini(&ranks[i].engine);
        free(many[i]);
    }
    free(plans);
    orr_inproc_destroy(net);
}

static long long count_ends(int rank, int status)
{
    long long count = 0;
    for (int k = 0; k < MANY; k++) count += many[rank][k].done == 1 && many[rank][k].request.status == status;
    return count;
}

static void early_is_bounded(void)
{
    struct orr_inproc *net = orr_inproc_create(2, 1, 3, 10);
    struct planned *plans = calloc(MANY, sizeof *plans);
    memset(many_bytes[0], 7, MANY_BYTES);
    begin_many(net, plans);
    struct orr_engine_counts c = orr_engine_get_counts(&ranks[1].engine);
    long long kept_back = (long long)orr_engine_get_counts(&ranks[0].engine).kept_back;
    is_int(early_on(1), KEPT_MOST / MANY_BYTES + KEPT_MOST / ORR_CREDIT_RECORD,
           "of %d messages that come early some are kept, some announced", (int)MANY);
    is_int(kept_back, MANY - early_on(1), "the others stay with their sender");
    ok(c.kept_most > KEPT_MOST / 2 && c.kept_most <= KEPT_MOST,
       "of which the receiver keeps %llu bytes, of %d", (unsigned long long)c.kept_most, (int)KEPT_MOST);
    for (int k = MANY - 1; k >= 0; k--) { /* the last first: nothing waits for credit */
        post_simple(&many[1][k], &plans[k], ORR_RECV, many_bytes[1], MANY_BYTES, 0);
        if (k == MANY - 1) poll_both(300);
        if (k == MANY - 1) is_int(many[1][k].done, 1, "the last is received first");
        poll_both(1); /* the network takes its time with many at once */
    }
    for (int i = 0; i < 100 && count_ends(0, 0) < MANY; i++) poll_both(MANY / 10);
    is_int(count_ends(0, 0) + count_ends(1, 0), 2 * MANY, "all arrive");
    is_int(many_bytes[1][MANY_BYTES - 1], 7, "whole");
    c = orr_engine_get_counts(&ranks[1].engine);
    is_int((long long)c.kept_bytes, 0, "and nothing is kept any more");
    uint64_t asked = orr_engine_get_counts(&ranks[0].engine).asked;
    for (int k = 0; k < 1000; k++) {
        post_simple(&many[1][k], &plans[k], ORR_RECV, many_bytes[1], MANY_BYTES, 0);
        post_simple(&many[0][k], &plans[k], ORR_SEND, many_bytes[0], MANY_BYTES, 0);
        poll_both(10);
    }
    c = orr_engine_get_counts(&ranks[0].engine);
    is_int((long long)(c.asked - asked), 0, "what was received gives its credit back: no more questions");
    end_many(net, plans);
}

/* Sends beyond what may be announced, each key twice; the receives of the second half come first. */
static void kept_back_in_order(void)
{
    enum { N = 600, KEYS = N / 2 };
    static char from[N][MANY_BYTES], to[N][MANY_BYTES];
    static struct end sends[N], receives[N];
    static struct planned plans[N];
    struct orr_inproc *net = orr_inproc_create(2, 1, 3, 30);
    int wrong = 0, ended = 0;
    for (int i = 0; i < 2; i++) {
        orr_engine_init(&ranks[i].engine, orr_inproc_rank(net, i), NULL);
        orr_engine_limit_early(&ranks[i].engine, 0);
    }
    for (int k = 0; k < N; k++) {
        plans[k] = (struct planned){ .source = 0, .destination = 1, .tag = k % KEYS };
        memset(from[k], k / KEYS + 1, MANY_BYTES);
        /* the second of a key is so small that it needs no credit: it stays behind the first all the same */
        post_simple(&sends[k], &plans[k], ORR_SEND, from[k], k < KEYS ? MANY_BYTES : 8, 0);
        poll_both(1);
    }
    poll_both(N * 20);
    is_int(early_on(1), 2 * ORR_CREDIT_ASKED_LEAST,
           "what is behind one of its tag that is not announced waits with it");
    for (int half = 1; half >= 0; half--)
        for (int k = 0; k < N; k++) {
            if ((k % KEYS >= KEYS / 2) != half) continue;
            post_simple(&receives[k], &plans[k], ORR_RECV, to[k], k < KEYS ? MANY_BYTES : 8, 0);
            poll_both(1);
        }
    for (int i = 0; i < 100 && ended < 2 * N; i++) {
        poll_both(N);
        ended = 0;
        for (int k = 0; k < N; k++) ended += sends[k].done + receives[k].done;
    }
    for (int k = 0; k < N; k++)
        wrong += receives[k].request.status || to[k][0] != k / KEYS + 1 || to[k][7] != to[k][0];
    is_int(ended, 2 * N, "receives in another order get what was kept back");
    is_int(wrong, 0, "those of one tag in theirs");
    uint64_t before = orr_engine_get_counts(&ranks[1].engine).sent_messages;
    for (int k = 0; k < 2 * ORR_CREDIT_ASKED_LEAST; k++) {
        post_simple(&receives[k], &plans[k], ORR_RECV, to[k], 8, 0);
        poll_both(50);
    }
    ok(orr_engine_get_counts(&ranks[1].engine).sent_messages - before <= 1,
       "and who has none left is asked once more at most");
    for (int i = 0; i < 2; i++) give_up(i);
    for (int i = 0; i < 2; i++) orr_engine_fini(&ranks[i].engine);
    orr_inproc_destroy(net);
}

/* Receives wait when their sender keeps back more of their tag than there are of them. */
static void waiting_want_as_many(int waiting, const char *what)
{
    enum { N = 400, FILLED = ORR_CREDIT_ASKED_LEAST };
    static char from[MANY_BYTES], to[MANY_BYTES];
    static struct end others[FILLED], sends[N], receives[N];
    static struct planned other[FILLED], plan = { .source = 0, .destination = 1, .tag = FILLED };
    struct orr_inproc *net = orr_inproc_create(2, 1, 3, 10);
    int done[2] = { 0 };
    for (int i = 0; i < 2; i++) {
        orr_engine_init(&ranks[i].engine, orr_inproc_rank(net, i), NULL);
        orr_engine_limit_early(&ranks[i].engine, 0);
    }
    for (int k = 0; k < FILLED; k++) {
        other[k] = (struct planned){ .source = 0, .destination = 1, .tag = k };
        post_simple(&others[k], &other[k], ORR_SEND, from, MANY_BYTES, 0);
    }
    for (int k = 0; k < waiting; k++) post_simple(&receives[k], &plan, ORR_RECV, to, MANY_BYTES, 0);
    settle();
    for (int k = 0; k < N; k++) post_simple(&sends[k], &plan, ORR_SEND, from, MANY_BYTES, 0);
    poll_both(N * 10);
    for (int k = 0; k < waiting; k++) done[0] += receives[k].done;
    is_int(done[0], waiting, "%s get what they wait for", what);
    ok(early_on(1) <= FILLED + waiting, "of those behind them few are announced (%lld are)",
       early_on(1) - FILLED);
    for (int k = waiting; k < N; k++) post_simple(&receives[k], &plan, ORR_RECV, to, MANY_BYTES, 0);
    poll_both(N * 10);
    for (int k = 0; k < N; k++) done[1] += sends[k].done && receives[k].done;
    is_int(done[1], N, "and all come in the end");
    for (int i = 0; i < 2; i++) give_up(i);
    for (int i = 0; i < 2; i++) orr_engine_fini(&ranks[i].engine);
    orr_inproc_destroy(net);
}

static void asking_is_given_up(void)
{
    struct orr_inproc *net = orr_inproc_create(2, 1, 3, 0);
    struct planned *plans = calloc(MANY, sizeof *plans);
    begin_many(net, plans);
    long long sent = count_ends(0, 0);
    for (int i = 0; i < 2; i++) give_up(i);
    poll_both(100);
    is_int(sent + count_ends(0, -ECANCELED), MANY, "messages that wait to be wanted are given up at the end");
    is_int(early_on(1), 0, "by their receiver as well");
    end_many(net, plans);
}

/* Rank 1 takes nothing, rank 2 does. */
static void stalled_beside_live(void)
{
    enum { N = 50 };
    static char memory[2][8];
    static struct end sends[2][N], receives[2][N];
    static struct planned p[2] = { { .source = 0, .destination = 1, .tag = 9 },
                                   { .source = 0, .destination = 2, .tag = 9 } };
    struct orr_inproc *net = orr_inproc_create(3, 1, 3, 0);
    int done[2] = { 0 }, seen = 0, wrong = 0;
    for (int i = 0; i < 3; i++) orr_engine_init(&ranks[i].engine, orr_inproc_rank(net, i), NULL);
    orr_inproc_stall(net, 1, true);
    for (int k = 0; k < N; k++)
        for (int to = 0; to < 2; to++) {
            post_simple(&receives[to][k], &p[to], ORR_RECV, memory[to], 8, 0);
            simple(&sends[to][k], &p[to], ORR_SEND, memory[to], 8, 0);
            sends[to][k].request.priority = k % 3;
            post_made(&sends[to][k], true);
            for (int i = 0; i < 3; i++) orr_engine_poll(&ranks[i].engine);
        }
    for (int i = 0; i < 300; i++) orr_engine_poll(&ranks[i % 3].engine);
    for (int k = 0; k < N; k++) done[0] += receives[0][k].done, done[1] += receives[1][k].done;
    is_int(done[0], 0, "a rank that takes nothing gets nothing");
    is_int(done[1], N, "and does not hold up the others");
    orr_inproc_stall(net, 1, false);
    for (int i = 0; i < 600; i++) orr_engine_poll(&ranks[i % 3].engine);
    for (int k = 0; k < N; k++) {
        wrong += receives[0][k].done != 1;
        seen += sends[0][k].done == 1;
    }
    ok(wrong == 0 && seen == N, "what waited for it leaves when it takes again");
    for (int i = 0; i < 3; i++) orr_engine_fini(&ranks[i].engine);
    orr_inproc_destroy(net);
}

static void foreign_bytes(void)
{
    struct orr_inproc *net = orr_inproc_create(2, 1, 0, 0);
    struct orr_transport *t = orr_inproc_rank(net, 0);
    uint64_t state = 7;
    for (int i = 0; i < 2; i++) orr_engine_init(&ranks[i].engine, orr_inproc_rank(net, i), NULL);
    enum { COUNT = 500 };
    for (int i = 0; i < COUNT; i++) {
        unsigned char *b = t->ops->small_buffer(t, 1, false);
        size_t bytes = random_next(&state) % 200;
        for (size_t k = 0; k < bytes; k++) b[k] = (unsigned char)random_next(&state);
        if (i % 2 && bytes >= sizeof(struct orr_wire_header)) {
            struct orr_wire_header h = { .magic = ORR_WIRE_MAGIC,
                                         .version = ORR_WIRE_VERSION,
                                         .kind = (uint8_t)(1 + i / 2 % 7),
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

/* ---- who relies on whom ---- */

enum { FEW = 20 };
static struct end few[FEW];
static struct planned to_1 = { .source = 0, .destination = 1, .tag = 1 };
static char few_bytes[8];
static int misses;

static void count_miss(void *unused)
{
    (void)unused;
    misses++;
}

static void open_two(void)
{
    open_net = orr_inproc_create(2, 1, 0, 0);
    for (int i = 0; i < 2; i++) orr_engine_init(&ranks[i].engine, orr_inproc_rank(open_net, i), NULL);
}

static long long sent_by_0(void)
{
    return (long long)orr_engine_get_counts(&ranks[0].engine).sent_messages;
}

/* Who looks falls asleep afterwards, and nobody rings for what was there before. */
static void look_takes_all(void)
{
    open_two();
    for (int k = 0; k < FEW; k++) post_simple(&few[k], &to_1, ORR_SEND, few_bytes, sizeof few_bytes, 0);
    while (sent_by_0() < FEW) orr_engine_poll(&ranks[0].engine);
    orr_engine_poll(&ranks[1].engine);
    ok(early_on(1) < FEW, "one poll takes some of %d messages that have come", (int)FEW);
    orr_engine_look(&ranks[1].engine);
    is_int(early_on(1), FEW, "a look takes all");
    close_ranks();
}

/* Who holds the engine without polling tells what was left to it. */
static void holder_tells(void)
{
    open_two();
    orr_store_release(&ranks[0].engine.missed, count_miss);
    orr_engine_enter(&ranks[0].engine);
    orr_engine_leave(&ranks[0].engine);
    is_int(misses, 0, "who held the engine says nothing when nobody came meanwhile");
    orr_engine_enter(&ranks[0].engine);
    post_simple(&few[0], &to_1, ORR_SEND, few_bytes, sizeof few_bytes, 0);
    orr_engine_poll(&ranks[0].engine);
    orr_engine_leave(&ranks[0].engine);
    is_int(misses, 1, "that a message was posted");
    settle();
    misses = 0;
    orr_engine_enter(&ranks[0].engine);
    orr_engine_look(&ranks[0].engine);
    orr_engine_leave(&ranks[0].engine);
    is_int(misses, 1, "and that somebody looked, who may be asleep now");
    settle();
    misses = 0;
    post_simple(&few[0], &to_1, ORR_SEND, few_bytes, sizeof few_bytes, 0);
    orr_engine_visit_early(&ranks[0].engine, NULL, NULL);
    is_int(misses, 1, "who looks at the messages says that it has taken one from who posts it");
    settle();
    orr_store_release(&ranks[0].engine.missed, NULL);
    close_ranks();
}

static struct orr_mpi_progress progress;

static void post_one(void *unused)
{
    (void)unused;
    post_simple(&few[0], &to_1, ORR_SEND, few_bytes, sizeof few_bytes, 0);
    orr_progress_pass(&progress);
}

/* What is posted while functions of the program are put aside leaves with the call, not when others poll. */
static void posted_aside(void)
{
    open_two();
    orr_progress_init(&progress, &ranks[0].engine);
    long long before = sent_by_0();
    orr_progress_aside(&progress, post_one, NULL);
    is_int(sent_by_0() - before, 1, "a message that follows from what is called aside leaves at once");
    close_ranks();
    orr_store_release(&ranks[0].engine.missed, NULL);
}

int main(int argc, char **argv)
{
    int seeds = argc > 1 ? atoi(argv[1]) : SCALED(200, 40);
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    setenv("STARPU_SILENT", "1", 1);
    world.own = -1;
    world.large = LARGE;
    world.open = open_ranks;
    world.close = close_ranks;
    world.settle = settle;
    world.tell = tell;
    world.ranks = 2;
    single_facts();
    full_window();
    early_is_bounded();
    kept_back_in_order();
    waiting_want_as_many(1, "one receive");
    waiting_want_as_many(100, "a hundred receives");
    waiting_want_as_many(400, "as many receives as messages");
    asking_is_given_up();
    stalled_beside_live();
    foreign_bytes();
    look_takes_all();
    holder_tells();
    posted_aside();
    int wrong = 0;
    world.ranks = RANKS;
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
