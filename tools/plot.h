/* SPDX-License-Identifier: BSD-3-Clause */
/* plot.h: what the programs share that draw with gnuplot: files that are written whole, and running it.
 * Threads: main. Owns: nothing. Not here: what is drawn. */
#ifndef ORR_TOOLS_PLOT_H
#define ORR_TOOLS_PLOT_H

#include <errno.h>
#include <spawn.h>
#include <sys/wait.h>

#include "tools/tool.h"

/* Text within a gnuplot string in double quotes. */
__attribute__((unused)) static void plot_text(FILE *f, const char *s)
{
    for (; *s; s++) {
        if (*s == '"' || *s == '\\') fputc('\\', f);
        if (*s != '\n') fputc(*s, f);
    }
}

/* Waits for it, too. */
__attribute__((unused)) static int plot_run(const struct tool *t, const char *drawing)
{
    extern char **environ;
    char program[] = "gnuplot", *argv[] = { program, (char *)drawing, NULL };
    pid_t child;
    int status;
    int r = posix_spawnp(&child, program, NULL, NULL, argv, environ);
    if (r) return tool_complain(t, "gnuplot cannot be run (%s); -n only writes %s", strerror(r), drawing);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return tool_complain(t, "gnuplot was lost (%s)", strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return TOOL_OK;
    return tool_complain(t, "gnuplot failed on %s", drawing);
}

__attribute__((unused)) static FILE *plot_open(const struct tool *t, const char *path)
{
    FILE *f = fopen(path, "we");
    if (!f) tool_complain(t, "%s cannot be written: %s", path, strerror(errno));
    return f;
}

__attribute__((unused)) static int plot_close(const struct tool *t, FILE *f, const char *path)
{
    int failed = ferror(f);
    if (fclose(f) != 0 || failed) return tool_complain(t, "%s cannot be written: %s", path, strerror(errno));
    return TOOL_OK;
}

#endif
