/* SPDX-License-Identifier: BSD-3-Clause */
/* trace.c: what programs say for traces: where iterations begin and end, when to record. Nothing records yet,
 * so starpu_fxt_is_enabled() says no, and marks go nowhere.
 * Threads: any; iterations belong to the calling
 * thread. Owns: its stack of iterations. Not here: profiling (core/worker). */
#include <starpu.h>
#include <starpu_fxt.h>

#include "core/base/log.h"

int starpu_fxt_is_enabled(void)
{
    return 0;
}

void starpu_fxt_autostart_profiling(int autostart)
{
    (void)autostart;
}

void starpu_fxt_start_profiling(void)
{
}

void starpu_fxt_stop_profiling(void)
{
}

void starpu_fxt_trace_user_event(unsigned long code)
{
    (void)code;
}

void starpu_fxt_trace_user_event_string(const char *s)
{
    (void)s;
}

void starpu_fxt_trace_user_meta_string(const char *s)
{
    (void)s;
}

/* ---- iterations ---- */

enum { ITERATIONS_NESTED = 8 };
static _Thread_local unsigned long iterations[ITERATIONS_NESTED];
static _Thread_local unsigned depth; /* may exceed ITERATIONS_NESTED: what is deeper is not kept */

void starpu_iteration_push(unsigned long iteration)
{
    if (depth < ITERATIONS_NESTED) iterations[depth] = iteration;
    depth++;
}

void starpu_iteration_pop(void)
{
    if (depth > 0)
        depth--;
    else
        orr_error("starpu_iteration_pop: there was no starpu_iteration_push on this thread");
}
