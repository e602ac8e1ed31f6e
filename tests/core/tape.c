/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rings of words: what several threads write is taken in each one's order, whole, while they write; what does
 * not fit is counted; memory is that of as many rings as threads write at a time.
 * Threads: writers, and main, which takes. Owns: the tape. Not here: files (recording.c).
 */
#include <pthread.h>

#include "core/base/otrace.h"
#include "core/base/tape.h"
#include "tests/helper.h"

enum { WRITERS = 4, RECORDS = SCALED(100000, 20000), WORDS = 4096, RINGS = 64 };

static struct orr_tape tape;
static atomic_int writing;
static bool lengths_vary;

static struct {
    uint64_t next[WRITERS], taken, wrong, gaps;
    bool blocks[RINGS];
} seen;

/* Record n of a writer: its number, n, and n again as often as there is room. */
static void *write_records(void *arg)
{
    uint64_t me = (uint64_t)(intptr_t)arg;
    for (uint64_t n = 0; n < RECORDS; n++) {
        bool anew = false;
        unsigned words = 3 + (unsigned)(lengths_vary ? (n * 7 + me) % 60 : 5);
        struct orr_tape_ring *ring = orr_tape_ring(&tape, &anew);
        uint64_t *w = ring ? orr_tape_room(ring, words) : NULL;
        if (!w) continue;
        w[0] = OTRACE_HEAD(OTRACE_USER_NUMBER, words, n);
        w[1] = me;
        for (unsigned i = 2; i < words; i++) w[i] = n;
        orr_tape_put(ring, words);
    }
    atomic_fetch_sub(&writing, 1);
    return NULL;
}

static bool take(void *arg, const struct orr_tape_ring *ring, const uint64_t *w, size_t n)
{
    (void)arg;
    if (ring->number < RINGS) seen.blocks[ring->number] = true;
    while (n > 0 && otrace_kind(*w) != OTRACE_SKIP) {
        unsigned words = otrace_words(*w);
        bool whole = words >= 3 && words <= n && w[1] < WRITERS;
        for (unsigned i = 3; whole && i < words; i++) whole = w[i] == w[2];
        seen.wrong += !whole;
        if (!whole) return true;
        seen.wrong += w[2] < seen.next[w[1]];
        seen.gaps += w[2] != seen.next[w[1]];
        seen.next[w[1]] = w[2] + 1;
        seen.taken++;
        w += words;
        n -= words;
    }
    return true;
}

static bool refuse(void *arg, const struct orr_tape_ring *ring, const uint64_t *w, size_t n)
{
    (void)arg, (void)ring, (void)w, (void)n;
    return false;
}

static bool ignore(void *arg, const struct orr_tape_ring *ring, const uint64_t *w, size_t n)
{
    (void)arg, (void)ring, (void)w, (void)n;
    return true;
}

static void write_from_threads(bool taken_meanwhile)
{
    pthread_t threads[WRITERS];
    memset(&seen, 0, sizeof seen);
    lengths_vary = taken_meanwhile;
    atomic_store(&writing, WRITERS);
    for (intptr_t i = 0; i < WRITERS; i++) pthread_create(&threads[i], NULL, write_records, (void *)i);
    while (taken_meanwhile && atomic_load(&writing)) orr_tape_take(&tape, take, NULL);
    for (int i = 0; i < WRITERS; i++) pthread_join(threads[i], NULL);
    if (!taken_meanwhile) ok(!orr_tape_take(&tape, refuse, NULL), "what nobody takes stays");
    orr_tape_take(&tape, take, NULL);
}

/* How often the taker is told, who comes each time, while this thread fills the ring so many times. */
static int told_while_filling(int times)
{
    enum { N = 8 };
    int told = 0;
    bool anew = false;
    struct orr_tape_ring *ring = orr_tape_ring(&tape, &anew);
    for (int i = 0; ring && i < times * WORDS / N; i++) {
        uint64_t *w = orr_tape_room(ring, N);
        if (!w) return -1;
        for (unsigned j = 0; j < N; j++) w[j] = OTRACE_HEAD(OTRACE_USER_NUMBER, N, i);
        orr_tape_put(ring, N);
        if (!orr_load_relaxed(&tape.due)) continue;
        told++;
        orr_store_relaxed(&tape.due, 0u);
        orr_tape_take(&tape, ignore, NULL);
    }
    return told;
}

int main(void)
{
    orr_tape_open(&tape, WORDS);
    int told = told_while_filling(10);
    ok(all_of(told >= 10, told <= 40), "who takes is told each time that a ring is half full");
    orr_tape_close(&tape);

    orr_tape_open(&tape, WORDS);
    write_from_threads(true);
    ok(all_of(seen.wrong == 0, seen.taken > 0),
       "records are taken whole, and in the order of their thread, while threads write");
    is_int((long long)(seen.taken + orr_tape_lost(&tape)), (long long)WRITERS * RECORDS,
           "a record is taken or counted as lost");

    uint64_t lost = orr_tape_lost(&tape);
    write_from_threads(false);
    int rings = 0;
    for (int i = 0; i < RINGS; i++) rings += seen.blocks[i];
    ok(all_of(seen.wrong == 0, seen.gaps == 0, seen.taken > 0),
       "what is in a full ring is what was written first");
    is_int((long long)(seen.taken + orr_tape_lost(&tape) - lost), (long long)WRITERS * RECORDS,
           "and the rest is counted");
    ok(all_of(rings <= WRITERS, tape.count <= WRITERS),
       "threads write into the rings of those that have ended");
    ok(orr_load_relaxed(&tape.due) == 1, "who takes is asked to come when a ring is half full");
    orr_tape_close(&tape);
    return done_testing();
}
