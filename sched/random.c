/* SPDX-License-Identifier: BSD-3-Clause */
/* random.c: each task goes to a worker drawn at random, in proportion to the workers' assumed speeds.
 * Threads: any pushes; workers run their own queues. Owns: nothing (workers' local queues hold the tasks).
 * Not here: speeds (core/task/perf.c).
 *
 * Where all workers are alike, one that has nothing else to do keeps what it has made ready: another that is
 * drawn would not begin it earlier, and the data is here. */
#include <starpu.h>

#include "core/base/alloc.h"
#include "core/worker/park.h"
#include "core/worker/tell.h"
#include "sched/draw.h"
#include "sched/pool.h"
#include "sched/watchman.h"

struct drawing {
    struct orr_ctx *ctx;
    _Atomic bool alike;       /* the context's workers are */
    struct orr_pool *nobodys; /* tasks that no worker of the context can run: they wait for one that joins */
    struct orr_watchman watchman;
};

static void *random_create(struct orr_ctx *ctx)
{
    struct drawing *d = orr_calloc(1, sizeof *d);
    if (!d) return NULL;
    d->ctx = d->watchman.ctx = ctx;
    d->nobodys = orr_pool_create();
    if (d->nobodys) return d;
    orr_free(d);
    return NULL;
}

static void random_destroy(void *instance)
{
    struct drawing *d = instance;
    orr_pool_destroy(d->nobodys);
    orr_free(d);
}

/* A worker that can run t; NULL: none. One that leaves meanwhile gives it back. */
static struct orr_worker *choose(struct drawing *d, struct orr_task *t)
{
    double speed[STARPU_NMAXWORKERS], sum = 0;
    unsigned nimpl;
    struct orr_worker *chosen = NULL;
    for (unsigned i = 0; i < orr_worker_count; i++) {
        struct orr_worker *w = &orr_workers[i];
        bool can = orr_ctx_has(d->ctx, i) && orr_worker_can_run(w, t, &nimpl);
        speed[i] = can ? starpu_worker_get_relative_speedup(&w->arch) : 0;
        sum += speed[i];
    }
    double at = sum > 0 ? orr_draw() * sum : 0;
    for (unsigned i = 0; i < orr_worker_count; i++) {
        if (speed[i] <= 0) continue;
        chosen = &orr_workers[i];
        if ((at -= speed[i]) < 0) break;
    }
    return chosen;
}

struct drawn {
    const struct drawing *d;
    struct orr_task *t;
    const struct orr_worker *w;
};

/* Whether it can do for the worker that was drawn. */
static bool stands_in(const void *arg, struct orr_worker *it)
{
    const struct drawn *a = arg;
    unsigned nimpl;
    return it->where == a->w->where && orr_ctx_has(a->d->ctx, (unsigned)it->id) &&
           orr_worker_can_run(it, a->t, &nimpl);
}

static void random_push(void *instance, struct orr_task *t)
{
    struct drawing *d = instance;
    struct orr_worker *w = choose(d, t);
    if (orr_unlikely(!w)) {
        orr_pool_push(d->nobodys, t);
        orr_wake_each(d->ctx); /* workers that joined just now */
        return;
    }
    w = orr_awake_beside(w, stands_in, &(struct drawn){ d, t, w });
    orr_tell_placed(t, w);
    orr_worker_push_local(w, t, t->priority > 0);
    orr_watchman_wanted(&d->watchman);
}

static bool random_may_keep(void *instance, struct orr_task *t, struct orr_worker *w)
{
    struct drawing *d = instance;
    (void)t;
    return orr_load_relaxed(&d->alike) && orr_load_relaxed(&w->local_count) == 0 &&
           orr_pool_length(d->nobodys) == 0;
}

static void look_at_workers(struct drawing *d)
{
    const struct orr_worker *first = NULL;
    bool alike = true;
    for (unsigned i = 0; i < orr_worker_count; i++) {
        const struct orr_worker *w = &orr_workers[i];
        if (!orr_ctx_has(d->ctx, i)) continue;
        if (!first) first = w;
        alike &= w->where == first->where && w->node == first->node;
    }
    orr_store_relaxed(&d->alike, alike);
}

static int random_add_workers(void *instance, const int *workers, unsigned count)
{
    (void)workers;
    (void)count;
    look_at_workers(instance);
    return 0;
}

static void random_remove_workers(void *instance, const int *workers, unsigned count)
{
    (void)workers;
    (void)count;
    look_at_workers(instance);
}

/* The rest is in the workers' own queues. */
static struct orr_task *random_pop(void *instance, struct orr_worker *w)
{
    return orr_pool_pop(((struct drawing *)instance)->nobodys, w);
}

/* ---- tasks of workers that do not get to them ---- */

static bool anything_waits(void *instance)
{
    const struct drawing *d = instance;
    for (unsigned i = 0; i < orr_worker_count; i++)
        if (orr_ctx_has(d->ctx, i) && orr_load_seq(&orr_workers[i].local_count) > 0) return true;
    return false;
}

/* No function of the program's is called with the lock of the queue. */
static bool may_take(const struct orr_task *t, void *arg)
{
    const struct drawn *a = arg;
    unsigned nimpl;
    return t->sched_ctx == a->d->ctx->id && !t->pub->cl->can_execute &&
           orr_worker_can_run((struct orr_worker *)a->w, (struct orr_task *)t, &nimpl);
}

static bool may_ask(const struct orr_task *t, void *arg)
{
    return t->sched_ctx == ((const struct drawn *)arg)->d->ctx->id && t->pub->cl->can_execute;
}

static struct orr_task *take_from(struct drawing *d, struct orr_worker *from, struct orr_worker *w)
{
    struct drawn a = { .d = d, .w = w };
    unsigned nimpl;
    struct orr_task *t = orr_worker_take_local(from, may_take, &a);
    if (t || !(t = orr_worker_take_local(from, may_ask, &a))) return t;
    if (orr_worker_can_run(w, t, &nimpl)) return t;
    orr_worker_push_local(from, t, false);
    return NULL;
}

/* Another worker of the same kind would have been as good a draw. */
static struct orr_task *take(void *instance, struct orr_worker *w)
{
    struct drawing *d = instance;
    struct orr_task *t = NULL;
    for (unsigned i = 0; i < orr_worker_count && !t; i++) {
        struct orr_worker *from = &orr_workers[i];
        if (from == w || from->where != w->where || from->node != w->node) continue;
        if (!orr_ctx_has(d->ctx, i) || !orr_watchman_saw_slow(&d->watchman, i)) continue;
        t = take_from(d, from, w);
    }
    return t;
}

static struct orr_task *random_watch(void *instance, struct orr_worker *w, bool *again_out)
{
    struct drawing *d = instance;
    return orr_watchman_look(&d->watchman, d, anything_waits, take, w, again_out);
}

static void random_watch_end(void *instance, struct orr_worker *w)
{
    struct drawing *d = instance;
    orr_watchman_leaves(&d->watchman, d, anything_waits, w);
}

const struct orr_policy_ops orr_policy_random = {
    .name = "random",
    .description = "a worker at random, in proportion to the workers' speed",
    .create = random_create,
    .destroy = random_destroy,
    .add_workers = random_add_workers,
    .remove_workers = random_remove_workers,
    .may_keep = random_may_keep,
    .push = random_push,
    .pop = random_pop,
    .watch = random_watch,
    .watch_end = random_watch_end,
};
