/* SPDX-License-Identifier: BSD-3-Clause */
/* match.c: a hash table of lists in which the first node of a list stands for the list, so that nothing is
 * allocated for a message or a request.
 * Threads: one at a time. Owns: the bucket array. Not here: what matching means (receiving.c). */
#include "mpi/wire/match.h"

#include <string.h>

#include "core/base/alloc.h"

static size_t hash(uint32_t context, int32_t peer, int64_t tag)
{
    uint64_t x = (uint64_t)tag * 0x9e3779b97f4a7c15u;
    x ^= ((uint64_t)context << 32 | (uint32_t)peer) * 0xc2b2ae3d27d4eb4fu;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    return (size_t)(x ^ x >> 32);
}

static bool same_key(const struct orr_match_node *n, uint32_t context, int32_t peer, int64_t tag)
{
    return n->tag == tag && n->peer == peer && n->context == context;
}

void orr_match_init(struct orr_match_table *t)
{
    memset(t, 0, sizeof *t);
    t->buckets = t->inline_buckets;
    t->mask = ORR_MATCH_BUCKETS_MIN - 1;
}

void orr_match_fini(struct orr_match_table *t)
{
    if (t->buckets != t->inline_buckets) orr_free(t->buckets);
    orr_match_init(t);
}

static void grow(struct orr_match_table *t)
{
    size_t count = (t->mask + 1) * 4;
    struct orr_match_node **buckets = orr_calloc(count, sizeof *buckets);
    if (!buckets) return;
    for (size_t i = 0; i <= t->mask; i++)
        for (struct orr_match_node *n = t->buckets[i], *next; n; n = next) {
            struct orr_match_node **b = &buckets[hash(n->context, n->peer, n->tag) & (count - 1)];
            next = n->chain;
            n->chain = *b;
            *b = n;
        }
    if (t->buckets != t->inline_buckets) orr_free(t->buckets);
    t->buckets = buckets;
    t->mask = count - 1;
}

/* Where the pointer to the list of this key is, or would be. */
static struct orr_match_node **find(const struct orr_match_table *t, uint32_t context, int32_t peer,
                                    int64_t tag)
{
    struct orr_match_node **p = &t->buckets[hash(context, peer, tag) & t->mask];
    while (*p && !same_key(*p, context, peer, tag)) p = &(*p)->chain;
    return p;
}

void orr_match_append(struct orr_match_table *t, struct orr_match_node *n)
{
    if (t->lists > t->mask) grow(t);
    struct orr_match_node **p = find(t, n->context, n->peer, n->tag);
    n->same = NULL;
    t->nodes++;
    if (*p) {
        (*p)->last->same = n;
        (*p)->last = n;
        return;
    }
    n->chain = NULL;
    n->last = n;
    *p = n;
    t->lists++;
}

struct orr_match_node *orr_match_first(const struct orr_match_table *t, uint32_t context, int32_t peer,
                                       int64_t tag)
{
    return t->nodes ? *find(t, context, peer, tag) : NULL;
}

static struct orr_match_node *pop_at(struct orr_match_table *t, struct orr_match_node **p)
{
    struct orr_match_node *n = *p;
    if (!n) return NULL;
    t->nodes--;
    if (n->same) {
        n->same->last = n->last;
        n->same->chain = n->chain;
        *p = n->same;
    } else {
        *p = n->chain;
        t->lists--;
    }
    return n;
}

struct orr_match_node *orr_match_pop(struct orr_match_table *t, uint32_t context, int32_t peer, int64_t tag)
{
    return t->nodes ? pop_at(t, find(t, context, peer, tag)) : NULL;
}

struct orr_match_node *orr_match_pop_any(struct orr_match_table *t)
{
    for (size_t i = 0; t->nodes && i <= t->mask; i++)
        if (t->buckets[i]) return pop_at(t, &t->buckets[i]);
    return NULL;
}

void orr_match_visit(const struct orr_match_table *t, void (*visit)(struct orr_match_node *n, void *arg),
                     void *arg)
{
    for (size_t i = 0; t->nodes && i <= t->mask; i++)
        for (struct orr_match_node *list = t->buckets[i]; list; list = list->chain)
            for (struct orr_match_node *n = list; n; n = n->same) visit(n, arg);
}
