/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_machine_display.c: shows the workers and memory nodes that programs get on this machine.
 * Threads: main. Owns: nothing. Not here: measuring (core/perf/bus.c, starpu_calibrate_bus.c). */
#include "tools/tool.h"

static const struct tool tool = {
    "starpu_machine_display",
    "show the workers, memories and links that programs get\n"
    "\n"
    "SYNOPSIS\n"
    "    starpu_machine_display [-w TYPE] [-c] [-n] [-i] [-f]\n"
    "\n"
    "DESCRIPTION\n"
    "    Starts the runtime as a program would, with the same environment variables, and shows the workers "
    "by type,\n"
    "    the memory nodes with their sizes, and what is known of the links between them.\n"
    "\n"
    "OPTIONS\n"
    "    -w, --worker TYPE   only workers of this type, as models' files name it: cpu, ...\n"
    "    -c, --count         only how many workers there are\n"
    "    -n, --notopology    no memory nodes and links\n"
    "    -i, --info          only the names of the files that keep measures and models\n"
    "    -f, --force         measure the links first, and save that\n"
    "    -h, --help          this text\n"
    "    -v, --version       the version\n"
    "\n"
    "EXIT STATUS\n"
    "    0; 1: the runtime cannot be started; 2: wrong usage\n"
};

static struct {
    int type; /* -1: all */
    int count, without_nodes, info, force;
} asked = { .type = -1 };

static void show_workers(enum starpu_worker_archtype type)
{
    int ids[STARPU_NMAXWORKERS];
    int n = (int)starpu_worker_get_ids_by_type(type, ids, STARPU_NMAXWORKERS);
    printf("%d %s worker%s\n", n, starpu_perfmodel_get_archtype_name(type), n == 1 ? "" : "s");
    for (int i = 0; !asked.count && i < n; i++) {
        char name[64];
        starpu_worker_get_name(ids[i], name, sizeof name);
        printf("    %3d  %-40s core %d, memory node %u\n", ids[i], name, starpu_worker_get_bindid(ids[i]),
               starpu_worker_get_memory_node((unsigned)ids[i]));
    }
}

static void show_nodes(void)
{
    unsigned n = starpu_memory_nodes_get_count();
    printf("%u memory node%s\n", n, n == 1 ? "" : "s");
    for (unsigned i = 0; i < n; i++) {
        char name[64];
        starpu_ssize_t bytes = starpu_memory_get_total(i);
        starpu_memory_node_get_name(i, name, sizeof name);
        if (bytes > 0)
            printf("    %3u  %-20s %.1f MiB\n", i, name, (double)bytes / 1048576.);
        else
            printf("    %3u  %-20s no limit\n", i, name);
    }
}

static void show(void)
{
    if (asked.info) {
        starpu_perfmodel_directory(stdout);
        printf("links: ");
        starpu_bus_print_filenames(stdout);
        return;
    }
    for (int i = 0; i < STARPU_NARCH; i++) {
        enum starpu_worker_archtype type = (enum starpu_worker_archtype)i;
        if (asked.type == i || (asked.type < 0 && starpu_worker_get_count_by_type(type) > 0))
            show_workers(type);
    }
    if (asked.count || asked.without_nodes) return;
    show_nodes();
    starpu_bus_print_bandwidth(stdout);
}

static int type_of(const char *name)
{
    for (int i = 0; i < STARPU_NARCH; i++)
        if (strcasecmp(starpu_perfmodel_get_archtype_name((enum starpu_worker_archtype)i), name) == 0)
            return i;
    return -1;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        { "worker", required_argument, NULL, 'w' }, { "count", no_argument, NULL, 'c' },
        { "notopology", no_argument, NULL, 'n' },   { "info", no_argument, NULL, 'i' },
        { "force", no_argument, NULL, 'f' },        { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, 'v' },      { NULL, 0, NULL, 0 }
    };
    for (int c; (c = getopt_long(argc, argv, "w:cnifhv", options, NULL)) != -1;) switch (c) {
        case 'w':
            asked.type = type_of(optarg);
            if (asked.type < 0) {
                tool_complain(&tool, "there is no type of worker \"%s\"", optarg);
                return tool_usage(&tool);
            }
            break;
        case 'c': asked.count = 1; break;
        case 'n': asked.without_nodes = 1; break;
        case 'i': asked.info = 1; break;
        case 'f': asked.force = 1; break;
        case 'h': return tool_help(&tool);
        case 'v': return tool_version(&tool);
        default: return tool_usage(&tool);
        }
    if (optind < argc) {
        tool_complain(&tool, "\"%s\" is no option", argv[optind]);
        return tool_usage(&tool);
    }
    if (asked.force) setenv("STARPU_BUS_CALIBRATE", "1", 1);
    if (starpu_init(NULL) != 0) return tool_complain(&tool, "the runtime cannot be started");
    show();
    starpu_shutdown();
    return tool_end(&tool);
}
