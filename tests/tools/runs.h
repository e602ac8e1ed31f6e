/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a tool, and looks at what it prints.
 * Threads: main. Owns: the output of the latest run. Not here: what tools are to say (tools.c, plan_files.c).
 */
#ifndef ORR_TESTS_TOOLS_RUNS_H
#define ORR_TESTS_TOOLS_RUNS_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/tap.h"

enum { OUTPUT_BYTES = 65536 };

static char output[OUTPUT_BYTES];
static char before[2200]; /* what stands before each command line, up to the tool's name or options */

/* Runs a command line; what it prints, errors included, is in output. Returns its exit status. */
__attribute__((format(printf, 1, 2))) static int run(const char *fmt, ...)
{
    char line[4096 + sizeof before];
    va_list ap;
    int n = snprintf(line, sizeof line, "exec 2>&1; %s", before);
    va_start(ap, fmt);
    vsnprintf(line + n, sizeof line - (size_t)n, fmt, ap);
    va_end(ap);
    FILE *f = popen(line, "r");
    size_t got = f ? fread(output, 1, sizeof output - 1, f) : 0;
    output[got] = 0;
    int status = f ? pclose(f) : -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

__attribute__((unused)) static int says(const char *text)
{
    if (strstr(output, text)) return 1;
    diag("\"%s\" is not in: %.600s", text, output);
    return 0;
}

#endif
