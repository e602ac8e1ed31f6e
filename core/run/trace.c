/* SPDX-License-Identifier: BSD-3-Clause */
/* trace.c: what programs say for recordings: where iterations begin and end, when to record, marks.
 * Threads: any; iterations belong to the calling thread. Owns: its stack of iterations. Not here: recording
 * (record.c), profiling (core/worker). */
#include <starpu.h>
#include <starpu_fxt.h>

#include "core/base/event.h"
#include "core/base/log.h"
#include "core/base/thread.h"
#include "core/run/record.h"
#include "core/run/trace.h"

int starpu_fxt_is_enabled(void)
{
    return orr_record_possible();
}

void starpu_fxt_autostart_profiling(int autostart)
{
    orr_record_switch(autostart != 0);
}

void starpu_fxt_start_profiling(void)
{
    orr_record_switch(true);
}

void starpu_fxt_stop_profiling(void)
{
    orr_record_switch(false);
}

void starpu_fxt_trace_user_event(unsigned long code)
{
    ORR_EVENT(USER_NUMBER, NULL, code, 0, 0);
}

void starpu_fxt_trace_user_event_string(const char *s)
{
    ORR_EVENT(USER_TEXT, s, 0, 0, 0);
}

void starpu_fxt_trace_user_meta_string(const char *s)
{
    ORR_EVENT(USER_TEXT, s, 0, 0, 0);
}

/* ---- iterations ---- */

enum { ITERATIONS_NESTED = 8 };
struct iterations {
    unsigned long iteration[ITERATIONS_NESTED];
    unsigned depth; /* may exceed ITERATIONS_NESTED: what is deeper is not kept */
};

void (*_Atomic orr_iteration_hook)(bool begins);

static void tell(bool begins)
{
    void (*hook)(bool) = orr_load_acquire(&orr_iteration_hook); /* pairs with mpi/api/iteration.c */
    if (hook) hook(begins);
}

void starpu_iteration_push(unsigned long iteration)
{
    struct iterations *own = orr_thread_room(orr_self(), iterations, struct iterations);
    if (own->depth < ITERATIONS_NESTED) own->iteration[own->depth] = iteration;
    own->depth++;
    ORR_EVENT(ITERATION_STARTED, NULL, iteration, own->depth, 0);
    if (own->depth == 1) tell(true);
}

void starpu_iteration_pop(void)
{
    struct iterations *own = orr_thread_room(orr_self(), iterations, struct iterations);
    ORR_EVENT(ITERATION_ENDED, NULL, 0, own->depth, 0);
    if (own->depth == 1) tell(false);
    if (own->depth > 0)
        own->depth--;
    else
        orr_error("starpu_iteration_pop: there was no starpu_iteration_push on this thread");
}
