/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_sched_display.c: lists the scheduling policies that STARPU_SCHED may name.
 * Threads: main. Owns: nothing. Not here: policies of a program's own, or of a library (STARPU_SCHED_LIB). */
#include "tools/tool.h"

static const struct tool tool = { "starpu_sched_display",
                                  "list scheduling policies\n"
                                  "\n"
                                  "SYNOPSIS\n"
                                  "    starpu_sched_display [-l]\n"
                                  "\n"
                                  "DESCRIPTION\n"
                                  "    Prints the names of the scheduling policies in the library, one on a "
                                  "line, the default first. One of them\n"
                                  "    is chosen by the environment variable STARPU_SCHED.\n"
                                  "\n"
                                  "OPTIONS\n"
                                  "    -l, --long      what each does, behind its name\n"
                                  "    -h, --help      this text\n"
                                  "    -v, --version   the version\n" };

int main(int argc, char **argv)
{
    static const struct option options[] = { { "long", no_argument, NULL, 'l' },
                                             { "help", no_argument, NULL, 'h' },
                                             { "version", no_argument, NULL, 'v' },
                                             { NULL, 0, NULL, 0 } };
    int with_description = 0;
    for (int c; (c = getopt_long(argc, argv, "lhv", options, NULL)) != -1;) {
        if (c == 'h') return tool_help(&tool);
        if (c == 'v') return tool_version(&tool);
        if (c != 'l') return tool_usage(&tool);
        with_description = 1;
    }
    if (optind < argc) {
        tool_complain(&tool, "\"%s\" is no option", argv[optind]);
        return tool_usage(&tool);
    }
    for (struct starpu_sched_policy **p = starpu_sched_get_predefined_policies(); *p; p++)
        if (with_description)
            printf("%-32s %s\n", (*p)->policy_name, (*p)->policy_description);
        else
            printf("%s\n", (*p)->policy_name);
    return tool_end(&tool);
}
