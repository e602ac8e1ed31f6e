/* SPDX-License-Identifier: BSD-3-Clause */
/* complete.c: the end of a task: data and successors released, callbacks called, memory recycled.
 * Threads: the worker that ran it, or whoever ended a task without a body. Owns: nothing lasting.
 * Not here: explicit dependencies (deps.c), running (core/worker). */
#include <stdlib.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/event.h"
#include "core/base/log.h"
#include "core/data/coherency.h"
#include "core/task/deps.h"
#include "core/task/redux.h"
#include "core/task/tag.h"
#include "core/task/task.h"

/* Leaves the queues of all data that the task used. Accesses that are granted by that are told after the
 * queue's lock is released. */
static void release_accesses(struct orr_task *t)
{
    starpu_data_handle_t *handles = STARPU_TASK_GET_HANDLES(t->pub);
    struct orr_access *a = orr_task_accesses(t);
    unsigned n = t->naccesses;
    for (unsigned i = 0; i < n; i++) orr_prefetch_write(&handles[a[i].index]->queue);
    for (unsigned i = 0; i < n; i++) {
        struct orr_data *h = handles[a[i].index];
        struct orr_access_queue *q = &h->queue;
        struct orr_waiter *turn = NULL;
        bool reduce;
        orr_spin_lock(&q->lock);
        if (orr_unlikely(a[i].group == ORR_GROUP_COMMUTE)) turn = orr_access_commute_exit_locked(q);
        struct orr_waiter *granted = orr_access_leave_locked(q, &reduce);
        orr_spin_unlock(&q->lock);
        if (orr_unlikely(turn != NULL)) turn->granted(turn);
        if (orr_unlikely(reduce)) orr_data_hooks.reduction_start(h);
        if (granted) orr_waiters_run(granted);
    }
}

_Atomic uint32_t orr_tasks_failed[STARPU_NMAX_SCHED_CTXS];

void orr_task_fail(struct orr_task *t, int status)
{
    t->flags |= ORR_TF_FAILED;
    ORR_EVENT(TASK_FAILED, t, status, t->id, 0);
    if (t->rare) t->rare->status = status;
    orr_add_seq(&orr_tasks_failed[t->sched_ctx], 1u);
}

/* t failed: nobody is to take what it leaves for its result. Who reads it fails in turn. */
static void lose_outputs(struct orr_task *t)
{
    struct orr_access *a = orr_task_accesses(t);
    for (unsigned i = 0; i < t->naccesses; i++) {
        struct orr_data *h = STARPU_TASK_GET_HANDLE(t->pub, a[i].index);
        if (a[i].group == ORR_GROUP_REDUX)
            orr_redux_lose(h);
        else if (a[i].group != ORR_GROUP_READ)
            orr_data_lose(h);
    }
}

/* The program finds the workers that it named. */
static void forget_tried(struct orr_task *t)
{
    struct orr_task_tried *tried = t->rare->tried;
    t->pub->workerids = tried->workerids;
    t->pub->workerids_len = tried->workerids_len;
    t->rare->tried = NULL;
    t->flags &= ~(uint32_t)ORR_TF_TRIED;
    orr_free(tried);
}

static void end_trouble(struct orr_task *t)
{
    if (t->flags & ORR_TF_TRIED) forget_tried(t);
    if (t->flags & ORR_TF_FAILED) lose_outputs(t);
}

/* Submits a regenerating task again. */
static void regenerate(struct orr_task *t)
{
    struct starpu_task *pub = t->pub;
    orr_store_release(&t->state, ORR_TASK_CREATED);
    int r = orr_task_submit(pub, 0);
    if (r) orr_error("task %s could not be submitted again (%d)", orr_task_name(t), r);
}

/* Releases everything the task stands in the way of. Returns its tag, whose end is to be announced; NULL: it
 * has none. */
static struct orr_tag *release(struct orr_task *t)
{
    struct orr_task_rare *r = t->rare;
    bool keep = r && r->persistent;
    ORR_EVENT(TASK_COMPLETED, t, keep, t->id, 0);
    if (orr_unlikely(r && r->tag)) orr_tag_ending(t); /* a task that gets its data next may remove its tag */
    if (t->naccesses) release_accesses(t);
    struct orr_edge *taken = orr_edges_take(&t->successors), *kept = NULL;
    if (orr_unlikely(taken != NULL)) {
        kept = orr_edges_serve(taken, keep);
        ORR_EVENT(TASK_SERVED, t, keep, 0, 0); /* who hung an edge says so before */
    }
    if (orr_unlikely(keep)) r->kept_edges = kept;
    return orr_unlikely(r && r->tag) ? orr_tag_done(t) : NULL;
}

static void (*callback_of(struct starpu_task *pub))(void *)
{
    if (pub->callback_func) return pub->callback_func;
    return pub->cl ? pub->cl->callback_func : NULL;
}

/* A task that stays the program's may be submitted again by its own callback, or by a thread that the
 * callback signals. So it ends before the callback, and is not touched after it; but if nobody took it by
 * then, the program sees it as finished only when the callback is over. */
static bool is_programs(const struct orr_task *t)
{
    const struct starpu_task *pub = t->pub;
    return pub->detach && !pub->destroy && !pub->regenerate && !(t->rare && t->rare->internal_done);
}

/* Tasks whose callbacks run and that the program may take meanwhile; on the stacks of the threads that call
 * them. */
struct calling {
    struct calling *next, **prev;
    struct orr_task *task; /* NULL: it was taken */
};
enum { CALLING_LISTS = 16 };
static struct calling_list {
    ORR_ALIGNED_LINE ORR_SPIN(calling) lock; /* protects the list; leaf */
    struct calling *first;
} calling_lists[CALLING_LISTS]; /* by the task's address */

static struct calling_list *calling_list_of(const struct orr_task *t)
{
    return &calling_lists[((uintptr_t)t >> 6) % CALLING_LISTS];
}

static void calling_begin(struct calling *c, struct orr_task *t)
{
    struct calling_list *l = calling_list_of(t);
    c->task = t;
    orr_spin_lock(&l->lock);
    c->next = l->first;
    c->prev = &l->first;
    if (c->next) c->next->prev = &c->next;
    l->first = c;
    orr_store_release(&t->state, ORR_TASK_CALLING); /* pairs with the load in orr_task_take */
    orr_spin_unlock(&l->lock);
}

/* Called with the lock held. */
static void calling_remove_locked(struct calling *c)
{
    /* pairs with the loads in starpu_task_finished and orr_task_take */
    orr_store_release(&c->task->state, ORR_TASK_DONE);
    *c->prev = c->next;
    if (c->next) c->next->prev = c->prev;
    c->task = NULL;
}

/* Whether the program may use t anew, whose callback may be running; which leaves it alone from then on. */
bool orr_task_take(struct orr_task *t)
{
    uint32_t state = orr_load_acquire(&t->state);
    if (orr_likely(state != ORR_TASK_CALLING)) return state == ORR_TASK_CREATED || state == ORR_TASK_DONE;
    struct calling_list *l = calling_list_of(t);
    orr_spin_lock(&l->lock);
    struct calling *c = l->first;
    while (c && c->task != t) c = c->next;
    if (c) calling_remove_locked(c); /* else the callback is over just now */
    orr_spin_unlock(&l->lock);
    return true;
}

/* Calls back for t, which is the program's. */
static void end_and_call_back(struct orr_task *t, void (*callback)(void *), void *arg)
{
    struct calling_list *l = calling_list_of(t);
    struct calling c;
    t->pub->status = STARPU_TASK_FINISHED;
    if (orr_unlikely(t->pub->bundle != NULL)) starpu_task_bundle_remove(t->pub->bundle, t->pub);
    ORR_EVENT(CALLBACK_STARTED, t, t->id, 0, 0);
    calling_begin(&c, t);
    orr_call_back(t, callback, arg);
    orr_spin_lock(&l->lock);
    if (c.task) {
        ORR_EVENT(CALLBACK_ENDED, t, t->id, 0, 0);
        calling_remove_locked(&c);
    }
    orr_spin_unlock(&l->lock);
}

/* The last act: memory, and those who wait for this task alone. */
static void end(struct orr_task *t)
{
    struct starpu_task *pub = t->pub;
    bool again = pub->regenerate;
    pub->status = STARPU_TASK_FINISHED;
    if (orr_likely(pub->detach && pub->destroy && !again)) {
        orr_task_free(t);
        return;
    }
    if (again) {
        regenerate(t);
        return;
    }
    struct orr_event *done = t->rare && t->rare->awaited ? &t->rare->done : NULL;
    if (orr_unlikely(pub->bundle != NULL)) starpu_task_bundle_remove(pub->bundle, pub);
    /* pairs with the loads in starpu_task_finished and orr_task_take */
    orr_store_release(&t->state, ORR_TASK_DONE);
    if (done) orr_event_set(done); /* from here on t may be gone; without a `done`, from the store on */
}

void orr_task_complete(struct orr_task *t)
{
    struct orr_task_thread *self = orr_task_self();
    struct starpu_task *pub = t->pub;
    struct orr_ready_list *outer = self->collect, list = { NULL, NULL };
    unsigned ctx = t->sched_ctx; /* the task is gone when it is counted */
    bool was_ready = t->flags & ORR_TF_READY;
    double flops = orr_unlikely(ctx != 0) ? pub->flops : 0;
    if (!outer) self->collect = &list;
    if (orr_unlikely(pub->epilogue_callback_func != NULL))
        orr_call_back(t, pub->epilogue_callback_func, pub->epilogue_callback_arg);
    if (orr_unlikely(t->flags & (ORR_TF_FAILED | ORR_TF_TRIED))) end_trouble(t);
    struct orr_tag *tag = release(t);
    void (*callback)(void *) = callback_of(pub);
    struct orr_job *job = orr_unlikely(t->flags & ORR_TF_LISTED) ? t->rare->job : NULL;
    bool failed = job && (t->flags & ORR_TF_FAILED);
    bool ends_first =
        orr_unlikely(callback != NULL) && is_programs(t) && !(pub->callback_arg_free && pub->callback_arg);
    if (ends_first) {
        end_and_call_back(t, callback, pub->callback_arg);
    } else {
        if (orr_unlikely(callback != NULL)) {
            ORR_EVENT(CALLBACK_STARTED, t, t->id, 0, 0);
            orr_call_back(t, callback, pub->callback_arg);
            ORR_EVENT(CALLBACK_ENDED, t, t->id, 0, 0);
        }
        if (orr_unlikely(t->rare && t->rare->internal_done)) t->rare->internal_done(t, t->rare->internal_arg);
        end(t);
    }
    /* t may be gone, and its public half */
    if (orr_unlikely(tag != NULL)) orr_tag_announce(tag);
    if (orr_unlikely(job != NULL)) orr_task_hooks.job_ended(job, failed);
    if (orr_unlikely(ctx != 0)) orr_own_add(&self->completed_elsewhere, 1);
    orr_own_add(&self->completed, 1);
    if (orr_unlikely(ctx != 0)) orr_task_hooks.ctx_completed(ctx, was_ready, flops);
    if (!outer) {
        self->collect = NULL;
        orr_ready_dispatch(&list, NULL);
    }
    if (orr_unlikely(!self->checks_later)) orr_task_hooks.completed_elsewhere();
}
