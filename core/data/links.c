/* SPDX-License-Identifier: BSD-3-Clause */
/* links.c: which copies a link is given, and which wait for their turn.
 * Threads: whoever carries transfers on. Owns: the queues of links, in orr_memories. Not here: memory at the
 * destination (hungry.c), prefetches before they become transfers (transfer.c).
 *
 * A driver makes copies in the order in which it gets them, so it gets few at a time: what comes later and is
 * more urgent passes those that wait here. Few are enough to keep a link busy between two polls: two, or what
 * makes up some bytes. A copy that waits holds its memory and its source, and waits for copies under way
 * alone, which end (hungry.c): where some wait, some are under way, or somebody is about to go on with the
 * link. */
#include "core/data/transfer.h"

enum { NO_LINK = STARPU_MAXNODES };
enum { LINK_COPIES = 2, STORE_COPIES = 8, LINK_BYTES = 1 << 20 };

/* Of those that end at t's node: the one to it, where it has but one, else that from the source. */
static unsigned link_of(const struct orr_transfer *t)
{
    unsigned src = (unsigned)t->src;
    const struct orr_data *h = t->handle;
    bool at_once = (orr_node_is_cpu(src) && orr_node_is_cpu(t->dst)) || h->replicates[src].mapped ||
                   h->replicates[t->dst].mapped ||
                   orr_foreground_kinds & (1u << orr_nodes[src].kind | 1u << orr_nodes[t->dst].kind);
    if (at_once) return NO_LINK;
    return orr_node_is_cpu(t->dst) ? src : t->dst;
}

static bool has_room(const struct orr_link *l, unsigned link)
{
    unsigned copies = orr_nodes[link].role == ORR_STORE ? STORE_COPIES : LINK_COPIES;
    return l->under_way < copies || l->bytes < LINK_BYTES;
}

static void begin_locked(struct orr_link *l, const struct orr_transfer *t)
{
    l->under_way++;
    l->bytes += t->link_bytes;
}

static void append_locked(struct orr_memory *m, struct orr_transfer *t)
{
    struct orr_transfers *q = &m->links[t->link].waiting[orr_load_relaxed(&t->urgency)];
    t->next = NULL;
    t->prev = q->last;
    if (t->prev)
        t->prev->next = t;
    else
        q->first = t;
    q->last = t;
    t->queued = true;
    orr_store_relaxed(&m->queued, orr_load_relaxed(&m->queued) + 1);
}

static void unlink_locked(struct orr_memory *m, struct orr_transfer *t)
{
    struct orr_transfers *q = &m->links[t->link].waiting[orr_load_relaxed(&t->urgency)];
    if (t->prev)
        t->prev->next = t->next;
    else
        q->first = t->next;
    if (t->next)
        t->next->prev = t->prev;
    else
        q->last = t->prev;
    t->queued = false;
    orr_store_relaxed(&m->queued, orr_load_relaxed(&m->queued) - 1);
}

void orr_link_urge_locked(struct orr_transfer *t, unsigned urgency)
{
    struct orr_memory *m = &orr_memories[t->dst];
    bool queued = t->queued;
    if (queued) unlink_locked(m, t);
    orr_store_relaxed(&t->urgency, (uint8_t)urgency);
    if (queued) append_locked(m, t);
}

static struct orr_transfer *first_locked(const struct orr_link *l)
{
    for (int u = ORR_URGENCIES - 1; u >= 0; u--)
        if (l->waiting[u].first) return l->waiting[u].first;
    return NULL;
}

bool orr_link_enter(struct orr_transfer *t)
{
    struct orr_memory *m = &orr_memories[t->dst];
    struct orr_data *h = t->handle;
    unsigned link = link_of(t);
    t->link = (uint8_t)link;
    if (link == NO_LINK) return true;
    t->link_bytes = h->ops->get_size ? h->ops->get_size(h) : 0;
    orr_spin_lock(&m->lock);
    bool enters = !first_locked(&m->links[link]) && has_room(&m->links[link], link);
    if (enters)
        begin_locked(&m->links[link], t);
    else
        append_locked(m, t);
    orr_spin_unlock(&m->lock);
    return enters;
}

void orr_link_leave(struct orr_transfer *t)
{
    struct orr_memory *m = &orr_memories[t->dst];
    if (t->link == NO_LINK) return;
    orr_spin_lock(&m->lock);
    m->links[t->link].under_way--;
    m->links[t->link].bytes -= t->link_bytes;
    orr_spin_unlock(&m->lock);
}

struct orr_transfer *orr_link_next(unsigned dst)
{
    struct orr_memory *m = &orr_memories[dst];
    struct orr_transfer *t = NULL;
    if (orr_likely(orr_load_relaxed(&m->queued) == 0)) return NULL;
    orr_spin_lock(&m->lock);
    for (unsigned n = 0; !t && n < orr_node_count; n++)
        if (has_room(&m->links[n], n)) t = first_locked(&m->links[n]);
    if (t) {
        unlink_locked(m, t);
        begin_locked(&m->links[t->link], t);
    }
    orr_spin_unlock(&m->lock);
    return t;
}
