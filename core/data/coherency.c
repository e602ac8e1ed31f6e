/* SPDX-License-Identifier: BSD-3-Clause */
/* coherency.c: which copies of a handle are valid, and what must happen before a task may use one.
 * Threads: any. Owns: the states in struct orr_replicate. Not here: moving bytes (transfer.c), making room
 * (eviction.c), the program's wishes about places (prefetch.c).
 *
 * MSI: a copy is invalid, shared, or owned (the only valid one). Who asks for a copy already holds the handle
 * in its access queue, so readers meet readers only; what they may meet beside them are write-backs and
 * prefetches. A fetch looks at the state under the handle's lock and either is satisfied, or hangs on to a
 * transfer that is under way, or makes one. When that transfer ends it looks again, until it is satisfied:
 * there is no other state to keep. A writer first lets every other transfer of the handle end, then declares
 * all other copies invalid. */
#include "core/data/coherency.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/thread.h"
#include "core/data/alloc_cache.h"
#include "core/data/layouts.h"
#include "core/data/starving.h"
#include "core/data/transfer.h"
#include "core/data/view.h"

const char *orr_data_label(struct orr_data *h, char *buf, size_t bytes)
{
    char name[100];
    if (orr_data_name(h, name, sizeof name))
        snprintf(buf, bytes, "\"%s\"", name);
    else
        snprintf(buf, bytes, "%p (%s)", (void *)h, h->ops->name ? h->ops->name : "unnamed");
    return buf;
}

void orr_data_update_ready_locked(struct orr_data *h)
{
    struct orr_replicate *r = &h->replicates[orr_node_home()];
    bool ready = h->nnodes == 1 && r->allocated && r->state != ORR_INVALID && !orr_load_relaxed(&h->apart);
    orr_store_release(&h->ready_interface, ready ? r->interface : NULL);
}

int orr_data_main_place_locked(const struct orr_data *h, unsigned node)
{
    int valid = -1, memory = -1;
    for (unsigned n = 0; n < h->nnodes; n++) {
        const struct orr_replicate *r = &h->replicates[n];
        if ((r->state == ORR_INVALID && !r->allocated) || !orr_node_is_cpu(n)) continue;
        if (r->state != ORR_INVALID && (valid < 0 || n == node)) valid = (int)n;
        if (r->allocated && (memory < 0 || n == node)) memory = (int)n;
    }
    return valid >= 0 ? valid : memory;
}

unsigned orr_data_place_slow(struct orr_data *h, unsigned node)
{
    orr_spin_lock(&h->queue.lock);
    int place = orr_data_main_place_locked(h, node);
    orr_spin_unlock(&h->queue.lock);
    return place >= 0 ? (unsigned)place
                      : orr_node_with_room(node, h->ops->get_size ? h->ops->get_size(h) : 1);
}

unsigned orr_data_main(struct orr_data *h)
{
    return orr_data_place(h, orr_node_home());
}

/* ---- fetching ---- */

enum { STEP_WAIT, STEP_DONE, STEP_NEEDS_TRANSFER }; /* or -errno */

/* One that has the layout of dst already, and a direct way there; -1: none. */
static int source_in_layout(struct orr_data *h, unsigned dst, uint32_t failed)
{
    unsigned wanted = orr_layout_of_node(h, dst);
    for (unsigned n = 0; n < h->nnodes; n++)
        if (n != dst && h->replicates[n].state != ORR_INVALID && (orr_layouts(h, n) & wanted) &&
            orr_nodes_reach(n, dst) && !(failed >> n & 1))
            return (int)n;
    return -1;
}

/* How far the copy on a node is from dst: main memory is near, and nearest dst's own; a store is far. */
static int distance(unsigned n, unsigned dst)
{
    if (n == orr_node_main_of(dst)) return 0;
    if (orr_node_is_cpu(n)) return 1;
    return (orr_node_evicts(n) ? 2 : 3) + (orr_nodes_reach(n, dst) ? 0 : 2);
}

/* The place of the best valid copy for dst, or -1. */
int orr_transfer_source_locked(struct orr_data *h, unsigned dst, uint32_t failed)
{
    int ready = orr_unlikely(h->formats) ? source_in_layout(h, dst, failed) : -1;
    if (ready >= 0) return ready;
    int best = -1;
    for (unsigned n = 0; n < h->nnodes; n++) {
        if (h->replicates[n].state == ORR_INVALID || n == dst || (failed >> n & 1)) continue;
        if (best < 0 || distance(n, dst) < distance((unsigned)best, dst)) best = (int)n;
    }
    return best;
}

unsigned orr_data_only_on(struct orr_data *h, uint32_t nodes)
{
    int found = -1;
    orr_spin_lock(&h->queue.lock);
    for (unsigned n = 0; n < h->nnodes; n++) {
        if (h->replicates[n].state == ORR_INVALID) continue;
        if (orr_node_is_cpu(n)) {
            found = -1;
            break;
        }
        /* what fails may be gone: then its copy is asked for, and the failure told */
        if (found < 0 && nodes >> n & 1 && !orr_load_relaxed(&orr_nodes[n].failures)) found = (int)n;
    }
    orr_spin_unlock(&h->queue.lock);
    return found < 0 ? orr_node_home() : (unsigned)found;
}

bool orr_transfer_prepare_locked(struct orr_transfer *t, struct orr_data *h, unsigned dst, bool with_bytes)
{
    if (with_bytes && orr_transfer_source_locked(h, dst, 0) < 0) return false;
    t->handle = h;
    t->dst = (uint16_t)dst;
    t->src = -1;
    t->brings = with_bytes;
    h->replicates[dst].users++;
    h->replicates[dst].incoming = t;
    orr_transfers_count(1);
    return true;
}

void orr_transfer_choose_source_locked(struct orr_transfer *t)
{
    t->src = (int16_t)orr_transfer_source_locked(t->handle, t->dst, t->failed_sources);
    if (t->src >= 0) t->handle->replicates[t->src].users++;
}

static enum orr_urgency urgency_of(const struct orr_fetch *f)
{
    return f->prefetch ? ORR_PREFETCH : f->set ? ORR_LOADING : ORR_NEEDED;
}

/* f waits for t. A writer elsewhere only waits for its end: a prefetch is not more urgent for that. */
static void attach(struct orr_fetch *f, struct orr_transfer *t)
{
    f->next = t->waiters;
    f->has_turn = false;
    t->waiters = f;
    if (f->node == t->dst && !t->eviction) orr_transfer_urge_locked(t, urgency_of(f));
}

/* Declares the copy that f writes the only valid one. */
static void own(const struct orr_fetch *f)
{
    struct orr_data *h = f->handle;
    unsigned node = f->node;
    for (unsigned n = 0; n < h->nnodes; n++) {
        struct orr_replicate *r = &h->replicates[n];
        r->before = n != node && r->state != ORR_INVALID && !h->formats && !h->has_mapped;
        r->state = n == node ? ORR_OWNED : ORR_INVALID;
    }
    h->replicates[node].writing = h->nnodes > 1;
    h->initialized = true;
    h->lost = false;
    if (orr_unlikely(h->formats)) orr_layouts_own(f);
    orr_data_update_ready_locked(h);
}

static bool being_written(struct orr_data *h)
{
    for (unsigned n = 0; n < h->nnodes; n++)
        if (h->replicates[n].writing) return true;
    return false;
}

/* A transfer of h other than to node, which a writer has to let end. */
static struct orr_transfer *other_transfer(struct orr_data *h, unsigned node)
{
    for (unsigned n = 0; n < h->nnodes; n++)
        if (n != node && h->replicates[n].incoming) return h->replicates[n].incoming;
    return NULL;
}

static void new_transfer(struct orr_transfer *t, struct orr_fetch *f)
{
    orr_store_relaxed(&t->urgency, (uint8_t)urgency_of(f));
    t->quiet = f->quiet || f->prefetch;
    t->has_turn = f->has_turn;
}

/* One look at the state. spare: for a new transfer, NULL when there is none yet. *started_out: it was used,
 * and the caller must start it. What todo says then is the caller's, too. Called with the handle's lock held.
 */
static int step_locked(struct orr_fetch *f, struct orr_transfer *spare, bool *started_out,
                       struct orr_view_todo *todo)
{
    struct orr_data *h = f->handle;
    struct orr_replicate *r = &h->replicates[f->node];
    bool write = (f->mode & (STARPU_W | STARPU_SCRATCH)) && !f->prefetch, read = f->mode & STARPU_R;
    if (f->prefetch && being_written(h)) return STEP_DONE;
    struct orr_transfer *busy = write ? other_transfer(h, f->node) : NULL;
    if (!busy) busy = r->incoming;
    if (busy) {
        attach(f, busy);
        return STEP_WAIT;
    }
    if (orr_unlikely(orr_load_relaxed(&h->apart)) && orr_view_hinders_locked(f, todo)) return STEP_WAIT;
    unsigned convert = orr_unlikely(h->formats) ? orr_layout_missing(f) : 0;
    if ((read && r->state == ORR_INVALID) || !r->allocated || convert) {
        if (f->prefetch && h->nnodes > 1 && !f->has_turn && !orr_prefetch_turn_locked(f)) return STEP_WAIT;
        if (!spare) return STEP_NEEDS_TRANSFER;
        if (!orr_transfer_prepare_locked(spare, h, f->node, read && !convert)) return -ENODATA;
        spare->converts = (uint8_t)convert;
        new_transfer(spare, f);
        attach(f, spare);
        *started_out = true;
        return STEP_WAIT;
    }
    if (!f->pinned && !f->prefetch && h->nnodes > 1) {
        f->pinned = true;
        r->users++;
    }
    if (write) own(f);
    if (f->awaited && r->chunk) r->chunk->awaited = true;
    return STEP_DONE;
}

static void unpin(struct orr_fetch *f)
{
    struct orr_data *h = f->handle;
    if (!f->pinned) return;
    f->pinned = false;
    orr_spin_lock(&h->queue.lock);
    h->replicates[f->node].users--;
    orr_spin_unlock(&h->queue.lock);
    orr_memory_feed(f->node);
}

/* What follows a look: starts the transfer, gives back what was not used. */
static void settle(struct orr_fetch *f, unsigned node, int s, struct orr_transfer *spare, bool started,
                   bool had_turn)
{
    if (s < 0) unpin(f);
    if (started)
        orr_transfer_start(spare);
    else
        orr_free(spare);
    if (had_turn && !started) orr_prefetch_pass(node);
}

/* Looks, and starts what the look asked for. 1, 0, or -errno as orr_fetch_start. f may be gone when it
 * returns 0. */
static int carry_on(struct orr_fetch *f)
{
    struct orr_data *h = f->handle;
    struct orr_transfer *spare = NULL;
    unsigned node = f->node;
    bool started = false, had_turn = false;
    struct orr_view_todo todo = { .leave = NULL };
    orr_spin_lock(&h->queue.lock);
    int s = step_locked(f, NULL, &started, &todo);
    if (s == STEP_NEEDS_TRANSFER) {
        had_turn = f->has_turn;
        orr_spin_unlock(&h->queue.lock);
        spare = orr_calloc(1, sizeof *spare);
        orr_spin_lock(&h->queue.lock);
        s = spare ? step_locked(f, spare, &started, &todo) : -ENOMEM;
    }
    orr_spin_unlock(&h->queue.lock);
    if (orr_unlikely(todo.leave || todo.flush)) orr_view_do(&todo); /* f may be gone */
    settle(f, node, s, spare, started, had_turn);
    return s;
}

bool orr_prefetch_start_next(unsigned node)
{
    struct orr_memory *m = &orr_memories[node];
    struct orr_transfer *spare = orr_calloc(1, sizeof *spare);
    if (!spare) return false; /* at the next poll */
    orr_spin_lock(&m->lock);
    struct orr_fetch *f = m->prefetches;
    struct orr_data *h = f && orr_prefetch_may_start_locked(m, f) ? f->handle : NULL;
    if (!h || !orr_spin_try(&h->queue.lock)) { /* the other order of locks: never wait */
        orr_spin_unlock(&m->lock);
        orr_free(spare);
        return false;
    }
    m->prefetches = f->next;
    f->has_turn = true;
    m->prefetching++;
    orr_spin_unlock(
        &m->lock); /* h cannot be destroyed while its lock is held, nor while a transfer of it is under way */
    bool started = false;
    int s = step_locked(f, spare, &started, NULL); /* prefetches are not hindered */
    orr_spin_unlock(&h->queue.lock);
    settle(f, node, s, spare, started, true);
    if (s) f->done(f, s < 0 ? s : 0);
    orr_transfers_count(-1); /* it counted while it was queued */
    return true;
}

void orr_fetch_fail(struct orr_fetch *f, int status)
{
    unpin(f);
    f->done(f, status);
}

int orr_fetch_start(struct orr_fetch *f)
{
    f->pinned = f->has_turn = false;
    return carry_on(f);
}

void orr_fetch_resume(struct orr_fetch *f)
{
    int r = carry_on(f);
    if (r) f->done(f, r < 0 ? r : 0);
}

/* ---- blocking ---- */

struct blocking_fetch {
    struct orr_fetch fetch;
    struct orr_event done;
    int status;
};

static void wake_blocked(struct orr_fetch *f, int status)
{
    struct blocking_fetch *b = (struct blocking_fetch *)f;
    b->status = status;
    orr_event_set(&b->done);
}

/* Whether nothing has moved since *since, which this keeps. */
static bool stands_still(uint64_t *movement, uint64_t *since, uint64_t patience_us)
{
    uint64_t now = orr_ticks(), moved = orr_transfers_movement();
    if (moved != *movement || !orr_transfers_starve()) {
        *movement = moved;
        *since = now;
    }
    return now - *since > orr_us_to_ticks((double)patience_us);
}

bool orr_transfers_wait_fed(struct orr_event *e, uint64_t patience_us)
{
    enum { NAP_NS = 50000 };
    uint64_t since = orr_ticks(), nap_after = since + orr_us_to_ticks(200), movement = 0;
    bool stuck = false;
    orr_thread_blocked_begin();
    while (!orr_event_is_set(e) && !stuck) {
        orr_thread_looks_again();
        if (orr_transfers_poll())
            nap_after = orr_ticks() + orr_us_to_ticks(200);
        else if (orr_ticks() < nap_after)
            sched_yield();
        else
            orr_event_nap(e, NAP_NS);
        if (orr_unlikely(patience_us)) stuck = stands_still(&movement, &since, patience_us);
    }
    orr_thread_looks_end();
    orr_thread_blocked_end();
    return !stuck || orr_event_is_set(e);
}

void orr_transfers_wait(struct orr_event *e)
{
    orr_transfers_wait_fed(e, 0);
}

static int fetch_and_wait(struct orr_data *h, unsigned node, int mode, unsigned layout)
{
    struct blocking_fetch b = { .fetch = { .done = wake_blocked,
                                           .handle = h,
                                           .node = (uint16_t)node,
                                           .mode = (uint16_t)mode,
                                           .layout = (uint8_t)layout } };
    orr_event_init(&b.done);
    int r = orr_fetch_start(&b.fetch);
    if (r) return r < 0 ? r : 0;
    orr_transfers_wait(&b.done);
    return b.status;
}

int orr_fetch_blocking(struct orr_data *h, unsigned node, int mode)
{
    return fetch_and_wait(h, node, mode, 0);
}

int orr_fetch_layout(struct orr_data *h, unsigned node, unsigned layout)
{
    int r = fetch_and_wait(h, node, STARPU_R, layout);
    if (r == 0) orr_fetch_end(h, node, STARPU_R);
    return r;
}

/* ---- the end of a use ---- */

static void free_fetch(struct orr_fetch *f, int status)
{
    (void)status;
    orr_free(f);
}

/* Brings the new value to the nodes that the program wants to have it. */
static void write_through(struct orr_data *h, unsigned node, uint32_t mask)
{
    for (unsigned n = 0, nodes = orr_data_nodes(h); n < nodes; n++) {
        if (n == node || !(mask >> n & 1)) continue;
        struct orr_fetch *f = orr_calloc(1, sizeof *f);
        if (!f) return; /* the copy is brought when somebody asks for it */
        *f = (struct orr_fetch){
            .done = free_fetch, .handle = h, .node = (uint16_t)n, .mode = STARPU_R, .prefetch = true
        };
        if (orr_fetch_start(f) != 0) orr_free(f);
    }
}

void orr_fetch_end(struct orr_data *h, unsigned node, int mode)
{
    if (h->nnodes == 1) return;
    struct orr_replicate *r = &h->replicates[node];
    orr_spin_lock(&h->queue.lock);
    if (r->users > 0) r->users--;
    bool idle = r->users == 0;
    if ((mode & (STARPU_W | STARPU_SCRATCH)) || idle) r->writing = false;
    if (mode & STARPU_SCRATCH) r->state = ORR_INVALID;
    uint32_t through = mode & STARPU_W ? h->wt_mask : 0;
    if (r->chunk) {
        r->chunk->stuck = r->chunk->awaited = false;
        orr_chunk_touch_locked(r, node, h->is_not_important);
    }
    orr_spin_unlock(&h->queue.lock);
    if (through) write_through(h, node, through);
    if (idle) orr_memory_feed(node);
}

/* The copies from before the write are valid again, those that are still there. Called with the lock held. */
static bool restore_locked(struct orr_data *h)
{
    bool any = false;
    for (unsigned n = 0; n < h->nnodes; n++) {
        struct orr_replicate *r = &h->replicates[n];
        if (!r->before || !r->allocated || r->incoming) continue;
        r->state = ORR_SHARED;
        any = true;
    }
    return any;
}

bool orr_fetch_undo(struct orr_data *h, unsigned node, int mode, bool touched)
{
    struct orr_replicate *r = &h->replicates[node];
    bool intact = true;
    orr_spin_lock(&h->queue.lock);
    if (h->nnodes > 1 && r->writing && (mode & STARPU_W)) {
        bool others = restore_locked(h), here = (mode & STARPU_R) && !touched;
        r->state = !here ? ORR_INVALID : others ? ORR_SHARED : ORR_OWNED;
        r->writing = false;
        intact = others || here || !(mode & STARPU_R);
    } else if (h->nnodes > 1 && touched && (mode & STARPU_W)) {
        /* A contribution that the worker's task before this one wrote as well, and ended: what it was before
         * is not known any more. */
        r->state = ORR_INVALID;
        intact = !(mode & STARPU_R);
    }
    orr_spin_unlock(&h->queue.lock);
    orr_fetch_end(h, node, mode & STARPU_SCRATCH ? STARPU_SCRATCH : STARPU_R);
    return intact;
}

void orr_fetch_downgrade(struct orr_data *h, unsigned node)
{
    if (h->nnodes == 1) return;
    orr_spin_lock(&h->queue.lock);
    h->replicates[node].writing = false;
    uint32_t through = h->wt_mask;
    orr_spin_unlock(&h->queue.lock);
    if (through) write_through(h, node, through);
}

/* ---- giving everything up ---- */

/* Waits until nothing of h is under way. Returns with the lock held. */
static void lock_quiet(struct orr_data *h)
{
    for (;;) {
        if (h->nnodes > 1) orr_prefetches_drop(h);
        orr_spin_lock(&h->queue.lock);
        if (!other_transfer(h, UINT32_MAX)) return;
        orr_spin_unlock(&h->queue.lock);
        if (!orr_transfers_poll()) sched_yield();
    }
}

/* The same where there is no other node. Called with the handle's lock held; returns without. */
static void give_up_only_copy(struct orr_data *h)
{
    struct orr_replicate *r = &h->replicates[orr_node_home()];
    bool ours = r->allocated && r->ours;
    r->state = ORR_INVALID;
    r->writing = false;
    if (ours) r->allocated = r->ours = false;
    r->leaves = ours;
    orr_spin_unlock(&h->queue.lock);
    if (!ours) return;
    orr_buffer_free(h, orr_node_home());
    orr_spin_lock(&h->queue.lock);
    r->leaves = false;
    orr_spin_unlock(&h->queue.lock);
}

/* Each copy is thrown out as by an eviction: a prefetch that comes meanwhile waits for its end, and a search
 * for memory sees that some is coming. */
void orr_data_invalidate_copies(struct orr_data *h)
{
    struct orr_transfer ram, *out[STARPU_MAXNODES] = { NULL };
    unsigned nodes = orr_node_count ? orr_node_count : 1;
    orr_data_together_blocking(h);
    lock_quiet(h);
    h->initialized = false;
    orr_store_release(&h->ready_interface, NULL);
    if (h->nnodes == 1) {
        give_up_only_copy(h);
        return;
    }
    for (unsigned n = 0; n < h->nnodes; n++) {
        struct orr_replicate *r = &h->replicates[n];
        r->state = ORR_INVALID;
        r->writing = false;
        if (!r->allocated || !r->ours || n >= nodes) continue;
        out[n] = r->chunk ? &r->chunk->out : &ram; /* one at most has none: orr_node_lists */
        orr_eviction_begin_locked(out[n], h, n);
    }
    orr_spin_unlock(&h->queue.lock);
    for (unsigned n = h->nnodes; n-- > 0;) { /* main memory last: others may see it */
        if (!out[n]) continue;
        orr_waiters_tell(orr_eviction_run(out[n]), n, -EAGAIN);
        orr_memory_feed(n);
    }
}

void orr_data_lose(struct orr_data *h)
{
    orr_data_invalidate_copies(h);
    orr_spin_lock(&h->queue.lock);
    h->lost = true;
    orr_spin_unlock(&h->queue.lock);
}

bool orr_data_has_value(struct orr_data *h)
{
    orr_spin_lock(&h->queue.lock);
    bool has = h->initialized;
    orr_spin_unlock(&h->queue.lock);
    return has;
}

const char *orr_data_why_none(struct orr_data *h)
{
    orr_spin_lock(&h->queue.lock);
    bool lost = h->lost;
    orr_spin_unlock(&h->queue.lock);
    return lost ? "the task that was to write it failed" : "it was never written";
}
