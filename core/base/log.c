/* SPDX-License-Identifier: BSD-3-Clause */
/* log.c: messages for the user on standard error.
 * Threads: any. Owns: rank prefix, verbosity, error hook. Not here: what the messages say. */
#include "core/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <starpu_helper.h>

#include "config.h"
#include "core/base/env.h"
#include "core/base/sync.h"

enum { LINE_MAX_BYTES = 2048 };

static _Atomic int rank_prefix = -1;
static _Atomic bool silent, verbose;
static _Atomic(orr_error_hook_fn) hook;
static _Atomic(void *) hook_arg;

int _starpu_silent; /* public: macros of the headers look at it */

void orr_log_init(void)
{
    _starpu_silent = orr_env_long(ORR_SETTING(STARPU_SILENT), 0, 0, 1) != 0;
    orr_store_relaxed(&silent, _starpu_silent != 0);
    orr_store_relaxed(&verbose, orr_env_long(ORR_SETTING(ORRERY_VERBOSE), ORR_VERBOSE, 0, 9) != 0);
}

void orr_log_set_rank(int rank)
{
    orr_store_relaxed(&rank_prefix, rank);
}

int orr_log_rank(void)
{
    return orr_load_relaxed(&rank_prefix);
}

void orr_log_set_hook(orr_error_hook_fn fn, void *arg)
{
    orr_store_release(&hook_arg, arg);
    orr_store_release(&hook, fn);
}

/* Formats "orrery[rank]: kind: text\n" into line, which has LINE_MAX_BYTES. */
static void format_line(char *line, const char *kind, const char *fmt, va_list ap)
{
    int rank = orr_load_relaxed(&rank_prefix), n;
    if (rank >= 0)
        n = snprintf(line, LINE_MAX_BYTES, "orrery[rank %d]: %s", rank, kind);
    else
        n = snprintf(line, LINE_MAX_BYTES, "orrery: %s", kind);
    int m = vsnprintf(line + n, (size_t)(LINE_MAX_BYTES - n - 1), fmt, ap);
    if (m < 0) m = 0;
    n += m;
    if (n > LINE_MAX_BYTES - 2) n = LINE_MAX_BYTES - 2;
    line[n] = '\n';
    line[n + 1] = 0;
}

static void print_line(const char *kind, const char *fmt, va_list ap)
{
    char line[LINE_MAX_BYTES];
    format_line(line, kind, fmt, ap);
    fputs(line, stderr);
}

void orr_error(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    print_line("error: ", fmt, ap);
    va_end(ap);
}

void orr_warn(const char *fmt, ...)
{
    if (orr_load_relaxed(&silent)) return;
    va_list ap;
    va_start(ap, fmt);
    print_line("warning: ", fmt, ap);
    va_end(ap);
}

void orr_note(const char *fmt, ...)
{
    if (orr_load_relaxed(&silent)) return;
    va_list ap;
    va_start(ap, fmt);
    print_line("", fmt, ap);
    va_end(ap);
}

void orr_info(const char *fmt, ...)
{
    if (!orr_load_relaxed(&verbose)) return;
    va_list ap;
    va_start(ap, fmt);
    print_line("", fmt, ap);
    va_end(ap);
}

void orr_fatal(const char *fmt, ...)
{
    char line[LINE_MAX_BYTES];
    va_list ap;
    va_start(ap, fmt);
    format_line(line, "error: ", fmt, ap);
    va_end(ap);
    fputs(line, stderr);
    orr_error_hook_fn fn = orr_load_acquire(&hook);
    if (fn) {
        fn(line, orr_load_acquire(&hook_arg));
        return;
    }
    _exit(1);
}
