/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_calibrate_bus.c: measures the links between memory nodes, and saves what it found for later runs.
 * Threads: main. Owns: nothing. Not here: how links are measured (core/perf/bus.c). */
#include "tools/tool.h"

static const struct tool tool = {
    "starpu_calibrate_bus",
    "measure the links between main memory and devices\n"
    "\n"
    "SYNOPSIS\n"
    "    starpu_calibrate_bus [-q]\n"
    "\n"
    "DESCRIPTION\n"
    "    Measures bandwidth and latency of each link between two memory nodes of this machine, saves them in "
    "a file\n"
    "    that later runs read, and prints them. Schedulers that count the time of transfers (dmda and its "
    "relatives)\n"
    "    depend on it. To be run while nothing else uses the machine.\n"
    "\n"
    "OPTIONS\n"
    "    -q, --quiet     print nothing\n"
    "    -h, --help      this text\n"
    "    -v, --version   the version\n"
    "\n"
    "ENVIRONMENT\n"
    "    STARPU_HOME, STARPU_PERF_MODEL_DIR   where measures are kept\n"
    "    STARPU_HOSTNAME                      the name of this machine in the name of the file\n"
    "    STARPU_BUS_CALIBRATE=1               has any program measure at its start\n"
    "\n"
    "EXIT STATUS\n"
    "    0; 1: the runtime cannot be started, or the file not be written; 2: wrong usage\n"
};

int main(int argc, char **argv)
{
    static const struct option options[] = { { "quiet", no_argument, NULL, 'q' },
                                             { "help", no_argument, NULL, 'h' },
                                             { "version", no_argument, NULL, 'v' },
                                             { NULL, 0, NULL, 0 } };
    int quiet = 0;
    for (int c; (c = getopt_long(argc, argv, "qhv", options, NULL)) != -1;) {
        if (c == 'h') return tool_help(&tool);
        if (c == 'v') return tool_version(&tool);
        if (c != 'q') return tool_usage(&tool);
        quiet = 1;
    }
    if (optind < argc) {
        tool_complain(&tool, "\"%s\" is no option", argv[optind]);
        return tool_usage(&tool);
    }
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.bus_calibrate = 1;
    setenv("STARPU_BUS_CALIBRATE", "1", 1); /* whatever it was: that is what this program is for */
    if (starpu_init(&conf) != 0) return tool_complain(&tool, "the runtime cannot be started");
    if (!quiet) {
        starpu_bus_print_bandwidth(stdout);
        printf("saved in ");
        starpu_bus_print_filenames(stdout);
    }
    starpu_shutdown();
    return tool_end(&tool);
}
