/* SPDX-License-Identifier: BSD-3-Clause */
/* deps.c: explicit dependencies between tasks.
 * Threads: any. Owns: edges and groups. Not here: tags (tag.c), the countdown itself (submit.c).
 *
 * A successor list is a stack that closes: pushing is a compare-and-swap that fails for good once the
 * completed task has exchanged the head for ORR_EDGES_CLOSED. So an edge is either notified by the exchange,
 * or its pusher sees CLOSED. */
#include "core/task/deps.h"

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/task/graph.h"

struct orr_dep_group *orr_dep_group_create(int total, void (*fire)(struct orr_dep_group *))
{
    struct orr_dep_group *g = orr_calloc(1, sizeof *g);
    if (!g) return NULL;
    g->fire = fire;
    g->total = total;
    orr_store_relaxed(&g->remaining, total);
    orr_store_relaxed(&g->refs, 1);
    return g;
}

void orr_dep_group_unref(struct orr_dep_group *g)
{
    if (orr_sub_acq_rel(&g->refs, 1) == 1) orr_free(g);
}

void orr_dep_group_notify(struct orr_dep_group *g)
{
    int32_t left = orr_load_relaxed(&g->remaining);
    /* the last one sets it up for the next round in the same step: prerequisites may be in that round already
     * (deps.pml) */
    while (!orr_cas_weak_acq_rel(&g->remaining, &left, left == 1 ? g->total : left - 1)) {
    }
    if (left == 1) g->fire(g);
}

void orr_dep_fire_task(struct orr_dep_group *g)
{
    struct orr_task *t = orr_load_acquire(&g->task); /* pairs with the store in orr_task_free */
    if (t && orr_add_acq_rel(&g->balance, 1) == -1) orr_task_unblock(t);
}

void orr_dep_next_round(struct orr_task *t)
{
    for (struct orr_dep_group *g = t->rare->groups, *next; g; g = next) {
        next = g->next;
        if (g->total == 0) continue; /* all of the past */
        if (orr_sub_acq_rel(&g->balance, 1) >= 1) orr_task_unblock(t);
    }
}

bool orr_dep_hang(_Atomic(struct orr_edge *) *list, struct orr_dep_group *g, int *status_out)
{
    struct orr_edge *head = orr_load_acquire(list);
    *status_out = 0;
    if (head == ORR_EDGES_CLOSED) return false;
    struct orr_edge *e = orr_slab_alloc(ORR_SLAB_EDGE);
    if (!e) {
        *status_out = -ENOMEM;
        return false;
    }
    e->group = g;
    orr_add_relaxed(&g->refs, 1);
    do {
        if (head == ORR_EDGES_CLOSED) {
            orr_slab_free(ORR_SLAB_EDGE, e);
            orr_dep_group_unref(g);
            return false;
        }
        e->next = head;
    } while (!orr_cas_weak_acq_rel(list, &head, e)); /* pairs with the exchange in orr_dep_take */
    return true;
}

static struct orr_edge *reversed(struct orr_edge *e)
{
    struct orr_edge *r = NULL;
    while (e) {
        struct orr_edge *next = e->next;
        e->next = r;
        r = e;
        e = next;
    }
    return r;
}

struct orr_edge *orr_dep_take(_Atomic(struct orr_edge *) *list)
{
    struct orr_edge *e =
        orr_exchange_acq_rel(list, ORR_EDGES_CLOSED);  /* pairs with the compare-and-swap in orr_dep_hang */
    return e == ORR_EDGES_CLOSED ? NULL : reversed(e); /* first declared, first served */
}

struct orr_edge *orr_dep_notify(struct orr_edge *taken, bool keep)
{
    struct orr_edge *kept = NULL;
    for (struct orr_edge *i = taken, *next; i; i = next) {
        next = i->next;
        bool again = keep && !i->group->once;
        orr_dep_group_notify(i->group);
        if (again) {
            i->next = kept; /* last declared first, as they were pushed */
            kept = i;
        } else {
            orr_dep_group_unref(i->group);
            orr_slab_free(ORR_SLAB_EDGE, i);
        }
    }
    return kept;
}

struct orr_edge *orr_dep_close(_Atomic(struct orr_edge *) *list, bool keep)
{
    return orr_dep_notify(orr_dep_take(list), keep);
}

void orr_edges_free(struct orr_edge *e)
{
    for (struct orr_edge *next; e && e != ORR_EDGES_CLOSED; e = next) {
        next = e->next;
        orr_dep_group_unref(e->group);
        orr_slab_free(ORR_SLAB_EDGE, e);
    }
}

void orr_task_add_group(struct orr_task *t, struct orr_task_rare *r, struct orr_dep_group *g)
{
    orr_store_relaxed(&g->balance, -1);
    orr_store_release(&g->task, t);
    g->next = r->groups;
    r->groups = g;
    r->ngroups++;
    t->flags |= ORR_TF_EXPLICIT;
    orr_add_acq_rel(&t->pending, 1);
}

/* Submitted and not ended; its own callbacks prepare the next round. */
static bool under_way(const struct orr_task *t)
{
    uint32_t state = orr_load_acquire(&t->state);
    return state != ORR_TASK_CREATED && state != ORR_TASK_DONE && state != ORR_TASK_CALLING &&
           !t->pub->regenerate && t != orr_self()->current;
}

/* Declares "task waits for all of deps". */
static int declare_group(struct starpu_task *task, unsigned ndeps, struct starpu_task *const deps[])
{
    if (ndeps == 0) return 0;
    if (!task || !deps) {
        orr_error("starpu_task_declare_deps: %s is NULL", task ? "the list of tasks" : "the task");
        return -EINVAL;
    }
    struct orr_task *t = orr_task_private(task);
    if (t && under_way(t)) {
        orr_error("starpu_task_declare_deps: task %s is submitted already; declare what it waits for before",
                  orr_task_name(t));
        return -EINVAL;
    }
    struct orr_task_rare *r = t ? orr_task_rare_get(t) : NULL;
    /* one more keeps a group of several, whose total still changes, from firing early */
    int one_more = ndeps > 1;
    struct orr_dep_group *g = r ? orr_dep_group_create((int)ndeps + one_more, orr_dep_fire_task) : NULL;
    if (!g) return -ENOMEM;
    g->once = task->destroy && !task->regenerate;
    orr_task_add_group(t, r, g);
    int status = 0, satisfied = one_more;
    for (unsigned i = 0; i < ndeps; i++) {
        struct orr_task *p = deps[i] ? orr_task_private(deps[i]) : NULL;
        int one = 0;
        if (orr_unlikely(orr_load_relaxed(&orr_graph.recording)) && p && p != t) orr_graph_declared(t, p);
        if (!deps[i])
            orr_error("starpu_task_declare_deps: entry %u of the list is NULL; it is left out", i);
        else if (deps[i] == task)
            orr_error("starpu_task_declare_deps: task %s cannot wait for itself; left out", orr_task_name(t));
        else if (!p)
            one = -ENOMEM;
        else if (orr_dep_hang(&p->successors, g, &one))
            continue;
        else if (orr_unlikely(one == 0 && orr_load_seq(&orr_graph.late)))
            orr_graph_late_ended(p, false); /* it has ended meanwhile, and did not see its node */
        if (one) status = one;
        satisfied++;
        g->total--; /* a prerequisite of the past is none in later rounds */
    }
    if (one_more) g->total--;        /* a single prerequisite may be notifying just now */
    if (g->total == 0) r->ngroups--; /* nothing to wait for in later rounds */
    for (; satisfied > 0; satisfied--) orr_dep_group_notify(g);
    return status;
}

/* Prerequisites of a task that will be submitted again may run at different speeds: each counts for itself.
 */
static int declare(struct starpu_task *task, unsigned ndeps, struct starpu_task *const deps[])
{
    if (!task || !deps || (task->destroy && !task->regenerate)) return declare_group(task, ndeps, deps);
    int r = 0;
    for (unsigned i = 0; i < ndeps && r == 0; i++) r = declare_group(task, 1, &deps[i]);
    return r;
}

void starpu_task_declare_deps_array(struct starpu_task *task, unsigned ndeps,
                                    struct starpu_task *task_array[])
{
    if (declare(task, ndeps, task_array) == -ENOMEM)
        orr_fatal("starpu_task_declare_deps_array: out of memory");
}

void starpu_task_declare_deps(struct starpu_task *task, unsigned ndeps, ...)
{
    struct starpu_task **deps = ndeps ? orr_malloc(ndeps * sizeof *deps) : NULL;
    if (ndeps && !deps) {
        orr_fatal("starpu_task_declare_deps: out of memory");
        return;
    }
    va_list ap;
    va_start(ap, ndeps);
    for (unsigned i = 0; i < ndeps; i++) deps[i] = va_arg(ap, struct starpu_task *);
    va_end(ap);
    starpu_task_declare_deps_array(task, ndeps, deps);
    orr_free(deps);
}

/* ---- end dependencies: the task's end waits for more than its body ---- */

static struct orr_task_rare *end_deps_of(struct starpu_task *task)
{
    struct orr_task *t = task ? orr_task_private(task) : NULL;
    struct orr_task_rare *r = t ? orr_task_rare_get(t) : NULL;
    if (!r) {
        orr_fatal("starpu_task_end_dep_add: %s", task ? "out of memory" : "the task is NULL");
        return NULL;
    }
    if (!r->end_deps_used) {
        r->end_deps_used = true;
        orr_store_relaxed(&r->end_deps, 1); /* the body */
    }
    return r;
}

void starpu_task_end_dep_add(struct starpu_task *task, int nb_deps)
{
    struct orr_task_rare *r = end_deps_of(task);
    if (r) orr_add_acq_rel(&r->end_deps, nb_deps);
}

void starpu_task_end_dep_release(struct starpu_task *task)
{
    struct orr_task *t = task ? orr_task_of(task) : NULL;
    if (!t || !t->rare || !t->rare->end_deps_used) {
        orr_error("starpu_task_end_dep_release: the task has no end dependency; call starpu_task_end_dep_add "
                  "first");
        return;
    }
    if (orr_sub_acq_rel(&t->rare->end_deps, 1) == 1) orr_task_ended(t);
}

static void end_dep_fire(struct orr_dep_group *g)
{
    struct orr_task *t = orr_load_acquire(&g->task);
    if (t) starpu_task_end_dep_release(t->pub);
}

void starpu_task_declare_end_deps_array(struct starpu_task *task, unsigned ndeps,
                                        struct starpu_task *task_array[])
{
    if (!end_deps_of(task)) return;
    for (unsigned i = 0; i < ndeps; i++) {
        if (!task_array || !task_array[i]) {
            orr_error("starpu_task_declare_end_deps: entry %u of the list is NULL; it is left out", i);
            continue;
        }
        struct orr_task *p = orr_task_private(task_array[i]);
        struct orr_dep_group *g = p ? orr_dep_group_create(1, end_dep_fire) : NULL;
        if (!g) {
            orr_fatal("starpu_task_declare_end_deps_array: out of memory");
            return;
        }
        int status;
        orr_store_release(&g->task, orr_task_of(task));
        starpu_task_end_dep_add(task, 1);
        if (!orr_dep_hang(&p->successors, g, &status)) starpu_task_end_dep_release(task);
        orr_dep_group_unref(g); /* the edge keeps it */
        if (status) orr_fatal("starpu_task_declare_end_deps_array: out of memory");
    }
}

void starpu_task_declare_end_deps(struct starpu_task *task, unsigned ndeps, ...)
{
    va_list ap;
    va_start(ap, ndeps);
    for (unsigned i = 0; i < ndeps; i++) {
        struct starpu_task *one = va_arg(ap, struct starpu_task *);
        starpu_task_declare_end_deps_array(task, 1, &one);
    }
    va_end(ap);
}

bool orr_task_body_done(struct orr_task *t)
{
    struct orr_task_rare *r = t->rare;
    return orr_likely(!r || !r->end_deps_used) || orr_sub_acq_rel(&r->end_deps, 1) == 1;
}
