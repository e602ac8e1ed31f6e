/* SPDX-License-Identifier: BSD-3-Clause */
/* acquire.c: the program's own accesses to data: blocking, with a callback, or only if it is free now.
 * Threads: any; the blocking forms not in tasks and callbacks. Owns: acquisitions under way, and the list of
 * threads that wait for one.
 * Not here: the queue itself (access.c). */
#include "core/data/acquire.h"

#include <string.h>

#include <starpu.h>

#include "core/base/block.h"
#include "core/base/clock.h"
#include "core/base/event.h"
#include "core/base/log.h"
#include "core/data/coherency.h"
#include "core/data/data.h"
#include "core/data/layouts.h"
#include "core/data/partition.h"
#include "core/data/transfer.h"
#include "core/data/view.h"
#include "core/mem/node.h"

void orr_data_announce_slow(struct orr_data *h, int mode)
{
    bool reads = (mode & STARPU_R) && !(mode & (STARPU_REDUX | STARPU_MPI_REDUX));
    if (reads && orr_data_rare(h) && orr_data_rare(h)->init_cl) orr_data_hooks.initialise(h);
}

void orr_data_announce_above(struct orr_data *h)
{
    for (struct orr_data *p = h->parent; p; p = p->parent) orr_data_announce(p, STARPU_R);
}

/* Runs the waiters that were granted. Each may release at once, and so grant others, which would nest: beyond
 * a few levels they are put aside for the innermost call under way,
 * or a long queue would overflow the stack. */
static void let_in(struct orr_waiter *w)
{
    enum { NESTING_MAX = 16 };
    struct {
        struct orr_waiter *aside, *aside_last;
        unsigned nesting;
    } *own = orr_thread_room(orr_self(), let_in, __typeof__(*own));
    if (!w) return;
    if (own->nesting == NESTING_MAX) {
        if (own->aside)
            own->aside_last->next = w;
        else
            own->aside = w;
        for (own->aside_last = w; own->aside_last->next;) own->aside_last = own->aside_last->next;
        return;
    }
    own->nesting++;
    orr_waiters_run(w);
    while (own->nesting == NESTING_MAX && own->aside) {
        w = own->aside;
        own->aside = NULL;
        orr_waiters_run(w);
    }
    own->nesting--;
}

static int join_locked(struct orr_data *h, struct orr_access *a)
{
    orr_data_written_locked(h, a);
    return a->flags & ORR_ACCESS_ENDS ? orr_access_join_end_locked(&h->queue, a)
                                      : orr_access_join_locked(&h->queue, a);
}

static int join_exempt_locked(struct orr_data *h, struct orr_access *a)
{
    orr_data_written_locked(h, a);
    return orr_access_join_exempt_locked(&h->queue, a, orr_data_hooks.reclaim);
}

static int join_late_locked(struct orr_data *h, struct orr_access *a)
{
    h->queue.expecting = --h->expected > 0;
    return join_exempt_locked(h, a);
}

/* With the lock, which is let go. */
static int join_and_unlock(struct orr_data *h, struct orr_access *a, orr_partition_join_fn join)
{
    int granted = join(h, a);
    bool reduce = granted <= 0 && orr_access_start_reduction_locked(&h->queue);
    orr_spin_unlock(&h->queue.lock);
    if (reduce) orr_data_hooks.reduction_start(h);
    return granted;
}

static int join_as_it_is(struct orr_data *h, struct orr_access *a, orr_partition_join_fn join)
{
    orr_spin_lock(&h->queue.lock);
    return join_and_unlock(h, a, join);
}

static bool is_away_untold(struct orr_data *h)
{
    return orr_unlikely(orr_load_relaxed(&h->away)) && orr_data_hooks.use && !orr_acting(orr_self())->depth;
}

/* gone_out: it was not away when it was looked at without the lock; what has gone since does not join, and is
 * to be told of. Or NULL. */
static inline int join_unless_gone(struct orr_data *h, struct orr_access *a, orr_partition_join_fn how,
                                   bool *gone_out)
{
    orr_spin_lock(&h->queue.lock);
    bool gone = gone_out && is_away_untold(h);
    if (gone_out) *gone_out = gone;
    if (orr_likely(!h->queue.planned && !gone)) return join_and_unlock(h, a, how);
    orr_spin_unlock(&h->queue.lock);
    return gone ? 0 : orr_partition_join(h, a, how);
}

static int join(struct orr_data *h, struct orr_access *a, orr_partition_join_fn how)
{
    return join_unless_gone(h, a, how, NULL);
}

int orr_data_use_slow(struct orr_data *h, uint32_t how)
{
    if (orr_acting(orr_self())->depth || !orr_data_hooks.use) return 0;
    return orr_data_hooks.use(h, how);
}

static uint32_t use_of(const struct orr_access *a)
{
    return a->flags & ORR_ACCESS_ENDS      ? ORR_USE_ENDS
           : a->flags & ORR_ACCESS_EMPTIES ? ORR_USE_EMPTIES
           : a->group == ORR_GROUP_READ    ? ORR_USE_READS
                                           : ORR_USE_WRITES;
}

static int use_and_join(struct orr_data *h, struct orr_access *a, uint32_t use, orr_partition_join_fn how)
{
    bool gone = orr_load_relaxed(&h->away);
    if (orr_likely(!gone)) {
        int r = join_unless_gone(h, a, how, &gone);
        if (orr_likely(!gone)) return r;
    }
    int r = orr_data_use_slow(h, use | ORR_USE_JOINS);
    if (!r) r = join(h, a, how);
    orr_data_joined();
    return r;
}

int orr_data_join(struct orr_data *h, struct orr_access *a)
{
    return use_and_join(h, a, use_of(a), join_locked);
}

/* The same for an exempt access, which joins whatever happens to plans. */
static int use_and_join_exempt(struct orr_data *h, struct orr_access *a, uint32_t use)
{
    a->flags |= ORR_ACCESS_EXEMPT;
    int r = use_and_join(h, a, use, join_exempt_locked);
    return r == -ENOMEM ? join_as_it_is(h, a, join_exempt_locked) : r;
}

static bool join_exempt(struct orr_data *h, struct orr_access *a, orr_partition_join_fn how)
{
    a->flags |= ORR_ACCESS_EXEMPT;
    int r = join(h, a, how);
    return r < 0 ? join_as_it_is(h, a, how) : r;
}

bool orr_data_join_exempt(struct orr_data *h, struct orr_access *a)
{
    return join_exempt(h, a, join_exempt_locked);
}

bool orr_data_join_late(struct orr_data *h, struct orr_access *a)
{
    return join_exempt(h, a, join_late_locked);
}

bool orr_data_join_first(struct orr_data *h, struct orr_access *a, bool *granted_out)
{
    orr_spin_lock(&h->queue.lock);
    bool needed = !orr_load_relaxed(&h->written_ahead);
    if (needed) {
        orr_data_written_locked(h, a);
        *granted_out = orr_access_join_locked(&h->queue, a);
    }
    orr_spin_unlock(&h->queue.lock);
    return needed;
}

void orr_data_expect(struct orr_data *h, struct orr_access *a)
{
    orr_spin_lock(&h->queue.lock);
    orr_data_written_locked(h, a);
    h->expected++;
    h->queue.expecting = true;
    orr_spin_unlock(&h->queue.lock);
}

void orr_data_leave(struct orr_data *h, struct orr_access *a)
{
    (void)a;
    bool reduce;
    orr_spin_lock(&h->queue.lock);
    struct orr_waiter *granted = orr_access_leave_locked(&h->queue, &reduce);
    orr_spin_unlock(&h->queue.lock);
    if (reduce) orr_data_hooks.reduction_start(h);
    let_in(granted);
}

void orr_data_kick_reduction(struct orr_data *h)
{
    orr_spin_lock(&h->queue.lock);
    bool reduce = h->queue.head && orr_access_start_reduction_locked(&h->queue);
    orr_spin_unlock(&h->queue.lock);
    if (reduce) orr_data_hooks.reduction_start(h);
}

void orr_data_reduction_done(struct orr_data *h)
{
    orr_data_leave(h, NULL);
}

void orr_data_downgrade(struct orr_data *h)
{
    orr_spin_lock(&h->queue.lock);
    struct orr_waiter *granted = orr_access_downgrade_locked(&h->queue);
    orr_spin_unlock(&h->queue.lock);
    let_in(granted);
}

/* For observers: the program's use is a step between tasks. */
static void tell_acquired(const struct orr_data *h, const void *who, uint8_t group)
{
    ORR_EVENT(DATA_JOINED, h, (uintptr_t)who, group, 1);
}

/* The program is about to use h: said before the layer above hears of it, or that could see the use and yet
 * take h for one that nobody holds. Until it has released it, or did not get it. */
static void want(struct orr_data *h)
{
    orr_add_seq(&h->queue.wanted, 1u);
}

static void want_no_more(struct orr_data *h)
{
    orr_sub_seq(&h->queue.wanted, 1u);
}

/* ---- blocking ---- */

struct blocked_acquire {
    struct orr_access own;
    struct orr_event granted;
    struct orr_acquiring waiting;
};

static void wake_blocked(struct orr_waiter *w)
{
    struct blocked_acquire *b = (struct blocked_acquire *)((char *)w - offsetof(struct blocked_acquire, own));
    orr_event_set(&b->granted);
}

/* For the deadlock detector; who is granted at once is never there. */
static ORR_SPIN(acquirers) acquirers_lock;
static struct orr_acquiring *acquirers;    /* [lock: acquirers] */
static _Atomic uint32_t acquirers_waiting; /* how many */

void orr_acquiring_begin(struct orr_acquiring *a, struct orr_data *h, const void *at)
{
    *a = (struct orr_acquiring){
        .handle = h, .at = at, .thread = orr_self()->number, .since_ticks = orr_ticks(), .prev = &acquirers
    };
    orr_spin_lock(&acquirers_lock);
    a->next = acquirers;
    if (a->next) a->next->prev = &a->next;
    acquirers = a;
    orr_spin_unlock(&acquirers_lock);
    orr_add_relaxed(&acquirers_waiting, 1u);
}

void orr_acquiring_end(struct orr_acquiring *a)
{
    orr_add_relaxed(&acquirers_waiting, (uint32_t)-1);
    orr_spin_lock(&acquirers_lock);
    *a->prev = a->next;
    if (a->next) a->next->prev = a->prev;
    orr_spin_unlock(&acquirers_lock);
}

static __attribute__((noinline)) void wait_blocked(struct blocked_acquire *b, struct orr_data *h,
                                                   const void *at)
{
    orr_acquiring_begin(&b->waiting, h, at);
    orr_event_wait(&b->granted);
    orr_acquiring_end(&b->waiting);
}

/* Waits for the turn among commuting accesses; the group has been entered. */
static __attribute__((noinline)) void commute_turn_blocking(struct orr_data *h, struct blocked_acquire *b,
                                                            const void *at)
{
    orr_event_init(&b->granted);
    orr_spin_lock(&h->queue.lock);
    bool mine = orr_access_commute_enter_locked(&h->queue, &b->own);
    orr_spin_unlock(&h->queue.lock);
    if (!mine) wait_blocked(b, h, at);
}

/* at: where the program called; tells: it acquires, until it releases. */
static inline int acquire_blocking(struct orr_data *h, uint8_t group, uint8_t flags, const void *at,
                                   bool tells)
{
    struct blocked_acquire b; /* `waiting` is for those that do */
    b.own = (struct orr_access){ .waiter = { .granted = wake_blocked }, .group = group, .flags = flags };
    orr_event_init(&b.granted);
    if (tells) want(h);
    int r = orr_data_join(h, &b.own);
    if (r < 0 && tells) want_no_more(h);
    if (r < 0) return r;
    if (tells) tell_acquired(h, &b, group);
    if (!r) wait_blocked(&b, h, at);
    if (orr_unlikely(group == ORR_GROUP_COMMUTE)) commute_turn_blocking(h, &b, at);
    if (tells) orr_store_relaxed(&h->acquired_at, at);
    return 0;
}

int orr_data_acquire_blocking(struct orr_data *h, struct orr_access *a)
{
    return acquire_blocking(h, a->group, a->flags, NULL, false);
}

unsigned orr_acquirers_count(void)
{
    return orr_load_relaxed(&acquirers_waiting);
}

unsigned orr_acquirers_list(struct orr_acquirer *out, unsigned max, double seconds, bool untold)
{
    unsigned n = 0;
    uint64_t now = orr_ticks();
    orr_spin_lock(&acquirers_lock);
    for (struct orr_acquiring *b = acquirers; b && n < max; b = b->next) {
        double waited = now > b->since_ticks ? orr_ticks_to_us(now - b->since_ticks) / 1e6 : 0;
        if (waited < seconds || (untold && b->told)) continue;
        struct orr_acquirer *to = &out[n++];
        *to = (struct orr_acquirer){ .id = b,
                                     .handle = b->handle,
                                     .at = b->at,
                                     .held_at = orr_load_relaxed(&b->handle->acquired_at),
                                     .thread = b->thread,
                                     .seconds = waited };
        orr_data_label(b->handle, to->label, sizeof to->label);
    }
    orr_spin_unlock(&acquirers_lock);
    return n;
}

void orr_acquirers_told(const struct orr_acquirer *a)
{
    orr_spin_lock(&acquirers_lock);
    for (struct orr_acquiring *b = acquirers; b; b = b->next)
        if (b == a->id) b->told = true;
    orr_spin_unlock(&acquirers_lock);
}

static const char *where(void)
{
    return orr_data_hooks.where ? orr_data_hooks.where() : "";
}

static int check_acquire(struct orr_data *h, int mode, int node, const char *fn)
{
    if (!orr_data_valid(h)) {
        orr_error("%s%s: %s", fn, where(), h ? "the handle is not a registered one" : "the handle is NULL");
        return -EINVAL;
    }
    if (orr_load_relaxed(&h->lazy_unregister)) {
        orr_error("%s%s: the data is unregistered already (starpu_data_unregister_submit)", fn, where());
        return -EINVAL;
    }
    if (orr_load_relaxed(&h->partitioned)) {
        orr_error("%s%s: the data is partitioned; acquire its pieces, or unpartition it first", fn, where());
        return -EINVAL;
    }
    if (!(mode & (STARPU_RW | STARPU_REDUX | STARPU_MPI_REDUX)) || (mode & STARPU_SCRATCH)) {
        orr_error("%s%s: access mode %d is none of STARPU_R, STARPU_W, STARPU_RW", fn, where(), mode);
        return -EINVAL;
    }
    if ((mode & (STARPU_REDUX | STARPU_MPI_REDUX)) && (!orr_data_rare(h) || !orr_data_rare(h)->redux_cl)) {
        orr_error("%s%s: the data has no reduction methods; call starpu_data_set_reduction_methods", fn,
                  where());
        return -EINVAL;
    }
    if (node >= (int)orr_data_nodes(h) || node < STARPU_ACQUIRE_NO_NODE_LOCK_ALL) {
        orr_error("%s%s: there is no memory node %d", fn, where(), node);
        return -EINVAL;
    }
    orr_data_announce(h, mode);
    orr_acting(orr_self())->looks++;
    return 0;
}

/* Gives back what a failed fetch had acquired. */
static void undo_acquire(struct orr_data *h)
{
    struct orr_waiter *next = NULL;
    orr_spin_lock(&h->queue.lock);
    orr_store_relaxed(&h->acquired_at, NULL);
    if (h->queue.group == ORR_GROUP_COMMUTE) next = orr_access_commute_exit_locked(&h->queue);
    orr_spin_unlock(&h->queue.lock);
    want_no_more(h);
    let_in(next);
    orr_data_leave(h, NULL);
}

/* say: orr_error where the program gets the code that this returns, else orr_fatal. */
static int fetch_failed(struct orr_data *h, int status, const char *fn, void (*say)(const char *fmt, ...))
{
    const char *why = status == -ENODATA ? orr_data_why_none(h) : NULL;
    undo_acquire(h); /* it may be gone */
    if (why)
        say("%s%s: the data has no value, as %s; write it first (STARPU_W), or give it an init codelet", fn,
            where(), why);
    else
        say("%s%s: the data could not be brought to the memory node (%s)", fn, where(), strerror(-status));
    return why ? -EINVAL : status;
}

/* Whether multiformat data, which is held on a device's node to be read, is not in the device's layout, and
 * can be. */
static bool lacks_layout(struct orr_data *h, int node, int mode)
{
    if (orr_likely(!h->formats) || orr_node_is_cpu((unsigned)node) || !(mode & STARPU_R)) return false;
    unsigned own = orr_layout_of_node(h, (unsigned)node);
    return !(orr_layouts(h, (unsigned)node) & own) && orr_layout_codelet(h, ORR_LAYOUT_CPU, own);
}

/* It is now, or it could not be: 0, or the error, with the use of the copy ended. */
static int laid_out(struct orr_data *h, int node, int mode, int status)
{
    if (status)
        orr_fetch_end(h, (unsigned)node, mode);
    else if (mode & STARPU_W) /* the others are no longer true */
        orr_layouts_set(h, (unsigned)node, orr_layout_of_node(h, (unsigned)node));
    return status;
}

struct blocked_conversion {
    struct orr_event done;
    int status;
};

static void wake_converted(void *arg, int status)
{
    struct blocked_conversion *b = arg;
    b->status = status;
    orr_event_set(&b->done);
}

static int convert_blocking(struct orr_data *h, int node, int mode)
{
    struct blocked_conversion b;
    if (orr_data_hooks.in_task && orr_data_hooks.in_task())
        return 0; /* this may be the thread that would do it */
    orr_event_init(&b.done);
    if (orr_layout_on_device(h, (unsigned)node, wake_converted, &b) != 0) return 0; /* as it is */
    orr_transfers_wait(&b.done);
    return laid_out(h, node, mode, b.status);
}

/* Brings the bytes to the node (< 0: none is wanted), blocking. On an error h is given back. */
static int fetch_acquired(struct orr_data *h, int node, int mode, const char *fn)
{
    if (node < 0 || orr_load_acquire(&h->ready_interface)) return 0; /* pairs with its update */
    int r = orr_fetch_blocking(h, (unsigned)node, mode);
    if (r == 0 && orr_unlikely(lacks_layout(h, node, mode))) r = convert_blocking(h, node, mode);
    return r ? fetch_failed(h, r, fn, orr_error) : 0;
}

static int acquire(struct orr_data *h, int node, int mode, const void *at, const char *fn)
{
    int r = check_acquire(h, mode, node, fn);
    if (r) return r;
    if (orr_data_hooks.in_task && orr_data_hooks.in_task()) {
        orr_error(
            "%s%s: it blocks, and must not be called from a task or a callback; use starpu_data_acquire_cb",
            fn, where());
        return -EDEADLK;
    }
    r = acquire_blocking(h, orr_access_group(mode), 0, at, true);
    return r ? r : fetch_acquired(h, node, mode, fn);
}

int starpu_data_acquire_on_node(starpu_data_handle_t h, int node, enum starpu_data_access_mode mode)
{
    return acquire(h, node, mode, __builtin_return_address(0), "starpu_data_acquire_on_node");
}

int starpu_data_acquire(starpu_data_handle_t h, enum starpu_data_access_mode mode)
{
    return acquire(h, orr_node_home(), mode, __builtin_return_address(0), "starpu_data_acquire");
}

/* Joins only when that grants at once; else -EAGAIN, and contributions that nobody has wanted yet are added
 * up for a later try. */
static int join_if_free_locked(struct orr_data *h, struct orr_access *a)
{
    struct orr_access_queue *q = &h->queue;
    bool free_now = !q->head && (q->active == 0 ? q->group != ORR_GROUP_REDUX
                                                : q->group == a->group && a->group == ORR_GROUP_READ);
    if (!free_now) return -EAGAIN;
    orr_data_written_locked(h, a);
    orr_access_join_locked(q, a);
    if (a->group == ORR_GROUP_COMMUTE) orr_access_commute_enter_locked(q, a);
    return 1;
}

static int acquire_try(struct orr_data *h, int node, int mode, const void *at)
{
    int r = check_acquire(h, mode, node, "starpu_data_acquire_try");
    if (r) return r;
    struct orr_access a = { .group = orr_access_group(mode) };
    want(h);
    r = use_and_join(h, &a, use_of(&a) | ORR_USE_TRIES, join_if_free_locked);
    bool shown = r >= 0 && node >= 0 && mode != STARPU_R && orr_unlikely(orr_shown_ask(h));
    if (r < 0 || shown) want_no_more(h);
    if (r < 0) return r;
    if (shown) { /* others read in its memory */
        orr_data_leave(h, &a);
        return -EAGAIN;
    }
    tell_acquired(h, &a, a.group);
    orr_store_relaxed(&h->acquired_at, at);
    return fetch_acquired(h, node, mode, "starpu_data_acquire_try");
}

int starpu_data_acquire_on_node_try(starpu_data_handle_t h, int node, enum starpu_data_access_mode mode)
{
    return acquire_try(h, node, mode, __builtin_return_address(0));
}

int starpu_data_acquire_try(starpu_data_handle_t h, enum starpu_data_access_mode mode)
{
    return acquire_try(h, orr_node_home(), mode, __builtin_return_address(0));
}

/* ---- with a callback ---- */

struct callback_acquire {
    struct orr_access access;
    struct orr_fetch fetch;
    struct orr_data *handle;
    int node, mode;
    bool in_group;  /* of commuting accesses; the next grant is the turn */
    const void *at; /* where the program called */
    void (*callback)(void *);
    void *arg;
};

static void call_back(struct orr_waiter *w)
{
    struct callback_acquire *c = (struct callback_acquire *)w;
    struct orr_acting *acting = orr_acting(orr_self());
    uint64_t depth = acting->depth;
    acting->depth = 0; /* as in orr_call_back */
    orr_callback_begin();
    c->callback(c->arg);
    orr_callback_end();
    acting->depth = depth;
    orr_block_free(c, sizeof *c);
}

static void finish(struct callback_acquire *c, int status)
{
    if (status) {
        struct orr_data *h = c->handle;
        orr_block_free(c, sizeof *c);
        fetch_failed(h, status, "starpu_data_acquire_cb: an acquisition that had to wait", orr_fatal);
    } else if (!orr_waiter_put_off(&c->access.waiter, call_back)) {
        call_back(&c->access.waiter);
    }
}

static void converted(void *arg, int status)
{
    struct callback_acquire *c = arg;
    finish(c, laid_out(c->handle, c->node, c->mode, status));
}

static void there(struct callback_acquire *c, int status)
{
    if (status == 0 && orr_unlikely(lacks_layout(c->handle, c->node, c->mode)) &&
        orr_layout_on_device(c->handle, (unsigned)c->node, converted, c) == 0)
        return;
    finish(c, status);
}

static void fetched(struct orr_fetch *f, int status)
{
    there((struct callback_acquire *)((char *)f - offsetof(struct callback_acquire, fetch)), status);
}

static void start_fetch(struct callback_acquire *c)
{
    orr_store_relaxed(&c->handle->acquired_at, c->at);
    if (c->node < 0 || orr_load_acquire(&c->handle->ready_interface)) { /* pairs with its update */
        finish(c, 0);
        return;
    }
    c->fetch = (struct orr_fetch){
        .done = fetched, .handle = c->handle, .node = (uint16_t)c->node, .mode = (uint16_t)c->mode
    };
    int r = orr_fetch_start(&c->fetch);
    if (r) there(c, r < 0 ? r : 0);
}

static void callback_granted(struct orr_waiter *w)
{
    struct callback_acquire *c = (struct callback_acquire *)w;
    if (c->access.group == ORR_GROUP_COMMUTE && !c->in_group) {
        c->in_group = true;
        orr_spin_lock(&c->handle->queue.lock);
        bool mine = orr_access_commute_enter_locked(&c->handle->queue, &c->access);
        orr_spin_unlock(&c->handle->queue.lock);
        if (!mine) return;
    }
    start_fetch(c);
}

/* Whether the acquisition, which has its data, is of a value that is not there. Who still waits for its turn
 * among commuting ones may yet see one. */
static bool lacks_value(const struct callback_acquire *c)
{
    struct orr_data *h = c->handle;
    if (!(c->mode & STARPU_R) || c->node < 0 || c->access.group == ORR_GROUP_COMMUTE) return false;
    orr_spin_lock(&h->queue.lock);
    bool lacks = !h->initialized;
    orr_spin_unlock(&h->queue.lock);
    return lacks;
}

static int acquire_cb(struct orr_data *h, int node, int mode, void (*callback)(void *), void *arg,
                      bool exempt, const void *at)
{
    int r = check_acquire(h, mode, node, "starpu_data_acquire_cb");
    if (r) return r;
    uint8_t group = orr_access_group(mode);
    if (!callback) {
        orr_error("starpu_data_acquire_cb%s: the callback is NULL", where());
        return -EINVAL;
    }
    struct callback_acquire *c = orr_block_calloc(sizeof *c);
    if (!c) return -ENOMEM;
    c->access.group = group;
    c->access.waiter.granted = callback_granted;
    c->handle = h;
    c->node = node;
    c->mode = mode;
    c->callback = callback;
    c->arg = arg;
    c->at = at;
    want(h);
    uint32_t use = mode & STARPU_W || mode & ~STARPU_RW ? ORR_USE_WRITES : ORR_USE_READS;
    r = exempt ? use_and_join_exempt(h, &c->access, use) : orr_data_join(h, &c->access);
    if (r < 0) want_no_more(h);
    if (r > 0 && lacks_value(c)) r = fetch_failed(h, -ENODATA, "starpu_data_acquire_cb", orr_error);
    if (r < 0) orr_block_free(c, sizeof *c);
    if (r >= 0 && !exempt) tell_acquired(h, c, group); /* they may be gone: their addresses are told */
    if (r <= 0) return r;
    c->access.waiter.next = NULL;
    let_in(&c->access.waiter);
    return 0;
}

int starpu_data_acquire_cb(starpu_data_handle_t h, enum starpu_data_access_mode mode,
                           void (*callback)(void *), void *arg)
{
    return acquire_cb(h, orr_node_home(), mode, callback, arg, false, __builtin_return_address(0));
}

int starpu_data_acquire_on_node_cb(starpu_data_handle_t h, int node, enum starpu_data_access_mode mode,
                                   void (*callback)(void *), void *arg)
{
    return acquire_cb(h, node, mode, callback, arg, false, __builtin_return_address(0));
}

int starpu_data_acquire_cb_sequential_consistency(starpu_data_handle_t h, enum starpu_data_access_mode mode,
                                                  void (*callback)(void *), void *arg,
                                                  int sequential_consistency)
{
    return acquire_cb(h, orr_node_home(), mode, callback, arg, !sequential_consistency,
                      __builtin_return_address(0));
}

int starpu_data_acquire_on_node_cb_sequential_consistency(starpu_data_handle_t h, int node,
                                                          enum starpu_data_access_mode mode,
                                                          void (*callback)(void *), void *arg,
                                                          int sequential_consistency)
{
    return acquire_cb(h, node, mode, callback, arg, !sequential_consistency, __builtin_return_address(0));
}

int starpu_data_acquire_on_node_cb_sequential_consistency_quick(starpu_data_handle_t h, int node,
                                                                enum starpu_data_access_mode mode,
                                                                void (*callback)(void *), void *arg,
                                                                int sequential_consistency, int quick)
{
    (void)quick;
    return acquire_cb(h, node, mode, callback, arg, !sequential_consistency, __builtin_return_address(0));
}

/* ---- releasing ---- */

/* Whether the program holds h, and in which group; says so if not. */
static bool check_held(struct orr_data *h, const char *fn, uint8_t *group_out)
{
    if (!orr_data_valid(h)) {
        orr_error("%s%s: %s", fn, where(), h ? "the handle is not a registered one" : "the handle is NULL");
        return false;
    }
    orr_spin_lock(&h->queue.lock);
    *group_out = h->queue.group;
    bool held = h->queue.active > 0 && orr_data_is_wanted(h);
    orr_spin_unlock(&h->queue.lock);
    if (!held) orr_error("%s%s: the data is not acquired", fn, where());
    return held;
}

static void release(struct orr_data *h, int node, const char *fn)
{
    uint8_t group;
    if (!check_held(h, fn, &group)) return;
    if (node >= 0 && !orr_load_relaxed(&h->ready_interface))
        orr_fetch_end(h, (unsigned)node, group == ORR_GROUP_READ ? STARPU_R : STARPU_RW);
    undo_acquire(h);
}

void starpu_data_release_on_node(starpu_data_handle_t h, int node)
{
    release(h, node, "starpu_data_release_on_node");
}

void starpu_data_release(starpu_data_handle_t h)
{
    release(h, orr_node_home(), "starpu_data_release");
}

void starpu_data_release_to_on_node(starpu_data_handle_t h, enum starpu_data_access_mode down_to_mode,
                                    int node)
{
    uint8_t group;
    if (down_to_mode == STARPU_NONE)
        release(h, node, "starpu_data_release_to");
    else if (check_held(h, "starpu_data_release_to", &group) && down_to_mode == STARPU_R &&
             group == ORR_GROUP_WRITE) {
        if (node >= 0 && !orr_load_relaxed(&h->ready_interface)) orr_fetch_downgrade(h, (unsigned)node);
        orr_data_downgrade(h);
    }
}

void starpu_data_release_to(starpu_data_handle_t h, enum starpu_data_access_mode down_to_mode)
{
    starpu_data_release_to_on_node(h, down_to_mode, orr_node_home());
}
