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
    "    orrery_report [-o OUTPUT]... FILE...\n"
    "\n"
    "DESCRIPTION\n"
    "    Prints how long the run took, how well its workers were used and why they were idle, the time of "
    "each\n"
    "    codelet, the critical path, and how far the run was from the least time that it could have taken.\n"
    "    The recordings of several ranks are shown together. A recording that was cut off, by a crash, say, "
    "is\n"
    "    shown as far as it goes. What is wrong with a recording is said first; on stderr where files are "
    "written.\n"
    "\n"
    "OPTIONS\n"
    "    -o, --output OUTPUT  write that file, and print nothing. Its ending tells its form:\n"
    "                         .html  a page for any browser, which needs nothing else\n"
    "                         .json  trace events, for Perfetto (ui.perfetto.dev) and Chrome\n"
    "                         .csv   a table with a line for each task\n"
    "                         .dot   the graph of tasks, for Graphviz\n"
    "                         .rec   tasks in records, as StarPU's tasks.rec\n"
    "                         .paje, .trace   a trace of Paje, for ViTE\n"
    "                         .txt   what is printed otherwise\n"
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

static void tell_note(void *arg, const struct report_file *f, const char *note)
{
    (void)arg;
    complain(f->path, note);
}

static const struct form {
    const char *ending;
    bool (*write)(FILE *out, const struct report_model *m);
} forms[] = { { ".html", report_html },  { ".json", report_chrome }, { ".csv", report_csv },
              { ".dot", report_dot },    { ".rec", report_rec },     { ".paje", report_paje },
              { ".trace", report_paje }, { ".txt", report_text } };

/* By the name of the file; NULL: nothing is known that ends so. */
static const struct form *form_of(const char *path)
{
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        size_t ending = strlen(forms[i].ending);
        if (n > ending && strcmp(path + n - ending, forms[i].ending) == 0) return &forms[i];
    }
    return NULL;
}

static int write_form(const char *path, const struct report_model *model)
{
    FILE *out = report_open_output(model->run, path, complain);
    if (!out) return TOOL_FAILED;
    bool good = form_of(path)->write(out, model);
    if (fclose(out) != 0) good = false;
    return good ? TOOL_OK : tool_complain(&tool, "%s could not be written", path);
}

static int report(char *const *paths, size_t n, char *const *outputs, size_t noutputs)
{
    static struct report_run run;
    static struct report_model model;
    int status = TOOL_OK;
    if (report_read(&run, paths, n, complain) != 0) return TOOL_FAILED;
    report_model(&model, &run);
    for (size_t i = 0; i < noutputs && status == TOOL_OK; i++) status = write_form(outputs[i], &model);
    if (noutputs) report_notes(&run, tell_note, NULL); /* not all forms have a place for them */
    if (noutputs || status) return status;
    return report_text(stdout, &model) ? TOOL_OK : tool_complain(&tool, "the output could not be written");
}

int main(int argc, char **argv)
{
    enum { MOST_OUTPUTS = 8 };
    static const struct option options[] = { { "help", no_argument, NULL, 'h' },
                                             { "version", no_argument, NULL, 'v' },
                                             { "output", required_argument, NULL, 'o' },
                                             { NULL, 0, NULL, 0 } };
    char *outputs[MOST_OUTPUTS];
    size_t noutputs = 0;
    for (int c; (c = getopt_long(argc, argv, "hvo:", options, NULL)) != -1;) {
        if (c == 'h') return tool_help(&tool);
        if (c == 'v') return tool_version(&tool);
        if (c != 'o') return tool_usage(&tool);
        if (!form_of(optarg) || noutputs == MOST_OUTPUTS) {
            tool_complain(
                &tool,
                "%s: outputs are up to 8 files that end in .html, .json, .csv, .dot, .rec, .paje or .txt",
                optarg);
            return tool_usage(&tool);
        }
        outputs[noutputs++] = optarg;
    }
    if (optind == argc) {
        tool_complain(&tool, "no recording is named");
        return tool_usage(&tool);
    }
    return report(argv + optind, (size_t)(argc - optind), outputs, noutputs);
}
