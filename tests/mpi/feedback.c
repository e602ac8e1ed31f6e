/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What tasks take, agreed by all ranks: lengths and slownesses from measures; rounds over an adversarial
 * network, applied at the same places of the stream; a rank that gets slow is found.
 * Threads: one for each rank, and the main one. Owns: the measures, which are made up.
 * Not here: what a placement makes of it (dmda.c).
 */
#include <starpu.h>

#include "mpi/place/feedback.h"
#include "mpi/place/lengths.h"
#include "mpi/place/times.h"
#include "tests/mpi/in_process.h"

enum { RANKS = 4, POSITIONS = 3000, PLACES = 200 };

/* ---- from measures to lengths ---- */

static uint64_t told_of(const struct orr_times *t, uint64_t key, int rank, uint32_t type)
{
    struct orr_time_record *out = calloc(orr_times_room(t), sizeof *out);
    size_t n = orr_times_tell(t, out);
    uint64_t ns = 0;
    for (size_t i = 0; i < n; i++)
        if (out[i].key == key && out[i].type == type && out[i].rank == rank) ns = out[i].ns;
    free(out);
    return ns;
}

static uint64_t told(const struct orr_times *t, uint64_t key, int rank)
{
    return told_of(t, key, rank, STARPU_CPU_WORKER);
}

static struct orr_time_record took(uint64_t key, int rank, uint64_t count, uint64_t each)
{
    return (struct orr_time_record){
        .key = key, .rank = rank, .type = STARPU_CPU_WORKER, .count = count, .ns = count * each
    };
}

static bool near(uint64_t value, uint64_t wanted)
{
    return value * 100 >= wanted * 98 && value * 100 <= wanted * 102;
}

static void learns(void)
{
    struct orr_times t;
    is_int(orr_times_init(&t, 3), 0, "three ranks of speeds 1, 2 and 4");
    const struct orr_time_record first[] = { took(7, 0, 10, 4000), took(7, 1, 10, 2000), took(7, 2, 5, 1000),
                                             took(8, 0, 3, 8000), took(8, 2, 3, 2000) };
    is_int(orr_times_learn(&t, first, 5, false), 0, "measure two things");
    ok(near(told(&t, 8, -1), 2 * told(&t, 7, -1)), "one takes twice as long as the other");
    ok(near(told(&t, 0, 0), 2 * told(&t, 0, 1)) && near(told(&t, 0, 0), 4 * told(&t, 0, 2)),
       "and the ranks' speeds are found");
    uint64_t length = told(&t, 7, -1), slow = told(&t, 0, 1);
    const struct orr_time_record second[] = { took(7, 1, 10, 6000), took(9, 1, 10, 12000) };
    orr_times_learn(&t, second, 2, false);
    ok(near(told(&t, 0, 1), 3 * slow), "a rank that is three times slower is found at once");
    ok(near(told(&t, 7, -1), length), "and what it does is not taken for longer");
    ok(near(told(&t, 9, -1), 2 * length), "what is new is measured by its speed");
    const struct orr_time_record brief[] = { took(10, 2, 10, 100), took(10, 2, 10, 800) };
    uint64_t other = told(&t, 0, 2);
    for (int i = 0; i < 2; i++) orr_times_learn(&t, &brief[i], 1, false);
    ok(told(&t, 0, 2) == other && told(&t, 10, -1) > 0, "what takes less than a microsecond tells no speed");
    struct orr_time_record joules[] = { took(8, 0, 1, 5000), took(8, 2, 1, 7000) };
    uint64_t speed = told(&t, 0, 1), before = told(&t, 8, -1);
    joules[0].type = joules[1].type = STARPU_CPU_WORKER + STARPU_NARCH;
    orr_times_learn(&t, joules, 2, false);
    ok(told_of(&t, 8, -1, STARPU_CPU_WORKER + STARPU_NARCH) == 6000,
       "what a task consumes is the mean of what the ranks say");
    ok(told(&t, 8, -1) == before && told(&t, 0, 1) == speed, "and has nothing to do with how long it takes");
    const struct orr_time_record bad[] = { { .key = 7, .rank = 900, .count = 1, .ns = 1 },
                                           { .key = 7, .type = 900, .count = 1, .ns = 1 },
                                           { .key = 0, .count = 1, .ns = 1 },
                                           { .key = 7, .count = 1, .ns = UINT64_MAX },
                                           { .key = 7, .count = 0, .ns = 5 } };
    is_int(orr_times_learn(&t, bad, 5, false), 0, "records that cannot be are left out");
    ok(near(told(&t, 7, -1), length), "and change nothing");
    for (uint64_t k = 0; k < 500; k++) {
        const struct orr_time_record r = took(k * 0x9e3779b97f4a7c15u + 1, 0, 1, 1000 + k);
        orr_times_learn(&t, &r, 1, false);
    }
    ok(near(told(&t, 300 * 0x9e3779b97f4a7c15u + 1, -1) * told(&t, 0, 0), 1300000),
       "500 things are told apart");
    orr_times_fini(&t);
}

/* Where all meet, which is once an iteration: what was measured once may be chance. */
static void is_disturbed(void)
{
    struct orr_times t;
    orr_times_init(&t, 2);
    uint64_t slow[8], length[8];
    const uint64_t each[] = { 2000, 2000, 2000, 6000, 2000, 2000, 6000, 6000 };
    for (int i = 0; i < 8; i++) {
        const struct orr_time_record r[] = { took(7, 0, 10, each[i]), took(7, 1, 10, 2000) };
        orr_times_learn(&t, r, 2, true);
        slow[i] = told(&t, 0, 0);
        length[i] = told(&t, 7, -1);
    }
    ok(near(slow[3], slow[2]), "a rank that is disturbed in one iteration is as fast as before in the next");
    ok(near(slow[4], slow[2]), "and as after");
    ok(near(length[3], length[2]), "nor is what it did taken for longer");
    ok(near(slow[6], slow[2]) && near(slow[7], 3 * slow[2]), "one that is slower in two is slower");
    const struct orr_time_record usual[] = { took(7, 0, 10, 6000), took(7, 1, 10, 2000) },
                                 once[] = { took(7, 0, 10, 60000), took(7, 1, 10, 2000) },
                                 anew = took(9, 0, 10, 6000);
    orr_times_learn(&t, usual, 2, true);
    orr_times_learn(&t, once, 2, true);
    orr_times_learn(&t, &anew, 1, true);
    ok(near(told(&t, 9, -1), told(&t, 7, -1)), "what is new after a disturbance is not taken for shorter");
    orr_times_fini(&t);
}

/* ---- rounds ---- */

static _Atomic int failed;
static uint64_t seen_at[RANKS][PLACES], found_slow[RANKS][2];
static int seen_count[RANKS];

struct listener {
    int rank;
    uint64_t position;
};

static void hear(void *arg, const struct orr_place_measure *m)
{
    struct listener *l = arg;
    int n = seen_count[l->rank];
    uint64_t hash =
        l->position * 0x9e3779b97f4a7c15u ^ m->key ^ m->ns << 20 ^ m->slow ^ (uint64_t)m->rank << 50;
    if (m->slow && m->rank == 2) found_slow[l->rank][1] = m->slow;
    if (m->slow && m->rank == 1) found_slow[l->rank][0] = m->slow;
    if (n < PLACES) seen_at[l->rank][n] = hash ^ hash >> 31;
    seen_count[l->rank]++;
}

/* A job whose rank 2 gets three times slower in the middle; ranks are far ahead of each other. */
static void rounds(struct job *j, int rank)
{
    struct listener l = { rank, 0 };
    if (rank_start(j, rank)) atomic_fetch_add(&failed, 1);
    struct orr_feedback *f = orr_feedback_create(sessions[rank].cluster.comm, hear, &l);
    uint64_t seed = (uint64_t)rank + 1;
    for (l.position = 0; l.position < POSITIONS; l.position++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint64_t ns = 1000 + (seed >> 33) % 20;
        orr_feedback_took(f, 5 + l.position % 3, STARPU_CPU_WORKER,
                          rank == 2 && l.position > POSITIONS / 2 ? 3 * ns : ns);
        if (seed >> 40 & 1) sched_yield();
        if (l.position == 700 || l.position == 701 || l.position == POSITIONS * 3 / 4)
            orr_feedback_meet(f, l.position);
        if (l.position >= orr_feedback_next(f)) orr_feedback_turn(f, l.position);
        if (l.position == POSITIONS / 2) {
            found_slow[rank][0] = found_slow[rank][1] = 0;
            orr_feedback_meet(f, l.position);
        }
    }
    orr_feedback_meet(f, l.position);
    if (rank_end(j, rank)) atomic_fetch_add(&failed, 1);
    orr_feedback_destroy(f);
}

static void agree(void)
{
    struct job j;
    int differ = 0, found = 0;
    job_create(&j, RANKS, 0, 9, rounds);
    job_run(&j);
    job_join(&j);
    is_int(failed, 0, "%d ranks begin and end over a network that delays", RANKS);
    for (int r = 1; r < RANKS; r++) {
        differ += seen_count[r] != seen_count[0];
        for (int i = 0; i < PLACES; i++) differ += seen_at[r][i] != seen_at[0][i];
        found += found_slow[r][1] > 2 * found_slow[r][0];
    }
    ok(seen_count[0] > 20, "they are told %d times", seen_count[0]);
    is_int(differ, 0, "the same, at the same places of the stream");
    is_int(found, RANKS - 1, "and of the rank that got slower");
}

int main(void)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    setenv("ORRERY_HEARTBEAT_MS", "60000", 1);
    if (starpu_init(&conf)) skip_all("no worker");
    learns();
    is_disturbed();
    agree();
    starpu_shutdown();
    return done_testing();
}
