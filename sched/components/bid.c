/* SPDX-License-Identifier: BSD-3-Clause */
/* bid.c: what a task would take on the workers below a component.
 * Threads: any, in push and pull. Owns: nothing. Not here: models (core/perf), which component gets the task
 * (mct.c).
 *
 * Workers of one architecture and memory node are asked once, unless the task itself is particular about
 * workers. */
#include <math.h>

#include "core/mem/node.h"
#include "core/perf/perfmodel.h"
#include "core/task/perf.h"
#include "core/worker/combined.h"
#include "core/worker/driver.h"
#include "sched/components/component.h"

static bool is_picky(const struct starpu_task *p)
{
    return p->cl->can_execute || p->workerids_len;
}

/* The workers that have to be asked, one after another. */
struct asked {
    const struct orr_component *oc;
    bool all;
    int at;
};

static struct asked ask(struct starpu_sched_component *c, const struct starpu_task *p)
{
    const struct orr_component *oc = orr_component_const(c);
    return (struct asked){ .oc = oc, .all = is_picky(p) || oc->more_kinds, .at = -1 };
}

/* -1: no more. */
static int next_asked(struct asked *a)
{
    if (!a->all) return ++a->at < (int)a->oc->nkinds ? a->oc->first_of[a->at] : -1;
    do a->at++;
    while (a->at < (int)orr_worker_count && !starpu_bitmap_get(a->oc->pub.workers_in_ctx, a->at));
    return a->at < (int)orr_worker_count ? a->at : -1;
}

/* Combined workers, one after another. NULL: no more. */
static const struct orr_combined *next_combined(const struct orr_component *oc, unsigned *at)
{
    while (oc->combines && *at < orr_combined_count()) {
        const struct orr_combined *c = orr_combined_at((*at)++);
        if (starpu_bitmap_get(oc->pub.workers_in_ctx, c->id)) return c;
    }
    return NULL;
}

int starpu_sched_component_can_execute_task(struct starpu_sched_component *component,
                                            struct starpu_task *task)
{
    const struct orr_component *oc = orr_component_const(component);
    unsigned nimpl;
    if (!(oc->where & orr_task_where(task))) return 0;
    if (!oc->combines && orr_task_where_tells(task)) return 1;
    struct orr_task *t = orr_task_of(task);
    struct asked a = ask(component, task);
    for (int w; (w = next_asked(&a)) >= 0;)
        if (orr_worker_can_run(&orr_workers[w], t, &nimpl)) return 1;
    const struct orr_combined *c;
    for (unsigned i = 0; (c = next_combined(a.oc, &i));)
        if (orr_combined_can_run_any(c, t, &nimpl)) return 1;
    return 0;
}

bool orr_task_has_model(const struct starpu_task *p)
{
    const struct starpu_perfmodel *m = p->cl->model;
    return m && m->type != STARPU_PERFMODEL_INVALID;
}

/* Adds that a worker can run p with an implementation. */
static void add_impl(struct orr_bid *b, int worker, int comb, unsigned node, struct starpu_task *p,
                     unsigned impl)
{
    struct starpu_perfmodel *m = orr_task_has_model(p) ? p->cl->model : NULL;
    double us = m ? orr_task_expected(orr_task_of(p), m, comb, impl, worker) : NAN;
    if (isnan(us) && m && orr_perfmodel_is_measured(m->type) && !b->uncalibrated) {
        b->uncalibrated = true;
        b->uncalibrated_impl = impl;
    }
    if (b->can && (isnan(us) || (b->known && us >= b->us))) return;
    b->can = true;
    b->known = !isnan(us);
    b->us = b->known ? us : 0;
    b->worker = worker;
    b->comb = comb;
    b->node = node;
    b->impl = impl;
}

static void add_worker(struct orr_bid *b, int worker, struct starpu_task *p)
{
    struct orr_worker *w = &orr_workers[worker];
    if (!(orr_task_where(p) & w->where)) return;
    for (unsigned i = 0; i < STARPU_MAXIMPLEMENTATIONS && orr_worker_function(w, p->cl, i); i++)
        if (!is_picky(p) || orr_worker_can_run_impl(w, orr_task_of(p), i))
            add_impl(b, worker, orr_perf_workers[worker].comb, w->node, p, i);
}

static void add_combined(struct orr_bid *b, const struct orr_combined *c, struct starpu_task *p)
{
    for (unsigned i = 0; i < STARPU_MAXIMPLEMENTATIONS; i++)
        if (orr_combined_can_run(c, orr_task_of(p), i))
            add_impl(b, c->id, c->comb, orr_workers[c->members[0]].node, p, i);
}

void orr_worker_bid(int worker, struct starpu_task *p, struct orr_bid *out)
{
    *out = (struct orr_bid){ .worker = -1, .comb = -1 };
    add_worker(out, worker, p);
}

void orr_component_bid(struct starpu_sched_component *c, struct starpu_task *p, struct orr_bid *out)
{
    *out = (struct orr_bid){ .worker = -1, .comb = -1 };
    if (!(orr_component_const(c)->where & orr_task_where(p))) return;
    struct asked a = ask(c, p);
    for (int w; (w = next_asked(&a)) >= 0;) add_worker(out, w, p);
    const struct orr_combined *combined;
    if (!a.oc->combines || !orr_task_may_use(orr_task_of(p), 2)) return;
    for (unsigned i = 0; (combined = next_combined(a.oc, &i));) add_combined(out, combined, p);
}

void orr_bid_settle(struct starpu_task *p, const struct orr_bid *bid)
{
    struct orr_task *t = orr_task_of(p);
    t->nimpl = (uint8_t)(bid->uncalibrated ? bid->uncalibrated_impl : bid->impl);
    t->nimpl_valid = 1;
    p->predicted = bid->known && !bid->uncalibrated ? bid->us : NAN;
}

bool orr_bid_settled(struct starpu_sched_component *c, struct starpu_task *p, struct orr_bid *out)
{
    const struct orr_component *oc = orr_component_const(c);
    const struct orr_task *t = orr_task_of(p);
    if (!orr_tree_of(c)->alike || !t->nimpl_valid || !(p->predicted > 0) || is_picky(p)) return false;
    if (oc->nkinds == 0 || !(oc->where & orr_task_where(p))) return false;
    int worker = oc->first_of[0];
    *out = (struct orr_bid){ .can = true,
                             .known = true,
                             .us = p->predicted,
                             .worker = worker,
                             .comb = orr_perf_workers[worker].comb,
                             .node = orr_workers[worker].node,
                             .impl = t->nimpl };
    return true;
}

int starpu_sched_component_execute_preds(struct starpu_sched_component *component, struct starpu_task *task,
                                         double *length)
{
    struct orr_bid bid;
    orr_component_bid(component, task, &bid);
    if (bid.can && length) *length = bid.uncalibrated ? NAN : bid.us;
    return bid.can;
}

double starpu_sched_component_transfer_length(struct starpu_sched_component *component,
                                              struct starpu_task *task)
{
    const struct orr_component *oc = orr_component_const(component);
    uint32_t seen = 0;
    double sum = 0;
    int nodes = 0;
    if (orr_node_count == 1) return 0;
    if (oc->nkinds == 0) return orr_task_bring_us(orr_task_of(task), orr_node_home()); /* combined */
    for (unsigned i = 0; i < oc->nkinds; i++) {
        unsigned node = orr_workers[oc->first_of[i]].node;
        if (seen >> node & 1) continue;
        seen |= 1u << node;
        sum += orr_task_bring_us(orr_task_of(task), node);
        nodes++;
    }
    return nodes ? sum / nodes : 0;
}
