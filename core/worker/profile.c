/* SPDX-License-Identifier: BSD-3-Clause */
/* profile.c: times of tasks, and what each worker did, while profiling is on; an observer.
 * Threads: workers record; any asks and switches. Owns: the status, a record per worker.
 * Not here: traffic between memory nodes (bus_profile.c).
 *
 * A worker only adds to its record. Whoever asks subtracts what it was at the last question, so nobody else
 * writes it. */
#include <stdio.h>

#include <starpu.h>
#include <starpu_profiling.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/env.h"
#include "core/base/event.h"
#include "core/task/perf.h"
#include "core/worker/own.h"
#include "core/worker/worker.h"

extern struct orr_observer orr_profile_observer;

static const uint64_t times =
    ORR_EVENT_BIT(TASK_SUBMITTED) | ORR_EVENT_BIT(TASK_PUSHED) | ORR_EVENT_BIT(TASK_QUEUED) |
    ORR_EVENT_BIT(TASK_POPPED) | ORR_EVENT_BIT(TASK_STARTED) | ORR_EVENT_BIT(TASK_ENDED) |
    ORR_EVENT_BIT(TASK_PART_ENDED) | ORR_EVENT_BIT(TASK_GIVEN_UP) | ORR_EVENT_BIT(CALLBACK_STARTED) |
    ORR_EVENT_BIT(CALLBACK_ENDED) | ORR_EVENT_BIT(WORKER_BUSY);

struct record { /* [own: worker, read by any] since the worker started */
    ORR_ALIGNED_LINE _Atomic uint64_t tasks;
    _Atomic uint64_t executing_ns, sleeping_ns, waiting_ns, callback_ns;
    _Atomic double flops, joules;
    uint64_t ended_ns,
        called_ns;   /* [own: worker] when its last body ended; its callback began, 0: is in none */
    unsigned depth;  /* [own: worker] of the program's functions around that callback */
    unsigned bodies; /* [own: worker] that it has begun and not ended */
    unsigned round;  /* [own: worker] of which these four are */
};
static struct record records[STARPU_NMAXWORKERS];

struct sums {
    uint64_t at_ns, tasks, executing_ns, sleeping_ns, waiting_ns, callback_ns;
    double flops, joules;
};
static ORR_MUTEX(profile) status_lock = PTHREAD_MUTEX_INITIALIZER; /* protects the status */
static _Atomic unsigned rounds; /* how often it was turned on [lock: status, read by any] */
static _Atomic bool profiling;  /* [lock: status, read by any] */
static ORR_MUTEX(profile_asked) asked_lock = PTHREAD_MUTEX_INITIALIZER; /* protects these two; leaf */
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

static uint64_t ns_of(const struct timespec *t)
{
    return (uint64_t)t->tv_sec * STARPU_NS_PER_S + (uint64_t)t->tv_nsec;
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

static void submitted(struct starpu_task *p)
{
    struct starpu_profiling_task_info *info =
        p->profiling_info ? p->profiling_info : orr_malloc(sizeof *info);
    p->profiling_info = info;
    if (!info) return; /* no memory: the task goes unrecorded */
    *info = (struct starpu_profiling_task_info){ .workerid = -1 };
    stamp(&info->submit_time);
}

static void pushed(struct starpu_profiling_task_info *info)
{
    stamp(&info->push_start_time);
    info->push_end_time = info->push_start_time; /* unless the policy says more */
}

static void popped(struct starpu_profiling_task_info *info)
{
    stamp(&info->pop_start_time);
    info->pop_end_time = info->acquire_data_start_time = info->pop_start_time;
}

static void started(struct starpu_profiling_task_info *info, int worker)
{
    info->workerid = worker;
    stamp(&info->start_time);
    info->acquire_data_end_time = info->start_time;
    if (info->pop_start_time.tv_sec == 0) info->pop_start_time = info->pop_end_time = info->start_time;
}

/* What was begun when profiling was turned off is nothing for the next time. */
static struct record *record_of(int worker)
{
    struct record *r = &records[worker];
    unsigned round = orr_load_relaxed(&rounds);
    if (r->round == round) return r;
    r->round = round;
    r->bodies = 0;
    r->ended_ns = r->called_ns = 0;
    return r;
}

/* Worker begins a body: between its last one and this it waited for the data, since it had the task. A part
 * of that in which it ran another one is no waiting. */
static void waited(const struct starpu_profiling_task_info *info, int worker)
{
    struct record *r = record_of(worker);
    uint64_t now = orr_clock_ns(), since = info ? ns_of(&info->pop_start_time) : now;
    if (since < r->ended_ns) since = r->ended_ns;
    if (r->bodies == 0 && since < now) orr_own_add(&r->waiting_ns, now - since);
    r->bodies++;
}

static void over(int worker)
{
    struct record *r = record_of(worker);
    r->ended_ns = orr_clock_ns();
    if (r->bodies > 0) r->bodies--; /* else it began before profiling did */
}

/* Callbacks that no worker calls count for none; those within another one are part of it. That one's end may
 * be untold, if the program took the task. */
static void called_back(bool begins)
{
    const struct orr_worker *w = orr_worker_self();
    if (!w) return;
    struct record *r = record_of(w->id);
    unsigned depth = orr_self()->callback_depth;
    if (r->called_ns && r->depth < depth) return;
    uint64_t now = orr_clock_ns();
    if (!begins && r->called_ns && r->depth == depth) orr_own_add(&r->callback_ns, now - r->called_ns);
    r->called_ns = begins ? now : 0;
    r->depth = depth;
}

/* What t took, as its energy model says: nothing here measures a single task. */
static double joules_of(int worker, struct orr_task *t)
{
    double joules =
        orr_task_expected(t, t->pub->cl->energy_model, orr_perf_workers[worker].comb, t->nimpl, worker);
    return joules > 0 ? joules : 0; /* NaN: the model does not know */
}

/* A task's body took so long, as its device says, and its worker may have seen it end late. */
static void stamp_body(struct starpu_profiling_task_info *info, uint64_t ns)
{
    struct timespec now;
    stamp(&now);
    uint64_t end = ns_of(&info->start_time) + ns;
    if (end > ns_of(&now)) end = ns_of(&now);
    info->end_time = timespec_of(end);
    info->start_time = timespec_of(end - ns);
}

static void ended(struct orr_task *t, int worker, uint64_t ticks)
{
    struct record *r = &records[worker];
    struct starpu_task *p = t->pub;
    orr_own_add(&r->tasks, 1);
    orr_own_add(&r->executing_ns, (uint64_t)(orr_ticks_to_us(ticks) * 1e3));
    orr_own_add(&r->flops, p->flops);
    double joules = orr_unlikely(p->cl->energy_model != NULL) ? joules_of(worker, t) : 0;
    orr_own_add(&r->joules, joules);
    if (!p->profiling_info) return;
    stamp_body(p->profiling_info, (uint64_t)(orr_ticks_to_us(ticks) * 1e3));
    p->profiling_info->release_data_start_time = p->profiling_info->release_data_end_time =
        p->profiling_info->end_time; /* it follows at once, in no time that would tell anything */
    p->profiling_info->energy_consumed = joules;
}

static void task_seen(struct orr_task *t, const struct orr_seen *e)
{
    struct starpu_profiling_task_info *info = t->pub->profiling_info;
    if (e->kind == ORR_EVENT_TASK_SUBMITTED) {
        if (t->pub->cl && !(t->flags & ORR_TF_INTERNAL)) submitted(t->pub);
        return;
    }
    switch (e->kind) {
    case ORR_EVENT_TASK_STARTED: waited(info, (int)e->a); break;
    case ORR_EVENT_TASK_ENDED:
        over((int)e->a);
        ended(t, (int)e->a, e->b);
        break;
    case ORR_EVENT_TASK_GIVEN_UP:
        if (e->b) over((int)e->a);
        break;
    case ORR_EVENT_CALLBACK_STARTED: called_back(true); break;
    case ORR_EVENT_CALLBACK_ENDED: called_back(false); break;
    default: break;
    }
    if (!info) return;
    switch (e->kind) {
    case ORR_EVENT_TASK_PUSHED: pushed(info); break;
    case ORR_EVENT_TASK_QUEUED: stamp(&info->push_end_time); break;
    case ORR_EVENT_TASK_POPPED: popped(info); break;
    case ORR_EVENT_TASK_STARTED: started(info, (int)e->a); break;
    case ORR_EVENT_CALLBACK_STARTED: stamp(&info->callback_start_time); break;
    case ORR_EVENT_CALLBACK_ENDED: stamp(&info->callback_end_time); break;
    default: break;
    }
}

static void profile_see(struct orr_observer *o, const struct orr_seen *e)
{
    (void)o;
    if (e->kind == ORR_EVENT_WORKER_BUSY)
        orr_own_add(&records[e->a].sleeping_ns, orr_clock_ns() - e->c);
    else if (e->kind == ORR_EVENT_TASK_PART_ENDED) /* the leader of its team ends the task */
        orr_own_add(&records[e->a].executing_ns, (uint64_t)(orr_ticks_to_us(e->b) * 1e3));
    else
        task_seen((struct orr_task *)e->subject, e);
}

/* ---- workers ---- */

static struct sums read_record(unsigned id, uint64_t now)
{
    const struct record *r = &records[id];
    uint64_t since = orr_load_acquire(&orr_workers[id].idle_since_ns);
    return (struct sums){ .at_ns = now,
                          .tasks = orr_load_acquire(&r->tasks),
                          .executing_ns = orr_load_acquire(&r->executing_ns),
                          .sleeping_ns =
                              orr_load_acquire(&r->sleeping_ns) + (since && since < now ? now - since : 0),
                          .waiting_ns = orr_load_acquire(&r->waiting_ns),
                          .callback_ns = orr_load_acquire(&r->callback_ns),
                          .flops = orr_load_acquire(&r->flops),
                          .joules = orr_load_acquire(&r->joules) };
}

/* Difference of sums which may be a little out of step. */
static uint64_t since_then(uint64_t now, uint64_t then)
{
    return now > then ? now - then : 0;
}

/* The times of a worker between two readings. What is left of the whole went into choosing tasks, and all
 * else that the runtime does between them. */
static void times_between(struct starpu_profiling_worker_info *info, const struct sums *now,
                          const struct sums *then)
{
    uint64_t total = since_then(now->at_ns, then->at_ns), spent = 0, part;
#define TIME(what)                                                                                           \
    part = since_then(now->what##_ns, then->what##_ns);                                                      \
    info->what##_time = info->all_##what##_time = timespec_of(part);                                         \
    spent += part
    TIME(executing);
    TIME(sleeping);
    TIME(waiting);
    TIME(callback);
#undef TIME
    info->total_time = timespec_of(total);
    info->scheduling_time = info->all_scheduling_time = timespec_of(since_then(total, spent));
}

/* What the worker did since the last question; this one counts as a question if `anew`. Called with
 * asked_lock held. */
static void ask_locked(unsigned id, struct starpu_profiling_worker_info *info, bool anew)
{
    struct sums now = read_record(id, orr_clock_ns()), *then = &asked[id];
    if (info) {
        *info = (struct starpu_profiling_worker_info){ .start_time = timespec_of(then->at_ns) };
        times_between(info, &now, then);
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

int starpu_profiling_status_set(int status)
{
    bool on = status == STARPU_PROFILING_ENABLE;
    pthread_mutex_lock(&status_lock);
    bool before = orr_load_relaxed(&profiling);
    orr_store_release(&profiling, on);
    if (on) orr_own_add(&rounds, 1u);
    if (on)
        for (unsigned i = 0; i < orr_worker_count; i++) ask(i, NULL, true);
    orr_observer_want(&orr_profile_observer, on ? times : 0);
    pthread_mutex_unlock(&status_lock);
    return before ? STARPU_PROFILING_ENABLE : STARPU_PROFILING_DISABLE;
}

int starpu_profiling_status_get(void)
{
    return orr_load_acquire(&profiling) ? STARPU_PROFILING_ENABLE : STARPU_PROFILING_DISABLE;
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

/* The program may have turned it on before the start. */
static void start(struct orr_observer *o)
{
    (void)o;
    for (unsigned i = 0; i < orr_worker_count; i++) ask(i, NULL, true);
    starpu_profiling_init();
}

/* Prints what was asked for. */
static void stop(struct orr_observer *o)
{
    (void)o;
    if (orr_env_long(ORR_SETTING(STARPU_WORKER_STATS), 0, 0, 1))
        starpu_profiling_worker_helper_display_summary();
    if (orr_env_long(ORR_SETTING(STARPU_BUS_STATS), 0, 0, 1)) starpu_profiling_bus_helper_display_summary();
    starpu_profiling_status_set(STARPU_PROFILING_DISABLE);
}

struct orr_observer orr_profile_observer = {
    .name = "profiling", .see = profile_see, .start = start, .stop = stop
};

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
