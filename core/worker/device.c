/* SPDX-License-Identifier: BSD-3-Clause */
/* device.c: the loop of workers whose node is not main memory.
 * Threads: the worker's. Owns: the pipeline of each device worker. Not here: how inputs are loaded
 * (inputs.c), how a body is run (running.c).
 *
 * A device worker keeps a short pipeline: while one task runs, the inputs of the next come in. */
#include "core/worker/device.h"

#include <errno.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/mem/node.h"
#include "core/worker/inputs.h"
#include "core/worker/member.h"
#include "core/worker/park.h"
#include "core/worker/profile.h"
#include "core/worker/wait.h"

enum { PIPELINE_MAX = 16, PIPELINE_DEFAULT = 2 };

struct pipeline {
    struct orr_input_load loads[PIPELINE_MAX];
    unsigned first, count, depth;
    struct orr_task *waiting; /* popped, but its load cannot start yet */
};

static unsigned pipeline_depth(const struct orr_worker *w)
{
    const struct orr_env *e = orr_kinds[w->type].pipeline_setting;
    long depth = orr_env_long(e, PIPELINE_DEFAULT, 0, PIPELINE_MAX);
    return depth < 1 ? 1 : (unsigned)depth;
}

static struct orr_input_load *load_at(struct pipeline *p, unsigned i)
{
    return &p->loads[(p->first + i) % PIPELINE_MAX];
}

/* Whether another task may be loaded: the one before it must have all it needs. */
static bool has_place(struct pipeline *p)
{
    if (p->count == 0) return true;
    struct orr_input_load *last = load_at(p, p->count - 1);
    return p->count < p->depth && orr_event_is_set(&last->loaded) && !orr_load_relaxed(&last->status);
}

/* Starts loading t. False: another worker loads on the node just now. */
static bool pipeline_add(struct pipeline *p, struct orr_worker *w, struct orr_task *t)
{
    struct orr_input_load *l = load_at(p, p->count);
    int r = orr_inputs_prepare(l, w, t, true);
    if (r == 0 && !orr_inputs_turn(l)) {
        if (l->heap) orr_free(l->fetches);
        return false;
    }
    p->count++;
    if (r == 0) {
        orr_inputs_start(l);
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
    struct orr_input_load *l = load_at(p, 0);
    if (!orr_event_is_set(&l->loaded)) return false;
    if (orr_load_relaxed(&l->status) == -EAGAIN) { /* it gave back what it had */
        if (orr_inputs_turn(l)) orr_inputs_start(l);
        return false;
    }
    struct orr_task *t = l->task;
    orr_inputs_finish(l); /* what failed is fetched again, alone, and reported by orr_worker_run */
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

void orr_device_loop(struct orr_worker *w)
{
    struct pipeline *p = orr_calloc(1, sizeof *p);
    if (!p) {
        orr_fatal("worker %d: out of memory for its pipeline", w->id);
        return;
    }
    p->depth = pipeline_depth(w);
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
            orr_inputs_wait(w, orr_progress_poll, not_loaded(p), &since);
        else if (!wait_for_work(p, w))
            break;
        else
            since = 0;
    }
    orr_free(p);
}
