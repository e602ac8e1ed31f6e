/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One value for several ranks, over a network that delays, reorders and refuses: it goes along a tree of
 * those who wait for it, nobody waits for one who does not, and the next value never overtakes. Threads:
 * main, which polls for all ranks. Owns: the network, the engines, the requests. Not here: what tasks make of
 * it (coop.c).
 */
#include <stdlib.h>
#include <string.h>

#include "mpi/wire/engine.h"
#include "mpi/wire/transports/inproc.h"
#include "tests/tap.h"

enum { RANKS = 8, BYTES = 3000, VALUES = 3, CONTEXT = 1, TAG = 5 };

struct end {
    struct orr_request request; /* first */
    char memory[BYTES];
    int arrived, done;
};

static struct orr_inproc *net;
static struct orr_engine engines[RANKS];
static struct end sends[VALUES][RANKS], receives[VALUES][RANKS], plain_send, plain_receive;
static char value[BYTES];
static uint64_t state;

static uint32_t chance(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

static void has_arrived(struct orr_request *r)
{
    ((struct end *)r)->arrived++;
}

static void is_done(struct orr_request *r)
{
    ((struct end *)r)->done++;
}

static void make(struct end *e, enum orr_request_kind kind, int peer, char *bytes)
{
    memset(e, 0, sizeof *e);
    orr_request_init(&e->request);
    e->request.kind = kind;
    e->request.node = (struct orr_match_node){ .context = CONTEXT, .peer = peer, .tag = TAG };
    e->request.payload = (struct orr_payload){ .base = bytes, .bytes = BYTES, .type = 1 };
    e->request.spreads = kind == ORR_SEND;
    e->request.relays = kind == ORR_RECV;
    e->request.arrived = has_arrived;
    e->request.done = is_done;
}

static void open_all(uint64_t seed, unsigned delay, unsigned refuse)
{
    state = seed;
    memset(sends, 0, sizeof sends);
    memset(receives, 0, sizeof receives);
    net = orr_inproc_create(RANKS, seed, delay, refuse);
    for (int i = 0; i < RANKS; i++) orr_engine_init(&engines[i], orr_inproc_rank(net, i), NULL);
}

static void close_all(void)
{
    for (int i = 0; i < RANKS; i++) orr_engine_fini(&engines[i]);
    orr_inproc_destroy(net);
}

static void poll_all(int rounds)
{
    for (int i = 0; i < rounds * RANKS; i++) orr_engine_poll(&engines[chance(RANKS)]);
}

/* Rank 0 has value k for all others: posted, and then ready together. */
static void post_sends(int k)
{
    for (int i = 1; i < RANKS; i++) {
        make(&sends[k][i], ORR_SEND, i, value);
        orr_engine_post(&engines[0], &sends[k][i].request, false);
    }
}

static void ready_sends(int k)
{
    struct orr_ready_batch b = { 0 };
    memset(value, 'a' + k, sizeof value);
    for (int i = 1; i < RANKS; i++) orr_ready_batch_add(&b, &sends[k][i].request);
    orr_engine_ready_all(&engines[0], &b);
}

static void post_receive(int k, int i, bool ready)
{
    struct end *e = &receives[k][i];
    make(e, ORR_RECV, 0, e->memory);
    orr_engine_post(&engines[i], &e->request, ready);
}

static bool is_right(int k, int i)
{
    const struct end *e = &receives[k][i];
    return e->done == 1 && e->arrived <= 1 && e->request.status == 0 && e->memory[0] == 'a' + k &&
           e->memory[BYTES - 1] == 'a' + k;
}

static int count_right(int k)
{
    int n = 0;
    for (int i = 1; i < RANKS; i++) n += is_right(k, i);
    return n;
}

static int count_sent(int k)
{
    int n = 0;
    for (int i = 1; i < RANKS; i++) n += sends[k][i].done == 1;
    return n;
}

static void all_wait(void)
{
    open_all(1, 3, 0);
    post_sends(0);
    for (int i = 1; i < RANKS; i++) post_receive(0, i, true);
    poll_all(20);
    ready_sends(0);
    poll_all(400);
    struct orr_engine_counts c = orr_engine_get_counts(&engines[0]);
    int arrived = 0;
    for (int i = 1; i < RANKS; i++) arrived += receives[0][i].arrived;
    ok(count_right(0) == RANKS - 1, "all ranks get a value that goes along a tree");
    ok(c.relayed == RANKS - 3 && c.sent_messages == 2, "its owner sends it to two, for %d (it sent %llu)",
       RANKS - 1, (unsigned long long)c.sent_messages);
    ok(count_sent(0) == RANKS - 1, "all its sends end");
    ok(arrived == 3, "those who pass it on may read it meanwhile (%d)", arrived);
    close_all();
}

/* Ranks 1 and 5 are the first of the branches. */
static void first_is_late(void)
{
    open_all(2, 3, 0);
    post_sends(0);
    for (int i = 2; i < RANKS; i++)
        if (i != 5) post_receive(0, i, true);
    post_receive(0, 5, false);
    poll_all(20);
    ready_sends(0);
    poll_all(600);
    ok(count_right(0) == RANKS - 3, "nobody waits for a rank that has not come so far (%d)", count_right(0));
    ok(count_sent(0) == RANKS - 3, "the sends to the others end");
    post_receive(0, 1, true);
    orr_engine_ready(&engines[5], &receives[0][5].request);
    poll_all(400);
    ok(count_right(0) == RANKS - 1 && count_sent(0) == RANKS - 1, "late ones get it when they come");
    close_all();
}

/* A send of other bytes with the same name, posted so many polls later. True: both got what was theirs. */
static bool follows(int polls)
{
    static char other[BYTES];
    memset(other, 'z', sizeof other);
    open_all(3 + (uint64_t)polls, 20, 0);
    post_sends(0);
    for (int i = 1; i < RANKS; i++) post_receive(0, i, true);
    make(&plain_receive, ORR_RECV, 0, plain_receive.memory);
    orr_engine_post(&engines[3], &plain_receive.request, true);
    ready_sends(0);
    poll_all(polls);
    make(&plain_send, ORR_SEND, 3, other);
    plain_send.request.spreads = false;
    orr_engine_post(&engines[0], &plain_send.request, true);
    poll_all(800);
    bool right = count_right(0) == RANKS - 1 && plain_receive.done == 1 && plain_receive.memory[0] == 'z';
    close_all();
    return right;
}

/* Other bytes were sent before with the same name, alone, and are late: all that holds them up is the
 * network, as their sender may change them already. True: both got what was theirs. */
static bool precedes(uint64_t seed)
{
    static char other[BYTES];
    memset(other, 'z', sizeof other);
    open_all(seed, 200, 0);
    make(&plain_receive, ORR_RECV, 0, plain_receive.memory);
    orr_engine_post(&engines[2], &plain_receive.request, true);
    for (int i = 1; i < RANKS; i++) post_receive(0, i, true);
    make(&plain_send, ORR_SEND, 2, other);
    plain_send.request.spreads = false;
    orr_engine_post(&engines[0], &plain_send.request, true);
    orr_engine_poll(&engines[0]);
    post_sends(0);
    ready_sends(0);
    poll_all(2000);
    bool right = count_right(0) == RANKS - 1 && plain_receive.done == 1 && plain_receive.memory[0] == 'z';
    close_all();
    return right;
}

static void same_name(void)
{
    int wrong = 0;
    for (int polls = 0; polls < 40; polls++) wrong += !follows(polls);
    ok(wrong == 0, "what follows under the same name does not overtake (%d did)", wrong);
    wrong = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) wrong += !precedes(seed);
    ok(wrong == 0, "nor does what goes along a tree overtake what went before (%d did)", wrong);
}

static void one_leaves(void)
{
    open_all(4, 3, 0);
    post_sends(0);
    for (int i = 1; i < RANKS; i++)
        if (i != 4) post_receive(0, i, true);
    poll_all(20);
    ready_sends(0);
    poll_all(600);
    int before = count_sent(0);
    for (int i = 0; i < RANKS; i++) orr_engine_cancel_unmatched(&engines[i]);
    poll_all(300);
    ok(before == RANKS - 2 && count_sent(0) == RANKS - 1,
       "a shutdown gives up what is never received, and what was left to others");
    ok(sends[0][4].request.status == -ECANCELED || sends[0][4].request.status == 0, "and says so");
    close_all();
}

/* Values one after the other; whoever receives is ready at any time. Returns what went wrong. */
static int random_run(uint64_t seed, uint64_t *relayed)
{
    int wrong = 0;
    bool was_ready[VALUES][RANKS] = { { false } };
    open_all(seed, 1 + (unsigned)(seed % 30), seed % 3 ? 10 : 60);
    if (seed % 2)
        for (int i = 0; i < RANKS; i++) orr_engine_limit_early(&engines[i], (seed % 5) * 4096);
    for (int k = 0; k < VALUES; k++) post_sends(k);
    for (int k = 0; k < VALUES; k++) {
        for (int i = 1; i < RANKS; i++) post_receive(k, i, was_ready[k][i] = chance(3) > 0);
        poll_all((int)chance(20));
        ready_sends(k);
        for (int round = 0; round < 4000 && (count_right(k) < RANKS - 1 || count_sent(k) < RANKS - 1);
             round++) {
            int i = 1 + (int)chance(RANKS - 1);
            if (!was_ready[k][i] && chance(4) == 0) {
                was_ready[k][i] = true;
                orr_engine_ready(&engines[i], &receives[k][i].request);
            }
            poll_all(1);
        }
        wrong += RANKS - 1 - count_right(k) + RANKS - 1 - count_sent(k);
        if (wrong)
            diag("seed %llu, value %d: %d right, %d sent", (unsigned long long)seed, k, count_right(k),
                 count_sent(k));
    }
    for (int i = 0; i < RANKS; i++) {
        struct orr_engine_counts c = orr_engine_get_counts(&engines[i]);
        *relayed += c.relayed;
        wrong += (int)c.bad_messages;
    }
    close_all();
    return wrong;
}

int main(void)
{
    enum { SEEDS = 60 };
    int wrong = 0;
    uint64_t relayed = 0;
    all_wait();
    first_is_late();
    same_name();
    one_leaves();
    for (uint64_t seed = 1; seed <= SEEDS && !wrong; seed++) wrong += random_run(seed, &relayed);
    ok(wrong == 0, "over %d networks each value is received once, and in order", SEEDS);
    ok(relayed > SEEDS, "and many by way of others (%llu)", (unsigned long long)relayed);
    return done_testing();
}
