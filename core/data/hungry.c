/* SPDX-License-Identifier: BSD-3-Clause */
/* hungry.c: transfers that wait for memory of a node that evicts: a device, main memory above a store.
 * Threads: any; one at a time serves a node. Owns: the lists of the hungry, in orr_memories. Not here: which
 * copies make place (eviction.c), the transfers themselves (transfer.c), whose turn it is to load
 * (core/worker/inputs.c).
 *
 * Who holds memory of such a node while waiting for something, and why that ends:
 *
 * - A transfer without memory holds nothing, and waits for memory: see below.
 * - A transfer with memory holds its destination, and then its source, and waits for copies, which end.
 * - One by way of main memory holds its destination, and waits for another transfer, to main memory; a
 *   write-back holds its source, and waits for memory of the node below. So who waits for memory while
 * holding some waits further down the tree of nodes than it holds: it ends as the lowest node ends, which is
 * main memory without a store, or the store. There nobody waits: there is room, or there is none.
 * - A task that is loading holds the inputs that have come, and waits for memory for the others: it gives
 *   them back if others need them.
 * - A task that is loaded holds all its inputs, and waits for its worker, which needs no more for it.
 * - A task that runs holds all its inputs. If its body asks for more and waits (starpu_data_fetch_on_node
 *   with async 0), tasks that are loaded behind it give back what they hold. Kernels before it may hold some
 *   whose end its worker cannot see now: after a second the body gives up (prefetch.c).
 * - An acquisition of the program holds one copy, and waits for the program: only that knows.
 *
 * So nobody in the runtime holds memory for ever while waiting for memory: a task that is loading is the only
 * one that could, and it holds in order of arrival, but gives everything back and starts again as soon as
 * somebody else could have memory by that and nothing else moves (unstick). On one node one task loads at a
 * time, and a task that loads on several has the turn of all of them, so two loads never meet.
 *
 * Memory goes first to the task that is loading, then to what the program asked for, in order; a prefetch
 * gets some at once or is dropped. The first is served alone, or inputs would be starved by what is smaller.
 * But when nothing has moved for a while (unstick), any transfer for which there is room gets it: what the
 * first waits for may depend on the others.
 *
 * Where main memory and the store below are both full of data that are nowhere else, one comes up beyond the
 * limit, and its copy in the store makes room for another (exchange): one at a time.
 *
 * Where the program's victim selector says that nothing is to leave (STARPU_DATA_NO_VICTIM), it is asked
 * again at each poll; if that lasts, and whatever it waits for, the usual order decides (victim.c). What
 * waits then waits as if there were no selector, so all of the above holds, and the deadlock detector sees
 * it.
 *
 * Nothing that may call the program back happens while a node is served: a callback that wanted it served
 * again would find it busy. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/thread.h"
#include "core/data/alloc_cache.h"
#include "core/data/layouts.h"
#include "core/data/starving.h"
#include "core/data/transfer.h"
#include "core/data/victim.h"

enum { STILL_US = 2000 };
/* Of what a store has refused, for one transfer: at once, and in all, with naps between the others. */
enum { PRESSES_AT_ONCE = 16, PRESSES_MAX = 36, PRESS_NAP_US = 500 };

/* ---- the lists ---- */

static void append_locked(struct orr_memory *m, struct orr_transfer *t)
{
    unsigned u = orr_load_relaxed(&t->urgency);
    t->next = NULL;
    t->prev = m->hungry[u].last;
    if (t->prev)
        t->prev->next = t;
    else
        m->hungry[u].first = t;
    m->hungry[u].last = t;
}

static void unlink_locked(struct orr_memory *m, struct orr_transfer *t)
{
    unsigned u = orr_load_relaxed(&t->urgency);
    if (t->prev)
        t->prev->next = t->next;
    else
        m->hungry[u].first = t->next;
    if (t->next)
        t->next->prev = t->prev;
    else
        m->hungry[u].last = t->prev;
}

/* Takes t off its list, to be carried on or ended. */
static void take_locked(struct orr_memory *m, struct orr_transfer *t)
{
    unlink_locked(m, t);
    t->hungry = false;
    m->incoming++;
    m->look = true; /* at the others */
    orr_denial_end_locked(m, t);
    if (m->favoured == t) m->favoured = NULL;
}

static bool any_locked(const struct orr_memory *m)
{
    return m->hungry[ORR_LOADING].first || m->hungry[ORR_NEEDED].first || m->hungry[ORR_PREFETCH].first;
}

static struct orr_transfer *first_locked(const struct orr_memory *m)
{
    if (m->favoured) return m->favoured;
    for (int u = ORR_URGENCIES - 1; u >= 0; u--)
        if (m->hungry[u].first) return m->hungry[u].first;
    return NULL;
}

void orr_transfer_urge_locked(struct orr_transfer *t, enum orr_urgency u)
{
    struct orr_memory *m = &orr_memories[t->dst];
    if (u <= orr_load_relaxed(&t->urgency)) return;
    orr_spin_lock(&m->lock);
    m->prefetching -= t->has_turn;
    t->has_turn = false;
    if (t->hungry) unlink_locked(m, t);
    orr_link_urge_locked(t, u);
    if (t->hungry) {
        append_locked(m, t);
        m->look = true; /* by the next poll */
    }
    orr_spin_unlock(&m->lock);
}

/* ---- serving one ---- */

enum served { FED, WAITS, LEAVES, NEVER, DROPPED };

static size_t wanted_bytes(struct orr_data *h, unsigned node)
{
    if (orr_unlikely(h->formats)) return orr_layouts_bytes(h, node);
    if (h->ops->get_alloc_size) return h->ops->get_alloc_size(h);
    return h->ops->get_size ? h->ops->get_size(h) : 1;
}

static struct orr_own_set set_of(struct orr_transfer *t)
{
    struct orr_own_set s = { NULL, 0 };
    orr_spin_lock(&t->handle->queue.lock);
    for (struct orr_fetch *f = t->waiters; f && !s.fetches; f = f->next) {
        s.fetches = f->set;
        s.count = f->set_count;
    }
    orr_spin_unlock(&t->handle->queue.lock);
    return s;
}

/* Whether h would come to a node from a store, which can forget its copy then. */
static bool comes_up(struct orr_transfer *t)
{
    struct orr_data *h = t->handle;
    orr_spin_lock(&h->queue.lock);
    int src = t->brings ? orr_transfer_source_locked(h, t->dst, 0) : -1;
    bool up = src >= 0 && orr_nodes[src].role == ORR_STORE && h->replicates[src].chunk;
    orr_spin_unlock(&h->queue.lock);
    return up;
}

/* Main memory and the store are full of data that are nowhere else: one comes up beyond the limit, since its
 * copy in the store makes room for another, then. Not when the limit is passed already. */
static bool exchange(struct orr_transfer *t)
{
    struct orr_node *n = &orr_nodes[t->dst];
    size_t used = orr_load_relaxed(&n->used_bytes), limit = n->limit_bytes;
    if (used > limit || t->bytes > limit || !comes_up(t)) return false;
    size_t lent = used + t->bytes > limit ? used + t->bytes - limit : 0;
    orr_sub_seq(&n->used_bytes, lent);
    bool got = orr_transfer_allocate(t) == 0;
    orr_add_seq(&n->used_bytes, lent);
    if (!got) return false;
    struct orr_memory *m = &orr_memories[t->dst];
    orr_spin_lock(&m->lock);
    t->exchanged = true;
    m->exchanging++;
    orr_spin_unlock(&m->lock);
    return true;
}

/* Whether one is on its way up: when it has come, there is room in the store. */
static bool exchanging(unsigned node)
{
    struct orr_memory *m = &orr_memories[node];
    orr_spin_lock(&m->lock);
    bool any = m->exchanging > 0;
    orr_spin_unlock(&m->lock);
    return any;
}

/* Nobody takes what would have to go. on_its_way: one was exchanging when that was looked for, which may be
 * over by now. */
static enum served refused(struct orr_transfer *t, bool on_its_way)
{
    if (exchange(t)) return FED;
    if (!on_its_way && !exchanging(t->dst)) return NEVER;
    t->presses = 0;
    return WAITS;
}

static enum served serve(struct orr_transfer *t, struct orr_aftermath *after)
{
    struct orr_own_set own = set_of(t);
    bool press = false;
    for (;;) {
        if (orr_transfer_allocate(t) == 0) return FED;
        bool gently = orr_load_relaxed(&t->urgency) == ORR_PREFETCH;
        const struct orr_wish wish = { .node = t->dst,
                                       .own = &own,
                                       .bytes = t->bytes,
                                       .gently = gently,
                                       .handle = t->handle,
                                       .who = t,
                                       .waits = !gently,
                                       .pressed = press };
        /* before the look: the end of an exchange is seen by one of the two */
        bool on_its_way = press && exchanging(t->dst);
        enum orr_outcome o = orr_memory_reclaim(&wish, after);
        if (o == ORR_FREED) continue;
        if (gently) return DROPPED;
        if (o == ORR_LEAVING || after->write_backs) return LEAVES;
        if (o == ORR_IN_USE) return WAITS;
        if (t->presses == PRESSES_MAX) return o == ORR_REFUSED ? refused(t, on_its_way) : NEVER;
        /* What the store refused was not for ever, perhaps: it may be about to forget what came up, by a
         * thread that has lost its core. */
        if (o == ORR_REFUSED && t->presses >= PRESSES_AT_ONCE) usleep(PRESS_NAP_US);
        t->presses++;
        press = true;
    }
}

static void say_refused(struct orr_transfer *t)
{
    if (!t->quiet) {
        char label[64];
        struct orr_node *n = &orr_nodes[t->dst];
        orr_error("data %s of %zu bytes does not fit in memory node %u (%s) beside what is in use there (%zu "
                  "of %zu bytes); %s",
                  orr_data_label(t->handle, label, sizeof label), t->bytes, t->dst, n->name,
                  orr_load_relaxed(&n->used_bytes), n->limit_bytes,
                  orr_node_is_cpu(t->dst)
                      ? "nor can that go to the store; raise the limit of main memory, or "
                        "give the store more room"
                      : "use smaller pieces, or a worker with more memory");
    }
}

/* What becomes of t, taken off its list. It is the last in hand: what comes before may wait for it. */
static void settle(struct orr_transfer *t, enum served s, struct orr_aftermath *after)
{
    if (s == FED) {
        orr_add_relaxed(&orr_transfers_moved, 1);
        after->fed = t;
        return;
    }
    if (s == NEVER) {
        say_refused(t);
        after->finish_status = -ENOMEM;
    }
    t->next = NULL;
    after->finish = t;
}

/* t waits: notes that this was seen. Returns the prefetches, which do not wait. */
static struct orr_transfer *wait_locked(struct orr_memory *m, struct orr_transfer *t, bool leaves)
{
    struct orr_transfer *dropped = NULL;
    m->tried = false;
    m->stuck_since = orr_ticks();
    if (!leaves && m->favoured == t) {
        m->favoured = NULL;
        m->tried = true; /* it would be favoured again */
    }
    for (struct orr_transfer *p; (p = m->hungry[ORR_PREFETCH].first);) {
        bool look = m->look;
        take_locked(m, p);
        m->look = look;
        p->next = dropped;
        dropped = p;
    }
    return dropped;
}

/* Serves the first once. Called, and returns, with the memory's lock. */
static void serve_first_locked(struct orr_memory *m, unsigned node, struct orr_transfer *t)
{
    struct orr_aftermath after = { .finish_status = -EAGAIN };
    m->serving = t;
    m->look = m->retry = false;
    m->used_when_stuck = orr_load_relaxed(&orr_nodes[node].used_bytes);
    m->below_when_stuck = orr_node_used_below(node);
    orr_spin_unlock(&m->lock);
    enum served s = serve(t, &after);
    orr_spin_lock(&m->lock);
    m->serving = NULL;
    bool waits = s == WAITS || s == LEAVES;
    if (waits)
        after.finish = wait_locked(m, t, s == LEAVES);
    else
        take_locked(m, t);
    orr_spin_unlock(&m->lock);
    if (!waits) settle(t, s, &after);
    orr_aftermath_run(&after, node);
    orr_spin_lock(&m->lock);
}

static void serve_node(unsigned node)
{
    struct orr_memory *m = &orr_memories[node];
    orr_spin_lock(&m->lock);
    for (struct orr_transfer *t; m->look && !m->serving && (t = first_locked(m));)
        serve_first_locked(m, node, t);
    orr_spin_unlock(&m->lock);
}

/* Nodes that this thread is to serve: a mask, so that one transfer ending at once does not serve the next
 * deeper in the stack. */
struct due {
    uint32_t nodes;
    bool serving;
};

static struct due *due_here(void)
{
    return orr_thread_room(orr_self(), feeding, struct due);
}

void orr_memory_feed(unsigned node)
{
    if (!orr_node_evicts(node)) return;
    struct orr_memory *m = &orr_memories[node];
    orr_spin_lock(&m->lock);
    bool any = any_locked(m);
    m->look = true;
    orr_spin_unlock(&m->lock);
    if (!any) return;
    struct due *due = due_here();
    due->nodes |= UINT32_C(1) << node;
    if (due->serving) return;
    due->serving = true;
    while (due->nodes) {
        unsigned n = (unsigned)__builtin_ctz(due->nodes);
        due->nodes &= ~(UINT32_C(1) << n);
        serve_node(n);
    }
    due->serving = false;
}

bool orr_memory_nest(void)
{
    bool was = due_here()->serving;
    due_here()->serving = false;
    return was;
}

void orr_memory_unnest(bool was)
{
    due_here()->serving = was;
}

void orr_memory_ask(struct orr_transfer *t)
{
    unsigned node = t->dst; /* t may be gone as soon as it is on the list */
    struct orr_memory *m = &orr_memories[node];
    t->bytes = wanted_bytes(t->handle, t->dst);
    orr_spin_lock(&m->lock);
    m->incoming--;
    t->hungry = true;
    append_locked(m, t);
    orr_spin_unlock(&m->lock);
    orr_memory_feed(node);
}

/* ---- when nothing moves ---- */

static struct orr_transfer mark; /* stands for a transfer being served */

/* What of a node is in use, and cannot be had by throwing out: by others than a task that is loading, and by
 * that. */
struct in_use {
    size_t by_others, by_load;
};

static struct in_use measure_locked(struct orr_memory *m, unsigned node, const struct orr_own_set *load)
{
    struct in_use u = { 0, 0 };
    size_t in_chunks = 0, used = orr_load_relaxed(&orr_nodes[node].used_bytes);
    for (struct orr_chunk *c = m->first; c; c = c->next) {
        struct orr_replicate *r = &c->handle->replicates[node];
        bool own = orr_own_set_has(load, c->handle, node);
        in_chunks += c->bytes;
        if (!orr_spin_try(&c->handle->queue.lock)) { /* the other order of locks: never wait */
            m->retry = true;
            u.by_others += c->bytes;
            continue;
        }
        if (r->users > (own ? 1 : 0))
            u.by_others += c->bytes;
        else if (r->users > 0)
            u.by_load += c->bytes;
        orr_spin_unlock(&c->handle->queue.lock);
    }
    if (used > in_chunks) u.by_others += used - in_chunks; /* the program's own allocations */
    return u;
}

static struct orr_transfer *fitting_locked(struct orr_memory *m, enum orr_urgency u, size_t bytes,
                                           const struct orr_transfer *but)
{
    for (struct orr_transfer *t = m->hungry[u].first; t; t = t->next)
        if (t != but && t->bytes <= bytes) return t;
    return NULL;
}

/* Takes h's transfer to a node off its list if it waits for memory. While somebody serves it, that is waited
 * for: it does not take long. */
static struct orr_transfer *take_hungry(struct orr_data *h, unsigned node)
{
    struct orr_memory *m = &orr_memories[node];
    for (;; sched_yield()) {
        orr_spin_lock(&h->queue.lock);
        struct orr_transfer *t = h->replicates[node].incoming;
        orr_spin_lock(&m->lock);
        bool busy = t && m->serving == t, hungry = t && !busy && t->hungry;
        if (hungry) take_locked(m, t);
        orr_spin_unlock(&m->lock);
        orr_spin_unlock(&h->queue.lock);
        if (!busy) return hungry ? t : NULL;
    }
}

bool orr_memory_give_up(struct orr_data *h, unsigned node)
{
    struct orr_transfer *t = orr_node_evicts(node) ? take_hungry(h, node) : NULL;
    if (!t) return false;
    t->next = NULL;
    orr_transfers_finish(t, -ETIMEDOUT);
    return true;
}

/* All of a load's that wait for memory, on whichever nodes. */
static struct orr_transfer *take_load(const struct orr_own_set *load)
{
    struct orr_transfer *taken = NULL;
    for (unsigned i = 0; i < load->count; i++) {
        struct orr_transfer *t = take_hungry(load->fetches[i].handle, load->fetches[i].node);
        if (!t) continue;
        t->next = taken;
        taken = t;
    }
    return taken;
}

/* Chooses one that can have memory although it is not the first. *taken_out: what a loading task waited for,
 * to be cancelled, since only what it holds is in the way. The node's mark is set. */
static struct orr_transfer *favour(struct orr_memory *m, unsigned node, struct orr_transfer **taken_out)
{
    orr_spin_lock(&m->lock);
    struct orr_own_set load = m->load;
    struct in_use u = measure_locked(m, node, &load);
    size_t limit = orr_nodes[node].limit_bytes, all = u.by_others + u.by_load;
    size_t room = limit > all ? limit - all : 0, more = limit > u.by_others ? limit - u.by_others : 0;
    struct orr_transfer *first = first_locked(m), *t = fitting_locked(m, ORR_LOADING, room, first);
    if (!t) t = fitting_locked(m, ORR_NEEDED, room, first);
    bool in_the_way = !t && u.by_load > 0 && (t = fitting_locked(m, ORR_NEEDED, more, NULL));
    orr_spin_unlock(&m->lock);
    if (!in_the_way) return t;
    *taken_out = take_load(&load);
    return *taken_out ? t : NULL;
}

/* Serves one that is not the first, or lets a loading task give back what it holds for one. One thread at a
 * time. The node is marked as being served meanwhile, and its load does not end (orr_memory_load_end). */
static void unstick(unsigned node)
{
    static _Atomic bool busy;
    struct orr_memory *m = &orr_memories[node];
    struct orr_transfer *t = NULL, *taken = NULL;
    if (orr_exchange_acq_rel(&busy, true)) return;
    orr_spin_lock(&m->lock);
    bool go = !m->serving && !m->look && !m->tried && !m->favoured && any_locked(m);
    if (go) m->serving = &mark;
    orr_spin_unlock(&m->lock);
    if (go) {
        orr_alloc_cache_drop(node, SIZE_MAX); /* what is kept is in nobody's use */
        t = favour(m, node, &taken);
        orr_spin_lock(&m->lock);
        m->favoured = t;
        m->tried = true;
        m->serving = NULL;
        orr_spin_unlock(&m->lock);
    }
    orr_store_release(&busy, false);
    orr_transfers_finish(taken, -ECANCELED);
    if (t) orr_memory_feed(node);
}

bool orr_memory_load_begin(unsigned node, const struct orr_fetch *fetches, unsigned count)
{
    struct orr_memory *m = &orr_memories[node];
    orr_spin_lock(&m->lock);
    bool free_now = !m->load.fetches && !m->favoured;
    if (free_now) m->load = (struct orr_own_set){ fetches, count };
    orr_spin_unlock(&m->lock);
    return free_now;
}

void orr_memory_load_end(unsigned node)
{
    struct orr_memory *m = &orr_memories[node];
    orr_spin_lock(&m->lock);
    while (m->serving == &mark) {
        orr_spin_unlock(&m->lock);
        sched_yield();
        orr_spin_lock(&m->lock);
    }
    m->load = (struct orr_own_set){ NULL, 0 };
    orr_spin_unlock(&m->lock);
}

void orr_memory_poll(unsigned node)
{
    struct orr_memory *m = &orr_memories[node];
    bool look = false, still = false;
    if (!orr_node_evicts(node)) return;
    orr_spin_lock(&m->lock);
    if (any_locked(m) && !m->serving) {
        look = m->look || m->retry || orr_load_relaxed(&orr_nodes[node].used_bytes) != m->used_when_stuck ||
               orr_node_used_below(node) < m->below_when_stuck;
        still = !look && !m->tried && orr_ticks() - m->stuck_since > orr_us_to_ticks(STILL_US);
    }
    orr_spin_unlock(&m->lock);
    if (look)
        orr_memory_feed(node);
    else if (still)
        unstick(node);
}

/* ---- for the deadlock detector ---- */

/* How many wait for memory, and prefetches for their turn; *moves_out: something else is under way. */
static unsigned count_waiting(struct orr_memory *m, unsigned node, bool *moves_out)
{
    unsigned waiting = 0;
    orr_spin_lock(&m->lock);
    for (int u = 0; u < ORR_URGENCIES; u++)
        for (struct orr_transfer *t = m->hungry[u].first; t; t = t->next) waiting++;
    if (m->copying || m->serving || m->favoured || orr_load_relaxed(&m->queued) ||
        (waiting && (m->look || m->retry || !m->tried ||
                     orr_load_relaxed(&orr_nodes[node].used_bytes) != m->used_when_stuck)))
        *moves_out = true;
    if (m->prefetches && orr_prefetch_may_start_locked(m, m->prefetches)) *moves_out = true;
    for (struct orr_fetch *f = m->prefetches; f; f = f->next) waiting++;
    orr_spin_unlock(&m->lock);
    return waiting;
}

bool orr_transfers_starve(void)
{
    uint32_t active = orr_load_seq(&orr_transfers_active);
    unsigned waiting = 0;
    bool moves = false;
    for (unsigned n = 0; active && n < orr_node_count && !moves; n++)
        waiting += count_waiting(&orr_memories[n], n, &moves);
    return active > 0 && !moves && waiting == active && orr_load_seq(&orr_transfers_active) == active;
}

uint64_t orr_transfers_movement(void)
{
    return orr_load_relaxed(&orr_transfers_moved);
}

static const void *load_of_locked(const struct orr_memory *m)
{
    return m->load.count ? m->load.fetches->arg : NULL;
}

unsigned orr_starving_list(struct orr_starving *out, unsigned max)
{
    unsigned count = 0;
    for (unsigned n = 0; n < orr_node_count; n++) {
        struct orr_memory *m = &orr_memories[n];
        orr_spin_lock(&m->lock);
        for (int u = ORR_URGENCIES - 1; u > ORR_PREFETCH; u--)
            for (struct orr_transfer *t = m->hungry[u].first; t; t = t->next, count++)
                if (count < max)
                    out[count] =
                        (struct orr_starving){ t->handle, n, t->bytes, u == ORR_LOADING, load_of_locked(m) };
        orr_spin_unlock(&m->lock);
    }
    return count;
}

unsigned orr_starving_holders(unsigned node, struct orr_starving *out, unsigned max)
{
    struct orr_memory *m = &orr_memories[node];
    unsigned count = 0;
    orr_spin_lock(&m->lock);
    for (struct orr_chunk *c = m->first; c; c = c->next) {
        struct orr_data *h = c->handle;
        bool known = orr_spin_try(&h->queue.lock); /* else somebody uses it just now */
        bool used = !known || h->replicates[node].users > 0, loading = orr_own_set_has(&m->load, h, node);
        if (known) orr_spin_unlock(&h->queue.lock);
        if (!used) continue;
        if (count < max) out[count] = (struct orr_starving){ h, node, c->bytes, loading, load_of_locked(m) };
        count++;
    }
    orr_spin_unlock(&m->lock);
    return count;
}
