/* SPDX-License-Identifier: BSD-3-Clause */
/* share.c: see share.h. Threads: see share.h. Owns: see share.h. Not here: see share.h.
 *
 * What is shared out are units: processors of one core that the same ranks may use. Ranks and units are the
 * two sides of a graph. A rank gains a unit along an augmenting path: it takes one from a rank that takes one
 * from another, and so on, the last of which takes one that is free. In each round every rank that has as
 * little as possible tries to gain one; who cannot never can again. Such rounds make the parts as even as
 * they can be (the units that sets of ranks can reach form a polymatroid). Who got nothing then looks for a
 * path to a unit with less than two ranks, then three, ...: the ranks it reaches have one unit each. */
#include "core/topo/share.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

struct holding {
    int rank, next; /* next: of the same unit; -1: none */
};

struct sharing {
    unsigned ranks, units, words;
    const struct orr_share_claim *claims;
    int *unit_of;            /* by processor; -1: nobody may use it */
    unsigned *processor_of;  /* by unit: the first of it */
    uint64_t *may;           /* by rank: its units */
    unsigned *limit, *count; /* by rank: how many it may have, and has */
    struct holding *holdings;
    int spare;      /* unused holdings */
    int *first;     /* by unit: its holdings */
    unsigned *load; /* by unit: how many */
    /* a search: */
    uint64_t *seen; /* units */
    int *taker;     /* by unit: the rank that would take it */
    int *gives;     /* by rank: the unit that it would give; -1: not reached */
    int *queue;     /* ranks */
};

/* ---- units ---- */

static bool same_users(const struct sharing *s, unsigned a, unsigned b)
{
    for (unsigned r = 0; r < s->ranks; r++)
        if (orr_share_has(&s->claims[r].allowed, a) != orr_share_has(&s->claims[r].allowed, b)) return false;
    return true;
}

/* The first processor of its core, as ranks that may use it say; -1: none may. */
static int core_of(const struct sharing *s, unsigned processor)
{
    int core = -1;
    for (unsigned r = 0; r < s->ranks; r++)
        if (orr_share_has(&s->claims[r].allowed, processor) &&
            (core < 0 || s->claims[r].core[processor] < core))
            core = s->claims[r].core[processor];
    return core;
}

/* Numbers the units by their first processors. core: room for each processor's. */
static void find_units(struct sharing *s, int *core)
{
    for (unsigned p = 0; p < ORR_SHARE_PROCESSORS; p++) {
        core[p] = core_of(s, p);
        s->unit_of[p] = -1;
        if (core[p] < 0) continue;
        for (unsigned u = s->units; u-- > 0 && s->unit_of[p] < 0;)
            if (core[s->processor_of[u]] == core[p] && same_users(s, s->processor_of[u], p))
                s->unit_of[p] = (int)u;
        if (s->unit_of[p] >= 0) continue;
        s->unit_of[p] = (int)s->units;
        s->processor_of[s->units++] = p;
    }
    s->words = (s->units + 63) / 64;
}

/* What each rank may use, and how many at most: no two processors of one core. */
static void find_limits(struct sharing *s, const int *core, bool *counted)
{
    for (unsigned r = 0; r < s->ranks; r++) {
        const struct orr_share_claim *c = &s->claims[r];
        unsigned cores = 0;
        memset(counted, 0, ORR_SHARE_PROCESSORS * sizeof *counted);
        for (unsigned u = 0; u < s->units; u++) {
            unsigned p = s->processor_of[u];
            if (!orr_share_has(&c->allowed, p)) continue;
            s->may[r * s->words + u / 64] |= UINT64_C(1) << u % 64;
            cores += !counted[core[p]];
            counted[core[p]] = true;
        }
        s->limit[r] = c->wanted && c->wanted < cores ? c->wanted : cores;
    }
}

/* ---- paths ---- */

static void put(struct sharing *s, int unit, int rank)
{
    int at = s->spare;
    s->spare = s->holdings[at].next;
    s->holdings[at] = (struct holding){ .rank = rank, .next = s->first[unit] };
    s->first[unit] = at;
    s->load[unit]++;
    s->count[rank]++;
}

static void drop(struct sharing *s, int unit, int rank)
{
    int *at = &s->first[unit], found;
    while (s->holdings[*at].rank != rank) at = &s->holdings[*at].next;
    found = *at;
    *at = s->holdings[found].next;
    s->holdings[found].next = s->spare;
    s->spare = found;
    s->load[unit]--;
    s->count[rank]--;
}

/* Looks at one unit for rank: whether it has room; else its holders are reached. */
static bool look_at(struct sharing *s, int unit, int rank, unsigned most, unsigned *queued)
{
    s->taker[unit] = rank;
    if (s->load[unit] < most) return true;
    for (int h = s->first[unit]; h >= 0; h = s->holdings[h].next) {
        int holder = s->holdings[h].rank;
        if (s->gives[holder] >= 0) continue;
        s->gives[holder] = unit;
        s->queue[(*queued)++] = holder;
    }
    return false;
}

/* A unit with room at the end of a path from rank; -1: there is none. */
static int search(struct sharing *s, unsigned rank, unsigned most)
{
    unsigned queued = 0;
    memset(s->seen, 0, s->words * sizeof *s->seen);
    for (unsigned r = 0; r < s->ranks; r++) s->gives[r] = -1;
    s->gives[rank] = 0; /* the start: it is not asked */
    s->queue[queued++] = (int)rank;
    for (unsigned i = 0; i < queued; i++) {
        const uint64_t *may = &s->may[(unsigned)s->queue[i] * s->words];
        for (unsigned w = 0; w < s->words; w++)
            for (uint64_t left; (left = may[w] & ~s->seen[w]) != 0;) {
                int unit = (int)(w * 64) + __builtin_ctzll(left);
                s->seen[w] |= left & -left;
                if (look_at(s, unit, s->queue[i], most, &queued)) return unit;
            }
    }
    return -1;
}

/* rank gains a unit that then has at most so many ranks; nobody else has fewer. False: it cannot. */
static bool gain(struct sharing *s, unsigned rank, unsigned most)
{
    int unit = search(s, rank, most);
    if (unit < 0) return false;
    while (s->taker[unit] != (int)rank) {
        int taker = s->taker[unit], given = s->gives[taker];
        drop(s, given, taker);
        put(s, unit, taker);
        unit = given;
    }
    put(s, unit, (int)rank);
    return true;
}

static void share_evenly(struct sharing *s)
{
    bool more = true;
    for (unsigned level = 0; more; level++) {
        more = false;
        for (unsigned r = 0; r < s->ranks; r++)
            if (s->count[r] == level && level < s->limit[r]) more |= gain(s, r, 1);
    }
    for (unsigned r = 0; r < s->ranks; r++)
        for (unsigned most = 2; s->limit[r] && !s->count[r]; most++) gain(s, r, most);
}

/* ---- neighbours ---- */

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Those of the ranks from r on with r's claim, dealt out anew in their order. units: room for all. */
static void deal_out(const struct sharing *s, unsigned r, bool *dealt, int *units,
                     struct orr_processors *shares_out)
{
    unsigned n = 0, at = 0;
    for (unsigned u = 0; u < s->units; u++)
        for (int h = s->first[u]; h >= 0; h = s->holdings[h].next) {
            unsigned holder = (unsigned)s->holdings[h].rank;
            if (memcmp(&s->may[holder * s->words], &s->may[r * s->words], s->words * sizeof *s->may) == 0)
                units[n++] = (int)u;
        }
    qsort(units, n, sizeof *units, ascending);
    for (unsigned q = r; q < s->ranks; q++) {
        if (memcmp(&s->may[q * s->words], &s->may[r * s->words], s->words * sizeof *s->may) != 0) continue;
        dealt[q] = true;
        for (unsigned i = 0; i < s->count[q]; i++, at++)
            for (unsigned p = s->processor_of[units[at]]; p < ORR_SHARE_PROCESSORS; p++)
                if (s->unit_of[p] == units[at]) orr_share_add(&shares_out[q], p);
    }
}

/* ---- all ---- */

static int prepare(struct sharing *s)
{
    size_t units = ORR_SHARE_PROCESSORS, ranks = s->ranks;
    s->unit_of = orr_malloc(ORR_SHARE_PROCESSORS * sizeof *s->unit_of);
    s->processor_of = orr_malloc(units * sizeof *s->processor_of);
    s->may = orr_calloc(ranks * ORR_SHARE_WORDS, sizeof *s->may);
    s->limit = orr_calloc(ranks, sizeof *s->limit);
    s->count = orr_calloc(ranks, sizeof *s->count);
    s->holdings = orr_malloc((units + ranks) * sizeof *s->holdings);
    s->first = orr_malloc(units * sizeof *s->first);
    s->load = orr_calloc(units, sizeof *s->load);
    s->seen = orr_malloc(ORR_SHARE_WORDS * sizeof *s->seen);
    s->taker = orr_malloc(units * sizeof *s->taker);
    s->gives = orr_malloc(ranks * sizeof *s->gives);
    s->queue = orr_malloc(ranks * sizeof *s->queue);
    if (!s->unit_of || !s->processor_of || !s->may || !s->limit || !s->count || !s->holdings || !s->first ||
        !s->load || !s->seen || !s->taker || !s->gives || !s->queue)
        return -ENOMEM;
    for (size_t i = 0; i < units; i++) s->first[i] = -1;
    for (size_t i = 0; i < units + ranks; i++) s->holdings[i].next = (int)i + 1;
    return 0;
}

static void release(struct sharing *s)
{
    orr_free(s->unit_of);
    orr_free(s->processor_of);
    orr_free(s->may);
    orr_free(s->limit);
    orr_free(s->count);
    orr_free(s->holdings);
    orr_free(s->first);
    orr_free(s->load);
    orr_free(s->seen);
    orr_free(s->taker);
    orr_free(s->gives);
    orr_free(s->queue);
}

int orr_share_out(const struct orr_share_claim *claims, unsigned ranks, struct orr_processors *shares_out)
{
    struct sharing s = { .ranks = ranks, .claims = claims };
    int *core = orr_malloc((ORR_SHARE_PROCESSORS + ranks) * sizeof *core); /* then the units of a class */
    bool *marks = orr_calloc(ORR_SHARE_PROCESSORS + (size_t)ranks, sizeof *marks);
    int r = prepare(&s);
    if (!core || !marks) r = -ENOMEM;
    if (r == 0) {
        find_units(&s, core);
        find_limits(&s, core, marks);
        share_evenly(&s);
        memset(marks, 0, ranks * sizeof *marks);
        memset(shares_out, 0, ranks * sizeof *shares_out);
        for (unsigned q = 0; q < ranks; q++)
            if (!marks[q]) deal_out(&s, q, marks, core, shares_out);
    }
    orr_free(marks);
    orr_free(core);
    release(&s);
    return r;
}

unsigned orr_share_slice(unsigned index, unsigned sharers, unsigned total, long wanted, unsigned *first_out)
{
    if (sharers == 0) sharers = 1;
    unsigned first = (unsigned)((unsigned long)index * total / sharers);
    unsigned last = (unsigned)((unsigned long)(index + 1) * total / sharers);
    *first_out = first;
    if (total == 0) return 0;
    if (wanted >= 0) return wanted < (long)total ? (unsigned)wanted : total;
    return last > first ? last - first : 1;
}

void orr_share_text(const struct orr_processors *set, char *dst, size_t bytes)
{
    size_t at = 0;
    dst[0] = 0;
    for (unsigned p = 0, last; p < ORR_SHARE_PROCESSORS && at < bytes; p = last + 1) {
        last = p;
        if (!orr_share_has(set, p)) continue;
        while (last + 1 < ORR_SHARE_PROCESSORS && orr_share_has(set, last + 1)) last++;
        at += (size_t)snprintf(dst + at, bytes - at, last > p ? "%s%u-%u" : "%s%u", at ? "," : "", p, last);
    }
}
