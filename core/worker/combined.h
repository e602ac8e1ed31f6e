/* SPDX-License-Identifier: BSD-3-Clause */
/* combined.h: combined workers: sets of CPU workers that may run one task together.
 * Threads: any adds and asks; entries are published by their number and never change. Owns: the table.
 * Not here: running a task on one (parallel.h), choosing one (sched/pheft.c, sched/peager.c).
 *
 * They are numbered after the workers. Policies that use them have them made in the shape of the machine; a
 * policy of the program's own makes what it likes (starpu_combined_worker_assign_workerid). */
#ifndef ORR_WORKER_COMBINED_H
#define ORR_WORKER_COMBINED_H

#include "core/worker/worker.h"

struct orr_combined { /* [const once published] */
    int id;
    unsigned size;
    int comb;     /* number of its architecture (core/perf/arch.h) */
    int *members; /* workers, rising */
};

unsigned orr_combined_count(void);
/* Number i of them, less than the count; the one with this worker number, NULL if none has it. */
const struct orr_combined *orr_combined_at(unsigned i);
const struct orr_combined *orr_combined_get(unsigned workerid);

/* Makes those that the shape of the machine suggests for the CPU workers among these, unless they exist. What
 * there is no room or memory for is left out. */
void orr_combined_make(const int *workers, unsigned count);

/* Whether all its workers are in ctx, just now. */
bool orr_combined_is_in(const struct orr_combined *c, const struct orr_ctx *ctx);

/* For policies, before they choose: the combined workers of ctx exist, if its members have changed. */
struct orr_combined_view {
    _Atomic uint64_t made_for[STARPU_NMAXWORKERS / 64]; /* the members then [any: hint] */
};
void orr_combined_refresh(struct orr_combined_view *view, const struct orr_ctx *ctx);

/* Whether the codelet of t may run on so many CPU workers together. */
bool orr_task_may_use(const struct orr_task *t, unsigned size);
/* Whether all of c together can run t with implementation nimpl. Calls the codelet's can_execute. */
bool orr_combined_can_run(const struct orr_combined *c, struct orr_task *t, unsigned nimpl);
/* The same for any, the first in *nimpl_out. */
bool orr_combined_can_run_any(const struct orr_combined *c, struct orr_task *t, unsigned *nimpl_out);

/* Whether only one combined worker is to be used at a time (STARPU_SINGLE_COMBINED_WORKER). */
bool orr_combined_single(void);

/* Reads the settings, before contexts are opened; forgets all, after workers have ended. */
struct starpu_conf;
void orr_combined_init(const struct starpu_conf *conf);
void orr_combined_fini(void);

#endif
