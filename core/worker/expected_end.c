/* SPDX-License-Identifier: BSD-3-Clause */
/* expected_end.c: when the task that a worker runs should end (starpu_worker_get_current_task_exp_end); an
 * observer, from when that is first asked.
 * Threads: workers note; any asks. Owns: those times. Not here: what a task should take (core/task/perf.c).
 */
#include <math.h>

#include <starpu.h>

#include "core/base/event.h"
#include "core/task/perf.h"
#include "core/worker/worker.h"

extern struct orr_observer orr_expected_end_observer;

static _Atomic double
    end_us[STARPU_NMAXWORKERS]; /* on the clock of starpu_timing_now; 0: unknown [own: worker] */

static void expected_end_see(struct orr_observer *o, const struct orr_seen *e)
{
    struct orr_task *t = (struct orr_task *)e->subject;
    struct starpu_perfmodel *m = t->pub->cl->model;
    double us = NAN;
    (void)o;
    if (m && e->kind == ORR_EVENT_TASK_STARTED) us = orr_task_expected(t, m, (int)e->b, t->nimpl, (int)e->c);
    orr_store_relaxed(&end_us[e->a], isnan(us) || isinf(us) ? 0 : starpu_timing_now() + us);
}

void starpu_worker_get_current_task_exp_end(unsigned workerid, struct timespec *date)
{
    orr_observer_want(&orr_expected_end_observer,
                      ORR_EVENT_BIT(TASK_STARTED) | ORR_EVENT_BIT(TASK_ENDED) | ORR_EVENT_BIT(TASK_GIVEN_UP));
    clock_gettime(CLOCK_MONOTONIC, date); /* as in profile.c */
    double until_us = workerid < orr_worker_count ? orr_load_relaxed(&end_us[workerid]) : 0;
    if (until_us <= 0) return;
    int64_t ns = date->tv_nsec + (int64_t)((until_us - starpu_timing_now()) * 1e3);
    int64_t seconds = ns / STARPU_NS_PER_S - (ns % STARPU_NS_PER_S < 0);
    date->tv_sec += (time_t)seconds;
    date->tv_nsec = (long)(ns - seconds * STARPU_NS_PER_S);
}

struct orr_observer orr_expected_end_observer = { .name = "expected ends", .see = expected_end_see };
