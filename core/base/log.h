/* SPDX-License-Identifier: BSD-3-Clause */
/* log.h: messages for the user: one line each, saying what, where, and how to mend it.
 * Threads: any (a line is one write). Owns: the rank prefix and the verbosity. Not here: deadlock reports
 * (core/run). */
#ifndef ORR_BASE_LOG_H
#define ORR_BASE_LOG_H

#include <stdbool.h>

#include "core/base/export.h"

/* Something the user must mend; the caller then returns an error code. Always printed. */
ORR_EXPORT void orr_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Something the user should know. Printed unless STARPU_SILENT. */
ORR_EXPORT void orr_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same of what is in order. */
ORR_EXPORT void orr_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* For verbose runs (ORRERY_VERBOSE). */
ORR_EXPORT void orr_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* An error in a function that cannot return one: prints, calls the error hook if the program set one
 * (orrery_set_error_hook), and otherwise ends the process with status 1. */
ORR_EXPORT void orr_fatal(const char *fmt, ...) __attribute__((format(printf, 1, 2), cold));

ORR_EXPORT void orr_log_set_rank(int rank); /* -1: no prefix */
int orr_log_rank(void);
void orr_log_init(void); /* reads STARPU_SILENT and ORRERY_VERBOSE */

typedef void (*orr_error_hook_fn)(const char *message, void *arg);
void orr_log_set_hook(orr_error_hook_fn fn, void *arg);

#endif
