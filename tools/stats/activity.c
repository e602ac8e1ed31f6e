/* SPDX-License-Identifier: BSD-3-Clause */
/* activity.c: a drawing of activity.data: for each worker and slice of the run how long it was and how much
 * of that was bodies and idleness, and how many tasks there were. Threads: main. Owns: nothing. Not here: who
 * writes it (tools/report/tables.c). */
#include <math.h>

#include "tools/plot.h"
#include "tools/stats/stats.h"

struct slice {
    unsigned worker;
    double at, length, runs, idle; /* ms */
};

struct point {
    double at, count;
};

struct activity {
    struct stats_names workers;
    char **labels; /* of workers, or NULL */
    size_t nlabels, labels_room;
    struct slice *slices;
    size_t count, room;
    struct point *ready, *submitted;
    size_t nready, ready_room, nsubmitted, submitted_room;
    double from, to;          /* ms */
    double enabled, disabled; /* when profiling was, first and last; NAN: it was not */
};

static const char *add_label(struct activity *a, unsigned worker, const char *label)
{
    while (a->nlabels <= worker) *TOOL_PUSH(a->labels, a->nlabels, a->labels_room) = NULL;
    free(a->labels[worker]);
    a->labels[worker] = tool_copy(label, strlen(label));
    return NULL;
}

static const char *add_other(struct activity *a, char *field[], size_t n)
{
    struct point p;
    if (n == 3 && strcmp(field[0], "name") == 0)
        return add_label(a, stats_name(&a->workers, field[1]), field[2]);
    if (n != 3 || !stats_number(field[1], &p.at) || !stats_number(field[2], &p.count))
        return "it is none of the lines of activity.data";
    if (strcmp(field[0], "cnt_ready") == 0)
        *TOOL_PUSH(a->ready, a->nready, a->ready_room) = p;
    else if (strcmp(field[0], "cnt_submitted") == 0)
        *TOOL_PUSH(a->submitted, a->nsubmitted, a->submitted_room) = p;
    else if (strcmp(field[0], "set_profiling") != 0)
        return "it is none of the lines of activity.data";
    else if (p.count != 0)
        a->enabled = fmin(a->enabled, p.at); /* fmin and fmax leave out NAN */
    else
        a->disabled = fmax(a->disabled, p.at);
    return NULL;
}

static const char *add_line(void *arg, char *line)
{
    struct activity *a = arg;
    char *field[6];
    size_t n = stats_split(line, field, 6);
    struct slice s;
    if (n != 5) return add_other(a, field, n);
    if (!stats_number(field[1], &s.at) || !stats_number(field[2], &s.length) ||
        !stats_number(field[3], &s.runs) || !stats_number(field[4], &s.idle))
        return "it is none of worker, ms, length, execution and idleness, with tabs between";
    if (s.length < 0 || s.runs < 0 || s.idle < 0) return "nothing is less than nothing";
    s.worker = stats_name(&a->workers, field[0]);
    *TOOL_PUSH(a->slices, a->count, a->room) = s;
    a->from = fmin(a->from, s.at);
    a->to = fmax(a->to, s.at + s.length);
    return NULL;
}

static void put_points(FILE *f, const char *name, const struct point *p, size_t n)
{
    fprintf(f, "$%s << END\n", name);
    for (size_t i = 0; i < n; i++) fprintf(f, "%.9f %.0f\n", p[i].at * 1e-3, p[i].count);
    if (n == 0) fprintf(f, "0 0\n");
    fprintf(f, "END\n");
}

/* Time, share that is not overhead of what is left, share at work: in percent. */
static void put_worker(FILE *f, const struct activity *a, unsigned worker)
{
    size_t n = 0;
    fprintf(f, "$worker%u << END\n", worker);
    for (size_t i = 0; i < a->count; i++) {
        const struct slice *s = &a->slices[i];
        if (s->worker != worker || !(s->length > 0)) continue;
        double runs = 100 * s->runs / s->length, idle = 100 * s->idle / s->length;
        fprintf(f, "%.9f %.3f %.3f\n", s->at * 1e-3, fmin(runs + idle, 100), fmin(runs, 100));
        n++;
    }
    if (n == 0) fprintf(f, "0 0 0\n");
    fprintf(f, "END\n");
}

static void put_drawing(FILE *f, const struct activity *a, double from, double to)
{
    const double height = 0.40;
    put_points(f, "submitted", a->submitted, a->nsubmitted);
    put_points(f, "ready", a->ready, a->nready);
    for (unsigned w = 0; w < a->workers.count; w++) put_worker(f, a, w);
    fprintf(f, "set term postscript eps noenhanced color\nset output \"activity.eps\"\n");
    fprintf(f, "set xrange [%.9g:%.9g]\nset size 1.5,%g\nset multiplot\n", from, to,
            height * (double)(a->workers.count + 1));
    fprintf(f, "set origin 0,0\nset size 1.5,%g\nset ylabel \"tasks\"\nset yrange [0.5:*]\nset logscale y\n",
            height);
    fprintf(f, "plot $submitted using 1:2 with filledcurves x1 lt rgb \"#999999\" title \"submitted\", "
               "$ready using 1:2 with filledcurves x1 lt rgb \"#000000\" title \"ready\"\n");
    fprintf(f, "unset logscale y\nset key off\nset yrange [0:100]\n");
    for (unsigned w = 0; w < a->workers.count; w++) {
        fprintf(f, "set origin 0,%g\nset size 1.5,%g\nset ylabel \"", height * (w + 1), height);
        plot_text(f, w < a->nlabels && a->labels[w] ? a->labels[w] : a->workers.at[w]);
        fprintf(f,
                "\"\nplot $worker%u using 1:(100) with filledcurves y1=0 lt rgb \"#000000\", "
                "$worker%u using 1:2 with filledcurves y1=0 lt rgb \"#ff0000\", "
                "$worker%u using 1:3 with filledcurves y1=0 lt rgb \"#00ff00\"\n",
                w, w, w);
    }
    fprintf(f, "unset multiplot\n");
}

static int workers_activity(const struct tool *t, int argc, char **argv)
{
    static const char drawing[] = "activity.gp";
    static struct activity a = { .from = INFINITY, .to = -INFINITY, .enabled = NAN, .disabled = NAN };
    double from, to;
    if ((argc != 2 && argc != 4) ||
        (argc == 4 && (!stats_number(argv[2], &from) || !stats_number(argv[3], &to)))) {
        tool_complain(t, "what is wanted is a file, and perhaps two times in seconds");
        return tool_usage(t);
    }
    if (stats_each_line(t, argv[1], add_line, &a)) return TOOL_FAILED;
    if (a.count == 0) return tool_complain(t, "%s says of no worker what it did", argv[1]);
    if (argc == 2) {
        from = (isnan(a.enabled) ? a.from : a.enabled) * 1e-3;
        to = (isnan(a.disabled) ? a.to : a.disabled) * 1e-3;
    }
    if (!(from < to)) return tool_complain(t, "there is no time between %g s and %g s", from, to);
    printf("START %.9g END %.9g\n", from, to);
    fflush(stdout);
    FILE *f = plot_open(t, drawing);
    if (!f) return TOOL_FAILED;
    put_drawing(f, &a, from, to);
    if (plot_close(t, f, drawing) || plot_run(t, drawing)) return TOOL_FAILED;
    return tool_end(t);
}

const struct stats_program stats_workers_activity = {
    { "starpu_workers_activity",
      "draw what workers did during a run\n"
      "\n"
      "SYNOPSIS\n"
      "    starpu_workers_activity FILE [START END]\n"
      "\n"
      "DESCRIPTION\n"
      "    FILE is activity.data of starpu_fxt_tool. Prints from when to when it goes, in seconds, and has "
      "gnuplot\n"
      "    draw activity.eps (by activity.gp): of each worker the share of time with bodies in green, idle "
      "in red,\n"
      "    and with the runtime in black; and how many tasks were submitted and ready.\n"
      "    START and END say in seconds which part is drawn.\n"
      "\n"
      "OPTIONS\n"
      "    -h, --help      this text\n"
      "    -v, --version   the version\n"
      "\n"
      "EXIT STATUS\n"
      "    0; 1: FILE is none of that form, or gnuplot failed; 2: wrong usage.\n" },
    workers_activity
};
