/* SPDX-License-Identifier: BSD-3-Clause */
/* user.c: runs a policy that the program wrote against struct starpu_sched_policy, with the locking its
 * documentation promises: a worker's mutex is held around pop_task, and deciding to sleep is atomic with the
 * answer NULL.
 * Threads: as for any policy. Owns: the instance (a context and the program's table). Not here:
 * starpu_wake_worker and its relatives (core/worker/policy.c). */
#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/worker/park.h"
#include "core/worker/worker.h"

struct adapted {
    struct orr_ctx *ctx;
    struct starpu_sched_policy *user; /* [const] the program's */
};

static void *create(struct orr_ctx *ctx)
{
    struct adapted *a = orr_calloc(1, sizeof *a);
    if (!a) return NULL;
    a->ctx = ctx;
    a->user = ctx->user;
    if (a->user->init_sched) a->user->init_sched(ctx->id);
    return a;
}

static void destroy(void *instance)
{
    struct adapted *a = instance;
    if (a->user->deinit_sched) a->user->deinit_sched(a->ctx->id);
    orr_free(a);
}

static int add_workers(void *instance, const int *workers, unsigned count)
{
    struct adapted *a = instance;
    if (a->user->add_workers) a->user->add_workers(a->ctx->id, (int *)workers, count);
    return 0;
}

static void remove_workers(void *instance, const int *workers, unsigned count)
{
    struct adapted *a = instance;
    if (a->user->remove_workers) a->user->remove_workers(a->ctx->id, (int *)workers, count);
}

static void push(void *instance, struct orr_task *t)
{
    struct adapted *a = instance;
    t->pub->scheduled = 1;
    t->pub->sched_ctx = t->sched_ctx;
    int r = a->user->push_task(t->pub);
    if (r < 0)
        orr_fatal("scheduling policy %s refused task %s (%d)",
                  a->user->policy_name ? a->user->policy_name : "of the program", orr_task_name(t), r);
}

/* Called with w->sched_mutex held, which pop_task may release and take again. */
static struct orr_task *pop_locked(struct adapted *a, struct orr_worker *w)
{
    if (!a->user->pop_task) return NULL;
    w->holds_mutex = true;
    struct starpu_task *p = a->user->pop_task(a->ctx->id);
    w->holds_mutex = false;
    return p ? orr_task_of(p) : NULL;
}

static struct orr_task *pop(void *instance, struct orr_worker *w)
{
    pthread_mutex_lock(&w->sched_mutex);
    struct orr_task *t = pop_locked(instance, w);
    pthread_mutex_unlock(&w->sched_mutex);
    return t;
}

static struct orr_task *pop_or_sleep(void *instance, struct orr_worker *w)
{
    pthread_mutex_lock(&w->sched_mutex);
    struct orr_task *t = pop_locked(instance, w);
    if (!t && !w->keep_awake && orr_load_seq(&w->local_count) == 0 && !orr_load_seq(&orr_lot.stopping) &&
        !orr_load_seq(&orr_lot.paused)) {
        w->sleeping_on_cond = true;
        orr_sleep_begin(w);
        pthread_cond_wait(&w->sched_cond, &w->sched_mutex);
        orr_sleep_end(w);
        w->sleeping_on_cond = false;
    }
    w->keep_awake = false;
    pthread_mutex_unlock(&w->sched_mutex);
    return t;
}

static void submit_hook(void *instance, struct orr_task *t)
{
    struct adapted *a = instance;
    t->pub->sched_ctx = t->sched_ctx;
    if (a->user->submit_hook) a->user->submit_hook(t->pub);
}

static void push_notify(void *instance, struct orr_task *t, struct orr_worker *w)
{
    struct adapted *a = instance;
    if (a->user->push_task_notify) a->user->push_task_notify(t->pub, w->id, w->id, a->ctx->id);
}

static void pre_exec(void *instance, struct orr_task *t, struct orr_worker *w)
{
    struct adapted *a = instance;
    (void)w;
    if (a->user->pre_exec_hook) a->user->pre_exec_hook(t->pub, a->ctx->id);
}

static void post_exec(void *instance, struct orr_task *t, struct orr_worker *w)
{
    struct adapted *a = instance;
    (void)w;
    if (a->user->post_exec_hook) a->user->post_exec_hook(t->pub, a->ctx->id);
}

static void do_schedule(void *instance)
{
    struct adapted *a = instance;
    if (a->user->do_schedule) a->user->do_schedule(a->ctx->id);
}

const struct orr_policy_ops orr_user_policy = {
    .name = "user",
    .description = "a policy of the program's own",
    .flags = ORR_POLICY_USER,
    .create = create,
    .destroy = destroy,
    .add_workers = add_workers,
    .remove_workers = remove_workers,
    .push = push,
    .pop = pop,
    .pop_or_sleep = pop_or_sleep,
    .submit_hook = submit_hook,
    .push_notify = push_notify,
    .pre_exec = pre_exec,
    .post_exec = post_exec,
    .do_schedule = do_schedule,
};
