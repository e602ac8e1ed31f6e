/* SPDX-License-Identifier: BSD-3-Clause */
/* planning.c: what several strategies share: when to react, and how to apply fractions of workers.
 * Threads: any. Owns: nothing. Not here: the strategies. */
#include <stdio.h>
#include <string.h>

#include "sched/hypervisor/hypervisor.h"

void orr_hyp_apply_fractions(unsigned *ctxs, int ns, int nw, double res[ns][nw], int *workers, int nworkers,
                             struct types_of_workers *tw, bool first)
{
    int(*rounded)[nw] = orr_calloc((size_t)ns, sizeof *rounded);
    if (!rounded) return;
    sc_hypervisor_lp_round_double_to_int(ns, nw, res, rounded);
    if (first) {
        sc_hypervisor_lp_distribute_resources_in_ctxs(ctxs, ns, nw, rounded, res, workers, nworkers, tw);
        sc_hypervisor_lp_share_remaining_resources(ns, ctxs, nworkers, workers);
    } else {
        sc_hypervisor_lp_redistribute_resources_in_ctxs(ns, nw, rounded, res, ctxs, tw);
    }
    orr_free(rounded);
}

static void react(unsigned ctx, int worker)
{
    uint64_t start;
    if (!orr_hyp_may_resize(ctx) || !sc_hypervisor_criteria_fulfilled(ctx, worker)) return;
    if (!orr_hyp_begin_decision(&start, false)) return; /* somebody else decides */
    if (orr_hyp_may_resize(ctx)) orr_hyp.policy.resize_ctxs(NULL, -1, NULL, -1);
    orr_hyp_end_decision(start);
}

void orr_hyp_react_to_task(unsigned ctx, int worker, struct starpu_task *task, uint32_t footprint)
{
    (void)task, (void)footprint;
    if (sc_hypervisor_get_resize_criteria() == SC_SPEED) react(ctx, worker);
}

void orr_hyp_react_to_idle(unsigned ctx, int worker)
{
    if (sc_hypervisor_get_resize_criteria() == SC_IDLE) react(ctx, worker);
}

void orr_hyp_print_speeds(void)
{
    unsigned ctxs[STARPU_NMAX_SCHED_CTXS];
    char line[1024];
    int at = 0;
    if (!orr_hyp.print) return;
    int n = orr_hyp_contexts(ctxs, NULL, -1);
    for (int i = 0; i < n && at < (int)sizeof line - 64; i++) {
        struct sc_hypervisor_wrapper *w = sc_hypervisor_get_wrapper(ctxs[i]);
        double speed = w ? sc_hypervisor_get_ctx_speed(w) : -1.0;
        at += snprintf(line + at, sizeof line - (size_t)at, "%s context %u: %d workers", i ? ";" : "",
                       ctxs[i], sc_hypervisor_get_nworkers_ctx(ctxs[i], STARPU_ANY_WORKER));
        if (speed >= 0.0 && at < (int)sizeof line - 32)
            at += snprintf(line + at, sizeof line - (size_t)at, ", %.3g Gflop/s", speed);
    }
    if (at > 0) fprintf(stderr, "hypervisor: before a resize:%s\n", line);
}
