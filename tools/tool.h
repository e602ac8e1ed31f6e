/* SPDX-License-Identifier: BSD-3-Clause */
/* tool.h: what the programs of this folder share: help, version, and complaints, in one form.
 * Threads: main. Owns: nothing. Not here: what the programs do. */
#ifndef ORR_TOOLS_TOOL_H
#define ORR_TOOLS_TOOL_H

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <orrery.h>
#include <starpu.h>

struct tool {
    const char *name;
    const char *help; /* as a manual page: NAME, SYNOPSIS, DESCRIPTION, OPTIONS, ... */
};

enum { TOOL_OK = 0, TOOL_FAILED = 1, TOOL_USAGE = 2 };

__attribute__((unused)) static int tool_help(const struct tool *t)
{
    printf("NAME\n    %s - %s", t->name, t->help);
    return fflush(stdout) == 0 ? TOOL_OK : TOOL_FAILED;
}

__attribute__((unused)) static int tool_version(const struct tool *t)
{
    printf("%s (Orrery) %d.%d.%d, interface of StarPU %d.%d\n", t->name, ORRERY_VERSION_MAJOR,
           ORRERY_VERSION_MINOR, ORRERY_VERSION_PATCH, STARPU_MAJOR_VERSION, STARPU_MINOR_VERSION);
    return fflush(stdout) == 0 ? TOOL_OK : TOOL_FAILED;
}

/* After an option that getopt refused, and said so. */
__attribute__((unused)) static int tool_usage(const struct tool *t)
{
    fprintf(stderr, "%s: see %s --help\n", t->name, t->name);
    return TOOL_USAGE;
}

__attribute__((format(printf, 2, 3), unused)) static int tool_complain(const struct tool *t, const char *fmt,
                                                                       ...)
{
    va_list ap;
    fprintf(stderr, "%s: ", t->name);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    return TOOL_FAILED;
}

/* What was printed may not have arrived: a full disk, a closed pipe. */
__attribute__((unused)) static int tool_end(const struct tool *t)
{
    return fflush(stdout) == 0 && !ferror(stdout) ? TOOL_OK
                                                  : tool_complain(t, "the output could not be written");
}

#endif
