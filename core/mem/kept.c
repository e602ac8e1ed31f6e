/* SPDX-License-Identifier: BSD-3-Clause */
/* kept.c: see kept.h.
 * Threads: any. Owns: the blocks kept, by node. Not here: who allocates (malloc.c).
 *
 * Drivers of GPUs wait for the device when they allocate, and data come and go in a few sizes, of each maybe
 * thousands. What is kept is not in use, and counts for nobody: it goes, of the size first that was not asked
 * for for longest, as soon as the limit or the driver has no room for what is new. */
#include "core/mem/kept.h"

#include <stdbool.h>

#include "core/base/alloc.h"
#include "core/base/sync.h"
#include "core/mem/node.h"

enum { SIZES = 64, DROPS = 8 };

struct block {
    struct block *next;
    uintptr_t addr;
};

static struct kept {
    ORR_SPIN(kept) lock; /* protects all of it; leaf */
    struct size {
        struct block *blocks; /* NULL: the place is free */
        size_t bytes;
        uint64_t used; /* when, by uses */
    } sizes[SIZES];
    uint64_t uses;
    size_t bytes; /* in all */
} kept[STARPU_MAXNODES];

/* The place for blocks of so many bytes, or a free one; NULL: neither. Called with the lock held. */
static struct size *find_locked(struct kept *k, size_t bytes)
{
    struct size *none = NULL;
    for (unsigned i = 0; i < SIZES; i++) {
        struct size *s = &k->sizes[i];
        if (s->blocks && s->bytes == bytes) return s;
        if (!s->blocks) none = s;
    }
    return none;
}

/* The one that was not used for longest; NULL: nothing is kept. Called with the lock held. */
static struct size *stalest_locked(struct kept *k)
{
    struct size *stalest = NULL;
    for (unsigned i = 0; i < SIZES; i++) {
        struct size *s = &k->sizes[i];
        if (s->blocks && (!stalest || s->used < stalest->used)) stalest = s;
    }
    return stalest;
}

static struct block *take_locked(struct kept *k, struct size *s)
{
    struct block *b = s->blocks;
    s->blocks = b->next;
    k->bytes -= s->bytes;
    return b;
}

static uintptr_t take_same(struct kept *k, size_t bytes)
{
    struct block *b = NULL;
    orr_spin_lock(&k->lock);
    struct size *s = find_locked(k, bytes);
    if (s && s->blocks) {
        b = take_locked(k, s);
        s->used = ++k->uses;
    }
    orr_spin_unlock(&k->lock);
    uintptr_t addr = b ? b->addr : 0;
    orr_free(b);
    return addr;
}

/* Frees one if more than so many bytes are kept. */
static bool drop_one(unsigned node, size_t most)
{
    struct kept *k = &kept[node];
    struct block *b = NULL;
    size_t bytes = 0;
    orr_spin_lock(&k->lock);
    struct size *s = k->bytes > most ? stalest_locked(k) : NULL;
    if (s) {
        b = take_locked(k, s);
        bytes = s->bytes;
    }
    orr_spin_unlock(&k->lock);
    if (!b) return false;
    orr_nodes[node].ops->free(node, b->addr, bytes);
    orr_free(b);
    return true;
}

static void fit(unsigned node)
{
    size_t limit = orr_nodes[node].limit_bytes, used = orr_load_relaxed(&orr_nodes[node].used_bytes);
    while (limit && drop_one(node, limit > used ? limit - used : 0)) continue;
}

uintptr_t orr_kept_alloc(unsigned node, size_t bytes)
{
    const struct orr_node_ops *ops = orr_nodes[node].ops;
    uintptr_t addr = ops->costly ? take_same(&kept[node], bytes) : 0;
    if (addr) return addr;
    if (ops->costly) fit(node);
    while (!(addr = ops->alloc(node, bytes)) && drop_one(node, 0)) continue;
    return addr;
}

/* False: there are blocks of too many other sizes. */
static bool keep(struct kept *k, struct block *b, size_t bytes)
{
    orr_spin_lock(&k->lock);
    struct size *s = find_locked(k, bytes);
    if (s) {
        b->next = s->blocks;
        s->blocks = b;
        s->bytes = bytes;
        s->used = ++k->uses;
        k->bytes += bytes;
    }
    orr_spin_unlock(&k->lock);
    return s;
}

void orr_kept_free(unsigned node, uintptr_t addr, size_t bytes)
{
    const struct orr_node_ops *ops = orr_nodes[node].ops;
    struct block *b = ops->costly ? orr_malloc(sizeof *b) : NULL;
    if (!b) {
        ops->free(node, addr, bytes);
        return;
    }
    b->addr = addr;
    if (keep(&kept[node], b, bytes)) return;
    orr_free(b);
    ops->free(node, addr, bytes);
    for (int i = 0; i < DROPS && drop_one(node, 0); i++)
        continue; /* a size out of use makes way, by and by */
}

void orr_kept_drain(unsigned node)
{
    while (orr_nodes[node].ops && drop_one(node, 0)) continue;
}
