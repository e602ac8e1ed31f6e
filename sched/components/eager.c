/* SPDX-License-Identifier: BSD-3-Clause */
/* eager.c: resource mapping without predictions: eager, eager_prio, eager_calibration, random.
 * Threads: any. Owns: nothing. Not here: mapping by predicted times (mct.c).
 *
 * A child whose workers wait to be asked is not pushed to: they are woken, and the task stays above, where
 * the first of them fetches it. */
#include <math.h>

#include "core/perf/perfmodel.h"
#include "core/task/task.h"
#include "core/worker/park.h"
#include "sched/components/component.h"
#include "sched/draw.h"

enum { CHOICES_MAX = STARPU_BITMAP_SIZE };

static const struct orr_component_kind kind_eager = {
    .name = "eager", .passes = true, .any_child = true, .full = orr_children_are_full
};
static const struct orr_component_kind kind_eager_prio = {
    .name = "eager_prio", .passes = true, .any_child = true, .full = orr_children_are_full
};
static const struct orr_component_kind kind_calibration = { .name = "eager_calibration",
                                                            .passes = true,
                                                            .full = orr_children_are_full };
static const struct orr_component_kind kind_random = { .name = "random",
                                                       .any_child = true,
                                                       .full = orr_children_are_full };

/* Whether a child that is no combined worker, which would take any number of tasks, can execute p. */
static bool single_can(const struct starpu_sched_component *c, struct starpu_task *p)
{
    for (unsigned i = 0; i < c->nchildren; i++)
        if (!starpu_sched_component_is_combined_worker(c->children[i]) &&
            starpu_sched_component_can_execute_task(c->children[i], p))
            return true;
    return false;
}

/* 0: the child took p. Otherwise its workers may have been woken (*woken_out). */
static int offer(struct starpu_sched_component *c, struct starpu_sched_component *child,
                 struct starpu_task *p, bool *woken_out)
{
    if (!starpu_sched_component_can_execute_task(child, p)) return 1;
    if (starpu_sched_component_is_combined_worker(child) && single_can(c, p)) return 1;
    if (!orr_component(child)->only_pulls) return orr_component_give(child, p);
    if (!*woken_out) *woken_out = orr_component_wake(child, orr_wake_mask(p)) != 0;
    return 1;
}

/* Which child has the calling worker below it; 0: none has. */
static unsigned callers_child(const struct starpu_sched_component *c)
{
    const struct orr_worker *self = orr_worker_self();
    for (unsigned i = 0; self && i < c->nchildren; i++)
        if (starpu_bitmap_get(c->children[i]->workers_in_ctx, self->id)) return i;
    return 0;
}

static int push_eager(struct starpu_sched_component *c, struct starpu_task *p)
{
    bool woken = false;
    unsigned first = callers_child(c);
    for (unsigned i = 0; i < c->nchildren; i++)
        if (offer(c, c->children[(first + i) % c->nchildren], p, &woken) == 0) return 0;
    return 1;
}

/* ---- who is awake ---- */

/* The worker below a child; NULL: it is not a single one. */
static struct orr_worker *worker_of(const struct starpu_sched_component *child)
{
    const struct orr_component *oc = orr_component_const(child);
    return oc->nkinds == 1 && !oc->more_kinds && child->workers_in_ctx->cardinal == 1
               ? &orr_workers[oc->first_of[0]]
               : NULL;
}

struct drawn {
    const struct starpu_sched_component *c;
    const double *weight;
    unsigned child;
};

/* The child that can do for the one that was drawn; its number in c, or that of the drawn one. */
static unsigned child_with(const struct drawn *d, const struct orr_worker *w)
{
    for (unsigned i = 0; i < d->c->nchildren; i++)
        if (d->weight[i] == d->weight[d->child] && worker_of(d->c->children[i]) == w) return i;
    return d->child;
}

static bool stands_in(const void *arg, struct orr_worker *it)
{
    const struct drawn *d = arg;
    return child_with(d, it) != d->child;
}

/* The drawn child, or one that is awake on its core. */
static unsigned awake_child(const struct starpu_sched_component *c, const double *weight, unsigned child)
{
    struct drawn d = { c, weight, child };
    struct orr_worker *w = worker_of(c->children[child]);
    return w ? child_with(&d, orr_awake_beside(w, stands_in, &d)) : child;
}

/* ---- by load ---- */

static int push_least_loaded(struct starpu_sched_component *c, struct starpu_task *p)
{
    double load[CHOICES_MAX], may[CHOICES_MAX];
    bool woken = false;
    unsigned n = c->nchildren, open = 0;
    if (n > CHOICES_MAX) return push_eager(c, p);
    for (unsigned i = 0; i < n; i++) {
        may[i] = !orr_component_is_full(c->children[i]);
        load[i] = may[i] > 0 ? 0 : INFINITY;
        open += may[i] > 0;
    }
    for (unsigned i = 0; open > 1 && i < n; i++)
        if (may[i] > 0) load[i] = c->children[i]->estimated_load(c->children[i]);
    for (unsigned first = callers_child(c);;) {
        unsigned best = first;
        for (unsigned i = 0; i < n; i++)
            if (load[i] < load[best]) best = i;
        if (isinf(load[best])) return 1;
        best = awake_child(c, may, best);
        if (offer(c, c->children[best], p, &woken) == 0) return 0;
        load[best] = INFINITY;
        may[best] = 0;
    }
}

/* ---- to be measured ---- */

/* Offers p to a child whose workers are to be measured, with the implementation to be. */
static int offer_to_measure(struct starpu_sched_component *c, struct starpu_sched_component *child,
                            struct starpu_task *p, bool *woken_out)
{
    struct orr_bid bid;
    if (orr_leaf_team(child)) return orr_leaf_team_measures(child, p) ? orr_component_give(child, p) : 1;
    orr_component_bid(child, p, &bid);
    if (!bid.can || !bid.uncalibrated) return 1;
    struct orr_task *t = orr_task_of(p);
    t->nimpl = (uint8_t)bid.uncalibrated_impl;
    t->nimpl_valid = 1;
    int r = offer(c, child, p, woken_out);
    if (r) t->nimpl_valid = 0;
    return r;
}

static int push_calibration(struct starpu_sched_component *c, struct starpu_task *p)
{
    _Atomic unsigned *turn = c->data;
    unsigned first = orr_add_relaxed(turn, 1u);
    bool woken = false;
    struct orr_perfmodel_state *s = p->cl->model ? orr_perfmodel_peek(p->cl->model) : NULL;
    if (s) orr_perfmodel_want_calibration(s);
    for (unsigned i = 0; i < c->nchildren; i++)
        if (offer_to_measure(c, c->children[(first + i) % c->nchildren], p, &woken) == 0) return 0;
    for (unsigned i = 0; i < c->nchildren; i++)
        if (offer(c, c->children[(first + i) % c->nchildren], p, &woken) == 0) return 0;
    return 1;
}

/* ---- random ---- */

/* Draws among the children that were not tried; c->nchildren: there is none. */
static unsigned draw_child(const struct starpu_sched_component *c, const double *weight, double sum)
{
    unsigned last = c->nchildren;
    double at = orr_draw() * sum;
    for (unsigned i = 0; i < c->nchildren; i++) {
        if (weight[i] <= 0) continue;
        last = i;
        if (at < weight[i]) break;
        at -= weight[i];
    }
    return last;
}

/* Where all workers are alike: the child of the worker that makes a task ready if that has nothing else to
 * do, for another that is drawn would not begin earlier; else c->nchildren. */
static unsigned idle_own_child(const struct starpu_sched_component *c, const double *weight)
{
    unsigned own = callers_child(c);
    bool is_own = orr_worker_self() && !orr_call()->popping && orr_tree_of(c)->alike && weight[own] > 0 &&
                  starpu_bitmap_get(c->children[own]->workers_in_ctx, orr_worker_self()->id);
    return is_own && orr_component_tasks(c->children[own]) == 0 ? own : c->nchildren;
}

static int push_random(struct starpu_sched_component *c, struct starpu_task *p)
{
    double weight[CHOICES_MAX], sum = 0;
    if (c->nchildren > CHOICES_MAX) return push_eager(c, p);
    for (unsigned i = 0; i < c->nchildren; i++) {
        struct starpu_sched_component *child = c->children[i];
        bool may = starpu_sched_component_can_execute_task(child, p) && !orr_component_is_full(child);
        weight[i] = may ? orr_component(child)->speed : 0;
        sum += weight[i];
    }
    unsigned own = idle_own_child(c, weight);
    if (own < c->nchildren && orr_component_give(c->children[own], p) == 0) return 0;
    for (unsigned i; (i = draw_child(c, weight, sum)) < c->nchildren;) {
        unsigned to = awake_child(c, weight, i);
        if (orr_component_give(c->children[to], p) == 0) return 0;
        sum -= weight[to];
        weight[to] = 0;
    }
    return 1;
}

/* ---- making ---- */

static struct starpu_sched_component *component_eager_create(
    struct starpu_sched_tree *tree, const struct orr_component_kind *kind, size_t bytes,
    int (*push)(struct starpu_sched_component *, struct starpu_task *))
{
    struct starpu_sched_component *c = orr_component_create(tree, kind, bytes);
    if (c) c->push_task = push;
    return c;
}

#define RESOURCE_MAPPING(name, kind, bytes, push)                                                            \
    struct starpu_sched_component *starpu_sched_component_##name##_create(struct starpu_sched_tree *tree,    \
                                                                          void *arg)                         \
    {                                                                                                        \
        (void)arg;                                                                                           \
        return component_eager_create(tree, &kind, bytes, push);                                             \
    }                                                                                                        \
    int starpu_sched_component_is_##name(struct starpu_sched_component *component)                           \
    {                                                                                                        \
        return orr_component_is(component, &kind);                                                           \
    }

RESOURCE_MAPPING(eager, kind_eager, 0, push_eager)
RESOURCE_MAPPING(eager_prio, kind_eager_prio, 0, push_least_loaded)
RESOURCE_MAPPING(eager_calibration, kind_calibration, sizeof(_Atomic unsigned), push_calibration)
RESOURCE_MAPPING(random, kind_random, 0, push_random)
