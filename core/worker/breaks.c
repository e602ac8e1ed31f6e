/* SPDX-License-Identifier: BSD-3-Clause */
/* breaks.c: see breaks.h.
 * Threads: any. Owns: the numbers of the tasks to stop at. Not here: starpu_task_get_job_id (core/task). */
#include "core/worker/breaks.h"

#include <limits.h>
#include <signal.h>

#include "core/base/env.h"
#include "core/base/log.h"
#include "core/task/task.h"

static const enum orr_setting env_break[ORR_BREAKS] = {
    [ORR_BREAK_SUBMIT] = ORR_SETTING_STARPU_TASK_BREAK_ON_SUBMIT,
    [ORR_BREAK_SCHED] = ORR_SETTING_STARPU_TASK_BREAK_ON_SCHED,
    [ORR_BREAK_PUSH] = ORR_SETTING_STARPU_TASK_BREAK_ON_PUSH,
    [ORR_BREAK_POP] = ORR_SETTING_STARPU_TASK_BREAK_ON_POP,
    [ORR_BREAK_EXEC] = ORR_SETTING_STARPU_TASK_BREAK_ON_EXEC,
};
static long wanted[ORR_BREAKS]; /* [const while workers run] -1: none */

bool orr_breaks_init(void)
{
    bool any = false;
    for (int i = 0; i < ORR_BREAKS; i++) {
        wanted[i] = orr_env_long(&orr_settings[env_break[i]], -1, 0, LONG_MAX);
        any |= wanted[i] >= 0;
    }
    return any;
}

void orr_break(enum orr_break where, const struct orr_task *t)
{
    if (!t || wanted[where] < 0 || (unsigned long)wanted[where] != t->id) return;
    orr_info("%s: task %s, job %lu, stops here", orr_settings[env_break[where]].name, orr_task_name(t),
             (unsigned long)t->id);
    raise(SIGTRAP);
}
