/* SPDX-License-Identifier: BSD-3-Clause */
/* measure.c: a flow-control component for tasks whose model lacks measures: each waits for a worker that is
 * to be measured.
 * Threads: any. Owns: those tasks. Not here: eager_calibration, for trees of programs (eager.c).
 *
 * It takes only as many as measuring needs; perfmodel_select sends the others where the models that are known
 * say. A task to be measured on several workers together is given to them by the first of them that asks.
 * Tasks whose time has become known meanwhile are given to the tree anew by the next
 * worker that asks. */
#include <math.h>

#include "core/perf/perfmodel.h"
#include "core/perf/history.h"
#include "core/worker/combined.h"
#include "sched/components/flow.h"

static void measure_evict(struct starpu_sched_component *c, struct orr_taskq *out)
{
    orr_flow_evict(c->data, c, out);
}

static const struct orr_component_kind kind_measure = { .name = "to be measured", .evict = measure_evict };

bool orr_component_is_measure(const struct starpu_sched_component *c)
{
    return orr_component_is(c, &kind_measure);
}

static int measure_push_task(struct starpu_sched_component *c, struct starpu_task *p)
{
    uint32_t mask = orr_wake_mask(p);
    unsigned each = orr_calibration_minimum + 2 * (unsigned)c->workers_in_ctx->cardinal;
    unsigned teams = orr_component(c)->combines ? orr_combined_count() : 0;
    unsigned enough = each * (orr_component(c)->nkinds + teams + 1); /* some are measured late */
    if (orr_load_seq(&((struct orr_flow *)c->data)->count) >= enough) return 1;
    orr_flow_add(c->data, p, false);
    for (unsigned i = 0; i < c->nchildren; i++) orr_component_wake(c->children[i], mask);
    return 0;
}

/* The leaf of several workers, the calling one among them, on which p is to be measured; NULL: none. */
static struct starpu_sched_component *team_for(struct starpu_sched_component *c, struct starpu_task *p)
{
    const struct orr_worker *self = orr_worker_self();
    for (unsigned i = 0; self && orr_component(c)->combines && i < c->nchildren; i++) {
        const struct orr_combined *team = orr_leaf_team(c->children[i]);
        bool member = false;
        for (unsigned k = 0; team && k < team->size; k++) member |= team->members[k] == self->id;
        if (member && orr_leaf_team_measures(c->children[i], p)) return c->children[i];
    }
    return NULL;
}

/* The first task that the workers below `who` are to run to be measured: with *team_out, together with
 * others. Moves those whose time is known now to known. Called with the flow's lock held. */
static struct starpu_task *find_locked(struct starpu_sched_component *c, struct starpu_sched_component *who,
                                       struct orr_taskq *known, struct starpu_sched_component **team_out)
{
    struct orr_flow *f = c->data;
    for (struct starpu_task *p = orr_taskq_first(&f->q), *next; p; p = next) {
        struct orr_bid bid;
        next = orr_taskq_next(&f->q, p);
        orr_component_bid(who, p, &bid);
        if (bid.can && bid.uncalibrated) {
            struct orr_task *t = orr_task_of(p);
            t->nimpl = (uint8_t)bid.uncalibrated_impl;
            t->nimpl_valid = 1;
            return p;
        }
        if ((*team_out = team_for(c, p)) != NULL) return p;
        orr_component_bid(c, p, &bid);
        if (!bid.can || bid.uncalibrated) continue;
        orr_flow_remove_locked(f, p);
        orr_taskq_add(known, p, false);
    }
    return NULL;
}

static struct starpu_task *measure_pull_task(struct starpu_sched_component *c,
                                             struct starpu_sched_component *to)
{
    struct orr_flow *f = c->data;
    struct orr_tree *tree = orr_tree_of(c);
    struct starpu_sched_component *team = NULL;
    struct orr_taskq known;
    if (orr_load_seq(&f->count) == 0) return NULL;
    orr_taskq_init(&known, true);
    orr_spin_lock(&f->lock);
    struct starpu_task *p = find_locked(c, orr_call()->puller ? orr_call()->puller : to, &known, &team);
    if (p) orr_flow_remove_locked(f, p);
    orr_spin_unlock(&f->lock);
    for (struct starpu_task *k; (k = orr_taskq_first(&known));) {
        orr_taskq_remove(&known, k);
        orr_tree_push(tree, tree->pub.root, k);
    }
    orr_taskq_fini(&known);
    if (!team) return p;
    if (orr_component_give(team, p) != 0) orr_tree_push(tree, tree->pub.root, p);
    return NULL; /* the caller finds its part in its own queue */
}

/* Children that keep tasks are not given any from here: they are to be connected below this. */
static int measure_can_push(struct starpu_sched_component *c, struct starpu_sched_component *to)
{
    (void)to;
    return starpu_sched_component_send_can_push_to_parents(c);
}

static void measure_deinit_data(struct starpu_sched_component *c)
{
    orr_flow_fini(c->data);
    orr_component_free_data(c);
}

struct starpu_sched_component *orr_measure_create(struct starpu_sched_tree *tree)
{
    struct starpu_sched_component *c = orr_component_create(tree, &kind_measure, sizeof(struct orr_flow));
    if (!c) return NULL;
    orr_flow_init(c->data, true);
    c->push_task = measure_push_task;
    c->pull_task = measure_pull_task;
    c->can_push = measure_can_push;
    c->deinit_data = measure_deinit_data;
    return c;
}
