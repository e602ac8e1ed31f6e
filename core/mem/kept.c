/* SPDX-License-Identifier: BSD-3-Clause */
/* kept.c: see kept.h.
 * Threads: any. Owns: the blocks kept, by node. Not here: who allocates (malloc.c).
 *
 * Drivers of GPUs wait for the device when they allocate, and data come and go in a few sizes. What is kept
 * is not in use, and counts for nobody: it goes, the oldest first, as soon as the limit or the driver has no
 * room for what is new. */
#include "core/mem/kept.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/sync.h"
#include "core/mem/node.h"

enum { MOST = 64 };

static struct kept {
    ORR_SPIN(kept) lock; /* protects all of it; leaf */
    struct {
        uintptr_t addr;
        size_t bytes;
    } block[MOST]; /* oldest first */
    unsigned count;
    size_t bytes;
} kept[STARPU_MAXNODES];

/* Takes block i out. Called with the lock held. */
static uintptr_t take_locked(struct kept *k, unsigned i, size_t *bytes_out)
{
    uintptr_t addr = k->block[i].addr;
    *bytes_out = k->block[i].bytes;
    k->bytes -= *bytes_out;
    k->count--;
    memmove(&k->block[i], &k->block[i + 1], (k->count - i) * sizeof k->block[0]);
    return addr;
}

static uintptr_t take_same(struct kept *k, size_t bytes)
{
    uintptr_t addr = 0;
    size_t same;
    orr_spin_lock(&k->lock);
    for (unsigned i = k->count; i > 0 && !addr; i--)
        if (k->block[i - 1].bytes == bytes) addr = take_locked(k, i - 1, &same);
    orr_spin_unlock(&k->lock);
    return addr;
}

/* Frees the oldest if more than so many bytes are kept. */
static bool drop_one(unsigned node, size_t most)
{
    struct kept *k = &kept[node];
    uintptr_t addr = 0;
    size_t bytes = 0;
    orr_spin_lock(&k->lock);
    if (k->bytes > most) addr = take_locked(k, 0, &bytes);
    orr_spin_unlock(&k->lock);
    if (addr) orr_nodes[node].ops->free(node, addr, bytes);
    return addr != 0;
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

void orr_kept_free(unsigned node, uintptr_t addr, size_t bytes)
{
    const struct orr_node_ops *ops = orr_nodes[node].ops;
    struct kept *k = &kept[node];
    orr_spin_lock(&k->lock);
    bool keeps = ops->costly && k->count < MOST;
    if (keeps) {
        k->block[k->count].addr = addr;
        k->block[k->count++].bytes = bytes;
        k->bytes += bytes;
    }
    orr_spin_unlock(&k->lock);
    if (!keeps) ops->free(node, addr, bytes);
}

void orr_kept_drain(unsigned node)
{
    while (orr_nodes[node].ops && drop_one(node, 0)) continue;
}
