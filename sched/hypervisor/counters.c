/* SPDX-License-Identifier: BSD-3-Clause */
/* counters.c: what the runtime tells the hypervisor, noted in wrappers and handed on to the strategy.
 * Threads: workers and submitters, several at once. Owns: the tables of callbacks.
 * Not here: questions about what was noted (monitor.c), moves that end here (resize.c).
 *
 * A callback counts itself into its context's slot, then looks whether the context is registered; shutdown
 * does it the other way round, so that it knows when nobody is left inside. */
#include <sched.h>

#include "core/run/sched_ctx.h"
#include "sched/hypervisor/hypervisor.h"
#include "sched_ctx_hypervisor.h"

enum { RESCUE_EVERY = 16 }; /* tasks between two looks for deserted contexts */

struct orr_hyp_slot *orr_hyp_enter(unsigned ctx)
{
    if (ctx >= STARPU_NMAX_SCHED_CTXS) return NULL;
    struct orr_hyp_slot *slot = &orr_hyp.slots[ctx];
    orr_add_seq(&slot->inside, 1); /* pairs with orr_hyp_wait_outside */
    if (orr_load_seq(&slot->registered)) {
        orr_hyp_thread()->entered++;
        return slot;
    }
    orr_sub_seq(&slot->inside, 1);
    return NULL;
}

void orr_hyp_leave(struct orr_hyp_slot *slot)
{
    orr_hyp_thread()->entered--;
    orr_sub_seq(&slot->inside, 1);
}

static void wait_outside(unsigned ctx)
{
    while (orr_load_seq(&orr_hyp.slots[ctx].inside) > 0) sched_yield();
}

void orr_hyp_wait_outside(void)
{
    for (unsigned i = 0; i < STARPU_NMAX_SCHED_CTXS; i++) wait_outside(i);
}

void orr_hyp_wait_outside_of(unsigned ctx)
{
    if (!orr_hyp_is_inside()) wait_outside(ctx);
}

static bool is_worker(int worker)
{
    return worker >= 0 && worker < STARPU_NMAXWORKERS;
}

/* Takes a worker away that was to leave when it is next seen. */
static void leave_if_due(struct orr_hyp_slot *slot, int worker)
{
    pthread_mutex_lock(&slot->w->mutex);
    bool due = slot->w->worker_to_be_removed[worker] != 0;
    slot->w->worker_to_be_removed[worker] = 0;
    pthread_mutex_unlock(&slot->w->mutex);
    if (due && starpu_sched_ctx_contains_worker(worker, orr_hyp_id(slot)))
        orr_sched_ctx_move_try(&worker, 1, orr_hyp_id(slot), false);
}

/* ---- contexts that were left without a worker ---- */

/* Whether a context has tasks, and neither a worker nor the prospect of one. */
static bool is_deserted(unsigned ctx)
{
    struct orr_hyp_slot *slot = orr_hyp_slot(ctx);
    if (!slot || !orr_load_relaxed(&slot->allowed) || starpu_sched_ctx_get_nworkers(ctx) > 0) return false;
    pthread_mutex_lock(&slot->w->mutex);
    bool barred = slot->w->config->max_nworkers == 0;
    pthread_mutex_unlock(&slot->w->mutex);
    return !barred && (orr_load_relaxed(&slot->starving) || orr_hyp_unfinished(ctx) > 0);
}

/* Whatever the strategy: a context that has tasks is not left without a worker for ever. An idle worker goes
 * there; a busy one if its context keeps its minimum, and one. */
static void rescue(unsigned ctx, int worker, bool is_idle)
{
    unsigned ctxs[STARPU_NMAX_SCHED_CTXS];
    if (orr_hyp_resizing()) return;
    int n = orr_hyp_contexts(ctxs, NULL, -1);
    for (int i = 0; i < n; i++) {
        if (ctxs[i] == ctx || !is_deserted(ctxs[i])) continue;
        struct sc_hypervisor_policy_config *c = sc_hypervisor_get_config(ctx);
        int others = sc_hypervisor_get_nworkers_ctx(ctx, STARPU_ANY_WORKER) - 1;
        if (is_idle || (c && others > 0 && sc_hypervisor_get_movable_nworkers(c, ctx, STARPU_ANY_WORKER) > 0))
            sc_hypervisor_move_workers(ctx, ctxs[i], &worker, 1, 0);
        return;
    }
}

/* ---- idleness ---- */

static void idle_cycle(unsigned ctx, int worker, double idle_us)
{
    struct orr_hyp_slot *slot = is_worker(worker) ? orr_hyp_enter(ctx) : NULL;
    if (!slot) return;
    struct sc_hypervisor_wrapper *w = slot->w;
    orr_hyp_seen(ctx, worker);
    pthread_mutex_lock(&w->mutex);
    if (w->compute_idle[worker]) {
        if (w->idle_start_time[worker] == 0.0) w->idle_start_time[worker] = starpu_timing_now() - idle_us;
        w->current_idle_time[worker] += idle_us;
        w->idle_time[worker] += idle_us;
    }
    pthread_mutex_unlock(&w->mutex);
    leave_if_due(slot, worker);
    if (orr_hyp.policy.handle_idle_cycle) orr_hyp.policy.handle_idle_cycle(ctx, worker);
    if (idle_us > 0.0) rescue(ctx, worker, true);
    orr_hyp_advance();
    orr_hyp_leave(slot);
}

/* The worker has worked so long: is its idleness over? Called with w->mutex held. */
static void end_idleness_locked(struct orr_hyp_slot *slot, int worker, double worked_us)
{
    struct sc_hypervisor_wrapper *w = slot->w;
    slot->worked_us[worker] += worked_us;
    w->compute_partial_idle[worker] = w->current_idle_time[worker] > 0.0;
    if (slot->worked_us[worker] < w->config->min_working[worker]) return;
    slot->worked_us[worker] = 0.0;
    w->current_idle_time[worker] = 0.0;
    w->compute_partial_idle[worker] = 0;
}

static void idle_end(unsigned ctx, int worker)
{
    struct orr_hyp_slot *slot = is_worker(worker) ? orr_hyp_enter(ctx) : NULL;
    if (!slot) return;
    pthread_mutex_lock(&slot->w->mutex);
    slot->w->idle_start_time[worker] = 0.0;
    end_idleness_locked(slot, worker, 0.0);
    pthread_mutex_unlock(&slot->w->mutex);
    if (orr_hyp.policy.handle_idle_end) orr_hyp.policy.handle_idle_end(ctx, worker);
    orr_hyp_leave(slot);
}

/* ---- tasks ---- */

static void pushed_task(unsigned ctx, int worker)
{
    struct orr_hyp_slot *slot = is_worker(worker) ? orr_hyp_enter(ctx) : NULL;
    if (!slot) return;
    pthread_mutex_lock(&slot->w->mutex);
    slot->w->pushed_tasks[worker]++;
    pthread_mutex_unlock(&slot->w->mutex);
    if (orr_hyp.policy.handle_pushed_task) orr_hyp.policy.handle_pushed_task(ctx, worker);
    orr_hyp_leave(slot);
}

static void popped_task(unsigned ctx, int worker)
{
    struct orr_hyp_slot *slot = is_worker(worker) ? orr_hyp_enter(ctx) : NULL;
    if (!slot) return;
    struct sc_hypervisor_wrapper *w = slot->w;
    double now = starpu_timing_now();
    orr_hyp_seen(ctx, worker);
    orr_store_relaxed(&slot->starving, false);
    pthread_mutex_lock(&w->mutex);
    w->poped_tasks[worker]++;
    w->exec_start_time[worker] = now;
    if (w->real_start_time == 0.0) w->real_start_time = w->start_time = now;
    bool was_idle = w->idle_start_time[worker] != 0.0;
    w->idle_start_time[worker] = 0.0;
    if (was_idle) end_idleness_locked(slot, worker, 0.0);
    pthread_mutex_unlock(&w->mutex);
    leave_if_due(slot, worker);
    if (was_idle && orr_hyp.policy.handle_idle_end) orr_hyp.policy.handle_idle_end(ctx, worker);
    if (orr_hyp.first_popped) orr_hyp.first_popped(ctx, worker);
    orr_hyp_advance();
    orr_hyp_leave(slot);
}

/* Called with w->mutex held. */
static void add_flops_locked(struct sc_hypervisor_wrapper *w, int worker, double flops)
{
    w->elapsed_flops[worker] += flops;
    w->total_elapsed_flops[worker] += flops;
    w->remaining_flops = w->remaining_flops > flops ? w->remaining_flops - flops : 0.0;
}

/* Returns how many tasks the context has executed. */
static unsigned long note_execution(struct orr_hyp_slot *slot, int worker, size_t data_size, double flops)
{
    struct sc_hypervisor_wrapper *w = slot->w;
    double now = starpu_timing_now();
    pthread_mutex_lock(&w->mutex);
    unsigned long executed = ++slot->executed;
    if (is_worker(worker)) {
        double began = w->exec_start_time[worker];
        add_flops_locked(w, worker, flops);
        w->elapsed_data[worker] += data_size;
        w->elapsed_tasks[worker]++;
        w->exec_start_time[worker] = 0.0;
        if (began > 0.0) w->exec_time[worker] += now - began;
        if (began > 0.0 && w->current_idle_time[worker] > 0.0) end_idleness_locked(slot, worker, now - began);
    }
    pthread_mutex_unlock(&w->mutex);
    return executed;
}

/* A task with a tag has run: conditions that waited for it, then resizes. */
static void reach_tag(struct orr_hyp_slot *slot, int tag)
{
    unsigned ctx = orr_hyp_id(slot);
    orr_hyp_apply_tag(slot, tag);
    pthread_mutex_lock(&slot->w->mutex);
    bool requested = orr_hyp_requested_locked(slot, tag, false);
    pthread_mutex_unlock(&slot->w->mutex);
    if (orr_hyp.first_post_exec) orr_hyp.first_post_exec(ctx, &slot->requests, tag);
    if (requested && orr_hyp.policy.handle_post_exec_hook) orr_hyp.policy.handle_post_exec_hook(ctx, tag);
    pthread_mutex_lock(&slot->w->mutex);
    if (requested) orr_hyp_requested_locked(slot, tag, true);
    pthread_mutex_unlock(&slot->w->mutex);
}

static void post_exec_task(struct starpu_task *task, size_t data_size, uint32_t footprint, int tag,
                           double flops)
{
    unsigned ctx = starpu_sched_ctx_get_ctx_for_task(task);
    struct orr_hyp_slot *slot = orr_hyp_enter(ctx);
    if (!slot) return;
    int worker = starpu_worker_get_id();
    unsigned long executed = note_execution(slot, worker, data_size, flops);
    if (tag) reach_tag(slot, tag);
    if (orr_hyp.policy.handle_poped_task) orr_hyp.policy.handle_poped_task(ctx, worker, task, footprint);
    if (executed % RESCUE_EVERY == 0 && is_worker(worker)) rescue(ctx, worker, false);
    orr_hyp_advance();
    orr_hyp_leave(slot);
}

static void submitted_job(struct starpu_task *task, uint32_t footprint, size_t data_size)
{
    unsigned ctx = starpu_sched_ctx_get_ctx_for_task(task);
    struct orr_hyp_slot *slot = orr_hyp_enter(ctx);
    if (!slot) return;
    pthread_mutex_lock(&slot->w->mutex);
    slot->submitted++;
    slot->w->submitted_flops += task->flops;
    bool counted = slot->types_known;
    pthread_mutex_unlock(&slot->w->mutex);
    if (!counted && orr_hyp.policy.handle_submitted_job)
        orr_hyp.policy.handle_submitted_job(task->cl, ctx, footprint, data_size);
    orr_hyp_leave(slot);
}

static void empty_ctx(unsigned ctx, struct starpu_task *task)
{
    (void)task;
    struct orr_hyp_slot *slot = orr_hyp_enter(ctx);
    if (!slot) return;
    orr_store_relaxed(&slot->starving, true); /* the next worker that is idle, or resize, looks at it */
    orr_hyp_leave(slot);
}

static void delete_context(unsigned ctx)
{
    if (orr_hyp_slot(ctx)) sc_hypervisor_unregister_ctx(ctx);
}

/* ---- the same by the first names ---- */

static void first_popped_task(unsigned ctx, int worker, double flops)
{
    struct orr_hyp_slot *slot = is_worker(worker) ? orr_hyp_enter(ctx) : NULL;
    if (!slot) return;
    popped_task(ctx, worker);
    note_execution(slot, worker, 0, flops);
    if (orr_hyp.policy.handle_poped_task) orr_hyp.policy.handle_poped_task(ctx, worker, NULL, 0);
    orr_hyp_advance();
    orr_hyp_leave(slot);
}

static void first_post_exec_hook(unsigned ctx, int tag)
{
    struct orr_hyp_slot *slot = orr_hyp_enter(ctx);
    if (!slot) return;
    reach_tag(slot, tag);
    orr_hyp_advance();
    orr_hyp_leave(slot);
}

struct starpu_performance_counters orr_hyp_counters = {
    .runtime = {
        .notify_idle_cycle = idle_cycle,
        .notify_poped_task = popped_task,
        .notify_pushed_task = pushed_task,
        .notify_post_exec_task = post_exec_task,
        .notify_submitted_job = submitted_job,
        .notify_empty_ctx = empty_ctx,
        .notify_delete_context = delete_context,
    },
    .notify_idle_cycle = idle_cycle,
    .notify_idle_end = idle_end,
    .notify_pushed_task = pushed_task,
    .notify_poped_task = first_popped_task,
    .notify_post_exec_hook = first_post_exec_hook,
};
