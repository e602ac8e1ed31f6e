/* SPDX-License-Identifier: BSD-3-Clause */
/* cost.h: what a task costs on a worker, for all policies that ask models: when it could begin there, what
 * its copies and the room for them take, and energy; and how long the links are busy with what was promised.
 * Threads: any. Owns: what is promised to the links, for all policies of all contexts, which share them. Not
 * here: how long tasks, copies and making room take (core/task/perf.h), whose load is what (the policies). */
#ifndef ORR_SCHED_COST_H
#define ORR_SCHED_COST_H

#include <stdint.h>

struct starpu_task;

struct orr_weights {
    double alpha, beta, gamma, idle_watt; /* [const] */
};

/* By the settings STARPU_SCHED_ALPHA and its relatives. */
void orr_weights_read(struct orr_weights *w);

/* Copies to a node follow one another, beside the kernels: how long, in us, until those promised so far are
 * made; and a promise of so many us more. */
double orr_link_busy_us(unsigned node, uint64_t now_ticks);
void orr_link_promise(unsigned node, uint64_t now_ticks, double us);

/* When a task can begin, from now: its worker is free, and its data is there. All in one unit. */
static inline double orr_cost_start(double worker_free, double link_busy, double bring)
{
    double there = bring > 0 ? link_busy + bring : 0;
    return there > worker_free ? there : worker_free;
}

/* What it costs to end it so late, and to bring so much, hidden behind other tasks or not. */
static inline double orr_cost_time(const struct orr_weights *w, double end, double bring)
{
    return w->alpha * end + w->beta * bring;
}

/* What its energy costs, in us, with what the idle machine takes while it makes the whole last longer by so
 * many us (0: it does not). worker: one of architecture comb, -1: any. */
double orr_cost_energy_us(const struct orr_weights *w, struct starpu_task *p, int comb, unsigned impl,
                          int worker, double longer_us);

#endif
