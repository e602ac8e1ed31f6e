/* SPDX-License-Identifier: BSD-3-Clause */
/* lend.h: ready tasks that a rank which has nothing to do runs for another one; the results go home.
 * Threads: begin and end by the main thread. Owns: nothing. Not here: the state (loan.h), taking tasks from a
 * policy (core/worker/lending.h), by what ranks know codelets (live/stream.h).
 *
 * Who has nothing to do asks one rank (hungry.c), which answers how many tasks it lends, and sends them
 * (lend.c); they are run there (borrow.c), and what they wrote goes back. For the stream, for owners and
 * placements a lent task ran where it was placed. */
#ifndef ORR_MPI_LEND_H
#define ORR_MPI_LEND_H

#include "mpi/value/loan.h"

/* Answers others from now on; on all ranks or on none, before any asks. 0 or -ENOMEM. */
int orr_lend_begin(struct orr_lend *l, struct orr_cluster *cl, struct orr_controls *controls);
/* A worker here has nothing to do: what has been lent for long, and not begun, since the borrower's workers
 * are in long tasks, is asked back. Returns in how many ns to look again at the latest; UINT64_MAX: nothing
 * is lent. */
uint64_t orr_lend_want_back(struct orr_lend *l);
/* All ranks have stopped asking, and none has a task: nothing is under way when it returns. Blocks. */
void orr_lend_end(struct orr_lend *l);

#endif
