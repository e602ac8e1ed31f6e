/* SPDX-License-Identifier: BSD-3-Clause */
/* lp_tools.c: from what is known of contexts to linear programs, and from their fractions to workers.
 * Threads: any. Owns: nothing. Not here: the programs (lp_programs.c), when they are used (strategies). */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/run/sched_ctx.h"
#include "sched/hypervisor/hypervisor.h"

/* ---- workers by kind ---- */

double sc_hypervisor_lp_get_nworkers_per_ctx(int nsched_ctxs, int ntypes_of_workers,
                                             double res[nsched_ctxs][ntypes_of_workers],
                                             int total_nw[ntypes_of_workers], struct types_of_workers *tw,
                                             unsigned *in_sched_ctxs)
{
    unsigned ctxs[STARPU_NMAX_SCHED_CTXS];
    double flops[STARPU_NMAX_SCHED_CTXS], speed[STARPU_NMAX_SCHED_CTXS][2];
    int ns = orr_hyp_contexts(ctxs, in_sched_ctxs, in_sched_ctxs ? nsched_ctxs : -1), nt = ntypes_of_workers;
    if (ns != nsched_ctxs || nt < 1 || nt > 2) return 0.0;
    double(*packed)[nt] = (double(*)[nt])(void *)speed; /* ns rows of nt */
    for (int s = 0; s < ns; s++) {
        struct sc_hypervisor_wrapper *w = sc_hypervisor_get_wrapper(ctxs[s]);
        flops[s] = orr_hyp_remaining_flops(ctxs[s]);
        for (int t = 0; t < nt; t++)
            packed[s][t] =
                w ? sc_hypervisor_get_speed(w, sc_hypervisor_get_arch_for_index((unsigned)t, tw)) : 0.0;
    }
    sc_hypervisor_check_if_consider_max(tw);
    double v = sc_hypervisor_lp_simulate_distrib_flops(ns, nt, packed, flops, res, total_nw, ctxs, 0.0);
    return v > 0.0 ? 1.0 / v : 0.0;
}

double sc_hypervisor_lp_get_tmax(int nw, int *workers)
{
    unsigned ctxs[STARPU_NMAX_SCHED_CTXS];
    int ns = orr_hyp_contexts(ctxs, NULL, -1), total[2] = { 0, 0 };
    struct types_of_workers *tw =
        sc_hypervisor_get_types_of_workers(nw >= 0 ? workers : NULL, nw > 0 ? (unsigned)nw : 0);
    double tmax = 0.0;
    if (tw && tw->nw > 0 && ns > 0) {
        double res[ns][tw->nw];
        sc_hypervisor_group_workers_by_type(tw, total);
        tmax = sc_hypervisor_lp_get_nworkers_per_ctx(ns, (int)tw->nw, res, total, tw, ctxs);
    }
    free(tw);
    return tmax;
}

/* ---- whole numbers ---- */

/* One kind: floors, then one more for the largest remainders until the total is right. */
static void round_column(int ns, int nw, double res[ns][nw], int res_rounded[ns][nw], int t)
{
    double sum = 0.0;
    int given = 0;
    for (int s = 0; s < ns; s++) {
        sum += res[s][t];
        res_rounded[s][t] = (int)floor(res[s][t] + 1e-6);
        given += res_rounded[s][t];
    }
    for (int total = (int)floor(sum + 1e-6); given < total; given++) {
        int best = 0;
        for (int s = 1; s < ns; s++)
            if (res[s][t] - res_rounded[s][t] > res[best][t] - res_rounded[best][t] + 1e-9) best = s;
        res_rounded[best][t]++;
    }
}

/* A context that was to have some workers, but was rounded to none, takes one where most were rounded up. */
static void feed(int ns, int nw, double res[ns][nw], int res_rounded[ns][nw], int hungry)
{
    int from = -1, kind = -1;
    double most = -DBL_MAX;
    for (int s = 0; s < ns; s++) {
        int has = 0;
        for (int t = 0; t < nw; t++) has += res_rounded[s][t];
        for (int t = 0; t < nw && has >= 2; t++) {
            double surplus = res_rounded[s][t] - res[s][t];
            if (res_rounded[s][t] == 0 || res[hungry][t] <= 0.0 || surplus <= most) continue;
            most = surplus;
            from = s;
            kind = t;
        }
    }
    if (from < 0) return;
    res_rounded[from][kind]--;
    res_rounded[hungry][kind]++;
}

void sc_hypervisor_lp_round_double_to_int(int ns, int nw, double res[ns][nw], int res_rounded[ns][nw])
{
    for (int t = 0; t < nw; t++) round_column(ns, nw, res, res_rounded, t);
    for (int s = 0; s < ns; s++) {
        double wanted = 0.0;
        int has = 0;
        for (int t = 0; t < nw; t++) {
            wanted += res[s][t];
            has += res_rounded[s][t];
        }
        if (has == 0 && wanted > 1e-6) feed(ns, nw, res, res_rounded, s);
    }
}

/* ---- giving workers to contexts ---- */

static bool is_of_kind(int worker, unsigned t, struct types_of_workers *tw)
{
    bool cpu = sc_hypervisor_get_arch_for_index(t, tw) == STARPU_CPU_WORKER;
    return (starpu_worker_get_type(worker) == STARPU_CPU_WORKER) == cpu;
}

/* Takes workers out of the list's contexts other than this one, so that a first distribution divides them. */
static void leave_others(unsigned *ctxs, int ns, int keep, int *workers, int n)
{
    for (int s = 0; s < ns; s++) {
        int leaving[STARPU_NMAXWORKERS];
        unsigned count = 0;
        for (int i = 0; s != keep && i < n; i++)
            if (starpu_sched_ctx_contains_worker(workers[i], ctxs[s])) leaving[count++] = workers[i];
        if (count > 0) orr_sched_ctx_move_try(leaving, count, ctxs[s], false);
    }
}

static void give(unsigned *ctxs, int ns, int s, int *workers, int n)
{
    if (n == 0) return;
    sc_hypervisor_add_workers_to_sched_ctx(workers, (unsigned)n, ctxs[s]);
    leave_others(ctxs, ns, s, workers, n);
}

void sc_hypervisor_lp_distribute_resources_in_ctxs(unsigned *sched_ctxs, int ns, int nw,
                                                   int res_rounded[ns][nw], double res[ns][nw], int *workers,
                                                   int nworkers, struct types_of_workers *tw)
{
    int list[STARPU_NMAXWORKERS], chosen[STARPU_NMAXWORKERS];
    int n = orr_hyp_workers(list, workers, nworkers);
    (void)res;
    for (int s = 0; s < ns; s++) {
        int count = 0;
        for (int t = 0; t < nw; t++) {
            int wanted = res_rounded[s][t];
            for (int i = 0; i < n && wanted > 0; i++) {
                if (list[i] < 0 || !is_of_kind(list[i], (unsigned)t, tw)) continue;
                chosen[count++] = list[i];
                list[i] = -1; /* given away */
                wanted--;
            }
        }
        give(sched_ctxs, ns, s, chosen, count);
    }
}

void sc_hypervisor_lp_distribute_floating_no_resources_in_ctxs(unsigned *sched_ctxs, int ns, int nw,
                                                               double res[ns][nw], int *workers, int nworkers,
                                                               struct types_of_workers *tw)
{
    int(*rounded)[nw] = orr_calloc((size_t)ns, sizeof *rounded);
    if (!rounded) return;
    sc_hypervisor_lp_round_double_to_int(ns, nw, res, rounded);
    sc_hypervisor_lp_distribute_resources_in_ctxs(sched_ctxs, ns, nw, rounded, res, workers, nworkers, tw);
    orr_free(rounded);
}

/* How many workers of a kind a context has, or will have. */
static int has_now(const unsigned *ctxs, int ns, int s, unsigned t, struct types_of_workers *tw)
{
    int count = 0, all = (int)starpu_worker_get_count();
    for (int i = 0; i < all; i++) count += is_of_kind(i, t, tw) && orr_hyp_place_of(i, ctxs, ns) == s;
    return count;
}

/* Moves workers of one kind from contexts that have too many to those that have too few. */
static void balance_kind(unsigned *ctxs, int ns, const int *wanted, unsigned t, struct types_of_workers *tw)
{
    int surplus[STARPU_NMAX_SCHED_CTXS];
    for (int s = 0; s < ns; s++) surplus[s] = has_now(ctxs, ns, s, t, tw) - wanted[s];
    for (int to = 0; to < ns; to++)
        for (int from = 0; from < ns && surplus[to] < 0; from++) {
            if (surplus[from] <= 0) continue;
            int room = sc_hypervisor_get_movable_nworkers(sc_hypervisor_get_config(ctxs[from]), ctxs[from],
                                                          STARPU_ANY_WORKER);
            int n = surplus[from] < -surplus[to] ? surplus[from] : -surplus[to];
            int candidates = room < n ? room : n, moved = 0, all = STARPU_NMAXWORKERS;
            int *workers = sc_hypervisor_get_idlest_workers(ctxs[from], &all, STARPU_ANY_WORKER);
            for (int i = 0; i < all && moved < candidates; i++)
                if (is_of_kind(workers[i], t, tw)) workers[moved++] = workers[i];
            if (moved > 0) sc_hypervisor_move_workers(ctxs[from], ctxs[to], workers, (unsigned)moved, 0);
            free(workers);
            surplus[from] -= moved;
            surplus[to] += moved;
        }
}

void sc_hypervisor_lp_redistribute_resources_in_ctxs(int ns, int nw, int res_rounded[ns][nw],
                                                     double res[ns][nw], unsigned *sched_ctxs,
                                                     struct types_of_workers *tw)
{
    int wanted[STARPU_NMAX_SCHED_CTXS];
    (void)res;
    if (ns > STARPU_NMAX_SCHED_CTXS) return;
    for (int t = 0; t < nw; t++) {
        for (int s = 0; s < ns; s++) wanted[s] = res_rounded[s][t];
        balance_kind(sched_ctxs, ns, wanted, (unsigned)t, tw);
    }
}

void sc_hypervisor_lp_place_resources_in_ctx(int ns, int nw, double w_in_s[ns][nw], unsigned *sched_ctxs,
                                             int *workers, unsigned do_size, struct types_of_workers *tw)
{
    int to[STARPU_NMAX_SCHED_CTXS][STARPU_NMAXWORKERS], count[STARPU_NMAX_SCHED_CTXS] = { 0 };
    (void)tw;
    if (ns > STARPU_NMAX_SCHED_CTXS || nw > STARPU_NMAXWORKERS) return;
    for (int w = 0; w < nw; w++) {
        int best = 0, worker = workers ? workers[w] : w;
        for (int s = 1; s < ns; s++)
            if (w_in_s[s][w] > w_in_s[best][w]) best = s;
        if (w_in_s[best][w] > 0.0) to[best][count[best]++] = worker;
    }
    for (int s = 0; s < ns; s++) {
        if (do_size) give(sched_ctxs, ns, s, to[s], count[s]);
        for (int i = 0; !do_size && i < count[s]; i++) {
            int from = orr_hyp_place_of(to[s][i], sched_ctxs, ns);
            if (from >= 0 && from != s)
                sc_hypervisor_move_workers(sched_ctxs[from], sched_ctxs[s], &to[s][i], 1, 0);
            else if (from < 0)
                sc_hypervisor_add_workers_to_sched_ctx(&to[s][i], 1, sched_ctxs[s]);
        }
    }
}

void sc_hypervisor_lp_share_remaining_resources(int ns, unsigned *sched_ctxs, int nworkers, int *workers)
{
    int list[STARPU_NMAXWORKERS], n = orr_hyp_workers(list, workers, nworkers), next = 0;
    for (int i = 0; i < n; i++) {
        if (orr_hyp_place_of(list[i], sched_ctxs, ns) >= 0) continue;
        for (int tries = 0; tries < ns; tries++) {
            unsigned ctx = sched_ctxs[next++ % ns];
            struct sc_hypervisor_wrapper *w = sc_hypervisor_get_wrapper(ctx);
            int has = sc_hypervisor_get_nworkers_ctx(ctx, STARPU_ANY_WORKER);
            if (!w) continue;
            pthread_mutex_lock(&w->mutex);
            bool room = has < w->config->max_nworkers;
            pthread_mutex_unlock(&w->mutex);
            if (!room) continue;
            sc_hypervisor_add_workers_to_sched_ctx(&list[i], 1, ctx);
            break;
        }
    }
}
