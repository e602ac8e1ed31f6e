/* SPDX-License-Identifier: BSD-3-Clause */
/* parallel.h: tasks that several CPU workers run together.
 * Threads: each function says. Owns: struct orr_team. Not here: which workers may be combined (combined.h),
 * who decides that (sched/). */
#ifndef ORR_WORKER_PARALLEL_H
#define ORR_WORKER_PARALLEL_H

#include "core/worker/combined.h"

struct orr_team;

/* Makes t, which is ready and the caller's, a task for so many workers: those of c, or any (c NULL). Each is
 * then to be given a part of it. 0, or -ENOMEM with nothing changed. */
int orr_team_create(struct orr_task *t, const struct orr_combined *c, unsigned size);

/* Gives t, which is ready and the caller's, to the workers of c: a part to each one's own queue, behind what
 * is there, in the same order for all of them. 0, or -ENOMEM with nothing changed. Any thread; wakes. */
int orr_team_push(const struct orr_combined *c, struct orr_task *t);

/* Takes part in what t is a part of. On w's thread, in the place of orr_worker_run. */
void orr_team_run(struct orr_worker *w, struct orr_task *t);

/* How many parts of t have been taken up, for messages; false: nobody waits for others of them. */
bool orr_team_waits(const struct orr_task *t, unsigned *come_out, unsigned *size_out);

/* The same of a task's team (orr_task_rare.team) that may end meanwhile: only copied (core/base/peek.h), so
 * to be believed if the task is still there afterwards. waits_for: workers of its combined worker that have
 * not come; none are known of a team without one. Any thread. */
struct orr_team_look {
    unsigned come, size, missing;
    int waits_for[STARPU_NMAXWORKERS]; /* so many are missing; rising */
};
bool orr_team_peek(const struct orr_team *team, struct orr_team_look *out);

/* Something happened that w, waiting for others of its team, may have to look at. Any thread. */
static inline void orr_gate_open(struct orr_worker *w)
{
    orr_add_seq(&w->gate, 1u); /* pairs with gate_wait in parallel.c, as does the next */
    if (orr_unlikely(orr_load_seq(&w->at_gate))) orr_futex_wake(&w->gate, 1);
}

/* Installs what core/task calls. Before workers start. */
void orr_teams_init(void);

#endif
