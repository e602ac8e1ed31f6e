/* SPDX-License-Identifier: BSD-3-Clause */
/* joblist.c: job lists as programs use them (orrery.h).
 * Threads: any. Owns: nothing. Not here: order and windows (core/worker/joblist.c), which worker serves which
 * list (core/worker/jobpool.c). */
#include <orrery.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/data/partition.h"
#include "core/worker/combined.h"
#include "core/worker/joblist.h"
#include "core/worker/wait.h"

/* ---- life ---- */

struct orrery_joblist *orrery_joblist_create(const char *name, unsigned sched_ctx_id)
{
    unsigned id = sched_ctx_id < STARPU_NMAX_SCHED_CTXS ? sched_ctx_id : orr_worker_own()->sched_ctx;
    if (!starpu_is_initialized()) {
        orr_error("orrery_joblist_create: the runtime is not initialised; call starpu_init");
        return NULL;
    }
    if (!orr_load_acquire(&orr_contexts[id].open)) {
        orr_error("orrery_joblist_create: there is no scheduling context %u", id);
        return NULL;
    }
    struct orrery_joblist *list = orr_joblist_create(name, id);
    if (!list) orr_error("orrery_joblist_create: out of memory");
    return list;
}

void orrery_joblist_destroy(struct orrery_joblist *list)
{
    if (!list) return;
    orr_joblist_close(list);
    orr_joblist_start(list);
    orr_joblist_unref(list);
}

const char *orrery_joblist_get_name(const struct orrery_joblist *list)
{
    return list ? list->name : NULL;
}

unsigned orrery_joblist_get_context(const struct orrery_joblist *list)
{
    return list ? list->sched_ctx : STARPU_NMAX_SCHED_CTXS;
}

/* ---- holding it back ---- */

static int misuse(const struct orrery_joblist *list, const char *function, const char *what);

int orrery_joblist_stop(struct orrery_joblist *list)
{
    if (!list) return misuse(list, "orrery_joblist_stop", NULL);
    orr_joblist_stop(list);
    return 0;
}

int orrery_joblist_start(struct orrery_joblist *list)
{
    if (!list) return misuse(list, "orrery_joblist_start", NULL);
    orr_joblist_start(list);
    return 0;
}

/* ---- adding ---- */

/* Why the task cannot be a job of the list, or NULL. */
static const char *refusal(const struct orrery_joblist *list, const struct starpu_task *task)
{
    const struct orr_ctx *ctx = &orr_contexts[list->sched_ctx];
    if (starpu_is_initialized() &&
        (!orr_load_acquire(&ctx->open) || orr_load_relaxed(&ctx->generation) != list->generation))
        return "has no context to run in: the list's was deleted; destroy the list, and make one in another";
    if (task->magic != 42) return "was not initialised; use starpu_task_create or starpu_task_init";
    if (task->synchronous) return "is synchronous; add it without, and wait with orrery_joblist_wait_for_all";
    if (task->regenerate) return "regenerates; a job runs once";
    if (task->workerorder && task->execute_on_a_specific_worker)
        return "has a workerorder; a job's order is that of its list";
    if (task->execute_on_a_specific_worker && orr_combined_get(task->workerid))
        return "is bound to a combined worker; a worker runs a list's jobs alone, so name a single one or "
               "none";
    if (task->sched_ctx != STARPU_NMAX_SCHED_CTXS && task->sched_ctx != list->sched_ctx)
        return "names another scheduling context than its list";
    return NULL;
}

static bool is_closed(struct orrery_joblist *list)
{
    orr_spin_lock(&list->lock);
    bool closed = list->destroyed;
    orr_spin_unlock(&list->lock);
    return closed;
}

static int misuse(const struct orrery_joblist *list, const char *function, const char *what)
{
    if (list)
        orr_error("%s: job list \"%s\": %s", function, list->name, what);
    else
        orr_error("%s: the job list is NULL", function);
    return -EINVAL;
}

int orrery_joblist_add_job(struct orrery_joblist *list, struct starpu_task *task)
{
    static const char function[] = "orrery_joblist_add_job";
    if (!list) return misuse(list, function, NULL);
    if (!task) return misuse(list, function, "the task is NULL");
    if (is_closed(list)) return misuse(list, function, "it was destroyed, and takes no more jobs");
    const char *why = refusal(list, task);
    if (why) {
        orr_error("%s: job list \"%s\": the task %s", function, list->name, why);
        return -EINVAL;
    }
    struct orr_task *t = orr_task_private(task);
    struct orr_job *job = t && orr_task_rare_get(t) ? orr_job_create() : NULL;
    if (!job) {
        orr_error("%s: job list \"%s\": out of memory", function, list->name);
        return -ENOMEM;
    }
    unsigned before = task->sched_ctx;
    task->sched_ctx = list->sched_ctx;
    struct orr_partition_use use;
    int r = orr_task_prepare(task, ORR_TF_LISTED | ORR_TF_HELD, &use);
    if (r) {
        task->sched_ctx = before;
        orr_job_destroy(job);
        return r;
    }
    orr_joblist_append(list, job, t, &use);
    return 0;
}

int orrery_joblist_add_signal(struct orrery_joblist *list)
{
    static const char function[] = "orrery_joblist_add_signal";
    int r = list ? orr_joblist_signal(list) : misuse(list, function, NULL);
    if (r == -EINVAL && list)
        misuse(list, function, "the signal before it has no wait yet; pairs neither nest nor overlap");
    if (r == -ENOMEM) orr_error("%s: job list \"%s\": out of memory", function, list->name);
    return r;
}

int orrery_joblist_add_wait(struct orrery_joblist *list)
{
    static const char function[] = "orrery_joblist_add_wait";
    int r = list ? orr_joblist_wait(list) : misuse(list, function, NULL);
    if (r && list) misuse(list, function, "there is no signal for it; call orrery_joblist_add_signal before");
    return r;
}

/* ---- waiting and asking ---- */

int orrery_joblist_wait_for_all(struct orrery_joblist *list)
{
    static const char function[] = "orrery_joblist_wait_for_all";
    if (!list) return misuse(list, function, NULL);
    if (orr_task_inside()) {
        orr_error("%s in task %s: a task must not block; use a signal and a wait, or a callback", function,
                  orr_task_name(orr_task_current()));
        return -EDEADLK;
    }
    return orr_joblist_drain(list);
}

int orrery_joblist_get_counts(struct orrery_joblist *list, struct orrery_joblist_counts *counts_out)
{
    static const char function[] = "orrery_joblist_get_counts";
    if (!list || !counts_out) return misuse(list, function, "there is no place for the counts");
    unsigned workers = orr_jobpool_workers(&list->pool, list->sched_ctx);
    orr_spin_lock(&list->lock);
    *counts_out = (struct orrery_joblist_counts){ .waiting = list->added - list->started,
                                                  .running = list->started - list->ended,
                                                  .ended = list->ended,
                                                  .workers = workers };
    orr_spin_unlock(&list->lock);
    return 0;
}

unsigned long orrery_joblist_get_remaining(struct orrery_joblist *list)
{
    if (!list) return 0;
    orr_spin_lock(&list->lock);
    uint64_t n = list->added - list->ended;
    orr_spin_unlock(&list->lock);
    return n;
}

double orrery_joblist_get_remaining_us(struct orrery_joblist *list, unsigned long *unknown_out)
{
    double us = 0;
    uint64_t unknown = 0;
    if (list) {
        orr_spin_lock(&list->lock);
        us = list->known_us;
        unknown = list->added - list->started - list->known;
        orr_spin_unlock(&list->lock);
    }
    if (unknown_out) *unknown_out = unknown;
    return us;
}
