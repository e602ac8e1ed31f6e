/* SPDX-License-Identifier: BSD-3-Clause */
/* trace.h: who is told where the iterations of a program begin and end.
 * Threads: any. Owns: nothing. Not here: what programs say (trace.c). */
#ifndef ORR_RUN_TRACE_H
#define ORR_RUN_TRACE_H

#include <stdbool.h>

#include "core/base/export.h"

/* Called by starpu_iteration_push and _pop, for the outermost iteration of the calling thread; NULL: nobody
 * wants to know. Set by liborrery-mpi. */
extern ORR_EXPORT void (*_Atomic orr_iteration_hook)(bool begins);

#endif
