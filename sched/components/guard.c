/* SPDX-License-Identifier: BSD-3-Clause */
/* guard.c: tasks in the queue of one worker that does not get to them are taken by another like it.
 * Threads: any pushes; a worker watches before it sleeps, and each millisecond while it does. Owns: which
 * queues are looked after, and who does it. Not here: how a worker sleeps and watches (core/worker/park.c).
 *
 * A component that gives a task to one worker relies on that to come by soon. When it runs a long one
 * instead, or blocks, a watchman (sched/watchman.h; guard.pml beside this file is the model) finds that it
 * is slow, and what it was given goes to who looks, or is woken: only to workers that a model cannot tell
 * apart, and that use the same memory. Where tasks wait above for a worker that was chosen, they are chosen
 * anew: a slow one ends late then (heft.c). */
#include "core/perf/arch.h"
#include "core/worker/park.h"
#include "sched/components/flow.h"

static uint32_t waiting(const struct orr_component *oc)
{
    return orr_load_seq(&oc->kind->queue(&oc->pub)->count);
}

static struct orr_worker *worker_of(const struct orr_component *oc)
{
    return &orr_workers[oc->first_of[0]];
}

static bool anything_waits(void *instance)
{
    const struct orr_tree *tree = instance;
    for (const struct orr_component *oc = tree->guarded; oc; oc = oc->next_guarded)
        if (waiting(oc) > 0) return true;
    return false;
}

static bool are_alike(const struct orr_worker *a, const struct orr_worker *b)
{
    return a->node == b->node && a->where == b->where &&
           orr_perf_workers[a->id].comb == orr_perf_workers[b->id].comb;
}

/* ---- which queues ---- */

/* Whether the tree's context has another worker like w. */
static bool has_others(const struct orr_tree *tree, const struct orr_worker *w)
{
    for (unsigned i = 0; i < orr_worker_count; i++)
        if ((int)i != w->id && starpu_bitmap_get(tree->pub.workers, (int)i) && are_alike(&orr_workers[i], w))
            return true;
    return false;
}

/* A component of the program may have chosen the worker for reasons of its own. */
static bool all_are_ours(const struct orr_tree *tree)
{
    for (const struct orr_component *oc = tree->all; oc; oc = oc->next)
        if (!oc->kind) return false;
    return true;
}

void orr_guard_derive(struct orr_tree *tree)
{
    const struct orr_policy_ops *policy = orr_contexts[tree->pub.sched_ctx_id].policy;
    bool wanted = policy && policy->watch && all_are_ours(tree);
    tree->guarded = NULL;
    for (struct orr_component *oc = tree->all; oc; oc = oc->next) {
        int workers = oc->pub.workers_in_ctx->cardinal;
        oc->guarded = wanted && oc->kind->queue && oc->nkinds > 0 &&
                      (oc->kind->choose_anew ? workers > 1 : workers == 1 && has_others(tree, worker_of(oc)));
        if (!oc->guarded) continue;
        oc->next_guarded = tree->guarded;
        tree->guarded = oc;
    }
}

/* ---- who looks ---- */

static bool is_parked(unsigned w)
{
    return orr_load_seq(&orr_parking.who[w / 64]) >> (w % 64) & 1;
}

void orr_guard_added(struct starpu_sched_component *c)
{
    orr_watchman_wanted(&orr_tree_of(c)->watchman);
}

/* ---- looking ---- */

/* Of the worker that what waits here was given to. */
static bool is_slow(const struct orr_component *oc)
{
    return !oc->kind->choose_anew &&
           orr_watchman_saw_slow(&orr_tree_of(&oc->pub)->watchman, (unsigned)worker_of(oc)->id);
}

/* What waits for a worker that was chosen, and may be slow. */
static void choose_anew(struct orr_tree *tree)
{
    for (struct orr_component *oc = tree->guarded; oc; oc = oc->next_guarded)
        if (oc->kind->choose_anew && waiting(oc) > 0) oc->kind->choose_anew(&oc->pub);
}

/* The leaf of w takes the first task of those that wait for slow workers; NULL: there is none for it. */
static struct starpu_task *take(struct orr_tree *tree, const struct orr_worker *w)
{
    struct starpu_sched_component *leaf = tree->leaf[w->id];
    struct starpu_task *p = NULL;
    if (orr_leaf_worker(leaf) < 0 || !starpu_bitmap_get(tree->pub.workers, w->id)) return NULL;
    for (struct orr_component *oc = tree->guarded; oc && !p; oc = oc->next_guarded)
        if (worker_of(oc) != w && are_alike(worker_of(oc), w) && waiting(oc) > 0 && is_slow(oc))
            p = orr_leaf_take_from(leaf, &oc->pub);
    return p;
}

/* Whether so many wait here for a slow worker and it was not said before: perhaps nobody can run them. */
static bool is_news(struct orr_component *oc)
{
    enum { COUNTED = 64 };
    uint32_t n = waiting(oc);
    if (n == 0 || !is_slow(oc)) return false;
    uint64_t now =
        (orr_load_relaxed(&worker_of(oc)->tasks_run) + 1) * COUNTED + (n < COUNTED ? n : COUNTED - 1);
    if (orr_load_relaxed(&oc->told) == now) return false;
    orr_store_relaxed(&oc->told, now);
    return true;
}

/* Another that sleeps, for what still waits for a slow worker: it takes that before it sleeps again. */
static void wake_another(struct orr_tree *tree, const struct orr_worker *but)
{
    for (struct orr_component *oc = tree->guarded; oc; oc = oc->next_guarded) {
        if (!is_news(oc)) continue;
        for (unsigned w = 0; w < orr_worker_count; w++)
            if (&orr_workers[w] != but && starpu_bitmap_get(tree->pub.workers, (int)w) && is_parked(w) &&
                are_alike(&orr_workers[w], worker_of(oc))) {
                orr_wake_worker(&orr_workers[w]);
                return;
            }
    }
}

static struct starpu_task *look(struct orr_tree *tree, struct orr_worker *w, bool *again_out)
{
    bool guards = orr_watchman_begins(&tree->watchman, w);
    if (guards) choose_anew(tree);
    struct starpu_task *p = take(tree, w);
    if (p || guards) wake_another(tree, w);
    *again_out = p ? guards : orr_watchman_goes_on(&tree->watchman, tree, anything_waits, w, guards);
    return p;
}

struct orr_task *orr_guard_watch(struct orr_tree *tree, struct orr_worker *w, bool *again_out)
{
    struct orr_entry e;
    struct starpu_task *p = NULL;
    *again_out = false;
    orr_tree_enter(tree, &e);
    orr_call()->popping = true; /* what is pushed to w meanwhile has to wake it */
    if (tree->guarded) p = look(tree, w, again_out);
    if (p && !orr_tree_settle(w, p)) {
        orr_tree_push(tree, tree->pub.root, p); /* its can_execute says otherwise now */
        p = NULL;
    }
    orr_tree_leave(tree, &e);
    return p ? orr_task_of(p) : NULL;
}

void orr_guard_leaves(struct orr_tree *tree, struct orr_worker *w)
{
    struct orr_entry e;
    if (orr_load_seq(&tree->watchman.is) != (uint32_t)w->id + 1) return; /* only w makes it so, or not so */
    orr_tree_enter(tree, &e);
    orr_watchman_leaves(&tree->watchman, tree, anything_waits, w);
    orr_tree_leave(tree, &e);
}
