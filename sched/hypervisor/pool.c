/* SPDX-License-Identifier: BSD-3-Clause */
/* pool.c: kinds of tasks and how many there are of each, and how long they take on each worker.
 * Threads: whoever owns the pools, one at a time. Owns: nothing. Not here: who fills them (teft_lp.c). */
#include <math.h>
#include <stdlib.h>

#include "core/perf/perfmodel.h"
#include "core/worker/driver.h"
#include "core/worker/worker.h"
#include "sched/hypervisor/hypervisor.h"

typedef struct sc_hypervisor_policy_task_pool pool;

static pool **find(pool **at, const struct starpu_codelet *cl, unsigned ctx, uint32_t footprint)
{
    while (*at && ((*at)->cl != cl || (*at)->sched_ctx_id != ctx || (*at)->footprint != footprint))
        at = &(*at)->next;
    return at;
}

void sc_hypervisor_policy_add_task_to_pool(struct starpu_codelet *cl, unsigned sched_ctx, uint32_t footprint,
                                           struct sc_hypervisor_policy_task_pool **task_pools,
                                           size_t data_size)
{
    pool **at = find(task_pools, cl, sched_ctx, footprint);
    if (!*at) {
        *at = orr_calloc(1, sizeof **at);
        if (!*at) {
            orr_error("sc_hypervisor_policy_add_task_to_pool: out of memory; a task is not counted");
            return;
        }
        (*at)->cl = cl;
        (*at)->sched_ctx_id = sched_ctx;
        (*at)->footprint = footprint;
        (*at)->data_size = data_size;
    }
    (*at)->n++;
}

void sc_hypervisor_policy_remove_task_from_pool(struct starpu_task *task, uint32_t footprint,
                                                struct sc_hypervisor_policy_task_pool **task_pools)
{
    pool **at = find(task_pools, task->cl, starpu_sched_ctx_get_ctx_for_task(task), footprint);
    pool *p = *at;
    if (!p || --p->n > 0) return;
    *at = p->next;
    free(p);
}

struct sc_hypervisor_policy_task_pool *sc_hypervisor_policy_clone_task_pool(
    struct sc_hypervisor_policy_task_pool *tp)
{
    pool *first = NULL, **at = &first;
    for (; tp; tp = tp->next) {
        *at = orr_malloc(sizeof **at);
        if (!*at) break; /* a shorter list */
        **at = *tp;
        (*at)->next = NULL;
        at = &(*at)->next;
    }
    return first;
}

/* ---- times ---- */

static bool can_run(const struct starpu_codelet *cl, struct orr_worker *w)
{
    if (cl->where && !(cl->where & w->where)) return false;
    for (unsigned i = 0; i < STARPU_MAXIMPLEMENTATIONS; i++)
        if (orr_worker_function(w, cl, i)) return true;
    return false;
}

/* By the model; NaN: it says nothing. */
static double modelled_us(const pool *p, struct orr_worker *w)
{
    struct starpu_perfmodel *m = p->cl->model;
    if (!m || m->type == STARPU_PERFMODEL_INVALID) return NAN;
    return starpu_perfmodel_history_based_expected_perf(m, &w->arch, p->footprint);
}

/* Puts a number wherever the models said nothing. */
static void fill_in(int nw, int nt, double times[nw][nt])
{
    double sum = 0.0;
    int known = 0;
    for (int i = 0; i < nw; i++)
        for (int j = 0; j < nt; j++)
            if (isfinite(times[i][j])) {
                sum += times[i][j];
                known++;
            }
    for (int i = 0; i < nw; i++)
        for (int j = 0; j < nt; j++)
            if (isnan(times[i][j])) times[i][j] = known > 0 ? sum / known : 1.0;
}

void sc_hypervisor_get_tasks_times(int nw, int nt, double times[nw][nt], int *workers, unsigned size_ctxs,
                                   struct sc_hypervisor_policy_task_pool *task_pools)
{
    for (int i = 0; i < nw; i++) {
        int worker = workers ? workers[i] : i;
        const pool *p = task_pools;
        for (int j = 0; j < nt; j++, p = p ? p->next : NULL) {
            times[i][j] = INFINITY;
            if (!p || worker < 0 || (unsigned)worker >= orr_worker_count) continue;
            struct orr_worker *w = &orr_workers[worker];
            if (!can_run(p->cl, w) ||
                (!size_ctxs && !starpu_sched_ctx_contains_worker(worker, p->sched_ctx_id)))
                continue;
            double us = modelled_us(p, w);
            times[i][j] = us > 0.0 ? us : NAN;
        }
    }
    fill_in(nw, nt, times);
}
