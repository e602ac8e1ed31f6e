/* SPDX-License-Identifier: BSD-3-Clause */
/* tell.c: see tell.h.
 * Threads: see there. Owns: which idle workers say so. Not here: see there. */
#include "core/worker/tell.h"

_Atomic uint32_t orr_tell_idle_contexts;

void orr_tell_placed_slow(struct orr_task *t, const struct orr_worker *w)
{
    t->flags |= ORR_TF_PLACED;
    ORR_EVENT(TASK_PLACED, t, w->id, t->sched_ctx, 0);
}

void orr_tell_popped_slow(struct orr_task *t, const struct orr_worker *w)
{
    bool told = t->flags & ORR_TF_PLACED;
    t->flags &= ~(uint32_t)ORR_TF_PLACED;
    if (!told && !orr_ctx_is_programs(&orr_contexts[t->sched_ctx]))
        ORR_EVENT(TASK_PLACED, t, w->id, t->sched_ctx, 0);
    ORR_EVENT(TASK_POPPED, t, w->id, t->id, 0);
}
