/* SPDX-License-Identifier: BSD-3-Clause */
/* orrery_stats.c: StarPU's small programs that make figures and drawings of a run's files, in one program:
 * its first argument, or the name by which it is called, says which. Threads: main. Owns: nothing. Not here:
 * the programs (the other files of this folder), who writes those files (tools/report). */
#include "tools/stats/stats.h"

#include <math.h>

static const struct tool tool = {
    "orrery_stats",
    "figures and drawings of a run's files, as StarPU's programs make them\n"
    "\n"
    "SYNOPSIS\n"
    "    orrery_stats PROGRAM [ARGUMENT]...\n"
    "    starpu_PROGRAM [ARGUMENT]...\n"
    "\n"
    "DESCRIPTION\n"
    "    PROGRAM is one of\n"
    "        codelet_profile        draws times of a codelet by the size of its data, of distrib.data\n"
    "        codelet_histo_profile  draws histograms of the times of each codelet, of distrib.data\n"
    "        workers_activity       draws what workers did during the run, of activity.data\n"
    "        trace_state_stats      how long workers were in each state, of trace.rec\n"
    "        paje_state_stats       the same, of traces of Paje\n"
    "        paje_draw_histogram    draws how long states lasted, of traces of Paje\n"
    "        paje_summary           a page with all of that, of traces of Paje\n"
    "        lp2paje                makes a trace of Paje of a schedule that lp_solve found\n"
    "    Each is installed as starpu_PROGRAM, too, and has a manual page and --help under that name.\n"
    "    starpu_fxt_tool makes their files of a recording. orrery_report shows more, and needs none of "
    "them.\n"
    "\n"
    "OPTIONS\n"
    "    -h, --help      this text\n"
    "    -v, --version   the version\n"
    "\n"
    "EXIT STATUS\n"
    "    That of the program; 2: there is none of that name.\n"
};

static const struct stats_program *const programs[] = { &stats_codelet_profile,  &stats_codelet_histo_profile,
                                                        &stats_workers_activity, &stats_trace_state_stats,
                                                        &stats_paje_state_stats, &stats_paje_draw_histogram,
                                                        &stats_paje_summary,     &stats_lp2paje };

/* Of its name with or without starpu_ and .py; a hyphen stands for _. NULL: there is none. */
static const struct stats_program *program_of(const char *path)
{
    static const char prefix[] = "starpu_";
    const char *slash = strrchr(path, '/');
    char name[64];
    int n = snprintf(name, sizeof name, "%s", slash ? slash + 1 : path);
    if (n > 3 && n < (int)sizeof name && strcmp(name + n - 3, ".py") == 0) name[n - 3] = 0;
    for (char *c = name; *c; c++)
        if (*c == '-') *c = '_';
    const char *given = strncmp(name, prefix, sizeof prefix - 1) == 0 ? name + sizeof prefix - 1 : name;
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++)
        if (strcmp(programs[i]->tool.name + sizeof prefix - 1, given) == 0) return programs[i];
    return NULL;
}

static int run(const struct stats_program *p, int argc, char **argv)
{
    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) return tool_help(&p->tool);
    if (argc > 1 && !strcmp(argv[1], "--version")) return tool_version(&p->tool);
    return p->run(&p->tool, argc, argv);
}

int main(int argc, char **argv)
{
    const struct stats_program *p = program_of(argv[0]);
    if (p) return run(p, argc, argv);
    if (argc > 1 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))) return tool_help(&tool);
    if (argc > 1 && (!strcmp(argv[1], "-v") || !strcmp(argv[1], "--version"))) return tool_version(&tool);
    if (argc > 1 && (p = program_of(argv[1]))) return run(p, argc - 1, argv + 1);
    if (argc > 1)
        tool_complain(&tool, "\"%s\" is none of its programs", argv[1]);
    else
        tool_complain(&tool, "no program is named");
    return tool_usage(&tool);
}

/* ---- what they share ---- */

int stats_each_line(const struct tool *t, const char *path, const char *(*fn)(void *arg, char *line),
                    void *arg)
{
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    if (!f) return tool_complain(t, "%s cannot be read: %s", path, strerror(errno));
    char *line = NULL;
    const char *wrong = NULL;
    size_t room = 0, number = 0;
    for (ssize_t n; !wrong && (n = getline(&line, &room, f)) >= 0; number++) {
        if (n > 0 && line[n - 1] == '\n') line[--n] = 0;
        wrong = memchr(line, 0, (size_t)n) ? "it is no text" : fn(arg, line);
    }
    bool failed = ferror(f);
    int error = errno;
    free(line);
    if (f != stdin) fclose(f);
    if (wrong) return tool_complain(t, "%s, line %zu: %s", path, number, wrong);
    return failed ? tool_complain(t, "%s cannot be read: %s", path, strerror(error)) : TOOL_OK;
}

bool stats_number(const char *s, double *out)
{
    char *end;
    double value = strtod(s, &end);
    if (end == s || *end || !isfinite(value)) return false;
    *out = value;
    return true;
}

size_t stats_split(char *line, char *field[], size_t most)
{
    size_t n = 0;
    for (char *rest = line; rest && n < most; n++) field[n] = strsep(&rest, "\t");
    return n;
}

unsigned stats_name(struct stats_names *n, const char *name)
{
    size_t from = 0, to = n->count;
    while (from < to) {
        size_t middle = (from + to) / 2;
        int order = strcmp(name, n->at[n->sorted[middle]]);
        if (order == 0) return n->sorted[middle];
        if (order < 0)
            to = middle;
        else
            from = middle + 1;
    }
    unsigned number = (unsigned)n->count;
    n->sorted = tool_grow(n->sorted, n->count, &n->sorted_room, sizeof *n->sorted);
    memmove(n->sorted + from + 1, n->sorted + from, (n->count - from) * sizeof *n->sorted);
    n->sorted[from] = number;
    *TOOL_PUSH(n->at, n->count, n->room) = tool_copy(name, strlen(name));
    return number;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

void stats_sort(double *values, size_t n)
{
    if (n) qsort(values, n, sizeof *values, by_value);
}

double stats_quantile(const double *sorted, size_t n, double share)
{
    double at = share * (double)(n - 1);
    size_t i = (size_t)at;
    return i + 1 < n ? sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}
