/* SPDX-License-Identifier: BSD-3-Clause */
/* redux.c: contributions to a reduction, and the tasks that sum them up.
 * Threads: orr_redux_contribution on the worker that contributes; orr_redux_start on whoever found the group
 * drained. Owns: struct summing, for as long as a reduction runs. Not here: when it must run
 * (core/data/access.c). */
#include "core/task/redux.h"

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/data/coherency.h"
#include "core/mem/node.h"
#include "core/perf/arch.h"

static struct orr_data **contributions(struct orr_data *h, unsigned worker_id)
{
    struct orr_data_rare *r = orr_data_rare(h);
    orr_spin_lock(&h->queue.lock);
    struct orr_data **table = r->redux_per_worker;
    orr_spin_unlock(&h->queue.lock);
    if (table) return &table[worker_id];
    struct orr_data **fresh = orr_calloc(STARPU_NMAXWORKERS, sizeof *fresh);
    if (!fresh) return NULL;
    orr_spin_lock(&h->queue.lock);
    if (!r->redux_per_worker) {
        r->redux_per_worker = fresh;
        r->redux_count = STARPU_NMAXWORKERS;
        fresh = NULL;
    }
    table = r->redux_per_worker;
    orr_spin_unlock(&h->queue.lock);
    orr_free(fresh);
    return &table[worker_id];
}

int orr_redux_set_modes(struct starpu_task *task)
{
    struct starpu_codelet *cl = task->cl;
    if (!cl || cl->nbuffers < 1 || !(STARPU_CODELET_GET_MODE(cl, 0) & (STARPU_REDUX | STARPU_MPI_REDUX)))
        return 0;
    enum starpu_data_access_mode *modes = orr_calloc((size_t)cl->nbuffers, sizeof *modes);
    if (!modes) return -ENOMEM;
    modes[0] = cl->nbuffers == 1 ? STARPU_W : STARPU_RW | STARPU_COMMUTE;
    for (int i = 1; i < cl->nbuffers; i++)
        modes[i] = STARPU_CODELET_GET_MODE(cl, i) & STARPU_SCRATCH ? STARPU_SCRATCH : STARPU_R;
    task->dyn_modes = modes; /* freed with the task */
    return 0;
}

/* The write by which h gets its initial value. */
struct first_value {
    struct orr_access access; /* first */
    struct orr_data *handle;
    struct starpu_task *task; /* on h, which access holds meanwhile */
};

static void first_value_end(struct first_value *f)
{
    struct orr_data *h = f->handle;
    orr_free(f);
    orr_data_leave(h, NULL);
}

static void first_value_given(struct orr_task *t, void *arg)
{
    (void)t;
    first_value_end(arg);
}

static void first_value_granted(struct orr_waiter *w)
{
    struct first_value *f = (struct first_value *)w;
    struct starpu_task *task = f->task;
    if (orr_task_submit(task, ORR_TF_INTERNAL | ORR_TF_NO_QUEUE) == 0) return;
    starpu_task_destroy(task);
    first_value_end(f); /* the reason was said; readers will find that there is no value */
}

void orr_redux_initialise(struct orr_data *h)
{
    struct first_value *f = orr_calloc(1, sizeof *f);
    struct starpu_task *task = f ? starpu_task_create() : NULL;
    struct orr_task_rare *r = task ? orr_task_rare_get(orr_task_of(task)) : NULL;
    bool granted = false;
    if (r) {
        f->access.group = ORR_GROUP_WRITE;
        f->access.waiter.granted = first_value_granted;
        f->handle = h;
        f->task = task;
        task->cl = orr_data_rare(h)->init_cl;
        if (orr_redux_set_modes(task)) orr_warn("reduction: out of memory for the modes of a task");
        task->cl_arg = orr_data_rare(h)->init_cl_arg;
        task->handles[0] = h;
        task->type = STARPU_TASK_TYPE_INTERNAL;
        r->internal_done = first_value_given;
        r->internal_arg = f;
    }
    if (!r || !orr_data_join_first(h, &f->access, &granted)) {
        starpu_task_destroy(task);
        orr_free(f); /* out of memory: readers will find that there is no value */
    } else if (granted) {
        first_value_granted(&f->access.waiter);
    }
}

/* Gives c its neutral value with h's init codelet, in a main memory, or leaves it to the worker: then c has
 * memory there, and nothing in it. */
static int initialise(struct orr_data *h, struct orr_data *c, unsigned node, bool own_init)
{
    struct starpu_codelet *init = orr_data_rare(h)->init_cl;
    orr_store_relaxed(&c->neutral_due, init && !init->cpu_funcs[0] && own_init);
    if (!init || (!init->cpu_funcs[0] && !own_init)) {
        orr_error("reduction: the init codelet has no implementation for CPUs, nor for the worker that "
                  "contributes; starpu_data_set_reduction_methods needs one");
        return -EINVAL;
    }
    int r = orr_fetch_blocking(c, node, STARPU_W);
    if (r) return r;
    void *itf = c->replicates[node].interface;
    if (!orr_load_relaxed(&c->neutral_due)) init->cpu_funcs[0](&itf, orr_data_rare(h)->init_cl_arg);
    orr_fetch_end(c, node, STARPU_W);
    return 0;
}

struct orr_data *orr_redux_contribution(struct orr_data *h, unsigned worker_id, bool own_init)
{
    struct orr_data **slot = contributions(h, worker_id);
    if (!slot) return NULL;
    struct orr_data *c = *slot;
    if (c && c->initialized) return c;
    if (!c) {
        c = orr_data_create(h->ops, -1, h->replicates[orr_node_home()].interface);
        if (!c) return NULL;
    }
    if (orr_codelet_check(orr_data_rare(h)->init_cl) < 0 ||
        initialise(h, c, orr_node_main_of(orr_perf_workers[worker_id].node), own_init)) {
        if (!*slot) orr_data_destroy(c);
        return NULL;
    }
    c->initialized = true;
    *slot = c;
    return c;
}

/* A reduction under way: one task after the other, each adding one contribution. */
struct summing {
    struct orr_data *handle;
    unsigned next;
    bool has_value; /* the handle holds something already */
    bool failed;    /* a step; or what it adds to was lost */
};

static void sum_next(struct orr_task *done, void *arg);

void orr_redux_lose(struct orr_data *h)
{
    orr_spin_lock(&h->queue.lock);
    orr_data_rare(h)->contribution_lost = true;
    orr_spin_unlock(&h->queue.lock);
}

static void finish(struct summing *s)
{
    struct orr_data *h = s->handle;
    bool lost =
        s->failed ||
        orr_data_rare(h)->contribution_lost; /* the tasks that lost theirs have left the queue: no lock */
    orr_data_rare(h)->contribution_lost = false;
    orr_free(s);
    if (lost) orr_data_lose(h);
    orr_data_reduction_done(h);
}

/* What was contributed to h is left out, now and later. */
static void drop_contributions(struct orr_data *h)
{
    struct orr_data_rare *r = orr_data_rare(h);
    for (unsigned i = 0; i < r->redux_count; i++) {
        struct orr_data *c = r->redux_per_worker[i];
        if (!c || !c->initialized) continue;
        orr_data_invalidate_copies(c);
        c->initialized = false;
    }
}

static void give_up(struct summing *s)
{
    orr_fatal("reduction: contributions could not be added up; the value is lost");
    s->failed = true;
    drop_contributions(s->handle);
    finish(s);
}

/* Submits one internal task on handles whose queues are held. */
static int submit_step(struct summing *s, struct starpu_codelet *cl, void *cl_arg, struct orr_data *with)
{
    struct starpu_task *task = starpu_task_create();
    struct orr_task_rare *r = task ? orr_task_rare_get(orr_task_of(task)) : NULL;
    if (!r) {
        starpu_task_destroy(task);
        return -ENOMEM;
    }
    task->cl = cl;
    task->cl_arg = cl_arg;
    task->handles[0] = s->handle;
    task->handles[1] = with;
    if (with) task->handles[2] = orr_data_rare(s->handle)->redux_scratch;
    task->type = STARPU_TASK_TYPE_INTERNAL;
    task->priority = INT_MAX;
    r->internal_done = sum_next;
    r->internal_arg = s;
    int status = orr_redux_set_modes(task);
    if (!status) status = orr_task_submit(task, ORR_TF_INTERNAL | ORR_TF_NO_QUEUE);
    if (status) starpu_task_destroy(task);
    return status;
}

/* done: the step that just ended, NULL at the start. */
static void sum_next(struct orr_task *done, void *arg)
{
    struct summing *s = arg;
    struct orr_data_rare *r = orr_data_rare(s->handle);
    if (done && (done->flags & ORR_TF_FAILED)) s->failed = true;
    if (done && done->pub->handles[1]) { /* that contribution is in */
        struct orr_data *c = done->pub->handles[1];
        orr_data_invalidate_copies(c);
        c->initialized = false;
    }
    if (!s->has_value) {
        s->has_value = true;
        orr_spin_lock(&s->handle->queue.lock);
        s->handle->initialized = true;
        orr_spin_unlock(&s->handle->queue.lock);
        if (submit_step(s, r->init_cl, r->init_cl_arg, NULL) != 0) give_up(s);
        return;
    }
    for (; s->next < r->redux_count; s->next++) {
        struct orr_data *c = r->redux_per_worker[s->next];
        if (!c || !c->initialized || orr_load_relaxed(&c->neutral_due))
            continue; /* the last: whoever was to use it did not run */
        s->next++;
        if (submit_step(s, r->redux_cl, r->redux_cl_arg, c) != 0) give_up(s);
        return;
    }
    finish(s);
}

void orr_redux_start(struct orr_data *h)
{
    struct summing *s = orr_calloc(1, sizeof *s);
    if (!s) {
        orr_fatal("reduction: out of memory; the value is lost");
        drop_contributions(h);
        orr_data_rare(h)->contribution_lost = false;
        orr_data_lose(h);
        orr_data_reduction_done(h);
        return;
    }
    s->handle = h;
    s->has_value = h->initialized;
    s->failed = !s->has_value && h->lost;
    sum_next(NULL, s);
}
