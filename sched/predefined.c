/* SPDX-License-Identifier: BSD-3-Clause */
/* predefined.c: the policies of the library as structs with methods (starpu_sched_get_predefined_policies),
 * so that a program can copy one, put methods of its own before or behind some, and use that. Threads: as for
 * the methods of any policy of the program. Owns: which policy stands behind each context that uses such a
 * copy. Not here: how methods are called (user.c); a struct that is used as it is, which runs without all
 * this (choose_policy in core/run/context.c).
 *
 * Policies of the library are called without a worker's mutex: pop_task releases it meanwhile. Nothing is
 * lost by that, for whoever pushes wakes every worker of the context, and a wake-up while the mutex is
 * released keeps the worker awake. */
#include <starpu.h>
#include <starpu_graph.h>

#include "core/base/log.h"
#include "core/worker/park.h"
#include "core/worker/worker.h"

#define ORR_POLICY(id) extern const struct orr_policy_ops orr_policy_##id;
#include "sched/builtin.def"
#undef ORR_POLICY

static struct wrapped {
    const struct orr_policy_ops *ops; /* NULL: init_sched was not called [const while the context is open] */
    void *instance;                   /* NULL: out of memory */
} wrapped[STARPU_NMAX_SCHED_CTXS];

/* ---- life ---- */

static void init(unsigned id, const struct orr_policy_ops *ops)
{
    struct orr_ctx *ctx = orr_ctx_get(id);
    if (!ctx) return;
    wrapped[id].ops = ops;
    if (ops->flags & ORR_POLICY_GRAPH) _starpu_graph_record = 1;
    if (!ctx->priorities_set) {
        ctx->min_priority = ops->min_priority;
        ctx->max_priority = ops->max_priority;
    }
    wrapped[id].instance = ops->create(ctx);
    if (!wrapped[id].instance) orr_error("scheduling policy %s: out of memory", ops->name);
}

static void deinit_sched(unsigned id)
{
    if (id >= STARPU_NMAX_SCHED_CTXS || !wrapped[id].ops) return;
    if (wrapped[id].instance) wrapped[id].ops->destroy(wrapped[id].instance);
    wrapped[id] = (struct wrapped){ .ops = NULL };
}

/* The policy behind a context; NULL, said once: there is none. */
static const struct wrapped *behind(unsigned id)
{
    static _Atomic bool told;
    if (orr_likely(id < STARPU_NMAX_SCHED_CTXS && wrapped[id].instance)) return &wrapped[id];
    if (!atomic_exchange_explicit(&told, true, memory_order_relaxed))
        orr_error(
            "a method of a predefined scheduling policy was called for context %u, but not its init_sched: "
            "call that in yours",
            id);
    return NULL;
}

/* ---- tasks ---- */

static int predefined_push_task(struct starpu_task *task)
{
    struct orr_task *t = orr_task_of(task);
    const struct wrapped *p = behind(t->sched_ctx);
    struct orr_ctx *ctx = &orr_contexts[t->sched_ctx];
    if (!p) return -ENODEV;
    starpu_push_task_end(task);
    starpu_worker_relax_on(); /* waking takes workers' mutexes */
    p->ops->push(p->instance, t);
    orr_wake_each(ctx);
    starpu_worker_relax_off();
    return 0;
}

static void push_task_notify(struct starpu_task *task, int workerid, int perf_workerid, unsigned id)
{
    const struct wrapped *p = behind(id);
    (void)perf_workerid;
    if (p) p->ops->push_notify(p->instance, orr_task_of(task), &orr_workers[workerid]);
}

static struct starpu_task *pop_task(unsigned id)
{
    struct orr_worker *self = orr_worker_self();
    const struct wrapped *p = behind(id);
    if (!p || !self) return NULL;
    starpu_worker_relax_on();
    struct orr_task *t = p->ops->pop(p->instance, self);
    starpu_worker_relax_off();
    return t ? t->pub : NULL;
}

/* ---- notices ---- */

static void submit_hook(struct starpu_task *task)
{
    struct orr_task *t = orr_task_of(task);
    const struct wrapped *p = behind(t->sched_ctx);
    if (p) p->ops->submit_hook(p->instance, t);
}

static void pre_exec_hook(struct starpu_task *task, unsigned id)
{
    const struct wrapped *p = behind(id);
    if (p && orr_worker_self()) p->ops->pre_exec(p->instance, orr_task_of(task), orr_worker_self());
}

static void post_exec_hook(struct starpu_task *task, unsigned id)
{
    const struct wrapped *p = behind(id);
    if (p && orr_worker_self()) p->ops->post_exec(p->instance, orr_task_of(task), orr_worker_self());
}

static void predefined_do_schedule(unsigned id)
{
    const struct wrapped *p = behind(id);
    if (!p) return;
    p->ops->do_schedule(p->instance);
    orr_wake_each(&orr_contexts[id]);
}

static void predefined_add_workers(unsigned id, int *workerids, unsigned nworkers)
{
    const struct wrapped *p = behind(id);
    if (p && p->ops->add_workers) p->ops->add_workers(p->instance, workerids, nworkers);
}

static void predefined_remove_workers(unsigned id, int *workerids, unsigned nworkers)
{
    const struct wrapped *p = behind(id);
    if (p && p->ops->remove_workers) p->ops->remove_workers(p->instance, workerids, nworkers);
}

/* ---- the list ---- */

#define ORR_POLICY(id)                                                                                       \
    static void init_##id(unsigned ctx)                                                                      \
    {                                                                                                        \
        init(ctx, &orr_policy_##id);                                                                         \
    }
#include "sched/builtin.def"
#undef ORR_POLICY

static void (*const inits[])(unsigned) = {
#define ORR_POLICY(id) init_##id,
#include "sched/builtin.def"
#undef ORR_POLICY
};
enum { POLICIES = sizeof inits / sizeof inits[0] };

static struct starpu_sched_policy policies[POLICIES];
static struct starpu_sched_policy *list[POLICIES + 1];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_list(void)
{
    for (int i = 0; i < POLICIES; i++) {
        const struct orr_policy_ops *ops = orr_policy_set.builtin[i];
        policies[i] = (struct starpu_sched_policy){
            .init_sched = inits[i],
            .deinit_sched = deinit_sched,
            .add_workers = predefined_add_workers,
            .remove_workers = predefined_remove_workers,
            .push_task = predefined_push_task,
            .pop_task = pop_task,
            .push_task_notify = ops->push_notify ? push_task_notify : NULL,
            .submit_hook = ops->submit_hook ? submit_hook : NULL,
            .pre_exec_hook = ops->pre_exec ? pre_exec_hook : NULL,
            .post_exec_hook = ops->post_exec ? post_exec_hook : NULL,
            .do_schedule = ops->do_schedule ? predefined_do_schedule : NULL,
            .prefetches = ops->prefetches,
            .policy_name = ops->name,
            .policy_description = ops->description,
            .worker_type = STARPU_WORKER_LIST,
        };
        list[i] = &policies[i];
    }
}

struct starpu_sched_policy **starpu_sched_get_predefined_policies(void)
{
    pthread_once(&once, make_list);
    return list;
}
