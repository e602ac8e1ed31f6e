/* SPDX-License-Identifier: BSD-3-Clause */
/* tape.c: see tape.h.
 * Threads: see there. Owns: see there. Not here: see there.
 *
 * A ring has one writer and one taker, each with a counter of words that only it moves. The writer fills
 * words from `done` on and then moves that (release); the taker reads up to it (acquire), and then moves
 * `taken` (release); the writer reads `taken` (acquire) before it fills words again. So no word is touched by
 * both at a time, and none is atomic. `limit` saves the writer from looking: it is the nearest of the ring's
 * end, the words that are not taken yet, and half a ring beyond `taken`, where the taker is to be told. A
 * record lies in one piece: what is left before the ring's end is skipped. The ring of a thread that has
 * ended is handed on under a lock, with its writer's side as it was. */
#include "core/base/tape.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/otrace.h"

/* Protects which rings there are and whose; leaf. */
static ORR_MUTEX(tapes) tapes_lock = PTHREAD_MUTEX_INITIALIZER;
static struct orr_tape *open_tape; /* [lock: tapes] */
static uint64_t generations;       /* [lock: tapes] */

void orr_tape_open(struct orr_tape *tape, size_t words)
{
    pthread_mutex_lock(&tapes_lock);
    tape->words = words;
    tape->generation = ++generations;
    tape->count = 0;
    orr_store_relaxed(&tape->rings, NULL);
    orr_store_relaxed(&tape->homeless, 0);
    orr_store_relaxed(&tape->due, 0);
    open_tape = tape;
    pthread_mutex_unlock(&tapes_lock);
}

void orr_tape_close(struct orr_tape *tape)
{
    pthread_mutex_lock(&tapes_lock);
    struct orr_tape_ring *ring = orr_load_relaxed(&tape->rings);
    orr_store_relaxed(&tape->rings, NULL);
    open_tape = NULL;
    tape->generation = 0;
    pthread_mutex_unlock(&tapes_lock);
    for (struct orr_tape_ring *next; ring; ring = next) {
        next = ring->next;
        orr_free(ring);
    }
}

/* ---- whose a ring is ---- */

static struct orr_tape_ring *ring_create_locked(struct orr_tape *tape)
{
    size_t bytes = sizeof(struct orr_tape_ring) + tape->words * sizeof(uint64_t);
    struct orr_tape_ring *ring = orr_malloc_aligned(ORR_CACHE_LINE, ORR_SLAB_ROUND(bytes, ORR_CACHE_LINE));
    if (!ring) return NULL;
    memset(ring, 0, sizeof *ring);
    ring->tape = tape;
    ring->mask = tape->words - 1;
    ring->limit = tape->words / 2;
    ring->number = tape->count++;
    ring->next = orr_load_relaxed(&tape->rings);
    orr_store_release(&tape->rings, ring); /* pairs with orr_tape_take */
    return ring;
}

struct orr_tape_ring *orr_tape_ring_find(struct orr_tape *tape, bool *anew_out)
{
    struct orr_tape_own *own = orr_tape_own(orr_self());
    pthread_mutex_lock(&tapes_lock);
    struct orr_tape_ring *ring = orr_load_relaxed(&tape->rings);
    while (ring && ring->owned) ring = ring->next;
    if (!ring) ring = ring_create_locked(tape);
    if (ring) ring->owned = true;
    own->ring = ring;
    own->generation = tape->generation;
    pthread_mutex_unlock(&tapes_lock);
    if (!ring) orr_add_relaxed(&tape->homeless, 1u);
    *anew_out = ring != NULL;
    return ring;
}

void orr_tape_let_go(struct orr_thread *t)
{
    struct orr_tape_own *own = orr_tape_own(t);
    if (!own->ring) return;
    pthread_mutex_lock(&tapes_lock);
    if (open_tape && open_tape->generation == own->generation) own->ring->owned = false;
    own->ring = NULL;
    pthread_mutex_unlock(&tapes_lock);
}

/* ---- writing ---- */

/* Once for each time that it has been here: it may have come when little was there, and the ring be half full
 * again. */
static void tell_taker(struct orr_tape_ring *ring, uint64_t taken)
{
    if (ring->asked == taken + 1) return;
    ring->asked = taken + 1;
    if (orr_exchange_acq_rel(&ring->tape->due, 1u) == 0) orr_futex_wake(&ring->tape->due, 1);
}

uint64_t *orr_tape_room_slow(struct orr_tape_ring *ring, unsigned n)
{
    uint64_t words = ring->mask + 1, taken = orr_load_acquire(&ring->taken); /* pairs with take_ring */
    uint64_t wrap = (ring->head | ring->mask) + 1, at = ring->head + n > wrap ? wrap : ring->head;
    if (at + n - taken >= words / 2) tell_taker(ring, taken);
    if (at + n - taken > words) {
        orr_own_add(&ring->lost, 1);
        return NULL;
    }
    if (at != ring->head) {
        ring->words[ring->head & ring->mask] = OTRACE_HEAD(OTRACE_SKIP, 0, 0);
        ring->head = at;
        wrap = at + words;
    }
    uint64_t told = taken + words / 2, full = taken + words;
    ring->limit = told > at + n ? told : full;
    if (ring->limit > wrap) ring->limit = wrap;
    return &ring->words[at & ring->mask];
}

/* ---- taking ---- */

static bool take_ring(struct orr_tape_ring *ring,
                      bool (*take)(void *arg, const struct orr_tape_ring *ring, const uint64_t *words,
                                   size_t n),
                      void *arg)
{
    uint64_t done = orr_load_acquire(&ring->done); /* pairs with orr_tape_put */
    for (uint64_t from = orr_load_relaxed(&ring->taken); from < done;) {
        uint64_t wrap = (from | ring->mask) + 1, end = done < wrap ? done : wrap;
        if (!take(arg, ring, &ring->words[from & ring->mask], (size_t)(end - from))) return false;
        from = end;
        orr_store_release(&ring->taken, from); /* pairs with orr_tape_room_slow */
    }
    return true;
}

bool orr_tape_take(struct orr_tape *tape,
                   bool (*take)(void *arg, const struct orr_tape_ring *ring, const uint64_t *words, size_t n),
                   void *arg)
{
    bool all = true;
    for (struct orr_tape_ring *ring = orr_load_acquire(&tape->rings); ring && all; ring = ring->next)
        all = take_ring(ring, take, arg);
    return all;
}

uint64_t orr_tape_lost(struct orr_tape *tape)
{
    uint64_t lost = orr_load_relaxed(&tape->homeless);
    for (struct orr_tape_ring *ring = orr_load_acquire(&tape->rings); ring; ring = ring->next)
        lost += orr_load_acquire(&ring->lost);
    return lost;
}
