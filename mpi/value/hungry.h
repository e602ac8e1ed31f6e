/* SPDX-License-Identifier: BSD-3-Clause */
/* hungry.h: when a rank that has nothing to do asks for tasks, and whom.
 * Threads: start and stop by the main thread; workers look, one at a time. Owns: struct orr_hungry. Not here:
 * the question itself (borrow.c). */
#ifndef ORR_MPI_HUNGRY_H
#define ORR_MPI_HUNGRY_H

#include <stdbool.h>
#include <stdint.h>

struct orr_lend;
struct orr_lend_look;

/* From now on l asks. 0 or -ENOMEM. */
int orr_hungry_start(struct orr_lend *l);
/* No more. Blocks. */
void orr_hungry_stop(struct orr_lend *l);

/* ---- the rules, for tests as well: nothing but numbers ---- */

enum {
    ORR_HUNGRY_GAP_NS = 100000, /* shorter ones are none, longer ones are */
    ORR_HUNGRY_GAP_MOST_NS = 20000000,
    ORR_HUNGRY_PAUSE_MOST_NS = 256000000, /* after refusals, of which so many are quick */
    ORR_HUNGRY_QUICK = 4,
    ORR_HUNGRY_CALM_NS = 1000000, /* from look to look where nothing is to come */
    ORR_HUNGRY_AGAIN_NS = 20000,  /* at least, from look to look */
    ORR_HUNGRY_AHEAD = 2          /* tasks for each worker that the rank has while it asks for more */
};

/* What a rank knows that asks. Zero at first, but giver -1. */
struct orr_appetite {
    uint64_t seen_ns, idle_all_ns; /* at the last look */
    unsigned workers;
    uint32_t pauses;
    double length_ns; /* of tasks here: mean of late; 0: none ran yet */
    double busy_ns;   /* of workers, since a task ended */
    double answer_ns; /* from question to answer, where something was given */
    uint64_t run;     /* tasks */
    uint64_t pause_ns, not_before_ns;
    uint32_t refusals; /* in a row */
    int giver;         /* who gave last, and has not refused since; -1: nobody */
    int last;          /* who was asked last */
};

/* How long a worker is to have been idle: a shorter gap is none worth a question. */
uint64_t orr_appetite_gap_ns(const struct orr_appetite *a);
/* A look at the workers. What was before says nothing of how long tasks are if workers were paused, came or
 * left since the last one. */
void orr_appetite_saw(struct orr_appetite *a, const struct orr_lend_look *look);
/* busy workers for so long; run: tasks ever run. */
void orr_appetite_worked(struct orr_appetite *a, double busy_ns, uint64_t run);
/* In how long who goes on being idle is to look again. asks: an answer is awaited. wanted: tasks that it
 * would have asked for. */
uint64_t orr_appetite_again_ns(const struct orr_appetite *a, const struct orr_lend_look *look, bool asks,
                               uint32_t wanted);
/* An answer came at at_ns, after so long: given tasks by peer. */
void orr_appetite_answered(struct orr_appetite *a, int peer, uint32_t given, uint64_t after_ns,
                           uint64_t at_ns);
/* How long an answer is waited for before another rank is asked. */
uint64_t orr_appetite_patience_ns(const struct orr_appetite *a);
/* For how many tasks to ask, where so many are borrowed, on the way or here, and were not run; 0: not now.
 * Who gives may be in a task when it is asked: meanwhile each worker has ORR_HUNGRY_AHEAD. */
uint32_t orr_appetite_wish(const struct orr_appetite *a, const struct orr_lend_look *look, uint32_t to_run);
/* Whom this rank asks next; by rank: surplus, what it is known to have, and whether it was asked and has not
 * answered. -1: nobody is left. */
int orr_appetite_whom(const struct orr_appetite *a, int rank, int size, const uint32_t *surplus,
                      const bool *asked);

#endif
