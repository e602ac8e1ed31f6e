/* SPDX-License-Identifier: BSD-3-Clause */
/* feft_lp.c: strategy: all contexts end as early as can be, by a linear program over kinds of workers, from
 * remaining operations and measured speeds.
 * Threads: workers, and the program for the first distribution. Owns: nothing. Not here: the program
 * (lp_programs.c). */
#include <stdlib.h>

#include "sched/hypervisor/hypervisor.h"

static void plan(unsigned *sched_ctxs, int nsched_ctxs, int *workers, int nworkers, bool first)
{
    unsigned ctxs[STARPU_NMAX_SCHED_CTXS];
    int ns = orr_hyp_contexts(ctxs, sched_ctxs, nsched_ctxs), total[2] = { 0, 0 };
    struct types_of_workers *tw =
        sc_hypervisor_get_types_of_workers(workers, nworkers > 0 ? (unsigned)nworkers : 0);
    if (tw && tw->nw > 0 && ns > 0) {
        int nt = (int)tw->nw;
        double res[ns][nt];
        sc_hypervisor_group_workers_by_type(tw, total);
        if (sc_hypervisor_lp_get_nworkers_per_ctx(ns, nt, res, total, tw, ctxs) > 0.0)
            orr_hyp_apply_fractions(ctxs, ns, nt, res, workers, nworkers, tw, first);
        else if (first)
            sc_hypervisor_lp_share_remaining_resources(ns, ctxs, nworkers, workers);
    }
    free(tw);
}

static void feft_lp_size(unsigned *sched_ctxs, int nsched_ctxs, int *workers, int nworkers)
{
    plan(sched_ctxs, nsched_ctxs, workers, nworkers, true);
}

static void feft_lp_resize(unsigned *sched_ctxs, int nsched_ctxs, int *workers, int nworkers)
{
    plan(sched_ctxs, nsched_ctxs, workers, nworkers, false);
}

const struct sc_hypervisor_policy orr_hyp_feft_lp = { .name = "feft_lp",
                                                      .size_ctxs = feft_lp_size,
                                                      .resize_ctxs = feft_lp_resize,
                                                      .handle_idle_cycle = orr_hyp_react_to_idle,
                                                      .handle_poped_task = orr_hyp_react_to_task };
