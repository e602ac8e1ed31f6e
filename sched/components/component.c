/* SPDX-License-Identifier: BSD-3-Clause */
/* component.c: what every component can do: being made, linked and destroyed, and the default methods.
 * Threads: building by one; methods by any. Owns: the calling thread's state (orr_call). Not here: what a
 * task would take on a component (bid.c), trees (tree.c). */
#include "sched/components/component.h"

#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/mem/node.h"
#include "core/task/prefetch.h"
#include "core/worker/park.h"
#include "sched/components/flow.h"

/* ---- links ---- */

static int append(struct starpu_sched_component ***list, unsigned *count, struct starpu_sched_component *c)
{
    struct starpu_sched_component **more = orr_realloc(*list, (*count + 1) * sizeof *more);
    if (!more) return -ENOMEM;
    *list = more;
    more[(*count)++] = c;
    return 0;
}

static void drop(struct starpu_sched_component **list, unsigned *count,
                 const struct starpu_sched_component *c)
{
    for (unsigned i = 0; i < *count; i++)
        if (list[i] == c) {
            memmove(&list[i], &list[i + 1], (*count - 1 - i) * sizeof *list);
            (*count)--;
            return;
        }
}

void starpu_sched_component_add_child(struct starpu_sched_component *component,
                                      struct starpu_sched_component *child)
{
    if (append(&component->children, &component->nchildren, child) != 0)
        orr_error("component %s: out of memory for its child %s", component->name, child->name);
}

static void remove_child(struct starpu_sched_component *component, struct starpu_sched_component *child)
{
    drop(component->children, &component->nchildren, child);
}

static void add_parent(struct starpu_sched_component *component, struct starpu_sched_component *parent)
{
    if (append(&component->parents, &component->nparents, parent) != 0)
        orr_error("component %s: out of memory for its parent %s", component->name, parent->name);
}

static void remove_parent(struct starpu_sched_component *component, struct starpu_sched_component *parent)
{
    drop(component->parents, &component->nparents, parent);
}

/* ---- default methods ---- */

/* The parent to be asked first. */
static unsigned first_parent(struct starpu_sched_component *c)
{
    struct orr_component *oc = orr_component(c);
    if (c->nparents < 2 || (oc->kind && oc->kind->ranks_parents)) return 0;
    return orr_add_relaxed(&oc->turn, 1u) % c->nparents;
}

struct starpu_task *starpu_sched_component_parents_pull_task(struct starpu_sched_component *component,
                                                             struct starpu_sched_component *to)
{
    struct orr_flow *entry = orr_tree_of(component)->entry;
    unsigned n = component->nparents, first = first_parent(component);
    for (unsigned i = 0; i < n; i++) {
        struct starpu_task *p =
            starpu_sched_component_pull_task(component->parents[(first + i) % n], component);
        if (p) return p;
    }
    if (component->nparents > 0 || orr_load_seq(&entry->count) == 0) return NULL;
    return orr_flow_take(entry, orr_call()->puller ? orr_call()->puller : to);
}

int starpu_sched_component_send_can_push_to_parents(struct starpu_sched_component *component)
{
    struct orr_flow *entry = orr_tree_of(component)->entry;
    unsigned n = component->nparents, first = first_parent(component);
    for (unsigned i = 0; i < n; i++) {
        struct starpu_sched_component *parent = component->parents[(first + i) % n];
        if (parent->can_push && parent->can_push(parent, component)) return 1;
    }
    if (component->nparents > 0 || orr_flow_is_idle(entry)) return 0;
    return orr_flow_pump(entry, NULL, component);
}

int starpu_sched_component_can_push(struct starpu_sched_component *component,
                                    struct starpu_sched_component *to)
{
    (void)to;
    return starpu_sched_component_send_can_push_to_parents(component);
}

int starpu_sched_component_can_pull(struct starpu_sched_component *component)
{
    for (unsigned i = 0; i < component->nchildren; i++)
        if (component->children[i]->can_pull(component->children[i])) return 1;
    return 0;
}

int starpu_sched_component_can_pull_all(struct starpu_sched_component *component)
{
    int woken = 0;
    for (unsigned i = 0; i < component->nchildren; i++)
        woken |= component->children[i]->can_pull(component->children[i]) != 0;
    return woken;
}

unsigned orr_component_tasks(const struct starpu_sched_component *c)
{
    const struct orr_component_kind *kind = orr_component_const(c)->kind;
    unsigned n = kind && kind->tasks ? kind->tasks(c) : 0;
    for (unsigned i = 0; i < c->nchildren; i++) n += orr_component_tasks(c->children[i]);
    return n;
}

/* What the component keeps itself, over the speed below, and what its children say. */
double starpu_sched_component_estimated_load(struct starpu_sched_component *component)
{
    const struct orr_component *oc = orr_component_const(component);
    double load = oc->kind && oc->kind->tasks ? oc->kind->tasks(component) : 0;
    if (oc->speed > 0) load /= oc->speed;
    for (unsigned i = 0; i < component->nchildren; i++)
        load += component->children[i]->estimated_load(component->children[i]);
    return load;
}

double starpu_sched_component_estimated_end_min(struct starpu_sched_component *component)
{
    return starpu_sched_component_estimated_end_min_add(component, 0);
}

double starpu_sched_component_estimated_end_min_add(struct starpu_sched_component *component, double exp_len)
{
    double least = INFINITY;
    for (unsigned i = 0; i < component->nchildren; i++) {
        double end = component->children[i]->estimated_end(component->children[i]);
        if (end < least) least = end;
    }
    if (isinf(least)) least = starpu_timing_now();
    int workers = component->workers_in_ctx->cardinal;
    return exp_len > 0 && workers > 1 ? least + exp_len / workers : least + exp_len;
}

double starpu_sched_component_estimated_end_average(struct starpu_sched_component *component)
{
    double sum = 0;
    for (unsigned i = 0; i < component->nchildren; i++)
        sum += component->children[i]->estimated_end(component->children[i]);
    return component->nchildren ? sum / component->nchildren : starpu_timing_now();
}

static void nothing(struct starpu_sched_component *component)
{
    (void)component;
}

static void do_schedule_below(struct starpu_sched_component *component)
{
    for (unsigned i = 0; i < component->nchildren; i++)
        if (component->children[i]->do_schedule) component->children[i]->do_schedule(component->children[i]);
}

/* ---- making and destroying ---- */

struct starpu_sched_component *starpu_sched_component_create(struct starpu_sched_tree *tree, const char *name)
{
    if (!tree) {
        orr_error("component %s: it is created without a tree", name ? name : "");
        return NULL;
    }
    struct orr_component *oc = orr_calloc(1, sizeof *oc);
    char *copy = oc ? orr_strdup(name ? name : "component") : NULL;
    if (!copy) {
        orr_free(oc);
        orr_error("component %s: out of memory", name ? name : "");
        return NULL;
    }
    struct starpu_sched_component *c = &oc->pub;
    c->tree = tree;
    c->name = copy;
    c->add_child = starpu_sched_component_add_child;
    c->remove_child = remove_child;
    c->add_parent = add_parent;
    c->remove_parent = remove_parent;
    c->pull_task = starpu_sched_component_parents_pull_task;
    c->can_push = starpu_sched_component_can_push;
    c->can_pull = starpu_sched_component_can_pull;
    c->estimated_load = starpu_sched_component_estimated_load;
    c->estimated_end = starpu_sched_component_estimated_end_min;
    c->deinit_data = nothing;
    c->notify_change_workers = nothing;
    c->do_schedule = do_schedule_below;
    oc->next = ((struct orr_tree *)tree)->all;
    ((struct orr_tree *)tree)->all = oc;
    return c;
}

void orr_component_free_data(struct starpu_sched_component *c)
{
    orr_free(c->data);
    c->data = NULL;
}

struct starpu_sched_component *orr_component_create(struct starpu_sched_tree *tree,
                                                    const struct orr_component_kind *kind, size_t bytes)
{
    struct starpu_sched_component *c = starpu_sched_component_create(tree, kind->name);
    if (!c) return NULL;
    orr_component(c)->kind = kind;
    if (bytes == 0) return c;
    c->data = orr_malloc_aligned(ORR_CACHE_LINE, bytes);
    c->deinit_data = orr_component_free_data;
    if (c->data) {
        memset(c->data, 0, bytes);
        return c;
    }
    orr_error("component %s: out of memory", kind->name);
    starpu_sched_component_destroy(c);
    return NULL;
}

static void forget(struct starpu_sched_component *c)
{
    struct orr_tree *tree = orr_tree_of(c);
    struct orr_component **at = &tree->all;
    while (*at && *at != orr_component(c)) at = &(*at)->next;
    if (*at) *at = orr_component(c)->next;
    if (tree->pub.root == c) tree->pub.root = NULL;
    if (tree->stealing == c) tree->stealing = NULL;
    for (unsigned i = 0; i < STARPU_NMAXWORKERS; i++)
        if (tree->leaf[i] == c) tree->leaf[i] = NULL;
}

void starpu_sched_component_destroy(struct starpu_sched_component *component)
{
    if (!component) return;
    while (component->nchildren > 0) {
        struct starpu_sched_component *child = component->children[component->nchildren - 1];
        child->remove_parent(child, component);
        drop(component->children, &component->nchildren, child);
    }
    while (component->nparents > 0) {
        struct starpu_sched_component *parent = component->parents[component->nparents - 1];
        parent->remove_child(parent, component);
        drop(component->parents, &component->nparents, parent);
    }
    forget(component);
    component->deinit_data(component);
    orr_free(component->children);
    orr_free(component->parents);
    orr_free(component->name);
    orr_free(component);
}

void starpu_sched_component_destroy_rec(struct starpu_sched_component *component)
{
    while (component && component->nchildren > 0) {
        struct starpu_sched_component *child = component->children[component->nchildren - 1];
        child->remove_parent(child, component);
        drop(component->children, &component->nchildren, child);
        if (child->nparents == 0) starpu_sched_component_destroy_rec(child);
    }
    starpu_sched_component_destroy(component);
}

void starpu_sched_component_connect(struct starpu_sched_component *parent,
                                    struct starpu_sched_component *child)
{
    if (!parent || !child) {
        orr_error("starpu_sched_component_connect: %s is NULL", parent ? "the child" : "the parent");
        return;
    }
    parent = orr_composed_last(parent);
    parent->add_child(parent, child);
    child->add_parent(child, parent);
}

/* ---- handing tasks on ---- */

bool orr_children_are_full(const struct starpu_sched_component *c)
{
    for (unsigned i = 0; i < c->nchildren; i++)
        if (!orr_component_is_full(c->children[i])) return false;
    return true;
}

uint32_t orr_wake_mask(const struct starpu_task *p)
{
    return p->cl->can_execute || p->workerids_len ? 0 : orr_task_where(p);
}

int orr_component_wake(struct starpu_sched_component *c, uint32_t mask)
{
    if (orr_component(c)->only_wakes && orr_load_seq(&orr_parking.plain) &&
        orr_load_seq(&orr_parking.parked) == 0)
        return 0; /* as in orr_wake_any */
    uint32_t before = orr_call()->wake_where;
    orr_call()->wake_where = mask;
    int woken = c->can_pull(c);
    orr_call()->wake_where = before;
    return woken;
}

int orr_component_give(struct starpu_sched_component *to, struct starpu_task *p)
{
    uint32_t before = orr_call()->wake_where;
    orr_call()->wake_where = orr_wake_mask(p);
    int r = to->push_task(to, p);
    orr_call()->wake_where = before;
    return r;
}

int starpu_sched_component_push_task(struct starpu_sched_component *from, struct starpu_sched_component *to,
                                     struct starpu_task *task)
{
    (void)from;
    if (!starpu_sched_component_can_execute_task(to, task)) {
        orr_tree_wake_for(orr_tree_of(to), task);
        return 1;
    }
    return orr_component_give(to, task);
}

struct starpu_task *starpu_sched_component_pull_task(struct starpu_sched_component *from,
                                                     struct starpu_sched_component *to)
{
    return from->pull_task ? from->pull_task(from, to) : NULL;
}

struct starpu_task *starpu_sched_component_pump_to(struct starpu_sched_component *component,
                                                   struct starpu_sched_component *to, int *success)
{
    struct starpu_sched_component *before = orr_call()->puller;
    struct starpu_task *p;
    int pushed = 0, r = 0;
    do {
        orr_call()->puller = to;
        p = starpu_sched_component_pull_task(component, to);
        orr_call()->puller = before;
        if (!p) break;
        r = starpu_sched_component_push_task(component, to, p);
        pushed |= r == 0;
    } while (r == 0);
    if (success && pushed) *success = 1;
    return p;
}

struct starpu_task *starpu_sched_component_pump_downstream(struct starpu_sched_component *component,
                                                           int *success)
{
    if (component->nchildren == 1)
        return starpu_sched_component_pump_to(component, component->children[0], success);
    orr_error("starpu_sched_component_pump_downstream: component %s has %u children, where one is expected",
              component->name, component->nchildren);
    return NULL;
}

void starpu_sched_component_prefetch_on_node(struct starpu_sched_component *component,
                                             struct starpu_task *task)
{
    const struct orr_component *oc = orr_component_const(component);
    if (orr_node_count == 1 || !STARPU_SCHED_COMPONENT_IS_SINGLE_MEMORY_NODE(component) || !oc->nkinds ||
        !starpu_get_prefetch_flag())
        return;
    orr_task_prefetch(task, orr_workers[oc->first_of[0]].node, task->priority, false);
}
