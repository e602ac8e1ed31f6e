/* SPDX-License-Identifier: BSD-3-Clause */
/* monitor.c: performance counters for listeners of the program (starpu_perf_monitoring.h).
 * Threads: any; counted on the thread where something happens. Owns: the counters, an observer, which
 * listener is set where. Not here: the counters of contexts for a hypervisor (core/worker/counters.c).
 *
 * Who counts enters (`inside`), loads the listener and calls it, and leaves. Who takes a listener away stores
 * NULL and waits until nobody is inside: either that one saw NULL, or this one sees it. */
#include "core/run/monitor.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/event.h"
#include "core/base/log.h"
#include "core/base/thread.h"
#include "core/task/task.h"
#include "core/worker/worker.h"

/* ---- which there are: the number of a counter is its scope's, and its place there ---- */

enum { PER_SCOPE = 16, CODELETS_MAX = 64 };
enum place { TOTAL_SUBMITTED, PEAK_SUBMITTED, PEAK_READY, TOTAL_EXECUTED, EXECUTION_TIME, PLACES };

struct counter {
    const char *name, *help;
    enum place place;
};

#define COUNTERS_OF_TASKS(prefix, whose)                                                                     \
    { "starpu.task." prefix "_total_submitted", "tasks submitted" whose, TOTAL_SUBMITTED },                  \
        { "starpu.task." prefix "_peak_submitted", "most tasks submitted and not ended" whose,               \
          PEAK_SUBMITTED },                                                                                  \
    {                                                                                                        \
        "starpu.task." prefix "_peak_ready", "most tasks ready or running" whose, PEAK_READY                 \
    }
#define COUNTERS_OF_RUNS(prefix, whose)                                                                      \
    { "starpu.task." prefix "_total_executed", "tasks that have run" whose, TOTAL_EXECUTED },                \
    {                                                                                                        \
        "starpu.task." prefix "_cumul_execution_time", "us that tasks took" whose, EXECUTION_TIME            \
    }

static const struct counter global_counters[] = { COUNTERS_OF_TASKS("g", ""), COUNTERS_OF_RUNS("g", "") };
static const struct counter worker_counters[] = { COUNTERS_OF_RUNS("w", ", on a worker") };
static const struct counter codelet_counters[] = { COUNTERS_OF_TASKS("c", ", of a codelet"),
                                                   COUNTERS_OF_RUNS("c", ", of a codelet") };

static const struct scope {
    const char *name;
    enum starpu_perf_counter_scope id;
    const struct counter *counters;
    int n;
} scopes[] = { { "global", starpu_perf_counter_scope_global, global_counters, 5 },
               { "per_worker", starpu_perf_counter_scope_per_worker, worker_counters, 2 },
               { "per_codelet", starpu_perf_counter_scope_per_codelet, codelet_counters, 5 } };
enum { SCOPES = sizeof scopes / sizeof scopes[0] };

static const char *const types[] = { NULL, "int32", "int64", "float", "double" }; /* by their numbers */

static const struct scope *scope_of(int id)
{
    for (int i = 0; i < SCOPES; i++)
        if ((int)scopes[i].id == id) return &scopes[i];
    return NULL;
}

static const struct counter *counter_of(int id)
{
    const struct scope *s = id < 0 ? NULL : scope_of(id / PER_SCOPE);
    return s && id % PER_SCOPE < s->n ? &s->counters[id % PER_SCOPE] : NULL;
}

int starpu_perf_counter_scope_name_to_id(const char *name)
{
    for (int i = 0; name && i < SCOPES; i++)
        if (strcmp(scopes[i].name, name) == 0) return (int)scopes[i].id;
    return -1;
}

const char *starpu_perf_counter_scope_id_to_name(enum starpu_perf_counter_scope scope)
{
    const struct scope *s = scope_of((int)scope);
    return s ? s->name : NULL;
}

int starpu_perf_counter_type_name_to_id(const char *name)
{
    for (int i = 1; name && i <= starpu_perf_counter_type_double; i++)
        if (strcmp(types[i], name) == 0) return i;
    return -1;
}

const char *starpu_perf_counter_type_id_to_name(enum starpu_perf_counter_type type)
{
    return (int)type > 0 && (int)type <= starpu_perf_counter_type_double ? types[type] : NULL;
}

int starpu_perf_counter_nb(enum starpu_perf_counter_scope scope)
{
    const struct scope *s = scope_of((int)scope);
    return s ? s->n : 0;
}

int starpu_perf_counter_nth_to_id(enum starpu_perf_counter_scope scope, int nth)
{
    return nth >= 0 && nth < starpu_perf_counter_nb(scope) ? (int)scope * PER_SCOPE + nth : -1;
}

int starpu_perf_counter_name_to_id(enum starpu_perf_counter_scope scope, const char *name)
{
    const struct scope *s = scope_of((int)scope);
    for (int i = 0; name && s && i < s->n; i++)
        if (strcmp(s->counters[i].name, name) == 0) return (int)scope * PER_SCOPE + i;
    return -1;
}

const char *starpu_perf_counter_id_to_name(int id)
{
    const struct counter *c = counter_of(id);
    return c ? c->name : NULL;
}

int starpu_perf_counter_get_type_id(int id)
{
    const struct counter *c = counter_of(id);
    if (!c) return -1;
    return c->place == EXECUTION_TIME ? starpu_perf_counter_type_double : starpu_perf_counter_type_int64;
}

const char *starpu_perf_counter_get_help_string(int id)
{
    const struct counter *c = counter_of(id);
    return c ? c->help : NULL;
}

void starpu_perf_counter_list_avail(enum starpu_perf_counter_scope scope)
{
    for (int i = 0; i < starpu_perf_counter_nb(scope); i++) {
        int id = starpu_perf_counter_nth_to_id(scope, i);
        printf("0x%08x: %s [%s] - %s\n", (unsigned)id, starpu_perf_counter_id_to_name(id),
               types[starpu_perf_counter_get_type_id(id)], starpu_perf_counter_get_help_string(id));
    }
}

void starpu_perf_counter_list_all_avail(void)
{
    for (int i = 0; i < SCOPES; i++) {
        printf("scope: %s\n", scopes[i].name);
        starpu_perf_counter_list_avail(scopes[i].id);
    }
}

/* ---- sets and samples ---- */

struct starpu_perf_counter_set {
    enum starpu_perf_counter_scope scope;
    uint32_t enabled; /* bit: the nth of its scope */
};

struct starpu_perf_counter_sample { /* on the stack of who calls the listener */
    const struct starpu_perf_counter_listener *of;
    int64_t count[PLACES];
    double us;
};

struct starpu_perf_counter_listener {
    struct starpu_perf_counter_set set;
    void (*callback)(struct starpu_perf_counter_listener *listener, struct starpu_perf_counter_sample *sample,
                     void *context);
    void *arg;
};

struct starpu_perf_counter_set *starpu_perf_counter_set_alloc(enum starpu_perf_counter_scope scope)
{
    struct starpu_perf_counter_set *set = scope_of((int)scope) ? orr_calloc(1, sizeof *set) : NULL;
    if (set) set->scope = scope;
    return set;
}

void starpu_perf_counter_set_free(struct starpu_perf_counter_set *set)
{
    orr_free(set);
}

static void put(struct starpu_perf_counter_set *set, int id, bool in)
{
    if (!set || !counter_of(id) || id / PER_SCOPE != (int)set->scope) {
        orr_error("starpu_perf_counter_set_%s_id: counter %d is not of the set's scope",
                  in ? "enable" : "disable", id);
        return;
    }
    uint32_t bit = UINT32_C(1) << (id % PER_SCOPE);
    set->enabled = in ? set->enabled | bit : set->enabled & ~bit;
}

void starpu_perf_counter_set_enable_id(struct starpu_perf_counter_set *set, int id)
{
    put(set, id, true);
}

void starpu_perf_counter_set_disable_id(struct starpu_perf_counter_set *set, int id)
{
    put(set, id, false);
}

/* The counter that a sample may be asked for; NULL, after a message: none. */
static const struct counter *asked_for(const struct starpu_perf_counter_sample *s, int id, int type)
{
    const struct counter *c = counter_of(id);
    if (s && c && id / PER_SCOPE == (int)s->of->set.scope && s->of->set.enabled >> id % PER_SCOPE & 1 &&
        starpu_perf_counter_get_type_id(id) == type)
        return c;
    orr_error("starpu_perf_counter_sample_get_%s_value: counter %d is not in the listener's set, or of "
              "another type",
              types[type], id);
    return NULL;
}

int32_t starpu_perf_counter_sample_get_int32_value(struct starpu_perf_counter_sample *sample,
                                                   const int counter_id)
{
    const struct counter *c = asked_for(sample, counter_id, starpu_perf_counter_type_int32);
    return c ? (int32_t)sample->count[c->place] : 0;
}

int64_t starpu_perf_counter_sample_get_int64_value(struct starpu_perf_counter_sample *sample,
                                                   const int counter_id)
{
    const struct counter *c = asked_for(sample, counter_id, starpu_perf_counter_type_int64);
    return c ? sample->count[c->place] : 0;
}

float starpu_perf_counter_sample_get_float_value(struct starpu_perf_counter_sample *sample,
                                                 const int counter_id)
{
    return asked_for(sample, counter_id, starpu_perf_counter_type_float) ? (float)sample->us : 0;
}

double starpu_perf_counter_sample_get_double_value(struct starpu_perf_counter_sample *sample,
                                                   const int counter_id)
{
    return asked_for(sample, counter_id, starpu_perf_counter_type_double) ? sample->us : 0;
}

/* ---- listeners and what they listen to ---- */

struct source { /* counters of all tasks, a worker or a codelet */
    ORR_ALIGNED_LINE _Atomic(struct starpu_perf_counter_listener *)
        listener;                              /* [lock: monitor, read by any] */
    _Atomic int64_t submitted, ready;          /* [any] at the moment */
    _Atomic int64_t count[PLACES];             /* [any] */
    _Atomic uint64_t ticks;                    /* [any] */
    _Atomic(const struct starpu_codelet *) cl; /* [lock: monitor, read by any] NULL: free */
};

static ORR_MUTEX(monitor) lock = PTHREAD_MUTEX_INITIALIZER; /* protects which listeners are set */
static struct source all_tasks, workers[STARPU_NMAXWORKERS], codelets[CODELETS_MAX];
static _Atomic unsigned codelets_used; /* slots that ever were [lock: monitor, read by any] */
static _Atomic unsigned inside;        /* threads that may have loaded a listener */
static bool collecting, running,
    observed; /* [lock: monitor] asked for; the runtime runs; the observer is added */

/* NULL: it has none. */
static struct source *source_of_codelet(const struct starpu_codelet *cl)
{
    unsigned n = cl ? orr_load_acquire(&codelets_used) : 0; /* NULL is what free slots have */
    for (unsigned i = 0; i < n; i++)
        if (orr_load_acquire(&codelets[i].cl) == cl) return &codelets[i];
    return NULL;
}

static void tell(struct source *s)
{
    struct starpu_perf_counter_listener *l = orr_load_seq(&s->listener);
    if (!l) return;
    struct starpu_perf_counter_sample sample = { .of = l,
                                                 .us = orr_ticks_to_us(orr_load_relaxed(&s->ticks)) };
    for (int i = 0; i < PLACES; i++) sample.count[i] = orr_load_relaxed(&s->count[i]);
    l->callback(l, &sample, l->arg);
}

/* One more of them at this moment, and perhaps more than ever. */
static void rise(struct source *s, _Atomic int64_t *now, enum place peak)
{
    int64_t n = orr_add_relaxed(now, 1) + 1, most = orr_load_relaxed(&s->count[peak]);
    while (n > most && !orr_cas_weak_acq_rel(&s->count[peak], &most, n)) continue;
}

/* Those that were there before counting began are not counted down. */
static void fall(_Atomic int64_t *now)
{
    int64_t n = orr_load_relaxed(now);
    while (n > 0 && !orr_cas_weak_acq_rel(now, &n, n - 1)) continue;
}

static void ran(struct source *s, uint64_t ticks)
{
    orr_add_relaxed(&s->count[TOTAL_EXECUTED], 1);
    orr_add_relaxed(&s->ticks, ticks);
}

static void count(struct source *s, const struct orr_seen *e)
{
    switch (e->kind) {
    case ORR_EVENT_TASK_SUBMITTED:
        orr_add_relaxed(&s->count[TOTAL_SUBMITTED], 1);
        rise(s, &s->submitted, PEAK_SUBMITTED);
        break;
    case ORR_EVENT_TASK_READY: rise(s, &s->ready, PEAK_READY); break;
    case ORR_EVENT_TASK_ENDED: ran(s, e->b); break;
    default:
        fall(&s->ready);
        fall(&s->submitted);
        return;
    }
    tell(s);
}

static void see(struct orr_observer *o, const struct orr_seen *e)
{
    const struct orr_task *t = e->subject;
    (void)o;
    if (!t->pub->cl || t->flags & ORR_TF_INTERNAL) return;
    orr_add_seq(&inside, 1u);
    count(&all_tasks, e);
    struct source *of_codelet = source_of_codelet(t->pub->cl);
    if (of_codelet) count(of_codelet, e);
    if (e->kind == ORR_EVENT_TASK_ENDED) {
        ran(&workers[e->a], e->b);
        tell(&workers[e->a]);
    }
    orr_sub_seq(&inside, 1u);
}

static struct orr_observer observer = { .name = "performance counters",
                                        .see = see,
                                        .calls_program = true,
                                        .kinds = ORR_EVENT_BIT(TASK_SUBMITTED) | ORR_EVENT_BIT(TASK_READY) |
                                                 ORR_EVENT_BIT(TASK_ENDED) | ORR_EVENT_BIT(TASK_COMPLETED) };

struct starpu_perf_counter_listener *starpu_perf_counter_listener_init(
    struct starpu_perf_counter_set *set,
    void (*callback)(struct starpu_perf_counter_listener *listener, struct starpu_perf_counter_sample *sample,
                     void *context),
    void *user_arg)
{
    struct starpu_perf_counter_listener *l = set && callback ? orr_malloc(sizeof *l) : NULL;
    if (l) *l = (struct starpu_perf_counter_listener){ *set, callback, user_arg };
    return l;
}

void starpu_perf_counter_listener_exit(struct starpu_perf_counter_listener *listener)
{
    orr_free(listener);
}

/* Called with the lock held. */
static void set_locked(struct source *s, struct starpu_perf_counter_listener *l,
                       enum starpu_perf_counter_scope scope)
{
    const char *name = starpu_perf_counter_scope_id_to_name(scope);
    if (!l || l->set.scope != scope)
        orr_error("a listener (starpu_perf_counter_listener_init) of the scope %s is wanted here", name);
    else if (!s)
        orr_error("a listener of the scope %s is set for what there is not, or for too many", name);
    else if (orr_load_relaxed(&s->listener))
        orr_error("there is a listener of the scope %s already; unset it first", name);
    else
        orr_store_release(&s->listener, l);
}

static void wait_until_none_inside(void)
{
    while (orr_load_seq(&inside) > 0) sched_yield();
}

void starpu_perf_counter_set_global_listener(struct starpu_perf_counter_listener *listener)
{
    pthread_mutex_lock(&lock);
    set_locked(&all_tasks, listener, starpu_perf_counter_scope_global);
    pthread_mutex_unlock(&lock);
}

void starpu_perf_counter_set_per_worker_listener(unsigned workerid,
                                                 struct starpu_perf_counter_listener *listener)
{
    struct source *s = workerid < orr_worker_count ? &workers[workerid] : NULL;
    pthread_mutex_lock(&lock);
    set_locked(s, listener, starpu_perf_counter_scope_per_worker);
    pthread_mutex_unlock(&lock);
}

void starpu_perf_counter_set_all_per_worker_listeners(struct starpu_perf_counter_listener *listener)
{
    for (unsigned i = 0; i < orr_worker_count; i++) starpu_perf_counter_set_per_worker_listener(i, listener);
}

/* A slot for cl, which has none; its counters begin anew. Called with the lock held. NULL: there are too
 * many. */
static struct source *claim_locked(const struct starpu_codelet *cl)
{
    for (unsigned i = 0; cl && i < CODELETS_MAX; i++) {
        struct source *s = &codelets[i];
        if (orr_load_relaxed(&s->cl)) continue;
        for (int k = 0; k < PLACES; k++) orr_store_relaxed(&s->count[k], 0);
        orr_store_relaxed(&s->submitted, 0);
        orr_store_relaxed(&s->ready, 0);
        orr_store_relaxed(&s->ticks, 0);
        orr_store_release(&s->cl, cl);
        if (i >= orr_load_relaxed(&codelets_used)) orr_store_release(&codelets_used, i + 1);
        return s;
    }
    return NULL;
}

void starpu_perf_counter_set_per_codelet_listener(struct starpu_codelet *cl,
                                                  struct starpu_perf_counter_listener *listener)
{
    pthread_mutex_lock(&lock);
    struct source *s = source_of_codelet(cl);
    bool good = listener && listener->set.scope == starpu_perf_counter_scope_per_codelet;
    if (!s && good) s = claim_locked(cl);
    set_locked(s, listener, starpu_perf_counter_scope_per_codelet);
    pthread_mutex_unlock(&lock);
}

static void clear_locked(struct source *s)
{
    orr_store_seq(&s->listener, NULL);
    orr_store_release(&s->cl, NULL);
}

static void unset(struct source *s)
{
    pthread_mutex_lock(&lock);
    clear_locked(s);
    pthread_mutex_unlock(&lock);
    wait_until_none_inside();
}

void starpu_perf_counter_unset_global_listener(void)
{
    unset(&all_tasks);
}

void starpu_perf_counter_unset_per_worker_listener(unsigned workerid)
{
    if (workerid < STARPU_NMAXWORKERS) unset(&workers[workerid]);
}

void starpu_perf_counter_unset_all_per_worker_listeners(void)
{
    for (unsigned i = 0; i < STARPU_NMAXWORKERS; i++)
        if (orr_load_acquire(&workers[i].listener)) unset(&workers[i]);
}

void starpu_perf_counter_unset_per_codelet_listener(struct starpu_codelet *cl)
{
    pthread_mutex_lock(&lock); /* found under it: the slot may be another codelet's a moment later */
    struct source *s = source_of_codelet(cl);
    if (s) clear_locked(s);
    pthread_mutex_unlock(&lock);
    if (s) wait_until_none_inside();
}

/* ---- collecting ---- */

/* What was under way when counting stopped ended uncounted. */
static void nothing_under_way(struct source *s, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        orr_store_relaxed(&s[i].submitted, 0);
        orr_store_relaxed(&s[i].ready, 0);
    }
}

/* Called with the lock held. */
static void observe_locked(bool on)
{
    if (on == observed) return;
    if (on) {
        nothing_under_way(&all_tasks, 1);
        nothing_under_way(codelets, CODELETS_MAX);
    }
    observed = on && orr_observer_add(&observer) == 0;
    if (!on)
        orr_observer_remove(&observer);
    else if (!observed)
        orr_error("starpu_perf_counter_collection_start: there are too many observers; nothing is counted");
}

void starpu_perf_counter_collection_start(void)
{
    pthread_mutex_lock(&lock);
    collecting = true;
    observe_locked(running);
    pthread_mutex_unlock(&lock);
}

void starpu_perf_counter_collection_stop(void)
{
    pthread_mutex_lock(&lock);
    collecting = false;
    observe_locked(false);
    pthread_mutex_unlock(&lock);
}

void orr_monitor_start(const struct starpu_conf *conf)
{
    pthread_mutex_lock(&lock);
    running = true;
    collecting |= conf->start_perf_counter_collection != 0;
    observe_locked(collecting);
    pthread_mutex_unlock(&lock);
}

void orr_monitor_stop(void)
{
    pthread_mutex_lock(&lock);
    running = collecting = false;
    observe_locked(false);
    pthread_mutex_unlock(&lock);
}
