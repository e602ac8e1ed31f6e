/* SPDX-License-Identifier: BSD-3-Clause */
/* deps.c: explicit dependencies between tasks.
 * Threads: any. Owns: edges. Not here: tags (tag.c), the countdown itself (submit.c).
 *
 * A list is a stack that closes: pushing is a compare-and-swap that fails for good once the completed task
 * has exchanged the head for ORR_EDGES_CLOSED. So an edge is either served by the exchange, or its pusher
 * sees CLOSED. Each edge counts for itself, even if a task waits for many: prerequisites that are submitted
 * again may run at different speeds, and whether one will be is not known when the edge is made. */
#include "core/task/deps.h"

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/event.h"
#include "core/base/log.h"

struct orr_edge *orr_edge_create(void *waiter, void (*fire)(struct orr_edge *))
{
    struct orr_edge *e = orr_slab_alloc(ORR_SLAB_EDGE);
    if (!e) return NULL;
    e->fire = fire;
    e->sibling = NULL;
    orr_store_relaxed(&e->waiter, waiter);
    e->balance = -1;
    orr_spin_init(&e->lock);
    e->listed = false;
    e->owned = true;
    return e;
}

bool orr_edge_hang(_Atomic(struct orr_edge *) *list, struct orr_edge *e)
{
    struct orr_edge *head = orr_load_acquire(list);
    e->listed = true;
    do {
        if (head == ORR_EDGES_CLOSED) {
            e->listed = false;
            return false;
        }
        e->next = head;
    } while (!orr_cas_weak_acq_rel(list, &head, e)); /* pairs with the exchange in orr_edges_take */
    return true;
}

void orr_edge_disown(struct orr_edge *e)
{
    orr_spin_lock(&e->lock);
    orr_store_relaxed(&e->waiter, NULL);
    e->owned = false;
    bool last = !e->listed;
    orr_spin_unlock(&e->lock);
    if (last) orr_slab_free(ORR_SLAB_EDGE, e);
}

/* The list's side knows e no more. */
static void unlist(struct orr_edge *e)
{
    orr_spin_lock(&e->lock);
    e->listed = false;
    bool last = !e->owned;
    orr_spin_unlock(&e->lock);
    if (last) orr_slab_free(ORR_SLAB_EDGE, e);
}

/* The task that waits for e no longer does; e leaves the list, and is freed if its waiter has gone too. */
static void release(struct orr_edge *e)
{
    orr_spin_lock(&e->lock);
    struct orr_task *t = e->fire == orr_edge_fire_task ? orr_load_relaxed(&e->waiter) : NULL;
    e->listed = false;
    bool ready = t && e->balance < 0 && orr_sub_acq_rel(&t->pending, 1) == 1, last = !e->owned;
    e->balance = 0;
    orr_spin_unlock(&e->lock);
    if (last) orr_slab_free(ORR_SLAB_EDGE, e);
    if (ready) orr_task_now_ready(t); /* nobody else touches it: it is neither ready nor free before */
}

struct orr_task *orr_edge_waiting_task(struct orr_edge *e)
{
    if (e->fire != orr_edge_fire_task) return NULL;
    orr_spin_lock(&e->lock);
    struct orr_task *t = e->balance < 0 ? orr_load_relaxed(&e->waiter) : NULL;
    orr_spin_unlock(&e->lock);
    return t;
}

void orr_edge_fire_task(struct orr_edge *e)
{
    orr_spin_lock(&e->lock);
    struct orr_task *t = orr_load_relaxed(&e->waiter);
    bool ready = t && ++e->balance == 0 && orr_sub_acq_rel(&t->pending, 1) == 1;
    orr_spin_unlock(&e->lock);
    if (ready) orr_task_now_ready(t);
}

void orr_edges_next_round(struct orr_task *t)
{
    int32_t had = 0;
    for (struct orr_edge **at = &t->rare->edges, *e; (e = *at) != NULL;) {
        orr_spin_lock(&e->lock);
        bool listed = e->listed; /* else its prerequisite is gone: none in this round, or later */
        if (!listed || --e->balance >= 0) had++;
        orr_spin_unlock(&e->lock);
        if (listed) {
            at = &e->sibling;
            continue;
        }
        *at = e->sibling;
        t->rare->nedges--;
        orr_slab_free(ORR_SLAB_EDGE, e);
    }
    if (had) orr_sub_acq_rel(&t->pending, had); /* not to 0: the submission is still to come */
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

struct orr_edge *orr_edges_take(_Atomic(struct orr_edge *) *list)
{
    struct orr_edge *e =
        orr_exchange_acq_rel(list, ORR_EDGES_CLOSED);  /* pairs with the compare-and-swap in orr_edge_hang */
    return e == ORR_EDGES_CLOSED ? NULL : reversed(e); /* first declared, first served */
}

struct orr_edge *orr_edges_serve(struct orr_edge *taken, bool keep)
{
    struct orr_edge *kept = NULL;
    for (struct orr_edge *e = taken, *next; e; e = next) {
        next = e->next;
        if (!keep && e->fire == orr_edge_fire_task) {
            release(e);
            continue;
        }
        e->fire(e);
        if (keep && orr_load_relaxed(&e->waiter)) {
            e->next = kept; /* last declared first, as they were pushed */
            kept = e;
        } else {
            unlist(e);
        }
    }
    return kept;
}

void orr_edges_drop(struct orr_edge *e, bool never_ran)
{
    for (struct orr_edge *next; e && e != ORR_EDGES_CLOSED; e = next) {
        next = e->next;
        if (never_ran)
            unlist(e);
        else
            release(e);
    }
}

static void disown_all(struct orr_edge *e)
{
    for (struct orr_edge *next; e; e = next) {
        next = e->sibling;
        orr_edge_disown(e);
    }
}

void orr_edges_disown(struct orr_task_rare *r)
{
    disown_all(r->edges);
    disown_all(r->end_edges);
}

void orr_edges_forget(struct orr_task *t)
{
    if (!(t->flags & ORR_TF_EXPLICIT) || !t->rare) return;
    disown_all(t->rare->edges);
    t->rare->edges = NULL;
    t->rare->nedges = 0;
    orr_store_relaxed(&t->pending, 1); /* nobody touches it any more */
}

void orr_edges_disown_served(struct orr_task_rare *r)
{
    for (struct orr_edge **at = &r->end_edges, *e; (e = *at) != NULL;) {
        if (orr_load_relaxed(&e->waiter)) {
            at = &e->sibling;
        } else {
            *at = e->sibling;
            orr_edge_disown(e);
        }
    }
}

/* Submitted and not ended; its own callbacks prepare the next round, if there may be one. */
static bool under_way(const struct orr_task *t)
{
    uint32_t state = orr_load_acquire(&t->state);
    return state != ORR_TASK_CREATED && state != ORR_TASK_DONE && state != ORR_TASK_CALLING &&
           !t->pub->regenerate && !(t == orr_task_current() && t->rare && t->rare->persistent);
}

/* t waits for p. */
static int declare_one(struct orr_task *t, struct orr_task_rare *r, struct orr_task *p)
{
    struct orr_edge *e = orr_edge_create(t, orr_edge_fire_task);
    if (!e) return -ENOMEM;
    ORR_EVENT(TASK_DECLARED, t, (uintptr_t)p, 0, 0);
    t->flags |= ORR_TF_EXPLICIT;
    orr_add_acq_rel(&t->pending, 1);
    if (orr_edge_hang(&p->successors, e)) {
        e->sibling = r->edges;
        r->edges = e;
        r->nedges++;
        return 0;
    }
    orr_sub_acq_rel(&t->pending, 1); /* ended before: nothing to wait for, now or later */
    orr_edge_disown(e);
    ORR_EVENT(TASK_DECLARED_LATE, p, 0, 0, 0);
    return 0;
}

/* Declares "task waits for all of deps". */
static int declare(struct starpu_task *task, unsigned ndeps, struct starpu_task *const deps[])
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
    int status = r ? 0 : -ENOMEM;
    for (unsigned i = 0; i < ndeps && status == 0; i++) {
        struct orr_task *p = deps[i] ? orr_task_private(deps[i]) : NULL;
        if (!deps[i])
            orr_error("starpu_task_declare_deps: entry %u of the list is NULL; it is left out", i);
        else if (deps[i] == task)
            orr_error("starpu_task_declare_deps: task %s cannot wait for itself; left out", orr_task_name(t));
        else
            status = p ? declare_one(t, r, p) : -ENOMEM;
    }
    return status;
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

/* The prerequisite has ended; once: it says nothing of the task's later rounds. */
static void end_dep_fire(struct orr_edge *e)
{
    orr_spin_lock(&e->lock);
    struct orr_task *t = orr_load_relaxed(&e->waiter);
    orr_store_relaxed(&e->waiter, NULL);
    bool last = t && orr_sub_acq_rel(&t->rare->end_deps, 1) == 1;
    orr_spin_unlock(&e->lock);
    if (last) orr_task_ended(t);
}

/* t's end waits for p's. */
static int declare_end(struct orr_task *t, struct orr_task *p)
{
    struct orr_edge *e = p ? orr_edge_create(t, end_dep_fire) : NULL;
    if (!e) return -ENOMEM;
    starpu_task_end_dep_add(t->pub, 1);
    e->sibling = t->rare->end_edges;
    t->rare->end_edges = e;
    if (!orr_edge_hang(&p->successors, e)) end_dep_fire(e);
    return 0;
}

void starpu_task_declare_end_deps_array(struct starpu_task *task, unsigned ndeps,
                                        struct starpu_task *task_array[])
{
    if (!end_deps_of(task)) return;
    for (unsigned i = 0; i < ndeps; i++) {
        if (!task_array || !task_array[i])
            orr_error("starpu_task_declare_end_deps: entry %u of the list is NULL; it is left out", i);
        else if (declare_end(orr_task_of(task), orr_task_private(task_array[i])) != 0)
            orr_fatal("starpu_task_declare_end_deps_array: out of memory");
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
