/* SPDX-License-Identifier: BSD-3-Clause */
/* eviction.c: finding room on a node: the copies used longest ago make place, dirty ones go to the node below
 * first, from a device to main memory and from there to a store.
 * Threads: any. Owns: the order of eviction. Not here: who waits for memory (hungry.c); the program's own
 * memory, which is never taken; the copies themselves (transfer.c). */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/env.h"
#include "core/base/event.h"
#include "core/data/alloc_cache.h"
#include "core/data/transfer.h"
#include "core/mem/kept.h"
#include "core/data/victim.h"

/* What idle workers keep free, and clean, and to how much they go then. [const between init and shutdown] */
static struct {
    unsigned free, free_target, clean, clean_target;
} percents;

_Atomic bool orr_memory_untidy[STARPU_MAXNODES];

static unsigned percent(const struct orr_env *e, long otherwise)
{
    return (unsigned)orr_env_long(e, otherwise, 0, 100);
}

void orr_memory_init(void)
{
    percents.free = percent(ORR_SETTING(STARPU_MINIMUM_AVAILABLE_MEM), 0);
    percents.free_target = percent(ORR_SETTING(STARPU_TARGET_AVAILABLE_MEM), 0);
    percents.clean = percent(ORR_SETTING(STARPU_MINIMUM_CLEAN_BUFFERS), 5);
    percents.clean_target = percent(ORR_SETTING(STARPU_TARGET_CLEAN_BUFFERS), 10);
    if (percents.free_target < percents.free) percents.free_target = percents.free;
}

/* ---- the order ---- */

static void unlink_locked(struct orr_memory *m, struct orr_chunk *c)
{
    if (c->prev)
        c->prev->next = c->next;
    else if (m->first == c)
        m->first = c->next;
    if (c->next)
        c->next->prev = c->prev;
    else if (m->last == c)
        m->last = c->prev;
    c->prev = c->next = NULL;
}

void orr_chunk_touch_locked(struct orr_replicate *r, unsigned node, bool first)
{
    struct orr_memory *m = &orr_memories[node];
    struct orr_chunk *c = r->chunk;
    c->unwanted = first;
    if (first) c->awaited = false;
    orr_spin_lock(&m->lock);
    if (c != (first ? m->first : m->last)) {
        unlink_locked(m, c);
        c->prev = first ? NULL : m->last;
        c->next = first ? m->first : NULL;
        if (c->prev)
            c->prev->next = c;
        else
            m->first = c;
        if (c->next)
            c->next->prev = c;
        else
            m->last = c;
    }
    m->chunks += !c->listed;
    c->listed = true;
    orr_spin_unlock(&m->lock);
}

struct orr_chunk *orr_chunk_detach_locked(struct orr_replicate *r, unsigned node)
{
    struct orr_chunk *c = r->chunk;
    if (!c) return NULL;
    orr_spin_lock(&orr_memories[node].lock);
    unlink_locked(&orr_memories[node], c);
    orr_memories[node].chunks--;
    orr_spin_unlock(&orr_memories[node].lock);
    r->chunk = NULL;
    return c;
}

/* ---- throwing one out ---- */

static bool only_valid(const struct orr_data *h, unsigned node)
{
    if (h->replicates[node].state == ORR_INVALID) return false;
    for (unsigned n = 0; n < h->nnodes; n++)
        if (n != node && h->replicates[n].state != ORR_INVALID) return false;
    return true;
}

void orr_eviction_begin_locked(struct orr_transfer *t, struct orr_data *h, unsigned node)
{
    struct orr_replicate *r = &h->replicates[node];
    memset(t, 0, sizeof *t);
    t->handle = h;
    t->dst = (uint16_t)node;
    t->src = -1;
    t->eviction = true;
    r->state = ORR_INVALID;
    r->incoming = t;
    r->users++;
    orr_transfers_count(1);
}

struct orr_fetch *orr_eviction_run(struct orr_transfer *t)
{
    struct orr_data *h = t->handle;
    unsigned node = t->dst;
    struct orr_replicate *r = &h->replicates[node];
    ORR_EVENT(DATA_EVICTED, h, 0, node, 0);
    orr_replicate_free(h, node);
    orr_spin_lock(&h->queue.lock);
    struct orr_chunk *c = orr_chunk_detach_locked(r, node);
    r->allocated = r->ours = false;
    r->incoming = NULL;
    r->users--;
    struct orr_fetch *waiters = t->waiters;
    orr_spin_unlock(&h->queue.lock);
    orr_free(c);
    orr_add_relaxed(&orr_transfers_moved, 1);
    orr_transfers_count(-1);
    return waiters;
}

/* Whether c's copy may ever leave the node. Multiformat data stay in main memory, which alone has room for
 * all of their layouts, and what was registered without a place for the store. Called with the handle's lock
 * held. */
static bool may_leave(const struct orr_chunk *c, unsigned node)
{
    const struct orr_data *h = c->handle;
    return !orr_node_is_cpu(node) || (h->ooc && !h->formats && orr_node_below(node) < h->nnodes);
}

/* The store to which h goes: where it has room already, else the first that has some. Called with the
 * handle's lock held. */
static unsigned store_for_locked(const struct orr_data *h, unsigned node, size_t bytes)
{
    unsigned first = (unsigned)orr_node_below(node);
    int with_room = -1;
    for (unsigned n = first, nodes = orr_data_nodes(h); n < nodes; n++) {
        if (!orr_node_is_above(node, n)) continue;
        if (h->replicates[n].allocated) return n;
        if (with_room < 0 && orr_node_has_room(n, bytes)) with_room = (int)n;
    }
    return with_room < 0 ? first : (unsigned)with_room;
}

/* Prepares the write-back of the only valid copy. False: one is under way already. Called with the handle's
 * lock held. The copy is pinned at once, other than for transfers upwards: so nobody else begins to throw it
 * out, and what it waits for is further down. */
static bool begin_write_back_locked(struct orr_chunk *c, unsigned node, bool evict_after)
{
    struct orr_data *h = c->handle;
    unsigned below = (unsigned)orr_node_below(node);
    int place = orr_node_is_cpu(below) ? orr_data_main_place_locked(h, below)
                                       : (int)store_for_locked(h, node, c->bytes);
    if (place >= 0) below = (unsigned)place;
    if (h->replicates[below].incoming) return false;
    memset(&c->out, 0, sizeof c->out);
    c->out.in_chunk = c->out.quiet = true;
    c->out.evict_after = evict_after;
    orr_store_relaxed(&c->out.urgency, ORR_NEEDED);
    if (!orr_transfer_prepare_locked(&c->out, h, below, true)) return false;
    orr_transfer_choose_source_locked(&c->out);
    return true;
}

int orr_memory_evict(struct orr_data *h, unsigned node)
{
    struct orr_replicate *r = &h->replicates[node];
    orr_spin_lock(&h->queue.lock);
    struct orr_chunk *c = r->chunk;
    bool busy = r->users > 0 || r->incoming || (r->allocated && !c), evict = false, write = false;
    if (!busy && c) {
        write = only_valid(h, node);
        busy = !may_leave(c, node) || (write && !orr_node_evicts(node)) ||
               (write && !begin_write_back_locked(c, node, true));
        evict = !busy && !write;
        if (evict) orr_eviction_begin_locked(&c->out, h, node);
    }
    orr_spin_unlock(&h->queue.lock);
    if (busy) return -EBUSY;
    if (evict)
        orr_waiters_tell(orr_eviction_run(&c->out), node, -EAGAIN);
    else if (write)
        orr_transfer_start(&c->out);
    orr_memory_feed(node);
    return 0;
}

/* ---- making room ---- */

size_t orr_memory_write_back(unsigned node, size_t bytes)
{
    enum { LOOKS = 16 };
    struct orr_memory *m = &orr_memories[node];
    size_t seen = 0, back = 0;
    unsigned looks = 0;
    orr_spin_lock(&m->lock);
    for (struct orr_chunk *c = m->first; c && seen < bytes && looks < LOOKS; c = c->next, looks++) {
        seen += c->bytes;
        if (!orr_spin_try(&c->handle->queue.lock)) continue; /* the other order of locks: never wait */
        if (only_valid(c->handle, node)) back += c->bytes;
        orr_spin_unlock(&c->handle->queue.lock);
    }
    orr_spin_unlock(&m->lock);
    return seen && seen < bytes ? (size_t)((double)back * ((double)bytes / (double)seen)) : back;
}

bool orr_own_set_has(const struct orr_own_set *s, const struct orr_data *h, unsigned node)
{
    for (unsigned i = 0; s->fetches && i < s->count; i++)
        if (s->fetches[i].handle == h && s->fetches[i].node == node) return true;
    return false;
}

struct victims {
    struct orr_transfer *evictions, *write_backs; /* chained by next */
    size_t bytes;
    bool leaving, in_use, refused;
    bool evict_after; /* what is written back is thrown out then, whoever looks */
    bool pressed;     /* what the store has refused is tried again */
};

/* It could not be written below, and there is no more room now. */
static bool is_stuck(const struct orr_chunk *c, unsigned node)
{
    return c->stuck && orr_node_used_below(node) + 1 >= c->stuck;
}

/* Makes c a victim if nobody uses it. gently: only if it is of no use to anybody. Called with the handle's
 * lock held. */
static void consider_locked(struct orr_chunk *c, unsigned node, bool gently, struct victims *v)
{
    struct orr_replicate *r = &c->handle->replicates[node];
    bool dirty = only_valid(c->handle, node);
    if (r->users == 1 && c->handle->replicates[c->out.dst].incoming == &c->out) { /* a write-back */
        v->leaving = true;
        v->bytes += c->bytes;
        return;
    }
    if (r->users > 0 || r->incoming) {
        v->in_use = true;
        return;
    }
    if (!may_leave(c, node) || (dirty && !orr_node_evicts(node))) return;
    if (gently && (dirty || (r->state != ORR_INVALID && !c->unwanted))) return;
    if (!dirty) {
        orr_eviction_begin_locked(&c->out, c->handle, node);
        c->out.next = v->evictions;
        v->evictions = &c->out;
    } else if (is_stuck(c, node) && !v->pressed) {
        v->refused = true;
        return;
    } else if (begin_write_back_locked(c, node, v->evict_after)) {
        c->out.next = v->write_backs;
        v->write_backs = &c->out;
        v->leaving = true;
    } else {
        v->leaving = true;
    }
    v->bytes += c->bytes;
}

/* Whether h, chosen by the program, is a victim now. */
static bool take_chosen(struct orr_data *h, unsigned node, const struct orr_own_set *own, struct victims *v)
{
    size_t before = v->bytes;
    if (!orr_data_valid(h) || node >= h->nnodes || orr_own_set_has(own, h, node)) return false;
    orr_spin_lock(&h->queue.lock);
    struct orr_chunk *c = h->replicates[node].chunk;
    if (c) consider_locked(c, node, false, v);
    orr_spin_unlock(&h->queue.lock);
    return v->bytes > before;
}

/* Asks the program's function, if there is one. True: it has decided. */
static bool program_chooses(const struct orr_wish *w, struct victims *v)
{
    if (orr_likely(!orr_load_relaxed(&orr_victim_selector))) return false;
    while (v->bytes < w->bytes) {
        bool left = v->leaving;
        struct orr_data *h = orr_victim_choose(w->handle, w->node, w->gently);
        if (h == STARPU_DATA_NO_VICTIM) {
            struct orr_memory *m = &orr_memories[w->node];
            if (orr_victim_overruled(w)) return false;
            orr_spin_lock(&m->lock);
            m->retry = v->in_use = true; /* it may think better of it */
            orr_spin_unlock(&m->lock);
            return true;
        }
        if (w->waits) orr_victim_denial_over(w->node, true);
        if (!h) return false;
        if (!take_chosen(h, w->node, w->own, v)) {
            orr_victim_stays(h);
            return false;
        }
        if (v->leaving != left) return true;
    }
    return true;
}

/* So many of the first copies in the order, not counting those that are being thrown out, are to be clean, so
 * that they make room at once: begins to write back those that are not. Called with the memory's lock. */
static void write_ahead_locked(struct orr_memory *m, unsigned node, unsigned first, struct victims *v)
{
    unsigned seen = 0;
    for (struct orr_chunk *c = m->first; c && seen < first; c = c->next) {
        struct orr_data *h = c->handle;
        if (!orr_spin_try(&h->queue.lock)) {
            seen++;
            continue;
        }
        struct orr_replicate *r = &h->replicates[node];
        seen += r->incoming != &c->out;
        if (r->users == 0 && !r->incoming && may_leave(c, node) && only_valid(h, node) &&
            !is_stuck(c, node) && orr_node_evicts(node) && begin_write_back_locked(c, node, false)) {
            c->out.next = v->write_backs;
            v->write_backs = &c->out;
        }
        orr_spin_unlock(&h->queue.lock);
    }
}

/* Where few fit, a part of them is less than it takes to write while another comes: two, of no less than
 * eight. */
static unsigned clean_target(const struct orr_memory *m)
{
    enum { FEW = 2, SHARE = 4 };
    unsigned part = m->chunks * percents.clean_target / 100, few = m->chunks / SHARE;
    if (few > FEW) few = FEW;
    return percents.clean_target == 0 || part > few ? part : few;
}

/* In their order, those that a queued task awaits, or the others. Called with the memory's lock held. */
static void consider_all_locked(struct orr_memory *m, const struct orr_wish *w, bool awaited,
                                struct victims *v)
{
    for (struct orr_chunk *c = m->first; c && v->bytes < w->bytes; c = c->next) {
        if (orr_own_set_has(w->own, c->handle, w->node)) continue;
        if (!orr_spin_try(&c->handle->queue.lock)) { /* the other order of locks: never wait */
            v->in_use = m->retry = true;
            continue;
        }
        if ((c->awaited && c->handle->replicates[w->node].state != ORR_INVALID) == awaited)
            consider_locked(c, w->node, w->gently, v);
        orr_spin_unlock(&c->handle->queue.lock);
    }
}

static void follow_order(const struct orr_wish *w, struct victims *v)
{
    struct orr_memory *m = &orr_memories[w->node];
    orr_spin_lock(&m->lock);
    consider_all_locked(m, w, false, v);
    if (!w->gently) consider_all_locked(m, w, true, v);
    if (!w->gently) write_ahead_locked(m, w->node, clean_target(m), v);
    orr_spin_unlock(&m->lock);
}

static struct orr_fetch *join(struct orr_fetch *a, struct orr_fetch *b)
{
    if (!a) return b;
    struct orr_fetch *last = a;
    while (last->next) last = last->next;
    last->next = b;
    return a;
}

enum orr_outcome orr_memory_reclaim(const struct orr_wish *w, struct orr_aftermath *after)
{
    struct victims v = { .evict_after = w->evict_after, .pressed = w->pressed };
    if (!program_chooses(w, &v)) follow_order(w, &v);
    bool freed = v.evictions != NULL;
    if (orr_unlikely(orr_load_relaxed(&orr_victim_selector)) && (freed || v.leaving))
        orr_victim_denial_over(w->node, false);
    while (v.evictions) {
        struct orr_transfer *out = v.evictions;
        v.evictions = out->next;
        after->waiters = join(orr_eviction_run(out), after->waiters);
    }
    while (v.write_backs) {
        struct orr_transfer *out = v.write_backs;
        v.write_backs = out->next;
        out->next = after->write_backs;
        after->write_backs = out;
    }
    if (!freed && !v.leaving && !v.in_use && orr_alloc_cache_busy(w->node)) {
        struct orr_memory *m = &orr_memories[w->node];
        orr_spin_lock(&m->lock);
        m->retry = v.in_use = true; /* nobody tells when it is freed */
        orr_spin_unlock(&m->lock);
    }
    return freed       ? ORR_FREED
           : v.leaving ? ORR_LEAVING
           : v.in_use  ? ORR_IN_USE
           : v.refused ? ORR_REFUSED
                       : ORR_NOTHING;
}

/* w: who wishes it holds nothing. */
static enum orr_outcome reclaim_and_go_on(struct orr_wish w)
{
    struct orr_own_set own = { NULL, 0 };
    struct orr_aftermath after = { .write_backs = NULL };
    w.own = &own;
    enum orr_outcome o = orr_memory_reclaim(&w, &after);
    orr_aftermath_run(&after, w.node);
    orr_memory_feed(w.node);
    return o;
}

void orr_memory_empty(unsigned node)
{
    reclaim_and_go_on((struct orr_wish){ .node = node, .bytes = SIZE_MAX });
    orr_alloc_cache_drop(node, SIZE_MAX);
}

/* Makes room until so much of the limit is in use. */
static void reduce(unsigned node, unsigned to_percent)
{
    size_t enough = orr_nodes[node].limit_bytes / 100 * to_percent,
           used = orr_load_relaxed(&orr_nodes[node].used_bytes);
    if (used > enough && orr_alloc_cache_drop(node, used - enough))
        used = orr_load_relaxed(&orr_nodes[node].used_bytes);
    if (used <= enough) return;
    reclaim_and_go_on((struct orr_wish){ .node = node, .bytes = used - enough, .evict_after = true });
    orr_alloc_cache_drop(node, used - enough);
}

void orr_memory_tidy(unsigned node)
{
    enum { NEARLY_FULL_PERCENT = 90 };
    if (orr_nodes[node].limit_bytes) reduce(node, NEARLY_FULL_PERCENT);
}

bool orr_memory_make_room(unsigned node, size_t bytes)
{
    if (!orr_node_evicts(node) || bytes > orr_nodes[node].limit_bytes) return false;
    if (orr_alloc_cache_make_room(node, bytes)) return true;
    enum orr_outcome o = reclaim_and_go_on(
        (struct orr_wish){ .node = node, .bytes = bytes, .waits = true, .who = orr_self() });
    if (o == ORR_LEAVING && !orr_transfers_poll()) sched_yield();
    return o == ORR_FREED || o == ORR_LEAVING;
}

void orr_memory_room_over(unsigned node)
{
    if (orr_likely(!orr_load_relaxed(&orr_victim_selector))) return;
    struct orr_memory *m = &orr_memories[node];
    const void *self = orr_self();
    orr_spin_lock(&m->lock);
    orr_denial_end_locked(m, self);
    orr_spin_unlock(&m->lock);
}

/* Whether more than half of the node is in use, and less of it clean than is wanted. */
static bool wants_cleaning(unsigned node)
{
    struct orr_memory *m = &orr_memories[node];
    bool dirty = false;
    if (orr_load_relaxed(&orr_nodes[node].used_bytes) <= orr_nodes[node].limit_bytes / 2) return false;
    orr_spin_lock(&m->lock);
    unsigned least = m->chunks * percents.clean / 100;
    struct orr_chunk *c = m->first;
    for (unsigned i = 0; c && i < least && !dirty; i++, c = c->next) {
        if (!orr_spin_try(&c->handle->queue.lock)) continue;
        dirty = only_valid(c->handle, node) && c->handle->replicates[node].users == 0 && may_leave(c, node);
        orr_spin_unlock(&c->handle->queue.lock);
    }
    orr_spin_unlock(&m->lock);
    return dirty;
}

void orr_memory_idle(unsigned node)
{
    struct orr_memory *m = &orr_memories[node];
    struct orr_aftermath after = { .write_backs = NULL };
    struct victims v = { .bytes = 0 };
    size_t limit = orr_nodes[node].limit_bytes, used = orr_load_relaxed(&orr_nodes[node].used_bytes);
    if (!limit) return;
    orr_store_seq(&orr_memory_untidy[node], false); /* before it looks: who begins something says so after */
    if (orr_load_seq(&orr_transfers_active) > 0) {
        orr_store_seq(&orr_memory_untidy[node], true);
        return;
    }
    if (percents.free > 0 && used > limit / 100 * (100 - percents.free))
        reduce(node, 100 - percents.free_target);
    if (wants_cleaning(node)) {
        orr_spin_lock(&m->lock);
        write_ahead_locked(m, node, clean_target(m), &v);
        orr_spin_unlock(&m->lock);
    }
    after.write_backs = v.write_backs;
    orr_aftermath_run(&after, node);
    if (orr_load_seq(&orr_transfers_active) > 0)
        orr_store_seq(&orr_memory_untidy[node], true); /* what was in use meanwhile may be next */
}

/* The value of data that is nowhere else goes with the node; but main memory stays. */
static void forget_chunk(struct orr_chunk *c, unsigned node)
{
    struct orr_data *h = c->handle;
    struct orr_replicate *r = &h->replicates[node];
    if (node != orr_node_home()) {
        if (only_valid(h, node)) h->initialized = false;
        orr_replicate_free(h, node);
        r->state = ORR_INVALID;
        r->allocated = r->ours = false;
    }
    orr_free(orr_chunk_detach_locked(r, node));
}

void orr_transfers_fini(void)
{
    for (unsigned n = 0; n < STARPU_MAXNODES; n++) {
        struct orr_memory *m = &orr_memories[n];
        while (m->first) forget_chunk(m->first, n);
        orr_alloc_cache_drop(n, SIZE_MAX);
        memset(m, 0, sizeof *m);
        orr_kept_drain(n);
        orr_store_relaxed(&orr_memory_untidy[n], false);
    }
    orr_store_release(&orr_transfers_started, NULL);
    orr_victim_forget();
}
