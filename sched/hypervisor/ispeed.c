/* SPDX-License-Identifier: BSD-3-Clause */
/* ispeed.c: strategy: contexts are to run at the same speed, frame by frame
 * (SC_HYPERVISOR_ISPEED_CTX_SAMPLE). Threads: workers. Owns: nothing. Not here: the same by linear programs
 * (ispeed_lp.c).
 *
 * When the speeds of the fastest and the slowest context are known and too far apart, as many workers move
 * from one to the other as make them equal, if each brings and takes its mean speed. */
#include <math.h>
#include <stdlib.h>

#include "sched/hypervisor/hypervisor.h"

struct extreme {
    unsigned ctx;
    double speed;
    int workers;
};

/* False: not all speeds are known yet, or they are close enough. */
static bool find_extremes(struct extreme *fast, struct extreme *slow)
{
    unsigned ctxs[STARPU_NMAX_SCHED_CTXS];
    int n = orr_hyp_contexts(ctxs, NULL, -1);
    *fast = *slow = (struct extreme){ STARPU_NMAX_SCHED_CTXS, -1.0, 0 };
    for (int i = 0; i < n; i++) {
        struct sc_hypervisor_wrapper *w = sc_hypervisor_get_wrapper(ctxs[i]);
        int workers = sc_hypervisor_get_nworkers_ctx(ctxs[i], STARPU_ANY_WORKER);
        double speed = w ? sc_hypervisor_get_ctx_speed(w) : -1.0;
        if (orr_hyp_unfinished(ctxs[i]) == 0) continue; /* it has ended, or not begun */
        if (workers == 0) speed = 0.0;                  /* it cannot get faster by itself */
        if (speed < 0.0) return false;
        struct extreme e = { ctxs[i], speed, workers };
        if (fast->speed < 0.0 || speed > fast->speed) *fast = e;
        if (slow->speed < 0.0 || speed < slow->speed) *slow = e;
    }
    return fast->speed > 0.0 && (fast->speed - slow->speed) / fast->speed * 100.0 > orr_hyp.max_gap_percent;
}

static void equalise(const struct extreme *fast, const struct extreme *slow)
{
    double unit_fast = fast->speed / fast->workers; /* it has some, or it would not be fast */
    double unit_slow = slow->workers > 0 && slow->speed > 0.0 ? slow->speed / slow->workers : unit_fast;
    int n = (int)floor((fast->speed - slow->speed) / (unit_fast + unit_slow) + 0.5);
    if (n == 0 && slow->workers == 0) n = 1;
    struct sc_hypervisor_policy_config *from = sc_hypervisor_get_config(fast->ctx),
                                       *to = sc_hypervisor_get_config(slow->ctx);
    if (!from || !to) return;
    int movable = sc_hypervisor_get_movable_nworkers(from, fast->ctx, STARPU_ANY_WORKER);
    int room = to->max_nworkers - slow->workers;
    if (n > movable) n = movable;
    if (n > room) n = room;
    if (n <= 0) return;
    int *workers = sc_hypervisor_get_idlest_workers(fast->ctx, &n, STARPU_ANY_WORKER);
    if (workers) sc_hypervisor_move_workers(fast->ctx, slow->ctx, workers, (unsigned)n, 0);
    free(workers);
}

static void ispeed_resize(unsigned *sched_ctxs, int nsched_ctxs, int *workers, int nworkers)
{
    struct extreme fast, slow;
    (void)sched_ctxs, (void)nsched_ctxs, (void)workers, (void)nworkers;
    if (find_extremes(&fast, &slow)) equalise(&fast, &slow);
}

static void on_task(unsigned ctx, int worker, struct starpu_task *task, uint32_t footprint)
{
    uint64_t start;
    struct sc_hypervisor_wrapper *w = sc_hypervisor_get_wrapper(ctx);
    (void)worker, (void)task, (void)footprint;
    if (!w || !orr_hyp_may_resize(ctx) || sc_hypervisor_get_ctx_speed(w) < 0.0) return;
    if (!orr_hyp_begin_decision(&start, false)) return;
    if (orr_hyp_may_resize(ctx)) ispeed_resize(NULL, -1, NULL, -1);
    orr_hyp_end_decision(start);
}

const struct sc_hypervisor_policy orr_hyp_ispeed = { .name = "ispeed",
                                                     .resize_ctxs = ispeed_resize,
                                                     .handle_poped_task = on_task };
