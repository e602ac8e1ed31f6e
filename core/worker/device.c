/* SPDX-License-Identifier: BSD-3-Clause */
/* device.c: bringing a task's data to its worker, and the loop of workers whose node is not main memory.
 * Threads: the worker's; fetches end on any. Owns: the loads of each device worker. Not here: how a body is
 * run (running.c).
 *
 * A device worker keeps a short pipeline: while one task runs, the inputs of the next come in. A task is
 * loaded by starting a fetch for each of its data, when it has the turn of each device's node on which it has
 * some (core/data/hungry.c, which may also ask it to give everything back and to begin again). A task that is
 * loaded needs nothing more to run, so memory comes back. */
#include "core/worker/device.h"

#include <errno.h>
#include <string.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/data/coherency.h"
#include "core/data/layouts.h"
#include "core/mem/node.h"
#include "core/task/redux.h"
#include "core/worker/member.h"
#include "core/worker/park.h"
#include "core/worker/profile.h"
#include "core/worker/wait.h"

enum { INLINE_FETCHES = 8, PIPELINE_MAX = 16, PIPELINE_DEFAULT = 2 };

/* A task whose data are on their way. */
struct load {
    struct orr_worker *worker;
    struct orr_task *task;
    struct orr_fetch *fetches; /* inline_fetches or heap */
    unsigned count;
    uint32_t nodes, turns; /* devices' nodes that it uses; whose turn it has */
    bool heap;
    _Atomic int left;   /* fetches outstanding; publishes status */
    _Atomic int status; /* the first error */
    struct orr_event loaded;
    struct orr_fetch inline_fetches[INLINE_FETCHES];
};

/* ---- what a task uses, and where ---- */

/* One datum of a task: what is fetched for it. */
struct input {
    struct orr_data *data; /* the handle, or the worker's private part of it */
    int node;              /* -1: nothing is fetched */
    int mode;
};

static bool valid_on(struct orr_data *h, unsigned node)
{
    orr_spin_lock(&h->queue.lock);
    bool valid = node < h->nnodes && h->replicates[node].state != ORR_INVALID;
    orr_spin_unlock(&h->queue.lock);
    return valid;
}

static int node_for(struct orr_worker *w, struct orr_task *t, unsigned i, struct orr_data *h)
{
    if (orr_likely(!orr_task_has_nodes(t->pub))) return (int)w->node;
    int wanted = orr_task_wanted_node(t->pub, i);
    if (wanted >= 0) return wanted < (int)h->nnodes ? wanted : (int)w->node;
    switch (wanted) {
    case STARPU_SPECIFIC_NODE_CPU:
    case STARPU_SPECIFIC_NODE_SLOW: return STARPU_MAIN_RAM;
    case STARPU_SPECIFIC_NODE_LOCAL_OR_CPU:
    case STARPU_SPECIFIC_NODE_LOCAL_OR_SIMILAR_OR_CPU:
        return !valid_on(h, w->node) && valid_on(h, STARPU_MAIN_RAM) ? STARPU_MAIN_RAM : (int)w->node;
    case STARPU_SPECIFIC_NODE_NONE: return -1;
    default: return (int)w->node;
    }
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

static bool named_before(struct orr_task *t, unsigned i)
{
    struct orr_data *h = STARPU_TASK_GET_HANDLE(t->pub, i);
    const struct orr_access *a = access_to(t, h);
    if (a) return a->index < i;
    for (unsigned j = 0; j < i; j++)
        if (STARPU_TASK_GET_HANDLE(t->pub, j) == h) return true;
    return false;
}

/* Datum i for worker w. 0, -ENOMEM, or another error that was reported. */
static int input_of(struct orr_worker *w, struct orr_task *t, unsigned i, unsigned n, struct input *out)
{
    struct orr_data *h = STARPU_TASK_GET_HANDLE(t->pub, i);
    int mode = combined_mode(t, h, n);
    *out = (struct input){ .data = h, .node = node_for(w, t, i, h), .mode = mode };
    if (mode & STARPU_SCRATCH) {
        out->data = orr_data_scratch(h, (unsigned)w->id);
        out->mode = STARPU_SCRATCH;
    } else if (mode & (STARPU_REDUX | STARPU_MPI_REDUX)) {
        out->data = orr_redux_contribution(h, (unsigned)w->id);
        out->mode = STARPU_RW;
    } else if (!mode) {
        out->node = -1;
    }
    return out->data ? 0 : -ENOMEM;
}

/* ---- loading ---- */

static void turn_take_back(struct load *l)
{
    for (; l->turns; l->turns &= l->turns - 1) orr_memory_load_end((unsigned)__builtin_ctz(l->turns));
}

/* Whether l may load on all its nodes now. */
static bool turn_take(struct load *l)
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

/* All fetches of l are over: its task has its data, or none of them. l may be gone on return. */
static void load_over(struct load *l)
{
    turn_take_back(l);
    for (unsigned i = 0; orr_load_relaxed(&l->status) && i < l->count; i++) {
        struct orr_fetch *f = &l->fetches[i];
        if (f->pinned)
            orr_fetch_end(f->handle, f->node, f->mode & STARPU_SCRATCH ? STARPU_SCRATCH : STARPU_R);
    }
    orr_event_set(&l->loaded);
}

static void input_arrived(struct orr_fetch *f, int status)
{
    struct load *l = f->arg;
    if (status) orr_store_relaxed(&l->status, status);
    if (orr_sub_acq_rel(&l->left, 1) == 1) load_over(l);
}

/* The list of fetches and the interfaces of the task; nothing is started. */
static int load_prepare(struct load *l, struct orr_worker *w, struct orr_task *t, bool quiet)
{
    struct starpu_task *p = t->pub;
    unsigned n = STARPU_TASK_GET_NBUFFERS(p);
    void **itf = STARPU_TASK_GET_INTERFACES(p);
    l->worker = w;
    l->task = t;
    l->count = 0;
    l->heap = n > INLINE_FETCHES;
    l->nodes = l->turns = 0;
    l->fetches = l->heap ? orr_calloc(n, sizeof *l->fetches) : l->inline_fetches;
    if (!l->fetches) return -ENOMEM;
    for (unsigned i = 0; i < n; i++) {
        struct input in;
        int r = input_of(w, t, i, n, &in);
        if (r) {
            if (l->heap) orr_free(l->fetches);
            l->heap = false;
            return r;
        }
        itf[i] = in.data->replicates[in.node < 0 ? 0 : in.node].interface;
        if (in.node < 0 || named_before(t, i)) continue;
        if (orr_unlikely(in.data->formats)) t->flags |= ORR_TF_FORMATS;
        l->fetches[l->count++] = (struct orr_fetch){ .done = input_arrived,
                                                     .handle = in.data,
                                                     .node = (uint16_t)in.node,
                                                     .mode = (uint16_t)in.mode,
                                                     .quiet = quiet,
                                                     .layout = ORR_LAYOUT_ANY,
                                                     .set = l->fetches,
                                                     .arg = l };
        if (in.node != STARPU_MAIN_RAM) l->nodes |= UINT32_C(1) << in.node;
    }
    for (unsigned i = 0; i < l->count; i++) l->fetches[i].set_count = (uint16_t)l->count;
    return 0;
}

/* Starts the fetches. l must stay where it is until it is loaded. */
static void load_start(struct load *l)
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

/* Ends a load that is over. */
static int load_finish(struct load *l)
{
    int status = orr_load_relaxed(&l->status);
    if (l->heap) orr_free(l->fetches);
    if (status == 0) l->task->flags = (l->task->flags | ORR_TF_FETCHED) & ~(uint32_t)ORR_TF_PLAIN;
    return status;
}

/* Waits for transfers, perhaps for one event, without holding a core that others need. Callbacks that a poll
 * runs are no waiting. *since: 0 after each movement. */
static void wait_a_little(struct orr_worker *w, bool (*poll)(void), struct orr_event *e, uint64_t *since)
{
    enum { NAP_NS = 50000 };
    uint64_t now = orr_ticks();
    bool moved = poll();
    if (moved || *since == 0) {
        *since = moved ? 0 : now;
        return;
    }
    orr_store_relaxed(&w->waits_for_data, true);
    if (now - *since < orr_us_to_ticks(200))
        sched_yield();
    else if (e)
        orr_event_nap(e, NAP_NS);
    else
        nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
    orr_store_relaxed(&w->waits_for_data, false);
}

static int load_blocking(struct orr_worker *w, struct orr_task *t)
{
    struct load l;
    int r = load_prepare(&l, w, t, false);
    if (r) return r;
    do {
        uint64_t since = 0;
        while (!turn_take(&l)) wait_a_little(w, orr_transfers_poll, NULL, &since);
        load_start(&l);
        while (!orr_event_is_set(&l.loaded)) wait_a_little(w, orr_transfers_poll, &l.loaded, &since);
    } while (orr_load_relaxed(&l.status) == -EAGAIN);
    return load_finish(&l);
}

/* The node whose interface a task was given; -1: none of h's. */
static int node_given(struct orr_data *h, const void *itf)
{
    for (unsigned n = 0; n < h->nnodes; n++)
        if (h->replicates[n].interface == itf) return (int)n;
    return -1;
}

/* What was fetched as datum i. False: nothing. */
static bool was_fetched(struct orr_worker *w, struct orr_task *t, unsigned i, unsigned n, struct input *out)
{
    struct orr_data *h = STARPU_TASK_GET_HANDLE(t->pub, i);
    int mode = combined_mode(t, h, n);
    if (!mode || named_before(t, i) || node_for(w, t, i, h) < 0) return false;
    if (mode & STARPU_SCRATCH) {
        h = h->rare->scratch_per_worker[w->id];
        mode = STARPU_SCRATCH;
    } else if (mode & (STARPU_REDUX | STARPU_MPI_REDUX)) {
        h = h->rare->redux_per_worker[w->id];
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

/* Multiformat data that were fetched are put into the layout that t uses, here, on its worker; that needs no
 * memory and waits for other conversions only. On an error the uses are ended. */
static int convert_inputs(struct orr_worker *w, struct orr_task *t)
{
    unsigned n = STARPU_TASK_GET_NBUFFERS(t->pub);
    int r = 0;
    for (unsigned i = 0; i < n && r == 0; i++) {
        struct input in;
        if (was_fetched(w, t, i, n, &in) && in.data->formats) r = convert_input(w, t, &in);
    }
    if (r == 0) return 0;
    orr_task_inputs_done(w, t);
    t->flags &= ~(uint32_t)ORR_TF_FETCHED;
    return r;
}

int orr_fetch_task_inputs(struct orr_worker *w, struct orr_task *t)
{
    int r = t->flags & ORR_TF_FETCHED ? 0 : load_blocking(w, t);
    return r == 0 && orr_unlikely(t->flags & ORR_TF_FORMATS) ? convert_inputs(w, t) : r;
}

/* The datum of t that has no value; NULL: they all have one. */
static struct orr_data *without_value(struct orr_task *t)
{
    unsigned n = STARPU_TASK_GET_NBUFFERS(t->pub);
    for (unsigned i = 0; i < n; i++) {
        struct orr_data *h = STARPU_TASK_GET_HANDLE(t->pub, i);
        if ((combined_mode(t, h, n) & STARPU_R) && !h->initialized) return h;
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

void orr_task_inputs_done(struct orr_worker *w, struct orr_task *t)
{
    unsigned n = STARPU_TASK_GET_NBUFFERS(t->pub);
    for (unsigned i = 0; i < n; i++) {
        struct input in;
        if (was_fetched(w, t, i, n, &in)) orr_fetch_end(in.data, (unsigned)in.node, in.mode);
    }
}

/* ---- the loop ---- */

struct pipeline {
    struct load loads[PIPELINE_MAX];
    unsigned first, count, depth;
    struct orr_task *waiting; /* popped, but its load cannot start yet */
};

static unsigned pipeline_depth(const struct orr_worker *w)
{
    const struct orr_env *e = orr_kinds[w->type].pipeline_setting;
    long depth = orr_env_long(e, PIPELINE_DEFAULT, 0, PIPELINE_MAX);
    return depth < 1 ? 1 : (unsigned)depth;
}

static struct load *load_at(struct pipeline *p, unsigned i)
{
    return &p->loads[(p->first + i) % PIPELINE_MAX];
}

/* Whether another task may be loaded: the one before it must have all it needs. */
static bool has_place(struct pipeline *p)
{
    if (p->count == 0) return true;
    struct load *last = load_at(p, p->count - 1);
    return p->count < p->depth && orr_event_is_set(&last->loaded) && !orr_load_relaxed(&last->status);
}

/* Starts loading t. False: another worker loads on the node just now. */
static bool pipeline_add(struct pipeline *p, struct orr_worker *w, struct orr_task *t)
{
    struct load *l = load_at(p, p->count);
    int r = load_prepare(l, w, t, true);
    if (r == 0 && !turn_take(l)) {
        if (l->heap) orr_free(l->fetches);
        return false;
    }
    p->count++;
    if (r == 0) {
        load_start(l);
        return true;
    }
    l->count = 0; /* it is tried again when its turn to run comes, and then reported */
    orr_event_init(&l->loaded);
    orr_store_relaxed(&l->status, r);
    orr_event_set(&l->loaded);
    return true;
}

static struct orr_task *next_task(struct pipeline *p, struct orr_worker *w)
{
    struct orr_task *t = p->waiting ? p->waiting : w->kept;
    if (t && t == w->kept) w->kept = NULL;
    p->waiting = NULL;
    if (t) return t;
    t = orr_worker_next(w);
    if (t && orr_unlikely(orr_load_relaxed(&w->observed))) orr_profile_popped(w, t);
    return t;
}

/* Takes no more tasks for now: the workers pause, or it changes contexts. */
static bool is_called(struct orr_worker *w)
{
    return orr_unlikely(orr_load_relaxed(&orr_lot.attention)) &&
           (orr_load_seq(&orr_lot.paused) || orr_member_called(w));
}

/* What it has prepared is run; then it does what it is called for. A task that it took, but did not load,
 * goes back where it is no longer its. */
static void attend(struct pipeline *p, struct orr_worker *w)
{
    orr_worker_attend(w);
    struct orr_task *t = p->waiting;
    if (!t || orr_member_may_run(w, t)) return;
    p->waiting = NULL;
    t->nimpl_valid = 0;
    orr_task_hooks.push(t);
}

static void pipeline_fill(struct pipeline *p, struct orr_worker *w)
{
    while (has_place(p) && !is_called(w)) {
        struct orr_task *t = next_task(p, w);
        if (!t) return;
        if (is_called(w) || !pipeline_add(p, w, t)) { /* it may have been submitted after the call */
            p->waiting = t;
            return;
        }
    }
}

/* Runs the first task if its data are there. */
static bool pipeline_run(struct pipeline *p, struct orr_worker *w)
{
    struct load *l = load_at(p, 0);
    if (!orr_event_is_set(&l->loaded)) return false;
    if (orr_load_relaxed(&l->status) == -EAGAIN) { /* it gave back what it had */
        if (turn_take(l)) load_start(l);
        return false;
    }
    struct orr_task *t = l->task;
    load_finish(l); /* what failed is fetched again, alone, and reported by orr_worker_run */
    p->first = (p->first + 1) % PIPELINE_MAX;
    p->count--;
    orr_worker_run(w, t);
    return true;
}

/* What it waits for before it can run its first task, or NULL. */
static struct orr_event *not_loaded(struct pipeline *p)
{
    struct orr_event *e = p->count > 0 ? &load_at(p, 0)->loaded : NULL;
    return e && !orr_event_is_set(e) ? e : NULL;
}

/* Nothing to run and nothing on its way: sleeps until there is. False: the runtime stops. */
static bool wait_for_work(struct pipeline *p, struct orr_worker *w)
{
    if (p->waiting) return true;
    struct orr_task *t = orr_worker_idle(w);
    if (t && orr_unlikely(orr_load_relaxed(&w->observed))) orr_profile_popped(w, t);
    if (t) p->waiting = t;
    return t || !orr_load_seq(&orr_lot.stopping) || orr_load_seq(&orr_transfers_active);
}

static void wake_devices(void)
{
    for (unsigned i = 0; i < orr_worker_count; i++)
        if (orr_workers[i].node != STARPU_MAIN_RAM) orr_wake_worker(&orr_workers[i]);
}

void orr_device_loop(struct orr_worker *w)
{
    struct pipeline *p = orr_calloc(1, sizeof *p);
    if (!p) {
        orr_fatal("worker %d: out of memory for its pipeline", w->id);
        return;
    }
    p->depth = pipeline_depth(w);
    orr_store_release(&orr_transfers_started, wake_devices);
    uint64_t since = 0;
    for (;;) {
        if (is_called(w) && p->count == 0) attend(p, w);
        pipeline_fill(p, w);
        if (p->count > 0 && pipeline_run(p, w)) {
            since = 0;
            continue;
        }
        if (p->count == 0 && since == 0) orr_wait_check(); /* it may have ended the last task */
        if (p->count > 0 || (p->waiting && !orr_load_relaxed(&orr_lot.paused)) ||
            orr_load_relaxed(&orr_transfers_active))
            wait_a_little(w, orr_progress_poll, not_loaded(p), &since);
        else if (!wait_for_work(p, w))
            break;
        else
            since = 0;
    }
    orr_free(p);
}
