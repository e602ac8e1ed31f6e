/* SPDX-License-Identifier: BSD-3-Clause */
/* rank.c: see rank.h. Empty but in builds with --enable-lock-checks.
 * Threads: any. Owns: nothing. Not here: the order (ranks.def). */
#include "core/base/thread.h"

#ifdef ORR_CHECK_LOCKS
#include <stdio.h>
#include <stdlib.h>

enum { ONE, SEVERAL, AGAIN, NESTED };

static const struct {
    const char *name;
    int how;
} ranks[] = {
    { "without a rank", ONE },
#define RANK(name, how) { #name, how },
#include "core/base/ranks.def"
#undef RANK
};

static bool in_order(const struct orr_held_lock *outer, const void *lock, unsigned rank)
{
    if (outer->rank < rank || outer->rank == ORR_RANK_none || rank == ORR_RANK_none) return true;
    if (outer->rank > rank) return false;
    switch (ranks[rank].how) {
    case SEVERAL: return outer->lock < lock;
    case AGAIN: return outer->lock == lock;
    case NESTED: return outer->lock != lock;
    default: return false;
    }
}

/* A lock that is held anyhow, recursive, waits for nobody. */
static bool has_it(const struct orr_thread *self, const void *lock, unsigned rank)
{
    for (unsigned i = 0; ranks[rank].how == AGAIN && i < self->held_count; i++)
        if (self->held[i].lock == lock) return true;
    return false;
}

void orr_rank_wanted(const void *lock, unsigned rank, const char *place)
{
    const struct orr_thread *self = orr_thread_own;
    if (!self || has_it(self, lock, rank)) return;
    for (unsigned i = 0; i < self->held_count; i++) {
        const struct orr_held_lock *h = &self->held[i];
        if (in_order(h, lock, rank)) continue;
        fprintf(stderr, "orrery: lock %s (%s) is taken while %s (%s) is held; core/base/ranks.def has %s\n",
                ranks[rank].name, place, ranks[h->rank].name, h->place,
                h->rank == rank ? "one of them at a time, or in order of address"
                                : "them the other way round");
        abort();
    }
}

void orr_rank_taken(const void *lock, unsigned rank, const char *place)
{
    struct orr_thread *self = orr_thread_own;
    if (self && self->held_count < ORR_HELD_LOCKS)
        self->held[self->held_count++] = (struct orr_held_lock){ lock, rank, place };
}

/* The latest first; one that was not noted, of very many, is not found. */
void orr_rank_left(const void *lock)
{
    struct orr_thread *self = orr_thread_own;
    for (unsigned i = self ? self->held_count : 0; i-- > 0;) {
        if (self->held[i].lock != lock) continue;
        for (self->held_count--; i < self->held_count; i++) self->held[i] = self->held[i + 1];
        return;
    }
}
#endif
