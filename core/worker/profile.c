/* SPDX-License-Identifier: BSD-3-Clause */
/* profile.c: times of tasks, and what each worker did, while profiling is on.
 * Threads: workers record; any asks and switches. Owns: the status, a record per worker.
 * Not here: traffic between memory nodes (bus_profile.c).
 *
 * A worker only adds to its record. Whoever asks subtracts what it was at the last question, so nobody else
 * writes it. */
#include "core/worker/profile.h"

#include <stdio.h>

#include <starpu.h>
#include <starpu_profiling.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/env.h"
#include "core/task/graph.h"
#include "core/task/perf.h"
#include "core/task/ready_soon.h"
#include "core/worker/bound.h"
#include "core/worker/breaks.h"
#include "core/worker/counters.h"

_Atomic uint32_t orr_profiling;

struct record { /* [own: worker, read by any] since the worker started */
    ORR_ALIGNED_LINE _Atomic uint64_t tasks;
    _Atomic uint64_t executing_ns, sleeping_ns;
    _Atomic uint64_t idle_since; /* 0: it is not idle */
    _Atomic double flops, joules;
};
static struct record records[STARPU_NMAXWORKERS];

struct sums {
    uint64_t at_ns, tasks, executing_ns, sleeping_ns;
    double flops, joules;
};
static pthread_mutex_t asked_lock = PTHREAD_MUTEX_INITIALIZER; /* protects asked and process_id; leaf */
static struct sums asked[STARPU_NMAXWORKERS]; /* what the records were at the last question */
static int process_id = -1;

/* ---- times ---- */

static void stamp(struct timespec *t)
{
    clock_gettime(CLOCK_MONOTONIC, t);
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){ .tv_sec = (time_t)(ns / STARPU_NS_PER_S),
                              .tv_nsec = (long)(ns % STARPU_NS_PER_S) };
}

double starpu_timing_timespec_to_us(struct timespec *ts)
{
    return (double)ts->tv_sec * 1e6 + (double)ts->tv_nsec * 1e-3;
}

double starpu_timing_timespec_delay_us(struct timespec *start, struct timespec *end)
{
    return (double)(end->tv_sec - start->tv_sec) * 1e6 + (double)(end->tv_nsec - start->tv_nsec) * 1e-3;
}

/* ---- tasks ---- */

static void attach(struct starpu_task *p)
{
    struct starpu_profiling_task_info *info =
        p->profiling_info ? p->profiling_info : orr_malloc(sizeof *info);
    p->profiling_info = info;
    if (!info) return; /* no memory: the task goes unrecorded */
    *info = (struct starpu_profiling_task_info){ .workerid = -1 };
    stamp(&info->submit_time);
}

/* Installed as orr_task_hooks.submitted while there is anything to do. */
static void submitted(struct orr_task *t)
{
    uint32_t wanted = orr_load_relaxed(&orr_profiling);
    if (orr_load_relaxed(&orr_graph.recording)) orr_graph_submitted(t);
    if (!t->pub->cl) return; /* nobody else wants to know of it */
    if (orr_unlikely(wanted & ORR_PROFILE_BREAKS)) orr_break(ORR_BREAK_SUBMIT, t);
    if ((wanted & ORR_PROFILE_TIMES) && !(t->flags & ORR_TF_INTERNAL)) attach(t->pub);
    if (orr_load_relaxed(&orr_bound_recording)) orr_bound_record(t);
    struct orr_ctx *ctx = &orr_contexts[t->sched_ctx];
    orr_counters_submitted(ctx, t);
    if (ctx->policy->submit_hook) ctx->policy->submit_hook(ctx->instance, t);
}

void orr_profile_push(struct orr_task *t)
{
    struct starpu_profiling_task_info *info = t->pub->profiling_info;
    if (orr_unlikely(orr_load_relaxed(&orr_profiling) & ORR_PROFILE_BREAKS)) orr_break(ORR_BREAK_PUSH, t);
    if (!info) return;
    stamp(&info->push_start_time);
    info->push_end_time = info->push_start_time; /* unless the policy says more */
}

void orr_profile_pushed(struct starpu_task *p)
{
    if (p->profiling_info) stamp(&p->profiling_info->push_end_time);
}

void orr_profile_placed_slow(struct orr_ctx *ctx, struct orr_task *t, const struct orr_worker *w)
{
    t->flags |= ORR_TF_PLACED;
    orr_counters_pushed(ctx, w);
    if (orr_load_relaxed(&orr_profiling) & ORR_PROFILE_BREAKS) orr_break(ORR_BREAK_SCHED, t);
}

/* The program's policies say it themselves (starpu_sched_task_break,
 * starpu_sched_ctx_call_pushed_task_cb). */
static void place_at_last(const struct orr_worker *w, struct orr_task *t)
{
    struct orr_ctx *ctx = &orr_contexts[t->sched_ctx];
    bool told = t->flags & ORR_TF_PLACED;
    t->flags &= ~(uint32_t)ORR_TF_PLACED;
    if (told || orr_ctx_is_programs(ctx)) return;
    orr_profile_placed(ctx, t, w);
    t->flags &= ~(uint32_t)ORR_TF_PLACED;
}

void orr_profile_popped(struct orr_worker *w, struct orr_task *t)
{
    uint32_t wanted = orr_load_relaxed(&orr_profiling);
    place_at_last(w, t);
    if (orr_unlikely(wanted & ORR_PROFILE_BREAKS)) orr_break(ORR_BREAK_POP, t);
    struct starpu_profiling_task_info *info = t->pub->profiling_info;
    if (!(wanted & ORR_PROFILE_TIMES) || !info) return;
    stamp(&info->pop_start_time);
    info->pop_end_time = info->acquire_data_start_time = info->pop_start_time;
}

void orr_profile_start(struct orr_worker *w, struct orr_task *t)
{
    struct starpu_profiling_task_info *info = t->pub->profiling_info;
    if (orr_likely(!orr_load_relaxed(&orr_profiling))) return;
    if (orr_unlikely(orr_load_relaxed(&orr_profiling) & ORR_PROFILE_BREAKS)) orr_break(ORR_BREAK_EXEC, t);
    if (!info) return;
    info->workerid = w->id;
    stamp(&info->start_time);
    info->acquire_data_end_time = info->start_time;
    if (info->pop_start_time.tv_sec == 0) info->pop_start_time = info->pop_end_time = info->start_time;
}

/* What t took, as its energy model says: nothing here measures a single task. */
static double joules_of(const struct orr_worker *w, struct orr_task *t)
{
    double joules =
        orr_task_expected(t, t->pub->cl->energy_model, orr_perf_workers[w->id].comb, t->nimpl, w->id);
    return joules > 0 ? joules : 0; /* NaN: the model does not know */
}

void orr_profile_end(struct orr_worker *w, struct orr_task *t, uint64_t ticks)
{
    if (orr_likely(!(orr_load_relaxed(&orr_profiling) & ORR_PROFILE_TIMES))) return;
    struct record *r = &records[w->id];
    struct starpu_task *p = t->pub;
    orr_own_add(&r->tasks, 1);
    orr_own_add(&r->executing_ns, (uint64_t)(orr_ticks_to_us(ticks) * 1e3));
    orr_own_add(&r->flops, p->flops);
    double joules = orr_unlikely(p->cl->energy_model != NULL) ? joules_of(w, t) : 0;
    orr_own_add(&r->joules, joules);
    if (!p->profiling_info) return;
    stamp(&p->profiling_info->end_time);
    p->profiling_info->release_data_start_time = p->profiling_info->release_data_end_time =
        p->profiling_info->end_time; /* it follows at once, in no time that would tell anything */
    p->profiling_info->energy_consumed = joules;
}

void orr_profile_took_part(struct orr_worker *w, uint64_t ticks)
{
    if (orr_load_relaxed(&orr_profiling) & ORR_PROFILE_TIMES)
        orr_own_add(&records[w->id].executing_ns, (uint64_t)(orr_ticks_to_us(ticks) * 1e3));
}

/* ---- workers ---- */

void orr_profile_idle_begin(struct orr_worker *w)
{
    /* Also while profiling is off: it may be turned on before the worker wakes up. */
    orr_store_release(&records[w->id].idle_since, orr_clock_ns());
}

void orr_profile_idle_end(struct orr_worker *w)
{
    struct record *r = &records[w->id];
    uint64_t since = orr_load_relaxed(&r->idle_since);
    if (orr_likely(since == 0)) return;
    orr_store_release(&r->idle_since, 0);
    orr_own_add(&r->sleeping_ns, orr_clock_ns() - since);
}

static struct sums read_record(const struct record *r, uint64_t now)
{
    uint64_t since = orr_load_acquire(&r->idle_since);
    return (struct sums){ .at_ns = now,
                          .tasks = orr_load_acquire(&r->tasks),
                          .executing_ns = orr_load_acquire(&r->executing_ns),
                          .sleeping_ns =
                              orr_load_acquire(&r->sleeping_ns) + (since && since < now ? now - since : 0),
                          .flops = orr_load_acquire(&r->flops),
                          .joules = orr_load_acquire(&r->joules) };
}

/* Difference of sums which may be a little out of step. */
static uint64_t since_then(uint64_t now, uint64_t then)
{
    return now > then ? now - then : 0;
}

/* What the worker did since the last question; this one counts as a question if `anew`. Called with
 * asked_lock held. */
static void ask_locked(unsigned id, struct starpu_profiling_worker_info *info, bool anew)
{
    struct sums now = read_record(&records[id], orr_clock_ns()), *then = &asked[id];
    if (info) {
        *info = (struct starpu_profiling_worker_info){ .start_time = timespec_of(then->at_ns) };
        info->total_time = timespec_of(since_then(now.at_ns, then->at_ns));
        info->executing_time = info->all_executing_time =
            timespec_of(since_then(now.executing_ns, then->executing_ns));
        info->sleeping_time = info->all_sleeping_time =
            timespec_of(since_then(now.sleeping_ns, then->sleeping_ns));
        info->executed_tasks = (int)since_then(now.tasks, then->tasks);
        info->flops = now.flops - then->flops;
        info->energy_consumed = now.joules - then->joules;
    }
    if (anew) *then = now;
}

static void ask(unsigned id, struct starpu_profiling_worker_info *info, bool anew)
{
    pthread_mutex_lock(&asked_lock);
    ask_locked(id, info, anew);
    pthread_mutex_unlock(&asked_lock);
}

int starpu_profiling_worker_get_info(int workerid, struct starpu_profiling_worker_info *worker_info)
{
    if (workerid < 0 || (unsigned)workerid >= orr_worker_count) return -EINVAL;
    ask((unsigned)workerid, worker_info, true);
    return 0;
}

/* ---- the status ---- */

/* The program's table, if the context has a policy of the program. */
static const struct starpu_sched_policy *user_of(const struct orr_ctx *ctx)
{
    return orr_ctx_is_programs(ctx) ? ctx->user : NULL;
}

static bool wants_to_see_bodies(const struct orr_ctx *ctx)
{
    const struct starpu_sched_policy *user = user_of(ctx);
    if (user) return user->pre_exec_hook || user->post_exec_hook;
    return ctx->policy->pre_exec || ctx->policy->post_exec;
}

void orr_profile_consider(struct orr_ctx *ctx)
{
    bool hook = ctx->policy->submit_hook && (!user_of(ctx) || user_of(ctx)->submit_hook);
    orr_store_relaxed(&ctx->sees_bodies, wants_to_see_bodies(ctx));
    orr_store_relaxed(&ctx->sees_submissions, hook);
}

void orr_profile_listen(void)
{
    static pthread_mutex_t lock =
        PTHREAD_MUTEX_INITIALIZER; /* one after another: the last has seen all; leaf */
    uint32_t see_bodies = 0;       /* bit: in that context */
    pthread_mutex_lock(&lock);
    bool profiling = orr_load_relaxed(&orr_profiling) != 0,
         listens =
             profiling || orr_load_relaxed(&orr_bound_recording) || orr_load_relaxed(&orr_graph.recording);
    for (unsigned i = 0; i < STARPU_NMAX_SCHED_CTXS; i++) {
        struct orr_ctx *ctx = orr_ctx_get(i);
        if (!ctx) continue;
        bool told = orr_counters_of(ctx) != NULL;
        if (told || orr_load_relaxed(&ctx->sees_bodies)) see_bodies |= UINT32_C(1) << i;
        if (told || orr_load_relaxed(&ctx->sees_submissions)) listens = true;
    }
    bool all = profiling || orr_ready_soon_wanted();
    for (unsigned i = 0; i < orr_worker_count; i++)
        orr_store_relaxed(&orr_workers[i].observed,
                          all || (orr_load_relaxed(&orr_workers[i].in) & see_bodies));
    orr_store_release(&orr_task_hooks.submitted, listens ? submitted : NULL);
    pthread_mutex_unlock(&lock);
}

int starpu_profiling_status_set(int status)
{
    bool on = status == STARPU_PROFILING_ENABLE;
    uint32_t before =
        on ? atomic_fetch_or_explicit(&orr_profiling, ORR_PROFILE_TIMES, memory_order_acq_rel)
           : atomic_fetch_and_explicit(&orr_profiling, ~(uint32_t)ORR_PROFILE_TIMES, memory_order_acq_rel);
    if (status == STARPU_PROFILING_ENABLE)
        for (unsigned i = 0; i < orr_worker_count; i++) ask(i, NULL, true);
    orr_profile_listen();
    return before & ORR_PROFILE_TIMES ? STARPU_PROFILING_ENABLE : STARPU_PROFILING_DISABLE;
}

int starpu_profiling_status_get(void)
{
    return orr_load_acquire(&orr_profiling) & ORR_PROFILE_TIMES ? STARPU_PROFILING_ENABLE
                                                                : STARPU_PROFILING_DISABLE;
}

void starpu_profiling_init(void)
{
    if (orr_env_long(ORR_SETTING(STARPU_PROFILING), 0, 0, 1) ||
        orr_env_long(ORR_SETTING(STARPU_WORKER_STATS), 0, 0, 1))
        starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
}

void starpu_profiling_set_id(int new_id)
{
    pthread_mutex_lock(&asked_lock);
    process_id = new_id;
    pthread_mutex_unlock(&asked_lock);
}

void orr_profile_init(void)
{
    bool wanted = orr_load_relaxed(&orr_profiling) & ORR_PROFILE_TIMES; /* before starpu_init */
    orr_store_relaxed(&orr_profiling, orr_breaks_init() ? ORR_PROFILE_BREAKS : 0);
    orr_ready_soon_changed = orr_profile_listen;
    for (unsigned i = 0; i < orr_worker_count; i++) ask(i, NULL, true);
    starpu_profiling_init();
    if (wanted) starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
    orr_profile_listen();
}

void orr_profile_fini(void)
{
    if (orr_env_long(ORR_SETTING(STARPU_WORKER_STATS), 0, 0, 1))
        starpu_profiling_worker_helper_display_summary();
    if (orr_env_long(ORR_SETTING(STARPU_BUS_STATS), 0, 0, 1)) starpu_profiling_bus_helper_display_summary();
    orr_store_relaxed(&orr_profiling, 0);
    orr_store_relaxed(&orr_bound_recording, 0);
    orr_store_release(&orr_task_hooks.submitted, NULL);
}

/* ---- for people ---- */

static double share(struct timespec part, double total_us)
{
    return total_us > 0 ? 100 * starpu_timing_timespec_to_us(&part) / total_us : 0;
}

void starpu_profiling_worker_helper_display_summary(void)
{
    unsigned long tasks = 0;
    double joules = 0, reported = starpu_energy_used();
    pthread_mutex_lock(&asked_lock);
    if (process_id >= 0) fprintf(stderr, "workers of process %d:\n", process_id);
    fprintf(stderr, "%-24s %10s %12s %10s %10s %12s\n", "worker", "tasks", "total ms", "busy %", "idle %",
            "energy J");
    for (unsigned i = 0; i < orr_worker_count; i++) {
        struct starpu_profiling_worker_info info;
        ask_locked(i, &info, false);
        double total_us = starpu_timing_timespec_to_us(&info.total_time);
        fprintf(stderr, "%-24s %10d %12.2f %10.2f %10.2f %12.4f\n", orr_workers[i].name, info.executed_tasks,
                total_us * 1e-3, share(info.executing_time, total_us), share(info.sleeping_time, total_us),
                info.energy_consumed);
        tasks += (unsigned long)info.executed_tasks;
        joules += info.energy_consumed;
    }
    pthread_mutex_unlock(&asked_lock);
    fprintf(stderr, "%-24s %10lu %12s %10s %10s %12.4f\n", "all", tasks, "", "", "", joules);
    fprintf(stderr,
            "consumed energy: %.4f J (%.4f J of tasks by their energy models, %.4f J that the program "
            "reported)\n",
            joules + reported, joules, reported);
}

void starpu_display_stats(void)
{
    starpu_profiling_bus_helper_display_summary();
    starpu_profiling_worker_helper_display_summary();
}

/* ---- energy ---- */

static _Atomic double energy_joules; /* [any: statistic] what the program says it used */

void starpu_energy_use(float joules)
{
    double before = orr_load_relaxed(&energy_joules);
    while (!orr_cas_weak_acq_rel(&energy_joules, &before, before + joules)) continue;
}

double starpu_energy_used(void)
{
    return orr_load_acquire(&energy_joules);
}
