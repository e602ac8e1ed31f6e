/* SPDX-License-Identifier: BSD-3-Clause */
/* select.c: components for a special purpose: best_implementation, perfmodel_select, stage, userchoice.
 * Threads: any. Owns: nothing. Not here: mapping to workers (eager.c, mct.c). */
#include <math.h>

#include "core/mem/node.h"
#include "core/perf/perfmodel.h"
#include "core/task/perf.h"
#include "sched/components/component.h"

/* ---- best_implementation ---- */

/* Without a model the first implementation is as good as any: it is settled when the task is popped. */
static bool has_choice(const struct starpu_task *p)
{
    return orr_task_has_model(p) || orr_node_count > 1;
}

static void set_implementation(struct starpu_task *p, const struct orr_bid *bid)
{
    orr_bid_settle(p, bid);
    p->predicted_transfer = orr_node_count > 1 ? orr_task_transfer_us(orr_task_of(p), bid->node) : 0;
}

void orr_best_settle(struct starpu_sched_component *who, struct starpu_task *p)
{
    struct orr_bid bid;
    if (!has_choice(p) || orr_bid_settled(who, p, &bid)) return;
    orr_component_bid(who, p, &bid);
    if (bid.can) set_implementation(p, &bid);
}

static struct starpu_task *best_pull(struct starpu_sched_component *c, struct starpu_sched_component *to)
{
    struct starpu_sched_component *who = orr_call()->puller ? orr_call()->puller : to;
    struct starpu_task *p = starpu_sched_component_parents_pull_task(c, to);
    if (p) orr_best_settle(who, p);
    return p;
}

static int best_push(struct starpu_sched_component *c, struct starpu_task *p)
{
    struct orr_bid bid;
    if (has_choice(p) && !orr_bid_settled(c, p, &bid)) {
        orr_component_bid(c->children[0], p, &bid);
        if (bid.can) set_implementation(p, &bid);
    }
    return starpu_sched_component_push_task(c, c->children[0], p);
}

static const struct orr_component_kind kind_best = {
    .name = "best_implementation", .passes = true, .one_child = true, .full = orr_children_are_full
};

struct starpu_sched_component *starpu_sched_component_best_implementation_create(
    struct starpu_sched_tree *tree, void *arg)
{
    struct starpu_sched_component *c = orr_component_create(tree, &kind_best, 0);
    (void)arg;
    if (!c) return NULL;
    c->push_task = best_push;
    c->pull_task = best_pull;
    return c;
}

/* ---- perfmodel_select ---- */

/* The calibrator has enough to measure: where the models that are known say, or to anybody. */
static int push_uncalibrated(struct starpu_sched_component *c, struct starpu_task *p,
                             const struct orr_bid *bid)
{
    const struct starpu_sched_component_perfmodel_select_data *d = c->data;
    struct orr_perfmodel_state *s = orr_perfmodel_peek(p->cl->model);
    if (s) orr_perfmodel_want_calibration(s);
    int r = starpu_sched_component_push_task(c, d->calibrator_component, p);
    if (r == 0 || !orr_component_is_measure(d->calibrator_component)) return r;
    return starpu_sched_component_push_task(
        c, bid->known ? d->perfmodel_component : d->no_perfmodel_component, p);
}

static int select_push(struct starpu_sched_component *c, struct starpu_task *p)
{
    const struct starpu_sched_component_perfmodel_select_data *d = c->data;
    struct starpu_sched_component *to = d->no_perfmodel_component;
    if (orr_task_has_model(p)) {
        struct orr_bid bid;
        orr_component_bid(c, p, &bid);
        if (bid.uncalibrated) return push_uncalibrated(c, p, &bid);
        if (bid.known) to = d->perfmodel_component;
        if (bid.known && orr_tree_of(c)->alike) orr_bid_settle(p, &bid);
    }
    return starpu_sched_component_push_task(c, to, p);
}

static bool has_child(const struct starpu_sched_component *c, const struct starpu_sched_component *child)
{
    for (unsigned i = 0; child && i < c->nchildren; i++)
        if (c->children[i] == child) return true;
    return false;
}

static const char *select_complaint(const struct starpu_sched_component *c)
{
    const struct starpu_sched_component_perfmodel_select_data *d = c->data;
    if (!has_child(c, d->no_perfmodel_component))
        return "its no_perfmodel_component is none of its children: tasks without a model would have nowhere "
               "to go";
    if (!has_child(c, d->calibrator_component))
        return "its calibrator_component is none of its children: tasks whose model lacks measures would "
               "have "
               "nowhere to go";
    if (!has_child(c, d->perfmodel_component)) return "its perfmodel_component is none of its children";
    return NULL;
}

static const struct orr_component_kind kind_select = { .name = "perfmodel_select",
                                                       .passes = true,
                                                       .complaint = select_complaint };

struct starpu_sched_component *starpu_sched_component_perfmodel_select_create(
    struct starpu_sched_tree *tree,
    struct starpu_sched_component_perfmodel_select_data *perfmodel_select_data)
{
    struct starpu_sched_component *c =
        orr_component_create(tree, &kind_select, sizeof *perfmodel_select_data);
    if (!c) return NULL;
    if (perfmodel_select_data)
        *(struct starpu_sched_component_perfmodel_select_data *)c->data = *perfmodel_select_data;
    c->push_task = select_push;
    return c;
}

int starpu_sched_component_is_perfmodel_select(struct starpu_sched_component *component)
{
    return orr_component_is(component, &kind_select);
}

/* ---- stage: the default methods ask the parents in their order ---- */

static int stage_push(struct starpu_sched_component *c, struct starpu_task *p)
{
    return starpu_sched_component_push_task(c, c->children[0], p);
}

static const struct orr_component_kind kind_stage = {
    .name = "stage", .passes = true, .one_child = true, .ranks_parents = true, .full = orr_children_are_full
};

struct starpu_sched_component *starpu_sched_component_stage_create(struct starpu_sched_tree *tree, void *arg)
{
    struct starpu_sched_component *c = orr_component_create(tree, &kind_stage, 0);
    (void)arg;
    if (c) c->push_task = stage_push;
    return c;
}

int starpu_sched_component_is_stage(struct starpu_sched_component *component)
{
    return orr_component_is(component, &kind_stage);
}

/* ---- userchoice ---- */

static int choice_push(struct starpu_sched_component *c, struct starpu_task *p)
{
    intptr_t wanted = (intptr_t)p->sched_data;
    unsigned first = wanted >= 0 && wanted < (intptr_t)c->nchildren ? (unsigned)wanted : 0;
    for (unsigned i = 0; i < c->nchildren; i++) {
        struct starpu_sched_component *child = c->children[(first + i) % c->nchildren];
        if (starpu_sched_component_can_execute_task(child, p))
            return starpu_sched_component_push_task(c, child, p);
    }
    return 1;
}

static const struct orr_component_kind kind_choice = { .name = "userchoice", .passes = true };

struct starpu_sched_component *starpu_sched_component_userchoice_create(struct starpu_sched_tree *tree,
                                                                        void *arg)
{
    struct starpu_sched_component *c = orr_component_create(tree, &kind_choice, 0);
    (void)arg;
    if (c) c->push_task = choice_push;
    return c;
}

int starpu_sched_component_is_userchoice(struct starpu_sched_component *component)
{
    return orr_component_is(component, &kind_choice);
}
