/* SPDX-License-Identifier: BSD-3-Clause */
/* trees.c: the trees of components that the library has, as policies, each as tree-NAME and modular-NAME.
 * Threads: as for any policy. Owns: nothing; the tree is the instance. Not here: trees that a program builds
 * (they run through sched/user.c).
 *
 * To add one: a line at the end, and two in sched/builtin.def. */
#include <limits.h>

#include "core/base/log.h"
#include "sched/components/component.h"

static void trees_destroy(void *instance)
{
    starpu_sched_tree_destroy(instance);
}

static int trees_add_workers(void *instance, const int *workers, unsigned count)
{
    return orr_tree_add_workers(instance, workers, count);
}

static void trees_remove_workers(void *instance, const int *workers, unsigned count)
{
    orr_tree_remove_workers(instance, workers, count);
}

static void trees_push(void *instance, struct orr_task *t)
{
    struct orr_tree *tree = instance;
    orr_tree_push(tree, tree->pub.root, t->pub);
}

static struct orr_task *trees_pop(void *instance, struct orr_worker *w)
{
    struct orr_tree *tree = instance;
    struct starpu_task *p = orr_tree_pop(tree, w->id);
    if (!p) return NULL;
    if (orr_tree_settle(w, p)) return orr_task_of(p);
    orr_tree_push(tree, tree->pub.root, p); /* its can_execute says otherwise now */
    return NULL;
}

static struct orr_task *trees_watch(void *instance, struct orr_worker *w, bool *again_out)
{
    return orr_guard_watch(instance, w, again_out);
}

static void trees_watch_end(void *instance, struct orr_worker *w)
{
    orr_guard_leaves(instance, w);
}

static void trees_push_notify(void *instance, struct orr_task *t, struct orr_worker *w)
{
    orr_leaf_is_given(instance, w->id, t->pub);
}

static void trees_pre_exec(void *instance, struct orr_task *t, struct orr_worker *w)
{
    orr_leaf_begins(instance, w->id, t->pub);
}

static void trees_post_exec(void *instance, struct orr_task *t, struct orr_worker *w)
{
    orr_leaf_ends(instance, w->id, t->pub);
}

static uint32_t backlog(void *instance, struct orr_worker *w)
{
    (void)w;
    return orr_tree_backlog(instance);
}

static void trees_do_schedule(void *instance)
{
    orr_tree_do_schedule(instance);
}

static void *trees_create(struct orr_ctx *ctx, starpu_sched_component_create_t decision, unsigned flags)
{
    starpu_sched_component_initialize_simple_scheduler(decision, NULL, flags, ctx->id);
    struct orr_tree *tree = orr_tree_get(ctx->id);
    if (tree && !tree->pub.root) {
        starpu_sched_tree_destroy(&tree->pub);
        tree = NULL;
    }
    return tree;
}

enum {
    WORKERS =
        STARPU_SCHED_SIMPLE_DECIDE_WORKERS | STARPU_SCHED_SIMPLE_DECIDE_ALWAYS | STARPU_SCHED_SIMPLE_IMPL,
    ABOVE = STARPU_SCHED_SIMPLE_FIFO_ABOVE,
    ABOVE_PRIO = ABOVE | STARPU_SCHED_SIMPLE_FIFO_ABOVE_PRIO,
    BELOW = STARPU_SCHED_SIMPLE_FIFOS_BELOW,
    BELOW_PRIO = BELOW | STARPU_SCHED_SIMPLE_FIFOS_BELOW_PRIO,
    READY = STARPU_SCHED_SIMPLE_FIFOS_BELOW_READY,
    NOLIMIT = STARPU_SCHED_SIMPLE_FIFOS_BELOW_NOLIMIT | STARPU_SCHED_SIMPLE_FIFOS_BELOW_EXP,
    MODELS = STARPU_SCHED_SIMPLE_PERFMODEL,
    SORTS = STARPU_SCHED_SIMPLE_FIFO_ABOVE_PRIO | STARPU_SCHED_SIMPLE_FIFOS_BELOW_PRIO,
    NODES =
        STARPU_SCHED_SIMPLE_DECIDE_MEMNODES | STARPU_SCHED_SIMPLE_DECIDE_ALWAYS | STARPU_SCHED_SIMPLE_IMPL,
};

#define OPS(symbol, text_name, text, flags, hooks)                                                           \
    const struct orr_policy_ops orr_policy_##symbol = {                                                      \
        .name = text_name,                                                                                   \
        .description = text,                                                                                 \
        .min_priority = (flags)&SORTS ? INT_MIN : 0,                                                         \
        .max_priority = (flags)&SORTS ? INT_MAX : 0,                                                         \
        .create = create_##symbol,                                                                           \
        .destroy = trees_destroy,                                                                            \
        .add_workers = trees_add_workers,                                                                    \
        .remove_workers = trees_remove_workers,                                                              \
        .push = trees_push,                                                                                  \
        .pop = trees_pop,                                                                                    \
        .backlog = backlog,                                                                                  \
        .watch = trees_watch,                                                                                \
        .watch_end = trees_watch_end,                                                                        \
        .push_notify = hooks ? trees_push_notify : NULL,                                                     \
        .pre_exec = hooks ? trees_pre_exec : NULL,                                                           \
        .post_exec = hooks ? trees_post_exec : NULL,                                                         \
        .do_schedule = trees_do_schedule,                                                                    \
    };
#define TREE(symbol, name, decision, flags, hooks, text)                                                     \
    static void *create_tree_##symbol(struct orr_ctx *ctx)                                                   \
    {                                                                                                        \
        return trees_create(                                                                                 \
            ctx, (starpu_sched_component_create_t)starpu_sched_component_##decision##_create, flags);        \
    }                                                                                                        \
    OPS(tree_##symbol, "tree-" name, text, flags, hooks)                                                     \
    static void *create_modular_##symbol(struct orr_ctx *ctx)                                                \
    {                                                                                                        \
        return create_tree_##symbol(ctx);                                                                    \
    }                                                                                                        \
    OPS(modular_##symbol, "modular-" name, text, flags, hooks)

/* Without predictions. */
TREE(eager, "eager", eager, WORKERS | ABOVE, false, "tree of components: a queue, the first worker that asks")
TREE(eager_prefetching, "eager-prefetching", eager, WORKERS | ABOVE | BELOW, false,
     "tree of components: eager, with a short queue for each worker, whose data is prefetched")
TREE(eager_prio, "eager-prio", eager_prio, WORKERS | ABOVE | BELOW, false,
     "tree of components: short queues, the worker with the least load first")
TREE(prio, "prio", eager, WORKERS | ABOVE_PRIO, false, "tree of components: a queue by priority")
TREE(prio_prefetching, "prio-prefetching", eager, WORKERS | ABOVE_PRIO | BELOW_PRIO, false,
     "tree of components: prio, with a short queue for each worker, whose data is prefetched")
TREE(random, "random", random, WORKERS, false, "tree of components: workers drawn by their speed")
TREE(random_prio, "random-prio", random, WORKERS | BELOW_PRIO | NOLIMIT, false,
     "tree of components: random, each worker's tasks by priority")
TREE(random_prefetching, "random-prefetching", random, WORKERS | ABOVE | BELOW, false,
     "tree of components: random, with short queues whose data is prefetched")
TREE(random_prio_prefetching, "random-prio-prefetching", random, WORKERS | ABOVE_PRIO | BELOW_PRIO, false,
     "tree of components: random by priority, with short queues whose data is prefetched")
TREE(ws, "ws", work_stealing, WORKERS, false, "tree of components: a queue for each worker, and stealing")

/* By performance models. */
TREE(heft, "heft", heft, WORKERS | MODELS | BELOW_PRIO, true,
     "tree of components: by priority to where it ends first, late (heft)")
TREE(heft_prio, "heft-prio", heft, NODES | MODELS | BELOW_PRIO, true,
     "tree of components: heft over memory nodes, whose workers share a queue by priority")
TREE(heft2, "heft2", heft, WORKERS | MODELS | BELOW_PRIO | READY, true,
     "tree of components: heft, preferring tasks whose data is at hand")
TREE(heteroprio, "heteroprio", heteroprio, WORKERS | MODELS | BELOW_PRIO, true,
     "tree of components: like heft, tasks first that gain most by the right worker")
TREE(dmda, "dmda", mct, WORKERS | MODELS | BELOW | NOLIMIT, true,
     "tree of components: where it ends first, when it is ready")
TREE(pheft, "pheft", mct, WORKERS | MODELS | BELOW | NOLIMIT | STARPU_SCHED_SIMPLE_COMBINED_WORKERS, true,
     "tree of components: dmda with combined workers for parallel tasks")
TREE(dmdap, "dmdap", mct, WORKERS | MODELS | BELOW_PRIO | NOLIMIT, true,
     "tree of components: dmda, each worker's tasks by priority")
TREE(dmdar, "dmdar", mct, WORKERS | MODELS | BELOW | NOLIMIT | READY, true,
     "tree of components: dmda, tasks whose data is at hand first")
TREE(dmdas, "dmdas", mct, WORKERS | MODELS | BELOW_PRIO | NOLIMIT | READY, true,
     "tree of components: dmda, by priority, then by data at hand")
