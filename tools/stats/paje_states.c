/* SPDX-License-Identifier: BSD-3-Clause */
/* paje_states.c: tables, histograms and a page of the states in traces of Paje.
 * Threads: main. Owns: nothing. Not here: reading traces (paje.c), trace.rec (trace_states.c). */
#include <math.h>

#include "tools/plot.h"
#include "tools/stats/paje.h"

struct trace {
    const char *path;
    struct paje paje;
};

struct asked {
    double from, to; /* ms since the first state */
    char *names;     /* with commas between; NULL: all */
    bool verbose;
    struct trace *traces;
    size_t count;
};

/* ---- what is asked for ---- */

static bool is_named(const char *list, const char *name)
{
    size_t n = strlen(name);
    if (!list) return true;
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, name, n) == 0 && (at[n] == ',' || !at[n])) return true;
    return false;
}

/* Keeps the states that are asked for, with times since the first of them. */
static void select_states(const struct asked *a, struct paje *p)
{
    double first = INFINITY;
    size_t named = 0, kept = 0;
    for (size_t i = 0; i < p->count; i++)
        if (is_named(a->names, p->values.at[p->states[i].value])) p->states[named++] = p->states[i];
    for (size_t i = 0; i < named; i++) first = fmin(first, p->states[i].from);
    for (size_t i = 0; i < named; i++) {
        struct paje_state s = p->states[i];
        s.from -= first;
        s.to -= first;
        if (s.from >= a->from && s.to <= a->to) p->states[kept++] = s;
    }
    p->count = kept;
}

/* "A:B", -1: no bound. */
static bool read_range(char *text, struct asked *a)
{
    char *colon = strchr(text, ':');
    if (!colon) return false;
    *colon = 0;
    if (!stats_number(text, &a->from) || !stats_number(colon + 1, &a->to)) return false;
    if (a->from == -1) a->from = 0;
    if (a->to == -1) a->to = INFINITY;
    return a->from <= a->to;
}

static int parse(const struct tool *t, int argc, char **argv, const char *options, struct asked *a)
{
    *a = (struct asked){ .to = INFINITY };
    for (int c; (c = getopt(argc, argv, options)) != -1;) {
        if (c == '?') return tool_usage(t);
        if (c == 'r' && !read_range(optarg, a)) {
            tool_complain(t, "a range is two times in ms, as 100:300; -1 for the second is no bound");
            return tool_usage(t);
        }
        if (c == 'n') a->names = strcmp(optarg, "All") == 0 ? NULL : optarg;
        if (c == 'v') a->verbose = true;
    }
    if (optind == argc) {
        tool_complain(t, "no trace is named");
        return tool_usage(t);
    }
    a->traces = tool_alloc((size_t)(argc - optind), sizeof *a->traces);
    size_t states = 0;
    for (; optind < argc; optind++, a->count++) {
        struct trace *trace = &a->traces[a->count];
        trace->path = argv[optind];
        if (paje_read(t, trace->path, &trace->paje)) return TOOL_FAILED;
        select_states(a, &trace->paje);
        states += trace->paje.count;
    }
    return states ? TOOL_OK : tool_complain(t, "no state is of that name and in that range");
}

/* All values of all traces, sorted by name: their numbers in all. */
static struct stats_names all_values(const struct asked *a)
{
    static struct stats_names all; /* once in a program */
    for (size_t i = 0; i < a->count; i++)
        for (size_t j = 0; j < a->traces[i].paje.count; j++)
            stats_name(&all, a->traces[i].paje.values.at[a->traces[i].paje.states[j].value]);
    return all;
}

/* How long the states of a value lasted in a trace, sorted; free it. */
static double *lengths_of(const struct paje *p, const char *value, size_t *count_out, double *sum_out)
{
    double *ms = tool_alloc(p->count, sizeof *ms);
    *count_out = 0;
    *sum_out = 0;
    for (size_t i = 0; i < p->count; i++) {
        if (strcmp(p->values.at[p->states[i].value], value) != 0) continue;
        *sum_out += ms[(*count_out)++] = p->states[i].to - p->states[i].from;
    }
    stats_sort(ms, *count_out);
    return ms;
}

/* ---- starpu_paje_state_stats ---- */

static const char states_file[] = "starpu_paje_state_stats.csv";

static void put_table(FILE *f, const struct asked *a, struct stats_names *values)
{
    size_t n;
    double sum;
    fprintf(f, "\"Value\"");
    for (size_t i = 0; i < a->count; i++)
        fprintf(f, ", \"Events_%s.csv\", \"Duration_%s.csv\"", a->traces[i].path, a->traces[i].path);
    fprintf(f, "\n");
    for (size_t v = 0; v < values->count; v++) {
        const char *value = values->at[values->sorted[v]];
        fprintf(f, "\"%s\"", value);
        for (size_t i = 0; i < a->count; i++) {
            free(lengths_of(&a->traces[i].paje, value, &n, &sum));
            fprintf(f, ", %zu, %.15g", n, sum);
        }
        fprintf(f, "\n");
    }
}

static int paje_state_stats(const struct tool *t, int argc, char **argv)
{
    static struct asked a;
    int status = parse(t, argc, argv, "r:n:v", &a);
    if (status) return status;
    struct stats_names values = all_values(&a);
    FILE *f = plot_open(t, states_file);
    if (!f) return TOOL_FAILED;
    put_table(f, &a, &values);
    if (plot_close(t, f, states_file)) return TOOL_FAILED;
    if (a.verbose) put_table(stdout, &a, &values);
    return tool_end(t);
}

#define OF_STATES                                                                                            \
    "    -r FROM:TO      only what begins and ends between these times, in ms since the first state; -1: "   \
    "no\n"                                                                                                   \
    "                    bound\n"                                                                            \
    "    -n NAME,...     only states of these names\n"

const struct stats_program stats_paje_state_stats = {
    { "starpu_paje_state_stats",
      "how often and how long states lasted, of traces of Paje\n"
      "\n"
      "SYNOPSIS\n"
      "    starpu_paje_state_stats [-r FROM:TO] [-n NAME,...] [-v] TRACE...\n"
      "\n"
      "DESCRIPTION\n"
      "    Writes starpu_paje_state_stats.csv: a line for each state with its name, and for each trace how "
      "often it\n"
      "    was and how many ms it lasted together. Neither R nor pj_dump is needed.\n"
      "\n"
      "OPTIONS\n" OF_STATES "    -v              print the table, too\n"
      "    -h, --help      this text\n"
      "    --version       the version\n"
      "\n"
      "EXIT STATUS\n"
      "    0; 1: a trace cannot be read, or has no such states; 2: wrong usage.\n" },
    paje_state_stats
};

/* ---- histograms ---- */

enum { BARS = 30 };

/* All widths are alike: a 30th of the longest less the shortest of all. */
static void bounds_of(const struct asked *a, double *least, double *width)
{
    double most = -INFINITY;
    *least = INFINITY;
    for (size_t i = 0; i < a->count; i++)
        for (size_t j = 0; j < a->traces[i].paje.count; j++) {
            double ms = a->traces[i].paje.states[j].to - a->traces[i].paje.states[j].from;
            *least = fmin(*least, ms);
            most = fmax(most, ms);
        }
    *width = most > *least ? (most - *least) / BARS : 1;
}

static void fill_bars(const double *ms, size_t n, double least, double width, size_t bar[BARS])
{
    memset(bar, 0, BARS * sizeof *bar);
    for (size_t i = 0; i < n; i++) {
        double at = (ms[i] - least) / width;
        bar[at < BARS ? (size_t)at : BARS - 1]++;
    }
}

static void put_histograms(FILE *f, const struct asked *a, struct stats_names *values)
{
    double least, width, sum;
    size_t n, bar[BARS];
    bounds_of(a, &least, &width);
    fprintf(f,
            "#!/usr/bin/gnuplot\nset terminal pdfcairo noenhanced color size %zu,%zu\nset output "
            "\"Rplots.pdf\"\n",
            3 * values->count, 2 * a->count + 1);
    fprintf(f,
            "set multiplot layout %zu,%zu\nset style fill solid 0.7\nset boxwidth %.17g\nset yrange [0:*]\n"
            "set xlabel \"Time [ms]\"\nset ylabel \"Count\"\n",
            a->count, values->count, width);
    for (size_t i = 0; i < a->count; i++)
        for (size_t v = 0; v < values->count; v++) {
            const char *value = values->at[values->sorted[v]];
            double *ms = lengths_of(&a->traces[i].paje, value, &n, &sum);
            fill_bars(ms, n, least, width, bar);
            free(ms);
            fprintf(f, "set title \"");
            plot_text(f, value);
            fprintf(f, " (");
            plot_text(f, a->traces[i].path);
            fprintf(f, ")\\nTotal duration: %.0f ms\"\n$bars << END\n", sum);
            for (size_t b = 0; b < BARS; b++)
                fprintf(f, "%.17g %zu\n", least + ((double)b + 0.5) * width, bar[b]);
            fprintf(f, "END\nplot $bars using 1:2 with boxes notitle\n");
        }
    fprintf(f, "unset multiplot\n");
}

static int paje_draw_histogram(const struct tool *t, int argc, char **argv)
{
    static const char drawing[] = "Rplots.gp";
    static struct asked a;
    int status = parse(t, argc, argv, "r:n:v", &a);
    if (status) return status;
    struct stats_names values = all_values(&a);
    FILE *f = plot_open(t, drawing);
    if (!f) return TOOL_FAILED;
    put_histograms(f, &a, &values);
    if (plot_close(t, f, drawing) || plot_run(t, drawing)) return TOOL_FAILED;
    printf("Rplots.pdf\n");
    return tool_end(t);
}

const struct stats_program stats_paje_draw_histogram = {
    { "starpu_paje_draw_histogram",
      "draw how long states lasted, of traces of Paje\n"
      "\n"
      "SYNOPSIS\n"
      "    starpu_paje_draw_histogram [-r FROM:TO] [-n NAME,...] [-v] TRACE...\n"
      "\n"
      "DESCRIPTION\n"
      "    Has gnuplot draw Rplots.pdf (by Rplots.gp): for each trace and state a histogram of how long it "
      "lasted.\n"
      "    Neither R nor pj_dump is needed.\n"
      "\n"
      "OPTIONS\n" OF_STATES "    -v              accepted; the picture is not shown\n"
      "    -h, --help      this text\n"
      "    --version       the version\n"
      "\n"
      "EXIT STATUS\n"
      "    0; 1: a trace cannot be read or has no such states, or gnuplot failed; 2: wrong usage.\n" },
    paje_draw_histogram
};

/* ---- starpu_paje_summary: a page ---- */

static void put_html(FILE *f, const char *s)
{
    for (; *s; s++) {
        if (strchr("<>&\"", *s))
            fprintf(f, "&#%d;", *s);
        else
            putc(*s, f);
    }
}

static unsigned colour_of(struct stats_names *values, const char *value)
{
    return stats_name(values, value) * 137 % 360;
}

/* What a container was in longest, in each of so many slices; neighbours alike are one. */
static void put_row(FILE *f, const struct paje *p, unsigned container, double from, double to,
                    struct stats_names *values, unsigned y)
{
    enum { SLICES = 1000 };
    double most[SLICES] = { 0 }, width = (to - from) / SLICES;
    unsigned value[SLICES] = { 0 };
    for (size_t i = 0; i < p->count && width > 0; i++) {
        const struct paje_state *s = &p->states[i];
        if (s->container != container) continue;
        for (size_t k = (size_t)((s->from - from) / width); k < SLICES && from + (double)k * width < s->to;
             k++) {
            double ms = fmin(s->to, from + (double)(k + 1) * width) - fmax(s->from, from + (double)k * width);
            if (ms <= most[k]) continue;
            most[k] = ms;
            value[k] = s->value;
        }
    }
    for (size_t k = 0, n; k < SLICES; k += n) {
        for (n = 1; k + n < SLICES && value[k + n] == value[k] && (most[k] > 0) == (most[k + n] > 0);) n++;
        if (!(most[k] > 0)) continue;
        fprintf(f, "<rect x=\"%zu\" y=\"%u\" width=\"%zu\" height=\"14\" fill=\"hsl(%u,60%%,50%%)\"><title>",
                k, y, n, colour_of(values, p->values.at[value[k]]));
        put_html(f, p->values.at[value[k]]);
        fprintf(f, "</title></rect>\n");
    }
}

static void put_timeline(FILE *f, const struct trace *t, struct stats_names *values)
{
    double from = INFINITY, to = -INFINITY;
    for (size_t i = 0; i < t->paje.count; i++) {
        from = fmin(from, t->paje.states[i].from);
        to = fmax(to, t->paje.states[i].to);
    }
    fprintf(f, "<h2>");
    put_html(f, t->path);
    fprintf(f, ": %.3f ms</h2>\n<svg width=\"1200\" height=\"%zu\">\n", to - from,
            18 * t->paje.containers.count + 4);
    for (unsigned c = 0; c < t->paje.containers.count; c++) {
        put_row(f, &t->paje, c, from, to, values, 18 * c + 2);
        fprintf(f, "<text x=\"1006\" y=\"%u\">", 18 * c + 14);
        put_html(f, t->paje.containers.at[c]);
        fprintf(f, "</text>\n");
    }
    fprintf(f, "</svg>\n");
}

static void put_bars(FILE *f, const double *ms, size_t n, unsigned hue)
{
    size_t bar[BARS], most = 1;
    double width = ms[n - 1] > ms[0] ? (ms[n - 1] - ms[0]) / BARS : 1;
    fill_bars(ms, n, ms[0], width, bar);
    for (size_t b = 0; b < BARS; b++) most = bar[b] > most ? bar[b] : most;
    fprintf(f, "<svg width=\"180\" height=\"40\">");
    for (size_t b = 0; b < BARS; b++)
        fprintf(f, "<rect x=\"%zu\" y=\"%.1f\" width=\"5\" height=\"%.1f\" fill=\"hsl(%u,60%%,50%%)\"/>",
                6 * b, 40 - 40 * (double)bar[b] / (double)most, 40 * (double)bar[b] / (double)most, hue);
    fprintf(f, "</svg>");
}

static void put_line(FILE *f, const struct trace *t, const char *value, struct stats_names *values)
{
    size_t n;
    double sum, square = 0, *ms = lengths_of(&t->paje, value, &n, &sum);
    for (size_t i = 0; i < n; i++) square += (ms[i] - sum / (double)n) * (ms[i] - sum / (double)n);
    if (n) {
        fprintf(f, "<tr><td>");
        put_html(f, value);
        fprintf(f, "</td><td>");
        put_html(f, t->path);
        fprintf(f, "</td><td>%.6f</td><td>%zu</td><td>%.6f</td><td>%.6f</td><td>", sum, n, sum / (double)n,
                stats_quantile(ms, n, 0.5));
        if (n > 1) fprintf(f, "%.6f", sqrt(square / (double)(n - 1)));
        fprintf(f, "</td><td>");
        put_bars(f, ms, n, colour_of(values, value));
        fprintf(f, "</td></tr>\n");
    }
    free(ms);
}

static int paje_summary(const struct tool *t, int argc, char **argv)
{
    static const char page[] = "summary.html";
    static struct asked a;
    int status = parse(t, argc, argv, "", &a);
    if (status) return status;
    struct stats_names values = all_values(&a);
    FILE *f = plot_open(t, page);
    if (!f) return TOOL_FAILED;
    fprintf(
        f,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>States</title><style>"
        "body{font-family:sans-serif}td,th{padding:2px 10px;text-align:right}svg text{font-size:12px}"
        "td:first-child,td:nth-child(2){text-align:left}</style></head><body>\n<h1>What workers did</h1>\n");
    for (size_t i = 0; i < a.count; i++) put_timeline(f, &a.traces[i], &values);
    fprintf(f, "<h2>How long states lasted, in ms</h2>\n<table><tr><th>Value</th><th>Origin</th>"
               "<th>OverallDuration</th><th>Count</th><th>Mean</th><th>Median</th><th>StandDev</th><th></"
               "th></tr>\n");
    for (size_t v = 0; v < values.count; v++)
        for (size_t i = 0; i < a.count; i++) put_line(f, &a.traces[i], values.at[values.sorted[v]], &values);
    fprintf(f, "</table></body></html>\n");
    if (plot_close(t, f, page)) return TOOL_FAILED;
    printf("%s\n", page);
    return tool_end(t);
}

const struct stats_program stats_paje_summary = {
    { "starpu_paje_summary",
      "a page of the states in traces of Paje\n"
      "\n"
      "SYNOPSIS\n"
      "    starpu_paje_summary TRACE...\n"
      "\n"
      "DESCRIPTION\n"
      "    Writes summary.html: what each worker did when, and of each state and trace how long it lasted "
      "together,\n"
      "    how often, mean, median, standard deviation and a histogram. R is not needed.\n"
      "\n"
      "OPTIONS\n"
      "    -h, --help      this text\n"
      "    --version       the version\n"
      "\n"
      "EXIT STATUS\n"
      "    0; 1: a trace cannot be read, or the page not be written; 2: wrong usage.\n" },
    paje_summary
};
