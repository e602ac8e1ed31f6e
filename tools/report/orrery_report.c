/* SPDX-License-Identifier: BSD-3-Clause */
/* orrery_report.c: shows what a recording says of a run.
 * Threads: main. Owns: nothing. Not here: reading (read.c), figures (model.c), what is printed (text.c). */
#include "tools/report/report.h"
#include "tools/tool.h"

static const struct tool tool = {
    "orrery_report",
    "show what happened in a run that was recorded\n"
    "\n"
    "SYNOPSIS\n"
    "    ORRERY_TRACE=run.otrace program\n"
    "    orrery_report FILE...\n"
    "\n"
    "DESCRIPTION\n"
    "    Prints how long the run took, how well its workers were used and why they were idle, the time of "
    "each\n"
    "    codelet, the critical path, and how far the run was from the least time that it could have taken.\n"
    "    The recordings of several ranks are shown together. A recording that was cut off, by a crash, say, "
    "is\n"
    "    shown as far as it goes.\n"
    "\n"
    "OPTIONS\n"
    "    -h, --help           this text\n"
    "    -v, --version        the version\n"
    "\n"
    "EXIT STATUS\n"
    "    0; 1: a file cannot be read, or the output not be written; 2: wrong usage\n"
};

static void complain(const char *path, const char *what)
{
    tool_complain(&tool, "%s: %s", path, what);
}

static int report(char *const *paths, size_t n)
{
    static struct report_run run;
    static struct report_model model;
    if (report_read(&run, paths, n, complain) != 0) return TOOL_FAILED;
    report_model(&model, &run);
    return report_text(stdout, &model) ? TOOL_OK : tool_complain(&tool, "the output could not be written");
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "help", no_argument, NULL, 'h' },
                                             { "version", no_argument, NULL, 'v' },
                                             { NULL, 0, NULL, 0 } };
    for (int c; (c = getopt_long(argc, argv, "hv", options, NULL)) != -1;) {
        if (c == 'h') return tool_help(&tool);
        if (c == 'v') return tool_version(&tool);
        return tool_usage(&tool);
    }
    if (optind == argc) {
        tool_complain(&tool, "no recording is named");
        return tool_usage(&tool);
    }
    return report(argv + optind, (size_t)(argc - optind));
}
