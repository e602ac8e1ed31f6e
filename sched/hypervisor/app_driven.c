/* SPDX-License-Identifier: BSD-3-Clause */
/* app_driven.c: strategy: contexts are resized when the program says so, by the tag of a task that has run.
 * Threads: workers. Owns: nothing. Not here: tags (requests.c), which workers and how many (tools.c).
 *
 * A context with fewer workers than its minimum gets what is missing, from those that can give; any other
 * gives its granularity, or what it has above its maximum, to the context least in priority. */
#include <stdlib.h>

#include "sched/hypervisor/hypervisor.h"

/* How many workers the context lacks. */
static int missing(unsigned ctx)
{
    struct sc_hypervisor_wrapper *w = sc_hypervisor_get_wrapper(ctx);
    if (!w) return 0;
    pthread_mutex_lock(&w->mutex);
    int least = w->config->min_nworkers;
    pthread_mutex_unlock(&w->mutex);
    return least - sc_hypervisor_get_nworkers_ctx(ctx, STARPU_ANY_WORKER);
}

/* Called with the role. */
static void take_from_others(unsigned ctx, int lacking)
{
    unsigned ctxs[STARPU_NMAX_SCHED_CTXS];
    int n = orr_hyp_contexts(ctxs, NULL, -1);
    for (int i = 0; i < n && lacking > 0; i++) {
        struct sc_hypervisor_policy_config *c = sc_hypervisor_get_config(ctxs[i]);
        if (ctxs[i] == ctx || !c) continue;
        int count = sc_hypervisor_get_movable_nworkers(c, ctxs[i], STARPU_ANY_WORKER);
        if (count > lacking) count = lacking;
        int *workers = sc_hypervisor_get_idlest_workers(ctxs[i], &count, STARPU_ANY_WORKER);
        if (workers) sc_hypervisor_move_workers(ctxs[i], ctx, workers, (unsigned)count, 1);
        free(workers);
        lacking -= count;
    }
}

/* Asked for, so nothing but the role is waited for: it is held for the time of a decision. */
static void on_tag(unsigned ctx, int tag)
{
    (void)tag;
    uint64_t start;
    int lacking = missing(ctx);
    if (lacking > 0) {
        if (!orr_hyp_begin_decision(&start, true)) return;
        take_from_others(ctx, lacking);
        orr_hyp_end_decision(start);
        return;
    }
    int give = sc_hypervisor_compute_nworkers_to_move(ctx);
    unsigned receiver = STARPU_NMAX_SCHED_CTXS;
    for (int room = give; room > 0 && receiver == STARPU_NMAX_SCHED_CTXS; room--)
        receiver = sc_hypervisor_find_lowest_prio_sched_ctx(ctx, room);
    if (receiver != STARPU_NMAX_SCHED_CTXS) sc_hypervisor_policy_resize(ctx, receiver, 1, 1);
}

const struct sc_hypervisor_policy orr_hyp_app_driven = { .name = "app_driven",
                                                         .handle_post_exec_hook = on_tag };
