/* SPDX-License-Identifier: BSD-3-Clause */
/* ispeed_lp.c: strategy: contexts are to execute their frames (SC_HYPERVISOR_ISPEED_CTX_SAMPLE) in the same
 * time, the least possible, by a linear program over single workers.
 * Threads: workers, and the program for the first distribution. Owns: nothing. Not here: the program
 * (lp_programs.c). */
#include <float.h>
#include <stdlib.h>

#include "sched/hypervisor/hypervisor.h"

struct problem {
    double flops[STARPU_NMAX_SCHED_CTXS];
    double **speed, **flops_on;
};

static double **matrix(int rows, int columns)
{
    double **m = orr_calloc((size_t)rows, sizeof *m + (size_t)columns * sizeof **m);
    double *cells = m ? (double *)(void *)(m + rows) : NULL;
    for (int i = 0; m && i < rows; i++) m[i] = cells + (size_t)i * (size_t)columns;
    return m;
}

static double try_tmax(int ns, int nw, double w_in_s[ns][nw], unsigned is_integer, double tmax, void *arg)
{
    struct problem *p = arg;
    return sc_hypervisor_lp_simulate_distrib_flops_on_sample(ns, nw, w_in_s, is_integer, tmax, p->speed,
                                                             p->flops, p->flops_on);
}

/* The frame of a context: as set, else a sample of its operations; no more than remains, if that is known. */
static double frame_of(unsigned ctx)
{
    struct sc_hypervisor_wrapper *w = sc_hypervisor_get_wrapper(ctx);
    if (!w) return 0.0;
    pthread_mutex_lock(&w->mutex);
    double frame = w->config->ispeed_ctx_sample;
    if (frame <= 0.0) frame = HYPERVISOR_START_REDIM_SAMPLE * w->total_flops;
    if (w->total_flops_available && frame > w->remaining_flops) frame = w->remaining_flops;
    pthread_mutex_unlock(&w->mutex);
    return frame;
}

static void fill(struct problem *p, const unsigned *ctxs, int ns, const int *workers, int nw)
{
    for (int s = 0; s < ns; s++) {
        struct sc_hypervisor_wrapper *sc_w = sc_hypervisor_get_wrapper(ctxs[s]);
        p->flops[s] = frame_of(ctxs[s]);
        for (int i = 0; sc_w && i < nw; i++) {
            enum starpu_worker_archtype kind = starpu_worker_get_type(workers[i]);
            double speed = sc_hypervisor_get_speed_per_worker(sc_w, (unsigned)workers[i]);
            p->speed[s][i] = speed > 0.0 ? speed : sc_hypervisor_get_speed(sc_w, kind);
        }
    }
}

/* The time if all frames were executed by each worker alone, one context after the other. */
static double longest(const struct problem *p, int ns, int nw)
{
    double sum = 0.0;
    for (int s = 0; s < ns; s++) {
        double least = DBL_MAX;
        for (int i = 0; i < nw; i++)
            if (p->speed[s][i] > 0.0 && p->speed[s][i] < least) least = p->speed[s][i];
        if (least < DBL_MAX) sum += p->flops[s] * 1e-9 / least;
    }
    return sum * ns;
}

static void plan(unsigned *sched_ctxs, int nsched_ctxs, int *workers, int nworkers, bool first)
{
    unsigned ctxs[STARPU_NMAX_SCHED_CTXS];
    int list[STARPU_NMAXWORKERS];
    int ns = orr_hyp_contexts(ctxs, sched_ctxs, nsched_ctxs), nw = orr_hyp_workers(list, workers, nworkers);
    if (ns == 0 || nw == 0) return;
    struct problem p = { .speed = matrix(ns, nw), .flops_on = matrix(ns, nw) };
    double(*w_in_s)[nw] = orr_calloc((size_t)ns, sizeof *w_in_s);
    bool found = false;
    if (p.speed && p.flops_on && w_in_s) {
        fill(&p, ctxs, ns, list, nw);
        double most = longest(&p, ns, nw);
        found = most > 0.0 &&
                (sc_hypervisor_lp_execute_dichotomy(ns, nw, w_in_s, 1, &p, 0.0, most, 0.0, try_tmax) ||
                 sc_hypervisor_lp_execute_dichotomy(ns, nw, w_in_s, 0, &p, 0.0, most, 0.0, try_tmax));
    }
    if (found) sc_hypervisor_lp_place_resources_in_ctx(ns, nw, w_in_s, ctxs, list, first, NULL);
    if (first) sc_hypervisor_lp_share_remaining_resources(ns, ctxs, nw, list);
    orr_free(p.speed);
    orr_free(p.flops_on);
    orr_free(w_in_s);
}

static void ispeed_lp_size(unsigned *sched_ctxs, int nsched_ctxs, int *workers, int nworkers)
{
    plan(sched_ctxs, nsched_ctxs, workers, nworkers, true);
}

static void ispeed_lp_resize(unsigned *sched_ctxs, int nsched_ctxs, int *workers, int nworkers)
{
    plan(sched_ctxs, nsched_ctxs, workers, nworkers, false);
}

const struct sc_hypervisor_policy orr_hyp_ispeed_lp = { .name = "ispeed_lp",
                                                        .size_ctxs = ispeed_lp_size,
                                                        .resize_ctxs = ispeed_lp_resize,
                                                        .handle_idle_cycle = orr_hyp_react_to_idle,
                                                        .handle_poped_task = orr_hyp_react_to_task };
