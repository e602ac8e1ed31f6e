/* SPDX-License-Identifier: BSD-3-Clause */
/* lp2paje.c: a trace of Paje of a schedule that lp_solve found, of the program that
 * starpu_bound_print_lp writes with dependencies, ours or StarPU's: its variables are c (ends of tasks), t
 * (which worker has which task) and s (begins). Threads: main. Owns: nothing. Not here: the bound
 * (core/worker/bound.c). */
#include "tools/stats/stats.h"

struct schedule {
    double most;             /* tmax */
    unsigned tasks, workers; /* nt, nw */
    double *end, *begin;     /* by task */
    unsigned *worker;        /* by task; its number: none */
    bool has_most, has_tasks, has_workers;
};

enum { MOST = 1 << 20 };

/* "NAME NUMBER", whatever blanks are between. */
static bool read_value(const char *line, const char *name, double *out)
{
    size_t n = strlen(name);
    if (strncmp(line, name, n) != 0 || line[n] != ' ') return false;
    return stats_number(line + n + strspn(line + n, " "), out);
}

static const char *make_room(struct schedule *s)
{
    if (!s->has_tasks || !s->has_workers || s->end) return NULL;
    s->end = tool_alloc(s->tasks, sizeof *s->end);
    s->begin = tool_alloc(s->tasks, sizeof *s->begin);
    s->worker = tool_alloc(s->tasks, sizeof *s->worker);
    for (unsigned i = 0; i < s->tasks; i++) s->worker[i] = s->workers;
    return NULL;
}

static const char *read_count(struct schedule *s, bool *has, unsigned *count, double value)
{
    if (*has || !(value >= 0 && value <= MOST) || value != (unsigned)value) return "that is no count";
    *count = (unsigned)value;
    *has = true;
    return make_room(s);
}

/* Variables of the three kinds; of others nothing is wanted. */
static const char *read_variable(struct schedule *s, const char *line)
{
    unsigned task, worker;
    double value;
    char kind = *line;
    int at = 0;
    bool assigns = sscanf(line, "t%uw%u %n", &task, &worker, &at) == 2 && at;
    if (!assigns && (sscanf(line, "%*1[cs]%u %n", &task, &at) != 1 || !at)) return NULL;
    if (!s->end) return "nt and nw, how many there are, come first";
    if (task >= s->tasks || (assigns && worker >= s->workers)) return "there is no such task or worker";
    if (!stats_number(line + at, &value)) return "its value is no number";
    if (assigns && value > 0.5) s->worker[task] = worker;
    if (!assigns && kind == 'c') s->end[task] = value;
    if (!assigns && kind == 's') s->begin[task] = value;
    return NULL;
}

static const char *add_line(void *arg, char *line)
{
    struct schedule *s = arg;
    double value;
    for (size_t n = strlen(line); n > 0 && (line[n - 1] == ' ' || line[n - 1] == '\r');) line[--n] = 0;
    if (read_value(line, "nt", &value)) return read_count(s, &s->has_tasks, &s->tasks, value);
    if (read_value(line, "nw", &value)) return read_count(s, &s->has_workers, &s->workers, value);
    if (read_value(line, "tmax", &value)) {
        s->has_most = true;
        s->most = value;
        return NULL;
    }
    if (strstr(line, "infeasible") || strstr(line, "unbounded")) return "lp_solve found no schedule";
    return read_variable(s, line);
}

static void put_definitions(void)
{
    static const struct {
        const char *event;
        int id;
        const char *fields[5];
    } events[] = {
        { "PajeDefineContainerType", 1, { "Alias string", "ContainerType string", "Name string" } },
        { "PajeCreateContainer",
          2,
          { "Time date", "Alias string", "Type string", "Container string", "Name string" } },
        { "PajeDefineStateType", 3, { "Alias string", "ContainerType string", "Name string" } },
        { "PajeDestroyContainer", 4, { "Time date", "Name string", "Type string" } },
        { "PajeDefineEntityValue", 5, { "Alias string", "EntityType string", "Name string", "Color color" } },
        { "PajeSetState", 6, { "Time date", "Type string", "Container string", "Value string" } }
    };
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        printf("%%EventDef %s %d\n", events[i].event, events[i].id);
        for (size_t j = 0; j < 5 && events[i].fields[j]; j++) printf("%% %s\n", events[i].fields[j]);
        printf("%%EndEventDef\n");
    }
}

static void put_trace(const struct schedule *s)
{
    put_definitions();
    printf("1 W 0 Worker\n3 S W \"Worker State\"\n");
    for (unsigned i = 0; i < s->tasks; i++) printf("5 R%u S Running_%u \"0.0 1.0 0.0\"\n", i, i);
    printf("5 F S Idle \"1.0 0.0 0.0\"\n");
    for (unsigned w = 0; w < s->workers; w++) printf("2 0 W%u W 0 \"%u\"\n", w, w);
    for (unsigned w = 0; w < s->workers; w++) printf("4 %f W%u W\n", s->most, w);
    for (unsigned i = 0; i < s->tasks; i++) {
        printf("6 %f S W%u R%u\n", s->begin[i], s->worker[i], i);
        printf("6 %f S W%u F\n", s->end[i], s->worker[i]);
    }
}

static int lp2paje(const struct tool *t, int argc, char **argv)
{
    static struct schedule s;
    (void)argv;
    if (argc != 1) {
        tool_complain(t, "what lp_solve says is read from the standard input");
        return tool_usage(t);
    }
    if (stats_each_line(t, "-", add_line, &s)) return TOOL_FAILED;
    if (!s.end || !s.has_most)
        return tool_complain(t, "tmax, nt and nw are missing: this is no such solution");
    for (unsigned i = 0; i < s.tasks; i++)
        if (s.worker[i] == s.workers) return tool_complain(t, "no worker has task %u", i);
    fprintf(stderr, "%u workers, %u tasks\n", s.workers, s.tasks);
    for (unsigned i = 0; i < s.tasks; i++)
        fprintf(stderr, "%u: task %u on %u: %f - %f\n", i, i, s.worker[i], s.begin[i], s.end[i]);
    put_trace(&s);
    return tool_end(t);
}

const struct stats_program stats_lp2paje = {
    { "starpu_lp2paje", "make a trace of Paje of a schedule that lp_solve found\n"
                        "\n"
                        "SYNOPSIS\n"
                        "    lp_solve file.lp | starpu_lp2paje > paje.trace\n"
                        "\n"
                        "DESCRIPTION\n"
                        "    Reads what lp_solve says of the program that "
                        "starpu_bound_print_lp writes when the bound is computed\n"
                        "    with dependencies, ours or StarPU's, and writes the schedule "
                        "as a trace of Paje.\n"
                        "\n"
                        "OPTIONS\n"
                        "    -h, --help      this text\n"
                        "    -v, --version   the version\n"
                        "\n"
                        "EXIT STATUS\n"
                        "    0; 1: it is no such solution; 2: wrong usage.\n" },
    lp2paje
};
