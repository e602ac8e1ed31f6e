/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_fxt_tool.c: makes of recordings the files that StarPU's tool of that name makes.
 * Threads: main. Owns: nothing. Not here: the forms (paje.c, export.c), our own reports (orrery_report.c). */
#include <sys/stat.h>

#include "tools/report/report.h"
#include "tools/tool.h"

static const struct tool tool = {
    "starpu_fxt_tool",
    "make files for other tools of a recording\n"
    "\n"
    "SYNOPSIS\n"
    "    STARPU_FXT_TRACE=1 program\n"
    "    starpu_fxt_tool -i FILE... [-o NAME] [-d FOLDER]\n"
    "\n"
    "DESCRIPTION\n"
    "    Writes paje.trace (for ViTE), tasks.rec, dag.dot (for Graphviz), tasks.csv, and for programs that "
    "are\n"
    "    called orrery_stats together: distrib.data (the time of each body), activity.data (what workers "
    "did)\n"
    "    and trace.rec (their states). orrery_report shows more.\n"
    "\n"
    "OPTIONS\n"
    "    -i FILE...           the recordings of one rank, or of several\n"
    "    -o NAME              the name of the trace of Paje (paje.trace)\n"
    "    -d FOLDER            where files are written (the working folder); it is made if need be\n"
    "    -c, -no-events, -no-counter, -no-bus, -no-flops, -no-smooth, -no-acquire, -memory-states, "
    "-internal,\n"
    "    -label-deps, -number-events, -use-task-color   accepted, and without effect: the files are the "
    "same\n"
    "    -h, --help           this text\n"
    "    -v, --version        the version\n"
    "\n"
    "EXIT STATUS\n"
    "    0; 1: a file cannot be read or written; 2: wrong usage\n"
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

static bool is_accepted(const char *option)
{
    static const char *const names[] = { "-c",        "-no-events",  "-no-counter",    "-no-bus",
                                         "-no-flops", "-no-smooth",  "-no-acquire",    "-memory-states",
                                         "-internal", "-label-deps", "-number-events", "-use-task-color" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(option, names[i]) == 0) return true;
    return false;
}

static int write_file(const char *folder, const char *name, bool (*form)(FILE *, const struct report_model *),
                      const struct report_model *model)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *out = report_open_output(model->run, path, complain);
    if (!out) return TOOL_FAILED;
    bool good = form(out, model);
    if (fclose(out) != 0) good = false;
    return good ? TOOL_OK : tool_complain(&tool, "%s could not be written", path);
}

static int convert(char *const *inputs, size_t n, const char *folder, const char *paje)
{
    static struct report_run run;
    static struct report_model model;
    if (report_read(&run, inputs, n, complain) != 0) return TOOL_FAILED;
    report_model(&model, &run);
    report_notes(&run, tell_note, NULL); /* the files have no place for them */
    mkdir(folder, 0777);                 /* it may be there */
    static const struct {
        const char *name;
        bool (*form)(FILE *, const struct report_model *);
    } files[] = { { "tasks.rec", report_rec },    { "dag.dot", report_dot },
                  { "tasks.csv", report_csv },    { "distrib.data", report_distrib },
                  { "trace.rec", report_states }, { "activity.data", report_activity } };
    int status = write_file(folder, paje, report_paje, &model);
    for (size_t i = 0; i < sizeof files / sizeof files[0] && !status; i++)
        status = write_file(folder, files[i].name, files[i].form, &model);
    return status;
}

struct wanted {
    char **inputs;
    size_t count;
    const char *folder, *paje;
};

/* -1: go on; else what the program ends with. */
static int read_options(int argc, char **argv, struct wanted *w)
{
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (strcmp(a, "-h") == 0 || strcmp(a, "--help") == 0) return tool_help(&tool);
        if (strcmp(a, "-v") == 0 || strcmp(a, "--version") == 0) return tool_version(&tool);
        if (strcmp(a, "-i") == 0) continue; /* what is no option is a recording */
        bool named = strcmp(a, "-o") == 0, placed = strcmp(a, "-d") == 0;
        if (named || placed) {
            if (i + 1 == argc) {
                tool_complain(&tool, "%s wants a name", a);
                return tool_usage(&tool);
            }
            *(named ? &w->paje : &w->folder) = argv[++i];
        } else if (a[0] != '-') {
            w->inputs[w->count++] = argv[i];
        } else if (!is_accepted(a)) {
            tool_complain(&tool, "%s is no option", a);
            return tool_usage(&tool);
        }
    }
    if (w->count) return -1;
    tool_complain(&tool, "no recording is named: -i FILE");
    return tool_usage(&tool);
}

int main(int argc, char **argv)
{
    struct wanted w = { tool_alloc((size_t)argc, sizeof *w.inputs), 0, ".", "paje.trace" };
    int status = read_options(argc, argv, &w);
    if (status < 0) status = convert(w.inputs, w.count, w.folder, w.paje);
    free(w.inputs);
    return status;
}
