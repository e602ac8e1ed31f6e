/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is printed on stderr meanwhile.
 * Threads: one listens, any may print. Owns: a file in the place of stderr. Not here: what programs say that
 * a test starts (tests/core/misuse.h, tests/mpi/failures.h).
 */
#ifndef ORR_TESTS_HEARD_H
#define ORR_TESTS_HEARD_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/tap.h"

static FILE *heard;
static int own_stderr;

static void listen_to_stderr(void)
{
    heard = tmpfile();
    fflush(stderr);
    own_stderr = dup(STDERR_FILENO);
    if (heard) dup2(fileno(heard), STDERR_FILENO);
}

/* In how many lines the text was said since listen_to_stderr(); the first three are shown. -1: it could not
 * be listened to. */
static int times_said(const char *text)
{
    char line[1024];
    int n = 0;
    fflush(stderr);
    dup2(own_stderr, STDERR_FILENO);
    close(own_stderr);
    if (!heard) return -1;
    rewind(heard);
    while (fgets(line, sizeof line, heard))
        if (strstr(line, text) && n++ < 3) diag("%.*s", (int)strcspn(line, "\n"), line);
    fclose(heard);
    return n;
}

#endif
