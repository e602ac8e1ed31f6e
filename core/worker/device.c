/* SPDX-License-Identifier: BSD-3-Clause */
/* device.c: the loop of workers that are no CPUs.
 * Threads: the worker's. Owns: the pipeline of each. Not here: how inputs are loaded (inputs.c), what
 * surrounds a body (running.c), how a kernel is started (drivers/).
 *
 * A device worker keeps a short pipeline of tasks, in order: the first ones are on the device, the next have
 * their data, the inputs of the last come in. It waits for nothing but the next thing to happen: a kernel
 * that ends, data that have come, a copy of anybody's. Where a driver says so and the program says nothing,
 * brief tasks may be more at a time, as many as take half a millisecond: else the device would wait
 * for its worker, and the worker be woken for each of them. What the device works on at a time is one kernel:
 * of those that are submitted the first has begun for models, profiling and policies when the one before it
 * has ended. */
#include "core/worker/device.h"

#include <errno.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/base/peek.h"
#include "core/mem/node.h"
#include "core/worker/driver.h"
#include "core/worker/elsewhere.h"
#include "core/worker/inputs.h"
#include "core/worker/member.h"
#include "core/worker/park.h"
#include "core/worker/tell.h"
#include "core/worker/wait.h"

enum { PIPELINE_MAX = 16, PIPELINE_DEFAULT = 2 };
enum { AHEAD_US = 500 }; /* brief kernels under way, in time */
enum { KNOWN = 16 };     /* codelets of which is known how long they take */

/* A task in the pipeline. */
struct stage {
    struct orr_input_load load;
    struct orr_kernel kernel;
    int status;               /* of the kernel, once submitted: -EAGAIN: it goes on */
    bool observed;            /* somebody wants to see it run */
    enum orr_trouble trouble; /* what it means when the status is an error */
    uint64_t start;           /* ticks: when it was the first on the device */
};

struct orr_pipeline {
    struct orr_worker *worker; /* [const] */
    unsigned first, count;
    unsigned depth, room; /* tasks at a time; brief ones at most */
    unsigned submitted;   /* the first ones are on the device */
    struct {
        const struct starpu_codelet *cl; /* NULL: none */
        uint64_t ticks;                  /* that its tasks take lately */
    } known[KNOWN];
    struct orr_task *waiting; /* popped, but its load cannot start yet */
    struct stage stages[];
};

/* ---- loading ---- */

/* NULL: out of memory. */
static struct orr_pipeline *pipeline_new(struct orr_worker *w)
{
    const struct orr_env *e = orr_kinds[w->type].pipeline_setting;
    long depth = orr_env_long(e, PIPELINE_DEFAULT, 0, PIPELINE_MAX);
    unsigned brief = orr_env_string(e) ? 0 : w->device->ops->brief_depth;
    if (depth < 1) depth = 1;
    if (brief < depth) brief = (unsigned)depth;
    struct orr_pipeline *p = orr_calloc(1, sizeof *p + brief * sizeof p->stages[0]);
    if (!p) return NULL;
    p->worker = w;
    p->depth = (unsigned)depth;
    p->room = brief;
    return p;
}

static unsigned place_of(const struct starpu_codelet *cl)
{
    uintptr_t at = (uintptr_t)cl / sizeof(void *);
    return (unsigned)((at ^ at / KNOWN ^ at / KNOWN / KNOWN) % KNOWN);
}

/* A task took so long. One that takes longer than those before may be the first of many: it counts at once.
 */
static void pipeline_learn(struct orr_pipeline *p, const struct starpu_codelet *cl, uint64_t ticks)
{
    enum { SHIFT = 4 };
    unsigned i = place_of(cl);
    if (p->room == p->depth) return;
    if (p->known[i].cl != cl || ticks > p->known[i].ticks)
        p->known[i].ticks = ticks;
    else
        p->known[i].ticks -= (p->known[i].ticks - ticks) >> SHIFT;
    p->known[i].cl = cl;
}

/* How many tasks there may be at a time where the last one is of this codelet. What is taken nobody else
 * gets: so more than the setting says are taken only behind those that are known to be brief. */
static unsigned reach_of(const struct orr_pipeline *p, const struct starpu_codelet *cl)
{
    unsigned i = place_of(cl);
    if (p->room == p->depth || p->known[i].cl != cl) return p->depth;
    uint64_t many = orr_us_to_ticks(AHEAD_US) / (p->known[i].ticks + 1);
    return many < p->depth ? p->depth : many > p->room ? p->room : (unsigned)many;
}

static struct stage *stage_at(struct orr_pipeline *p, unsigned i)
{
    return &p->stages[(p->first + i) % p->room];
}

/* It has at least one. */
static bool is_full(struct orr_pipeline *p)
{
    return p->count >= reach_of(p, stage_at(p, p->count - 1)->load.task->pub->cl);
}

/* Whether another task may be loaded: the one before it must have all it needs. */
static bool has_place(struct orr_pipeline *p)
{
    if (p->count == 0) return true;
    struct orr_input_load *last = &stage_at(p, p->count - 1)->load;
    return !is_full(p) && orr_event_is_set(&last->loaded) && !orr_load_relaxed(&last->status);
}

/* Starts loading t. False: another worker loads on the node just now. */
static bool pipeline_add(struct orr_pipeline *p, struct orr_worker *w, struct orr_task *t)
{
    struct orr_input_load *l = &stage_at(p, p->count)->load;
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

static struct orr_task *next_task(struct orr_pipeline *p, struct orr_worker *w)
{
    struct orr_task *t = p->waiting ? p->waiting : w->kept;
    if (t && t == w->kept) w->kept = NULL;
    p->waiting = NULL;
    if (t) return t;
    t = orr_worker_next(w);
    if (t) orr_tell_popped(t, w);
    return t;
}

/* Takes no more tasks for now: the workers pause, or it changes contexts. */
static bool is_called(struct orr_worker *w)
{
    return orr_unlikely(orr_load_relaxed(&orr_parking.attention)) &&
           (orr_load_seq(&orr_parking.paused) || orr_member_called(w));
}

static void hand_back(struct orr_pipeline *p)
{
    struct orr_task *t = p->waiting;
    p->waiting = NULL;
    t->nimpl_valid = 0;
    orr_task_hooks.push(t);
}

/* What it has prepared is run; then it does what it is called for. A task that it took, but did not load,
 * goes back where it is no longer its. */
static void attend(struct orr_pipeline *p, struct orr_worker *w)
{
    orr_worker_attend(w);
    if (p->waiting && !orr_member_may_run(w, p->waiting)) hand_back(p);
}

/* What a device that is out is given goes to others. */
static void hand_on(struct orr_pipeline *p, struct orr_worker *w)
{
    for (struct orr_task *t; !is_called(w) && (t = next_task(p, w)) != NULL;) {
        ORR_EVENT(TASK_TAKEN, t, w->id, t->id, 0);
        if (orr_worker_observes(t)) orr_worker_gave_up(w, t, false);
        orr_task_did_not_run(w, t, ORR_DEVICE_OUT, -ENODEV);
    }
}

static void pipeline_fill(struct orr_pipeline *p, struct orr_worker *w)
{
    if (orr_unlikely(orr_device_is_out(w->device))) {
        hand_on(p, w);
        return;
    }
    while (has_place(p) && !is_called(w)) {
        struct orr_task *t = next_task(p, w);
        if (!t) return;
        if (is_called(w) || !pipeline_add(p, w, t)) { /* it may have been submitted after the call */
            p->waiting = t;
            return;
        }
    }
}

/* ---- on the device ---- */

/* Its kernel is the first on the device. */
static void begins(struct stage *s, struct orr_worker *w)
{
    if (s->observed && s->trouble != ORR_NO_INPUTS) orr_worker_starts(w, s->load.task);
    s->start = orr_ticks();
}

static void leave(struct orr_pipeline *p)
{
    p->first = (p->first + 1) % p->room;
    p->count--;
    p->submitted--;
}

/* The kernel of the first stage failed: nobody may take what it left for a result. */
static void give_up_first(struct orr_pipeline *p, struct orr_worker *w)
{
    struct stage *s = stage_at(p, 0);
    struct orr_task *t = s->load.task;
    enum orr_trouble trouble = s->trouble;
    int status = s->status;
    bool intact = orr_task_inputs_undo(w, t, trouble == ORR_KERNEL_FAILED);
    if (!intact) trouble = ORR_KERNEL_SPOILED;
    if (s->observed) orr_worker_gave_up(w, t, trouble != ORR_NO_INPUTS);
    leave(p);
    if (p->submitted > 0) begins(stage_at(p, 0), w);
    orr_device_failed(w->device, trouble != ORR_NO_INPUTS);
    orr_task_did_not_run(w, t, trouble, status);
}

/* The data without which it can submit nothing, or NULL. */
static struct orr_event *not_loaded(struct orr_pipeline *p)
{
    struct orr_event *e = p->count > p->submitted ? &stage_at(p, p->submitted)->load.loaded : NULL;
    return e && !orr_event_is_set(e) ? e : NULL;
}

/* The task of the first stage is over, and leaves the pipeline. */
static void end_first(struct orr_pipeline *p, struct orr_worker *w)
{
    struct stage *s = stage_at(p, 0);
    struct orr_task *t = s->load.task;
    const struct starpu_codelet *cl = t->pub->cl;
    uint64_t ticks = s->kernel.us > 0 ? orr_us_to_ticks(s->kernel.us) : orr_ticks() - s->start;
    orr_device_worked(w->device);
    pipeline_learn(p, cl, ticks);
    if (s->observed) orr_worker_ended(w, t, ticks);
    if (t->flags & ORR_TF_FETCHED) {
        orr_task_inputs_done(w, t);
        t->flags &= ~(uint32_t)ORR_TF_FETCHED;
    }
    leave(p);
    if (p->submitted > 0) begins(stage_at(p, 0), w); /* before others see w: it has been computing */
    orr_worker_finish(w, t);
    orr_worker_ran(w, cl);
}

/* The device is given the next task, whose data came; those that failed to come are fetched again, alone. */
static void submit_next(struct orr_pipeline *p, struct orr_worker *w)
{
    struct orr_task_thread *self = orr_task_self();
    struct stage *s = stage_at(p, p->submitted++);
    struct orr_task *t = s->load.task;
    orr_inputs_finish(&s->load);
    orr_worker_begin(w, t);
    orr_worker_will_run(w, t->pub->cl);
    self->current = t;
    s->observed = orr_worker_observes(t);
    if (s->observed) orr_worker_popped(w, t);
    s->kernel = (struct orr_kernel){ .timed = s->observed };
    s->trouble = ORR_NO_INPUTS;
    s->status = orr_fetch_task_inputs(w, t);
    if (s->status == 0) {
        s->trouble = ORR_NOT_STARTED;
        if (p->submitted == 1) begins(s, w);
        s->status = w->device->ops->submit(w, t, &s->kernel);
        if (s->status == -EAGAIN) s->trouble = ORR_KERNEL_FAILED;
    }
    self->current = NULL;
}

/* Whether the next task can be given to the device now. */
static bool is_next_ready(struct orr_pipeline *p)
{
    if (p->submitted == p->count) return false;
    struct orr_input_load *l = &stage_at(p, p->submitted)->load;
    if (!orr_event_is_set(&l->loaded)) return false;
    int status = orr_load_relaxed(&l->status);
    if (status == -EAGAIN) { /* it gave back what it had */
        if (orr_inputs_turn(l)) orr_inputs_start(l);
        return false;
    }
    return status == 0 || p->submitted == 0; /* it may have to wait for what kernels on the device use */
}

bool orr_device_give_back(void)
{
    struct orr_worker *w = orr_worker_self();
    struct orr_pipeline *p = w ? orr_load_relaxed(&w->pipeline) : NULL;
    bool any = false;
    for (unsigned i = p ? p->submitted : 0; p && i < p->count; i++)
        any |= orr_inputs_give_back(&stage_at(p, i)->load);
    return any;
}

/* Whether the first kernel on the device is over. */
static bool has_ended(struct orr_pipeline *p, struct orr_worker *w)
{
    if (p->submitted == 0) return false;
    struct stage *s = stage_at(p, 0);
    if (s->status == -EAGAIN) s->status = w->device->ops->test(w, &s->kernel);
    return s->status != -EAGAIN;
}

/* One thing that can happen now; false: nothing. */
static bool pipeline_step(struct orr_pipeline *p, struct orr_worker *w)
{
    if (has_ended(p, w))
        (stage_at(p, 0)->status == 0 ? end_first : give_up_first)(p, w);
    else if (is_next_ready(p))
        submit_next(p, w);
    else
        return false;
    return true;
}

/* ---- the loop ---- */

/* Something is under way: until more of it happens. */
static void wait_a_little(struct orr_pipeline *p, struct orr_worker *w, uint64_t *since)
{
    struct orr_event *(*alarm)(struct orr_worker *, struct orr_kernel *) = w->device->ops->alarm;
    struct orr_event *e = not_loaded(p);
    bool at_once = p->submitted > p->depth || w->device->uses_cores;
    if (!e && p->submitted > 0 && alarm && (at_once || orr_inputs_would_nap(*since))) {
        e = alarm(w, &stage_at(p, 0)->kernel);
        if (e && at_once) {
            orr_inputs_nap(orr_progress_poll, e, p->count > 0 && is_full(p));
            return;
        }
    }
    orr_inputs_wait(w, orr_progress_poll, e, p->submitted > 0, since);
}

/* Nothing to run and nothing on its way: sleeps until there is. False: the runtime stops. */
static bool wait_for_work(struct orr_pipeline *p, struct orr_worker *w)
{
    if (p->waiting) return true;
    if (orr_node_evicts(w->node)) orr_memory_idle(w->node);
    struct orr_task *t = orr_worker_idle(w);
    if (t) orr_tell_popped(t, w);
    if (t) p->waiting = t;
    return t || !orr_load_seq(&orr_parking.stopping) || orr_load_seq(&orr_transfers_active);
}

struct orr_pipeline *orr_device_begin(struct orr_worker *w)
{
    struct orr_pipeline *p = pipeline_new(w);
    orr_store_release(&w->pipeline, p); /* pairs with orr_device_peek */
    return p;
}

void orr_device_end(struct orr_pipeline *p)
{
    if (p->waiting) hand_back(p);
    orr_store_release(&p->worker->pipeline, NULL);
    orr_free(p);
}

bool orr_device_is_empty(const struct orr_pipeline *p)
{
    return p->count == 0;
}

struct orr_task *orr_device_peek(const struct orr_worker *w)
{
    struct orr_pipeline *p = orr_load_acquire(&w->pipeline), now;
    struct orr_task *t = NULL;
    if (!p || !orr_peek(&now, p, sizeof now) || now.submitted == 0 || now.room == 0) return NULL;
    const struct stage *first = &p->stages[now.first % now.room];
    return orr_peek(&t, &first->load.task, sizeof t) ? t : NULL;
}

void orr_device_wait(struct orr_pipeline *p, struct orr_worker *w, uint64_t *since)
{
    wait_a_little(p, w, since);
}

bool orr_device_step(struct orr_pipeline *p, struct orr_worker *w)
{
    if (is_called(w) && p->count == 0) attend(p, w);
    pipeline_fill(p, w);
    return p->count > 0 && pipeline_step(p, w);
}

void orr_device_loop(struct orr_worker *w)
{
    struct orr_pipeline *p = orr_device_begin(w);
    if (!p) {
        orr_fatal("worker %d: out of memory for its pipeline", w->id);
        return;
    }
    uint64_t since = 0;
    for (;;) {
        if (orr_device_step(p, w)) {
            since = 0;
            continue;
        }
        if (p->count == 0 && since == 0) orr_wait_check(); /* it may have ended the last task */
        if (p->count > 0 || (p->waiting && !orr_load_relaxed(&orr_parking.paused)) ||
            orr_load_relaxed(&orr_transfers_active))
            wait_a_little(p, w, &since);
        else if (!wait_for_work(p, w))
            break;
        else
            since = 0;
    }
    orr_device_end(p);
}
