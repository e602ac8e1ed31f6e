/* SPDX-License-Identifier: BSD-3-Clause */
/* teft_lp.c: strategy: all contexts end as early as can be, by a linear program over single workers and kinds
 * of tasks, from performance models.
 * Threads: workers and submitters. Owns: the tasks submitted or announced, and not executed.
 * Not here: the program (lp_programs.c), times of tasks (pool.c).
 *
 * A first distribution that is asked for before tasks are known is remembered, and made as soon as every
 * context of it has some: with the first task that is submitted then. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "sched/hypervisor/hypervisor.h"

static ORR_MUTEX(teft) lock = PTHREAD_MUTEX_INITIALIZER; /* protects pools; leaf */
static struct sc_hypervisor_policy_task_pool *pools;

static void free_pools(struct sc_hypervisor_policy_task_pool *p)
{
    for (struct sc_hypervisor_policy_task_pool *next; p; p = next) {
        next = p->next;
        free(p);
    }
}

/* A copy of the pools of these contexts; for the caller to free. */
static struct sc_hypervisor_policy_task_pool *snapshot(const unsigned *ctxs, int ns, int *count_out)
{
    pthread_mutex_lock(&lock);
    struct sc_hypervisor_policy_task_pool *all = sc_hypervisor_policy_clone_task_pool(pools), **at = &all;
    pthread_mutex_unlock(&lock);
    *count_out = 0;
    while (*at) {
        struct sc_hypervisor_policy_task_pool *p = *at;
        bool wanted = false;
        for (int s = 0; s < ns; s++) wanted |= p->sched_ctx_id == ctxs[s];
        if (wanted) {
            ++*count_out;
            at = &p->next;
        } else {
            *at = p->next;
            free(p);
        }
    }
    return all;
}

struct problem {
    int nt;
    unsigned *ctxs;
    double *times, *tasks; /* matrices of workers and kinds of tasks */
    struct sc_hypervisor_policy_task_pool *pools;
};

static double try_tmax(int ns, int nw, double w_in_s[ns][nw], unsigned is_integer, double tmax, void *arg)
{
    struct problem *p = arg;
    double(*times)[p->nt] = (double(*)[p->nt])(void *)p->times;
    double(*tasks)[p->nt] = (double(*)[p->nt])(void *)p->tasks;
    return sc_hypervisor_lp_simulate_distrib_tasks(ns, nw, p->nt, w_in_s, tasks, times, is_integer, tmax,
                                                   p->ctxs, p->pools);
}

/* Times between which the least one is: all tasks in parallel and best placed; one worker after another. */
static void bounds(const struct problem *p, int nw, double *least_out, double *most_out)
{
    const struct sc_hypervisor_policy_task_pool *pool = p->pools;
    double best_sum = 0.0, worst_sum = 0.0;
    for (int t = 0; t < p->nt; t++, pool = pool->next) {
        double best = INFINITY, worst = 0.0;
        for (int w = 0; w < nw; w++) {
            double us = p->times[w * p->nt + t];
            if (us < best) best = us;
            if (isfinite(us) && us > worst) worst = us;
        }
        if (isfinite(best)) best_sum += best * (double)pool->n;
        worst_sum += worst * (double)pool->n;
    }
    *least_out = best_sum / nw;
    *most_out = worst_sum;
}

static bool solve(struct problem *p, unsigned *ctxs, int ns, int *workers, int nw, bool first)
{
    double least, most;
    double(*w_in_s)[nw] = orr_calloc((size_t)ns, sizeof *w_in_s);
    p->times = orr_calloc((size_t)(nw * p->nt), sizeof *p->times);
    p->tasks = orr_calloc((size_t)(nw * p->nt), sizeof *p->tasks);
    bool found = w_in_s && p->times && p->tasks;
    if (found) {
        sc_hypervisor_get_tasks_times(nw, p->nt, (double(*)[p->nt])(void *)p->times, workers, 1, p->pools);
        bounds(p, nw, &least, &most);
        found =
            most > 0.0 &&
            (sc_hypervisor_lp_execute_dichotomy(ns, nw, w_in_s, 1, p, least, most * ns, least, try_tmax) ||
             sc_hypervisor_lp_execute_dichotomy(ns, nw, w_in_s, 0, p, least, most * ns, least, try_tmax));
    }
    if (found) {
        sc_hypervisor_lp_place_resources_in_ctx(ns, nw, w_in_s, ctxs, workers, first, NULL);
        if (first) sc_hypervisor_lp_share_remaining_resources(ns, ctxs, nw, workers);
    }
    orr_free(w_in_s);
    orr_free(p->times);
    orr_free(p->tasks);
    return found;
}

static bool plan(unsigned *sched_ctxs, int nsched_ctxs, int *workers, int nworkers, bool first)
{
    unsigned ctxs[STARPU_NMAX_SCHED_CTXS];
    int list[STARPU_NMAXWORKERS];
    int ns = orr_hyp_contexts(ctxs, sched_ctxs, nsched_ctxs), nw = orr_hyp_workers(list, workers, nworkers);
    struct problem p = { .ctxs = ctxs };
    p.pools = snapshot(ctxs, ns, &p.nt);
    bool found = ns > 0 && nw > 0 && p.nt > 0 && solve(&p, ctxs, ns, list, nw, first);
    free_pools(p.pools);
    return found;
}

/* Whether tasks of each of the contexts are known. */
static bool all_known(unsigned *sched_ctxs, int nsched_ctxs)
{
    unsigned ctxs[STARPU_NMAX_SCHED_CTXS];
    int ns = orr_hyp_contexts(ctxs, sched_ctxs, nsched_ctxs), known = 0;
    pthread_mutex_lock(&lock);
    for (int s = 0; s < ns; s++)
        for (struct sc_hypervisor_policy_task_pool *p = pools; p; p = p->next)
            if (p->sched_ctx_id == ctxs[s]) {
                known++;
                break;
            }
    pthread_mutex_unlock(&lock);
    return ns > 0 && known == ns;
}

static void teft_lp_size(unsigned *sched_ctxs, int nsched_ctxs, int *workers, int nworkers)
{
    if (!all_known(sched_ctxs, nsched_ctxs) || !plan(sched_ctxs, nsched_ctxs, workers, nworkers, true))
        sc_hypervisor_save_size_req(sched_ctxs, nsched_ctxs, workers, nworkers);
}

static void teft_lp_resize(unsigned *sched_ctxs, int nsched_ctxs, int *workers, int nworkers)
{
    plan(sched_ctxs, nsched_ctxs, workers, nworkers, false);
}

/* The first distribution that is owed, if it can be made now; by one thread, which may wait for workers. */
static void size_if_owed(void)
{
    struct orr_hyp_size_request r;
    if (!orr_hyp_take_size_request(&r, all_known)) return;
    if (!plan(r.nctxs >= 0 ? r.ctxs : NULL, r.nctxs, r.nworkers >= 0 ? r.workers : NULL, r.nworkers, true))
        sc_hypervisor_save_size_req(r.nctxs >= 0 ? r.ctxs : NULL, r.nctxs, r.nworkers >= 0 ? r.workers : NULL,
                                    r.nworkers);
}

static void on_submission(struct starpu_codelet *cl, unsigned ctx, uint32_t footprint, size_t data_size)
{
    pthread_mutex_lock(&lock);
    sc_hypervisor_policy_add_task_to_pool(cl, ctx, footprint, &pools, data_size);
    pthread_mutex_unlock(&lock);
    size_if_owed();
}

static void on_task(unsigned ctx, int worker, struct starpu_task *task, uint32_t footprint)
{
    pthread_mutex_lock(&lock);
    if (task) sc_hypervisor_policy_remove_task_from_pool(task, footprint, &pools);
    pthread_mutex_unlock(&lock);
    size_if_owed();
    orr_hyp_react_to_task(ctx, worker, task, footprint);
}

/* Tasks of a context that is gone are forgotten. */
static void on_end(unsigned ctx)
{
    pthread_mutex_lock(&lock);
    for (struct sc_hypervisor_policy_task_pool **at = &pools; *at;) {
        struct sc_hypervisor_policy_task_pool *p = *at;
        if (p->sched_ctx_id == ctx) {
            *at = p->next;
            free(p);
        } else {
            at = &p->next;
        }
    }
    pthread_mutex_unlock(&lock);
}

const struct sc_hypervisor_policy orr_hyp_teft_lp = { .name = "teft_lp",
                                                      .size_ctxs = teft_lp_size,
                                                      .resize_ctxs = teft_lp_resize,
                                                      .handle_idle_cycle = orr_hyp_react_to_idle,
                                                      .handle_poped_task = on_task,
                                                      .handle_submitted_job = on_submission,
                                                      .end_ctx = on_end };
