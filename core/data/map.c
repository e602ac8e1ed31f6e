/* SPDX-License-Identifier: BSD-3-Clause */
/* map.c: copies on devices that are no copies, but main memory seen from there.
 * Threads: whoever carries a transfer or an eviction on. Owns: nothing. Not here: how a node sees memory
 * (core/mem/map.c), which copies are valid (coherency.c).
 *
 * A mapped copy has its state like any other, and what would be a copy between it and main memory makes what
 * was written on one side seen on the other. As both are the same bytes, it has no other neighbour: what
 * comes from or goes to other devices passes through main memory; and who writes on either side leaves
 * nothing from before on the other. Main memory stays where it is as long as it is mapped: the mapping holds
 * it. */
#include "core/data/transfer.h"

#include <starpu.h>

#include "core/data/alloc_cache.h"

/* Whether h's main memory stays where it is until h ends, or until the mapping that holds it does. A piece
 * moves with the whole, if that is not the program's memory. */
static bool stays(const struct orr_data *h)
{
    return h->root == h || !h->root->replicates[orr_node_home()].ours;
}

/* Holds the main memory of h; false: it has none, or not for long. */
static bool hold(struct orr_data *h)
{
    struct orr_replicate *main = &h->replicates[orr_node_home()];
    orr_spin_lock(&h->queue.lock);
    bool held = main->allocated && !main->incoming && stays(h);
    if (held) main->users++;
    orr_spin_unlock(&h->queue.lock);
    return held;
}

static void let_go(struct orr_data *h)
{
    orr_spin_lock(&h->queue.lock);
    h->replicates[orr_node_home()].users--;
    orr_spin_unlock(&h->queue.lock);
    orr_memory_feed(orr_node_home());
}

bool orr_map_instead(struct orr_data *h, unsigned node)
{
    if (!orr_node_maps(node) || !h->ops->map_data || h->formats || !hold(h)) return false;
    struct orr_replicate *r = &h->replicates[node];
    if (h->ops->map_data(h->replicates[orr_node_home()].interface, orr_node_home(), r->interface, node) !=
        0) {
        let_go(h);
        return false;
    }
    orr_spin_lock(&h->queue.lock);
    r->mapped = h->has_mapped = true;
    orr_spin_unlock(&h->queue.lock);
    return true;
}

void orr_replicate_free(struct orr_data *h, unsigned node)
{
    struct orr_replicate *r = &h->replicates[node];
    if (orr_likely(!r->mapped)) {
        orr_buffer_free(h, node);
        return;
    }
    if (h->ops->unmap_data)
        h->ops->unmap_data(h->replicates[orr_node_home()].interface, orr_node_home(), r->interface, node);
    orr_spin_lock(&h->queue.lock);
    r->mapped = false;
    orr_spin_unlock(&h->queue.lock);
    let_go(h);
}

int orr_map_update(struct orr_data *h, unsigned src, unsigned dst)
{
    if (!h->ops->update_map) return 0;
    return h->ops->update_map(h->replicates[src].interface, src, h->replicates[dst].interface, dst);
}
