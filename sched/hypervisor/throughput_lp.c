/* SPDX-License-Identifier: BSD-3-Clause */
/* throughput_lp.c: strategy: as many operations per second as can be, over all contexts: each kind of worker
 * goes where it is fastest, and each context with work keeps a worker.
 * Threads: workers, and the program for the first distribution. Owns: nothing. Not here: the program
 * (lp_programs.c). */
#include <stdlib.h>

#include "sched/hypervisor/hypervisor.h"

static bool has_work(unsigned ctx)
{
    return orr_hyp_remaining_flops(ctx) > 0.0 || orr_hyp_unfinished(ctx) > 0;
}

static void plan(unsigned *sched_ctxs, int nsched_ctxs, int *workers, int nworkers, bool first)
{
    unsigned ctxs[STARPU_NMAX_SCHED_CTXS], needs[STARPU_NMAX_SCHED_CTXS];
    int ns = orr_hyp_contexts(ctxs, sched_ctxs, nsched_ctxs), total[2] = { 0, 0 };
    struct types_of_workers *tw =
        sc_hypervisor_get_types_of_workers(workers, nworkers > 0 ? (unsigned)nworkers : 0);
    if (tw && tw->nw > 0 && ns > 0) {
        int nt = (int)tw->nw;
        double speed[ns][nt], res[ns][nt];
        sc_hypervisor_group_workers_by_type(tw, total);
        for (int s = 0; s < ns; s++) {
            struct sc_hypervisor_wrapper *w = sc_hypervisor_get_wrapper(ctxs[s]);
            needs[s] = first || has_work(ctxs[s]);
            for (int t = 0; t < nt; t++)
                speed[s][t] =
                    needs[s] && w
                        ? sc_hypervisor_get_speed(w, sc_hypervisor_get_arch_for_index((unsigned)t, tw))
                        : 0.0;
        }
        if (orr_hyp_lp_throughput(ns, nt, speed, needs, res, total, ctxs) > 0.0)
            orr_hyp_apply_fractions(ctxs, ns, nt, res, workers, nworkers, tw, first);
    }
    free(tw);
}

static void throughput_lp_size(unsigned *sched_ctxs, int nsched_ctxs, int *workers, int nworkers)
{
    plan(sched_ctxs, nsched_ctxs, workers, nworkers, true);
}

static void throughput_lp_resize(unsigned *sched_ctxs, int nsched_ctxs, int *workers, int nworkers)
{
    plan(sched_ctxs, nsched_ctxs, workers, nworkers, false);
}

const struct sc_hypervisor_policy orr_hyp_throughput_lp = { .name = "throughput_lp",
                                                            .size_ctxs = throughput_lp_size,
                                                            .resize_ctxs = throughput_lp_resize,
                                                            .handle_idle_cycle = orr_hyp_react_to_idle,
                                                            .handle_poped_task = orr_hyp_react_to_task };
