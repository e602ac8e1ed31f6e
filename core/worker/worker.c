/* SPDX-License-Identifier: BSD-3-Clause */
/* worker.c: the threads that run tasks.
 * Threads: one per worker; start, stop, pause and resume by the program's. Owns: the table of workers.
 * Not here: idling (park.c), devices with a memory of their own (device.c), questions about workers
 * (query.c). */
#include "core/worker/worker.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/data/coherency.h"
#include "core/mem/node.h"
#include "core/task/perf.h"
#include "core/task/ready_soon.h"
#include "core/task/prefetch.h"
#include "core/task/redux.h"
#include "core/topo/topo.h"
#include "core/worker/counters.h"
#include "core/worker/crash.h"
#include "core/worker/device.h"
#include "core/worker/driver.h"
#include "core/worker/joblist.h"
#include "core/worker/member.h"
#include "core/worker/parallel.h"
#include "core/worker/park.h"
#include "core/worker/profile.h"
#include "core/worker/several.h"
#include "core/worker/tally.h"
#include "core/worker/wait.h"

enum { KEPT_IN_A_ROW_MAX = 64, JOBS_IN_A_ROW_MAX = 64, THRESHOLD_CHECK_EVERY = 16 };
static const double short_task_us = 4.0, poll_every_us = 20.0;

struct orr_worker orr_workers[STARPU_NMAXWORKERS];
unsigned orr_worker_count;
struct orr_ctx orr_contexts[STARPU_NMAX_SCHED_CTXS] = { [0 ... STARPU_NMAX_SCHED_CTXS -
                                                         1] = { .change_lock = PTHREAD_MUTEX_INITIALIZER } };

static uint64_t short_ticks, poll_ticks; /* [const while workers run] */
static _Atomic unsigned workers_up;

/* ---- choosing an implementation ---- */

static bool allowed_by_mask(const struct starpu_task *p, unsigned id)
{
    return p->workerids_len == 0 || (id / 32 < p->workerids_len && (p->workerids[id / 32] >> (id % 32) & 1));
}

bool orr_worker_can_run_impl(struct orr_worker *w, struct orr_task *t, unsigned nimpl)
{
    struct starpu_task *p = t->pub;
    struct starpu_codelet *cl = p->cl;
    if (!(orr_task_where(p) & w->where) || !w->driver->has_impl(cl, nimpl)) return false;
    if (p->workerids_len && !allowed_by_mask(p, (unsigned)w->id)) return false;
    return !cl->can_execute || cl->can_execute((unsigned)w->id, p, nimpl);
}

bool orr_worker_can_run(struct orr_worker *w, struct orr_task *t, unsigned *nimpl_out)
{
    for (unsigned i = 0; i < STARPU_MAXIMPLEMENTATIONS; i++)
        if (orr_worker_can_run_impl(w, t, i)) {
            *nimpl_out = i;
            return true;
        }
    return false;
}

/* ---- a worker's own queue ---- */

/* Moves ordered tasks whose turn has come to the queue. Called with local_lock held. */
static void admit_ordered_locked(struct orr_worker *w)
{
    while (w->ordered && w->ordered->pub->workerorder <= w->next_order) {
        struct orr_task *t = w->ordered;
        w->ordered = t->next;
        if (t->pub->workerorder == w->next_order) w->next_order++; /* else used twice */
        t->next = NULL;
        if (w->local_head)
            w->local_tail->next = t;
        else
            w->local_head = t;
        w->local_tail = t;
        orr_add_seq(&w->local_count, 1);
    }
}

/* True when order number n of w had its turn, or is taken by a task that is ready. Called with local_lock
 * held. */
static bool order_is_taken_locked(const struct orr_worker *w, unsigned n)
{
    const struct orr_task *t = w->ordered;
    while (t && t->pub->workerorder < n) t = t->next;
    return n < w->next_order || (t && t->pub->workerorder == n);
}

static void insert_ordered_locked(struct orr_worker *w, struct orr_task *t)
{
    struct orr_task **at = &w->ordered;
    while (*at && (*at)->pub->workerorder < t->pub->workerorder) at = &(*at)->next;
    t->next = *at;
    *at = t;
    admit_ordered_locked(w);
}

/* A task whose order was taken, after its submission, by another: said before it may run, and be gone. */
static void check_order(struct orr_worker *w, const struct orr_task *t)
{
    orr_spin_lock(&w->local_lock);
    bool twice = order_is_taken_locked(w, t->pub->workerorder);
    orr_spin_unlock(&w->local_lock);
    if (orr_unlikely(twice))
        orr_error("task %s: its workerorder was used twice; it runs nevertheless", orr_task_name(t));
}

void orr_worker_push_local(struct orr_worker *w, struct orr_task *t, bool front)
{
    bool ordered = t->pub->workerorder && t->pub->execute_on_a_specific_worker;
    if (orr_unlikely(ordered)) check_order(w, t);
    t->worker = (int16_t)w->id;
    if (orr_unlikely(orr_load_relaxed(&t->state) == ORR_TASK_PUSHED))
        orr_policy_releases(t); /* predefined.c */
    orr_spin_lock(&w->local_lock);
    if (orr_unlikely(ordered)) {
        insert_ordered_locked(w, t);
    } else {
        t->next = front ? w->local_head : NULL;
        if (!w->local_head)
            w->local_head = w->local_tail = t;
        else if (front)
            w->local_head = t;
        else
            w->local_tail = w->local_tail->next = t;
        orr_add_seq(&w->local_count, 1); /* pairs with the last look in park.c */
    }
    orr_spin_unlock(&w->local_lock);
    orr_wake_worker(w);
}

/* Holding all locks makes the order of two sets the same in the queues of all workers they share. */
void orr_worker_push_together(struct orr_worker *const *workers, struct orr_task *const *tasks,
                              unsigned count)
{
    for (unsigned i = 0; i < count; i++) orr_spin_lock(&workers[i]->local_lock);
    for (unsigned i = 0; i < count; i++) {
        struct orr_worker *w = workers[i];
        tasks[i]->worker = (int16_t)w->id;
        tasks[i]->next = NULL;
        if (w->local_head)
            w->local_tail = w->local_tail->next = tasks[i];
        else
            w->local_head = w->local_tail = tasks[i];
        orr_add_seq(&w->local_count, 1);
    }
    for (unsigned i = 0; i < count; i++) orr_spin_unlock(&workers[i]->local_lock);
    starpu_worker_relax_on(); /* waking may take a worker's mutex */
    for (unsigned i = 0; i < count; i++) orr_wake_worker(workers[i]);
    starpu_worker_relax_off();
}

static struct orr_task *pop_local(struct orr_worker *w)
{
    orr_spin_lock(&w->local_lock);
    struct orr_task *t = w->local_head;
    if (t) {
        w->local_head = t->next;
        orr_sub_seq(&w->local_count, 1);
    }
    orr_spin_unlock(&w->local_lock);
    return t;
}

static void push_ready(struct orr_task *t);

/* The next task of w's own queue. Those of contexts that w has left, and that are not bound to it, go back.
 */
static struct orr_task *next_local(struct orr_worker *w)
{
    struct orr_task *t;
    while ((t = pop_local(w)) != NULL) {
        if (orr_member_may_run(w, t)) return t;
        t->nimpl_valid = 0;
        push_ready(t);
    }
    return NULL;
}

/* The same for a worker of contexts of different ranks: rank by rank, lists and policies. */
static struct orr_task *next_by_rank(struct orr_worker *w, bool policy_first)
{
    for (unsigned i = 0, end; i < w->serves_count; i = end) {
        struct orr_task *t = NULL;
        end = orr_several_rank_end(w, i);
        if (policy_first && (t = orr_several_pop_among(w, i, end))) return t;
        if ((t = orr_joblist_next_among(w, i, end)) != NULL) {
            w->jobs_in_a_row++;
            return t;
        }
        orr_joblist_tell(w);
        if (!policy_first && (t = orr_several_pop_among(w, i, end))) return t;
    }
    return orr_joblist_next(w); /* jobs bound to w in contexts where it is not */
}

/* Jobs of lists go first; now and then the policy is asked before them, so that neither starves the other. */
static struct orr_task *next_with_lists(struct orr_worker *w)
{
    bool policy_first = w->jobs_in_a_row >= JOBS_IN_A_ROW_MAX;
    struct orr_task *t = NULL;
    if (policy_first) {
        w->jobs_in_a_row = 0;
        orr_joblist_tell(w);
    }
    if (orr_unlikely(orr_several_ranks(w))) return next_by_rank(w, policy_first);
    if (policy_first) t = w->ctx->policy->pop(w->ctx->instance, w);
    if (!t && (t = orr_joblist_next(w)) != NULL)
        w->jobs_in_a_row++;
    else if (!t && !policy_first)
        t = w->ctx->policy->pop(w->ctx->instance, w);
    return t;
}

struct orr_task *orr_worker_next(struct orr_worker *w)
{
    if (orr_unlikely(orr_load_seq(&w->local_count) > 0)) {
        struct orr_task *t = next_local(w);
        if (orr_unlikely(t && w->list_due)) orr_joblist_tell(w);
        if (t) return t;
    }
    if (orr_unlikely(orr_load_seq(&w->lists))) return next_with_lists(w);
    return w->ctx->policy->pop(w->ctx->instance, w);
}

uint32_t orr_worker_backlog(struct orr_worker *w)
{
    const struct orr_policy_ops *p = w->ctx->policy;
    uint32_t n = p->backlog ? p->backlog(w->ctx->instance, w) : 0;
    return orr_likely(!orr_load_relaxed(&w->lists)) ? n : n + orr_jobpool_backlog(w);
}

/* ---- running ---- */

/* What is known of the duration of tasks of this codelet on this worker. */
static bool known_short(struct orr_worker *w, const struct starpu_codelet *cl)
{
    unsigned i = (unsigned)((uintptr_t)cl >> 6) % ORR_CODELET_CACHE;
    return w->recent[i].cl == cl && w->recent[i].ticks < short_ticks;
}

static void note_duration(struct orr_worker *w, const struct starpu_codelet *cl, uint64_t ticks)
{
    unsigned i = (unsigned)((uintptr_t)cl >> 6) % ORR_CODELET_CACHE;
    if (w->recent[i].cl != cl) {
        w->recent[i].cl = cl;
        w->recent[i].ticks = ticks;
    } else {
        w->recent[i].ticks = (w->recent[i].ticks * 3 + ticks) / 4;
    }
}

/* Interfaces of inputs that need no fetching; false when one does. */
static bool gather_interfaces(struct orr_task *t, void **itf)
{
    struct starpu_task *p = t->pub;
    starpu_data_handle_t *handles = STARPU_TASK_GET_HANDLES(p);
    unsigned n = STARPU_TASK_GET_NBUFFERS(p);
    for (unsigned i = 0; i < n; i++) {
        orr_prefetch_write(handles[i]); /* this line is written when the task ends */
        if (orr_unlikely(!(itf[i] = orr_load_relaxed(&handles[i]->ready_interface)))) return false;
    }
    return true;
}

static void release_inputs(struct orr_worker *w, struct orr_task *t)
{
    orr_task_inputs_done(w, t);
    t->flags &= ~(uint32_t)ORR_TF_FETCHED;
}

/* Brings t's data here; false: it could not be brought, and this was said. */
static inline bool bring_inputs(struct orr_worker *w, struct orr_task *t)
{
    struct starpu_task *p = t->pub;
    if (orr_likely((t->flags & (ORR_TF_PLAIN | ORR_TF_NODES)) == ORR_TF_PLAIN && !p->cl->specific_nodes &&
                   gather_interfaces(t, STARPU_TASK_GET_INTERFACES(p))))
        return true;
    int r = orr_fetch_task_inputs(w, t);
    if (orr_unlikely(r != 0)) orr_task_without_inputs(w, t, r);
    return r == 0;
}

/* Runs the body; its data is here. */
static inline void call_body(struct orr_worker *w, struct orr_task *t)
{
    struct starpu_task *p = t->pub;
    if (orr_likely(w->direct))
        p->cl->cpu_funcs[t->nimpl](STARPU_TASK_GET_INTERFACES(p), p->cl_arg);
    else
        w->driver->execute(w, t, t->nimpl);
}

static void run_body(struct orr_worker *w, struct orr_task *t)
{
    if (orr_unlikely(!bring_inputs(w, t))) return;
    call_body(w, t);
    if (orr_unlikely(t->flags & ORR_TF_FETCHED)) release_inputs(w, t);
}

/* How long t should take on w; NaN: no model knows. */
static double expected_us(struct orr_worker *w, struct orr_task *t)
{
    struct starpu_perfmodel *m = t->pub->cl->model;
    return m ? orr_task_expected(t, m, orr_perf_workers[w->id].comb, t->nimpl, w->id) : NAN;
}

_Atomic bool orr_exp_end_wanted;

static void note_end(struct orr_worker *w, struct orr_task *t)
{
    double us = expected_us(w, t);
    orr_store_relaxed(&w->exp_end_us, isnan(us) || isinf(us) ? 0 : starpu_timing_now() + us);
}

/* Whatever needs more than calling the body: models, profiling, hooks of a policy, callbacks at pop. */
static void run_body_observed(struct orr_worker *w, struct orr_task *t)
{
    struct orr_ctx *ctx = &orr_contexts[t->sched_ctx];
    const struct orr_policy_ops *policy = ctx->policy;
    struct starpu_task *p = t->pub;
    if (w->node == STARPU_MAIN_RAM) orr_profile_popped(w, t); /* devices said it when they began to load */
    orr_counters_begin(ctx, w);
    if (p->prologue_callback_pop_func)
        orr_call_back(t, p->prologue_callback_pop_func, p->prologue_callback_pop_arg);
    if (orr_unlikely(!bring_inputs(w, t))) return; /* models and hooks see the computation alone */
    if (policy->pre_exec) policy->pre_exec(ctx->instance, t, w);
    if (orr_unlikely(orr_ready_soon_wanted())) orr_ready_soon_tell(t, expected_us(w, t));
    orr_profile_start(w, t);
    if (orr_unlikely(orr_load_relaxed(&orr_exp_end_wanted))) note_end(w, t);
    uint64_t start = orr_ticks();
    call_body(w, t);
    uint64_t ticks = orr_ticks() - start;
    if (orr_unlikely(orr_load_relaxed(&orr_exp_end_wanted))) orr_store_relaxed(&w->exp_end_us, 0);
    if (orr_unlikely(t->flags & ORR_TF_FETCHED)) release_inputs(w, t);
    orr_profile_end(w, t, ticks);
    orr_perf_task_done(w, t, ticks);
    if (policy->post_exec) policy->post_exec(ctx->instance, t, w);
    orr_counters_end(ctx, t);
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
    struct orr_thread *self = orr_self();
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

void orr_worker_run(struct orr_worker *w, struct orr_task *t)
{
    struct orr_thread *self = orr_self();
    struct starpu_task *p = t->pub;
    struct starpu_codelet *cl = p->cl;
    if (orr_unlikely(t->flags & ORR_TF_TEAM)) {
        orr_team_run(w, t);
        return;
    }
    orr_worker_begin(w, t);
    orr_worker_expects(w, known_short(w, cl));
    self->current = t;
    if (orr_likely(!cl->model && !p->prologue_callback_pop_func && !orr_load_relaxed(&w->observed) &&
                   !cl->energy_model))
        run_body(w, t);
    else
        run_body_observed(w, t);
    self->current = NULL;
    orr_worker_finish(w, t);
    uint64_t now = orr_ticks();
    if (orr_likely(w->last_ticks)) note_duration(w, cl, now - w->last_ticks);
    w->last_ticks = now;
    if (orr_unlikely(now - w->poll_ticks > poll_ticks)) {
        w->poll_ticks = now;
        orr_progress_poll();
    }
}

static bool may_keep(struct orr_task *t)
{
    struct orr_worker *w = orr_worker_self();
    const struct starpu_task *p = t->pub;
    if (!w || !w->direct || p->execute_on_a_specific_worker || t->sched_ctx != w->ctx->id) return false;
    if (orr_unlikely(w->list != NULL)) return false; /* it stays with its list */
    if (!(orr_task_where(p) & w->where) || p->cl->can_execute || p->workerids_len) return false;
    if (orr_unlikely(orr_load_relaxed(&w->observed)) && orr_load_relaxed(&orr_profiling) & ORR_PROFILE_BREAKS)
        return false; /* somebody wants to see it pushed */
    if (++w->kept_in_a_row > KEPT_IN_A_ROW_MAX) {
        w->kept_in_a_row = 0;
        return false;
    }
    const struct orr_policy_ops *policy = w->ctx->policy;
    if (!policy->may_keep || !policy->may_keep(w->ctx->instance, t, w)) return false;
    if (orr_unlikely(t->sched_ctx != 0)) orr_tally_ready(t);
    return true;
}

/* ---- ready tasks ---- */

/* Keeps a ready task of a context without workers; false when it has some now. */
static bool hold(struct orr_ctx *ctx, struct orr_task *t)
{
    orr_spin_lock(&ctx->held_lock);
    bool held = orr_load_seq(&ctx->nworkers) == 0; /* pairs with enlist in member.c */
    if (held) {
        t->next = ctx->held;
        ctx->held = t;
    }
    orr_spin_unlock(&ctx->held_lock);
    return held;
}

void orr_ctx_push_held(struct orr_ctx *ctx)
{
    orr_spin_lock(&ctx->held_lock);
    struct orr_task *t = ctx->held, *first = NULL;
    ctx->held = NULL;
    orr_spin_unlock(&ctx->held_lock);
    for (struct orr_task *next; t; t = next) { /* back into their order */
        next = t->next;
        t->next = first;
        first = t;
    }
    for (struct orr_task *next; first; first = next) {
        next = first->next;
        push_ready(first);
    }
}

/* t is bound to combined worker c. Without memory for that, to its first worker. */
static void push_combined(struct orr_ctx *ctx, const struct orr_combined *c, struct orr_task *t)
{
    for (unsigned i = 0; i < c->size && ctx->policy->push_notify; i++)
        ctx->policy->push_notify(ctx->instance, t, &orr_workers[c->members[i]]);
    if (orr_team_push(c, t) == 0) return;
    t->flags |= ORR_TF_ANYWHERE;
    orr_worker_push_local(&orr_workers[c->members[0]], t, false);
}

static void push_to_policy(struct orr_task *t)
{
    struct starpu_task *p = t->pub;
    struct orr_ctx *ctx = &orr_contexts[t->sched_ctx];
    if (orr_unlikely(orr_load_relaxed(&orr_profiling))) orr_profile_push(t);
    if (orr_unlikely(p->execute_on_a_specific_worker)) {
        const struct orr_combined *c = orr_combined_get(p->workerid);
        if (orr_unlikely(c != NULL)) {
            push_combined(ctx, c, t);
            return;
        }
        struct orr_worker *w = &orr_workers[p->workerid];
        if (ctx->policy->push_notify) ctx->policy->push_notify(ctx->instance, t, w);
        orr_profile_placed(ctx, t, w);
        if (orr_unlikely(orr_node_count > 1) && starpu_get_prefetch_flag())
            orr_task_prefetch(p, w->node, p->priority, false);
        orr_worker_push_local(w, t, false);
        return;
    }
    if (orr_unlikely(orr_load_relaxed(&ctx->nworkers) == 0)) {
        orr_counters_empty(ctx, t);
        if (hold(ctx, t)) return;
    }
    ctx->policy->push(ctx->instance, t);
}

/* A ready task goes to its worker or policy. Others may end it before the policy has done with its push:
 * those of contexts that may be deleted then are in use meanwhile. */
static void push_ready(struct orr_task *t)
{
    if (orr_likely(t->sched_ctx == 0)) {
        push_to_policy(t);
        return;
    }
    struct orr_thread *self = orr_self();
    uint32_t outer = orr_ctx_use_begin(self, t->sched_ctx);
    orr_tally_ready(t);
    push_to_policy(t);
    orr_ctx_use_end(self, outer);
}

static uint32_t kinds_present; /* [const while workers run] bits of where */

static int refuse(struct orr_task *t, const char *why)
{
    orr_error("task %s cannot be submitted: %s", orr_task_name(t), why);
    return -ENODEV;
}

static bool somebody_can(struct orr_task *t)
{
    unsigned nimpl;
    for (unsigned i = 0; i < orr_worker_count; i++)
        if (orr_worker_can_run(&orr_workers[i], t, &nimpl)) return true;
    return false;
}

static int check_combined(struct orr_task *t, const struct orr_combined *c)
{
    unsigned nimpl;
    if (t->pub->workerorder)
        return refuse(t, "it is bound to a combined worker: only single workers have an order (workerorder)");
    if (!orr_task_may_use(t, c->size))
        return refuse(
            t, "it is bound to a combined worker, but its codelet is not parallel (type), or not for so "
               "many workers (max_parallelism)");
    if (!orr_combined_can_run_any(c, t, &nimpl))
        return refuse(t, "the combined worker it is bound to cannot run it (implementations, can_execute)");
    return 0;
}

static int check_specific(struct orr_task *t)
{
    struct starpu_task *p = t->pub;
    unsigned nimpl;
    const struct orr_combined *c = orr_combined_get(p->workerid);
    if (orr_unlikely(c != NULL)) return check_combined(t, c);
    if (p->workerid >= orr_worker_count) return refuse(t, "workerid is not the number of a worker");
    if (!orr_worker_can_run(&orr_workers[p->workerid], t, &nimpl))
        return refuse(t, "the worker it is bound to has no implementation for it");
    if (p->workerorder) {
        struct orr_worker *w = &orr_workers[p->workerid];
        orr_spin_lock(&w->local_lock);
        bool taken = order_is_taken_locked(w, p->workerorder);
        orr_spin_unlock(&w->local_lock);
        if (taken)
            return refuse(t, "its workerorder is taken already: orders are consecutive from 1 and used once");
    }
    return 0;
}

static int check_runnable(struct orr_task *t)
{
    struct starpu_task *p = t->pub;
    unsigned ctx = p->sched_ctx != STARPU_NMAX_SCHED_CTXS ? p->sched_ctx : orr_self()->sched_ctx;
    if (orr_unlikely(ctx >= STARPU_NMAX_SCHED_CTXS || !orr_load_acquire(&orr_contexts[ctx].open)))
        return refuse(t, orr_worker_count ? "its scheduling context does not exist"
                                          : "the runtime is not initialised; call starpu_init");
    t->sched_ctx = (uint16_t)ctx;
    p->sched_ctx = ctx;
    if (!p->cl || orr_task_where(p) == STARPU_NOWHERE) return 0;
    if (orr_unlikely(p->execute_on_a_specific_worker)) return check_specific(t);
    if (orr_unlikely(!(orr_task_where(p) & kinds_present)))
        return refuse(t, "no worker of a kind it has an implementation for (see starpu_codelet.where and the "
                         "number of workers)");
    if (orr_unlikely(!orr_task_where_tells(p)) && !somebody_can(t))
        return refuse(t, "no worker can execute it (can_execute, workerids, where, implementations)");
    return 0;
}

static void completed_elsewhere(void)
{
    orr_wait_check();
}

/* ---- threads ---- */

static void wait_while_paused(struct orr_worker *w)
{
    orr_wait_rest_begin();
    for (;;) {
        uint32_t seen = orr_load_seq(&orr_lot.pause_epoch); /* pairs with resume and with asking (member.c) */
        if (!orr_load_seq(&orr_lot.paused) || orr_load_seq(&orr_lot.stopping)) break;
        if (orr_member_called(w))
            orr_member_change(w);
        else
            orr_futex_wait(&orr_lot.pause_epoch, seen, -1);
    }
    orr_wait_rest_end();
}

void orr_worker_attend(struct orr_worker *w)
{
    if (orr_load_seq(&orr_lot.paused)) wait_while_paused(w);
    if (orr_member_called(w)) orr_member_change(w);
}

/* What it keeps for itself, or the next one; after what it is called for: a task that was submitted once the
 * workers were paused is found by a look that began before, but is not run before the look at attention that
 * follows. */
static struct orr_task *take(struct orr_worker *w)
{
    struct orr_task *t = w->kept;
    if (!t) {
        w->kept_in_a_row = 0;
        t = orr_worker_next(w);
    }
    w->kept = NULL;
    if (orr_likely(!orr_load_relaxed(&orr_lot.attention))) return t;
    w->kept = t; /* where it goes back from if the context is left */
    orr_worker_attend(w);
    t = w->kept;
    w->kept = NULL;
    return t;
}

static void cpu_loop(struct orr_worker *w)
{
    for (;;) {
        struct orr_task *t = take(w);
        if (orr_likely(t != NULL)) {
            orr_worker_run(w, t);
            continue;
        }
        w->kept = orr_worker_idle(w);
        if (!w->kept && orr_load_seq(&orr_lot.stopping)) return;
    }
}

bool orr_worker_step(struct orr_worker *w)
{
    struct orr_task *t = take(w);
    if (t) orr_worker_run(w, t);
    return t != NULL;
}

/* The name that top, gdb and the like show: 15 characters at most. */
static void name_thread(const struct orr_worker *w)
{
    char name[16];
    snprintf(name, sizeof name, "orr %.11s", w->short_name);
    pthread_setname_np(pthread_self(), name);
}

static void *worker_thread(void *arg)
{
    struct orr_worker *w = arg;
    struct orr_thread *self = orr_self();
    self->worker = w;
    orr_thread_is_internal();
    name_thread(w);
    if (w->bindid >= 0) orr_topo_bind_self((unsigned)w->bindid);
    if (w->driver->open && w->driver->open(w) != 0)
        orr_error("worker %d (%s) could not be opened", w->id, w->name);
    orr_add_acq_rel(&workers_up, 1u);
    void *stack = orr_crash_thread_begin();
    orr_wait_rest_end();
    if (w->node == STARPU_MAIN_RAM)
        cpu_loop(w);
    else
        orr_device_loop(w);
    orr_wait_rest_begin();
    orr_crash_thread_end(stack);
    if (w->driver->close) w->driver->close(w);
    self->worker = NULL;
    return NULL;
}

void orr_workers_update_plain(bool alone)
{
    bool plain = alone;
    for (unsigned i = 0; i < orr_worker_count; i++) {
        if (orr_workers[i].where != orr_workers[0].where) plain = false;
        if (!orr_member_is_plain(&orr_workers[i])) plain = false;
    }
    orr_store_seq(&orr_lot.plain, plain);
}

static void init_shared(void)
{
    short_ticks = orr_us_to_ticks(short_task_us);
    poll_ticks = orr_us_to_ticks(poll_every_us);
    orr_task_hooks.push = push_ready;
    orr_task_hooks.may_keep = may_keep;
    orr_task_hooks.check_runnable = check_runnable;
    orr_teams_init();
    orr_task_hooks.job_ready = orr_job_ready;
    orr_task_hooks.job_ended = orr_job_ended;
    orr_task_hooks.completed_elsewhere = completed_elsewhere;
    orr_task_hooks.ctx_submitted = orr_tally_submitted;
    orr_task_hooks.ctx_completed = orr_tally_completed;
    kinds_present = 0;
    for (unsigned i = 0; i < orr_worker_count; i++) kinds_present |= orr_workers[i].where;
    memset(&orr_lot, 0, sizeof orr_lot);
    orr_workers_update_plain(true);
    orr_store_seq(&orr_lot.running, 1u);
    orr_store_relaxed(&workers_up, 0u);
}

int orr_workers_start(void)
{
    init_shared();
    orr_jobpool_workers_start();
    for (unsigned i = 0; i < orr_worker_count; i++) {
        struct orr_worker *w = &orr_workers[i];
        w->next_order = 1;
        if (w->driven) {
            orr_add_acq_rel(&workers_up, 1u);
            continue;
        }
        int r = pthread_create(&w->thread, NULL, worker_thread, w);
        if (r) {
            orr_error("worker %u: no thread can be made for it (%s)", i, strerror(r));
            orr_store_seq(&orr_lot.stopping, 1);
            orr_wake_all();
            while (i-- > 0)
                if (!orr_workers[i].driven) pthread_join(orr_workers[i].thread, NULL);
            orr_store_seq(&orr_lot.running, 0u);
            return -r;
        }
    }
    while (orr_load_acquire(&workers_up) < orr_worker_count) sched_yield();
    return 0;
}

static pthread_mutex_t pause_lock = PTHREAD_MUTEX_INITIALIZER; /* protects pause_depth; leaf */
static unsigned pause_depth;

/* Called with pause_lock held. */
static void set_paused(uint32_t paused)
{
    if (orr_load_relaxed(&orr_lot.paused) == paused) return;
    orr_store_seq(&orr_lot.paused, paused);
    if (paused)
        orr_add_seq(&orr_lot.attention, 1);
    else
        orr_sub_seq(&orr_lot.attention, 1);
    orr_add_seq(&orr_lot.pause_epoch, 1); /* pairs with wait_while_paused */
    if (!paused) orr_futex_wake(&orr_lot.pause_epoch, INT32_MAX);
}

void orr_workers_stop(void)
{
    orr_store_seq(&orr_lot.stopping, 1);
    pthread_mutex_lock(&pause_lock);
    pause_depth = 0;
    set_paused(0);
    pthread_mutex_unlock(&pause_lock);
    orr_wake_all();
    orr_driven_stop();
    for (unsigned i = 0; i < orr_worker_count; i++)
        if (!orr_workers[i].driven) pthread_join(orr_workers[i].thread, NULL);
    orr_store_seq(&orr_lot.running, 0u); /* what is asked of a worker from now on is done by who asks */
}

void orr_workers_pause(void)
{
    pthread_mutex_lock(&pause_lock);
    if (pause_depth++ == 0) set_paused(1);
    pthread_mutex_unlock(&pause_lock);
    orr_wake_all();
}

void orr_workers_resume(void)
{
    pthread_mutex_lock(&pause_lock);
    if (pause_depth > 0 && --pause_depth == 0) set_paused(0);
    pthread_mutex_unlock(&pause_lock);
}

unsigned orr_workers_busy(void)
{
    unsigned busy = 0;
    for (unsigned i = 0; i < orr_worker_count; i++) busy += !orr_load_relaxed(&orr_workers[i].idle_shown);
    return busy;
}

/* ---- progress functions ---- */

/* Who polls may still look at a function that was unregistered: its entry never changes, and is used again
 * for the same function and argument alone. */
enum { PROGRESS_MAX = 8, KNOWN_MAX = 64 };
static struct {
    _Atomic uint32_t count; /* entries that may be set */
    _Atomic(const struct orr_progress *) entry[PROGRESS_MAX];
    struct orr_progress known[KNOWN_MAX]; /* [lock, and then const] all that there ever were */
    unsigned nknown;                      /* [lock] */
    pthread_mutex_t lock;                 /* protects registration; leaf */
} progress = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool blocked_poll(void)
{
    return orr_progress_poll();
}

static bool is_same(const struct orr_progress *a, const struct orr_progress *b)
{
    return a->poll == b->poll && a->arg == b->arg;
}

/* The one that stands for p for ever; NULL: there is no room. Called with the lock held. */
static const struct orr_progress *know_locked(const struct orr_progress *p)
{
    for (unsigned i = 0; i < progress.nknown; i++)
        if (is_same(&progress.known[i], p)) return &progress.known[i];
    if (progress.nknown == KNOWN_MAX) return NULL;
    progress.known[progress.nknown] = *p;
    return &progress.known[progress.nknown++];
}

int orr_progress_register(struct orr_progress p)
{
    pthread_mutex_lock(&progress.lock);
    uint32_t n = orr_load_relaxed(&progress.count);
    const struct orr_progress *known = n < PROGRESS_MAX ? know_locked(&p) : NULL;
    if (known) {
        orr_store_release(&progress.entry[n], known); /* pairs with orr_progress_poll */
        orr_store_release(&progress.count, n + 1);
        orr_store_release(&orr_blocked_poll, blocked_poll);
    }
    pthread_mutex_unlock(&progress.lock);
    return known ? 0 : -ENOSPC;
}

void orr_progress_unregister(struct orr_progress p)
{
    pthread_mutex_lock(&progress.lock);
    uint32_t n = orr_load_relaxed(&progress.count);
    for (uint32_t i = 0; i < n; i++) {
        const struct orr_progress *known = orr_load_relaxed(&progress.entry[i]);
        if (known && is_same(known, &p)) orr_store_release(&progress.entry[i], NULL);
    }
    while (n > 0 && !orr_load_relaxed(&progress.entry[n - 1])) n--;
    orr_store_release(&progress.count, n);
    if (n == 0) orr_store_release(&orr_blocked_poll, NULL);
    pthread_mutex_unlock(&progress.lock);
}

bool orr_progress_poll(void)
{
    bool moved = false;
    uint32_t n = orr_load_acquire(&progress.count);
    for (uint32_t i = 0; i < n; i++) {
        const struct orr_progress *p = orr_load_acquire(&progress.entry[i]);
        if (p) moved |= p->poll(p->arg);
    }
    return moved;
}
