/* SPDX-License-Identifier: BSD-3-Clause */
/* What the profiling tool of tests/core/prof_tool_lib.c counts. Threads: any. Owns: nothing. */
#ifndef TESTS_PROF_TOOL_LIB_H
#define TESTS_PROF_TOOL_LIB_H

#include <stdatomic.h>

#include <starpu_profiling_tool.h>

enum { PROF_TOOL_EVENTS = starpu_prof_tool_event_user_end + 1 };

struct prof_tool_seen {
    atomic_int events[PROF_TOOL_EVENTS], wrong, worker;
    _Atomic(void *) function;
    atomic_size_t bytes_to_transfer, bytes_transfered;
};

__attribute__((visibility("default"))) extern struct prof_tool_seen prof_tool_seen;

#endif
