/* SPDX-License-Identifier: BSD-3-Clause */
/* insert.h: making a task from a list of arguments; for the MPI layer as well.
 * Threads: any. Owns: nothing. Not here: who runs the task (mpi/place/insert.c). */
#ifndef ORR_TASK_INSERT_H
#define ORR_TASK_INSERT_H

#include <starpu_task.h>
#include <starpu_task_util.h>
#include <stdarg.h>
#include <stdbool.h>

#include "core/base/export.h"

/* A task from a codelet and the argument list ap, ended by 0; kinds that concern ranks are skipped. The list
 * is consumed. NULL after an error (said), or out of memory. The caller submits or destroys it. flags:
 * reserved, 0. */
ORR_EXPORT struct starpu_task *orr_task_build_v(struct starpu_codelet *cl, int flags, va_list ap);

/* A kind of argument that is not public: const char *, values as core/task/args.h packs them, copied;
 * NULL: none. */
#define ORR_INSERT_PACKED STARPU_ARGUMENT_KIND_(61)

/* Steps over one argument of a kind other than data. False: the kind is unknown. For parsers that look for
 * one kind. */
ORR_EXPORT bool orr_insert_skip(int kind, va_list *ap);

#endif
