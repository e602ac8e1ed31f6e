/* SPDX-License-Identifier: BSD-3-Clause */
/* cost.c: what a task costs on a worker; see cost.h. Threads: any. Owns: the links' promises. Not here: see
 * cost.h. */
#include "sched/cost.h"

#include <math.h>

#include <starpu.h>

#include "core/base/clock.h"
#include "core/base/env.h"
#include "core/mem/node.h"
#include "core/task/perf.h"
#include "core/task/task.h"

/* Ticks when what was promised to a node will be there. */
static struct {
    ORR_ALIGNED_LINE _Atomic uint64_t free_at;
} links[STARPU_MAXNODES];

void orr_weights_read(struct orr_weights *w)
{
    w->alpha = orr_env_double(ORR_SETTING(STARPU_SCHED_ALPHA), 1, 0, 1e9);
    w->beta = orr_env_double(ORR_SETTING(STARPU_SCHED_BETA), 1, 0, 1e9);
    w->gamma = orr_env_double(ORR_SETTING(STARPU_SCHED_GAMMA), 1000, 0, 1e12);
    w->idle_watt = orr_env_double(ORR_SETTING(STARPU_IDLE_POWER), 0, 0, 1e9);
}

double orr_link_busy_us(unsigned node, uint64_t now)
{
    uint64_t free_at = orr_load_relaxed(&links[node].free_at);
    return free_at > now ? orr_ticks_to_us(free_at - now) : 0;
}

void orr_link_promise(unsigned node, uint64_t now, double us)
{
    uint64_t before = orr_load_relaxed(&links[node].free_at), ticks = orr_us_to_ticks(us);
    while (!orr_cas_weak_acq_rel(&links[node].free_at, &before, (before > now ? before : now) + ticks))
        continue;
}

double orr_cost_energy_us(const struct orr_weights *w, struct starpu_task *p, int comb, unsigned impl,
                          int worker, double longer_us)
{
    struct starpu_perfmodel *m = p->cl->energy_model;
    double joules = m ? orr_task_expected(orr_task_of(p), m, comb, impl, worker) : 0;
    if (isnan(joules)) joules = 0;
    if (longer_us > 0) joules += w->idle_watt * longer_us * 1e-6;
    return w->gamma * joules;
}
