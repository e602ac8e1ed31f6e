/* SPDX-License-Identifier: BSD-3-Clause */
/* lp_programs.c: the linear programs that divide workers among contexts, and the search for the least time.
 * Threads: any. Owns: nothing. Not here: the solver (lp_solver.c), where speeds come from (lp_tools.c).
 *
 * Throughout, x[s][t] is what context s gets of kind (or worker) t. A time that multiplies an unknown makes a
 * program non-linear: either its inverse is the unknown (simulate_distrib_flops maximises 1/time), or the
 * time is given, and searched for by halving intervals. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "sched/hypervisor/hypervisor.h"

/* ---- limits of contexts ---- */

struct limits {
    double least[STARPU_NMAX_SCHED_CTXS], most[STARPU_NMAX_SCHED_CTXS];
};

/* Of registered contexts; least counts only if there are workers for all of them. */
static void get_limits(struct limits *l, const unsigned *ctxs, int ns, double total_workers)
{
    double sum = 0.0;
    for (int s = 0; s < ns; s++) {
        struct sc_hypervisor_wrapper *w = ctxs ? sc_hypervisor_get_wrapper(ctxs[s]) : NULL;
        l->least[s] = 0.0;
        l->most[s] = INFINITY;
        if (!w) continue;
        pthread_mutex_lock(&w->mutex);
        l->least[s] = w->config->min_nworkers;
        l->most[s] = w->config->max_nworkers;
        pthread_mutex_unlock(&w->mutex);
        if (l->least[s] > l->most[s]) l->least[s] = l->most[s];
        sum += l->least[s];
    }
    if (sum > total_workers) memset(l->least, 0, sizeof l->least);
}

/* Rows that bound the workers of each context, and of each kind. Column x(s,t) is s * nt + t. */
static void add_worker_rows(struct orr_lp *lp, const struct limits *l, int ns, int nt, const int *total_nw)
{
    for (int s = 0; s < ns; s++) {
        orr_lp_row(lp, l->least[s], l->most[s]);
        for (int t = 0; t < nt; t++) orr_lp_term(lp, s * nt + t, 1.0);
    }
    for (int t = 0; t < nt; t++) {
        orr_lp_row(lp, -INFINITY, total_nw[t]);
        for (int s = 0; s < ns; s++) orr_lp_term(lp, s * nt + t, 1.0);
    }
}

static double sum_of(const int *counts, int n)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += counts[i];
    return sum;
}

static void read_matrix(const struct orr_lp *lp, int ns, int nt, double out[ns][nt])
{
    for (int s = 0; s < ns; s++)
        for (int t = 0; t < nt; t++) {
            double x = orr_lp_value(lp, s * nt + t);
            out[s][t] = x > 1e-9 ? x : 0.0;
        }
}

/* ---- workers by kind ---- */

/* Maximise v, where for each s: sum_t speed[s][t] x[s][t] >= flops[s] v. */
double sc_hypervisor_lp_simulate_distrib_flops(int nsched_ctxs, int ntypes_of_workers,
                                               double speed[nsched_ctxs][ntypes_of_workers],
                                               double flops[nsched_ctxs],
                                               double res[nsched_ctxs][ntypes_of_workers],
                                               int total_nw[ntypes_of_workers], unsigned *sched_ctxs,
                                               double vmax)
{
    int ns = nsched_ctxs, nt = ntypes_of_workers, v = ns * nt;
    bool any = false, fixed = vmax > 0.0;
    double goal = 0.0;
    struct limits l;
    for (int s = 0; s < ns; s++) any |= flops[s] > 0.0;
    if (!any || ns > STARPU_NMAX_SCHED_CTXS) return 0.0;
    struct orr_lp *lp = orr_lp_create(v + 1, fixed ? ORR_LP_MIN : ORR_LP_MAX);
    if (!lp) return 0.0;
    for (int j = 0; j < v; j++) orr_lp_column(lp, j, 0.0, INFINITY, fixed ? 1.0 : 0.0, false);
    orr_lp_column(lp, v, fixed ? vmax : 0.0, fixed ? vmax : INFINITY, fixed ? 0.0 : 1.0, false);
    get_limits(&l, sched_ctxs, ns, sum_of(total_nw, nt));
    add_worker_rows(lp, &l, ns, nt, total_nw);
    for (int s = 0; s < ns; s++) {
        if (flops[s] <= 0.0) continue;
        orr_lp_row(lp, 0.0, INFINITY);
        for (int t = 0; t < nt; t++) orr_lp_term(lp, s * nt + t, speed[s][t]);
        orr_lp_term(lp, v, -flops[s] * 1e-9);
    }
    bool solved = orr_lp_solve(lp, &goal);
    if (solved) read_matrix(lp, ns, nt, res);
    orr_lp_destroy(lp);
    if (!solved) return 0.0;
    return fixed ? vmax : goal;
}

double orr_hyp_lp_throughput(int ns, int nt, double speed[ns][nt], const unsigned *needs, double res[ns][nt],
                             const int total_nw[nt], const unsigned *ctxs)
{
    double goal = 0.0, needed = 0.0, total = sum_of(total_nw, nt);
    struct limits l;
    struct orr_lp *lp = orr_lp_create(ns * nt, ORR_LP_MAX);
    if (!lp) return 0.0;
    for (int s = 0; s < ns; s++)
        for (int t = 0; t < nt; t++) orr_lp_column(lp, s * nt + t, 0.0, INFINITY, speed[s][t], false);
    get_limits(&l, ctxs, ns, total);
    for (int s = 0; s < ns; s++) needed += needs[s] && l.least[s] < 1.0 ? 1.0 : l.least[s];
    for (int s = 0; s < ns; s++)
        if (needs[s] && needed <= total && l.least[s] < 1.0 && l.most[s] >= 1.0) l.least[s] = 1.0;
    add_worker_rows(lp, &l, ns, nt, total_nw);
    bool solved = orr_lp_solve(lp, &goal);
    if (solved) read_matrix(lp, ns, nt, res);
    orr_lp_destroy(lp);
    return solved ? goal : 0.0;
}

/* ---- single workers, for a given time ---- */

/* Columns for the parts of workers, behind `first` others; and each worker is given away once at most. */
static void add_parts(struct orr_lp *lp, int first, int ns, int nw, bool is_integer)
{
    for (int j = 0; j < ns * nw; j++) orr_lp_column(lp, first + j, 0.0, 1.0, 0.0, is_integer);
    for (int w = 0; w < nw; w++) {
        orr_lp_row(lp, -INFINITY, 1.0);
        for (int s = 0; s < ns; s++) orr_lp_term(lp, first + s * nw + w, 1.0);
    }
}

static void read_parts(const struct orr_lp *lp, int first, int ns, int nw, double out[ns][nw])
{
    for (int s = 0; s < ns; s++)
        for (int w = 0; w < nw; w++) {
            double x = orr_lp_value(lp, first + s * nw + w);
            out[s][w] = x > 1e-9 ? x : 0.0;
        }
}

static const struct sc_hypervisor_policy_task_pool *pool_at(const struct sc_hypervisor_policy_task_pool *p,
                                                            int t)
{
    while (p && t-- > 0) p = p->next;
    return p;
}

/* Minimise the sum of times[w][t] tasks[w][t], where for each s and w the tasks of s take at most tmax times
 * the part of w that s has, and each pool is done. */
double sc_hypervisor_lp_simulate_distrib_tasks(int ns, int nw, int nt, double w_in_s[ns][nw],
                                               double tasks[nw][nt], double times[nw][nt],
                                               unsigned is_integer, double tmax, unsigned *in_sched_ctxs,
                                               struct sc_hypervisor_policy_task_pool *tmp_task_pools)
{
    int parts = nw * nt;
    double goal = 0.0;
    struct orr_lp *lp = orr_lp_create(parts + ns * nw, ORR_LP_MIN);
    if (!lp) return 0.0;
    for (int w = 0; w < nw; w++)
        for (int t = 0; t < nt; t++) {
            bool possible = isfinite(times[w][t]);
            orr_lp_column(lp, w * nt + t, 0.0, possible ? INFINITY : 0.0, possible ? times[w][t] : 0.0,
                          false);
        }
    add_parts(lp, parts, ns, nw, is_integer != 0);
    for (int s = 0; s < ns; s++)
        for (int w = 0; w < nw; w++) {
            orr_lp_row(lp, -INFINITY, 0.0);
            const struct sc_hypervisor_policy_task_pool *p = tmp_task_pools;
            for (int t = 0; t < nt && p; t++, p = p->next)
                if (p->sched_ctx_id == in_sched_ctxs[s] && isfinite(times[w][t]))
                    orr_lp_term(lp, w * nt + t, times[w][t]);
            orr_lp_term(lp, parts + s * nw + w, -tmax);
        }
    for (int t = 0; t < nt; t++) {
        const struct sc_hypervisor_policy_task_pool *p = pool_at(tmp_task_pools, t);
        double n = p ? (double)p->n : 0.0;
        orr_lp_row(lp, n, n);
        for (int w = 0; w < nw; w++) orr_lp_term(lp, w * nt + t, 1.0);
    }
    bool solved = orr_lp_solve(lp, &goal);
    if (solved) {
        read_parts(lp, parts, ns, nw, w_in_s);
        read_matrix(lp, nw, nt, tasks);
    }
    orr_lp_destroy(lp);
    if (!solved) return 0.0;
    return goal > 0.0 ? goal : DBL_MIN; /* nothing to do fits in any time */
}

/* The same with operations: worker w executes f[s][w] of them for context s. In units of 1e9. */
double sc_hypervisor_lp_simulate_distrib_flops_on_sample(int ns, int nw, double final_w_in_s[ns][nw],
                                                         unsigned is_integer, double tmax, double **speed,
                                                         double flops[ns], double **final_flops_on_w)
{
    int parts = ns * nw;
    double goal = 0.0;
    struct orr_lp *lp = orr_lp_create(2 * ns * nw, ORR_LP_MIN);
    if (!lp) return 0.0;
    for (int s = 0; s < ns; s++)
        for (int w = 0; w < nw; w++) {
            bool possible = speed[s][w] > 0.0;
            orr_lp_column(lp, s * nw + w, 0.0, possible ? INFINITY : 0.0, possible ? 1.0 / speed[s][w] : 0.0,
                          false);
        }
    add_parts(lp, parts, ns, nw, is_integer != 0);
    for (int s = 0; s < ns; s++) {
        orr_lp_row(lp, flops[s] * 1e-9, flops[s] * 1e-9);
        for (int w = 0; w < nw; w++) orr_lp_term(lp, s * nw + w, 1.0);
        for (int w = 0; w < nw; w++) {
            orr_lp_row(lp, -INFINITY, 0.0);
            orr_lp_term(lp, s * nw + w, 1.0);
            orr_lp_term(lp, parts + s * nw + w, -tmax * speed[s][w]);
        }
    }
    bool solved = orr_lp_solve(lp, &goal);
    if (solved) read_parts(lp, parts, ns, nw, final_w_in_s);
    for (int s = 0; solved && s < ns; s++)
        for (int w = 0; w < nw; w++) final_flops_on_w[s][w] = orr_lp_value(lp, s * nw + w) * 1e9;
    orr_lp_destroy(lp);
    if (!solved) return 0.0;
    return goal > 0.0 ? goal : DBL_MIN;
}

/* ---- the least time ---- */

double sc_hypervisor_lp_find_tmax(double t1, double t2)
{
    return t1 + (t2 - t1) / 2.0;
}

unsigned sc_hypervisor_lp_execute_dichotomy(
    int ns, int nw, double w_in_s[ns][nw], unsigned solve_lp_integer, void *specific_data, double tmin,
    double tmax, double smallest_tmax,
    double (*lp_estimated_distrib_func)(int lns, int lnw, double ldraft_w_in_s[lns][lnw],
                                        unsigned lis_integer, double ltmax, void *lspecifc_data))
{
    enum { STEPS_MAX = 64 };
    double(*draft)[nw] = orr_calloc((size_t)ns, sizeof *draft);
    if (!draft) return 0;
    if (tmin < smallest_tmax) tmin = smallest_tmax;
    bool found = false;
    double try = tmax;
    for (int step = 0; step < STEPS_MAX; step++) {
        bool fits = lp_estimated_distrib_func(ns, nw, draft, solve_lp_integer, try, specific_data) > 0.0;
        if (!fits && !found) break; /* not even in tmax */
        if (fits) {
            memcpy(w_in_s, draft, (size_t)ns * sizeof *draft);
            found = true;
            tmax = try;
        } else {
            tmin = try;
        }
        if (tmax - tmin <= tmax * 1e-3) break;
        try = sc_hypervisor_lp_find_tmax(tmin, tmax);
    }
    orr_free(draft);
    return found;
}
