/* SPDX-License-Identifier: BSD-3-Clause */
/* pheft.c: dmda, for parallel tasks as well: each goes to the worker or the combined worker where it should
 * end first.
 * Threads: any pushes; workers pop. Owns: a dmda, which knows what each worker has to do. Not here: how dmda
 * decides (dm.c), how several run a task (core/worker/parallel.c).
 *
 * A combined worker can begin when the last of its members is free; how long the task takes there is
 * measured for each number of workers, as for an architecture of its own. While that of some is not known,
 * tasks go to those that have been tried least. A parallel task of which models say nothing goes to the
 * largest combined worker there is for it, the one with the least to do among equals. */
#include <math.h>
#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/event.h"
#include "core/mem/node.h"
#include "core/task/perf.h"
#include "core/task/prefetch.h"
#include "core/worker/parallel.h"
#include "sched/dm.h"

struct pheft {
    struct orr_ctx *ctx;
    void *dm;
    struct orr_combined_view view;
    _Atomic uint32_t tried[STARPU_NMAXWORKERS + 1]; /* tasks given to so many workers to be measured */
};

static void *pheft_create(struct orr_ctx *ctx)
{
    struct pheft *p = orr_calloc(1, sizeof *p);
    if (!p) return NULL;
    p->ctx = ctx;
    p->dm = orr_policy_dmda.create(ctx);
    if (p->dm) return p;
    orr_free(p);
    return NULL;
}

static void pheft_destroy(void *instance)
{
    struct pheft *p = instance;
    orr_policy_dmda.destroy(p->dm);
    orr_free(p);
}

/* ---- deciding ---- */

struct choice {
    const struct orr_combined *unit; /* NULL: dmda decides */
    struct orr_dm_offer offer;
    bool trial; /* it is to be measured */
    uint32_t tries;
};

static bool is_parallel(const struct orr_task *t)
{
    return t->pub->cl->type != STARPU_SEQ && orr_task_may_use(t, 2);
}

static void prefer_untried(struct pheft *p, struct choice *best, const struct orr_combined *c,
                           struct orr_dm_offer offer)
{
    unsigned size = c ? c->size : 1;
    uint32_t tries = orr_load_relaxed(&p->tried[size]);
    if (best->trial && tries >= best->tries) return;
    *best = (struct choice){ .unit = c, .offer = offer, .trial = true, .tries = tries };
}

/* Takes note of an offer by c, or by dmda if that is NULL. */
static void consider(struct pheft *p, struct choice *best, const struct orr_combined *c,
                     struct orr_dm_offer offer, bool measured)
{
    if (offer.uncalibrated && measured)
        prefer_untried(p, best, c, offer);
    else if (!best->trial && !isnan(offer.cost) && (isnan(best->offer.cost) || offer.cost < best->offer.cost))
        *best = (struct choice){ .unit = c, .offer = offer };
}

static struct choice choose_by_model(struct pheft *p, struct orr_task *t, struct orr_weighed *weighed)
{
    struct starpu_perfmodel *m = t->pub->cl->model;
    bool measured = orr_perfmodel_is_measured(m->type);
    struct choice best = { .offer = { .cost = NAN } };
    consider(p, &best, NULL, orr_dm_offer_alone(p->dm, t, weighed), measured);
    for (unsigned i = 0, n = orr_combined_count(); i < n; i++) {
        const struct orr_combined *c = orr_combined_at(i);
        unsigned nimpl;
        if (c->size < 2 || !orr_combined_is_in(c, p->ctx) || !orr_combined_can_run_any(c, t, &nimpl))
            continue;
        consider(p, &best, c, orr_dm_offer_together(p->dm, t, c, weighed), measured);
    }
    struct orr_perfmodel_state *s = best.trial ? orr_perfmodel_peek(m) : NULL;
    if (s) orr_perfmodel_want_calibration(s);
    return best;
}

/* As choose_by_model, for observers. */
static __attribute__((cold, noinline)) struct choice choose_and_tell(struct pheft *p, struct orr_task *t)
{
    struct orr_weighed weighed = { .count = 0 };
    struct choice best = choose_by_model(p, t, &weighed);
    weighed.chosen = isnan(best.offer.cost) ? -1 : best.offer.worker;
    ORR_EVENT(TASK_WEIGHED, t, t->id, (uintptr_t)&weighed, 0);
    return best;
}

static struct choice choose_without_model(struct pheft *p, struct orr_task *t)
{
    struct choice best = { .offer = { .us = 0 } };
    for (unsigned i = 0, n = orr_combined_count(); i < n; i++) {
        const struct orr_combined *c = orr_combined_at(i);
        unsigned nimpl;
        if (c->size < 2 || (best.unit && c->size < best.unit->size)) continue;
        if (!orr_combined_is_in(c, p->ctx) || !orr_combined_can_run_any(c, t, &nimpl)) continue;
        double busy = (double)orr_dm_busy_ns(p->dm, c);
        if (best.unit && c->size == best.unit->size && busy >= best.offer.cost) continue;
        best = (struct choice){ .unit = c, .offer = { .cost = busy, .nimpl = nimpl } };
    }
    return best;
}

/* ---- the slots ---- */

/* False: there is no memory for that. */
static bool push_to_unit(struct pheft *p, struct orr_task *t, const struct choice *c)
{
    double us = c->trial || isnan(c->offer.us) ? 0 : c->offer.us;
    t->nimpl = (uint8_t)c->offer.nimpl;
    t->nimpl_valid = 1;
    if (orr_unlikely(orr_node_count > 1) && starpu_get_prefetch_flag())
        orr_task_prefetch(t->pub, orr_workers[c->unit->members[0]].node, t->priority, false);
    orr_dm_count_together(p->dm, t, c->unit, us);
    if (orr_team_push(c->unit, t) == 0) return true;
    orr_dm_uncount_together(p->dm, t, c->unit);
    t->nimpl_valid = 0;
    return false;
}

static void pheft_push(void *instance, struct orr_task *t)
{
    struct pheft *p = instance;
    struct starpu_perfmodel *m = t->pub->cl->model;
    if (orr_likely(!is_parallel(t))) {
        orr_policy_dmda.push(p->dm, t);
        return;
    }
    orr_combined_refresh(&p->view, p->ctx);
    bool has_model = m && m->type != STARPU_PERFMODEL_INVALID;
    bool watched = has_model && orr_unlikely(orr_events_wanted(ORR_EVENT_BIT(TASK_WEIGHED)));
    struct choice c = watched     ? choose_and_tell(p, t)
                      : has_model ? choose_by_model(p, t, NULL)
                                  : choose_without_model(p, t);
    if (c.trial) orr_add_relaxed(&p->tried[c.unit ? c.unit->size : 1], 1u);
    if (!c.unit || !push_to_unit(p, t, &c)) orr_dm_push_untold(p->dm, t);
}

static struct orr_task *pheft_pop(void *instance, struct orr_worker *w)
{
    return orr_policy_dmda.pop(((struct pheft *)instance)->dm, w);
}

static bool pheft_may_keep(void *instance, struct orr_task *t, struct orr_worker *w)
{
    return !is_parallel(t) && orr_policy_dmda.may_keep(((struct pheft *)instance)->dm, t, w);
}

static uint32_t backlog(void *instance, struct orr_worker *w)
{
    return orr_policy_dmda.backlog(((struct pheft *)instance)->dm, w);
}

static int pheft_add_workers(void *instance, const int *workers, unsigned count)
{
    return orr_policy_dmda.add_workers(((struct pheft *)instance)->dm, workers, count);
}

static void pheft_remove_workers(void *instance, const int *workers, unsigned count)
{
    orr_policy_dmda.remove_workers(((struct pheft *)instance)->dm, workers, count);
}

static void pheft_push_notify(void *instance, struct orr_task *t, struct orr_worker *w)
{
    orr_policy_dmda.push_notify(((struct pheft *)instance)->dm, t, w);
}

static void pheft_post_exec(void *instance, struct orr_task *t, struct orr_worker *w)
{
    orr_policy_dmda.post_exec(((struct pheft *)instance)->dm, t, w);
}

static struct orr_task *pheft_watch(void *instance, struct orr_worker *w, bool *again_out)
{
    return orr_policy_dmda.watch(((struct pheft *)instance)->dm, w, again_out);
}

static void pheft_watch_end(void *instance, struct orr_worker *w)
{
    orr_policy_dmda.watch_end(((struct pheft *)instance)->dm, w);
}

const struct orr_policy_ops orr_policy_pheft = {
    .name = "pheft",
    .description = "like dmda; parallel tasks go to the worker or combined worker where they end first",
    .flags = ORR_POLICY_COMBINES,
    .create = pheft_create,
    .destroy = pheft_destroy,
    .add_workers = pheft_add_workers,
    .remove_workers = pheft_remove_workers,
    .push = pheft_push,
    .pop = pheft_pop,
    .may_keep = pheft_may_keep,
    .backlog = backlog,
    .push_notify = pheft_push_notify,
    .post_exec = pheft_post_exec,
    .watch = pheft_watch,
    .watch_end = pheft_watch_end,
};
