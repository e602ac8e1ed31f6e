/* SPDX-License-Identifier: BSD-3-Clause */
/* admission.c: which worker can run a task, and whether any can: then it is accepted.
 * Threads: any. Owns: nothing. Not here: the data of a task (core/task/submit.c), which worker is best
 * (sched). */
#include "core/worker/worker.h"

#include "core/base/log.h"
#include "core/worker/combined.h"
#include "core/worker/driver.h"

static bool allowed_by_mask(const struct starpu_task *p, unsigned id)
{
    return p->workerids_len == 0 || (id / 32 < p->workerids_len && (p->workerids[id / 32] >> (id % 32) & 1));
}

bool orr_worker_borrows(const struct orr_worker *w, const struct starpu_codelet *cl)
{
    return w->functions == 0 && !orr_kind_functions(orr_kinds[w->type].functions, cl)[0];
}

starpu_cpu_func_t orr_worker_function_borrowed(const struct orr_worker *w, const struct starpu_codelet *cl,
                                               unsigned nimpl)
{
    const starpu_cpu_func_t *own = orr_kind_functions(orr_kinds[w->type].functions, cl);
    if (!own[0]) return cl->cpu_funcs[nimpl];
    return cl->where == 0 || (cl->where & STARPU_WORKER_TO_MASK(w->type)) ? own[nimpl] : NULL;
}

bool orr_worker_can_run_impl(struct orr_worker *w, struct orr_task *t, unsigned nimpl)
{
    struct starpu_task *p = t->pub;
    struct starpu_codelet *cl = p->cl;
    if (!(orr_task_where(p) & w->where) || !orr_worker_function(w, cl, nimpl)) return false;
    if (p->workerids_len && !allowed_by_mask(p, (unsigned)w->id)) return false;
    return !cl->can_execute || cl->can_execute((unsigned)w->id, p, nimpl);
}

bool orr_worker_can_run(struct orr_worker *w, struct orr_task *t, unsigned *nimpl_out)
{
    for (unsigned i = 0; i < STARPU_MAXIMPLEMENTATIONS; i++)
        if (orr_worker_can_run_impl(w, t, i)) {
            *nimpl_out = i;
            return true;
        }
    return false;
}

static uint32_t kinds_present; /* [const while workers run] bits of where */

static int refuse(struct orr_task *t, const char *why)
{
    orr_error("task %s cannot be submitted: %s", orr_task_name(t), why);
    return -ENODEV;
}

static bool somebody_can(struct orr_task *t)
{
    unsigned nimpl;
    for (unsigned i = 0; i < orr_worker_count; i++)
        if (orr_worker_can_run(&orr_workers[i], t, &nimpl)) return true;
    return false;
}

static int check_combined(struct orr_task *t, const struct orr_combined *c)
{
    unsigned nimpl;
    if (t->pub->workerorder)
        return refuse(t, "it is bound to a combined worker: only single workers have an order (workerorder)");
    if (!orr_task_may_use(t, c->size))
        return refuse(
            t, "it is bound to a combined worker, but its codelet is not parallel (type), or not for so "
               "many workers (max_parallelism)");
    if (!orr_combined_can_run_any(c, t, &nimpl))
        return refuse(t, "the combined worker it is bound to cannot run it (implementations, can_execute)");
    return 0;
}

static int check_specific(struct orr_task *t)
{
    struct starpu_task *p = t->pub;
    unsigned nimpl;
    const struct orr_combined *c = orr_combined_get(p->workerid);
    if (orr_unlikely(c != NULL)) return check_combined(t, c);
    if (p->workerid >= orr_worker_count) return refuse(t, "workerid is not the number of a worker");
    if (!orr_worker_can_run(&orr_workers[p->workerid], t, &nimpl))
        return refuse(t, "the worker it is bound to has no implementation for it");
    if (p->workerorder && orr_worker_order_is_taken(&orr_workers[p->workerid], p->workerorder))
        return refuse(t, "its workerorder is taken already: orders are consecutive from 1 and used once");
    return 0;
}

static int check_runnable(struct orr_task *t)
{
    struct starpu_task *p = t->pub;
    unsigned ctx = p->sched_ctx != STARPU_NMAX_SCHED_CTXS ? p->sched_ctx : orr_worker_own()->sched_ctx;
    if (orr_unlikely(ctx >= STARPU_NMAX_SCHED_CTXS || !orr_load_acquire(&orr_contexts[ctx].open)))
        return refuse(t, orr_worker_count ? "its scheduling context does not exist"
                                          : "the runtime is not initialised; call starpu_init");
    t->sched_ctx = (uint16_t)ctx;
    p->sched_ctx = ctx;
    if (!p->cl || orr_task_where(p) == STARPU_NOWHERE) return 0;
    if (orr_unlikely(p->execute_on_a_specific_worker)) return check_specific(t);
    if (orr_unlikely(!(orr_task_where(p) & kinds_present)))
        return refuse(t, "no worker of a kind it has an implementation for (see starpu_codelet.where and the "
                         "number of workers)");
    if (orr_unlikely(!orr_task_where_tells(p)) && !somebody_can(t))
        return refuse(t, "no worker can execute it (can_execute, workerids, where, implementations)");
    return 0;
}

void orr_admission_init(void)
{
    kinds_present = 0;
    for (unsigned i = 0; i < orr_worker_count; i++) kinds_present |= orr_workers[i].where;
    orr_task_hooks.check_runnable = check_runnable;
}
