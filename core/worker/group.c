/* SPDX-License-Identifier: BSD-3-Clause */
/* group.c: contexts made without a policy: their workers together are one resource, which runs one task at a
 * time. Threads: any pushes; members change themselves. Owns: nothing (the master's own queue holds the
 * tasks). Not here: groups that programs make of the whole machine (core/run/parallel_worker.c).
 *
 * The first CPU worker of the context, its master, runs the tasks, and serves its other contexts as well. The
 * others are captured: they serve nobody, so their cores are free for what the task does in parallel.
 *
 * With awake workers, nobody is captured, and each runs the body of each task: by a small task of its own, a
 * share, bound to it. The first to come brings the data, the last to go ends the task. */
#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/worker/group.h"
#include "core/worker/inputs.h"
#include "core/worker/member.h"
#include "core/worker/tell.h"

struct group {
    struct orr_ctx *ctx;
    _Atomic int master; /* a worker; -1: none */
};

static void *create(struct orr_ctx *ctx)
{
    struct group *g = orr_calloc(1, sizeof *g);
    if (!g) return NULL;
    g->ctx = ctx;
    orr_store_relaxed(&g->master, -1);
    return g;
}

static void destroy(void *instance)
{
    orr_free(instance);
}

static int choose_master(struct orr_ctx *ctx)
{
    unsigned n = orr_load_relaxed(&ctx->nworkers);
    for (unsigned i = 0; i < n; i++) {
        int id = orr_load_relaxed(&ctx->workers[i]);
        if (orr_workers[id].type == STARPU_CPU_WORKER) return id;
    }
    return n > 0 ? orr_load_relaxed(&ctx->workers[0]) : -1;
}

static void capture(struct group *g, int worker, bool captured)
{
    uint32_t bit = UINT32_C(1) << g->ctx->id;
    if (worker >= 0 && !g->ctx->awake_workers)
        orr_member_capture(&orr_workers[worker], captured ? bit : 0, captured ? 0 : bit);
}

/* A new master is let go, the old one captured if it is still a member. */
static void update_master(struct group *g)
{
    int before = orr_load_relaxed(&g->master), now = choose_master(g->ctx);
    if (before == now) return;
    orr_store_seq(&g->master, now);
    capture(g, now, false);
    if (before >= 0 && orr_ctx_has(g->ctx, (unsigned)before)) capture(g, before, true);
}

static int add_workers(void *instance, const int *workers, unsigned count)
{
    struct group *g = instance;
    update_master(g);
    for (unsigned i = 0; i < count; i++)
        if (workers[i] != orr_load_relaxed(&g->master)) capture(g, workers[i], true);
    return 0;
}

static void remove_workers(void *instance, const int *workers, unsigned count)
{
    struct group *g = instance;
    update_master(g);
    for (unsigned i = 0; i < count; i++) capture(g, workers[i], false);
}

/* ---- tasks that all run ---- */

struct common {
    struct orr_task *task;
    _Atomic unsigned left; /* shares that have not ended, and one for the thread that hands them out */
    _Atomic bool begun;
    bool failed; /* its data could not be brought; published by: */
    struct orr_event data_is_here;
};

/* The last one ends the task, on whatever thread. */
static void end_share(struct common *c)
{
    if (orr_sub_acq_rel(&c->left, 1u) > 1) return;
    struct orr_worker *self = orr_worker_self();
    struct orr_task *t = c->task;
    if (t->flags & ORR_TF_FETCHED) orr_task_inputs_done(self ? self : &orr_workers[t->worker], t);
    t->flags &= ~(uint32_t)ORR_TF_FETCHED;
    orr_free(c);
    if (self)
        orr_worker_finish(self, t);
    else if (orr_task_body_done(t))
        orr_task_complete(t);
}

static void bring_data(struct common *c, struct orr_worker *w)
{
    if (!atomic_exchange_explicit(&c->begun, true, memory_order_acq_rel)) {
        orr_worker_begin(w, c->task);
        int r = orr_fetch_inputs_to_keep(w, c->task);
        if (r) orr_task_without_inputs(w, c->task, r);
        c->failed = r != 0;
        orr_event_set(&c->data_is_here);
    }
    orr_event_wait(&c->data_is_here);
}

static void run_share(void *buffers[], void *arg)
{
    struct common *c = arg;
    struct orr_task_thread *self = orr_task_self();
    struct orr_worker *w = orr_worker_self();
    struct orr_task *t = c->task, *share = self->current;
    struct starpu_task *p = t->pub;
    (void)buffers;
    bring_data(c, w);
    self->current = t;
    if (!c->failed) p->cl->cpu_funcs[t->nimpl](STARPU_TASK_GET_INTERFACES(p), p->cl_arg);
    self->current = share;
    end_share(c);
}

static struct starpu_codelet share_cl = { .cpu_funcs = { run_share }, .name = "share of a task" };

static bool hand_out_share(struct common *c, int worker)
{
    struct starpu_task *p = starpu_task_create();
    if (!p) return false;
    p->cl = &share_cl;
    p->cl_arg = c;
    p->sched_ctx = 0;
    p->execute_on_a_specific_worker = 1;
    p->workerid = (unsigned)worker;
    orr_add_acq_rel(&c->left, 1u);
    if (orr_task_submit(p, ORR_TF_INTERNAL) == 0) return true;
    orr_sub_acq_rel(&c->left, 1u); /* not the last: the caller has one */
    starpu_task_destroy(p);
    return false;
}

/* False: nobody has got a share. */
static bool hand_out(struct group *g, struct orr_task *t)
{
    struct common *c = orr_calloc(1, sizeof *c);
    unsigned shares = 0;
    if (!c) return false;
    c->task = t;
    orr_store_relaxed(&c->left, 1u);
    orr_event_init(&c->data_is_here);
    for (unsigned i = 0; i < orr_worker_count; i++)
        if (orr_ctx_has(g->ctx, i) && orr_workers[i].type == STARPU_CPU_WORKER)
            shares += hand_out_share(c, (int)i);
    if (shares == 0) {
        orr_free(c);
        return false;
    }
    end_share(c);
    return true;
}

/* A master that leaves meanwhile gives the task back. */
static void push(void *instance, struct orr_task *t)
{
    struct group *g = instance;
    if (g->ctx->awake_workers && hand_out(g, t)) return;
    int master = orr_load_seq(&g->master);
    struct orr_worker *w = &orr_workers[master >= 0 ? master : 0];
    orr_tell_placed(t, w);
    orr_worker_push_local(w, t, t->priority > 0);
}

static struct orr_task *pop(void *instance, struct orr_worker *w)
{
    (void)instance;
    (void)w;
    return NULL;
}

const struct orr_policy_ops orr_group_policy = {
    .name = "none",
    .description = "no policy: one task at a time has all cores",
    .create = create,
    .destroy = destroy,
    .add_workers = add_workers,
    .remove_workers = remove_workers,
    .push = push,
    .pop = pop,
};

int orr_group_master(struct orr_ctx *ctx)
{
    return ctx->policy == &orr_group_policy ? orr_load_seq(&((struct group *)ctx->instance)->master) : -1;
}
