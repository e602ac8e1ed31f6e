/* SPDX-License-Identifier: BSD-3-Clause */
/* local.c: what a worker runs next: from its own queue, from job lists, from its policy.
 * Threads: any gives; the worker takes. Owns: local_* and ordered of workers. Not here: policies, job lists
 * (jobpool.c). */
#include "core/worker/worker.h"

#include "core/base/log.h"
#include "core/worker/joblist.h"
#include "core/worker/member.h"
#include "core/worker/order.h"
#include "core/worker/serve.h"

enum { JOBS_IN_A_ROW_MAX = 64 }; /* before a policy whose context goes first is asked */

/* Moves ordered tasks whose turn has come to the queue. Called with local_lock held. */
static void admit_ordered_locked(struct orr_worker *w)
{
    while (w->ordered && w->ordered->pub->workerorder <= w->next_order) {
        struct orr_task *t = w->ordered;
        w->ordered = t->next;
        if (t->pub->workerorder == w->next_order) w->next_order++; /* else used twice */
        t->next = NULL;
        if (w->local_head)
            w->local_tail->next = t;
        else
            w->local_head = t;
        w->local_tail = t;
        orr_add_seq(&w->local_count, 1);
    }
}

/* Whether n is above the orders of all that wait: found without looking at them. With local_lock held. */
static bool rises(const struct orr_worker *w, unsigned n)
{
    return !w->ordered || w->ordered_last->pub->workerorder < n;
}

/* A task bound to w has this order already, or one has run with it. Of skipped orders nobody knows. */
bool orr_worker_order_is_taken(struct orr_worker *w, unsigned n)
{
    orr_spin_lock(&w->local_lock);
    const struct orr_task *t = rises(w, n) ? NULL : w->ordered;
    while (t && t->pub->workerorder < n) t = t->next;
    bool taken = n < w->next_order ? n >= w->skipped_orders : t && t->pub->workerorder == n;
    orr_spin_unlock(&w->local_lock);
    return taken;
}

unsigned orr_worker_order_next(unsigned worker)
{
    struct orr_worker *w = &orr_workers[worker];
    orr_spin_lock(&w->local_lock);
    unsigned next = w->next_order;
    orr_spin_unlock(&w->local_lock);
    return next;
}

void orr_worker_order_skip(unsigned worker, unsigned next)
{
    struct orr_worker *w = &orr_workers[worker];
    orr_spin_lock(&w->local_lock);
    bool skips = next > w->next_order;
    if (skips) {
        w->next_order = w->skipped_orders = next;
        admit_ordered_locked(w);
    }
    orr_spin_unlock(&w->local_lock);
    if (skips) orr_wake_worker(w);
}

static void insert_ordered_locked(struct orr_worker *w, struct orr_task *t)
{
    struct orr_task **at = &w->ordered;
    if (w->ordered && rises(w, t->pub->workerorder)) at = &w->ordered_last->next;
    while (*at && (*at)->pub->workerorder < t->pub->workerorder) at = &(*at)->next;
    t->next = *at;
    *at = t;
    if (!t->next) w->ordered_last = t;
    admit_ordered_locked(w);
}

/* A task whose order was taken, after its submission, by another: said before it may run, and be gone. */
static void check_order(struct orr_worker *w, const struct orr_task *t)
{
    if (orr_unlikely(orr_worker_order_is_taken(w, t->pub->workerorder)))
        orr_error("task %s: its workerorder was used twice; it runs nevertheless", orr_task_name(t));
}

void orr_worker_push_local(struct orr_worker *w, struct orr_task *t, bool front)
{
    bool ordered = t->pub->workerorder && t->pub->execute_on_a_specific_worker;
    if (orr_unlikely(ordered)) check_order(w, t);
    t->worker = (int16_t)w->id;
    if (orr_unlikely(orr_load_relaxed(&t->state) == ORR_TASK_PUSHED))
        orr_policy_releases(t); /* predefined.c */
    orr_spin_lock(&w->local_lock);
    if (orr_unlikely(ordered)) {
        insert_ordered_locked(w, t);
    } else {
        t->next = front ? w->local_head : NULL;
        if (!w->local_head)
            w->local_head = w->local_tail = t;
        else if (front)
            w->local_head = t;
        else
            w->local_tail = w->local_tail->next = t;
        orr_add_seq(&w->local_count, 1); /* pairs with the last look in park.c */
    }
    orr_spin_unlock(&w->local_lock);
    orr_wake_worker(w);
}

/* Holding all locks makes the order of two sets the same in the queues of all workers they share. */
void orr_worker_push_together(struct orr_worker *const *workers, struct orr_task *const *tasks,
                              unsigned count)
{
    for (unsigned i = 0; i < count; i++) orr_spin_lock(&workers[i]->local_lock);
    for (unsigned i = 0; i < count; i++) {
        struct orr_worker *w = workers[i];
        tasks[i]->worker = (int16_t)w->id;
        tasks[i]->next = NULL;
        if (w->local_head)
            w->local_tail = w->local_tail->next = tasks[i];
        else
            w->local_head = w->local_tail = tasks[i];
        orr_add_seq(&w->local_count, 1);
    }
    for (unsigned i = 0; i < count; i++) orr_spin_unlock(&workers[i]->local_lock);
    starpu_worker_relax_on(); /* waking may take a worker's mutex */
    for (unsigned i = 0; i < count; i++) orr_wake_worker(workers[i]);
    starpu_worker_relax_off();
}

struct orr_task *orr_worker_take_local(struct orr_worker *w, bool (*may)(const struct orr_task *t, void *arg),
                                       void *arg)
{
    struct orr_task *before = NULL;
    if (orr_load_seq(&w->local_count) == 0) return NULL;
    orr_spin_lock(&w->local_lock);
    struct orr_task *t = w->local_head;
    while (t && (t->pub->execute_on_a_specific_worker || (t->flags & ORR_TF_TEAM) || !may(t, arg))) {
        before = t;
        t = t->next;
    }
    if (t) {
        *(before ? &before->next : &w->local_head) = t->next;
        if (w->local_tail == t) w->local_tail = before;
        orr_sub_seq(&w->local_count, 1);
        t->nimpl_valid = 0;
    }
    orr_spin_unlock(&w->local_lock);
    return t;
}

static struct orr_task *pop_local(struct orr_worker *w)
{
    orr_spin_lock(&w->local_lock);
    struct orr_task *t = w->local_head;
    if (t) {
        w->local_head = t->next;
        orr_store_relaxed(&w->idle_shown, false); /* before: who gives it a task looks at both (lending.c) */
        orr_sub_seq(&w->local_count, 1);
    }
    orr_spin_unlock(&w->local_lock);
    return t;
}

/* The next task of w's own queue. Those of contexts that w has left,
 * and that are not bound to it, go back. */
static struct orr_task *next_local(struct orr_worker *w)
{
    struct orr_task *t;
    bool was_idle = orr_load_relaxed(&w->idle_shown);
    while ((t = pop_local(w)) != NULL) {
        if (orr_member_may_run(w, t)) return t;
        t->nimpl_valid = 0;
        orr_task_hooks.push(t);
        orr_store_relaxed(&w->idle_shown, was_idle);
    }
    return NULL;
}

/* The same for a worker of contexts of different ranks: rank by rank, lists and policies. */
static struct orr_task *next_by_rank(struct orr_worker *w, bool policy_first)
{
    for (unsigned i = 0, end; i < w->serves_count; i = end) {
        struct orr_task *t = NULL;
        end = orr_serve_rank_end(w, i);
        if (policy_first && (t = orr_serve_pop_among(w, i, end))) return t;
        if ((t = orr_joblist_next_among(w, i, end)) != NULL) {
            w->jobs_in_a_row++;
            return t;
        }
        orr_joblist_tell(w);
        if (!policy_first && (t = orr_serve_pop_among(w, i, end))) return t;
    }
    return orr_joblist_next(w); /* jobs bound to w in contexts where it is not */
}

/* Jobs of lists go first; now and then the policy is asked before them, so that neither starves the other. */
static struct orr_task *next_with_lists(struct orr_worker *w)
{
    bool policy_first = w->jobs_in_a_row >= JOBS_IN_A_ROW_MAX;
    struct orr_task *t = NULL;
    if (policy_first) {
        w->jobs_in_a_row = 0;
        orr_joblist_tell(w);
    }
    if (orr_unlikely(orr_serve_ranks(w))) return next_by_rank(w, policy_first);
    if (policy_first) t = w->ctx->policy->pop(w->ctx->instance, w);
    if (!t && (t = orr_joblist_next(w)) != NULL)
        w->jobs_in_a_row++;
    else if (!t && !policy_first)
        t = w->ctx->policy->pop(w->ctx->instance, w);
    return t;
}

struct orr_task *orr_worker_next(struct orr_worker *w)
{
    if (orr_unlikely(orr_load_seq(&w->local_count) > 0)) {
        struct orr_task *t = next_local(w);
        if (orr_unlikely(t && w->list_due)) orr_joblist_tell(w);
        if (t) return t;
    }
    if (orr_unlikely(orr_load_seq(&w->lists))) return next_with_lists(w);
    return w->ctx->policy->pop(w->ctx->instance, w);
}

uint32_t orr_worker_backlog(struct orr_worker *w)
{
    const struct orr_policy_ops *p = w->ctx->policy;
    uint32_t n = p->backlog ? p->backlog(w->ctx->instance, w) : 0;
    return orr_likely(!orr_load_relaxed(&w->lists)) ? n : n + orr_jobpool_backlog(w);
}
