/* SPDX-License-Identifier: BSD-3-Clause */
/* profile.h: what is recorded of tasks and workers while profiling is on.
 * Threads: recording on workers; switching by any. Owns: the status, workers' sums. Not here: models
 * (core/perf), traffic between memory nodes (bus_profile.c). */
#ifndef ORR_WORKER_PROFILE_H
#define ORR_WORKER_PROFILE_H

#include "core/worker/counters.h"
#include "core/worker/worker.h"

/* Looked at where tasks pass: what is to be done about them. */
enum { ORR_PROFILE_TIMES = 1, ORR_PROFILE_BREAKS = 2 };
extern _Atomic uint32_t orr_profiling;

void orr_profile_init(void); /* reads STARPU_PROFILING, STARPU_WORKER_STATS, STARPU_BUS_STATS */
void orr_profile_fini(void); /* prints what was asked for */

/* Decides who looks at tasks: at submission, and around bodies. After a change of profiling or of a context's
 * policy or workers. */
void orr_profile_listen(void);
/* Finds out what the policy of a context that is being opened wants to see. */
void orr_profile_consider(struct orr_ctx *ctx);

/* Called only while orr_profiling is not 0: t goes to a worker or a policy; the policy has it. */
void orr_profile_push(struct orr_task *t);
void orr_profile_pushed(struct starpu_task *p);

/* A policy of the library has chosen worker w for t, which is still the caller's: tells a hypervisor, and
 * stops at STARPU_TASK_BREAK_ON_SCHED. Of the others, which leave the choice to the workers, it is told when
 * one takes the task. */
void orr_profile_placed_slow(struct orr_ctx *ctx, struct orr_task *t, const struct orr_worker *w);
static inline void orr_profile_placed(struct orr_ctx *ctx, struct orr_task *t, const struct orr_worker *w)
{
    if (orr_unlikely(orr_counters_of(ctx) != NULL || orr_load_relaxed(&orr_profiling)))
        orr_profile_placed_slow(ctx, t, w);
}

/* w has taken t from a queue; called when workers are observed. */
void orr_profile_popped(struct orr_worker *w, struct orr_task *t);

/* Around the body of a task, on its worker; cheap when profiling is off. */
void orr_profile_start(struct orr_worker *w, struct orr_task *t);
void orr_profile_end(struct orr_worker *w, struct orr_task *t, uint64_t ticks);

/* w was busy for so long with its part of a task that another ends. */
void orr_profile_took_part(struct orr_worker *w, uint64_t ticks);

/* Around a time without tasks, on the worker. */
void orr_profile_idle_begin(struct orr_worker *w);
void orr_profile_idle_end(struct orr_worker *w);

#endif
