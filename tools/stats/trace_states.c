/* SPDX-License-Identifier: BSD-3-Clause */
/* trace_states.c: how often and how long workers were in each state, of trace.rec; and what follows for the
 * efficiency.
 * Threads: main. Owns: nothing. Not here: who writes it (tools/report/paje.c), traces of Paje
 * (paje_states.c).
 *
 * A state that is set lasts until the next that its worker sets; one that is pushed until it is popped. What
 * comes after the state Deinitializing does not count. If the program said which parts are to be looked at
 * (start_profiling, stop_profiling), events outside of them do not count. */
#include <math.h>

#include "tools/plot.h"
#include "tools/stats/stats.h"

enum change { SET_STATE, PUSH_STATE, POP_STATE, CHANGES };
static const char *const changes[CHANGES] = { "SetState", "PushState", "PopState" };

struct event {
    enum change change;
    int name, category; /* -1: it was not said */
    double at;          /* ms */
};

struct sum {
    unsigned name;
    int category;
    size_t count;
    double ms;
};

struct sums {
    struct sum *at;
    size_t count, room;
};

struct worker {
    struct event *events;
    size_t count, room;
    struct sums sums;
    struct event *stack;
    size_t depth, stack_room;
    struct event set;
    bool is_set;
};

struct states {
    struct stats_names names, categories, workers;
    struct worker *worker;
    size_t nworkers, worker_room;
    double *starts, *stops;
    size_t nstarts, starts_room, nstops, stops_room;
    struct { /* the record that is read */
        struct event e;
        char *worker;
        bool is_event, any, has_time;
    } now;
};

/* ---- reading: records of lines "X: value", an empty line between; those that begin with E are events ----
 */

static const char *end_record(struct states *s)
{
    const char *wrong = NULL;
    struct event e = s->now.e;
    const char *category = e.category < 0 ? "" : s->categories.at[e.category];
    const char *name = e.name < 0 ? "" : s->names.at[e.name];
    if (!s->now.is_event) {
        /* something else */
    } else if (!s->now.has_time) {
        wrong = "the event before it has no time (S)";
    } else if (e.name < 0 && e.change != POP_STATE) {
        wrong = "the event before it has no name (N)";
    } else if (strcmp(category, "Program") == 0) {
        if (strcmp(name, "start_profiling") == 0) *TOOL_PUSH(s->starts, s->nstarts, s->starts_room) = e.at;
        if (strcmp(name, "stop_profiling") == 0) *TOOL_PUSH(s->stops, s->nstops, s->stops_room) = e.at;
    } else {
        unsigned w = stats_name(&s->workers, s->now.worker ? s->now.worker : "-1");
        while (s->nworkers <= w)
            *TOOL_PUSH(s->worker, s->nworkers, s->worker_room) = (struct worker){ .count = 0 };
        *TOOL_PUSH(s->worker[w].events, s->worker[w].count, s->worker[w].room) = e;
    }
    free(s->now.worker);
    memset(&s->now, 0, sizeof s->now);
    s->now.e.name = s->now.e.category = -1;
    return wrong;
}

static const char *change_of(const char *value, enum change *out)
{
    for (int i = 0; i < CHANGES; i++)
        if (strcmp(value, changes[i]) == 0) {
            *out = (enum change)i;
            return NULL;
        }
    return "that is no kind of event: SetState, PushState and PopState are";
}

static const char *add_line(void *arg, char *line)
{
    struct states *s = arg;
    if (!*line) return end_record(s);
    bool first = !s->now.any;
    s->now.any = true;
    if (first) s->now.is_event = strncmp(line, "E:", 2) == 0;
    if (!s->now.is_event) return NULL;
    if (!line[0] || line[1] != ':') return NULL; /* a longer name: nothing of these */
    char *value = line + 2 + (line[2] == ' ');
    double id;
    switch (line[0]) {
    case 'E': return change_of(value, &s->now.e.change);
    case 'C': s->now.e.category = (int)stats_name(&s->categories, value); return NULL;
    case 'N': s->now.e.name = (int)stats_name(&s->names, value); return NULL;
    case 'W':
        free(s->now.worker);
        s->now.worker = tool_copy(value, strlen(value));
        return stats_number(value, &id) ? NULL : "that is no worker's number";
    case 'S':
        s->now.has_time = stats_number(value, &s->now.e.at);
        return s->now.has_time ? NULL : "that is no time";
    default: return NULL;
    }
}

/* ---- adding up ---- */

static struct sum *sum_of(struct sums *s, const struct event *e)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->at[i].name == (unsigned)e->name) return &s->at[i];
    struct sum *n = TOOL_PUSH(s->at, s->count, s->room);
    *n = (struct sum){ .name = (unsigned)e->name, .category = e->category };
    return n;
}

static void lasted(struct worker *w, const struct event *e, double until)
{
    struct sum *s = sum_of(&w->sums, e);
    s->count++;
    s->ms += until - e->at;
}

static void add_event(struct worker *w, const struct event *e)
{
    switch (e->change) {
    case PUSH_STATE: *TOOL_PUSH(w->stack, w->depth, w->stack_room) = *e; break;
    case POP_STATE:
        if (w->depth > 0) {
            w->depth--;
            lasted(w, &w->stack[w->depth], e->at);
            break;
        }
        printf("warning: PopState without a PushState; profiling may have been started in between\n");
        w->is_set = false;
        break;
    default:
        if (w->is_set) lasted(w, &w->set, e->at);
        w->set = *e;
        w->is_set = true;
        break;
    }
}

/* In which part that is to be looked at; -1: in none. */
static int part_of(const struct states *s, double at)
{
    for (size_t i = 0; i < s->nstarts; i++)
        if (at > s->starts[i] && at < s->stops[i]) return (int)i;
    return -1;
}

static void add_worker(const struct states *s, struct worker *w)
{
    for (size_t i = 0; i < w->count; i++) {
        if (i > 0 && w->events[i - 1].name >= 0 &&
            strcmp(s->names.at[w->events[i - 1].name], "Deinitializing") == 0)
            break;
        if (s->nstarts == 0 || part_of(s, w->events[i].at) >= 0) add_event(w, &w->events[i]);
    }
    if (s->nstarts == 0 || w->count == 0) return;
    struct event last = w->events[w->count - 1];
    int part = part_of(s, last.at);
    if (last.change != SET_STATE) return;
    if (part >= 0) last.at = s->stops[part]; /* it lasted until then */
    add_event(w, &last);
}

/* Of all workers; names in the order in which workers had them. */
static struct sums add_all(struct states *s)
{
    static struct sums all; /* once in a program */
    for (size_t i = 0; i < s->nworkers; i++) {
        add_worker(s, &s->worker[i]);
        for (size_t j = 0; j < s->worker[i].sums.count; j++) {
            const struct sum *one = &s->worker[i].sums.at[j];
            struct event like = { .name = (int)one->name, .category = one->category };
            struct sum *sum = sum_of(&all, &like);
            sum->count += one->count;
            sum->ms += one->ms;
        }
    }
    return all;
}

/* ---- saying ---- */

/* As few digits as tell it from all others, and never none after the point. */
static void put_number(FILE *f, double value)
{
    char text[64];
    int digits = 1;
    do snprintf(text, sizeof text, "%.*e", digits - 1, value);
    while (strtod(text, NULL) != value && ++digits <= 17);
    int exponent = atoi(strchr(text, 'e') + 1);
    if (value == 0)
        fputs("0.0", f);
    else if (exponent < -4 || exponent >= 16)
        fprintf(f, "%.*g", digits, value);
    else
        fprintf(f, "%.*f", digits - 1 > exponent ? digits - 1 - exponent : 1, value);
}

static double rounded(double value)
{
    char text[400];
    snprintf(text, sizeof text, "%.6f", value);
    return strtod(text, NULL);
}

static void put_quoted(FILE *f, const char *name)
{
    putc('"', f);
    for (; *name; name++) {
        if (*name == '"') putc('"', f);
        putc(*name, f);
    }
    putc('"', f);
}

static void put_sums(const struct states *s, const struct sums *all)
{
    puts("\"Name\",\"Count\",\"Type\",\"Duration\"");
    for (size_t i = 0; i < all->count; i++) {
        const struct sum *one = &all->at[i];
        if (one->category < 0) continue;
        put_quoted(stdout, s->names.at[one->name]);
        printf(",%zu,", one->count);
        put_quoted(stdout, s->categories.at[one->category]);
        putchar(',');
        put_number(stdout, rounded(one->ms));
        putchar('\n');
    }
}

struct times {
    double idle, runtime, task, scheduling;
};

static struct times times_of(const struct states *s, const struct sums *all)
{
    struct times t = { 0 };
    for (size_t i = 0; i < all->count; i++) {
        const struct sum *one = &all->at[i];
        const char *category = one->category < 0 ? NULL : s->categories.at[one->category];
        if (!category) continue;
        if (strcmp(category, "Runtime") == 0)
            *(strcmp(s->names.at[one->name], "Scheduling") == 0 ? &t.scheduling : &t.runtime) += one->ms;
        else if (strcmp(category, "Task") == 0)
            t.task += one->ms;
        else if (strcmp(category, "Other") == 0)
            t.idle += one->ms;
        else
            printf("WARNING: Unknown category '%s'!\n", category);
    }
    return t;
}

static int write_table(const struct tool *t, const char *path, const char *head, const char *const name[],
                       const double value[], size_t n)
{
    FILE *f = plot_open(t, path);
    if (!f) return TOOL_FAILED;
    fprintf(f, "%s\n", head);
    for (size_t i = 0; i < n; i++) {
        fprintf(f, "\"%s\",", name[i]);
        put_number(f, value[i]);
        fputc('\n', f);
    }
    return plot_close(t, f, path);
}

static int write_times(const struct tool *t, const struct times *x)
{
    static const char *const name[] = { "Runtime", "Task", "Idle", "Scheduling" };
    const double value[] = { x->runtime, x->task, x->idle, x->scheduling };
    return write_table(t, "times.csv", "\"Time\",\"Duration\"", name, value, 4);
}

/* sequential: ms that the tasks take one after the other; 0: it is not known. */
static int write_efficiencies(const struct tool *t, const struct times *x, double sequential)
{
    static const char *const name[] = { "Parallel", "Task", "Runtime", "Scheduling", "Pipeline" };
    double busy = x->task + x->runtime + x->scheduling;
    if (!(x->task > 0)) return tool_complain(t, "no task took any time: there are no efficiencies");
    if (sequential == 0) {
        fprintf(stderr,
                "WARNING: the efficiency of tasks is 1.0, as -s does not say what they take in sequence\n");
        sequential = x->task;
    }
    double task = rounded(sequential / x->task), scheduling = rounded(x->task / (x->task + x->scheduling));
    double runtime = rounded((x->task + x->scheduling) / busy), pipeline = rounded(busy / (busy + x->idle));
    const double value[] = { rounded(task * runtime * pipeline * scheduling), task, runtime, scheduling,
                             pipeline };
    return write_table(t, "efficiencies.csv", "\"Efficiency\",\"Value\"", name, value, 5);
}

static int trace_state_stats(const struct tool *t, int argc, char **argv)
{
    static const struct option options[] = { { "time", no_argument, NULL, 't' },
                                             { "efficiency", no_argument, NULL, 'e' },
                                             { "seq_task_time", required_argument, NULL, 's' },
                                             { NULL, 0, NULL, 0 } };
    static struct states s = { .now.e = { .name = -1, .category = -1 } };
    bool times = false, efficiencies = false;
    double sequential = 0;
    for (int c; (c = getopt_long(argc, argv, "ets:", options, NULL)) != -1;) {
        if (c == 't') times = true;
        if (c == 'e') efficiencies = true;
        if (c == '?') return tool_usage(t);
        if (c != 's') continue;
        if (!stats_number(optarg + (*optarg == '='), &sequential) || !(sequential > 0)) {
            tool_complain(t, "%s is no time", optarg);
            return tool_usage(t);
        }
    }
    if (optind != argc - 1) {
        tool_complain(t, "what is wanted is one file");
        return tool_usage(t);
    }
    if (stats_each_line(t, argv[optind], add_line, &s)) return TOOL_FAILED;
    const char *wrong = end_record(&s);
    if (wrong) return tool_complain(t, "%s: %s", argv[optind], wrong);
    if (s.nworkers == 0) return tool_complain(t, "%s has no events of workers", argv[optind]);
    if (s.nstarts != s.nstops)
        return tool_complain(t, "profiling was started %zu times and stopped %zu times", s.nstarts, s.nstops);
    struct sums all = add_all(&s);
    put_sums(&s, &all);
    struct times x = times || efficiencies || sequential > 0 ? times_of(&s, &all) : (struct times){ 0 };
    if (times && write_times(t, &x)) return TOOL_FAILED;
    if ((efficiencies || sequential > 0) && write_efficiencies(t, &x, sequential)) return TOOL_FAILED;
    return tool_end(t);
}

const struct stats_program stats_trace_state_stats = {
    { "starpu_trace_state_stats",
      "how often and how long workers were in each state\n"
      "\n"
      "SYNOPSIS\n"
      "    starpu_trace_state_stats [-te] [-s MS] FILE\n"
      "\n"
      "DESCRIPTION\n"
      "    FILE is trace.rec of starpu_fxt_tool. Prints for each state its name, how often workers were in "
      "it, its\n"
      "    kind (Task, Runtime, Other: idle) and how many ms that took together, with commas between.\n"
      "    It is also called starpu_trace_state_stats.py, as in StarPU.\n"
      "\n"
      "OPTIONS\n"
      "    -t, --time               write the ms of each kind to times.csv\n"
      "    -e, --efficiency         write efficiencies to efficiencies.csv: of tasks (less than 1 if they "
      "take\n"
      "                             longer than one after the other), runtime, scheduling, pipeline "
      "(idleness),\n"
      "                             and the product of all\n"
      "    -s, --seq_task_time MS   what tasks take one after the other; efficiencies are written\n"
      "    -h, --help               this text\n"
      "    -v, --version            the version\n"
      "\n"
      "EXIT STATUS\n"
      "    0; 1: FILE is none of that form, or a table cannot be written; 2: wrong usage.\n" },
    trace_state_stats
};
