/* SPDX-License-Identifier: BSD-3-Clause */
/* orrery_plan.c: shows, checks and compares plans of a cluster, and makes one by HEFT.
 * Threads: main. Owns: nothing. Not here: the file (mpi/place/planfile.c), HEFT (heft.c). */
#include <math.h>

#include "mpi/place/plangraph.h"
#include "tools/plan/heft.h"
#include "tools/tool.h"

static const struct tool tool = {
    "orrery_plan",
    "show, check, compare and make plans of a cluster\n"
    "\n"
    "SYNOPSIS\n"
    "    orrery_plan [-t] FILE\n"
    "    orrery_plan -c FILE\n"
    "    orrery_plan -d FILE OTHER\n"
    "    orrery_plan -H -o NEW [-r RANKS -w WORKERS | -m FILE] [-b MB/S] [-l US] [-s] FILE\n"
    "\n"
    "DESCRIPTION\n"
    "    A plan says which worker of a cluster runs each task, and in which order (doc/PLANS.md):\n"
    "    ORRERY_PLAN_RECORD=FILE writes that of a run, ORRERY_MPI_SCHED=plan:FILE runs one. Without an\n"
    "    option it is shown: what each worker does, and a line of time for each, whose digits are tenths of\n"
    "    it at work (# all of it).\n"
    "\n"
    "OPTIONS\n"
    "    -t, --table     every task too\n"
    "    -c, --check     whether it can run: orders complete, no circle of orders and data\n"
    "    -d, --compare   two plans of one program: how long, what is elsewhere, and where they differ\n"
    "    -H, --heft      make a plan for the tasks of FILE by upward ranks (HEFT), from what they took\n"
    "    -o, --output    where that is written\n"
    "    -r, --ranks     for so many ranks (default: those of FILE)\n"
    "    -w, --workers   of so many CPU workers each (with -r)\n"
    "    -m, --machine   for the cluster of this plan\n"
    "    -b, --bandwidth between ranks, in MB/s (default 5000)\n"
    "    -l, --latency   between ranks, in microseconds (default 5)\n"
    "    -s, --store     take performance models of this machine first\n"
    "    -h, --help      this text\n"
    "    -v, --version   the version\n"
};

enum { COLUMNS = 64 };

static int load(struct orr_plan *p, const char *path)
{
    char why[ORR_PLAN_TEXT];
    int r = orr_plan_read(p, path, why);
    return r ? tool_complain(&tool, "%s: %s", path, why) : TOOL_OK;
}

/* From the first start to the last end. */
static double makespan(const struct orr_plan *p, double *begin_out)
{
    double begin = INFINITY, end = 0;
    for (size_t i = 0; i < p->tasks; i++) {
        const struct orr_plan_task *t = &p->task[i];
        if (t->worker < 0 || t->length_us <= 0) continue;
        begin = fmin(begin, t->start_us);
        end = fmax(end, t->start_us + t->length_us);
    }
    *begin_out = begin < end ? begin : 0;
    return begin < end ? end - begin : 0;
}

/* ---- showing ---- */

struct load {
    size_t tasks;
    double busy_us, column[COLUMNS];
};

static void add_load(struct load *l, const struct orr_plan_task *t, double begin, double span)
{
    l->tasks++;
    l->busy_us += t->length_us;
    if (span <= 0) return;
    double width = span / COLUMNS, from = t->start_us - begin, to = from + t->length_us;
    for (int c = from > 0 ? (int)fmin(from / width, COLUMNS - 1) : 0; c < COLUMNS && c * width < to; c++)
        l->column[c] += fmax(0, fmin(to, (c + 1) * width) - fmax(from, c * width)) / width;
}

static void print_load(const struct orr_machines *m, int number, const struct load *l, double span)
{
    int rank = orr_machines_rank_of(m, number);
    printf("%4d %5d %6d  %-12s %8zu %6.1f%%  |", number, rank, number - m->first[rank],
           m->worker[number].name, l->tasks, span > 0 ? 100 * l->busy_us / span : 0);
    for (int c = 0; c < COLUMNS; c++) {
        int tenths = (int)(l->column[c] * 10 + 0.05);
        putchar(tenths >= 10 ? '#' : tenths > 0 ? '0' + tenths : l->column[c] > 0 ? '.' : ' ');
    }
    printf("|\n");
}

static int show(const char *path, bool table)
{
    struct orr_plan p;
    char text[400];
    double begin, span;
    if (load(&p, path)) return TOOL_FAILED;
    span = makespan(&p, &begin);
    struct load *l = calloc((size_t)p.machines.workers + 1, sizeof *l);
    for (size_t i = 0; i < p.tasks && l; i++) {
        const struct orr_plan_task *t = &p.task[i];
        if (t->worker >= 0) add_load(&l[p.machines.first[t->rank] + t->worker], t, begin, span);
    }
    printf("%zu tasks of %zu codelets on %zu data, %d ranks with %d workers; %.3f ms; stream %016llx\n\n",
           p.tasks, p.codelets, p.data, p.machines.ranks, p.machines.workers, span / 1e3,
           (unsigned long long)orr_plan_fingerprint(&p));
    printf("     rank worker               tasks    busy\n");
    for (int w = 0; w < p.machines.workers && l; w++) print_load(&p.machines, w, &l[w], span);
    for (size_t i = 0; i < p.tasks && table; i++) {
        orr_plan_describe(&p, i, text, sizeof text);
        printf("%s%s, start %.3f us, length %.3f us\n", i ? "" : "\n", text, p.task[i].start_us,
               p.task[i].length_us);
    }
    int status = l ? tool_end(&tool) : tool_complain(&tool, "out of memory");
    free(l);
    orr_plan_fini(&p);
    return status;
}

static int check(const char *path)
{
    struct orr_plan p;
    char why[ORR_PLAN_TEXT];
    if (load(&p, path)) return TOOL_FAILED;
    size_t placed = 0;
    for (size_t i = 0; i < p.tasks; i++) placed += p.task[i].order > 0;
    int r = orr_plan_check(&p, why), status;
    if (r) {
        status = tool_complain(&tool, "%s: %s", path, why);
    } else {
        printf("%s can run: %zu tasks, %zu of them with a worker and an order\n", path, p.tasks, placed);
        status = tool_end(&tool);
    }
    orr_plan_fini(&p);
    return status;
}

/* ---- comparing ---- */

enum { DIFFERENCES_SHOWN = 10 };

/* Task i of both; a plan may end before. */
static void print_both(const struct orr_plan *a, const struct orr_plan *b, size_t i)
{
    char text[2][400] = { "nothing more", "nothing more" };
    if (i < a->tasks) orr_plan_describe(a, i, text[0], sizeof text[0]);
    if (i < b->tasks) orr_plan_describe(b, i, text[1], sizeof text[1]);
    printf("  %s\n  %s\n", text[0], text[1]);
}

static bool is_elsewhere(const struct orr_plan_task *x, const struct orr_plan_task *y)
{
    return x->rank != y->rank || x->worker != y->worker || x->order != y->order;
}

static void print_differences(const struct orr_plan *a, const struct orr_plan *b)
{
    size_t rank = 0, worker = 0, order = 0, shown = 0, first = SIZE_MAX,
           count = a->tasks < b->tasks ? a->tasks : b->tasks;
    for (size_t i = 0; i < count && first == SIZE_MAX; i++)
        if (orr_plan_hash(a, i) != orr_plan_hash(b, i)) first = i;
    if (first == SIZE_MAX && a->tasks != b->tasks) first = count;
    if (first != SIZE_MAX) {
        printf("they are of different programs, from task %zu on:\n", first);
        print_both(a, b, first);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const struct orr_plan_task *x = &a->task[i], *y = &b->task[i];
        bool other = x->rank != y->rank;
        rank += other;
        worker += !other && x->worker != y->worker;
        order += !other && x->worker == y->worker && x->order != y->order;
    }
    printf("of %zu tasks %zu are on another rank, %zu on another worker of it, %zu at another place in its "
           "order\n",
           count, rank, worker, order);
    size_t all = rank + worker + order;
    if (all > DIFFERENCES_SHOWN)
        printf("the first %d:\n", (int)DIFFERENCES_SHOWN);
    else if (all > 0)
        printf("these:\n");
    for (size_t i = 0; i < count && shown < DIFFERENCES_SHOWN; i++) {
        if (!is_elsewhere(&a->task[i], &b->task[i])) continue;
        print_both(a, b, i);
        shown++;
    }
}

static int compare(const char *one, const char *other)
{
    struct orr_plan a, b;
    double begin;
    if (load(&a, one)) return TOOL_FAILED;
    if (load(&b, other)) {
        orr_plan_fini(&a);
        return TOOL_FAILED;
    }
    double first = makespan(&a, &begin), second = makespan(&b, &begin);
    printf("%.3f ms and %.3f ms", first / 1e3, second / 1e3);
    if (first > 0) printf(" (%.3f times)", second / first);
    printf("\n");
    print_differences(&a, &b);
    orr_plan_fini(&a);
    orr_plan_fini(&b);
    return tool_end(&tool);
}

/* ---- making ---- */

struct wish {
    const char *output, *machine;
    int ranks, workers;
    struct heft_setup setup;
};

/* The cluster that is meant, in m. */
static int find_machine(const struct wish *w, struct orr_plan *p, struct orr_machines *m)
{
    struct orr_plan like;
    if (w->machine) {
        if (load(&like, w->machine)) return TOOL_FAILED;
        *m = like.machines;
        like.machines = (struct orr_machines){ 0 };
        orr_plan_fini(&like);
        return TOOL_OK;
    }
    int ranks = w->ranks ? w->ranks : p->machines.ranks, *counts = calloc((size_t)ranks, sizeof *counts);
    for (int r = 0; r < ranks && counts; r++)
        counts[r] = w->ranks ? w->workers : p->machines.first[r + 1] - p->machines.first[r];
    int r = counts ? orr_machines_make(m, ranks, counts) : -1;
    free(counts);
    if (r) return tool_complain(&tool, "out of memory for the cluster");
    if (!w->ranks && m->workers)
        memcpy(m->worker, p->machines.worker, (size_t)m->workers * sizeof *m->worker);
    return TOOL_OK;
}

static int make(const char *path, const struct wish *w)
{
    struct orr_plan p;
    struct orr_machines m = { 0 };
    char why[ORR_PLAN_TEXT];
    double begin;
    if (load(&p, path)) return TOOL_FAILED;
    int status = find_machine(w, &p, &m);
    double before = makespan(&p, &begin);
    if (!status && heft(&p, &m, &w->setup, why)) status = tool_complain(&tool, "%s: %s", path, why);
    if (!status) {
        orr_machines_fini(&p.machines);
        p.machines = m;
        m = (struct orr_machines){ 0 };
        int r = orr_plan_check(&p, why);
        if (!r) r = orr_plan_write(&p, w->output, why);
        if (r) status = tool_complain(&tool, "%s: %s", w->output, why);
    }
    if (!status) {
        printf("%s: %.3f ms expected; %s took %.3f ms\n", w->output, makespan(&p, &begin) / 1e3, path,
               before / 1e3);
        status = tool_end(&tool);
    }
    orr_machines_fini(&m);
    orr_plan_fini(&p);
    return status;
}

/* A number of an option; complains. */
static bool read_number(const char *text, double least, double most, double *out)
{
    char *end;
    *out = strtod(text, &end);
    if (end != text && !*end && *out >= least && *out <= most) return true;
    tool_complain(&tool, "\"%s\" is no number from %g to %g", text, least, most);
    return false;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        { "table", no_argument, NULL, 't' },           { "check", no_argument, NULL, 'c' },
        { "compare", no_argument, NULL, 'd' },         { "heft", no_argument, NULL, 'H' },
        { "output", required_argument, NULL, 'o' },    { "ranks", required_argument, NULL, 'r' },
        { "workers", required_argument, NULL, 'w' },   { "machine", required_argument, NULL, 'm' },
        { "bandwidth", required_argument, NULL, 'b' }, { "latency", required_argument, NULL, 'l' },
        { "store", no_argument, NULL, 's' },           { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, 'v' },         { NULL, 0, NULL, 0 }
    };
    struct wish w = { .setup = { .bytes_per_us = 5000, .latency_us = 5 } };
    int what = 0;
    double x;
    for (int c; (c = getopt_long(argc, argv, "tcdHo:r:w:m:b:l:shv", options, NULL)) != -1;) {
        switch (c) {
        case 'h': return tool_help(&tool);
        case 'v': return tool_version(&tool);
        case 't':
        case 'c':
        case 'd':
        case 'H': what = c; break;
        case 'o': w.output = optarg; break;
        case 'm': w.machine = optarg; break;
        case 's': w.setup.store = 1; break;
        case 'r':
        case 'w':
            if (!read_number(optarg, 1, c == 'r' ? 1 << 20 : 1 << 10, &x)) return TOOL_USAGE;
            *(c == 'r' ? &w.ranks : &w.workers) = (int)x;
            break;
        case 'b':
        case 'l':
            if (!read_number(optarg, c == 'b' ? 1e-3 : 0, 1e9, &x)) return TOOL_USAGE;
            *(c == 'b' ? &w.setup.bytes_per_us : &w.setup.latency_us) = x;
            break;
        default: return tool_usage(&tool);
        }
    }
    bool right = argc - optind == (what == 'd' ? 2 : 1) && (what == 'H') == (w.output != NULL) &&
                 (w.ranks > 0) == (w.workers > 0);
    if (!right) return tool_usage(&tool);
    if (what == 'c') return check(argv[optind]);
    if (what == 'd') return compare(argv[optind], argv[optind + 1]);
    if (what == 'H') return make(argv[optind], &w);
    return show(argv[optind], what == 't');
}
