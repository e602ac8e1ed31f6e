/* SPDX-License-Identifier: BSD-3-Clause */
/* transfer.c: carrying a copy through: memory at its destination, the copy itself, telling who waited.
 * Threads: whoever starts or polls. Owns: the lists of copies under way and of prefetches, in orr_memories.
 * Not here: which copy is needed (coherency.c), waiting for memory on a device (hungry.c).
 *
 * A transfer goes: memory -> source -> link (links.c) -> copy, perhaps with a stop in main memory -> finish.
 * Each stage hands it to the next, or leaves it on a list from which a poll takes it. The source is chosen,
 * and pinned, once there is memory: while it waits it is in nobody's way (hungry.c). A prefetch becomes a
 * transfer only in its turn: queued it holds nothing. */
#include "core/data/transfer.h"

#include <errno.h>
#include <string.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/event.h"
#include "core/base/kind.h"
#include "core/base/log.h"
#include "core/data/alloc_cache.h"
#include "core/data/layouts.h"

struct orr_memory orr_memories[STARPU_MAXNODES];
_Atomic uint32_t orr_transfers_active;
_Atomic uint64_t orr_transfers_moved;
void (*_Atomic orr_transfers_started)(void);

void orr_transfers_count(int by)
{
    orr_add_seq(&orr_transfers_active, (uint32_t)by);
}

/* ---- the copy itself ---- */

/* The end whose driver makes the copy. */
static unsigned driving_end(unsigned src, unsigned dst)
{
    return orr_nodes[dst].ops ? dst : src;
}

/* By a method of the interface that only a device's driver knows how to call; -ENOSYS: there is none. */
static int copy_by_driver(const struct starpu_data_copy_methods *m, void *from, unsigned src, void *to,
                          unsigned dst, bool foreground, struct orr_async *async)
{
    unsigned node = driving_end(src, dst), other = node == dst ? src : dst;
    const struct orr_node_ops *ops = orr_nodes[node].ops;
    if (!ops || !ops->copy_by || (orr_nodes[other].ops && orr_nodes[other].ops != ops)) return -ENOSYS;
    int r = ops->copy_by(m, from, src, to, dst, foreground ? NULL : &async->last);
    async->last.node = node;
    async->pending = r == -EAGAIN;
    return r;
}

/* By what the interface has for these kinds of memory; -ENOSYS: nothing. Where any_to_any could go on
 * meanwhile, what waits for its copy is nothing. */
static int copy_by_pair(const struct starpu_data_copy_methods *m, void *from, unsigned src, void *to,
                        unsigned dst, bool foreground, struct orr_async *async)
{
    struct starpu_data_copy_methods starting;
    bool cpus = orr_node_is_cpu(src) && orr_node_is_cpu(dst), waits = foreground || cpus || !m->any_to_any;
    if (!waits) orr_kind_copies_that_start(m, &starting);
    int r = copy_by_driver(waits ? m : &starting, from, src, to, dst, foreground, async);
    if (r != -ENOSYS || !waits) return r;
    orr_copy_method_fn fn = orr_kind_copy_method(m, orr_nodes[src].kind, orr_nodes[dst].kind);
    return fn ? fn(from, src, to, dst) : -ENOSYS;
}

/* Starts or makes the copy between two nodes: 0, -EAGAIN with an event in async, or an error. */
static int copy_interface(struct orr_data *h, unsigned src, unsigned dst, struct orr_async *async)
{
    const struct starpu_data_copy_methods *m = h->ops->copy_methods;
    void *from = h->replicates[src].interface, *to = h->replicates[dst].interface;
    memset(async, 0, sizeof *async);
    if (orr_unlikely(h->replicates[src].mapped || h->replicates[dst].mapped))
        return orr_map_update(h, src, dst);
    if (orr_unlikely(h->formats)) orr_layouts_copied(h, src, dst); /* nobody uses dst before it has ended */
    bool foreground = orr_foreground_kinds & (1u << orr_nodes[src].kind | 1u << orr_nodes[dst].kind);
    bool by_any = m && m->any_to_any, reach = !by_any || orr_nodes_reach(src, dst);
    int r = m && reach ? copy_by_pair(m, from, src, to, dst, foreground, async) : -ENOSYS;
    if (r == -ENOSYS && by_any)
        r = m->any_to_any(from, src, to, dst, foreground ? NULL : async);
    else if (r == -ENOSYS && orr_packed_possible(h, src, dst))
        r = orr_packed_copy(h, src, dst);
    else if (r == -ENOSYS && !(h->ops->get_size && h->ops->get_size(h) > 0))
        r = 0;
    if (async->pending) return -EAGAIN; /* what goes on uses memory, whatever failed beside it */
    if (async->error) return async->error;
    return r == -EAGAIN ? 0 : r;
}

/* Whether the interface and the link can copy between two nodes without a stop in main memory. */
static bool direct(struct orr_data *h, unsigned src, unsigned dst)
{
    const struct starpu_data_copy_methods *m = h->ops->copy_methods;
    if (!orr_nodes_reach(src, dst)) return false;
    if (orr_unlikely(h->replicates[src].mapped || h->replicates[dst].mapped))
        return orr_node_is_cpu(src) || orr_node_is_cpu(dst); /* the other is main memory itself */
    if (orr_unlikely(h->formats) && !orr_layouts_fit(h, src, dst)) return false;
    bool by_cpu = orr_node_is_cpu(src) || orr_node_is_cpu(dst);
    if (by_cpu || !m || m->any_to_any) {
        if (by_cpu || !m || !m->can_copy) return true;
        void *from = h->replicates[src].interface, *to = h->replicates[dst].interface;
        return m->can_copy(from, src, to, dst, dst) || m->can_copy(from, src, to, dst, src);
    }
    const struct orr_node_ops *ops = orr_nodes[dst].ops;
    return orr_kind_copy_method(m, orr_nodes[src].kind, orr_nodes[dst].kind) ||
           (ops == orr_nodes[src].ops && ops->between && ops->between(m));
}

static void start_copy(struct orr_transfer *t);

/* Pins another copy in the place of the one that could not be brought; -1: there is none. */
static int next_source(struct orr_transfer *t)
{
    struct orr_data *h = t->handle;
    t->failed_sources |= UINT32_C(1) << t->src;
    orr_spin_lock(&h->queue.lock);
    int other = orr_transfer_source_locked(h, t->dst, t->failed_sources);
    if (other >= 0) {
        h->replicates[t->src].users--;
        h->replicates[other].users++;
    }
    orr_spin_unlock(&h->queue.lock);
    if (other >= 0) orr_memory_feed((unsigned)t->src);
    return other;
}

/* Whether there is another copy, on a way that has not failed, to be brought in the place of t's source. */
static bool has_other_source(struct orr_transfer *t)
{
    if (t->in_chunk) return false; /* its source is the chunk's */
    for (int other; (other = next_source(t)) >= 0;) {
        t->src = (int16_t)other;
        if (direct(t->handle, (unsigned)other, t->dst)) return true;
        unsigned by = orr_data_place(t->handle, orr_nodes_meet((unsigned)other, t->dst));
        if (t->failed_sources >> by & 1) continue;
        t->failed_sources |= UINT32_C(1) << other; /* what fails then is the copy from there */
        return true;
    }
    return false;
}

/* Counts for the device at one end; between two nobody knows which it was. */
static void count_result(int src, unsigned dst, int r)
{
    if (src < 0 || orr_node_is_cpu((unsigned)src) == orr_node_is_cpu(dst)) return;
    struct orr_node *n = &orr_nodes[orr_node_is_cpu(dst) ? (unsigned)src : dst];
    if (r == -EIO)
        orr_add_relaxed(&n->failures, 1u);
    else if (orr_unlikely(r == 0 && orr_load_relaxed(&n->failures) > 0))
        orr_store_relaxed(&n->failures, 0u);
}

/* Whether to make the same copy again: a disk, other than a device, may fail now and then. */
static bool worth_another_try(struct orr_transfer *t, int r)
{
    enum { TRIES = 3 };
    bool store = t->src >= 0 && (orr_nodes[t->src].role == ORR_STORE || orr_nodes[t->dst].role == ORR_STORE);
    return r == -EIO && store && ++t->tries < TRIES;
}

/* Nothing of the copy is under way any more. Its link goes on when the caller says so. */
static void copy_over(struct orr_transfer *t, int r)
{
    orr_link_leave(t);
    if (orr_unlikely(r) && worth_another_try(t, r)) {
        ORR_EVENT(TRANSFER_ENDED, t->handle, r, t->src, t->dst);
        start_copy(t);
        return;
    }
    if (r && !(r == -ENOMEM && t->quiet)) {
        char label[64];
        orr_error("data %s could not be copied from memory node %d (%s) to %u (%s): %s",
                  orr_data_label(t->handle, label, sizeof label), t->src, orr_nodes[t->src].name, t->dst,
                  orr_nodes[t->dst].name,
                  r == -ENOSYS ? "its interface has no method for that; give it any_to_any" : strerror(-r));
    }
    ORR_EVENT(TRANSFER_ENDED, t->handle, r, t->src, t->dst);
    count_result(t->src, t->dst, r);
    if (r == -EIO && has_other_source(t))
        start_copy(t);
    else
        orr_transfer_finish(t, r && r != -ENOMEM ? -EIO : r);
}

/* As event.def says. */
static unsigned why(struct orr_transfer *t)
{
    return t->in_chunk || t->evict_after ? ORR_COPY_MAKES_ROOM : orr_load_relaxed(&t->urgency);
}

/* The copy, on this thread. Methods of the program's interfaces see it as a worker of the device meanwhile:
 * they may ask for that (orr_worker_here). */
static int copy_for_device(struct orr_transfer *t)
{
    struct orr_acting *acting = orr_acting(orr_self());
    uint64_t was = acting->copies_for;
    unsigned node = driving_end((unsigned)t->src, t->dst);
    acting->copies_for = orr_nodes[node].role == ORR_DEVICE_MEMORY ? 1 + node : 0;
    int r = copy_interface(t->handle, (unsigned)t->src, t->dst, &t->async);
    acting->copies_for = was;
    return r;
}

int orr_copy_to_place(struct orr_data *h, unsigned src, void *to, unsigned dst)
{
    struct orr_acting *acting = orr_acting(orr_self());
    uint64_t was = acting->copies_for;
    acting->copies_for = 1 + dst;
    int r = h->ops->copy_methods->any_to_any(h->replicates[src].interface, src, to, dst, NULL);
    acting->copies_for = was;
    return r;
}

/* Gives it to the driver, or makes it. */
static void carry(struct orr_transfer *t)
{
    ORR_EVENT(TRANSFER_STARTED, t->handle, t->handle->ops->get_size ? t->handle->ops->get_size(t->handle) : 0,
              t->src, t->dst | why(t) << ORR_COPY_CAUSE_SHIFT);
    int r = copy_for_device(t);
    if (r != -EAGAIN) {
        copy_over(t, r);
        return;
    }
    struct orr_memory *m = &orr_memories[t->dst];
    t->arrived = false;
    orr_spin_lock(&m->lock);
    t->next = m->copying;
    m->copying = t;
    orr_spin_unlock(&m->lock);
}

static bool carry_next(unsigned dst)
{
    struct orr_transfer *t = orr_link_next(dst);
    if (t) carry(t);
    return t;
}

/* Goes on with the links to a node, unless this thread is doing so further up its stack. */
static void links_go_on(unsigned dst)
{
    struct {
        uint32_t due;
        bool going;
    } *own = orr_thread_room(orr_self(), links, __typeof__(*own));
    own->due |= UINT32_C(1) << dst;
    if (own->going) return;
    own->going = true;
    while (own->due) {
        unsigned n = (unsigned)__builtin_ctz(own->due);
        if (!carry_next(n)) own->due &= ~(UINT32_C(1) << n);
    }
    own->going = false;
}

static void copy(struct orr_transfer *t)
{
    unsigned dst = t->dst; /* t may be gone once it has its turn */
    if (orr_link_enter(t)) carry(t);
    links_go_on(dst);
}

static void choose_source(struct orr_transfer *t)
{
    struct orr_data *h = t->handle;
    orr_spin_lock(&h->queue.lock);
    if (t->src < 0) orr_transfer_choose_source_locked(t);
    orr_spin_unlock(&h->queue.lock);
}

static void say_full(struct orr_data *h, unsigned node)
{
    char label[64];
    orr_error("data %s does not fit in memory node %u (%s; its limit: %zu bytes, in use: %zu), and no node "
              "is below it "
              "to which other data could go",
              orr_data_label(h, label, sizeof label), node, orr_nodes[node].name, orr_nodes[node].limit_bytes,
              orr_load_relaxed(&orr_nodes[node].used_bytes));
}

static void arrived_in_ram(struct orr_fetch *f, int status)
{
    struct orr_transfer *t = (struct orr_transfer *)((char *)f - offsetof(struct orr_transfer, via));
    const struct starpu_data_copy_methods *m = t->handle->ops->copy_methods;
    if (status == 0)
        t->src = (int16_t)f->node; /* pinned by the fetch */
    else if (status == -ENOMEM && m && m->any_to_any && t->via.layout == ORR_LAYOUT_ANY)
        choose_source(t); /* starpu_interface_copy goes through a buffer */
    if (t->src >= 0) {
        copy(t);
        return;
    }
    if (!t->quiet && status == -ENOMEM) say_full(t->handle, f->node);
    orr_transfer_finish(t, status);
}

/* Brings the bytes to main memory first. */
static void copy_by_ram(struct orr_transfer *t)
{
    struct orr_data *h = t->handle;
    unsigned src = (unsigned)t->src;
    bool as_it_is =
        !h->formats || (!orr_layouts_by_program(h) && (orr_layouts(h, src) & orr_layout_of_node(h, t->dst)));
    orr_spin_lock(&h->queue.lock);
    h->replicates[src].users--;
    orr_spin_unlock(&h->queue.lock);
    t->src = -1;
    /* Waiters for memory there may evict the source now: writing it back brings it to main memory as well. */
    orr_memory_feed(src);
    t->via = (struct orr_fetch){ .done = arrived_in_ram,
                                 .handle = h,
                                 .node = (uint16_t)orr_data_place(h, orr_nodes_meet(src, t->dst)),
                                 .mode = STARPU_R,
                                 .quiet = true,
                                 .layout = as_it_is ? ORR_LAYOUT_ANY : ORR_LAYOUT_CPU };
    int r = orr_fetch_start(&t->via);
    if (r) arrived_in_ram(&t->via, r < 0 ? r : 0);
}

static void start_copy(struct orr_transfer *t)
{
    if (orr_unlikely(t->converts)) {
        orr_convert(t);
        return;
    }
    if (!t->brings) {
        orr_transfer_finish(t, 0);
        return;
    }
    choose_source(t);
    if (t->src < 0)
        orr_transfer_finish(t, -ENODATA);
    else if (direct(t->handle, (unsigned)t->src, t->dst))
        copy(t);
    else
        copy_by_ram(t);
}

/* ---- memory ---- */

/* Only the transfer to a node allocates there, so nobody else touches the interface. */
int orr_transfer_allocate(struct orr_transfer *t)
{
    struct orr_data *h = t->handle;
    struct orr_replicate *r = &h->replicates[t->dst];
    struct orr_chunk *c = NULL;
    bool listed = orr_node_lists(t->dst) && h->nnodes > 1; /* else it stays, and its users are not counted */
    if (listed && !(c = orr_calloc(1, sizeof *c))) return -ENOMEM;
    bool mapped = orr_map_instead(h, t->dst);
    starpu_ssize_t bytes = mapped ? 0 : orr_buffer_allocate(h, t->dst);
    if (bytes < 0) {
        orr_free(c);
        return -ENOMEM;
    }
    orr_spin_lock(&h->queue.lock);
    r->allocated = r->ours = true;
    if (c) {
        c->handle = h;
        c->bytes = (size_t)bytes;
        r->chunk = c;
        orr_chunk_touch_locked(r, t->dst, false);
    }
    orr_spin_unlock(&h->queue.lock);
    ORR_EVENT(DATA_ALLOCATED, h, bytes, t->dst, 0);
    return 0;
}

/* Where nothing is below: at once, or not at all. What other nodes have as well makes room, if it is known.
 * Then t goes on, or ends. */
static void allocate_now(struct orr_transfer *t)
{
    struct orr_own_set own = { NULL, 0 };
    struct orr_aftermath after = { .write_backs = NULL };
    struct orr_data *h = t->handle;
    size_t bytes = h->ops->get_size ? h->ops->get_size(h) : 1;
    enum orr_outcome o = ORR_FREED;
    int r;
    while ((r = orr_transfer_allocate(t)) != 0 && orr_node_reclaims(t->dst) && o == ORR_FREED)
        o = orr_memory_reclaim(&(struct orr_wish){ .node = t->dst, .own = &own, .bytes = bytes, .handle = h },
                               &after);
    if (r == 0) {
        after.fed = t;
    } else {
        if (!t->quiet) say_full(h, t->dst);
        t->next = NULL;
        after.finish = t;
        after.finish_status = r;
    }
    orr_aftermath_run(&after, t->dst);
}

static void find_memory(struct orr_transfer *t)
{
    if (t->handle->replicates[t->dst].allocated) { /* changed only by the transfer to the node, which is t */
        start_copy(t);
        return;
    }
    if (orr_node_evicts(t->dst)) {
        orr_memory_ask(t);
        return;
    }
    allocate_now(t);
}

/* ---- prefetches ---- */

static bool more_urgent(const struct orr_fetch *a, const struct orr_fetch *b)
{
    return a->idle != b->idle ? b->idle : a->prio > b->prio;
}

bool orr_prefetch_may_start_locked(const struct orr_memory *m, const struct orr_fetch *f)
{
    return f->idle ? m->incoming + m->prefetching == 0 : m->prefetching < ORR_PREFETCHES_AT_ONCE;
}

bool orr_prefetch_turn_locked(struct orr_fetch *f)
{
    struct orr_memory *m = &orr_memories[f->node];
    orr_spin_lock(&m->lock);
    f->has_turn = !m->prefetches && orr_prefetch_may_start_locked(m, f);
    bool turn = f->has_turn;
    if (turn) {
        m->prefetching++;
    } else {
        struct orr_fetch **at = &m->prefetches;
        while (*at && !more_urgent(f, *at)) at = &(*at)->next;
        f->next = *at;
        *at = f;
        orr_transfers_count(1); /* somebody must poll for it */
    }
    orr_spin_unlock(&m->lock);
    return turn;
}

/* Nodes on which this thread is to start prefetches: a mask, so that one ending at once does not start the
 * next deeper in the stack. */
static void start_due(unsigned node)
{
    struct {
        uint32_t due;
        bool starting;
    } *own = orr_thread_room(orr_self(), prefetches, __typeof__(*own));
    own->due |= UINT32_C(1) << node;
    if (own->starting) return;
    own->starting = true;
    while (own->due) {
        unsigned n = (unsigned)__builtin_ctz(own->due);
        if (!orr_prefetch_start_next(n)) own->due &= ~(UINT32_C(1) << n);
    }
    own->starting = false;
}

static void prefetches_go_on(struct orr_memory *m, unsigned node)
{
    orr_spin_lock(&m->lock);
    bool any = m->prefetches && orr_prefetch_may_start_locked(m, m->prefetches);
    orr_spin_unlock(&m->lock);
    if (any) start_due(node);
}

void orr_prefetch_pass(unsigned node)
{
    struct orr_memory *m = &orr_memories[node];
    orr_spin_lock(&m->lock);
    m->prefetching--;
    orr_spin_unlock(&m->lock);
    prefetches_go_on(m, node);
}

/* Takes h's out of a list. */
static void take_of(struct orr_data *h, struct orr_fetch **list, struct orr_fetch **out)
{
    for (struct orr_fetch **at = list; *at;) {
        struct orr_fetch *f = *at;
        if (f->handle != h) {
            at = &f->next;
            continue;
        }
        *at = f->next;
        f->next = *out;
        *out = f;
    }
}

void orr_prefetches_drop(struct orr_data *h)
{
    struct orr_fetch *dropped = NULL;
    for (unsigned n = 0; n < h->nnodes; n++) {
        struct orr_memory *m = &orr_memories[n];
        orr_spin_lock(&m->lock);
        take_of(h, &m->prefetches, &dropped);
        orr_spin_unlock(&m->lock);
    }
    while (dropped) {
        struct orr_fetch *f = dropped;
        dropped = f->next;
        f->done(f, -ENOMEM);
        orr_transfers_count(-1);
    }
}

/* A transfer to a node begins. */
void orr_transfer_start(struct orr_transfer *t)
{
    struct orr_memory *m = &orr_memories[t->dst];
    void (*started)(void) = orr_load_acquire(&orr_transfers_started);
    if (started) started();
    orr_spin_lock(&m->lock);
    m->incoming++;
    orr_spin_unlock(&m->lock);
    find_memory(t);
}

static void retire(struct orr_transfer *t)
{
    struct orr_memory *m = &orr_memories[t->dst];
    orr_spin_lock(&m->lock);
    m->incoming--;
    m->prefetching -= t->has_turn;
    t->has_turn = false; /* somebody may still urge it */
    orr_spin_unlock(&m->lock);
}

/* ---- the end ---- */

/* Publishes the copy, or that there is none; returns who waited. Those that wanted this copy have it pinned.
 * *evict_out: an eviction that was begun. From here on h may be destroyed, unless somebody waited, and a
 * transfer of a chunk used again. */
static struct orr_fetch *publish(struct orr_transfer *t, int status, struct orr_transfer **evict_out)
{
    struct orr_data *h = t->handle;
    struct orr_replicate *r = &h->replicates[t->dst], *from = t->src >= 0 ? &h->replicates[t->src] : NULL;
    unsigned src = (unsigned)t->src;
    orr_spin_lock(&h->queue.lock);
    if (from) {
        if (status == 0) {
            if (from->state == ORR_OWNED) from->state = ORR_SHARED;
            r->state = ORR_SHARED;
        }
        from->users--;
        if (status && from->chunk && t == &from->chunk->out)
            from->chunk->stuck = orr_node_used_below(src) + 1; /* or it would be tried for ever */
    }
    r->incoming = NULL;
    r->users--;
    struct orr_fetch *waiters = t->waiters;
    for (struct orr_fetch *f = waiters; f && status == 0; f = f->next) {
        if (f->awaited && f->node == t->dst && r->chunk) r->chunk->awaited = true;
        if (f->node != t->dst || f->prefetch || f->pinned) continue;
        f->pinned = true;
        r->users++;
    }
    if (t->evict_after && status == 0 && from && from->chunk && from->users == 0 && !from->incoming) {
        *evict_out = &from->chunk->out;
        orr_eviction_begin_locked(*evict_out, h, src); /* t may be overwritten */
    }
    orr_spin_unlock(&h->queue.lock);
    return waiters;
}

static void tell(struct orr_fetch *f, unsigned dst, int status)
{
    if (f->prefetch) /* nothing keeps its handle alive any more */
        f->done(f, status == -EAGAIN || status == -ECANCELED || status == -ETIMEDOUT ? -ENOMEM : status);
    else if (status == -ECANCELED && f->set && f->node == dst)
        f->done(f, -EAGAIN);
    else if (status == -ETIMEDOUT && f->gives_up && f->node == dst)
        f->done(f, -ENOMEM);
    else if (status == 0 || status == -EAGAIN || status == -ECANCELED || status == -ETIMEDOUT ||
             f->node != dst)
        orr_fetch_resume(f);
    else
        f->done(f, status);
}

/* A conversion failed: who needs the bytes only, or nothing of them, goes on. */
static void tell_not_converted(struct orr_fetch *f, int status)
{
    if (f->prefetch || orr_layout_wanted(f))
        orr_fetch_fail(f, status);
    else
        orr_fetch_resume(f);
}

/* What this thread has taken to go on with, one after the other. What goes on may wait for another of them:
 * an invalidation is granted, and waits for the end of a transfer whose stop in main memory is the next to be
 * told, or of a write-back that is the next to be started. So who waits, and polls, goes on with them first.
 */
struct in_hand {
    struct orr_aftermath left;
    unsigned dst; /* to which the waiters' transfer went */
    int status;   /* theirs */
    bool not_converted;
    struct in_hand *outer; /* of the same thread, further up its stack */
};

static struct orr_transfer *take_first(struct orr_transfer **list)
{
    struct orr_transfer *t = *list;
    if (t) *list = t->next;
    return t;
}

static bool next_in_hand(struct in_hand *w)
{
    struct orr_fetch *f = w->left.waiters;
    struct orr_transfer *t = take_first(&w->left.write_backs);
    if (t) {
        orr_transfer_start(t);
    } else if (f) {
        w->left.waiters = f->next;
        if (orr_unlikely(w->not_converted))
            tell_not_converted(f, w->status);
        else
            tell(f, w->dst, w->status);
    } else if ((t = take_first(&w->left.finish)) != NULL) {
        orr_transfer_finish(t, w->left.finish_status);
    } else if ((t = w->left.fed) != NULL) {
        w->left.fed = NULL;
        start_copy(t);
    }
    return f || t;
}

static void take_in_hand(struct in_hand *w)
{
    struct in_hand **latest = orr_thread_room(orr_self(), in_hand, struct in_hand *);
    w->outer = *latest;
    *latest = w;
}

static void let_go(struct in_hand *w)
{
    while (next_in_hand(w)) continue;
    *orr_thread_room(orr_self(), in_hand, struct in_hand *) = w->outer;
}

/* All that this thread has in hand. */
static bool go_on_in_hand(void)
{
    bool any = false;
    for (struct in_hand *w = *orr_thread_room(orr_self(), in_hand, struct in_hand *); w; w = w->outer)
        while (next_in_hand(w)) any = true;
    return any;
}

void orr_aftermath_run(const struct orr_aftermath *a, unsigned node)
{
    struct in_hand w = { .left = *a, .dst = node, .status = -EAGAIN };
    take_in_hand(&w);
    let_go(&w);
}

void orr_waiters_tell(struct orr_fetch *waiters, unsigned dst, int status)
{
    struct in_hand w = { .left.waiters = waiters, .dst = dst, .status = status };
    if (!waiters) return;
    take_in_hand(&w);
    let_go(&w);
}

void orr_transfers_finish(struct orr_transfer *list, int status)
{
    struct in_hand w = { .left = { .finish = list, .finish_status = status } };
    if (!list) return;
    take_in_hand(&w);
    let_go(&w);
}

/* A copy that nodes above were waiting for did not come down: they look again. */
static void feed_above(unsigned below)
{
    for (unsigned n = 0; n < orr_node_count; n++)
        if (orr_node_is_above(n, below)) orr_memory_feed(n);
}

/* The store may forget its copy now. */
static void exchange_over(unsigned node)
{
    struct orr_memory *m = &orr_memories[node];
    orr_spin_lock(&m->lock);
    m->exchanging--;
    orr_spin_unlock(&m->lock);
}

void orr_transfer_finish(struct orr_transfer *t, int status)
{
    unsigned dst = t->dst;
    int src = t->src;
    bool in_chunk = t->in_chunk, not_converted = t->converts && status, exchanged = t->exchanged;
    struct orr_transfer *evict = NULL;
    retire(t);
    orr_add_relaxed(&orr_transfers_moved, 1);
    struct orr_fetch *waiters = publish(t, status, &evict);
    if (!in_chunk) orr_free(t);
    if (orr_unlikely(exchanged)) exchange_over(dst);
    struct in_hand w = {
        .left.waiters = waiters, .dst = dst, .status = status, .not_converted = not_converted
    };
    take_in_hand(&w);
    if (evict) orr_waiters_tell(orr_eviction_run(evict), (unsigned)src, -EAGAIN);
    let_go(&w);
    prefetches_go_on(&orr_memories[dst], dst);
    orr_memory_feed(dst);
    if (src >= 0) orr_memory_feed((unsigned)src);
    if (status) feed_above(dst);
    orr_transfers_count(-1);
}

/* ---- polling ---- */

/* Whether this thread is to test the copies to a node. While another does so, what it has tested already may
 * have ended, and who was told of that does not come again: so it tests once more before it lets go. */
static bool begin_testing(struct orr_memory *m, bool told)
{
    orr_spin_lock(&m->lock);
    bool begins = !m->testing && m->copying;
    if (m->testing && told) m->again = true;
    if (begins) m->testing = true;
    orr_spin_unlock(&m->lock);
    return begins;
}

/* True: it moved. */
static bool test_copy(struct orr_transfer *t)
{
    t->async.last.moved = false;
    int r = orr_nodes[t->async.last.node].ops->test(&t->async.last);
    t->arrived = r != -EAGAIN;
    if (t->arrived && t->async.error == 0) t->async.error = r;
    return t->arrived || t->async.last.moved;
}

/* Marks the copies that have ended. They stay on the list: what is called meanwhile may have to wait for any
 * of them. True: another was told of one meanwhile, so they are to be tested again. */
static bool test_copies(struct orr_memory *m, bool *moved)
{
    orr_spin_lock(&m->lock);
    struct orr_transfer *list = m->copying, *last = NULL;
    m->copying = NULL;
    m->again = false;
    orr_spin_unlock(&m->lock);
    for (struct orr_transfer *t = list; t; last = t, t = t->next)
        if (!t->arrived) *moved |= test_copy(t);
    orr_spin_lock(&m->lock);
    if (last) last->next = m->copying;
    if (last) m->copying = list;
    m->testing = m->again;
    bool again = m->again;
    orr_spin_unlock(&m->lock);
    return again;
}

static struct orr_transfer *take_arrived(struct orr_memory *m)
{
    orr_spin_lock(&m->lock);
    struct orr_transfer **at = &m->copying;
    while (*at && !(*at)->arrived) at = &(*at)->next;
    struct orr_transfer *t = *at;
    if (t) *at = t->next;
    orr_spin_unlock(&m->lock);
    return t;
}

static bool poll_all(bool told)
{
    if (orr_likely(orr_load_relaxed(&orr_transfers_active) == 0)) return false;
    bool moved = go_on_in_hand(), nested = orr_memory_nest();
    for (unsigned n = 0; n < orr_node_count; n++) {
        struct orr_memory *m = &orr_memories[n];
        if (begin_testing(m, told)) {
            while (test_copies(m, &moved)) continue;
            for (struct orr_transfer *t; (t = take_arrived(m)); moved = true) copy_over(t, t->async.error);
        }
        while (carry_next(n)) moved = true; /* also where this thread was at it, and waits for one */
        orr_memory_poll(n);
        prefetches_go_on(m, n);
    }
    orr_memory_unnest(nested);
    return moved;
}

bool orr_transfers_poll(void)
{
    return poll_all(false);
}

void orr_transfers_told(void)
{
    poll_all(true);
}
