/* SPDX-License-Identifier: BSD-3-Clause */
/* clocks.c: see clocks.h. Threads: see clocks.h. Owns: see clocks.h. Not here: see clocks.h. */
#include "mpi/place/clocks.h"

#include <errno.h>

#include "core/base/alloc.h"

int orr_clocks_init(struct orr_clocks *c, int ranks, int kinds)
{
    size_t n = (size_t)ranks;
    *c = (struct orr_clocks){ .ranks = ranks, .kinds = kinds };
    c->clock = orr_malloc_aligned(64, n * (size_t)kinds * sizeof *c->clock);
    c->heap = orr_calloc(n, sizeof *c->heap);
    c->place = orr_calloc(n, sizeof *c->place);
    if (!c->clock || !c->heap || !c->place) {
        orr_clocks_fini(c);
        return -ENOMEM;
    }
    for (int r = 0; r < ranks; r++)
        for (int k = 0; k < kinds; k++) orr_clocks_set(c, r, k, 0);
    return 0;
}

void orr_clocks_fini(struct orr_clocks *c)
{
    orr_free(c->clock);
    orr_free(c->heap);
    orr_free(c->place);
    *c = (struct orr_clocks){ 0 };
}

void orr_clocks_set(struct orr_clocks *c, int rank, int kind, unsigned workers)
{
    struct orr_clock *k = (struct orr_clock *)orr_clocks_at(c, rank, kind);
    *k = (struct orr_clock){ .workers = workers };
    k->lanes = (uint16_t)(workers < ORR_CLOCK_LANES ? workers : ORR_CLOCK_LANES);
    for (int i = k->lanes; i < ORR_CLOCK_LANES; i++) k->lane[i] = UINT64_MAX;
}

/* ---- the heap ---- */

/* Each has four below it: half as many steps as with two, and the four are beside each other. */
enum { BELOW = 4 };

static bool before(const struct orr_clock_entry *a, const struct orr_clock_entry *b)
{
    return a->key < b->key || (a->key == b->key && a->rank < b->rank);
}

static void put(struct orr_clocks *c, int at, struct orr_clock_entry e)
{
    c->heap[at] = e;
    c->place[e.rank] = at;
}

/* The rank at that place has more to do than before. */
static void sink(struct orr_clocks *c, int at)
{
    struct orr_clock_entry e = c->heap[at];
    for (int first; (first = BELOW * at + 1) < c->ranks;) {
        int least = first, end = first + BELOW < c->ranks ? first + BELOW : c->ranks;
        for (int i = first + 1; i < end; i++)
            if (before(&c->heap[i], &c->heap[least])) least = i;
        if (before(&e, &c->heap[least])) break;
        put(c, at, c->heap[least]);
        at = least;
    }
    put(c, at, e);
}

static uint64_t key_of(const struct orr_clocks *c, int rank)
{
    uint64_t least = UINT64_MAX;
    for (int k = 0; k < c->kinds; k++) {
        const struct orr_clock *l = orr_clocks_at(c, rank, k);
        if (l->lane[l->earliest] < least) least = l->lane[l->earliest];
    }
    return least;
}

void orr_clocks_ready(struct orr_clocks *c)
{
    c->unsorted = false;
    for (int r = 0; r < c->ranks; r++) {
        put(c, r, (struct orr_clock_entry){ key_of(c, r), r, 0 });
    }
    for (int i = c->ranks > ORR_CLOCKS_FEW ? c->ranks / BELOW + 1 : 0; i-- > 0;) sink(c, i);
}

/* ---- time ---- */

uint64_t orr_clocks_take(struct orr_clocks *c, int rank, int kind, uint64_t not_before, uint64_t length)
{
    struct orr_clock *k = (struct orr_clock *)orr_clocks_at(c, rank, kind);
    uint64_t from = orr_clocks_free(c, rank, kind);
    if (from < not_before) from = not_before;
    k->lane[k->earliest] = from + (k->workers > k->lanes ? length * k->lanes / k->workers : length);
    unsigned earliest = 0;
    for (unsigned i = 1; i < k->lanes; i++) earliest = k->lane[i] < k->lane[earliest] ? i : earliest;
    k->earliest = (uint16_t)earliest;
    if (from + length > c->latest) c->latest = from + length;
    if (c->unsorted) return from + length;
    int at = c->place[rank];
    c->heap[at].key = key_of(c, rank);
    if (c->ranks > ORR_CLOCKS_FEW) sink(c, at);
    return from + length;
}

void orr_clocks_meet(struct orr_clocks *c)
{
    int count = c->ranks * c->kinds;
    for (int i = 0; i < count; i++)
        for (int l = 0; l < c->clock[i].lanes; l++)
            if (c->clock[i].lane[l] > c->floor) c->floor = c->clock[i].lane[l];
    if (c->latest > c->floor) c->floor = c->latest;
    for (int i = 0; i < count; i++)
        for (int l = 0; l < c->clock[i].lanes; l++) c->clock[i].lane[l] = c->floor;
    orr_clocks_ready(c);
}
