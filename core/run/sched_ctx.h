/* SPDX-License-Identifier: BSD-3-Clause */
/* sched_ctx.h: what the parts of the programs' interface to contexts share.
 * Threads: any. Owns: nothing. Not here: opening and closing (context.h). */
#ifndef ORR_RUN_SCHED_CTX_H
#define ORR_RUN_SCHED_CTX_H

#include "core/worker/context.h"

/* The context, or NULL with a message. */
struct orr_ctx *orr_ctx_find(unsigned id, const char *function);

/* starpu_sched_ctx_add_workers and _remove_workers for who cannot know whether the context is still there.
 * False: there is none, or it is being deleted; nothing was done. */
bool orr_sched_ctx_move_try(const int *workers, unsigned count, unsigned id, bool add);

/* change 1: these workers serve no context until they are called with -1 as often; waits for them, if the
 * caller may wait. */
void orr_sched_ctx_suspend(const int *workers, unsigned count, int change);

/* At shutdown, when all contexts are closed. */
void orr_sched_ctx_fini(void);

#endif
