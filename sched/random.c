/* SPDX-License-Identifier: BSD-3-Clause */
/* random.c: each task goes to a worker drawn at random, in proportion to the workers' assumed speeds.
 * Threads: any pushes; workers run their own queues. Owns: nothing (workers' local queues hold the tasks).
 * Not here: speeds (core/task/perf.c). */
#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "sched/pool.h"

struct drawing {
    struct orr_ctx *ctx;
    _Atomic uint64_t seed;
};

static void *create(struct orr_ctx *ctx)
{
    struct drawing *d = orr_calloc(1, sizeof *d);
    if (!d) return NULL;
    d->ctx = ctx;
    orr_store_relaxed(&d->seed, orr_clock_ns());
    return d;
}

static void destroy(void *instance)
{
    orr_free(instance);
}

/* splitmix64 (G. Steele et al., OOPSLA 2014), on a shared counter. In [0, 1). */
static double draw(struct drawing *d)
{
    uint64_t z = orr_add_relaxed(&d->seed, UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static void push(void *instance, struct orr_task *t)
{
    struct drawing *d = instance;
    double speed[STARPU_NMAXWORKERS], sum = 0;
    unsigned nimpl, n = d->ctx->nworkers, chosen = 0;
    for (unsigned i = 0; i < n; i++) {
        struct orr_worker *w = &orr_workers[d->ctx->workers[i]];
        speed[i] = orr_worker_can_run(w, t, &nimpl) ? starpu_worker_get_relative_speedup(&w->arch) : 0;
        sum += speed[i];
    }
    double at = draw(d) * sum;
    for (unsigned i = 0; i < n; i++) {
        if (speed[i] <= 0) continue;
        chosen = i;
        if ((at -= speed[i]) < 0) break;
    }
    orr_worker_push_local(&orr_workers[d->ctx->workers[chosen]], t, t->priority > 0);
}

static struct orr_task *pop(void *instance, struct orr_worker *w)
{
    (void)instance;
    (void)w;
    return NULL; /* everything is in the workers' own queues */
}

const struct orr_policy_ops orr_policy_random = {
    .name = "random",
    .description = "a worker at random, in proportion to the workers' speed",
    .create = create,
    .destroy = destroy,
    .push = push,
    .pop = pop,
};
