/* SPDX-License-Identifier: BSD-3-Clause */
/* mct.c: resource mapping by minimum completion time: the child where alpha * end + beta * transfer + gamma *
 * energy is least.
 * Threads: any. Owns: nothing. Not here: see mct.h; the policies dm, dmda... (sched/dm.c).
 *
 * A task starts on a child when what is there has been run and its data has come, whichever is later. Copies
 * to one memory node follow one another; without that a slow link is promised to all tasks at once. A task
 * whose time is known nowhere goes to the child with the least load. */
#include "sched/components/mct.h"

#include <math.h>

#include "core/base/clock.h"
#include "core/base/event.h"
#include "core/mem/node.h"
#include "core/perf/perfmodel.h"
#include "core/task/perf.h"
#include "core/worker/combined.h"
#include "core/worker/tell.h"

enum { OFFERS_KEPT = 8 };

void orr_weights_set(struct orr_weights *w, const struct starpu_sched_component_mct_data *d)
{
    if (d) {
        *w = (struct orr_weights){ d->alpha, d->beta, d->_gamma, d->idle_power };
        return;
    }
    orr_weights_read(w);
}

/* ---- looking ---- */

/* Whether children of combined workers need not be asked: p is for one worker. */
static bool is_for_one(const struct starpu_task *p)
{
    return !orr_task_may_use(orr_task_of(p), 2);
}

static bool is_combined(struct starpu_sched_component *child)
{
    return orr_component(child)->nkinds == 0;
}

void orr_outlook_look(struct orr_outlook *o, struct starpu_sched_component *c, const struct starpu_task *p)
{
    bool alone = p && is_for_one(p);
    uint64_t ticks = orr_node_count > 1 ? orr_ticks() : 0;
    o->is_watched = orr_events_wanted(ORR_EVENT_BIT(TASK_WEIGHED));
    o->now = o->latest = orr_call()->now_us = starpu_timing_now();
    for (unsigned i = 0; i < c->nchildren && i < ORR_MCT_CHILDREN; i++)
        o->end[i] =
            alone && is_combined(c->children[i]) ? o->now : c->children[i]->estimated_end(c->children[i]);
    orr_call()->now_us = 0;
    for (unsigned i = 0; i < c->nchildren && i < ORR_MCT_CHILDREN; i++)
        if (o->end[i] > o->latest) o->latest = o->end[i];
    for (unsigned n = 0; n < orr_node_count && n < STARPU_MAXNODES; n++)
        o->link[n] = o->now + orr_link_busy_us(n, ticks);
}

void orr_outlook_count(struct orr_outlook *o, const struct orr_choice *choice)
{
    o->end[choice->child] = choice->end;
    if (choice->end > o->latest) o->latest = choice->end;
    if (choice->transfer_us > 0)
        o->link[choice->node] = fmax(o->now, o->link[choice->node]) + choice->transfer_us;
}

void orr_mct_pushed(const struct orr_choice *choice)
{
    if (choice->transfer_us > 0) orr_link_promise(choice->node, orr_ticks(), choice->transfer_us);
}

/* ---- choosing ---- */

/* What is the same for all children whose workers a model cannot tell apart. */
struct offer {
    int comb;
    unsigned node;
    struct orr_bid bid;
    double transfer_us, room_us;
};

struct offers {
    struct offer kept[OFFERS_KEPT];
    unsigned count;
};

static const struct offer *offer_of(struct offers *all, struct starpu_sched_component *child,
                                    struct starpu_task *p, struct offer *room)
{
    const struct orr_component *oc = orr_component_const(child);
    bool alike =
        oc->nkinds == 1 && !oc->more_kinds && !oc->combines && !p->cl->can_execute && !p->workerids_len;
    int comb = alike ? orr_perf_workers[oc->first_of[0]].comb : -1;
    unsigned node = alike ? orr_workers[oc->first_of[0]].node : 0;
    for (unsigned i = 0; alike && i < all->count; i++)
        if (all->kept[i].comb == comb && all->kept[i].node == node) return &all->kept[i];
    struct offer *o = alike && all->count < OFFERS_KEPT ? &all->kept[all->count++] : room;
    o->comb = comb;
    o->node = node;
    if (!orr_bid_settled(child, p, &o->bid)) orr_component_bid(child, p, &o->bid);
    if (o->bid.can && !alike) o->node = o->bid.node;
    o->transfer_us = o->bid.can ? starpu_sched_component_transfer_length(child, p) : 0;
    o->room_us = o->bid.can && orr_node_count > 1 ? orr_task_room_us(orr_task_of(p), o->node) : 0;
    return o;
}

static double later(double a, double b) /* fmax minds NaN, and is a call */
{
    return a > b ? a : b;
}

static double cost(const struct orr_weights *w, const struct orr_outlook *o, struct starpu_task *p,
                   struct orr_choice *c)
{
    double bring = c->transfer_us + c->room_us;
    double start =
        orr_cost_start(later(0, o->end[c->child] - o->now), later(0, o->link[c->node] - o->now), bring);
    double end = start + c->bid.us, value = orr_cost_time(w, end, bring);
    c->end = o->now + end;
    if (p->cl->energy_model || w->idle_watt > 0)
        value += orr_cost_energy_us(w, p, c->bid.comb, c->bid.impl, c->bid.worker, c->end - o->latest);
    return value;
}

/* What a child is worth to p, the less the better; of those where its time is not known, by load. */
static double weigh(struct starpu_sched_component *child, const struct orr_weights *w,
                    const struct orr_outlook *o, struct starpu_task *p, struct orr_choice *c)
{
    if (c->bid.known && !c->bid.uncalibrated) return cost(w, o, p, c);
    c->bid.us = 0;
    c->end = later(o->now, o->end[c->child]);
    return child->estimated_load(child);
}

/* Whether a child is better than the best before: known times first; of equals, the calling worker's child,
 * for it is awake. */
static bool is_better(const struct starpu_sched_component *child, bool known, double value, bool best_known,
                      double best)
{
    const struct orr_worker *self = orr_worker_self();
    if (known != best_known) return known;
    if (value != best) return value < best;
    return self && starpu_bitmap_get(child->workers_in_ctx, self->id);
}

/* Where all workers are alike and nothing has to be brought, the child that is free first will end it first:
 * its number, -1: none can. */
static int first_free(struct starpu_sched_component *c, const struct orr_outlook *o, struct starpu_task *p)
{
    const struct orr_worker *self = orr_worker_self();
    uint32_t where = orr_task_where(p);
    int best = -1;
    double least = INFINITY;
    for (unsigned i = 0; i < c->nchildren && i < ORR_MCT_CHILDREN; i++) {
        struct starpu_sched_component *child = c->children[i];
        double free_at = later(o->now, o->end[i]);
        if (!(orr_component(child)->where & where) || free_at > least) continue;
        if (free_at == least && !(self && starpu_bitmap_get(child->workers_in_ctx, self->id))) continue;
        best = (int)i;
        least = free_at;
    }
    return best;
}

static bool choose_first_free(struct starpu_sched_component *c, const struct orr_weights *w,
                              const struct orr_outlook *o, struct starpu_task *p, struct orr_choice *out)
{
    if (orr_unlikely(o->is_watched) || !orr_tree_of(c)->alike || orr_node_count > 1 || w->alpha <= 0 ||
        w->idle_watt > 0 || p->cl->energy_model || !orr_bid_settled(c, p, &out->bid))
        return false;
    int child = first_free(c, o, p);
    if (child < 0) return false;
    out->child = (unsigned)child;
    out->node = out->bid.node;
    out->transfer_us = out->room_us = 0;
    out->end = later(o->now, o->end[child]) + out->bid.us;
    return true;
}

bool orr_mct_choose(struct starpu_sched_component *c, const struct orr_weights *w, struct orr_outlook *o,
                    struct starpu_task *p, struct orr_choice *out)
{
    if (choose_first_free(c, w, o, p, out)) return true;
    struct offers offers = { .count = 0 };
    struct offer room;
    bool found = false, known = true, alone = is_for_one(p);
    double best = INFINITY;
    o->weighed.count = 0;
    for (unsigned i = 0; i < c->nchildren && i < ORR_MCT_CHILDREN; i++) {
        if (alone && is_combined(c->children[i])) continue;
        const struct offer *offer = offer_of(&offers, c->children[i], p, &room);
        if (!offer->bid.can) continue;
        struct orr_choice choice = { .child = i,
                                     .bid = offer->bid,
                                     .node = offer->node,
                                     .transfer_us = offer->transfer_us,
                                     .room_us = offer->room_us };
        bool is_known = offer->bid.known && !offer->bid.uncalibrated;
        double value = weigh(c->children[i], w, o, p, &choice);
        if (orr_unlikely(o->is_watched) && is_known && choice.bid.worker >= 0)
            orr_weighed_add(&o->weighed, (unsigned)choice.bid.worker, choice.bid.us, choice.transfer_us,
                            value * 1e3);
        if (found && !is_better(c->children[i], is_known, value, known, best)) continue;
        found = true;
        known = is_known;
        best = value;
        *out = choice;
    }
    return found;
}

void orr_mct_tell(struct orr_outlook *o, struct starpu_task *p, const struct orr_choice *choice)
{
    struct orr_task *t = orr_task_of(p);
    if (orr_unlikely(o->is_watched && o->weighed.count > 0)) {
        o->weighed.chosen = choice->bid.worker;
        ORR_EVENT(TASK_WEIGHED, t, t->id, (uintptr_t)&o->weighed, 0);
    }
    bool alone = (unsigned)choice->bid.worker < orr_worker_count; /* of a team it is told when it is formed */
    if (alone && !(t->flags & ORR_TF_PLACED))                     /* else a child gave it back */
        orr_tell_placed(t, &orr_workers[choice->bid.worker]);
    orr_bid_settle(p, &choice->bid);
    p->predicted_transfer = choice->transfer_us;
}

/* ---- the component ---- */

static int mct_push_task(struct starpu_sched_component *c, struct starpu_task *p)
{
    struct orr_outlook o;
    struct orr_choice choice;
    orr_outlook_look(&o, c, p);
    if (!orr_mct_choose(c, c->data, &o, p, &choice)) return 1;
    orr_mct_tell(&o, p, &choice);
    if (choice.bid.uncalibrated && orr_perfmodel_peek(p->cl->model))
        orr_perfmodel_want_calibration(orr_perfmodel_peek(p->cl->model));
    int r = orr_component_give(c->children[choice.child], p);
    if (r == 0) orr_mct_pushed(&choice);
    return r;
}

static const struct orr_component_kind kind_mct = { .name = "mct", .full = orr_children_are_full };

struct starpu_sched_component *starpu_sched_component_mct_create(
    struct starpu_sched_tree *tree, struct starpu_sched_component_mct_data *mct_data)
{
    struct starpu_sched_component *c = orr_component_create(tree, &kind_mct, sizeof(struct orr_weights));
    if (!c) return NULL;
    orr_weights_set(c->data, mct_data);
    c->push_task = mct_push_task;
    return c;
}

int starpu_sched_component_is_mct(struct starpu_sched_component *component)
{
    return orr_component_is(component, &kind_mct);
}
