/* SPDX-License-Identifier: BSD-3-Clause */
/* tree.c: trees of components: checking them, taking workers in and out, giving them tasks and asking for
 * some.
 * Threads: push and pop by any, several at once; workers enter and leave by one, alone. Owns: which tree a
 * context has. Not here: what components do with a task.
 *
 * Threads that push or pop are counted. Who changes the workers waits until none is inside, and lets none
 * enter meanwhile: so nothing that components derive from the workers needs a lock. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/perf/arch.h"
#include "core/worker/combined.h"
#include "core/worker/park.h"
#include "sched/components/flow.h"

static struct orr_tree *trees[STARPU_NMAX_SCHED_CTXS]; /* changes while no worker serves the context */
static int errors[STARPU_NMAX_SCHED_CTXS];             /* the same */

/* ---- making ---- */

struct orr_tree *orr_tree_get(unsigned ctx)
{
    return ctx < STARPU_NMAX_SCHED_CTXS ? trees[ctx] : NULL;
}

struct starpu_sched_tree *starpu_sched_tree_get(unsigned sched_ctx_id)
{
    return (struct starpu_sched_tree *)orr_tree_get(sched_ctx_id);
}

int orr_tree_take_error(unsigned ctx)
{
    int r = errors[ctx];
    errors[ctx] = 0;
    return r;
}

struct starpu_sched_tree *starpu_sched_tree_create(unsigned sched_ctx_id)
{
    if (sched_ctx_id >= STARPU_NMAX_SCHED_CTXS) {
        orr_error("starpu_sched_tree_create: there is no scheduling context %u", sched_ctx_id);
        return NULL;
    }
    struct orr_tree *tree = orr_malloc_aligned(ORR_CACHE_LINE, sizeof *tree);
    struct orr_flow *entry = tree ? orr_malloc_aligned(ORR_CACHE_LINE, sizeof *entry) : NULL;
    if (!entry) {
        orr_free(tree);
        orr_error("starpu_sched_tree_create: out of memory");
        return NULL;
    }
    memset(tree, 0, sizeof *tree);
    memset(entry, 0, sizeof *entry);
    orr_flow_init(entry, true);
    tree->entry = entry;
    tree->pub.sched_ctx_id = sched_ctx_id;
    tree->watchman.ctx = &orr_contexts[sched_ctx_id];
    pthread_mutex_init(&tree->pub.lock, NULL);
    trees[sched_ctx_id] = tree;
    return &tree->pub;
}

void starpu_sched_tree_destroy(struct starpu_sched_tree *tree)
{
    struct orr_tree *ot = (struct orr_tree *)tree;
    if (!tree) return;
    while (ot->all) starpu_sched_component_destroy(&ot->all->pub);
    if (trees[tree->sched_ctx_id] == ot) trees[tree->sched_ctx_id] = NULL;
    orr_flow_fini(ot->entry);
    orr_free(ot->entry);
    pthread_mutex_destroy(&tree->lock);
    orr_free(ot);
}

void starpu_sched_tree_deinitialize(unsigned sched_ctx_id)
{
    starpu_sched_tree_destroy(starpu_sched_tree_get(sched_ctx_id));
}

/* ---- entering ---- */

static _Atomic uint32_t *door_of_caller(struct orr_tree *tree)
{
    const struct orr_worker *self = orr_worker_self();
    return &tree->inside[self ? 1 + (unsigned)self->id % (ORR_TREE_DOORS - 1) : 0].threads;
}

void orr_tree_enter(struct orr_tree *tree, struct orr_entry *e)
{
    e->before = *orr_call();
    if (e->before.inside != tree) {
        e->door = door_of_caller(tree);
        while (orr_add_seq(e->door, 1u), orr_load_seq(&tree->changing)) { /* pairs with change_begin */
            orr_sub_acq_rel(e->door, 1u);
            while (orr_load_seq(&tree->changing)) sched_yield();
        }
    }
    *orr_call() = (struct orr_component_call){ .inside = tree, .popping = e->before.popping };
}

void orr_tree_leave(struct orr_tree *tree, const struct orr_entry *e)
{
    *orr_call() = e->before;
    if (e->before.inside != tree) orr_sub_acq_rel(e->door, 1u); /* pairs with change_begin */
}

/* The caller may push and pop meanwhile; nobody else does. */
static void change_begin(struct orr_tree *tree, struct orr_entry *e)
{
    pthread_mutex_lock(&tree->pub.lock);
    orr_store_seq(&tree->changing, 1u);
    for (unsigned i = 0; i < ORR_TREE_DOORS; i++)
        while (orr_load_seq(&tree->inside[i].threads) > 0) sched_yield();
    e->before = *orr_call();
    *orr_call() = (struct orr_component_call){ .inside = tree };
}

static void change_end(struct orr_tree *tree, const struct orr_entry *e)
{
    *orr_call() = e->before;
    orr_store_seq(&tree->changing, 0u);
    pthread_mutex_unlock(&tree->pub.lock);
}

/* ---- workers below each component ---- */

static void unmark(struct orr_tree *tree)
{
    for (struct orr_component *oc = tree->all; oc; oc = oc->next) oc->mark = 0;
}

static void gather_workers(struct starpu_sched_component *c)
{
    struct orr_component *oc = orr_component(c);
    if (!c || oc->mark) return;
    oc->mark = 1;
    if (oc->kind && oc->kind->leaf) return; /* set when it was made */
    starpu_bitmap_unset_all(c->workers);
    for (unsigned i = 0; i < c->nchildren; i++) {
        gather_workers(c->children[i]);
        starpu_bitmap_or(c->workers, c->children[i]->workers);
    }
}

static void note_kind(struct orr_component *oc, int worker)
{
    for (unsigned i = 0; i < oc->nkinds; i++) {
        int other = oc->first_of[i];
        if (orr_perf_workers[other].comb == orr_perf_workers[worker].comb &&
            orr_workers[other].node == orr_workers[worker].node)
            return;
    }
    if (oc->nkinds < ORR_KINDS_MAX)
        oc->first_of[oc->nkinds++] = (int16_t)worker;
    else
        oc->more_kinds = true;
}

static void derive_from_workers(struct orr_component *oc)
{
    struct starpu_sched_component *c = &oc->pub;
    oc->where = 0;
    oc->nkinds = 0;
    oc->more_kinds = false;
    oc->speed = 0;
    oc->combines = false;
    for (unsigned i = 0; i < orr_combined_count(); i++)
        if (starpu_bitmap_get(c->workers_in_ctx, orr_combined_at(i)->id)) oc->combines = true;
    if (oc->combines) oc->where = STARPU_CPU;
    c->properties = STARPU_SCHED_COMPONENT_HOMOGENEOUS | STARPU_SCHED_COMPONENT_SINGLE_MEMORY_NODE;
    for (int w = 0; w < (int)orr_worker_count; w++) {
        if (!starpu_bitmap_get(c->workers_in_ctx, w)) continue;
        oc->where |= orr_workers[w].where;
        oc->speed += starpu_worker_get_relative_speedup(&orr_workers[w].arch);
        note_kind(oc, w);
        int first = oc->first_of[0];
        if (orr_perf_workers[w].comb != orr_perf_workers[first].comb)
            c->properties &= ~STARPU_SCHED_COMPONENT_HOMOGENEOUS;
        if (orr_workers[w].node != orr_workers[first].node)
            c->properties &= ~STARPU_SCHED_COMPONENT_SINGLE_MEMORY_NODE;
    }
}

/* Whether tasks can be pushed to c, and which workers have to fetch them. */
static void derive_flow(struct starpu_sched_component *c)
{
    struct orr_component *oc = orr_component(c);
    if (oc->mark) return;
    oc->mark = 1;
    bool passes = oc->kind && oc->kind->passes;
    const struct orr_policy_ops *policy = orr_contexts[c->tree->sched_ctx_id].policy;
    oc->only_wakes = policy &&
                     !(policy->flags & ORR_POLICY_USER) && /* no worker of one context waits on a condition */
                     (c->can_pull == starpu_sched_component_can_pull || orr_leaf_worker(c) >= 0);
    oc->only_pulls = passes || (oc->kind && oc->kind->leaf && !oc->kind->unasked);
    bool keeps = oc->kind && oc->kind->evict;
    oc->pulls_below = false;
    for (unsigned i = 0; i < c->nchildren; i++) {
        derive_flow(c->children[i]);
        const struct orr_component *below = orr_component(c->children[i]);
        oc->only_wakes &= below->only_wakes;
        if (!below->only_pulls) oc->only_pulls = false;
        if (!keeps && (below->only_pulls || below->pulls_below)) oc->pulls_below = true;
    }
}

/* Only where the policy tells its backlog do workers that are awake see to it that others are woken. */
static void derive_open(struct orr_tree *tree, struct orr_component *oc)
{
    const struct starpu_sched_component *c = &oc->pub;
    const struct orr_policy_ops *policy = orr_contexts[tree->pub.sched_ctx_id].policy;
    bool keeps = oc->kind && oc->kind->evict && oc->kind->tasks;
    oc->open = keeps && c->nchildren == 1 && orr_component(c->children[0])->only_pulls &&
               c->children[0]->workers_in_ctx->cardinal == tree->pub.workers->cardinal && policy &&
               policy->backlog && tree->nopen < ORR_TREE_OPEN_MAX;
    if (oc->open) tree->open[tree->nopen++] = oc;
}

void starpu_sched_tree_update_workers(struct starpu_sched_tree *t)
{
    unmark((struct orr_tree *)t);
    gather_workers(t->root);
}

/* A combined worker is there when all its members are. */
static void update_combined(struct starpu_sched_tree *t)
{
    for (unsigned i = 0; i < orr_combined_count(); i++) {
        const struct orr_combined *c = orr_combined_at(i);
        bool all = true;
        for (unsigned k = 0; k < c->size; k++) all &= starpu_bitmap_get(t->workers, c->members[k]) != 0;
        if (all)
            starpu_bitmap_set(t->workers, c->id);
        else
            starpu_bitmap_unset(t->workers, c->id);
    }
}

void starpu_sched_tree_update_workers_in_ctx(struct starpu_sched_tree *t)
{
    struct orr_tree *tree = (struct orr_tree *)t;
    update_combined(t);
    for (struct orr_component *oc = tree->all; oc; oc = oc->next) {
        starpu_bitmap_unset_and(oc->pub.workers_in_ctx, oc->pub.workers, t->workers);
        derive_from_workers(oc);
    }
    unmark(tree);
    if (t->root) derive_flow(t->root);
    const struct orr_component *root = t->root ? orr_component(t->root) : NULL;
    tree->alike = root && root->nkinds == 1 && !root->combines;
    tree->nopen = 0;
    for (struct orr_component *oc = tree->all; oc; oc = oc->next) derive_open(tree, oc);
    orr_guard_derive(tree);
}

/* ---- checking ---- */

/* What is wrong with c by itself; NULL: nothing. */
static const char *complaint_about(const struct starpu_sched_component *c)
{
    const struct orr_component_kind *kind = orr_component_const(c)->kind;
    bool leaf = kind && kind->leaf;
    if (leaf && c->nchildren > 0) return "it is a worker, and has a child: workers are leaves";
    if (!c->push_task) return "it has no push_task";
    if (!c->pull_task || !c->can_push || !c->can_pull || !c->estimated_end || !c->estimated_load)
        return "one of its methods is NULL: only notify and do_schedule may be";
    if (!leaf && c->nchildren == 0) return "it is a leaf, but no worker: connect it to workers";
    if (kind && kind->one_child && c->nchildren > 1)
        return "it has several children, and chooses none: put a resource-mapping component (eager, random, "
               "mct...) below it";
    return kind && kind->complaint ? kind->complaint(c) : NULL;
}

static int malformed(const struct starpu_sched_component *c, const char *why)
{
    orr_error("the tree of scheduling context %u is malformed: component %s: %s", c->tree->sched_ctx_id,
              c->name, why);
    return -EINVAL;
}

static int check_leaf(struct orr_tree *tree, struct starpu_sched_component *c, struct starpu_bitmap *covered)
{
    int w = orr_leaf_worker(c);
    if (w < 0) return 0;
    if (starpu_bitmap_get(covered, w)) return malformed(c, "its worker has another leaf already");
    starpu_bitmap_set(covered, w);
    tree->leaf[w] = c;
    return 0;
}

static int check_below(struct orr_tree *tree, struct starpu_sched_component *c, struct starpu_bitmap *covered)
{
    struct orr_component *oc = orr_component(c);
    if (oc->mark == 2) return 0;
    if (oc->mark == 1) return malformed(c, "it is below itself: the tree has a cycle");
    oc->mark = 1;
    if (c->tree != &tree->pub) return malformed(c, "it was made for another tree");
    const char *why = complaint_about(c);
    if (why) return malformed(c, why);
    int r = check_leaf(tree, c, covered);
    for (unsigned i = 0; r == 0 && i < c->nchildren; i++) {
        const struct starpu_sched_component *child = c->children[i];
        bool linked = false;
        for (unsigned k = 0; k < child->nparents; k++) linked |= child->parents[k] == c;
        r = linked ? check_below(tree, c->children[i], covered)
                   : malformed(child, "its parent is not in its list of parents: use "
                                      "starpu_sched_component_connect");
    }
    oc->mark = 2;
    return r;
}

static int check(struct orr_tree *tree)
{
    struct starpu_sched_component *root = tree->pub.root;
    struct starpu_bitmap covered;
    starpu_bitmap_init(&covered);
    if (!root) {
        orr_error("the tree of scheduling context %u has no root", tree->pub.sched_ctx_id);
        return -EINVAL;
    }
    const struct orr_component_kind *kind = orr_component(root)->kind;
    if (kind && kind->bounded && kind->bounded(root))
        return malformed(root,
                         "it is the root and has a limit: what it refuses would have nowhere to be kept");
    unmark(tree);
    return check_below(tree, root, &covered);
}

static int check_covered(struct orr_tree *tree, const int *workers, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (!starpu_bitmap_get(tree->pub.root->workers, workers[i])) {
            orr_error("the tree of scheduling context %u is malformed: worker %d has no leaf below the root",
                      tree->pub.sched_ctx_id, workers[i]);
            return -EINVAL;
        }
    return 0;
}

/* ---- workers enter and leave ---- */

static void notify_change(struct orr_tree *tree)
{
    for (struct orr_component *oc = tree->all; oc; oc = oc->next)
        if (oc->pub.notify_change_workers) oc->pub.notify_change_workers(&oc->pub);
}

static void wake_workers(struct orr_tree *tree)
{
    for (int w = 0; w < (int)orr_worker_count; w++)
        if (starpu_bitmap_get(tree->pub.workers, w)) starpu_wake_worker_relax_light(w);
}

static int enter_workers(struct orr_tree *tree, const int *workers, unsigned count)
{
    if (tree->refused) return -EINVAL; /* it was said why */
    int r = tree->valid ? 0 : check(tree);
    tree->valid = r == 0;
    tree->refused = r != 0;
    if (r) return r;
    starpu_sched_tree_update_workers(&tree->pub);
    if ((r = check_covered(tree, workers, count)) != 0) return r;
    for (unsigned i = 0; i < count; i++) starpu_bitmap_set(tree->pub.workers, workers[i]);
    starpu_sched_tree_update_workers_in_ctx(&tree->pub);
    notify_change(tree);
    return 0;
}

int orr_tree_add_workers(struct orr_tree *tree, const int *workers, unsigned count)
{
    struct orr_entry e;
    change_begin(tree, &e);
    int r = enter_workers(tree, workers, count);
    if (r == 0 && orr_load_seq(&tree->entry->count) > 0) orr_flow_pump(tree->entry, NULL, tree->pub.root);
    change_end(tree, &e);
    if (r == 0) wake_workers(tree);
    return r;
}

/* Tasks that waited for workers which are gone are given to the tree anew. */
static void push_evicted(struct orr_tree *tree)
{
    struct orr_taskq out;
    orr_taskq_init(&out, true);
    for (struct orr_component *oc = tree->all; oc; oc = oc->next)
        if (oc->kind && oc->kind->evict) oc->kind->evict(&oc->pub, &out);
    for (struct starpu_task *p; (p = orr_taskq_first(&out));) {
        orr_taskq_remove(&out, p);
        orr_tree_push(tree, tree->pub.root, p);
    }
    orr_taskq_fini(&out);
}

void orr_tree_remove_workers(struct orr_tree *tree, const int *workers, unsigned count)
{
    struct orr_entry e;
    change_begin(tree, &e);
    for (unsigned i = 0; i < count; i++)
        if (starpu_bitmap_get(tree->pub.workers, workers[i]))
            starpu_bitmap_unset(tree->pub.workers, workers[i]);
    if (tree->valid) {
        starpu_sched_tree_update_workers_in_ctx(&tree->pub);
        notify_change(tree);
        push_evicted(tree);
    }
    change_end(tree, &e);
    if (tree->valid) wake_workers(tree);
}

/* ---- tasks ---- */

void orr_tree_wake_for(struct orr_tree *tree, struct starpu_task *p)
{
    unsigned nimpl;
    for (int w = 0; w < (int)orr_worker_count; w++)
        if (starpu_bitmap_get(tree->pub.workers, w) &&
            orr_worker_can_run(&orr_workers[w], orr_task_of(p), &nimpl))
            starpu_wake_worker_relax_light(w);
}

int orr_tree_push(struct orr_tree *tree, struct starpu_sched_component *at, struct starpu_task *p)
{
    struct orr_entry e;
    orr_tree_enter(tree, &e);
    p->predicted = p->predicted_transfer = NAN;
    orr_task_of(p)->nimpl_valid = 0;
    uint32_t mask = orr_wake_mask(p);
    orr_call()->wake_where = mask;
    starpu_push_task_end(p);
    if (!starpu_sched_component_can_execute_task(at, p) || at->push_task(at, p) != 0) {
        orr_flow_add(tree->entry, p, false);
        orr_flow_added(tree->entry, NULL, tree->pub.root, mask); /* somebody may have made room meanwhile */
    }
    orr_tree_leave(tree, &e);
    return 0;
}

bool orr_tree_settle(struct orr_worker *w, struct starpu_task *p)
{
    struct orr_task *t = orr_task_of(p);
    unsigned nimpl;
    if (t->nimpl_valid && orr_worker_can_run_impl(w, t, t->nimpl)) return true;
    if (!orr_worker_can_run(w, t, &nimpl)) return false;
    t->nimpl = (uint8_t)nimpl;
    t->nimpl_valid = 1;
    return true;
}

struct starpu_task *orr_tree_pop(struct orr_tree *tree, int worker)
{
    struct orr_entry e;
    struct starpu_task *p = NULL;
    orr_tree_enter(tree, &e);
    orr_call()->popping = true;
    struct starpu_sched_component *leaf = tree->leaf[worker];
    if (leaf && starpu_bitmap_get(tree->pub.workers, worker)) p = leaf->pull_task(leaf, leaf);
    orr_tree_leave(tree, &e);
    return p;
}

uint32_t orr_tree_backlog(struct orr_tree *tree)
{
    struct orr_entry e;
    uint32_t n = 0;
    orr_tree_enter(tree, &e);
    for (unsigned i = 0; i < tree->nopen; i++) n += tree->open[i]->kind->tasks(&tree->open[i]->pub);
    orr_tree_leave(tree, &e);
    return n;
}

void orr_tree_do_schedule(struct orr_tree *tree)
{
    struct orr_entry e;
    orr_tree_enter(tree, &e);
    if (tree->pub.root && tree->pub.root->do_schedule) tree->pub.root->do_schedule(tree->pub.root);
    orr_tree_leave(tree, &e);
}

/* ---- as methods of struct starpu_sched_policy ---- */

/* The tree that the program made the context's policy data; NULL, with a message: there is none. */
static struct orr_tree *tree_of_context(unsigned ctx, const char *function)
{
    struct orr_tree *tree = orr_tree_get(ctx);
    if (tree && starpu_sched_ctx_get_policy_data(ctx) == (void *)tree) return tree;
    orr_error("%s: the policy data of scheduling context %u is not the tree last made for it; init_sched "
              "should make one and call starpu_sched_ctx_set_policy_data",
              function, ctx);
    return NULL;
}

int starpu_sched_tree_push_task(struct starpu_task *task)
{
    struct orr_tree *tree = orr_tree_get(task->sched_ctx);
    return tree ? orr_tree_push(tree, tree->pub.root, task) : -EINVAL;
}

int starpu_sched_tree_work_stealing_push_task(struct starpu_task *task)
{
    struct orr_tree *tree = orr_tree_get(task->sched_ctx);
    return tree ? orr_tree_push(tree, tree->stealing ? tree->stealing : tree->pub.root, task) : -EINVAL;
}

struct starpu_task *starpu_sched_tree_pop_task(unsigned sched_ctx)
{
    struct orr_tree *tree = orr_tree_get(sched_ctx);
    struct orr_worker *w = orr_worker_self();
    if (!tree || !w) return NULL;
    starpu_worker_relax_on(); /* others may wake this worker, which then looks again instead of sleeping */
    struct starpu_task *p = orr_tree_pop(tree, w->id);
    starpu_worker_relax_off();
    if (p) orr_tree_settle(w, p);
    return p;
}

void starpu_sched_tree_add_workers(unsigned sched_ctx_id, int *workerids, unsigned nworkers)
{
    struct orr_tree *tree = tree_of_context(sched_ctx_id, "starpu_sched_tree_add_workers");
    int r = tree ? orr_tree_add_workers(tree, workerids, nworkers) : -EINVAL;
    if (r && sched_ctx_id < STARPU_NMAX_SCHED_CTXS) errors[sched_ctx_id] = r;
}

void starpu_sched_tree_remove_workers(unsigned sched_ctx_id, int *workerids, unsigned nworkers)
{
    struct orr_tree *tree = orr_tree_get(sched_ctx_id);
    if (tree) orr_tree_remove_workers(tree, workerids, nworkers);
}

void starpu_sched_tree_do_schedule(unsigned sched_ctx_id)
{
    struct orr_tree *tree = orr_tree_get(sched_ctx_id);
    if (tree) orr_tree_do_schedule(tree);
}

void starpu_sched_component_worker_pre_exec_hook(struct starpu_task *task, unsigned sched_ctx_id)
{
    struct orr_tree *tree = orr_tree_get(sched_ctx_id);
    if (tree) orr_leaf_begins(tree, starpu_worker_get_id(), task);
}

void starpu_sched_component_worker_post_exec_hook(struct starpu_task *task, unsigned sched_ctx_id)
{
    struct orr_tree *tree = orr_tree_get(sched_ctx_id);
    if (tree) orr_leaf_ends(tree, starpu_worker_get_id(), task);
}
