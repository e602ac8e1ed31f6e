/* SPDX-License-Identifier: BSD-3-Clause */
/* parallel.c: leaves for several workers that run each task together.
 * Threads: any. Owns: nothing. Not here: the leaf of one worker (worker.c), how a team runs a task
 * (core/worker/parallel.c).
 *
 * A task pushed here goes to the queues of all its workers at once, behind what is there; nothing is pulled.
 * The leaf ends when the last of its workers ends, and keeps them busy until then as far as their own leaves
 * are asked. */
#include <math.h>

#include "core/base/log.h"
#include "core/perf/history.h"
#include "core/worker/combined.h"
#include "core/worker/parallel.h"
#include "sched/components/component.h"

static const struct orr_component_kind kind_parallel = { .name = "parallel worker",
                                                         .leaf = true,
                                                         .unasked = true };

static const struct orr_combined *combined_of(const struct starpu_sched_component *c)
{
    return *(const struct orr_combined **)c->data;
}

const struct orr_combined *orr_leaf_team(const struct starpu_sched_component *c)
{
    return orr_component_is(c, &kind_parallel) ? combined_of(c) : NULL;
}

bool orr_leaf_team_measures(struct starpu_sched_component *c, struct starpu_task *p)
{
    const struct orr_combined *team = combined_of(c);
    struct orr_bid bid;
    for (unsigned i = 0; i < team->size; i++)
        if (orr_load_relaxed(&orr_workers[team->members[i]].local_count) >= orr_calibration_minimum)
            return false;
    orr_component_bid(c, p, &bid);
    if (!bid.can || !bid.uncalibrated) return false;
    orr_bid_settle(p, &bid);
    return true;
}

static double estimated_end(struct starpu_sched_component *c)
{
    const struct orr_combined *team = combined_of(c);
    double end = orr_call_now();
    for (unsigned i = 0; i < team->size; i++) {
        struct starpu_sched_component *leaf = orr_tree_of(c)->leaf[team->members[i]];
        if (leaf) end = fmax(end, leaf->estimated_end(leaf));
    }
    return end;
}

static double estimated_load(struct starpu_sched_component *c)
{
    const struct orr_combined *team = combined_of(c);
    double load = 0;
    for (unsigned i = 0; i < team->size; i++) {
        struct starpu_sched_component *leaf = orr_tree_of(c)->leaf[team->members[i]];
        if (leaf) load += leaf->estimated_load(leaf);
    }
    return load / team->size;
}

static int parallel_push_task(struct starpu_sched_component *c, struct starpu_task *p)
{
    const struct orr_combined *team = combined_of(c);
    struct orr_task *t = orr_task_of(p);
    unsigned nimpl = t->nimpl;
    if (!(t->nimpl_valid && orr_combined_can_run(team, t, nimpl)) &&
        !orr_combined_can_run_any(team, t, &nimpl))
        return 1;
    t->nimpl = (uint8_t)nimpl;
    t->nimpl_valid = 1;
    double until = estimated_end(c) + orr_known_us(p);
    if (orr_team_push(team, t) != 0) return 1;
    for (unsigned i = 0; i < team->size; i++)
        if (orr_tree_of(c)->leaf[team->members[i]])
            orr_leaf_is_busy(orr_tree_of(c)->leaf[team->members[i]], until);
    return 0;
}

static struct starpu_task *parallel_pull_task(struct starpu_sched_component *c,
                                              struct starpu_sched_component *to)
{
    (void)c;
    (void)to;
    return NULL;
}

static int parallel_can_pull(struct starpu_sched_component *c)
{
    (void)c;
    return 0;
}

struct starpu_sched_component *starpu_sched_component_parallel_worker_create(struct starpu_sched_tree *tree,
                                                                             unsigned nworkers,
                                                                             unsigned *workers)
{
    int id = starpu_combined_worker_assign_workerid((int)nworkers, (int *)workers);
    const struct orr_combined *team = id >= 0 ? orr_combined_get((unsigned)id) : NULL;
    if (!team || !tree) {
        orr_error("a parallel worker of %u workers cannot be made for the tree", nworkers);
        return NULL;
    }
    struct starpu_sched_component *c = orr_component_create(tree, &kind_parallel, sizeof team);
    if (!c) return NULL;
    *(const struct orr_combined **)c->data = team;
    starpu_bitmap_set(c->workers, team->id);
    c->push_task = parallel_push_task;
    c->pull_task = parallel_pull_task;
    c->can_pull = parallel_can_pull;
    c->estimated_end = estimated_end;
    c->estimated_load = estimated_load;
    return c;
}

int starpu_sched_component_is_combined_worker(struct starpu_sched_component *component)
{
    return orr_component_is(component, &kind_parallel);
}
