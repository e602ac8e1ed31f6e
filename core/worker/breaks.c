/* SPDX-License-Identifier: BSD-3-Clause */
/* breaks.c: stopping a debugger where one task passes: STARPU_TASK_BREAK_ON_SUBMIT, _SCHED, _PUSH, _POP,
 * _EXEC; an observer. Threads: any. Owns: the numbers of the tasks to stop at. Not here:
 * starpu_task_get_job_id (core/task). */
#include <limits.h>
#include <signal.h>

#include "core/base/env.h"
#include "core/base/event.h"
#include "core/base/log.h"
#include "core/task/task.h"

static const struct {
    enum orr_event_kind kind;
    enum orr_setting setting;
} places[] = {
    { ORR_EVENT_TASK_SUBMITTED, ORR_SETTING_STARPU_TASK_BREAK_ON_SUBMIT },
    { ORR_EVENT_TASK_PLACED, ORR_SETTING_STARPU_TASK_BREAK_ON_SCHED },
    { ORR_EVENT_TASK_PUSHED, ORR_SETTING_STARPU_TASK_BREAK_ON_PUSH },
    { ORR_EVENT_TASK_POPPED, ORR_SETTING_STARPU_TASK_BREAK_ON_POP },
    { ORR_EVENT_TASK_STARTED, ORR_SETTING_STARPU_TASK_BREAK_ON_EXEC },
};
enum { PLACES = sizeof places / sizeof places[0] };
static long wanted[PLACES]; /* [const while workers run] job id, -1: none */

static void breaks_see(struct orr_observer *o, const struct orr_seen *e)
{
    const struct orr_task *t = e->subject;
    int i = 0;
    (void)o;
    while (places[i].kind != e->kind) i++;
    if (!t || !t->pub->cl || (unsigned long)wanted[i] != t->id) return;
    orr_info("%s: task %s, job %lu, stops here", orr_settings[places[i].setting].name, orr_task_name(t),
             (unsigned long)t->id);
    raise(SIGTRAP);
}

static void start(struct orr_observer *o)
{
    uint64_t kinds = 0;
    for (int i = 0; i < PLACES; i++) {
        wanted[i] = orr_env_long(&orr_settings[places[i].setting], -1, 0, LONG_MAX);
        if (wanted[i] >= 0) kinds |= UINT64_C(1) << places[i].kind;
    }
    orr_observer_want(o, kinds);
}

struct orr_observer orr_breaks_observer = { .name = "breaks", .see = breaks_see, .start = start };
