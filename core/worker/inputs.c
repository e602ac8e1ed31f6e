/* SPDX-License-Identifier: BSD-3-Clause */
/* inputs.c: loading a task's data, in the layouts that it uses, and ending their use.
 * Threads: the worker's; fetches end on any. Owns: nothing; a load is its caller's. Not here: which task is
 * loaded when (device.c), how a body is run (running.c).
 *
 * A task is loaded by starting a fetch for each of its data, when it has the turn of each device's node on
 * which it has some (core/data/hungry.c, which may also ask it to give everything back and to begin again). A
 * task that is loaded needs nothing more to run, so memory comes back. */
#include "core/worker/inputs.h"

#include <errno.h>
#include <string.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/peek.h"
#include "core/data/coherency.h"
#include "core/data/layouts.h"
#include "core/data/view.h"
#include "core/mem/node.h"
#include "core/task/redux.h"
#include "core/worker/convert.h"

/* ---- what a task uses, and where ---- */

/* One datum of a task: what is fetched for it. */
struct input {
    struct orr_data *data; /* the handle, or the worker's private part of it */
    int node;              /* -1: nothing is fetched */
    int mode;
};

/* Where w uses h, datum i of t; -1: nowhere. What is named several times is where the first name says that
 * does not say nowhere. */
static int node_for(struct orr_worker *w, struct orr_task *t, unsigned i, struct orr_data *h)
{
    if (orr_likely(!orr_task_has_nodes(t->pub))) return (int)orr_data_place(h, w->node);
    unsigned n = STARPU_TASK_GET_NBUFFERS(t->pub);
    int node = -1;
    for (unsigned j = i; node < 0 && j < n; j++)
        if (STARPU_TASK_GET_HANDLE(t->pub, j) == STARPU_TASK_GET_HANDLE(t->pub, i))
            node = orr_task_place(t->pub, j, w->node, h);
    return node < (int)orr_data_nodes(h) ? node : (int)w->node; /* a store that came after h */
}

/* t's access to h, among those sorted by address; NULL: it has none, since its submitter holds its data. */
static const struct orr_access *access_to(struct orr_task *t, const struct orr_data *h)
{
    const struct orr_access *a = orr_task_accesses(t);
    unsigned first = 0, end = t->naccesses;
    while (first < end) {
        unsigned middle = (first + end) / 2;
        struct orr_data *there = STARPU_TASK_GET_HANDLE(t->pub, a[middle].index);
        if (there == h) return &a[middle];
        if (there < h)
            first = middle + 1;
        else
            end = middle;
    }
    return NULL;
}

/* Everything that the task does with handle h: it may name one several times. */
static int combined_mode(struct orr_task *t, struct orr_data *h, unsigned n)
{
    const struct orr_access *a = access_to(t, h);
    int mode = a ? a->mode : 0;
    for (unsigned i = 0; !a && i < n; i++)
        if (STARPU_TASK_GET_HANDLE(t->pub, i) == h) mode |= STARPU_TASK_GET_MODE(t->pub, i);
    return mode & ORR_TASK_MODES;
}

/* Where t named datum i first. */
static unsigned first_named(struct orr_task *t, unsigned i)
{
    struct orr_data *h = STARPU_TASK_GET_HANDLE(t->pub, i);
    const struct orr_access *a = access_to(t, h);
    if (a) return a->index < i ? a->index : i;
    for (unsigned j = 0; j < i; j++)
        if (STARPU_TASK_GET_HANDLE(t->pub, j) == h) return j;
    return i;
}

/* Datum i for worker w. 0, -ENOMEM, or another error that was reported. */
static int input_of(struct orr_worker *w, struct orr_task *t, unsigned i, unsigned n, struct input *out)
{
    struct orr_data *h = STARPU_TASK_GET_HANDLE(t->pub, i);
    int mode = combined_mode(t, h, n);
    *out = (struct input){ .data = h, .node = -1, .mode = mode };
    if (mode & STARPU_SCRATCH) {
        out->data = orr_data_scratch(h, (unsigned)w->id);
        out->mode = STARPU_SCRATCH;
    } else if (mode & (STARPU_REDUX | STARPU_MPI_REDUX)) {
        struct starpu_codelet *init = orr_data_rare(h) ? orr_data_rare(h)->init_cl : NULL;
        bool own_init = init && orr_codelet_check(init) >= 0 && orr_worker_function(w, init, 0);
        out->data = orr_redux_contribution(h, (unsigned)w->id, own_init);
        out->mode = STARPU_RW;
    }
    if (!out->data) return -ENOMEM;
    if (mode) out->node = node_for(w, t, i, out->data);
    return 0;
}

/* ---- loading ---- */

static void turn_take_back(struct orr_input_load *l)
{
    for (; l->turns; l->turns &= l->turns - 1) orr_memory_load_end((unsigned)__builtin_ctz(l->turns));
}

bool orr_inputs_turn(struct orr_input_load *l)
{
    for (uint32_t left = l->nodes; left; left &= left - 1) {
        unsigned node = (unsigned)__builtin_ctz(left);
        if (!orr_memory_load_begin(node, l->fetches, l->count)) {
            turn_take_back(l);
            return false;
        }
        l->turns |= UINT32_C(1) << node;
    }
    return true;
}

static void undo_fetches(struct orr_input_load *l)
{
    for (unsigned i = 0; i < l->count; i++) {
        struct orr_fetch *f = &l->fetches[i];
        if (f->pinned) orr_fetch_undo(f->handle, f->node, f->mode, false);
    }
}

/* All fetches of l are over: its task has its data, or none of them. l may be gone on return. */
static void load_over(struct orr_input_load *l)
{
    turn_take_back(l);
    if (orr_load_relaxed(&l->status)) undo_fetches(l);
    orr_event_set(&l->loaded);
}

bool orr_inputs_give_back(struct orr_input_load *l)
{
    if (!l->count || !orr_event_is_set(&l->loaded) || orr_load_relaxed(&l->status)) return false;
    undo_fetches(l);
    orr_store_relaxed(&l->status, -EAGAIN);
    return true;
}

static void input_arrived(struct orr_fetch *f, int status)
{
    struct orr_input_load *l = f->arg;
    if (status) orr_store_relaxed(&l->status, status);
    if (orr_sub_acq_rel(&l->left, 1) == 1) load_over(l);
}

int orr_inputs_prepare(struct orr_input_load *l, struct orr_worker *w, struct orr_task *t, bool quiet)
{
    struct starpu_task *p = t->pub;
    unsigned n = STARPU_TASK_GET_NBUFFERS(p);
    void **itf = STARPU_TASK_GET_INTERFACES(p);
    l->worker = w;
    l->task = t;
    l->count = 0;
    l->heap = n > ORR_INLINE_FETCHES;
    l->nodes = l->turns = 0;
    l->fetches = l->heap ? orr_calloc(n, sizeof *l->fetches) : l->inline_fetches;
    if (!l->fetches) return -ENOMEM;
    for (unsigned i = 0; i < n; i++) {
        struct input in;
        unsigned first = first_named(t, i);
        if (first < i) { /* what is used twice is in one place */
            itf[i] = itf[first];
            continue;
        }
        int r = input_of(w, t, i, n, &in);
        if (r) {
            if (l->heap) orr_free(l->fetches);
            l->heap = false;
            return r;
        }
        itf[i] = in.data->replicates[in.node < 0 ? 0 : in.node].interface;
        if (in.node < 0) continue;
        if (orr_unlikely(in.data->formats || orr_load_relaxed(&in.data->neutral_due)))
            t->flags |= ORR_TF_FORMATS;
        l->fetches[l->count++] = (struct orr_fetch){ .done = input_arrived,
                                                     .handle = in.data,
                                                     .node = (uint16_t)in.node,
                                                     .mode = (uint16_t)in.mode,
                                                     .quiet = quiet,
                                                     .layout = ORR_LAYOUT_ANY,
                                                     .set = l->fetches,
                                                     .arg = l };
        if (orr_node_evicts((unsigned)in.node)) l->nodes |= UINT32_C(1) << in.node;
    }
    for (unsigned i = 0; i < l->count; i++) l->fetches[i].set_count = (uint16_t)l->count;
    return 0;
}

void orr_inputs_start(struct orr_input_load *l)
{
    orr_event_init(&l->loaded);
    orr_store_relaxed(&l->status, 0);
    orr_store_relaxed(&l->left, (int)l->count + 1);
    unsigned settled = 1; /* 1: this function itself */
    for (unsigned i = 0; i < l->count; i++) {
        int r = orr_fetch_start(&l->fetches[i]);
        if (r < 0) orr_store_relaxed(&l->status, r);
        if (r) settled++;
    }
    if (orr_sub_acq_rel(&l->left, (int)settled) == (int)settled) load_over(l);
}

struct orr_task *orr_inputs_peek_task(const void *load)
{
    struct orr_task *t = NULL;
    const struct orr_input_load *l = load;
    return l && orr_peek(&t, &l->task, sizeof t) ? t : NULL;
}

int orr_inputs_finish(struct orr_input_load *l)
{
    int status = orr_load_relaxed(&l->status);
    if (l->heap) orr_free(l->fetches);
    if (status == 0) l->task->flags = (l->task->flags | ORR_TF_FETCHED) & ~(uint32_t)ORR_TF_PLAIN;
    return status;
}

enum { NAP_NS = 50000, LONG_NAP_NS = 200000, LOOK_US = 200 };

bool orr_inputs_would_nap(uint64_t since)
{
    return since != 0 && orr_ticks() - since >= orr_us_to_ticks(LOOK_US);
}

void orr_inputs_nap(bool (*poll)(void), struct orr_event *e, bool full)
{
    if (!poll()) orr_event_nap(e, full && !orr_load_relaxed(&orr_transfers_active) ? LONG_NAP_NS : NAP_NS);
}

void orr_inputs_wait(struct orr_worker *w, bool (*poll)(void), struct orr_event *e, bool computes,
                     uint64_t *since)
{
    uint64_t now = orr_ticks();
    bool moved = poll();
    if (moved || *since == 0) {
        *since = moved ? 0 : now;
        return;
    }
    orr_store_relaxed(&w->waits_for_data, !computes);
    if (now - *since < orr_us_to_ticks(LOOK_US))
        sched_yield();
    else if (e)
        orr_event_nap(e, NAP_NS);
    else
        nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
    orr_store_relaxed(&w->waits_for_data, false);
}

static int load_once(struct orr_worker *w, struct orr_task *t, bool quiet, bool brief)
{
    struct orr_input_load l;
    int r = orr_inputs_prepare(&l, w, t, quiet);
    if (r) return r;
    for (unsigned i = 0; i < l.count; i++) l.fetches[i].brief = brief;
    do {
        uint64_t since = 0;
        while (!orr_inputs_turn(&l)) orr_inputs_wait(w, orr_transfers_poll, NULL, false, &since);
        orr_inputs_start(&l);
        while (!orr_event_is_set(&l.loaded)) orr_inputs_wait(w, orr_transfers_poll, &l.loaded, false, &since);
    } while (orr_load_relaxed(&l.status) == -EAGAIN);
    return orr_inputs_finish(&l);
}

/* Of several main memories one may be full by the time that memory is taken where there was room: then the
 * task's places are chosen again. */
static int load_blocking(struct orr_worker *w, struct orr_task *t, bool brief)
{
    unsigned tries = orr_main_memories;
    int r;
    do r = load_once(w, t, tries > 1, brief);
    while (orr_unlikely(r == -ENOMEM) && --tries > 0);
    return r;
}

/* The node whose interface a task was given; -1: none of h's. */
static int node_given(struct orr_data *h, const void *itf)
{
    for (unsigned n = 0; n < h->nnodes; n++)
        if (h->replicates[n].interface == itf) return (int)n;
    return -1;
}

/* Whether datum i of t, and whatever else is the same, is on no node. */
static bool is_nowhere(struct orr_task *t, unsigned i, unsigned n)
{
    if (orr_likely(!orr_task_has_nodes(t->pub))) return false;
    for (unsigned j = i; j < n; j++)
        if (STARPU_TASK_GET_HANDLE(t->pub, j) == STARPU_TASK_GET_HANDLE(t->pub, i) &&
            orr_task_wanted_node(t->pub, j) != STARPU_SPECIFIC_NODE_NONE)
            return false;
    return true;
}

/* What was fetched as datum i. False: nothing. */
static bool was_fetched(struct orr_worker *w, struct orr_task *t, unsigned i, unsigned n, struct input *out)
{
    struct orr_data *h = STARPU_TASK_GET_HANDLE(t->pub, i);
    int mode = combined_mode(t, h, n);
    if (!mode || first_named(t, i) < i || is_nowhere(t, i, n)) return false;
    if (mode & STARPU_SCRATCH) {
        h = orr_data_rare(h)->scratch_per_worker[w->id];
        mode = STARPU_SCRATCH;
    } else if (mode & (STARPU_REDUX | STARPU_MPI_REDUX)) {
        h = orr_data_rare(h)->redux_per_worker[w->id];
        mode = STARPU_RW;
    }
    *out = (struct input){ .data = h,
                           .node = node_given(h, STARPU_TASK_GET_INTERFACES(t->pub)[i]),
                           .mode = mode };
    return out->node >= 0;
}

/* ---- layouts ---- */

/* The layout in which t's implementation on w sees h on a node. */
static unsigned layout_for(struct orr_worker *w, struct orr_task *t, struct orr_data *h, unsigned node)
{
    return orr_worker_borrows(w, t->pub->cl) ? ORR_LAYOUT_CPU : orr_layout_of_node(h, node);
}

static int convert_input(struct orr_worker *w, struct orr_task *t, const struct input *in)
{
    struct orr_data *h = in->data;
    unsigned node = (unsigned)in->node, layout = layout_for(w, t, h, node);
    int r = in->mode & STARPU_R ? orr_fetch_layout(h, node, layout) : 0;
    if (r || !(in->mode & (STARPU_W | STARPU_SCRATCH))) return r;
    orr_spin_lock(&h->queue.lock);
    orr_layouts_set(h, node, layout); /* the others are no longer true */
    orr_spin_unlock(&h->queue.lock);
    return 0;
}

/* Gives a contribution, which was fetched for datum i of t, its neutral value. */
static int make_neutral(struct orr_task *t, unsigned i, const struct input *in)
{
    const struct orr_data_rare *r = orr_data_rare(STARPU_TASK_GET_HANDLE(t->pub, i));
    int status = orr_convert_here(in->data, (unsigned)in->node, r->init_cl, r->init_cl_arg);
    orr_store_relaxed(&in->data->neutral_due, status != 0);
    if (status)
        orr_error("reduction: the init codelet could not be run for task %s (%s)", orr_task_name(t),
                  strerror(-status));
    return status;
}

/* Whether t writes, in the CPU's layout, what comes back from the device in the device's only: a CPU's
 * function on a simulated device, and an interface of the program. It is left there in the device's. */
static bool cannot_come_back(struct orr_worker *w, struct orr_task *t, const struct input *in)
{
    unsigned node = (unsigned)in->node, own = orr_layout_of_node(in->data, node);
    if (!orr_layouts_by_program(in->data) || !(in->mode & STARPU_W)) return false;
    if (layout_for(w, t, in->data, node) == own) return false;
    if (in->mode & STARPU_R) orr_fetch_layout(in->data, node, own);
    return true;
}

/* Such a task goes elsewhere. */
static bool none_comes_back(struct orr_worker *w, struct orr_task *t)
{
    unsigned n = STARPU_TASK_GET_NBUFFERS(t->pub);
    bool none = false;
    for (unsigned i = 0; i < n; i++) {
        struct input in;
        if (was_fetched(w, t, i, n, &in) && in.data->formats) none |= cannot_come_back(w, t, &in);
    }
    if (none) orr_task_inputs_undo(w, t, false);
    return none;
}

/* Multiformat data that were fetched are put into the layout that t uses, and contributions get their
 * neutral value, here, on t's worker; that needs no memory and waits for other conversions only. On an error
 * the uses are ended. */
static int convert_inputs(struct orr_worker *w, struct orr_task *t)
{
    unsigned n = STARPU_TASK_GET_NBUFFERS(t->pub);
    int r = 0;
    if (none_comes_back(w, t)) return -ENOTSUP;
    for (unsigned i = 0; i < n && r == 0; i++) {
        struct input in;
        if (!was_fetched(w, t, i, n, &in)) continue;
        if (orr_load_relaxed(&in.data->neutral_due)) r = make_neutral(t, i, &in);
        if (r == 0 && in.data->formats) r = convert_input(w, t, &in);
    }
    if (r == 0) return 0;
    orr_task_inputs_undo(w, t, true); /* some may be in another layout already */
    return r;
}

/* Gives t a view of datum i, which it only reads and named there first, if there is one. */
static void *hold_view(struct orr_task *t, unsigned i, struct orr_data *h)
{
    struct orr_task_rare *r = i < 64 ? orr_task_rare_get(t) : NULL;
    if (!r) {
        orr_view_leave(h);
        return NULL;
    }
    if (!(t->flags & ORR_TF_VIEWS)) r->views = 0;
    void *view = orr_view_hold(h);
    if (!view) return NULL;
    r->views |= UINT64_C(1) << i;
    t->flags |= ORR_TF_VIEWS;
    return view;
}

/* What t only reads is read where it is. Only now: while t waited for others of its data it was in nobody's
 * way. */
static void hold_views(struct orr_task *t)
{
    unsigned n = STARPU_TASK_GET_NBUFFERS(t->pub);
    void **itf = STARPU_TASK_GET_INTERFACES(t->pub);
    for (unsigned i = 0; i < n; i++) {
        struct orr_data *h = STARPU_TASK_GET_HANDLE(t->pub, i);
        if (orr_likely(!orr_load_acquire(&h->apart))) continue; /* pairs with update_locked in view.c */
        unsigned first = first_named(t, i);
        void *view = first == i && combined_mode(t, h, n) == STARPU_R ? hold_view(t, i, h) : NULL;
        if (view) itf[i] = view;
        if (first < i) itf[i] = itf[first];
    }
}

static void let_views_go(struct orr_task *t)
{
    for (uint64_t left = t->rare->views; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        struct orr_data *h = STARPU_TASK_GET_HANDLE(t->pub, i);
        STARPU_TASK_GET_INTERFACES(t->pub)[i] = h->replicates[0].interface;
        orr_view_let_go(h);
    }
    t->flags &= ~(uint32_t)ORR_TF_VIEWS;
}

bool orr_task_holds_view(struct orr_data *h)
{
    struct orr_task *t = orr_task_self()->current;
    if (!t || !(t->flags & ORR_TF_VIEWS)) return false;
    for (uint64_t left = t->rare->views; left; left &= left - 1)
        if (STARPU_TASK_GET_HANDLE(t->pub, (unsigned)__builtin_ctzll(left)) == h) return true;
    return false;
}

static int fetch_inputs(struct orr_worker *w, struct orr_task *t, bool brief)
{
    int r = t->flags & ORR_TF_FETCHED ? 0 : load_blocking(w, t, brief);
    return r == 0 && orr_unlikely(t->flags & ORR_TF_FORMATS) ? convert_inputs(w, t) : r;
}

int orr_fetch_task_inputs(struct orr_worker *w, struct orr_task *t)
{
    int r = fetch_inputs(w, t, true);
    if (r == 0) hold_views(t);
    return r;
}

int orr_fetch_inputs_to_keep(struct orr_worker *w, struct orr_task *t)
{
    return fetch_inputs(w, t, false);
}

/* The datum of t that has no value; NULL: they all have one. */
static struct orr_data *without_value(struct orr_task *t)
{
    unsigned n = STARPU_TASK_GET_NBUFFERS(t->pub);
    for (unsigned i = 0; i < n; i++) {
        struct orr_data *h = STARPU_TASK_GET_HANDLE(t->pub, i);
        if ((combined_mode(t, h, n) & STARPU_R) && !orr_data_has_value(h)) return h;
    }
    return NULL;
}

void orr_task_without_inputs(struct orr_worker *w, struct orr_task *t, int status)
{
    struct orr_data *none = status == -ENODATA ? without_value(t) : NULL;
    orr_task_fail(t, status);
    orr_fatal(
        "task %s on worker %d: its data could not be brought to memory node %u (%s); it has not run, and "
        "what it was to write has no value",
        orr_task_name(t), w->id, w->node, none ? orr_data_why_none(none) : strerror(-status));
}

bool orr_task_inputs_undo(struct orr_worker *w, struct orr_task *t, bool touched)
{
    unsigned n = STARPU_TASK_GET_NBUFFERS(t->pub);
    bool intact = true;
    if (orr_unlikely(t->flags & ORR_TF_VIEWS)) let_views_go(t);
    for (unsigned i = 0; i < n && (t->flags & ORR_TF_FETCHED); i++) {
        struct input in;
        if (was_fetched(w, t, i, n, &in) && !orr_fetch_undo(in.data, (unsigned)in.node, in.mode, touched))
            intact = false;
    }
    t->flags &= ~(uint32_t)ORR_TF_FETCHED;
    return intact;
}

void orr_task_inputs_done(struct orr_worker *w, struct orr_task *t)
{
    unsigned n = STARPU_TASK_GET_NBUFFERS(t->pub);
    if (orr_unlikely(t->flags & ORR_TF_VIEWS)) let_views_go(t);
    for (unsigned i = 0; i < n; i++) {
        struct input in;
        if (was_fetched(w, t, i, n, &in)) orr_fetch_end(in.data, (unsigned)in.node, in.mode);
    }
}
