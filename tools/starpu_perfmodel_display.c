/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_perfmodel_display.c: shows what performance models there are, and what one has learnt.
 * Threads: main. Owns: nothing. Not here: drawing it (starpu_perfmodel_plot.c). */
#include "tools/tool.h"

static const struct tool tool = {
    "starpu_perfmodel_display",
    "show performance models\n"
    "\n"
    "SYNOPSIS\n"
    "    starpu_perfmodel_display -l | -d\n"
    "    starpu_perfmodel_display -s SYMBOL [-a ARCH] [-p PARAMETER] [-f FOOTPRINT] [-x]\n"
    "\n"
    "DESCRIPTION\n"
    "    Shows the measures of a performance model and the laws fitted to them: for each architecture and\n"
    "    implementation the footprints of the data, their sizes, how many measures were taken, and their "
    "mean and\n"
    "    standard deviation in microseconds.\n"
    "\n"
    "OPTIONS\n"
    "    -l                   list the models kept for this machine\n"
    "    -d                   where they are kept\n"
    "    -s SYMBOL            the model to show, by its symbol\n"
    "    -a ARCH              only one architecture: cpu, cpu:N (N cores), another kind, or that and\n"
    "                         a device's number\n"
    "    -p PARAMETER         only one number: a, b, c, alpha, beta, mean, stddev, or path-file-debug\n"
    "    -f FOOTPRINT         only this footprint (hexadecimal)\n"
    "    -x                   all of the model, as XML\n"
    "    -h, --help           this text\n"
    "    -v, --version        the version\n"
    "\n"
    "ENVIRONMENT\n"
    "    STARPU_HOME, STARPU_PERF_MODEL_DIR, STARPU_PERF_MODEL_PATH   where models are looked for\n"
    "    STARPU_HOSTNAME                                              the machine whose models are shown\n"
    "\n"
    "EXIT STATUS\n"
    "    0; 1: there is no such model, or it is damaged; 2: wrong usage\n"
};

static struct {
    const char *symbol;
    char *arch, *parameter;
    uint32_t footprint, *footprint_wanted;
    int list, directory, xml;
} asked;

static int read_footprint(const char *text)
{
    char *end;
    unsigned long v = strtoul(text, &end, 16);
    if (end == text || *end || v > UINT32_MAX) {
        tool_complain(&tool, "\"%s\" is no footprint: up to 8 hexadecimal digits", text);
        return TOOL_USAGE;
    }
    asked.footprint = (uint32_t)v;
    asked.footprint_wanted = &asked.footprint;
    return TOOL_OK;
}

static int show_model(void)
{
    struct starpu_perfmodel model = { .type = STARPU_PERFMODEL_INVALID };
    if (starpu_perfmodel_load_symbol(asked.symbol, &model) != 0)
        return tool_complain(&tool, "the model \"%s\" cannot be loaded; -l lists those there are",
                             asked.symbol);
    int r = 0;
    if (asked.xml)
        starpu_perfmodel_dump_xml(stdout, &model);
    else
        r = starpu_perfmodel_print_all(&model, asked.arch, asked.parameter, asked.footprint_wanted, stdout);
    starpu_perfmodel_unload_model(&model);
    return r ? TOOL_FAILED : tool_end(&tool);
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "help", no_argument, NULL, 'h' },
                                             { "version", no_argument, NULL, 'v' },
                                             { NULL, 0, NULL, 0 } };
    for (int c; (c = getopt_long(argc, argv, "lds:a:p:f:xhv", options, NULL)) != -1;) switch (c) {
        case 'l': asked.list = 1; break;
        case 'd': asked.directory = 1; break;
        case 's': asked.symbol = optarg; break;
        case 'a': asked.arch = optarg; break;
        case 'p': asked.parameter = optarg; break;
        case 'f':
            if (read_footprint(optarg) != TOOL_OK) return tool_usage(&tool);
            break;
        case 'x': asked.xml = 1; break;
        case 'h': return tool_help(&tool);
        case 'v': return tool_version(&tool);
        default: return tool_usage(&tool);
        }
    if (optind < argc || asked.list + asked.directory + (asked.symbol != NULL) != 1) {
        tool_complain(&tool, "one of -l, -d and -s SYMBOL is to be given, and nothing else but options");
        return tool_usage(&tool);
    }
    starpu_perfmodel_initialize();
    int r = TOOL_OK;
    if (asked.directory)
        starpu_perfmodel_directory(stdout);
    else if (asked.list && starpu_perfmodel_list(stdout) != 0)
        r = tool_complain(&tool, "the folder of the models cannot be read; -d says which it is");
    else if (asked.symbol)
        r = show_model();
    starpu_perfmodel_free_sampling();
    return r ? r : tool_end(&tool);
}
