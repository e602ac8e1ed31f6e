/* SPDX-License-Identifier: BSD-3-Clause */
/* seen.c: see seen.h.
 * Threads: see seen.h. Owns: see seen.h. Not here: see seen.h. */
#include "mpi/value/seen.h"

#include <errno.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/env.h"
#include "core/data/view.h"
#include "core/mem/node.h"

/* What a copy takes, about; that a value must have been shown for so many times that for it to pay, and that
 * nobody may wait for more; of so many values that follow, at most, copies are sent when it was not so. */
enum { BYTES_PER_NS = 5, PAYS_AFTER = 100, WAITS_MOST = 4, SHY_MOST = 1023 };

/* It lives as long as the cluster: a thread may be late. */
struct orr_views {
    struct orr_cluster *cluster;   /* [const while on] */
    struct orr_controls *controls; /* [const while on] */
    size_t least;                  /* bytes of a value that is not copied [const while on] */
    _Atomic bool on;               /* [any] */
    _Atomic int64_t open;          /* shown or seen, and not over [atomic] */
    struct orr_waiter later;       /* for who is to ask for what is wanted; used while flushing */
    ORR_SPIN(views) lock;          /* protects what follows; leaf */
    bool flushing, closing;        /* closing: what is seen from now on is left at once */
    uint64_t next_id;
    struct orr_match_table shown, seen; /* by the other rank, and the owner's id */
    struct orr_showing *wanted;         /* to be asked back */
    struct orr_view_counts counts;
};

struct orr_showing {
    struct orr_shown shown;     /* first */
    struct orr_waiter waiter;   /* its end */
    struct orr_match_node node; /* [lock: views] */
    struct orr_views *views;
    struct orr_data *handle;
    struct orr_showing *next_wanted;    /* [lock: views] */
    uint64_t shown_ticks, wanted_ticks; /* [own: who ends it; the second: lock: handle] */
    bool held, ended; /* the handle knows; its reader does not read any more [lock: views] */
};

struct orr_seen {
    struct orr_view view;       /* first */
    struct orr_waiter back;     /* for who has it left, since it is wanted back */
    struct orr_waiter end;      /* for who tells that it is over */
    struct orr_match_node node; /* [lock: views] */
    struct orr_views *views;
    uint32_t uses;        /* until it is told that it is over, and by who has it left [lock: views] */
    bool begun, recalled; /* the handle has it; it is wanted back [lock: views] */
};

static struct orr_showing *showing_of(struct orr_match_node *n)
{
    return (struct orr_showing *)((char *)n - offsetof(struct orr_showing, node));
}

static struct orr_seen *seen_of(struct orr_match_node *n)
{
    return (struct orr_seen *)((char *)n - offsetof(struct orr_seen, node));
}

/* A control message, which leaves as soon as there is a buffer, unless the layer ends. Not within a callback
 * of the engine, where this thread moves nothing. */
static void tell(struct orr_views *all, int peer, enum orr_control what, uint64_t id)
{
    struct orr_cluster *cl = all->cluster;
    while (orr_load_relaxed(&all->on) && !orr_control_send(all->controls, peer, what, 0, id, 0, NULL, 0))
        if (!orr_progress_pass(&cl->progress)) sched_yield();
    orr_bells_ring(&cl->bells, peer, true);
}

/* Calls fn(w), not within a callback of the engine. */
static void call_outside(struct orr_waiter *w, void (*fn)(struct orr_waiter *w))
{
    if (!orr_engine_in_callback() || !orr_waiter_put_off(w, fn)) fn(w);
}

static void opened(struct orr_views *all)
{
    orr_add_relaxed(&all->open, 1);
    orr_progress_hold(&all->cluster->progress); /* others may ask for it, or give it back, at any time */
}

static void closed(struct orr_views *all)
{
    struct orr_mpi_progress *p = &all->cluster->progress;
    orr_progress_let_go(p);
    orr_sub_acq_rel(&all->open, 1); /* pairs with none_open */
    orr_progress_signal(p);
}

/* ---- which ---- */

/* Whether copies of h are sent for a while. */
static bool is_shy(struct orr_views *all, struct orr_data *h)
{
    struct orr_sharing *a = &orr_data_rare(h)->sharing;
    orr_spin_lock(&all->lock);
    bool shy = a->shy_left > 0;
    a->shy_left = (uint16_t)(a->shy_left - shy);
    orr_spin_unlock(&all->lock);
    return shy;
}

static bool is_written_next(struct orr_data *h)
{
    orr_spin_lock(&h->queue.lock);
    bool is = h->queue.head && h->queue.head->group != ORR_GROUP_READ;
    orr_spin_unlock(&h->queue.lock);
    return is;
}

/* Whether the receiver sees where the value is. */
static bool is_visible(const struct orr_views *all, const struct orr_request *r)
{
    struct orr_transport *t = all->cluster->engine.transport;
    return t->ops->shows && t->ops->shows(t, r->node.peer, r->payload.base, false);
}

bool orr_seen_may(struct orr_value *v, const struct orr_request *r, struct orr_data *h)
{
    struct orr_views *all = v->views;
    if (!all || !orr_load_relaxed(&all->on) || r->payload.bytes < all->least) return false;
    if (r->kind == ORR_SEND)
        return is_visible(all, r) && orr_data_may_be_apart(h) && !is_written_next(h) && !is_shy(all, h);
    return h->home_node < 0 && h->replicates[orr_node_home()].ours && !is_written_next(h) &&
           orr_view_prepare(h);
}

/* ---- at the owner ---- */

static void want(struct orr_shown *shown)
{
    struct orr_showing *s = (struct orr_showing *)shown;
    struct orr_views *all = s->views;
    s->wanted_ticks = orr_ticks();
    orr_progress_begun(&all->cluster->progress);
    orr_spin_lock(&all->lock);
    s->next_wanted = all->wanted;
    all->wanted = s;
    all->counts.recalled++;
    orr_spin_unlock(&all->lock);
}

/* Asks for what is wanted. */
static void ask(struct orr_waiter *later)
{
    struct orr_views *all = (struct orr_views *)((char *)later - offsetof(struct orr_views, later));
    for (;;) {
        orr_spin_lock(&all->lock);
        struct orr_showing *s = all->wanted;
        struct orr_match_node key = { 0 };
        if (s) {
            all->wanted = s->next_wanted;
            key = s->node;
        }
        all->flushing = s != NULL;
        orr_spin_unlock(&all->lock);
        if (!s) break;
        tell(all, key.peer, ORR_CONTROL_RECALL, (uint64_t)key.tag);
    }
    orr_progress_needed(&all->cluster->progress);
    closed(all);
}

static void flush(void *views)
{
    struct orr_views *all = views;
    orr_spin_lock(&all->lock);
    bool first = !all->flushing && all->wanted;
    all->flushing |= first;
    if (first) orr_add_relaxed(&all->open, 1); /* until it is done with; before what is wanted may end */
    orr_spin_unlock(&all->lock);
    if (!first) return;
    orr_progress_hold(&all->cluster->progress);
    call_outside(&all->later, ask);
}

uint64_t orr_seen_show(struct orr_value *v, struct orr_data *h, int peer, struct orr_showing **out)
{
    struct orr_views *all = v->views;
    struct orr_showing *s = orr_calloc(1, sizeof *s);
    *out = s;
    if (!s) return 0;
    s->shown.want = want;
    s->shown.flush = flush;
    s->shown.owner = all;
    s->views = all;
    s->handle = h;
    orr_spin_lock(&all->lock);
    uint64_t id = ++all->next_id;
    s->node = (struct orr_match_node){ .peer = peer, .tag = (int64_t)id };
    orr_match_append(&all->shown, &s->node);
    orr_spin_unlock(&all->lock);
    return id;
}

/* Whether a copy would have been better: somebody had to wait for it, or it was back too soon. */
static bool was_hasty(const struct orr_showing *s)
{
    if (!orr_shown_is_wanted(s->handle, &s->shown)) return false;
    uint64_t now = orr_ticks();
    double copy_us = (double)s->handle->ops->get_size(s->handle) / BYTES_PER_NS / 1e3;
    return orr_ticks_to_us(s->wanted_ticks - s->shown_ticks) < copy_us * PAYS_AFTER ||
           orr_ticks_to_us(now - s->wanted_ticks) > copy_us * WAITS_MOST;
}

/* That decides what becomes of the values that follow. */
static void judge(struct orr_showing *s)
{
    bool hasty = was_hasty(s);
    struct orr_sharing *a = &orr_data_rare(s->handle)->sharing;
    orr_spin_lock(&s->views->lock);
    unsigned shy = hasty ? a->shy * 2u + 1 : a->shy / 2u;
    a->shy = (uint16_t)(shy > SHY_MOST ? SHY_MOST : shy);
    a->shy_left = hasty ? a->shy : 0;
    s->views->counts.hasty += hasty;
    orr_spin_unlock(&s->views->lock);
}

static void forget_wanted(struct orr_views *all, const struct orr_showing *s)
{
    orr_spin_lock(&all->lock);
    struct orr_showing **at = &all->wanted;
    while (*at && *at != s) at = &(*at)->next_wanted;
    if (*at) *at = s->next_wanted;
    orr_spin_unlock(&all->lock);
}

/* Its reader has let go of it, and it is in no table. */
static void unseen(struct orr_waiter *w)
{
    struct orr_showing *s = (struct orr_showing *)((char *)w - offsetof(struct orr_showing, waiter));
    struct orr_views *all = s->views;
    judge(s);
    struct orr_fetch *waiters = orr_shown_end(s->handle, &s->shown);
    bool wanted = s->shown.wanted; /* nobody can from here on */
    if (wanted) forget_wanted(all, s);
    orr_free(s);
    orr_fetches_resume(waiters);
    if (wanted) orr_progress_over(&all->cluster->progress, false);
    closed(all);
}

void orr_seen_sent(struct orr_showing *s, bool seen)
{
    struct orr_views *all = s->views;
    if (seen) {
        s->shown_ticks = orr_ticks();
        opened(all);
        orr_shown_begin(s->handle, &s->shown);
    }
    orr_spin_lock(&all->lock);
    all->counts.shown += seen;
    all->counts.declined += !seen;
    bool ended = s->ended;
    if (!seen) orr_match_pop(&all->shown, 0, s->node.peer, s->node.tag);
    s->held = true;
    orr_spin_unlock(&all->lock);
    if (!seen)
        orr_free(s);
    else if (ended)
        unseen(&s->waiter);
}

/* ---- at the reader ---- */

static void release(struct orr_seen *s)
{
    struct orr_views *all = s->views;
    orr_spin_lock(&all->lock);
    bool last = --s->uses == 0;
    orr_spin_unlock(&all->lock);
    if (!last) return;
    orr_free(s);
    closed(all);
}

static void tell_over(struct orr_waiter *w)
{
    struct orr_seen *s = (struct orr_seen *)((char *)w - offsetof(struct orr_seen, end));
    tell(s->views, s->node.peer, ORR_CONTROL_UNSEEN, (uint64_t)s->node.tag);
    release(s);
}

/* No task reads there any more. */
static void over(struct orr_view *v)
{
    struct orr_seen *s = (struct orr_seen *)v;
    orr_spin_lock(&s->views->lock);
    orr_match_pop(&s->views->seen, 0, s->node.peer, s->node.tag);
    orr_spin_unlock(&s->views->lock);
    call_outside(&s->end, tell_over);
}

/* It was said to be recalled, with one use for this. */
static void recall(struct orr_waiter *w)
{
    struct orr_seen *s = (struct orr_seen *)((char *)w - offsetof(struct orr_seen, back));
    orr_view_recall(&s->view);
    release(s);
}

/* The handle may have it left, and does so here. */
static bool is_recalled_locked(struct orr_seen *s)
{
    if (!s->begun || s->recalled) return false;
    s->recalled = true;
    s->uses++;
    return true;
}

bool orr_seen_see(struct orr_value *v, int peer, uint64_t name, void *at, struct orr_seen **out)
{
    struct orr_views *all = v->views;
    struct orr_seen *s = orr_calloc(1, sizeof *s);
    if (!s) return false;
    *out = s;
    s->view.at = at;
    s->view.over = over;
    s->views = all;
    s->uses = 2; /* and until the handle has it */
    s->node = (struct orr_match_node){ .peer = peer, .tag = (int64_t)name };
    orr_spin_lock(&all->lock);
    orr_match_append(&all->seen, &s->node);
    orr_spin_unlock(&all->lock);
    return true;
}

void orr_seen_received(struct orr_seen *s, struct orr_data *h)
{
    struct orr_views *all = s->views;
    opened(all);
    orr_view_begin(h, &s->view);
    orr_spin_lock(&all->lock);
    bool wanted = s->recalled || all->closing;
    s->recalled = false;
    s->begun = true;
    bool now = wanted && is_recalled_locked(s);
    orr_spin_unlock(&all->lock);
    if (now) recall(&s->back);
    release(s);
}

/* ---- what others say ---- */

static void heard_recall(struct orr_views *all, int source, int64_t id)
{
    orr_spin_lock(&all->lock);
    struct orr_match_node *n = orr_match_first(&all->seen, 0, source, id);
    struct orr_seen *s = n ? seen_of(n) : NULL;
    bool now = s && is_recalled_locked(s);
    if (s) s->recalled = true;
    orr_spin_unlock(&all->lock);
    if (now && !orr_waiter_put_off(&s->back, recall)) recall(&s->back);
}

static void heard_unseen(struct orr_views *all, int source, int64_t id)
{
    orr_spin_lock(&all->lock);
    struct orr_match_node *n = orr_match_pop(&all->shown, 0, source, id);
    struct orr_showing *s = n ? showing_of(n) : NULL;
    bool now = s && s->held;
    if (s) s->ended = true;
    orr_spin_unlock(&all->lock);
    if (now && !orr_waiter_put_off(&s->waiter, unseen)) unseen(&s->waiter);
}

static void heard(void *views, int source, const struct orr_wire_header *h, const void *none)
{
    (void)none;
    if (h->type == ORR_CONTROL_RECALL)
        heard_recall(views, source, (int64_t)h->id);
    else
        heard_unseen(views, source, (int64_t)h->id);
}

/* ---- beginning and end ---- */

int orr_views_begin(struct orr_value *v, struct orr_controls *controls)
{
    size_t least = (size_t)orr_env_long(ORR_SETTING(ORRERY_MPI_IN_PLACE), 65536, 0, LONG_MAX);
    if (!least) return 0;
    struct orr_views *all = v->views ? v->views : orr_calloc(1, sizeof *all);
    if (!all) return -ENOMEM;
    all->cluster = v->cluster;
    all->controls = controls;
    all->least = least;
    all->closing = false;
    all->counts = (struct orr_view_counts){ 0 };
    orr_match_init(&all->shown);
    orr_match_init(&all->seen);
    v->views = all;
    orr_control_listen(controls, ORR_CONTROL_RECALL, ORR_CONTROL_UNSEEN, heard, all);
    orr_store_release(&all->on, true); /* the rest is there */
    return 0;
}

void orr_views_end(struct orr_value *v)
{
    struct orr_views *all = v->views;
    if (!all || !orr_load_relaxed(&all->on)) return;
    orr_store_relaxed(&all->on, false);
    orr_match_fini(&all->shown);
    orr_match_fini(&all->seen);
}

static bool none_open(void *views)
{
    return orr_load_acquire(&((struct orr_views *)views)->open) == 0;
}

static void find_one(struct orr_match_node *n, void *found)
{
    struct orr_seen **first = found, *s = seen_of(n);
    if (!*first && is_recalled_locked(s)) *first = s;
}

void orr_views_leave(struct orr_value *v)
{
    struct orr_views *all = v->views;
    struct orr_seen *s;
    if (!all || !orr_load_relaxed(&all->on)) return;
    do {
        s = NULL;
        orr_spin_lock(&all->lock);
        all->closing = true;
        orr_match_visit(&all->seen, find_one, &s);
        orr_spin_unlock(&all->lock);
        if (s) recall(&s->back);
    } while (s);
    orr_progress_wait(&all->cluster->progress, none_open, all);
}

struct orr_view_counts orr_views_get_counts(struct orr_value *v)
{
    struct orr_view_counts c = { 0 };
    if (!v->views) return c;
    orr_spin_lock(&v->views->lock);
    c = v->views->counts;
    orr_spin_unlock(&v->views->lock);
    return c;
}
