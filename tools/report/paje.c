/* SPDX-License-Identifier: BSD-3-Clause */
/* paje.c: a run as a trace of Paje, which ViTE and others show: ranks, their workers, what these did; and the
 * same states in records, as StarPU's trace.rec.
 * Threads: main. Owns: nothing. Not here: other forms (export.c).
 *
 * Events are in the order of time; a worker is in one state at a time: a codelet's, or Idle, or Overhead. */
#include <math.h>
#include <stdlib.h>

#include "tools/report/report.h"

enum { DEFINE_TYPE, DEFINE_STATE, DEFINE_VALUE, DEFINE_LINK, CREATE, DESTROY, SET, START_LINK, END_LINK };

static const char head[] =
    "%EventDef PajeDefineContainerType 0\n% Alias string\n% Type string\n% Name string\n%EndEventDef\n"
    "%EventDef PajeDefineStateType 1\n% Alias string\n% Type string\n% Name string\n%EndEventDef\n"
    "%EventDef PajeDefineEntityValue 2\n% Alias string\n% Type string\n% Name string\n% Color "
    "color\n%EndEventDef\n"
    "%EventDef PajeDefineLinkType 3\n% Alias string\n% Type string\n% StartContainerType string\n"
    "% EndContainerType string\n% Name string\n%EndEventDef\n"
    "%EventDef PajeCreateContainer 4\n% Time date\n% Alias string\n% Type string\n% Container string\n% Name "
    "string\n%EndEventDef\n"
    "%EventDef PajeDestroyContainer 5\n% Time date\n% Type string\n% Name string\n%EndEventDef\n"
    "%EventDef PajeSetState 6\n% Time date\n% Type string\n% Container string\n% Value string\n%EndEventDef\n"
    "%EventDef PajeStartLink 7\n% Time date\n% Type string\n% Container string\n% Value string\n"
    "% StartContainer string\n% Key string\n%EndEventDef\n"
    "%EventDef PajeEndLink 8\n% Time date\n% Type string\n% Container string\n% Value string\n"
    "% EndContainer string\n% Key string\n%EndEventDef\n";

struct change {
    double ns;
    size_t order;
    enum { TO_TASK, TO_IDLE, TO_OVERHEAD, SENT, RECEIVED } what;
    uint32_t lane, value; /* of a message: its file, its number */
};

struct changes {
    struct change *at;
    size_t count, room;
};

static void add(struct changes *c, double ns, int what, uint32_t lane, uint32_t value)
{
    struct change *n = TOOL_PUSH(c->at, c->count, c->room);
    *n = (struct change){ .ns = ns, .order = c->count, .lane = lane, .value = value };
    n->what = what;
}

/* At the same time what ends comes before what begins. */
static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
    int p = x->what == TO_OVERHEAD ? 0 : 1, q = y->what == TO_OVERHEAD ? 0 : 1;
    if (p != q) return p - q;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void collect(struct changes *c, const struct report_model *m)
{
    for (size_t i = 0; i < m->ntasks; i++) {
        const struct report_task *t = &m->tasks[i];
        if (t->worker < 0 || isnan(t->started)) continue;
        add(c, t->started, TO_TASK, (uint32_t)t->worker, t->name);
        if (!isnan(t->ended)) add(c, t->ended, TO_OVERHEAD, (uint32_t)t->worker, 0);
    }
    for (size_t i = 0; i < m->nparts; i++) {
        add(c, m->parts[i].from, TO_TASK, m->parts[i].lane, m->parts[i].name);
        add(c, m->parts[i].to, TO_OVERHEAD, m->parts[i].lane, 0);
    }
    for (size_t i = 0; i < m->nidle; i++) {
        add(c, m->idle[i].from, TO_IDLE, m->idle[i].lane, 0);
        add(c, m->idle[i].to, TO_OVERHEAD, m->idle[i].lane, 0);
    }
    for (size_t i = 0; i < m->run->nmessages; i++) {
        add(c, m->run->messages[i].sent, SENT, m->run->messages[i].from, (uint32_t)i);
        add(c, m->run->messages[i].received, RECEIVED, m->run->messages[i].to, (uint32_t)i);
    }
    if (c->count) qsort(c->at, c->count, sizeof *c->at, by_time);
}

static void put_name(FILE *out, const char *s)
{
    putc('"', out);
    for (; *s; s++) putc(*s == '"' || *s == '\n' || *s == '\t' ? ' ' : *s, out);
    putc('"', out);
}

static void define(FILE *out, const struct report_model *m)
{
    fputs(head, out);
    fprintf(out, "%d P 0 Program\n%d R P Rank\n%d W R Worker\n%d S W State\n", DEFINE_TYPE, DEFINE_TYPE,
            DEFINE_TYPE, DEFINE_STATE);
    fprintf(out, "%d I S Idle \"0.8 0.8 0.8\"\n%d O S Overhead \"0.5 0.2 0.2\"\n%d M P R R Message\n",
            DEFINE_VALUE, DEFINE_VALUE, DEFINE_LINK);
    for (size_t i = 0; i < m->ncodelets; i++) {
        fprintf(out, "%d c%zu S ", DEFINE_VALUE, i);
        put_name(out, m->codelets[i].name);
        fprintf(out, " \"%.2f %.2f %.2f\"\n", (double)(i * 37 % 100) / 100, (double)(i * 61 % 100) / 100,
                0.4 + (double)(i * 23 % 60) / 100);
    }
    fprintf(out, "%d 0 p P 0 program\n", CREATE);
    for (size_t i = 0; i < m->run->nfiles; i++)
        fprintf(out, "%d 0 r%zu R p \"rank %d\"\n", CREATE, i, m->run->files[i].rank);
    for (size_t i = 0; i < m->nlanes; i++) {
        fprintf(out, "%d 0 w%zu W r%u ", CREATE, i, m->lanes[i].file);
        put_name(out, m->lanes[i].worker->name);
        fprintf(out, "\n%d 0 S w%zu O\n", SET, i);
    }
}

/* Times in ms, none before the beginning. */
static void put_change(FILE *out, const struct report_model *m, const struct change *c)
{
    double ms = c->ns > m->from ? (c->ns - m->from) * 1e-6 : 0;
    switch (c->what) {
    case TO_TASK: fprintf(out, "%d %.6f S w%u c%u\n", SET, ms, c->lane, c->value); break;
    case TO_IDLE: fprintf(out, "%d %.6f S w%u I\n", SET, ms, c->lane); break;
    case TO_OVERHEAD: fprintf(out, "%d %.6f S w%u O\n", SET, ms, c->lane); break;
    case SENT:
    case RECEIVED:
        fprintf(out, "%d %.6f M p %llu r%u %u\n", c->what == SENT ? START_LINK : END_LINK, ms,
                (unsigned long long)m->run->messages[c->value].bytes, c->lane, c->value);
        break;
    }
}

bool report_paje(FILE *out, const struct report_model *m)
{
    struct changes c = { .at = NULL };
    double end = (m->to - m->from) * 1e-6;
    define(out, m);
    collect(&c, m);
    for (size_t i = 0; i < c.count; i++) put_change(out, m, &c.at[i]);
    if (c.count && c.at[c.count - 1].ns > m->to) end = (c.at[c.count - 1].ns - m->from) * 1e-6;
    for (size_t i = 0; i < m->nlanes; i++) fprintf(out, "%d %.6f W w%zu\n", DESTROY, end, i);
    for (size_t i = 0; i < m->run->nfiles; i++) fprintf(out, "%d %.6f R r%zu\n", DESTROY, end, i);
    fprintf(out, "%d %.6f P p\n", DESTROY, end);
    free(c.at);
    return fflush(out) == 0 && !ferror(out);
}

/* ---- trace.rec ---- */

/* One record; a category is Task, Runtime or Other (idle). */
static void put_state(FILE *out, uint32_t lane, double ms, const char *name, const char *category)
{
    fprintf(out, "E: SetState\nC: %s\nW: %u\nN: ", category, lane);
    for (; *name; name++) putc((unsigned char)*name < ' ' ? ' ' : *name, out);
    fprintf(out, "\nS: %.6f\n\n", ms);
}

bool report_states(FILE *out, const struct report_model *m)
{
    struct changes c = { .at = NULL };
    double end = (m->to - m->from) * 1e-6;
    collect(&c, m);
    for (uint32_t i = 0; i < m->nlanes; i++) put_state(out, i, 0, "Overhead", "Runtime");
    for (size_t i = 0; i < c.count; i++) {
        double ms = c.at[i].ns > m->from ? (c.at[i].ns - m->from) * 1e-6 : 0;
        switch (c.at[i].what) {
        case TO_TASK: put_state(out, c.at[i].lane, ms, m->codelets[c.at[i].value].name, "Task"); break;
        case TO_IDLE: put_state(out, c.at[i].lane, ms, "Idle", "Other"); break;
        case TO_OVERHEAD: put_state(out, c.at[i].lane, ms, "Overhead", "Runtime"); break;
        default: break;
        }
    }
    for (uint32_t i = 0; i < m->nlanes; i++) put_state(out, i, end, "Deinitializing", "Runtime");
    free(c.at);
    return fflush(out) == 0 && !ferror(out);
}
