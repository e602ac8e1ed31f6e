/* SPDX-License-Identifier: BSD-3-Clause */
/* breaks.c: see breaks.h.
 * Threads: any. Owns: the numbers of the tasks to stop at. Not here: starpu_task_get_job_id (core/task). */
#include "core/worker/breaks.h"

#include <limits.h>
#include <signal.h>

#include "core/base/env.h"
#include "core/base/log.h"
#include "core/task/task.h"

static const struct orr_env env_break[ORR_BREAKS] = {
    [ORR_BREAK_SUBMIT] = { "STARPU_TASK_BREAK_ON_SUBMIT", "none", "job id",
                           "stop a debugger (SIGTRAP) when this task is submitted" },
    [ORR_BREAK_SCHED] = { "STARPU_TASK_BREAK_ON_SCHED", "none", "job id",
                          "stop a debugger when the policy decides about this task" },
    [ORR_BREAK_PUSH] = { "STARPU_TASK_BREAK_ON_PUSH", "none", "job id",
                         "stop a debugger when this task is given to the policy" },
    [ORR_BREAK_POP] = { "STARPU_TASK_BREAK_ON_POP", "none", "job id",
                        "stop a debugger when a worker takes this task" },
    [ORR_BREAK_EXEC] = { "STARPU_TASK_BREAK_ON_EXEC", "none", "job id",
                         "stop a debugger right before this task runs" },
};
static long wanted[ORR_BREAKS]; /* [const while workers run] -1: none */

bool orr_breaks_init(void)
{
    bool any = false;
    for (int i = 0; i < ORR_BREAKS; i++) {
        wanted[i] = orr_env_long(&env_break[i], -1, 0, LONG_MAX);
        any |= wanted[i] >= 0;
    }
    return any;
}

void orr_break(enum orr_break where, const struct orr_task *t)
{
    if (!t || wanted[where] < 0 || (unsigned long)wanted[where] != t->id) return;
    orr_info("%s: task %s, job %lu, stops here", env_break[where].name, orr_task_name(t),
             (unsigned long)t->id);
    raise(SIGTRAP);
}
