/* SPDX-License-Identifier: BSD-3-Clause */
/* heft.c: the flow-control components heft and heteroprio: tasks wait here, by priority, until the child that
 * would end them first has room.
 * Threads: any; one decides at a time. Owns: the tasks that wait. Not here: the cost of a choice (mct.c).
 *
 * A round decides over the first NMAX tasks. Each is given to the child that would end it first; if that has
 * no room, the task stays, but counts as the child's load for the tasks after it. So a slow worker takes what
 * a fast one would not get to in time, and no more; and as everything that stays is decided anew when a task
 * ends, a task of high priority that comes later still goes first, and mispredictions are forgotten. This is
 * the list scheduling of H. Topcuoglu et al. (heft, IEEE TPDS 13(3), 2002), over the tasks that are ready.
 *
 * Workers on main memory have nothing to bring: they are given a task when they have none, not before (two
 * when their tasks last for a few microseconds).
 *
 * heteroprio looks at the same tasks in another order: those first that gain most by the right child (after
 * E. Agullo et al., Euro-Par 2016). */
#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/mem/node.h"
#include "core/perf/perfmodel.h"
#include "sched/components/flow.h"
#include "sched/components/mct.h"

enum { NMAX = 64 };
static const double overdue_us = 1, slow_us = 1000;

struct heft {
    struct orr_flow wait;
    struct orr_weights weights; /* [const] */
    bool is_heteroprio;         /* [const] */
    bool by_affinity;           /* and there are several kinds of workers [const for push and pull] */
    bool any_pulls;             /* a child waits to be asked [const for push and pull] */
    unsigned batch;             /* [const] */
    _Atomic bool full[ORR_MCT_CHILDREN]; /* refused a task, and has not said that it has room */
    bool on_demand[ORR_MCT_CHILDREN];    /* gets a task when it has none [const for push and pull] */
    struct orr_outlook outlook;          /* [own: who pumps] */
    int wants[ORR_MCT_CHILDREN];         /* tasks that it takes, where on_demand [own: who pumps] */
    struct starpu_task *window[NMAX], *stay[NMAX]; /* [own: who pumps] */
};

/* ---- a round ---- */

static bool has_room(const struct starpu_sched_component *c, unsigned child)
{
    const struct heft *h = c->data;
    return (!h->on_demand[child] || h->wants[child] > 0) && !orr_load_seq(&h->full[child]) &&
           !orr_component_is_full(c->children[child]);
}

static bool anybody_has_room(const struct starpu_sched_component *c)
{
    for (unsigned i = 0; i < c->nchildren; i++)
        if (has_room(c, i)) return true;
    return false;
}

static int brief_workers(const struct starpu_sched_component *child)
{
    const struct orr_component *oc = orr_component_const(child);
    int n = 0;
    if (child->workers_in_ctx->cardinal == 1)
        return orr_load_relaxed(&orr_workers[oc->first_of[0]].short_tasks);
    for (int w = 0; w < (int)orr_worker_count; w++)
        n += starpu_bitmap_get(child->workers_in_ctx, w) && orr_load_relaxed(&orr_workers[w].short_tasks);
    return n;
}

/* One task for each worker without any; and one more for those whose tasks are so short that deciding costs
 * more. */
static int wanted(struct starpu_sched_component *child)
{
    int idle = child->workers_in_ctx->cardinal - (int)orr_component_tasks(child);
    return idle > 0 ? idle + brief_workers(child) : 0;
}

/* How much longer a busy child takes at least. One that was seen to end nothing for a while may take as long
 * again. */
static double late_us(const struct starpu_sched_component *child)
{
    const struct orr_tree *tree = orr_tree_of(child);
    bool slow = orr_unlikely(orr_load_relaxed(&tree->watchman.is) != 0) &&
                child->workers_in_ctx->cardinal == 1 &&
                orr_watchman_saw_slow(&tree->watchman, (unsigned)orr_component_const(child)->first_of[0]);
    return slow ? slow_us : overdue_us;
}

/* Looks which children have room, and if any has, at what is expected. A worker that should be done but is
 * not ends a little after one that is. One that sleeps is worth waking when more waits than a round decides
 * over. */
static bool look(struct starpu_sched_component *c)
{
    struct heft *h = c->data;
    for (unsigned i = 0; i < c->nchildren; i++) {
        struct starpu_sched_component *child = c->children[i];
        if (h->on_demand[i]) h->wants[i] = wanted(child);
    }
    if (!anybody_has_room(c)) return false;
    orr_outlook_look(&h->outlook, c, NULL);
    bool many = orr_load_relaxed(&h->wait.count) > NMAX;
    double now = h->outlook.now, *end = h->outlook.end;
    for (unsigned i = 0; i < c->nchildren; i++) {
        if (!h->on_demand[i]) continue;
        if (h->wants[i] <= 0) end[i] = fmax(end[i], now + late_us(c->children[i]));
        if (h->wants[i] > 0 && many && end[i] <= now + orr_waking_us) end[i] = now;
    }
    return true;
}

/* The mark is set first: a child that makes room meanwhile takes it back (pairs with can_push). */
static bool try_push(struct starpu_sched_component *c, struct starpu_task *p, const struct orr_choice *choice)
{
    struct heft *h = c->data;
    orr_mct_tell(&h->outlook, p, choice);
    if (choice->bid.uncalibrated && orr_perfmodel_peek(p->cl->model))
        orr_perfmodel_want_calibration(orr_perfmodel_peek(p->cl->model));
    orr_store_seq(&h->full[choice->child], true);
    if (orr_component_give(c->children[choice->child], p) != 0) return false;
    orr_store_seq(&h->full[choice->child], false);
    h->wants[choice->child]--;
    orr_mct_pushed(choice);
    return true;
}

/* How many times faster the best child is than the worst. */
static double affinity(struct starpu_sched_component *c, struct starpu_task *p)
{
    double least = INFINITY, most = 0;
    for (unsigned i = 0; i < c->nchildren; i++) {
        struct orr_bid bid;
        orr_component_bid(c->children[i], p, &bid);
        if (!bid.can || !bid.known) continue;
        if (bid.us < least) least = bid.us;
        if (bid.us > most) most = bid.us;
    }
    return least > 0 && !isinf(least) ? most / least : 1;
}

static void sort_by_affinity(struct starpu_sched_component *c, struct starpu_task **window, unsigned n)
{
    double gain[NMAX];
    for (unsigned i = 0; i < n; i++) {
        struct starpu_task *p = window[i];
        double g = affinity(c, p);
        unsigned at = i;
        for (; at > 0 && gain[at - 1] < g; at--) {
            gain[at] = gain[at - 1];
            window[at] = window[at - 1];
        }
        gain[at] = g;
        window[at] = p;
    }
}

/* Those of one codelet that follow a task may share its decision, batch at most. */
struct last {
    const struct starpu_codelet *cl;
    struct orr_choice choice;
    unsigned left;
};

static bool decide(struct starpu_sched_component *c, struct starpu_task *p, struct last *last)
{
    struct heft *h = c->data;
    if (last->left > 0 && last->cl == p->cl && !p->cl->can_execute && !p->workerids_len) {
        last->left--;
        last->choice.end = h->outlook.end[last->choice.child] + last->choice.bid.us;
        return true;
    }
    last->cl = p->cl;
    last->left = h->batch > 1 ? h->batch - 1 : 0;
    return orr_mct_choose(c, &h->weights, &h->outlook, p, &last->choice);
}

/* What stays can be fetched by workers below children that keep nothing:
 * they never say that they have room. */
static void wake_pulling(struct starpu_sched_component *c)
{
    struct heft *h = c->data;
    for (unsigned i = 0; i < c->nchildren; i++) {
        if (!orr_component(c->children[i])->only_pulls) continue;
        orr_store_seq(&h->full[i], false);
        orr_component_wake(c->children[i], 0);
    }
}

/* When the first of those with room has nothing to do. */
static double earliest_with_room(const struct starpu_sched_component *c)
{
    const struct heft *h = c->data;
    double least = INFINITY;
    for (unsigned i = 0; i < c->nchildren; i++)
        if (has_room(c, i)) least = fmin(least, h->outlook.end[i]);
    return least;
}

/* A task stays for a busy child. Whether as many more like it would end there before anybody else begins:
 * then there is no point in deciding them one by one. */
static bool rest_stays(const struct starpu_sched_component *c, const struct orr_choice *choice, unsigned more)
{
    return choice->end + choice->bid.us * more < earliest_with_room(c);
}

/* The next task of a round: from the window if that was taken as a whole. */
static struct starpu_task *next_of_round(struct heft *h, unsigned at, unsigned n)
{
    if (h->by_affinity) return at < n ? h->window[at] : NULL;
    return at < NMAX ? orr_flow_take_first(&h->wait) : NULL;
}

static bool decide_round(struct starpu_sched_component *c)
{
    struct heft *h = c->data;
    struct last last = { .left = 0 };
    bool pushed = false;
    unsigned stay = 0, i = 0, n = 0;
    if (!look(c)) return false;
    if (h->by_affinity) {
        n = orr_flow_take_some(&h->wait, h->window, NMAX);
        sort_by_affinity(c, h->window, n);
    }
    for (struct starpu_task *p; anybody_has_room(c) && (p = next_of_round(h, i, n)); i++) {
        bool can = decide(c, p, &last);
        if (can) orr_outlook_count(&h->outlook, &last.choice);
        if (can && has_room(c, last.choice.child) && try_push(c, p, &last.choice)) {
            pushed = true;
            continue;
        }
        h->stay[stay++] = p;
        if (can && !h->by_affinity && rest_stays(c, &last.choice, NMAX - 1 - i)) {
            i++;
            break;
        }
    }
    bool left =
        n > i || stay > 0 || orr_load_seq(&h->wait.count) > 0; /* now: somebody may pull them at once */
    while (n > i) orr_flow_add(&h->wait, h->window[--n], true);
    while (stay > 0) orr_flow_add(&h->wait, h->stay[--stay], true);
    if (left) wake_pulling(c);
    if (left && orr_component(c)->guarded) orr_guard_added(c);
    return pushed;
}

static bool pump(struct starpu_sched_component *c)
{
    struct heft *h = c->data;
    bool pushed = false;
    uint32_t served = orr_flow_round_begin(&h->wait);
    while (served) {
        bool now = orr_load_seq(&h->wait.count) > 0 && decide_round(c);
        if (now) starpu_sched_component_send_can_push_to_parents(c);
        pushed |= now;
        served = orr_flow_round_again(&h->wait, served);
    }
    return pushed;
}

/* ---- methods ---- */

static int heft_push_task(struct starpu_sched_component *c, struct starpu_task *p)
{
    struct heft *h = c->data;
    uint32_t before = orr_flow_add(&h->wait, p, false);
    if (before <= NMAX || h->any_pulls) pump(c); /* else no round would get to it */
    return 0;
}

static int heft_can_push(struct starpu_sched_component *c, struct starpu_sched_component *to)
{
    struct heft *h = c->data;
    for (unsigned i = 0; i < c->nchildren && i < ORR_MCT_CHILDREN; i++)
        if (c->children[i] == to) orr_store_seq(&h->full[i], false); /* pairs with try_push */
    if (!orr_flow_is_idle(&h->wait) && pump(c)) return 1;
    return starpu_sched_component_send_can_push_to_parents(c);
}

/* For children that keep nothing and wait to be asked. */
static struct starpu_task *heft_pull_task(struct starpu_sched_component *c, struct starpu_sched_component *to)
{
    struct heft *h = c->data;
    struct starpu_task *p = orr_flow_take(&h->wait, orr_call()->puller ? orr_call()->puller : to);
    return p ? p : starpu_sched_component_parents_pull_task(c, to);
}

static void heft_do_schedule(struct starpu_sched_component *c)
{
    pump(c);
    for (unsigned i = 0; i < c->nchildren; i++)
        if (c->children[i]->do_schedule) c->children[i]->do_schedule(c->children[i]);
}

static unsigned tasks(const struct starpu_sched_component *c)
{
    return orr_load_relaxed(&((struct heft *)c->data)->wait.count);
}

/* Whether all workers below use main memory, and tasks must go through a queue to them. */
static bool is_on_demand(const struct starpu_sched_component *child)
{
    const struct orr_component *oc = orr_component_const(child);
    if (oc->more_kinds || oc->only_pulls || oc->nkinds == 0) return false;
    for (unsigned i = 0; i < oc->nkinds; i++)
        if (!orr_node_is_cpu(orr_workers[oc->first_of[i]].node)) return false;
    return true;
}

static void notify_change_workers(struct starpu_sched_component *c)
{
    struct heft *h = c->data;
    h->by_affinity = h->is_heteroprio && orr_component(c)->nkinds + orr_component(c)->combines > 1;
    h->any_pulls = false;
    for (unsigned i = 0; i < c->nchildren && i < ORR_MCT_CHILDREN; i++) {
        h->any_pulls |= orr_component(c->children[i])->only_pulls;
        orr_store_seq(&h->full[i], false);
        h->on_demand[i] = is_on_demand(c->children[i]);
    }
}

static void heft_evict(struct starpu_sched_component *c, struct orr_taskq *out)
{
    orr_flow_evict(&((struct heft *)c->data)->wait, c, out);
}

static const char *complaint(const struct starpu_sched_component *c)
{
    return c->nchildren > ORR_MCT_CHILDREN ? "it has too many children" : NULL;
}

static void heft_deinit_data(struct starpu_sched_component *c)
{
    orr_flow_fini(&((struct heft *)c->data)->wait);
    orr_component_free_data(c);
}

static struct orr_flow *queue(const struct starpu_sched_component *c)
{
    return &((struct heft *)c->data)->wait;
}

static void choose_anew(struct starpu_sched_component *c)
{
    pump(c);
}

/* ---- making ---- */

static const struct orr_component_kind kind_heft = {
    .name = "heft",
    .evict = heft_evict,
    .tasks = tasks,
    .complaint = complaint,
    .queue = queue,
    .choose_anew = choose_anew,
};
static const struct orr_component_kind kind_heteroprio = {
    .name = "heteroprio",
    .evict = heft_evict,
    .complaint = complaint,
    .queue = queue,
    .choose_anew = choose_anew,
};

static struct starpu_sched_component *heft_create(struct starpu_sched_tree *tree,
                                                  const struct orr_component_kind *kind,
                                                  const struct starpu_sched_component_mct_data *d)
{
    struct starpu_sched_component *c = orr_component_create(tree, kind, sizeof(struct heft));
    if (!c) return NULL;
    struct heft *h = c->data;
    orr_flow_init(&h->wait, true);
    orr_weights_set(&h->weights, d);
    h->is_heteroprio = kind == &kind_heteroprio;
    c->push_task = heft_push_task;
    c->pull_task = heft_pull_task;
    c->can_push = heft_can_push;
    c->do_schedule = heft_do_schedule;
    c->notify_change_workers = notify_change_workers;
    c->deinit_data = heft_deinit_data;
    return c;
}

struct starpu_sched_component *starpu_sched_component_heft_create(
    struct starpu_sched_tree *tree, struct starpu_sched_component_mct_data *mct_data)
{
    return heft_create(tree, &kind_heft, mct_data);
}

int starpu_sched_component_is_heft(struct starpu_sched_component *component)
{
    return orr_component_is(component, &kind_heft);
}

struct starpu_sched_component *starpu_sched_component_heteroprio_create(
    struct starpu_sched_tree *tree, struct starpu_sched_component_heteroprio_data *params)
{
    struct starpu_sched_component *c = heft_create(tree, &kind_heteroprio, params ? params->mct : NULL);
    if (c && params) ((struct heft *)c->data)->batch = params->batch;
    return c;
}

int starpu_sched_component_is_heteroprio(struct starpu_sched_component *component)
{
    return orr_component_is(component, &kind_heteroprio);
}
