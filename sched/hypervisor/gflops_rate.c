/* SPDX-License-Identifier: BSD-3-Clause */
/* gflops_rate.c: strategy: contexts are to end at the same time, by what remains of their operations.
 * Threads: workers. Owns: nothing. Not here: the same by linear programs (feft_lp.c).
 *
 * What remains in a context, divided by the speed that all workers together have with its tasks, is the time
 * that they would take. Contexts end together when they have workers in proportion to that; each kind of
 * worker is divided in the same proportion. A context that will end much later than another is slow: that
 * triggers a resize. */
#include <stdlib.h>
#include <string.h>

#include "sched/hypervisor/hypervisor.h"

/* Seconds that these workers would take for the rest of the context;
 * 0: nothing remains, or there are none. */
static double time_of(unsigned ctx, const int *workers, int n)
{
    struct sc_hypervisor_wrapper *w = sc_hypervisor_get_wrapper(ctx);
    double speed = 0.0;
    for (int i = 0; w && i < n; i++) speed += sc_hypervisor_get_speed(w, starpu_worker_get_type(workers[i]));
    return speed > 0.0 ? orr_hyp_remaining_flops(ctx) * 1e-9 / speed : 0.0;
}

/* Workers in proportion to work, whole, within the limits of the contexts. */
static void divide(unsigned *ctxs, int ns, bool first, int *workers, int nworkers)
{
    struct types_of_workers *tw =
        sc_hypervisor_get_types_of_workers(workers, nworkers > 0 ? (unsigned)nworkers : 0);
    double work[STARPU_NMAX_SCHED_CTXS], sum = 0.0;
    int total[2] = { 0, 0 }, list[STARPU_NMAXWORKERS];
    int n = orr_hyp_workers(list, workers, nworkers);
    for (int s = 0; s < ns; s++) sum += work[s] = time_of(ctxs[s], list, n);
    if (tw && tw->nw > 0 && sum > 0.0) {
        int nt = (int)tw->nw, all = (int)(tw->ncpus + tw->naccelerators);
        double res[ns][nt];
        sc_hypervisor_group_workers_by_type(tw, total);
        for (int s = 0; s < ns; s++) {
            struct sc_hypervisor_policy_config *c = sc_hypervisor_get_config(ctxs[s]);
            double share = work[s] / sum;
            if (c && share * all > c->max_nworkers) share = (double)c->max_nworkers / all;
            for (int t = 0; t < nt; t++) res[s][t] = share * total[t];
        }
        orr_hyp_apply_fractions(ctxs, ns, nt, res, workers, nworkers, tw, first);
    }
    free(tw);
}

static void gflops_rate_size(unsigned *sched_ctxs, int nsched_ctxs, int *workers, int nworkers)
{
    unsigned ctxs[STARPU_NMAX_SCHED_CTXS];
    int ns = orr_hyp_contexts(ctxs, sched_ctxs, nsched_ctxs);
    if (ns > 0) divide(ctxs, ns, true, workers, nworkers);
}

static void gflops_rate_resize(unsigned *sched_ctxs, int nsched_ctxs, int *workers, int nworkers)
{
    unsigned ctxs[STARPU_NMAX_SCHED_CTXS];
    int ns = orr_hyp_contexts(ctxs, sched_ctxs, nsched_ctxs);
    if (ns > 1) divide(ctxs, ns, false, workers, nworkers);
}

/* Whether a context will end later than another by more than the gap. */
static bool one_is_slow(void)
{
    unsigned ctxs[STARPU_NMAX_SCHED_CTXS];
    double soonest = -1.0, latest = -1.0;
    int ns = orr_hyp_contexts(ctxs, NULL, -1);
    for (int s = 0; s < ns; s++) {
        int *workers, n = (int)starpu_sched_ctx_get_workers_list(ctxs[s], &workers);
        double end = time_of(ctxs[s], workers, n);
        free(workers);
        if (n == 0 && orr_hyp_remaining_flops(ctxs[s]) > 0.0) return true;
        if (soonest < 0.0 || end < soonest) soonest = end;
        if (end > latest) latest = end;
    }
    return latest > 0.0 && (latest - soonest) / latest * 100.0 > orr_hyp.max_gap_percent;
}

/* A sample of operations must have been executed since the last resize. */
static void on_task(unsigned ctx, int worker, struct starpu_task *task, uint32_t footprint)
{
    uint64_t start;
    struct sc_hypervisor_wrapper *w = sc_hypervisor_get_wrapper(ctx);
    (void)worker, (void)task, (void)footprint;
    if (!w || !orr_hyp_may_resize(ctx) || sc_hypervisor_get_ctx_speed(w) < 0.0) return;
    if (!orr_hyp_begin_decision(&start, false)) return;
    if (orr_hyp_may_resize(ctx) && one_is_slow()) gflops_rate_resize(NULL, -1, NULL, -1);
    orr_hyp_end_decision(start);
}

const struct sc_hypervisor_policy orr_hyp_gflops_rate = { .name = "gflops_rate",
                                                          .size_ctxs = gflops_rate_size,
                                                          .resize_ctxs = gflops_rate_resize,
                                                          .handle_poped_task = on_task };
