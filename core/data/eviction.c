/* SPDX-License-Identifier: BSD-3-Clause */
/* eviction.c: finding room on a device's memory: the copies used longest ago make place, dirty ones are
 * written back first.
 * Threads: any; one at a time serves the hungry of a node. Owns: the order of eviction
 * and those who wait for memory. Not here: main memory, from which nothing is evicted; the copies themselves
 * (transfer.c).
 *
 * Whoever needs memory on a device queues behind those who asked before, so that a task's inputs are not
 * starved by later ones. The first tries to allocate; when that fails, copies that nobody uses are thrown out
 * in the order of their last use, until enough bytes are freed or on their way out. If all that is left is in
 * use by others, it waits: the end of a use, of a transfer or of an eviction serves the queue again. If
 * nobody else uses anything, it will never fit: -ENOMEM. */
#include <errno.h>
#include <string.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/data/transfer.h"

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
    orr_spin_unlock(&m->lock);
}

struct orr_chunk *orr_chunk_detach_locked(struct orr_replicate *r, unsigned node)
{
    struct orr_chunk *c = r->chunk;
    if (!c) return NULL;
    orr_spin_lock(&orr_memories[node].lock);
    unlink_locked(&orr_memories[node], c);
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

void orr_eviction_begin_locked(struct orr_chunk *c, unsigned node)
{
    struct orr_replicate *r = &c->handle->replicates[node];
    struct orr_transfer *t = &c->out;
    memset(t, 0, sizeof *t);
    t->handle = c->handle;
    t->dst = (uint16_t)node;
    t->src = -1;
    t->eviction = t->in_chunk = true;
    r->state = ORR_INVALID;
    r->incoming = t;
    r->users++;
    orr_transfers_count(1);
}

void orr_eviction_run(struct orr_chunk *c, unsigned node)
{
    struct orr_data *h = c->handle;
    struct orr_replicate *r = &h->replicates[node];
    h->ops->free_data_on_node(r->interface, node);
    orr_spin_lock(&h->queue.lock);
    orr_chunk_detach_locked(r, node);
    r->allocated = r->ours = false;
    r->incoming = NULL;
    r->users--;
    struct orr_fetch *waiters = c->out.waiters;
    orr_spin_unlock(&h->queue.lock);
    orr_free(c);
    orr_waiters_tell(waiters, node, -EAGAIN);
    orr_transfers_count(-1);
}

/* Prepares the write-back of the only valid copy. False: one is under way already. Called with the handle's
 * lock held. */
static bool begin_write_back_locked(struct orr_chunk *c, bool evict_after)
{
    struct orr_data *h = c->handle;
    if (h->replicates[STARPU_MAIN_RAM].incoming) return false;
    memset(&c->out, 0, sizeof c->out);
    c->out.in_chunk = c->out.quiet = true;
    c->out.evict_after = evict_after;
    return orr_transfer_prepare_locked(&c->out, h, STARPU_MAIN_RAM, true);
}

int orr_memory_evict(struct orr_data *h, unsigned node)
{
    struct orr_replicate *r = &h->replicates[node];
    orr_spin_lock(&h->queue.lock);
    struct orr_chunk *c = r->chunk;
    bool busy = r->users > 0 || r->incoming || (r->allocated && !c), evict = false, write = false;
    if (!busy && c) {
        write = only_valid(h, node);
        if (write)
            busy = !begin_write_back_locked(c, true);
        else
            orr_eviction_begin_locked(c, node);
        evict = !write;
    }
    orr_spin_unlock(&h->queue.lock);
    if (busy) return -EBUSY;
    if (evict)
        orr_eviction_run(c, node);
    else if (write)
        orr_transfer_start(&c->out);
    orr_memory_feed(node);
    return 0;
}

/* ---- making room ---- */

enum outcome { FREED, LEAVING, IN_USE, NOTHING };

/* What a hungry transfer's task holds itself. */
struct own_set {
    const struct orr_fetch *fetches;
    unsigned count;
};

static struct own_set set_of(struct orr_transfer *t)
{
    struct own_set s = { NULL, 0 };
    orr_spin_lock(&t->handle->queue.lock);
    for (struct orr_fetch *f = t->waiters; f && !s.fetches; f = f->next) {
        s.fetches = f->set;
        s.count = f->set_count;
    }
    orr_spin_unlock(&t->handle->queue.lock);
    return s;
}

static bool holds(const struct own_set *s, const struct orr_data *h)
{
    for (unsigned i = 0; s->fetches && i < s->count; i++)
        if (s->fetches[i].handle == h) return true;
    return false;
}

struct victims {
    struct orr_transfer *evictions, *write_backs; /* chained by next */
    size_t bytes;
    bool leaving, in_use;
};

static struct orr_chunk *chunk_of(struct orr_transfer *t)
{
    return (struct orr_chunk *)((char *)t - offsetof(struct orr_chunk, out));
}

/* Makes c a victim if nobody uses it. gently: only if it is of no use to anybody. Called with the handle's
 * lock held. */
static void consider_locked(struct orr_chunk *c, unsigned node, bool gently, struct victims *v)
{
    struct orr_replicate *r = &c->handle->replicates[node];
    bool dirty = only_valid(c->handle, node);
    if (r->users > 0 || r->incoming) {
        v->in_use = true;
        return;
    }
    if (gently && (dirty || (r->state != ORR_INVALID && !c->unwanted))) return;
    if (!dirty) {
        orr_eviction_begin_locked(c, node);
        c->out.next = v->evictions;
        v->evictions = &c->out;
    } else if (c->stuck) {
        return;
    } else if (begin_write_back_locked(c, false)) {
        c->out.next = v->write_backs;
        v->write_backs = &c->out;
        v->leaving = true;
    } else {
        v->leaving = true;
    }
    v->bytes += c->bytes;
}

static struct victims choose_victims(unsigned node, const struct own_set *own, size_t bytes, bool gently)
{
    struct orr_memory *m = &orr_memories[node];
    struct victims v = { NULL, NULL, 0, false, false };
    orr_spin_lock(&m->lock);
    for (struct orr_chunk *c = m->first; c && v.bytes < bytes; c = c->next) {
        if (holds(own, c->handle)) continue;
        if (!orr_spin_try(&c->handle->queue.lock)) { /* the other order of locks: never wait */
            v.in_use = m->retry = true;
            continue;
        }
        consider_locked(c, node, gently, &v);
        orr_spin_unlock(&c->handle->queue.lock);
    }
    orr_spin_unlock(&m->lock);
    return v;
}

static enum outcome reclaim(unsigned node, const struct own_set *own, size_t bytes, bool gently)
{
    struct victims v = choose_victims(node, own, bytes, gently);
    bool freed = v.evictions != NULL;
    while (v.evictions) {
        struct orr_transfer *out = v.evictions;
        v.evictions = out->next;
        orr_eviction_run(chunk_of(out), node);
    }
    while (v.write_backs) {
        struct orr_transfer *out = v.write_backs;
        v.write_backs = out->next;
        orr_transfer_start(out);
    }
    return freed ? FREED : v.leaving ? LEAVING : v.in_use ? IN_USE : NOTHING;
}

void orr_memory_tidy(unsigned node)
{
    enum { NEARLY_FULL_PERCENT = 90 };
    size_t enough = orr_nodes[node].limit_bytes / 100 * NEARLY_FULL_PERCENT,
           used = orr_load_relaxed(&orr_nodes[node].used_bytes);
    struct own_set own = { NULL, 0 };
    if (enough && used > enough) reclaim(node, &own, used - enough, false);
}

/* ---- the hungry ---- */

enum served { FED, WAITS, NEVER, DROPPED };

static size_t wanted_bytes(struct orr_data *h)
{
    if (h->ops->get_alloc_size) return h->ops->get_alloc_size(h);
    return h->ops->get_size ? h->ops->get_size(h) : 1;
}

static enum served serve(struct orr_transfer *t, size_t *used_out)
{
    for (;;) {
        *used_out = orr_load_relaxed(&orr_nodes[t->dst].used_bytes);
        if (orr_transfer_allocate(t) == 0) return FED;
        bool gently = orr_load_relaxed(&t->prefetch);
        struct own_set own = set_of(t);
        enum outcome o = reclaim(t->dst, &own, wanted_bytes(t->handle), gently);
        if (o == FREED) continue;
        if (gently) return DROPPED;
        return o == NOTHING ? NEVER : WAITS;
    }
}

static void refuse(struct orr_transfer *t)
{
    if (!t->quiet) {
        char label[64];
        struct orr_node *n = &orr_nodes[t->dst];
        orr_error("data %s of %zu bytes does not fit in memory node %u (%s) beside what is in use there (%zu "
                  "of %zu bytes); use "
                  "smaller pieces, or a worker with more memory",
                  orr_data_label(t->handle, label, sizeof label), wanted_bytes(t->handle), t->dst, n->name,
                  orr_load_relaxed(&n->used_bytes), n->limit_bytes);
    }
    orr_transfer_finish(t, -ENOMEM);
}

void orr_memory_feed(unsigned node)
{
    struct orr_memory *m = &orr_memories[node];
    if (node == STARPU_MAIN_RAM) return;
    orr_spin_lock(&m->lock);
    while (m->hungry) {
        if (m->feeding) {
            m->feed_again = true;
            break;
        }
        struct orr_transfer *t = m->hungry;
        m->feeding = true;
        m->feed_again = m->retry = false;
        orr_spin_unlock(&m->lock);
        size_t used;
        enum served s = serve(t, &used);
        orr_spin_lock(&m->lock);
        m->feeding = false;
        if (s == WAITS) {
            m->used_when_stuck = used;
            if (m->feed_again) continue;
            break;
        }
        m->hungry = t->next;
        orr_spin_unlock(&m->lock);
        if (s == FED)
            orr_transfer_carry_on(t);
        else if (s == DROPPED)
            orr_transfer_finish(t, -EAGAIN);
        else
            refuse(t);
        orr_spin_lock(&m->lock);
    }
    orr_spin_unlock(&m->lock);
}

void orr_memory_ask(struct orr_transfer *t)
{
    unsigned node = t->dst; /* t may be gone as soon as it is on the list */
    struct orr_memory *m = &orr_memories[node];
    orr_spin_lock(&m->lock);
    t->next = NULL;
    if (m->hungry)
        m->hungry_last->next = t;
    else
        m->hungry = t;
    m->hungry_last = t;
    orr_spin_unlock(&m->lock);
    orr_memory_feed(node);
}

void orr_transfers_fini(void)
{
    for (unsigned n = 1; n < STARPU_MAXNODES; n++) {
        struct orr_memory *m = &orr_memories[n];
        while (m->first) {
            struct orr_chunk *c = m->first;
            struct orr_replicate *r = &c->handle->replicates[n];
            if (only_valid(c->handle, n)) c->handle->initialized = false; /* its value goes with the device */
            c->handle->ops->free_data_on_node(r->interface, n);
            r->state = ORR_INVALID;
            r->allocated = r->ours = false;
            orr_chunk_detach_locked(r, n);
            orr_free(c);
        }
        memset(m, 0, sizeof *m);
    }
    orr_store_release(&orr_transfers_started, NULL);
}
