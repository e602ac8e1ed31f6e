/* SPDX-License-Identifier: BSD-3-Clause */
/* worker.c: the leaves of a tree: a worker, its own queue, and when it will have nothing to do.
 * Threads: any pushes and asks; its worker pulls. Owns: tasks pushed to leaves, predictions of their ends.
 * Not here: the workers themselves (core/worker).
 *
 * A worker's time is that of the task it runs, of those it has pulled but not begun (a device fetches data
 * ahead), and of those in its queue. */
#include <math.h>

#include "core/base/log.h"
#include "core/mem/node.h"
#include "core/worker/park.h"
#include "sched/components/flow.h"

const double orr_waking_us = 20;
static const double brief_us = 1; /* not worth looking at the clock for: what is left is taken for nothing */

struct leaf {
    struct orr_flow own;
    int worker;                                       /* [const] */
    ORR_ALIGNED_LINE ORR_SPIN(component_worker) lock; /* protects what follows; leaf */
    struct {
        unsigned count;
        double us;
    } pulled, given; /* tasks not begun yet, and their predicted time: pulled; bound to the worker */
    bool running;
    /* Shown to others, who read it without the lock. */
    _Atomic unsigned has;         /* tasks that run or are pulled */
    _Atomic double waiting_us;    /* predicted time of those that are pulled or given */
    _Atomic double runs_until_us; /* when the running task should end; 0: it takes no time, or none runs */
    _Atomic double busy_until_us; /* it takes part in tasks of combined workers until then */
};

static const struct orr_component_kind kind_worker;

int orr_leaf_worker(const struct starpu_sched_component *c)
{
    return orr_component_is(c, &kind_worker) ? ((const struct leaf *)c->data)->worker : -1;
}

/* ---- tasks ---- */

static void show_locked(struct leaf *l, double runs_until_us)
{
    orr_store_relaxed(&l->has, l->pulled.count + l->running);
    orr_store_relaxed(&l->waiting_us, l->pulled.us + l->given.us);
    orr_store_relaxed(&l->runs_until_us, runs_until_us);
}

/* A CPU worker that asks has nothing else; a device's has a few tasks at most, or the hooks that tell us are
 * not called. */
static void note_idle(struct leaf *l)
{
    enum { PIPELINE_MAX = 16 };
    if (orr_load_relaxed(&l->has) == 0) return; /* no lock: only its worker counts, and that asks */
    orr_spin_lock(&l->lock);
    if (orr_node_is_cpu(orr_workers[l->worker].node) || l->pulled.count > PIPELINE_MAX) {
        l->running = false;
        l->pulled.count = 0;
        l->pulled.us = 0;
        show_locked(l, 0);
    }
    orr_spin_unlock(&l->lock);
}

static void note_pulled(struct leaf *l, const struct starpu_task *p)
{
    orr_spin_lock(&l->lock);
    l->pulled.count++;
    l->pulled.us += orr_known_us(p);
    show_locked(l, orr_load_relaxed(&l->runs_until_us));
    orr_spin_unlock(&l->lock);
}

static struct starpu_task *worker_pull_task(struct starpu_sched_component *c,
                                            struct starpu_sched_component *to)
{
    struct leaf *l = c->data;
    struct starpu_sched_component *before = orr_call()->puller;
    (void)to;
    orr_call()->puller = c;
    note_idle(l);
    struct starpu_task *p = orr_flow_take(&l->own, c);
    if (!p) p = starpu_sched_component_parents_pull_task(c, c);
    orr_call()->puller = before;
    if (p) note_pulled(l, p);
    return p;
}

struct starpu_task *orr_leaf_take_from(struct starpu_sched_component *c, struct starpu_sched_component *other)
{
    struct starpu_sched_component *before = orr_call()->puller;
    orr_call()->puller = c;
    struct starpu_task *p = orr_component(other)->kind->give_up(other, c);
    orr_call()->puller = before;
    if (!p) return NULL;
    orr_best_settle(c, p);
    note_pulled(c->data, p);
    return p;
}

static struct orr_flow *queue(const struct starpu_sched_component *c)
{
    return &((struct leaf *)c->data)->own;
}

static struct starpu_task *give_up(struct starpu_sched_component *c, struct starpu_sched_component *to)
{
    return orr_flow_take(queue(c), to);
}

/* Wakes the worker unless it is the caller, who will look by itself before it sleeps (if it is looking now,
 * it may have passed the place already). Where all are to be woken nobody counts as woken. */
static int worker_can_pull(struct starpu_sched_component *c)
{
    const struct leaf *l = c->data;
    uint32_t mask = orr_call()->wake_where;
    const struct orr_worker *w = &orr_workers[l->worker];
    if ((mask && !(mask & w->where)) || (w == orr_worker_self() && !orr_call()->popping)) return 0;
    if (!starpu_bitmap_get(c->workers_in_ctx, l->worker)) return 0;
    return starpu_wake_worker_relax_light(l->worker) && mask;
}

static int worker_push_task(struct starpu_sched_component *c, struct starpu_task *p)
{
    struct leaf *l = c->data;
    orr_flow_add(&l->own, p, false);
    if (!worker_can_pull(c) && orr_component(c)->guarded) orr_guard_added(c);
    return 0;
}

static void worker_evict(struct starpu_sched_component *c, struct orr_taskq *out)
{
    orr_flow_evict(&((struct leaf *)c->data)->own, c, out);
}

/* ---- predictions ---- */

void orr_leaf_is_given(struct orr_tree *tree, int worker, struct starpu_task *p)
{
    struct starpu_sched_component *c = tree->leaf[worker];
    struct orr_bid bid;
    if (!orr_component_is(c, &kind_worker)) return;
    orr_worker_bid(worker, p, &bid);
    p->predicted = bid.known ? bid.us : NAN;
    struct leaf *l = c->data;
    orr_spin_lock(&l->lock);
    l->given.count++;
    l->given.us += orr_known_us(p);
    show_locked(l, orr_load_relaxed(&l->runs_until_us));
    orr_spin_unlock(&l->lock);
}

void orr_leaf_begins(struct orr_tree *tree, int worker, struct starpu_task *p)
{
    struct starpu_sched_component *c = worker >= 0 ? tree->leaf[worker] : NULL;
    if (!orr_component_is(c, &kind_worker)) return;
    struct leaf *l = c->data;
    double us = orr_known_us(p), until_us = us > brief_us ? starpu_timing_now() + us : 0;
    unsigned *count = p->execute_on_a_specific_worker ? &l->given.count : &l->pulled.count;
    double *sum = p->execute_on_a_specific_worker ? &l->given.us : &l->pulled.us;
    orr_spin_lock(&l->lock);
    if (*count > 0) *sum = --*count && *sum > us ? *sum - us : 0; /* it was counted */
    l->running = true;
    show_locked(l, until_us);
    orr_spin_unlock(&l->lock);
}

void orr_leaf_ends(struct orr_tree *tree, int worker, struct starpu_task *p)
{
    struct starpu_sched_component *c = worker >= 0 ? tree->leaf[worker] : NULL;
    (void)p;
    if (!orr_component_is(c, &kind_worker)) return;
    struct leaf *l = c->data;
    orr_spin_lock(&l->lock);
    l->running = false;
    show_locked(l, 0);
    orr_spin_unlock(&l->lock);
}

/* What it takes a worker that sleeps to begin. */
static double waking_us(const struct leaf *l)
{
    unsigned id = (unsigned)l->worker;
    return orr_load_relaxed(&orr_parking.who[id / 64]) >> (id % 64) & 1 ? orr_waking_us : 0;
}

static double estimated_end(struct starpu_sched_component *c)
{
    const struct leaf *l = c->data;
    double now = orr_call_now(), until = orr_load_relaxed(&l->runs_until_us);
    double end = (until > now ? until : now + waking_us(l)) + orr_load_relaxed(&l->waiting_us);
    return fmax(end, orr_load_relaxed(&l->busy_until_us)) + orr_flow_us(&l->own);
}

void orr_leaf_is_busy(struct starpu_sched_component *c, double until_us)
{
    if (!orr_component_is(c, &kind_worker)) return;
    struct leaf *l = c->data;
    orr_spin_lock(&l->lock);
    if (orr_load_relaxed(&l->busy_until_us) < until_us) orr_store_relaxed(&l->busy_until_us, until_us);
    orr_spin_unlock(&l->lock);
}

/* The caller, between two tasks, has none. */
static unsigned tasks(const struct starpu_sched_component *c)
{
    const struct leaf *l = c->data; /* without what is bound to it, which may wait for its turn */
    const struct orr_worker *self = orr_worker_self();
    bool done = self && self->id == l->worker && orr_node_is_cpu(self->node) && !orr_task_current();
    return (done ? 0 : orr_load_relaxed(&l->has)) + orr_load_relaxed(&l->own.count);
}

/* ---- making ---- */

static void worker_deinit_data(struct starpu_sched_component *c)
{
    orr_flow_fini(&((struct leaf *)c->data)->own);
    orr_component_free_data(c);
}

static const struct orr_component_kind kind_worker = {
    .name = "worker", .leaf = true, .tasks = tasks, .evict = worker_evict, .queue = queue, .give_up = give_up
};

struct starpu_sched_component *starpu_sched_component_worker_new(unsigned sched_ctx, int workerid)
{
    struct orr_tree *tree = orr_tree_get(sched_ctx);
    if (!tree || workerid < 0 || (unsigned)workerid >= orr_worker_count) {
        orr_error("a worker component cannot be made: there is no %s %d",
                  tree ? "worker" : "tree for context", tree ? workerid : (int)sched_ctx);
        return NULL;
    }
    struct starpu_sched_component *c = orr_component_create(&tree->pub, &kind_worker, sizeof(struct leaf));
    if (!c) return NULL;
    struct leaf *l = c->data;
    orr_flow_init(&l->own, false);
    l->worker = workerid;
    starpu_bitmap_set(c->workers, workerid);
    c->push_task = worker_push_task;
    c->pull_task = worker_pull_task;
    c->can_pull = worker_can_pull;
    c->estimated_end = estimated_end;
    c->deinit_data = worker_deinit_data;
    if (!tree->leaf[workerid]) tree->leaf[workerid] = c;
    return c;
}

struct starpu_sched_component *starpu_sched_component_worker_get(unsigned sched_ctx, int workerid)
{
    struct orr_tree *tree = orr_tree_get(sched_ctx);
    if (tree && workerid >= 0 && workerid < STARPU_NMAXWORKERS && tree->leaf[workerid])
        return tree->leaf[workerid];
    return starpu_sched_component_worker_new(sched_ctx, workerid);
}

int starpu_sched_component_worker_get_workerid(struct starpu_sched_component *worker_component)
{
    return orr_leaf_worker(worker_component);
}

int starpu_sched_component_is_simple_worker(struct starpu_sched_component *component)
{
    return orr_component_is(component, &kind_worker);
}

int starpu_sched_component_is_worker(struct starpu_sched_component *component)
{
    return component && orr_component(component)->kind && orr_component(component)->kind->leaf;
}
