/* SPDX-License-Identifier: BSD-3-Clause */
/* dm.c: the policies that use performance models: a ready task goes to the worker where it should end first
 * (dm), counting the transfers of its data (dmda), queues sorted by priority (dmdap), by data at hand
 * (dmdar), by both (dmdas), and the decision made among tasks of at least its priority (dmdasd).
 * Threads: any pushes; workers pop. Owns: queues and expected loads. Not here: models (core/perf), the queue
 * (queue.c), predictions for a task (core/task/perf.c), the fallback for tasks without models (pool.c).
 *
 * The decision is a heft step made when a task is ready (H. Topcuoglu et al., IEEE TPDS 13(3), 2002): the
 * worker w with the least alpha * (load of w + time on w) + beta * transfer + gamma * energy. Workers of one
 * architecture on one memory node are of one kind: the model is asked once for each kind, not for each
 * worker.
 *
 * The load of a worker is what was pushed to it less what it has done, both sums of predicted nanoseconds
 * that only grow. A worker publishes what it has done every few microseconds, so that for tiny tasks deciding
 * and running do not share a cache line each time. A worker that sleeps counts as loaded by the time it takes
 * to wake it.
 *
 * Copies to a node follow one another, beside the kernels. Each decision adds its copies to the time when the
 * link to that node is free again; a task cannot start before that, whatever the load of the worker. Without
 * this a slow link is promised to a hundred tasks at once.
 *
 * While a model lacks measures for a kind of worker, a few tasks go to a queue that this kind alone serves;
 * the others go where the models that are known say, or to a common pool as under eager. A worker that has
 * had nothing to do for a while takes tasks from others of its kind: their data is as near to it, and a
 * prediction was wrong. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/mem/node.h"
#include "core/task/perf.h"
#include "core/task/prefetch.h"
#include "core/worker/driver.h"
#include "core/worker/park.h"
#include "core/worker/tell.h"
#include "core/worker/weighed.h"
#include "sched/cost.h"
#include "sched/dm.h"
#include "sched/pool.h"
#include "sched/watchman.h"

enum trait { DATA_AWARE = 1, SORTED = 2, READY = 4, SORTED_DECISION = 8 };

enum { WINDOW = 256, STEAL_MAX = 16, PUBLISH_TASKS = 64, WALK_MAX = 512, FEW = 10 };
static const int64_t publish_ns = 2000, long_ns = 2000, wake_ns = 20000;
static const double steal_after_us =
    60; /* less than the time that an idle worker searches before it sleeps (park.c) */

/* What a task adds to a load, in ns: a little where its time is not known or nothing (0: it is not counted),
 * and 104 days at most, so that a thousand such tasks in one queue do not overflow it. */
enum { UNKNOWN_NS = 1000 };
static const double most_ns = 0x1p53;

struct kind;

struct slot {                                 /* a worker, as this policy sees it */
    ORR_ALIGNED_LINE _Atomic uint64_t pushed; /* load given to it so far */
    ORR_ALIGNED_LINE _Atomic uint64_t done;   /* load it has worked off [own, read by pushers] */
    _Atomic uint64_t running_since;  /* ticks at which a long task began, 0: none [own, read by pushers] */
    _Atomic int64_t running_ns;      /* its prediction */
    uint64_t unpublished;            /* worked off, not in done yet [own] */
    unsigned unpublished_tasks;      /* so many [own] */
    uint64_t ran[2];                 /* tasks placed without, and with, a prediction [own] */
    uint64_t ran_without_model;      /* of these [own] */
    uint64_t idle_since;             /* ticks of the first pop that found nothing, 0: busy [own] */
    bool common_first;               /* whose turn it is: the common queues' or its own [own] */
    struct orr_worker *worker;       /* [const] */
    struct kind *kind;               /* [const] */
    struct dm *dm;                   /* [const] */
    _Atomic bool active;             /* in the context */
    ORR_SPIN(dm_window) window_lock; /* protects window; held while handles and the queue are looked at */
    struct orr_task *window[WINDOW]; /* tasks taken from the queue to choose among, in order */
    _Atomic uint32_t in_window;
    struct orr_queue queue;
};

struct kind { /* workers that a model cannot tell apart */
    int comb;
    unsigned node;
    _Atomic unsigned count;  /* publishes the members below it */
    _Atomic unsigned active; /* of these, in the context */
    struct slot *member[STARPU_NMAXWORKERS];
    struct orr_queue calibration; /* tasks that this kind runs to be measured */
};

struct dm {
    struct orr_ctx *ctx;
    unsigned traits;
    struct orr_weights weights;
    bool prefetch; /* [const] */
    struct orr_pool *pool;
    struct orr_watchman watchman;
    _Atomic unsigned kind_count; /* publishes the kinds below it */
    struct kind *kinds[STARPU_NMAXWORKERS];
    _Atomic(struct slot *) slots[STARPU_NMAXWORKERS]; /* by worker; NULL: never in the context */
};

static inline struct slot *slot_of(const struct dm *d, unsigned worker)
{
    return orr_load_acquire(&d->slots[worker]);
}

/* ---- loads ---- */

static uint64_t load_of(double us)
{
    double ns = us * 1e3;
    return ns >= 1 ? (uint64_t)(ns < most_ns ? ns : most_ns) : UNKNOWN_NS;
}

/* What t was counted as; 0: it was not. The prediction in the public task is the only note of it. */
static uint64_t counted_load(const struct orr_task *t)
{
    double us = t->pub->predicted;
    return isnan(us) ? 0 : load_of(us);
}

static void count_not(struct orr_task *t)
{
    t->pub->predicted = NAN;
}

static int64_t outstanding_ns(struct slot *s, const struct orr_worker *self)
{
    uint64_t done = orr_load_acquire(&s->done); /* first: what is done was pushed before */
    if (s->worker == self) done += s->unpublished;
    uint64_t load = orr_load_relaxed(&s->pushed) - done;
    return (int64_t)load < 0 ? 0 : (int64_t)load;
}

/* What is left of a long task that runs now counts, what it has run does not. */
static int64_t elapsed_ns(struct slot *s, uint64_t now)
{
    uint64_t since = orr_load_relaxed(&s->running_since);
    if (orr_likely(since == 0 || now <= since)) return 0;
    int64_t elapsed = (int64_t)((double)(now - since) * orr_ns_per_tick),
            whole = orr_load_relaxed(&s->running_ns);
    return elapsed < whole ? elapsed : whole;
}

static int64_t sleeping_ns(const struct slot *s)
{
    unsigned id = (unsigned)s->worker->id;
    return orr_load_relaxed(&orr_parking.who[id / 64]) >> (id % 64) & 1 ? wake_ns : 0;
}

static int64_t load_ns(struct slot *s, const struct orr_worker *self, uint64_t now)
{
    int64_t ns = outstanding_ns(s, self) - elapsed_ns(s, now);
    return (ns > 0 ? ns : 0) + sleeping_ns(s);
}

struct load_sum {
    int32_t priority;
    int64_t all_ns, ahead_ns; /* of tasks whose priority is not 0; of those at least as urgent */
};

static void add_ahead(struct orr_task *t, void *arg)
{
    struct load_sum *sum = arg;
    int64_t ns = (int64_t)counted_load(t);
    sum->all_ns += ns;
    if (t->priority >= sum->priority) sum->ahead_ns += ns;
}

/* The part of a worker's load that would run before a task of this priority. */
static int64_t load_ahead_ns(struct slot *s, int32_t priority, int64_t total)
{
    struct orr_queue *q = &s->queue;
    struct load_sum sum = { .priority = priority };
    orr_spin_lock(&q->lock);
    bool small = orr_load_relaxed(&q->high_count) + orr_load_relaxed(&q->low_count) <= WALK_MAX;
    if (small) orr_queue_walk_locked(q, add_ahead, &sum);
    orr_spin_unlock(&q->lock);
    if (!small) return total;
    int64_t rest = total - sum.all_ns; /* priority 0, and the running task */
    if (rest < 0) rest = 0;
    return priority <= 0 || orr_queue_length(q) == 0 ? sum.ahead_ns + rest : sum.ahead_ns;
}

/* Says that s will run t, for so long. */
static void add_load(struct slot *s, struct orr_task *t, double us)
{
    t->pub->predicted = us;
    orr_add_relaxed(&s->pushed, load_of(us));
}

static void publish(struct slot *s)
{
    if (!s->unpublished) return;
    orr_own_add(&s->done, s->unpublished);
    s->unpublished = 0;
    s->unpublished_tasks = 0;
}

/* ---- deciding ---- */

struct decision {
    struct orr_task *t;
    uint64_t now;
    const struct orr_worker *self;
    int64_t latest_ns; /* when the last worker ends, for idle power */
    bool picky;        /* each worker must be asked whether it can run t */
    struct slot *best; /* NULL: no model knows */
    double best_cost, best_us, best_transfer_us;
    unsigned best_impl;
    struct kind *uncalibrated; /* lacks measures, with the shortest queue for them */
    unsigned uncalibrated_impl;
    struct orr_weighed *weighed; /* NULL: nobody wants to know */
};

/* What models say of one kind of worker. */
struct offer {
    unsigned impls; /* bit: time known */
    unsigned fastest;
    double us[STARPU_MAXIMPLEMENTATIONS];
    double transfer_us, conversion_us;
    double room_us; /* to make room for it */
};

static void note_uncalibrated(struct decision *c, struct kind *k, unsigned impl)
{
    if (c->uncalibrated &&
        orr_queue_length(&k->calibration) >= orr_queue_length(&c->uncalibrated->calibration))
        return;
    c->uncalibrated = k;
    c->uncalibrated_impl = impl;
}

/* False: this kind of worker has no implementation, or no known time. */
static bool ask_models(struct decision *c, struct kind *k, struct offer *o)
{
    struct orr_worker *w = k->member[0]->worker;
    struct starpu_codelet *cl = c->t->pub->cl;
    o->impls = 0;
    if (!(orr_task_where(c->t->pub) & w->where)) return false;
    for (unsigned i = 0; i < STARPU_MAXIMPLEMENTATIONS && orr_worker_function(w, cl, i); i++) {
        o->us[i] = orr_task_expected(c->t, cl->model, k->comb, i, w->id);
        if (orr_unlikely(isnan(o->us[i]))) {
            note_uncalibrated(c, k, i);
            continue;
        }
        if (o->impls == 0 || o->us[i] < o->us[o->fastest]) o->fastest = i;
        o->impls |= 1u << i;
    }
    return o->impls != 0;
}

/* The fastest implementation that s can run t with; false: none. */
static bool fastest_for(struct decision *c, struct slot *s, const struct offer *o, unsigned *impl_out)
{
    *impl_out = o->fastest;
    if (orr_likely(!c->picky)) return true;
    bool found = false;
    for (unsigned i = 0; i < STARPU_MAXIMPLEMENTATIONS; i++) {
        if (!(o->impls >> i & 1) || !orr_worker_can_run_impl(s->worker, c->t, i)) continue;
        if (!found || o->us[i] < o->us[*impl_out]) *impl_out = i;
        found = true;
    }
    return found;
}

/* Energy of t on a worker of kind k, and what the idle machine takes if t makes the whole last longer; in ns
 * by gamma. */
static double energy_cost(struct dm *d, struct decision *c, int comb, unsigned impl, double end_ns)
{
    double longer_us = (end_ns - (double)c->latest_ns) * 1e-3;
    return orr_cost_energy_us(&d->weights, c->t->pub, comb, impl, -1, longer_us) * 1e3;
}

static void weigh_slot(struct dm *d, struct decision *c, struct kind *k, struct slot *s,
                       const struct offer *o)
{
    unsigned impl;
    if (!orr_load_relaxed(&s->active) || !fastest_for(c, s, o, &impl)) return;
    int64_t load = load_ns(s, c->self, c->now);
    if (orr_unlikely(d->traits & SORTED_DECISION)) load = load_ahead_ns(s, c->t->priority, load);
    double start = (double)load, bring = (o->transfer_us + o->room_us) * 1e3;
    if (orr_unlikely(bring > 0 && !orr_node_is_cpu(k->node)))
        start = orr_cost_start(start, orr_link_busy_us(k->node, c->now) * 1e3, bring);
    double us = o->us[impl] + o->conversion_us, end = start + us * 1e3;
    double cost = orr_cost_time(&d->weights, end, bring);
    if (orr_unlikely(c->t->pub->cl->energy_model || d->weights.idle_watt > 0))
        cost += energy_cost(d, c, k->comb, impl, end);
    if (orr_unlikely(c->weighed != NULL))
        orr_weighed_add(c->weighed, (unsigned)s->worker->id, us, o->transfer_us, cost);
    if (c->best && (cost > c->best_cost || (cost == c->best_cost && s->worker != c->self))) return;
    c->best = s;
    c->best_cost = cost;
    c->best_us = us;
    c->best_transfer_us = o->transfer_us;
    c->best_impl = impl;
}

static void weigh_all(struct dm *d, struct decision *c)
{
    unsigned kinds = orr_load_acquire(&d->kind_count);
    for (unsigned i = 0; d->weights.idle_watt > 0 && i < kinds; i++)
        for (unsigned m = 0, n = orr_load_acquire(&d->kinds[i]->count); m < n; m++) {
            int64_t ns = load_ns(d->kinds[i]->member[m], c->self, c->now);
            if (ns > c->latest_ns) c->latest_ns = ns;
        }
    for (unsigned i = 0; i < kinds; i++) {
        struct kind *k = d->kinds[i];
        struct offer o;
        if (orr_unlikely(orr_load_relaxed(&k->active) == 0) || !ask_models(c, k, &o)) continue;
        bool counts = orr_node_count > 1 && (d->traits & DATA_AWARE);
        o.room_us = orr_node_count > 1 ? orr_task_room_us(c->t, k->node) : 0;
        if (orr_unlikely(isinf(o.room_us))) continue; /* it never fits there */
        if (!counts) o.room_us = 0;
        o.transfer_us = counts ? orr_task_transfer_us(c->t, k->node) : 0;
        o.conversion_us = counts ? orr_task_conversion_us(c->t, k->node) : 0;
        for (unsigned m = 0, n = orr_load_acquire(&k->count); m < n; m++)
            weigh_slot(d, c, k, k->member[m], &o);
    }
}

/* ---- pushing ---- */

static void push_common(struct dm *d, struct orr_task *t)
{
    count_not(t);
    t->nimpl_valid = 0;
    bool universal = orr_task_is_universal(t, d->pool->kinds);
    orr_pool_push(d->pool, t);
    if (universal)
        orr_wake_any(d->ctx, orr_pool_length(d->pool));
    else
        orr_wake_each(d->ctx);
}

static void wake_one_of(struct dm *d, struct kind *k)
{
    if (orr_load_relaxed(&d->kind_count) == 1) {
        orr_wake_any(d->ctx, orr_queue_length(&k->calibration));
        return;
    }
    for (unsigned m = 0, n = orr_load_acquire(&k->count); m < n; m++) {
        unsigned id = (unsigned)k->member[m]->worker->id;
        struct orr_worker *w = k->member[m]->worker;
        bool parked = orr_load_seq(&orr_parking.who[id / 64]) >> (id % 64) & 1,
             on_cond = orr_load_seq(&w->on_cond);
        if (!orr_load_relaxed(&k->member[m]->active) || (!parked && !on_cond)) continue;
        orr_wake_worker(w);
        if (parked) return;
    }
}

static void dm_push(void *instance, struct orr_task *t);
static struct orr_task *pop_window(struct slot *s);

/* Tasks of a worker that is not in the context any more, and of a kind of which none is: a worker that
 * leaves says so before it looks for them, and a push looks afterwards whether a worker is still there. */
static void decide_anew(struct slot *s)
{
    struct orr_task *t;
    while ((t = orr_queue_pop(&s->queue)) || (t = pop_window(s))) {
        orr_add_relaxed(&s->pushed, (uint64_t)0 - counted_load(t));
        dm_push(s->dm, t);
    }
}

static void decide_calibration_anew(struct dm *d, struct kind *k)
{
    struct orr_task *t;
    while ((t = orr_queue_pop(&k->calibration))) dm_push(d, t);
}

static void push_to_calibrate(struct dm *d, struct decision *c)
{
    struct orr_task *t = c->t;
    count_not(t);
    t->nimpl = (uint8_t)c->uncalibrated_impl;
    t->nimpl_valid = 1;
    if (d->prefetch) orr_task_prefetch(t->pub, c->uncalibrated->node, t->priority, false);
    struct kind *k = c->uncalibrated;
    orr_queue_push(&k->calibration, t);
    wake_one_of(d, k);
    if (orr_unlikely(orr_load_seq(&k->active) == 0))
        decide_calibration_anew(d, k); /* pairs with remove_slot */
}

static void push_to_best(struct dm *d, struct decision *c)
{
    struct orr_task *t = c->t;
    struct starpu_task *p = t->pub;
    struct slot *s = c->best;
    t->nimpl = (uint8_t)c->best_impl;
    t->nimpl_valid = 1;
    p->predicted_transfer = c->best_transfer_us;
    if (orr_unlikely(c->best_transfer_us > 0)) orr_link_promise(s->kind->node, c->now, c->best_transfer_us);
    add_load(s, t, c->best_us);
    if (orr_unlikely(orr_node_count > 1 && d->prefetch))
        orr_task_prefetch(p, s->kind->node, p->priority, false);
    orr_tell_placed(t, s->worker);
    orr_queue_push(&s->queue, t);
    orr_wake_worker(s->worker);
    orr_watchman_wanted(&d->watchman);
    if (orr_unlikely(!orr_load_seq(&s->active))) decide_anew(s); /* pairs with remove_slot */
}

/* A kind that has enough to measure already; more would only wait. */
static bool calibration_is_full(struct kind *k)
{
    return orr_queue_length(&k->calibration) >= orr_calibration_minimum + 2 * orr_load_relaxed(&k->count);
}

/* As weigh_all, for observers. */
static __attribute__((cold, noinline)) void weigh_and_tell(struct dm *d, struct decision *c)
{
    struct orr_weighed weighed = { .count = 0 };
    c->weighed = &weighed;
    weigh_all(d, c);
    c->weighed = NULL;
    weighed.chosen = c->best ? (int)c->best->worker->id : -1;
    ORR_EVENT(TASK_WEIGHED, c->t, c->t->id, (uintptr_t)&weighed, 0);
}

static void push(struct dm *d, struct orr_task *t, bool tells)
{
    struct starpu_perfmodel *m = t->pub->cl->model;
    if (!(d->traits & SORTED)) t->priority = 0; /* first come, first served, whatever queue it goes to */
    if (orr_unlikely(!m || m->type == STARPU_PERFMODEL_INVALID)) {
        push_common(d, t);
        return;
    }
    struct decision c = { .t = t,
                          .now = orr_ticks(),
                          .self = orr_worker_self(),
                          .picky = t->pub->cl->can_execute || t->pub->workerids_len };
    if (orr_unlikely(orr_events_wanted(ORR_EVENT_BIT(TASK_WEIGHED))) && tells)
        weigh_and_tell(d, &c);
    else
        weigh_all(d, &c);
    if (orr_unlikely(c.uncalibrated && orr_perfmodel_is_measured(m->type))) {
        struct orr_perfmodel_state *s = orr_perfmodel_peek(m);
        if (s) orr_perfmodel_want_calibration(s);
        if (s && !c.picky && !calibration_is_full(c.uncalibrated)) {
            push_to_calibrate(d, &c);
            return;
        }
    }
    if (orr_likely(c.best != NULL))
        push_to_best(d, &c);
    else
        push_common(d, t);
}

static void dm_push(void *instance, struct orr_task *t)
{
    push(instance, t, true);
}

void orr_dm_push_untold(void *dm, struct orr_task *t)
{
    push(dm, t, false);
}

/* Counts a task that s will run without this policy's doing. */
static void count_bound(struct slot *s, struct orr_task *t)
{
    struct starpu_perfmodel *m = t->pub->cl->model;
    double us =
        m ? orr_task_expected(t, m, s->kind->comb, t->nimpl_valid ? t->nimpl : 0, s->worker->id) : NAN;
    if (isnan(us))
        count_not(t);
    else
        add_load(s, t, us);
}

static void dm_push_notify(void *instance, struct orr_task *t, struct orr_worker *w)
{
    struct slot *s = slot_of(instance, (unsigned)w->id);
    if (s)
        count_bound(s, t);
    else
        count_not(t);
}

/* Where all workers are alike, the one that released a task and has nothing else is where it ends first. */
static bool dm_may_keep(void *instance, struct orr_task *t, struct orr_worker *w)
{
    struct dm *d = instance;
    struct slot *s = slot_of(d, (unsigned)w->id);
    if (!s || orr_load_relaxed(&d->kind_count) != 1 || t->pub->cl->cpu_funcs[1]) return false;
    if (orr_queue_length(&s->queue) > 0 || orr_load_relaxed(&s->in_window) > 0) return false;
    if ((d->traits & SORTED) && t->priority < 0) return false;
    if (orr_queue_length(&s->kind->calibration) > 0 || orr_pool_length(d->pool) > 0) return false;
    count_bound(s, t);
    return true;
}

/* ---- popping ---- */

/* Fills the window and takes, among the tasks of the highest priority, the first with the fewest data
 * missing. The queue is sorted by priority, and so is the window, but for what was pushed since it was
 * filled. */
static struct orr_task *pop_ready(struct slot *s)
{
    struct orr_task *t = NULL;
    orr_spin_lock(&s->window_lock);
    uint32_t n = orr_load_relaxed(&s->in_window), at = 0;
    while (n < WINDOW && (t = orr_queue_pop(&s->queue))) s->window[n++] = t;
    unsigned least = UINT_MAX;
    for (uint32_t i = 1; i < n; i++)
        if (s->window[i]->priority > s->window[at]->priority) at = i;
    int32_t priority = n ? s->window[at]->priority : 0;
    for (uint32_t i = at; i < n && least > 0; i++) {
        if (s->window[i]->priority != priority) continue;
        unsigned missing = orr_task_missing(s->window[i], s->kind->node);
        if (missing >= least) continue;
        at = i;
        least = missing;
    }
    t = n ? s->window[at] : NULL;
    if (n) memmove(&s->window[at], &s->window[at + 1], (n - at - 1) * sizeof s->window[0]);
    orr_store_seq(&s->in_window, n ? n - 1 : 0);
    orr_spin_unlock(&s->window_lock);
    return t;
}

static struct orr_task *pop_own(struct dm *d, struct slot *s)
{
    if (orr_unlikely((d->traits & READY) && orr_node_count > 1)) return pop_ready(s);
    return orr_queue_pop(&s->queue);
}

static struct orr_task *pop_window(struct slot *s)
{
    if (orr_load_seq(&s->in_window) == 0) return NULL;
    orr_spin_lock(&s->window_lock);
    uint32_t n = orr_load_relaxed(&s->in_window);
    struct orr_task *t = n ? s->window[n - 1] : NULL;
    if (n) orr_store_seq(&s->in_window, n - 1);
    orr_spin_unlock(&s->window_lock);
    return t;
}

/* Queues that several workers serve. */
static struct orr_task *pop_common(struct dm *d, struct slot *s)
{
    struct orr_task *t = orr_queue_pop(&s->kind->calibration);
    return t ? t : orr_pool_pop(d->pool, s->worker);
}

static void move_load(struct orr_task *t, struct slot *from, struct slot *to)
{
    uint64_t load = counted_load(t);
    orr_add_relaxed(&to->pushed, load);
    orr_add_relaxed(&from->pushed, (uint64_t)0 - load);
}

/* Takes t from `from` for s; false: s cannot run it, and it is back. */
static bool take_over(struct orr_task *t, struct slot *from, struct slot *s)
{
    bool picky = t->pub->cl->can_execute || t->pub->workerids_len;
    if (picky && !orr_worker_can_run_impl(s->worker, t, t->nimpl)) {
        orr_queue_push(&from->queue, t);
        orr_wake_worker(from->worker);
        if (orr_unlikely(!orr_load_seq(&from->active))) decide_anew(from);
        return false;
    }
    move_load(t, from, s);
    return true;
}

static bool is_waited_for(struct slot *s)
{
    return orr_queue_length(&s->queue) > 0 || orr_load_seq(&s->in_window) > 0;
}

/* Half of another's tasks, at most STEAL_MAX: one to run now, the others to s's queue. */
static struct orr_task *steal_from(struct slot *victim, struct slot *s)
{
    uint32_t waiting = orr_queue_length(&victim->queue);
    struct orr_task *t = waiting ? orr_queue_pop(&victim->queue) : NULL;
    if (!t) t = pop_window(victim);
    if (!t || !take_over(t, victim, s)) return NULL;
    for (uint32_t i = 1; i < waiting / 2 && i < STEAL_MAX; i++) {
        struct orr_task *more = orr_queue_pop(&victim->queue);
        if (!more || !take_over(more, victim, s)) break;
        orr_queue_push(&s->queue, more);
    }
    if (is_waited_for(s)) orr_watchman_wanted(&s->dm->watchman);
    return t;
}

static struct orr_task *steal(struct slot *s)
{
    struct kind *k = s->kind;
    uint64_t now = orr_ticks();
    if (!s->idle_since) s->idle_since = now;
    if (orr_ticks_to_us(now - s->idle_since) < steal_after_us) return NULL;
    unsigned n = orr_load_acquire(&k->count), own = 0;
    while (own < n && k->member[own] != s) own++;
    for (unsigned i = 1; i < n; i++) {
        struct orr_task *t = steal_from(k->member[(own + i) % n], s);
        if (t) return t;
    }
    return NULL;
}

static void note_start(struct slot *s, struct orr_task *t)
{
    int64_t ns = (int64_t)counted_load(t);
    if (ns < long_ns) return;
    orr_store_relaxed(&s->running_ns, ns);
    orr_store_relaxed(&s->running_since, orr_ticks());
}

static struct orr_task *dm_pop(void *instance, struct orr_worker *w)
{
    struct dm *d = instance;
    struct slot *s = slot_of(d, (unsigned)w->id);
    if (orr_unlikely(!s)) return orr_pool_pop(d->pool, w); /* there was no memory for a slot */
    s->common_first = !s->common_first;
    struct orr_task *t = s->common_first ? pop_common(d, s) : pop_own(d, s);
    if (!t) t = s->common_first ? pop_own(d, s) : pop_common(d, s);
    if (!t) t = steal(s);
    if (orr_unlikely(!t)) {
        publish(s);
        return NULL;
    }
    s->idle_since = 0;
    note_start(s, t);
    return t;
}

/* ---- tasks of workers that do not get to them ---- */

static bool anything_waits(void *instance)
{
    const struct dm *d = instance;
    for (unsigned i = 0; i < orr_worker_count; i++)
        if (slot_of(d, i) && orr_load_relaxed(&slot_of(d, i)->active) && is_waited_for(slot_of(d, i)))
            return true;
    return false;
}

/* From a slow one of the kind: the load counted on it says nothing any more. */
static struct orr_task *take(void *instance, struct orr_worker *w)
{
    struct dm *d = instance;
    struct slot *s = slot_of(d, (unsigned)w->id);
    struct orr_task *t = NULL;
    for (unsigned i = 0; s && !t && i < orr_load_acquire(&s->kind->count); i++) {
        struct slot *from = s->kind->member[i];
        if (from != s && is_waited_for(from) &&
            orr_watchman_saw_slow(&d->watchman, (unsigned)from->worker->id))
            t = steal_from(from, s);
    }
    if (!t) return NULL;
    s->idle_since = 0;
    note_start(s, t);
    return t;
}

static struct orr_task *dm_watch(void *instance, struct orr_worker *w, bool *again_out)
{
    struct dm *d = instance;
    return orr_watchman_look(&d->watchman, d, anything_waits, take, w, again_out);
}

static void dm_watch_end(void *instance, struct orr_worker *w)
{
    struct dm *d = instance;
    orr_watchman_leaves(&d->watchman, d, anything_waits, w);
}

static void dm_post_exec(void *instance, struct orr_task *t, struct orr_worker *w)
{
    struct slot *s = slot_of(instance, (unsigned)w->id);
    uint64_t load = counted_load(t);
    if (orr_unlikely(!s)) return;
    s->idle_since = 0;
    if (orr_likely(!t->pub->execute_on_a_specific_worker && !(t->flags & ORR_TF_INTERNAL))) {
        s->ran[load != 0]++;
        if (!load && !t->pub->cl->model) s->ran_without_model++;
    }
    if (orr_unlikely(!load)) return;
    s->unpublished += load;
    if (orr_load_relaxed(&s->running_since)) orr_store_relaxed(&s->running_since, 0u);
    if ((int64_t)s->unpublished >= publish_ns || ++s->unpublished_tasks >= PUBLISH_TASKS) publish(s);
}

static uint32_t backlog(void *instance, struct orr_worker *w)
{
    struct dm *d = instance;
    struct slot *s = slot_of(d, (unsigned)w->id);
    if (!s) return 0;
    uint32_t n = orr_queue_length(&s->kind->calibration) + orr_pool_length(d->pool);
    for (unsigned m = 0, count = orr_load_acquire(&s->kind->count); m < count; m++)
        n += orr_queue_length(&s->kind->member[m]->queue) + orr_load_seq(&s->kind->member[m]->in_window);
    return n;
}

/* ---- life ---- */

static void *dm_create(struct orr_ctx *ctx, unsigned traits)
{
    struct dm *d = orr_calloc(1, sizeof *d);
    if (!d) return NULL;
    d->ctx = d->watchman.ctx = ctx;
    d->traits = traits;
    orr_weights_read(&d->weights);
    d->prefetch = starpu_get_prefetch_flag() != 0;
    d->pool = orr_pool_create();
    if (d->pool) return d;
    orr_free(d);
    return NULL;
}

/* Without any model this is a policy like eager, at a higher price. A low share, for verbose runs, says
 * that models do not converge, or that some codelets have none. */
static void tell_share(const struct dm *d)
{
    uint64_t without = 0, with = 0, without_model = 0;
    for (unsigned i = 0; i < STARPU_NMAXWORKERS; i++) {
        without += slot_of(d, i) ? slot_of(d, i)->ran[0] : 0;
        with += slot_of(d, i) ? slot_of(d, i)->ran[1] : 0;
        without_model += slot_of(d, i) ? slot_of(d, i)->ran_without_model : 0;
    }
    if (!with && without >= FEW && without_model == without)
        orr_warn("policy %s: none of %llu tasks has a performance model, so it worked as eager does: give "
                 "the codelets "
                 "models (starpu_codelet.model), or take a policy that needs none (STARPU_SCHED=lws)",
                 d->ctx->policy->name, (unsigned long long)without);
    else if (with + without)
        orr_info("policy %s: %.1f %% of %llu tasks were placed by performance models", d->ctx->policy->name,
                 100. * (double)with / (double)(with + without), (unsigned long long)(with + without));
}

static void dm_destroy(void *instance)
{
    struct dm *d = instance;
    tell_share(d);
    for (unsigned i = 0; i < STARPU_NMAXWORKERS; i++) {
        if (!slot_of(d, i)) continue;
        orr_queue_fini(&d->slots[i]->queue);
        orr_free(slot_of(d, i));
    }
    for (unsigned i = 0; i < orr_load_relaxed(&d->kind_count); i++) {
        orr_queue_fini(&d->kinds[i]->calibration);
        orr_free(d->kinds[i]);
    }
    orr_pool_destroy(d->pool);
    orr_free(d);
}

static struct kind *kind_for(struct dm *d, int comb, unsigned node)
{
    unsigned n = orr_load_relaxed(&d->kind_count);
    for (unsigned i = 0; i < n; i++)
        if (d->kinds[i]->comb == comb && d->kinds[i]->node == node) return d->kinds[i];
    struct kind *k = orr_malloc_aligned(ORR_CACHE_LINE, sizeof *k);
    if (!k) return NULL;
    memset(k, 0, sizeof *k);
    k->comb = comb;
    k->node = node;
    if (orr_queue_init(&k->calibration) == 0) return d->kinds[n] = k; /* counted once it has a member */
    orr_free(k);
    return NULL;
}

static void drop_kind_without_members(struct kind *k)
{
    if (orr_load_relaxed(&k->count) > 0) return;
    orr_queue_fini(&k->calibration);
    orr_free(k);
}

static struct slot *slot_create(void)
{
    struct slot *s = orr_malloc_aligned(ORR_CACHE_LINE, sizeof *s);
    if (!s) return NULL;
    memset(s, 0, sizeof *s);
    if (orr_queue_init(&s->queue) == 0) return s;
    orr_free(s);
    return NULL;
}

static int add_slot(struct dm *d, struct orr_worker *w)
{
    struct slot *before = slot_of(d, (unsigned)w->id);
    if (before) {
        orr_store_seq(&before->active, true);
        orr_add_seq(&before->kind->active, 1u);
        return 0;
    }
    struct kind *k = kind_for(d, orr_perf_workers[w->id].comb, w->node);
    struct slot *s = k ? slot_create() : NULL;
    if (!s) {
        if (k) drop_kind_without_members(k);
        return -ENOMEM;
    }
    s->worker = w;
    s->kind = k;
    s->dm = d;
    orr_store_relaxed(&s->active, true);
    orr_add_seq(&k->active, 1u);
    orr_store_release(&d->slots[w->id], s); /* pairs with slot_of */
    unsigned n = orr_load_relaxed(&k->count);
    k->member[n] = s;
    orr_store_release(&k->count, n + 1); /* pairs with the loads in weigh_all, steal */
    if (n == 0) orr_store_release(&d->kind_count, orr_load_relaxed(&d->kind_count) + 1);
    return 0;
}

static int dm_add_workers(void *instance, const int *workers, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        int r = add_slot(instance, &orr_workers[workers[i]]);
        if (r) return r;
    }
    return 0;
}

static void remove_slot(struct dm *d, struct slot *s)
{
    struct kind *k = s->kind;
    orr_store_seq(&s->active, false); /* pairs with push_to_best */
    bool last = orr_sub_seq(&k->active, 1u) == 1;
    decide_anew(s);
    if (last) decide_calibration_anew(d, k);
}

static void dm_remove_workers(void *instance, const int *workers, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct slot *s = slot_of(instance, (unsigned)workers[i]);
        if (s) remove_slot(instance, s);
    }
}

/* ---- several workers together: dm.h ---- */

struct orr_dm_offer orr_dm_offer_alone(void *dm, struct orr_task *t, struct orr_weighed *weighed)
{
    struct decision c = { .t = t,
                          .now = orr_ticks(),
                          .self = orr_worker_self(),
                          .picky = t->pub->cl->can_execute || t->pub->workerids_len,
                          .weighed = weighed };
    weigh_all(dm, &c);
    return (struct orr_dm_offer){ .cost = c.best ? c.best_cost : NAN,
                                  .us = c.best_us,
                                  .nimpl = c.best_impl,
                                  .worker = c.best ? c.best->worker->id : -1,
                                  .uncalibrated = c.uncalibrated != NULL };
}

/* When the last of all is free; of those in c, if that is not NULL. Without tasks whose time is not known. */
static int64_t latest_ns(struct dm *d, const struct orr_combined *c, uint64_t now)
{
    int64_t latest = 0;
    for (unsigned i = 0, n = c ? c->size : orr_worker_count; i < n; i++) {
        struct slot *s = slot_of(d, c ? (unsigned)c->members[i] : i);
        int64_t ns =
            s && (c || s->worker->type == STARPU_CPU_WORKER) ? load_ns(s, orr_worker_self(), now) : 0;
        if (ns > latest) latest = ns;
    }
    return latest;
}

struct orr_dm_offer orr_dm_offer_together(void *dm, struct orr_task *t, const struct orr_combined *c,
                                          struct orr_weighed *weighed)
{
    struct dm *d = dm;
    struct decision all = { .t = t, .now = orr_ticks() };
    struct orr_dm_offer o = { .cost = NAN, .us = NAN, .worker = c->id };
    for (unsigned i = 0; i < STARPU_MAXIMPLEMENTATIONS; i++) {
        if (!orr_combined_can_run(c, t, i)) continue;
        double us = orr_task_expected(t, t->pub->cl->model, c->comb, i, c->id);
        o.uncalibrated |= isnan(us);
        if (!isnan(o.us) && !(us < o.us)) continue;
        o.us = us;
        o.nimpl = i;
    }
    if (isnan(o.us)) return o;
    all.latest_ns = d->weights.idle_watt > 0 ? latest_ns(d, NULL, all.now) : 0;
    double end = (double)latest_ns(d, orr_combined_single() ? NULL : c, all.now) + o.us * 1e3;
    double transfer_us = orr_node_count > 1 ? orr_task_bring_us(t, orr_workers[c->members[0]].node) : 0;
    o.cost = orr_cost_time(&d->weights, end, transfer_us * 1e3);
    if (t->pub->cl->energy_model || d->weights.idle_watt > 0)
        o.cost += energy_cost(d, &all, c->comb, o.nimpl, end);
    if (orr_unlikely(weighed != NULL)) orr_weighed_add(weighed, (unsigned)c->id, o.us, transfer_us, o.cost);
    return o;
}

void orr_dm_count_together(void *dm, struct orr_task *t, const struct orr_combined *c, double us)
{
    for (unsigned i = 0; i < c->size; i++) {
        struct slot *s = slot_of(dm, (unsigned)c->members[i]);
        if (s) add_load(s, t, us);
    }
}

void orr_dm_uncount_together(void *dm, struct orr_task *t, const struct orr_combined *c)
{
    for (unsigned i = 0; i < c->size; i++) {
        struct slot *s = slot_of(dm, (unsigned)c->members[i]);
        if (s) orr_add_relaxed(&s->pushed, (uint64_t)0 - counted_load(t));
    }
    count_not(t);
}

int64_t orr_dm_busy_ns(void *dm, const struct orr_combined *c)
{
    return latest_ns(dm, c, orr_ticks());
}

#define MODEL_POLICY(id, text, traits)                                                                       \
    static void *create_##id(struct orr_ctx *ctx)                                                            \
    {                                                                                                        \
        return dm_create(ctx, traits);                                                                       \
    }                                                                                                        \
    const struct orr_policy_ops orr_policy_##id = {                                                          \
        .name = #id,                                                                                         \
        .description = text,                                                                                 \
        .min_priority = (traits)&SORTED ? INT_MIN : 0,                                                       \
        .max_priority = (traits)&SORTED ? INT_MAX : 0,                                                       \
        .create = create_##id,                                                                               \
        .destroy = dm_destroy,                                                                               \
        .add_workers = dm_add_workers,                                                                       \
        .remove_workers = dm_remove_workers,                                                                 \
        .push = dm_push,                                                                                     \
        .pop = dm_pop,                                                                                       \
        .may_keep = dm_may_keep,                                                                             \
        .backlog = backlog,                                                                                  \
        .push_notify = dm_push_notify,                                                                       \
        .post_exec = dm_post_exec,                                                                           \
        .watch = dm_watch,                                                                                   \
        .watch_end = dm_watch_end,                                                                           \
    }

MODEL_POLICY(dm, "where the model says that the task ends first", 0);
MODEL_POLICY(dmda, "like dm, counting transfers of data", DATA_AWARE);
MODEL_POLICY(dmdap, "like dmda, each worker's tasks by priority", DATA_AWARE | SORTED);
MODEL_POLICY(dmdar, "like dmda, tasks whose data is at hand first", DATA_AWARE | READY);
MODEL_POLICY(dmdas, "like dmda, by priority, then by data at hand", DATA_AWARE | SORTED | READY);
MODEL_POLICY(dmdasd, "like dmdas, and the decision counts only tasks of at least the same priority",
             DATA_AWARE | SORTED | READY | SORTED_DECISION);
