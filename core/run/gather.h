/* SPDX-License-Identifier: BSD-3-Clause */
/* gather.h: the numbers that a process shows while somebody looks (core/base/livepage.h).
 * Threads: one at a time, the live thread. Owns: the observer that counts meanwhile. Not here: who asks for
 * them (live.c).
 *
 * While nobody looks nothing is counted that was not counted anyway. */
#ifndef ORR_RUN_GATHER_H
#define ORR_RUN_GATHER_H

#include "core/base/livepage.h"

enum orr_gathering {
    ORR_GATHER_NOTHING,
    ORR_GATHER_SUMS,    /* tasks, idle workers, bytes: nothing that is told for each task */
    ORR_GATHER_CODELETS /* and what each codelet took */
};

/* Makes room for the numbers of all workers and nodes; NULL: out of memory. And gives it back (NULL is
 * nothing), counting nothing any more. */
struct orr_live_sums *orr_gather_init(unsigned nodes);
void orr_gather_fini(struct orr_live_sums *numbers);

/* Counts that from now on. */
void orr_gather_want(enum orr_gathering wanted);
/* Fills in the numbers of the moment. */
void orr_gather(struct orr_live_sums *numbers);

/* How many tasks the program says there will be; 0: it has not. */
uint64_t orr_tasks_expected(void);

#endif
