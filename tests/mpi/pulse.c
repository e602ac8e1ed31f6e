/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Heartbeats between many ranks of one process, in simulated time over a network that delays: who stops for
 * good is found within the limit, who only stops for a while is not, and a job that is suspended as a whole
 * blames nobody. Threads: main. Owns: the ranks. Not here: processes and the end of a job (failures.h).
 */
#include <string.h>

#include "core/base/alloc.h"
#include "mpi/live/control.h"
#include "mpi/wire/engine.h"
#include "mpi/live/pulse.h"
#include "mpi/wire/transports/inproc.h"
#include "tests/tap.h"

enum { RANKS_MAX = 9, SEEDS = SCALED(20, 4), LIMIT_MS = 3750, STEP_MS = 25 };

struct rank {
    struct orr_engine engine;
    struct orr_pulse pulse;
    int64_t stopped_until; /* ms; -1: runs */
    int64_t next_look, last_look;
    int verdicts, victim; /* the last one */
    int64_t verdict_at;
};

static struct rank ranks[RANKS_MAX];
static int size;

static void on_control(void *arg, int source, const struct orr_wire_header *h, const void *data)
{
    struct rank *r = arg;
    (void)data;
    if (h->type == ORR_CONTROL_BEAT) orr_pulse_heard(&r->pulse, source);
}

static bool beat(void *arg, int peer)
{
    struct rank *r = arg;
    const struct orr_wire_header h = { .type = ORR_CONTROL_BEAT };
    return orr_engine_send_control(&r->engine, peer, &h, NULL, 0);
}

/* One step of simulated time for every rank that runs. */
static void step(int64_t now)
{
    for (int i = 0; i < size; i++) {
        struct rank *r = &ranks[i];
        if (now < r->stopped_until || now < r->next_look) continue;
        for (int k = 0; k < 20; k++) orr_engine_poll(&r->engine);
        int victim = orr_pulse_tick(&r->pulse, (uint64_t)(now - r->last_look), beat, r);
        r->last_look = now;
        r->next_look = now + r->pulse.look_ms;
        if (victim < 0) continue;
        r->verdicts++;
        r->victim = victim;
        r->verdict_at = now;
    }
}

static struct orr_inproc *open_ranks(int count, uint64_t seed)
{
    struct orr_inproc *net = orr_inproc_create(count, seed, 10, 5);
    size = count;
    memset(ranks, 0, sizeof ranks);
    for (int i = 0; i < count; i++) {
        orr_engine_init(&ranks[i].engine, orr_inproc_rank(net, i), NULL);
        ranks[i].engine.on_control = on_control;
        ranks[i].engine.on_control_arg = &ranks[i];
        ranks[i].next_look = i * 7;
        orr_pulse_init(&ranks[i].pulse, i, count, LIMIT_MS);
    }
    return net;
}

static void close_ranks(struct orr_inproc *net)
{
    for (int i = 0; i < size; i++) orr_engine_fini(&ranks[i].engine);
    orr_inproc_destroy(net);
}

/* Rank victim stops at 10 s for so long. Returns how many verdicts there were, of all ranks about all. */
static int stop_one(int count, uint64_t seed, int victim, int64_t for_ms, int64_t *found_after_out,
                    int *wrong_out)
{
    struct orr_inproc *net = open_ranks(count, seed);
    int verdicts = 0;
    *found_after_out = 0;
    for (int64_t now = 0; now < 30000; now += STEP_MS) {
        if (now == 10000) ranks[victim].stopped_until = now + for_ms;
        step(now);
    }
    for (int i = 0; i < count; i++) {
        verdicts += ranks[i].verdicts;
        if (!ranks[i].verdicts) continue;
        *wrong_out += ranks[i].victim != victim;
        if (ranks[i].verdict_at - 10000 > *found_after_out) *found_after_out = ranks[i].verdict_at - 10000;
    }
    close_ranks(net);
    return verdicts;
}

static void for_good(void)
{
    int missed = 0, wrong = 0, late = 0, early = 0;
    int64_t after;
    for (int count = 2; count <= RANKS_MAX; count++)
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            missed += stop_one(count, seed, (int)(seed % (unsigned)count), 1000000, &after, &wrong) == 0;
            late += after > LIMIT_MS + 500;
            early += after < LIMIT_MS - 600;
        }
    ok(missed == 0 && wrong == 0, "of 2 to 9 ranks, the one that stops for good is found, and nobody else");
    ok(late == 0 && early == 0, "not before the limit of 3.75 s, and within half a second of it");
}

static void for_a_while(void)
{
    int verdicts = 0, wrong = 0;
    int64_t after;
    for (int count = 2; count <= RANKS_MAX; count++)
        for (uint64_t seed = 0; seed < SEEDS; seed++)
            verdicts += stop_one(count, seed, (int)(seed % (unsigned)count), 3000, &after, &wrong);
    is_int(verdicts, 0, "a rank that is stopped for 3 s is not given up");
}

static void two_neighbours(void)
{
    int missed = 0;
    for (int count = 4; count <= RANKS_MAX; count++) {
        struct orr_inproc *net = open_ranks(count, (uint64_t)count);
        bool found[RANKS_MAX] = { false };
        for (int64_t now = 0; now < 30000; now += STEP_MS) {
            if (now == 10000) ranks[1].stopped_until = ranks[2].stopped_until = 1000000;
            step(now);
            for (int i = 0; i < count; i++)
                if (ranks[i].verdicts) found[ranks[i].victim] = true;
        }
        missed += !found[1] || !found[2];
        close_ranks(net);
    }
    is_int(missed, 0, "two neighbours that stop together are both found");
}

static void suspended(void)
{
    int verdicts = 0;
    for (int count = 2; count <= RANKS_MAX; count++) {
        struct orr_inproc *net = open_ranks(count, (uint64_t)count + 100);
        for (int64_t now = 0; now < 4000000; now += now == 10000 ? 3600000 : STEP_MS) step(now);
        for (int i = 0; i < count; i++) verdicts += ranks[i].verdicts;
        close_ranks(net);
    }
    is_int(verdicts, 0, "nobody is given up when the whole job is suspended for an hour");
}

static void few_beats(void)
{
    struct orr_inproc *net = open_ranks(8, 1);
    for (int64_t now = 0; now < 10000; now += STEP_MS) step(now);
    is_int(ranks[0].pulse.beat_ms, 375, "one beat in 0.375 s, whatever the number of ranks");
    is_int(ranks[0].pulse.neighbours, 2, "each rank listens to two others");
    close_ranks(net);
}

int main(void)
{
    for_good();
    for_a_while();
    two_neighbours();
    suspended();
    few_beats();
    return done_testing();
}
