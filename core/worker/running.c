/* SPDX-License-Identifier: BSD-3-Clause */
/* running.c: one task, from its inputs to its end, on the worker that is to run it.
 * Threads: the worker's. Owns: what is known of the duration of codelets. Not here: pipelines of devices
 * (device.c), bringing inputs (inputs.c), parallel bodies (parallel.c), what an end releases
 * (core/task/complete.c). */
#include "core/worker/worker.h"

#include "core/base/clock.h"
#include "core/task/perf.h"
#include "core/worker/elsewhere.h"
#include "core/worker/inputs.h"
#include "core/worker/parallel.h"
#include "core/worker/park.h"
#include "core/worker/tell.h"
#include "core/worker/wait.h"

enum { THRESHOLD_CHECK_EVERY = 16 };
static const double short_task_us = 4.0, poll_every_us = 20.0;
static uint64_t short_ticks, poll_ticks; /* [const while workers run] */

/* Where the duration of a codelet's tasks is kept. Codelets lie side by side: it takes more of their
 * addresses than a few bits (multiplicative hashing, Knuth, The Art of Computer Programming 6.4). */
static inline unsigned recent_index(const struct starpu_codelet *cl)
{
    _Static_assert(ORR_CODELET_CACHE == 1 << 4, "the bits that are left");
    return (uint32_t)((uintptr_t)cl >> 3) * UINT32_C(2654435769) >> 28;
}

/* What is known of the duration of tasks of this codelet on this worker. */
static bool known_short(struct orr_worker *w, const struct starpu_codelet *cl)
{
    unsigned i = recent_index(cl);
    return w->recent[i].cl == cl && w->recent[i].ticks < short_ticks;
}

double orr_worker_recent_ns(const struct orr_worker *w, const struct starpu_codelet *cl)
{
    unsigned i = recent_index(cl);
    return w->recent[i].cl == cl ? orr_ticks_to_us(w->recent[i].ticks) * 1000 : 0;
}

static void note_duration(struct orr_worker *w, const struct starpu_codelet *cl, uint64_t ticks)
{
    unsigned i = recent_index(cl);
    if (w->recent[i].cl != cl) {
        w->recent[i].cl = cl;
        w->recent[i].ticks = ticks;
    } else {
        w->recent[i].ticks = (w->recent[i].ticks * 3 + ticks) / 4;
    }
}

/* Interfaces of inputs that need no fetching; false when one does. */
static inline bool gather_interfaces(struct orr_task *t, void **itf)
{
    struct starpu_task *p = t->pub;
    starpu_data_handle_t *handles = STARPU_TASK_GET_HANDLES(p);
    unsigned n = STARPU_TASK_GET_NBUFFERS(p);
    for (unsigned i = 0; i < n; i++) {
        orr_prefetch_write(handles[i]); /* this line is written when the task ends */
        itf[i] = orr_load_acquire(&handles[i]->ready_interface); /* pairs with orr_data_update_ready_locked */
        if (orr_unlikely(!itf[i])) return false;
    }
    return true;
}

static void release_inputs(struct orr_worker *w, struct orr_task *t)
{
    orr_task_inputs_done(w, t);
    t->flags &= ~(uint32_t)ORR_TF_FETCHED;
}

/* Brings t's data here: 0 or -errno. */
static inline int bring_inputs(struct orr_worker *w, struct orr_task *t)
{
    struct starpu_task *p = t->pub;
    if (orr_likely((t->flags & (ORR_TF_PLAIN | ORR_TF_NODES)) == ORR_TF_PLAIN && !p->cl->specific_nodes &&
                   gather_interfaces(t, STARPU_TASK_GET_INTERFACES(p))))
        return 0;
    return orr_fetch_task_inputs(w, t);
}

/* Runs the body; its data is here. */
static inline void call_body(struct orr_task *t)
{
    struct starpu_task *p = t->pub;
    p->cl->cpu_funcs[t->nimpl](STARPU_TASK_GET_INTERFACES(p), p->cl_arg);
}

/* 0; -errno: its data could not be brought. */
static inline int run_body(struct orr_worker *w, struct orr_task *t)
{
    int r = bring_inputs(w, t);
    if (orr_unlikely(r != 0)) return r;
    call_body(t);
    if (orr_unlikely(t->flags & ORR_TF_FETCHED)) release_inputs(w, t);
    return 0;
}

static inline bool is_observed(const struct orr_task *t)
{
    static const uint64_t events = ORR_EVENT_BIT(BODY_HOOKED) | ORR_EVENT_BIT(TASK_PLACED) |
                                   ORR_EVENT_BIT(TASK_POPPED) | ORR_EVENT_BIT(TASK_TAKEN) |
                                   ORR_EVENT_BIT(TASK_STARTED) | ORR_EVENT_BIT(TASK_ENDED) |
                                   ORR_EVENT_BIT(TASK_GIVEN_UP);
    const struct starpu_task *p = t->pub;
    return p->cl->model || p->prologue_callback_pop_func || p->cl->energy_model || orr_events_wanted(events);
}

static inline void popped(struct orr_worker *w, struct orr_task *t)
{
    struct starpu_task *p = t->pub;
    ORR_EVENT(TASK_TAKEN, t, w->id, t->id, 0);
    if (!p->prologue_callback_pop_func || (t->flags & ORR_TF_POPPED)) return;
    t->flags |= ORR_TF_POPPED;
    orr_call_back(t, p->prologue_callback_pop_func, p->prologue_callback_pop_arg);
}

static inline void starts(struct orr_worker *w, struct orr_task *t)
{
    struct orr_ctx *ctx = &orr_contexts[t->sched_ctx];
    if (ctx->policy->pre_exec) ctx->policy->pre_exec(ctx->instance, t, w);
    ORR_EVENT(TASK_STARTED, t, w->id, orr_perf_workers[w->id].comb, w->id);
}

static inline void ended(struct orr_worker *w, struct orr_task *t, uint64_t ticks)
{
    struct orr_ctx *ctx = &orr_contexts[t->sched_ctx];
    if (orr_unlikely(t->flags & ORR_TF_FETCHED)) release_inputs(w, t);
    ORR_EVENT(TASK_ENDED, t, w->id, ticks, t->id);
    orr_perf_task_done(w, t, ticks);
    if (ctx->policy->post_exec) ctx->policy->post_exec(ctx->instance, t, w);
}

void orr_worker_gave_up(struct orr_worker *w, struct orr_task *t, bool started)
{
    struct orr_ctx *ctx = &orr_contexts[t->sched_ctx];
    if (!started && ctx->policy->pre_exec) ctx->policy->pre_exec(ctx->instance, t, w);
    ORR_EVENT(TASK_GIVEN_UP, t, w->id, started, t->id);
    if (ctx->policy->post_exec) ctx->policy->post_exec(ctx->instance, t, w);
}

/* Who sees the new time sees that it is no longer the old job's. */
static inline void body_begins(struct orr_worker *w, const struct orr_task *t, uint64_t now)
{
    orr_store_release(&w->body_since, now); /* these two pair with orr_worker_body */
    orr_store_release(&w->body_job, t->id);
}

uint64_t orr_worker_body(const struct orr_worker *w, uint64_t *since_out)
{
    uint64_t job = orr_load_acquire(&w->body_job), since = orr_load_acquire(&w->body_since);
    if (orr_load_acquire(&w->body_job) != job) return 0;
    *since_out = since;
    return job;
}

/* Whatever needs more than calling the body: models, observers, hooks of a policy, callbacks at pop. */
static inline int run_body_observed(struct orr_worker *w, struct orr_task *t)
{
    orr_tell_popped(t, w);
    popped(w, t);
    int r = bring_inputs(w, t); /* models and hooks see the computation alone */
    if (orr_unlikely(r != 0)) {
        orr_worker_gave_up(w, t, false);
        return r;
    }
    starts(w, t);
    uint64_t start = orr_ticks();
    body_begins(w, t, start);
    call_body(t);
    ended(w, t, orr_ticks() - start);
    orr_store_relaxed(&w->body_job, 0);
    return 0;
}

void orr_worker_begin(struct orr_worker *w, struct orr_task *t)
{
    struct starpu_task *p = t->pub;
    if (orr_unlikely(!t->nimpl_valid)) {
        unsigned nimpl = 0;
        orr_worker_can_run(w, t, &nimpl);
        t->nimpl = (uint8_t)nimpl;
        t->nimpl_valid = 1;
    }
    t->worker = (int16_t)w->id;
    orr_store_relaxed(&t->state, ORR_TASK_RUNNING);
    p->status = STARPU_TASK_RUNNING;
    if (orr_likely(!(t->flags & ORR_TF_UNCOUNTED)))
        p->cl->per_worker_stats[w->id]++; /* nobody waits for this line: it may travel while the body runs */
}

void orr_worker_finish(struct orr_worker *w, struct orr_task *t)
{
    struct orr_task_thread *self = orr_task_self();
    struct orr_ready_list released = { NULL, NULL };
    orr_own_add(&w->tasks_run, 1);
    self->collect = &released;
    if (orr_task_body_done(t)) orr_task_complete(t);
    self->collect = NULL;
    if (released.head) orr_ready_dispatch(&released, &w->kept);
    if (orr_unlikely(orr_load_relaxed(&orr_wait_thresholds)) &&
        orr_load_relaxed(&w->tasks_run) % THRESHOLD_CHECK_EVERY == 0)
        orr_wait_check();
}

static inline void note_run(struct orr_worker *w, const struct starpu_codelet *cl)
{
    uint64_t now = orr_ticks();
    if (orr_likely(w->last_ticks)) note_duration(w, cl, now - w->last_ticks);
    w->last_ticks = now;
    if (orr_unlikely(now - w->poll_ticks > poll_ticks)) {
        w->poll_ticks = now;
        orr_progress_poll();
    }
}

void orr_worker_run(struct orr_worker *w, struct orr_task *t)
{
    struct orr_task_thread *self = orr_task_self();
    struct starpu_codelet *cl = t->pub->cl;
    if (orr_unlikely(t->flags & ORR_TF_TEAM)) {
        orr_team_run(w, t);
        return;
    }
    orr_worker_begin(w, t);
    orr_worker_expects(w, known_short(w, cl));
    self->current = t;
    int r = orr_likely(!is_observed(t)) ? run_body(w, t) : run_body_observed(w, t);
    self->current = NULL;
    if (orr_likely(r == 0))
        orr_worker_finish(w, t);
    else
        orr_task_did_not_run(w, t, ORR_NO_INPUTS, r);
    note_run(w, cl);
}

/* ---- the same in pieces, for device.c ---- */

bool orr_worker_observes(const struct orr_task *t)
{
    return is_observed(t);
}

void orr_worker_popped(struct orr_worker *w, struct orr_task *t)
{
    popped(w, t);
}

void orr_worker_starts(struct orr_worker *w, struct orr_task *t)
{
    starts(w, t);
    ORR_EVENT(TASK_LAUNCHED, t, w->id, 0, 0);
}

void orr_worker_ended(struct orr_worker *w, struct orr_task *t, uint64_t ticks)
{
    ended(w, t, ticks);
}

void orr_worker_will_run(struct orr_worker *w, const struct starpu_codelet *cl)
{
    orr_worker_expects(w, known_short(w, cl));
}

void orr_worker_ran(struct orr_worker *w, const struct starpu_codelet *cl)
{
    note_run(w, cl);
}

void orr_running_init(void)
{
    short_ticks = orr_us_to_ticks(short_task_us);
    poll_ticks = orr_us_to_ticks(poll_every_us);
}
