/* SPDX-License-Identifier: BSD-3-Clause */
/* export.c: a run in the forms of other programs.
 * Threads: main. Owns: nothing. Not here: our own page (html.c). */
#include <math.h>

#include "tools/report/report.h"
#include "tools/report/utf8.h"

static double since_start(const struct report_model *m, double ns)
{
    return isnan(ns) ? NAN : ns - m->from;
}

/* ---- the trace event format, of Chrome and Perfetto: microseconds; a process for each rank ---- */

static void chrome_names(FILE *out, const struct report_model *m)
{
    for (size_t i = 0; i < m->run->nfiles; i++) {
        fprintf(out, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%zu,\"tid\":0,\"args\":{\"name\":\"",
                i);
        utf8_put_json(out, m->run->files[i].program ? m->run->files[i].program : "?");
        fprintf(out, " %d\"}},\n", m->run->files[i].rank);
    }
    for (size_t i = 0; i < m->nlanes; i++) {
        fprintf(out, "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":\"",
                m->lanes[i].file, m->lanes[i].worker->id);
        utf8_put_json(out, m->lanes[i].worker->name);
        fputs("\"}},\n", out);
    }
}

/* As an event of that process, at the start; and as data of the whole trace. */
struct chrome_note {
    FILE *out;
    const struct report_run *run;
    const char *comma;
};

static void chrome_note_event(void *arg, const struct report_file *f, const char *note)
{
    const struct chrome_note *c = arg;
    fputs("{\"ph\":\"i\",\"s\":\"p\",\"cat\":\"recording\",\"name\":\"", c->out);
    utf8_put_json(c->out, note);
    fprintf(c->out, "\",\"pid\":%td,\"tid\":0,\"ts\":0},\n", f - c->run->files);
}

static void chrome_note_data(void *arg, const struct report_file *f, const char *note)
{
    struct chrome_note *c = arg;
    fprintf(c->out, "%s\"", c->comma);
    utf8_put_json(c->out, f->path);
    fputs(": ", c->out);
    utf8_put_json(c->out, note);
    putc('"', c->out);
    c->comma = ",";
}

bool report_chrome(FILE *out, const struct report_model *m)
{
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", out);
    struct chrome_note notes = { out, m->run, "" };
    chrome_names(out, m);
    report_notes(m->run, chrome_note_event, &notes);
    for (size_t i = 0; i < m->ntasks; i++) {
        const struct report_task *t = &m->tasks[i];
        if (t->worker < 0 || isnan(t->started)) continue;
        const struct report_lane *l = &m->lanes[t->worker];
        double end = isnan(t->ended) ? m->to : t->ended;
        fputs("{\"ph\":\"X\",\"cat\":\"task\",\"name\":\"", out);
        utf8_put_json(out, m->codelets[t->name].name);
        fprintf(
            out,
            "\",\"pid\":%u,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"job\":%llu,\"priority\":%d}},\n",
            l->file, l->worker->id, since_start(m, t->started) * 1e-3, (end - t->started) * 1e-3,
            (unsigned long long)t->job, t->priority);
    }
    for (size_t i = 0; i < m->nparts; i++) {
        const struct report_part *p = &m->parts[i];
        const struct report_lane *l = &m->lanes[p->lane];
        fputs("{\"ph\":\"X\",\"cat\":\"part\",\"name\":\"", out);
        utf8_put_json(out, m->codelets[p->name].name);
        fprintf(out, "\",\"pid\":%u,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f},\n", l->file, l->worker->id,
                since_start(m, p->from) * 1e-3, (p->to - p->from) * 1e-3);
    }
    for (size_t i = 0; i < m->run->nmessages; i++) {
        const struct report_message *g = &m->run->messages[i];
        fprintf(out,
                "{\"ph\":\"s\",\"cat\":\"message\",\"name\":\"message\",\"id\":%zu,\"pid\":%u,\"tid\":0,"
                "\"ts\":%.3f},\n",
                i, g->from, since_start(m, g->sent) * 1e-3);
        fprintf(out,
                "{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"message\",\"name\":\"message\",\"id\":%zu,\"pid\":%u,"
                "\"tid\":0,\"ts\":%.3f},\n",
                i, g->to, since_start(m, g->received) * 1e-3);
    }
    fprintf(out,
            "{\"ph\":\"i\",\"s\":\"g\",\"name\":\"end\",\"pid\":0,\"tid\":0,\"ts\":%.3f}\n],\n\"otherData\":{"
            "\"notes\":[",
            (m->to - m->from) * 1e-3);
    report_notes(m->run, chrome_note_data, &notes);
    fputs("]}}\n", out);
    return fflush(out) == 0 && !ferror(out);
}

/* ---- a table: one line a task, times in us; what is not known is empty ---- */

static void put_us(FILE *out, double ns)
{
    if (isnan(ns))
        putc(',', out);
    else
        fprintf(out, ",%.3f", ns * 1e-3);
}

static void put_quoted(FILE *out, const char *s)
{
    putc('"', out);
    for (; *s; s++) {
        if (*s == '"') putc('"', out);
        putc(*s, out);
    }
    putc('"', out);
}

bool report_csv(FILE *out, const struct report_model *m)
{
    fputs("rank,job,codelet,worker,priority,submitted_us,ready_us,started_us,ended_us,critical,predicted_us,"
          "candidates\n",
          out);
    for (size_t i = 0; i < m->ntasks; i++) {
        const struct report_task *t = &m->tasks[i];
        fprintf(out, "%d,%llu,", m->run->files[t->file].rank, (unsigned long long)t->job);
        put_quoted(out, m->codelets[t->name].name);
        if (t->worker >= 0)
            fprintf(out, ",%u,%d", m->lanes[t->worker].worker->id, t->priority);
        else
            fprintf(out, ",,%d", t->priority);
        put_us(out, since_start(m, t->submitted));
        put_us(out, since_start(m, t->ready));
        put_us(out, since_start(m, t->started));
        put_us(out, since_start(m, t->ended));
        fprintf(out, ",%d", t->critical);
        put_us(out, t->predicted_ns);
        fprintf(out, ",%u\n", t->weighed ? (otrace_words(*t->weighed) - 2) / 2 : 0);
    }
    return fflush(out) == 0 && !ferror(out);
}

/* ---- the graph, for Graphviz ---- */

bool report_dot(FILE *out, const struct report_model *m)
{
    fputs("digraph tasks {\n", out);
    for (size_t i = 0; i < m->ntasks; i++) {
        const struct report_task *t = &m->tasks[i];
        fprintf(out, "t%zu [label=\"", i);
        for (const char *s = m->codelets[t->name].name; *s; s++) {
            if (*s == '"' || *s == '\\') putc('\\', out);
            putc(*s, out);
        }
        fprintf(out, " %llu\"%s];\n", (unsigned long long)t->job, t->critical ? ",color=red,penwidth=2" : "");
    }
    for (size_t i = m->ntasks; i < m->ntasks + m->nsteps; i++)
        if (m->tasks[i].ndeps) fprintf(out, "t%zu [shape=point];\n", i);
    for (size_t i = 0; i < m->ntasks + m->nsteps; i++)
        for (uint32_t d = 0; d < m->tasks[i].ndeps; d++)
            fprintf(out, "t%u -> t%zu;\n", m->deps[m->tasks[i].first_dep + d], i);
    fputs("}\n", out);
    return fflush(out) == 0 && !ferror(out);
}

/* ---- tasks.rec, as StarPU's tools name its fields: times in ms ---- */

static void put_ms(FILE *out, const char *field, double ns)
{
    if (!isnan(ns)) fprintf(out, "%s: %.6f\n", field, ns * 1e-6);
}

static void put_in_one_line(FILE *out, const char *s)
{
    for (; *s; s++) putc((unsigned char)*s < ' ' ? ' ' : *s, out);
}

bool report_rec(FILE *out, const struct report_model *m)
{
    struct report_walk walk = { .count = 0 };
    for (size_t i = 0; i < m->ntasks; i++) {
        const struct report_task *t = &m->tasks[i];
        fputs("Name: ", out);
        put_in_one_line(out, m->codelets[t->name].name);
        if (t->model) {
            fputs("\nModel: ", out);
            put_in_one_line(out, report_name_of(m->run, t->model));
            fprintf(out, "\nFootprint: %x", t->footprint);
        }
        fprintf(out, "\nJobId: %llu\nSubmitOrder: %zu\n", (unsigned long long)t->job, i + 1);
        report_before(&walk, m, (uint32_t)i, SIZE_MAX);
        if (walk.count) fputs("DependsOn:", out);
        for (size_t d = 0; d < walk.count; d++)
            fprintf(out, " %llu", (unsigned long long)m->tasks[walk.found[d]].job);
        if (walk.count) putc('\n', out);
        fprintf(out, "Priority: %d\nMPIRank: %d\n", t->priority, m->run->files[t->file].rank);
        if (t->worker >= 0)
            fprintf(out, "WorkerId: %u\nMemoryNode: %u\n", m->lanes[t->worker].worker->id,
                    m->lanes[t->worker].worker->node);
        put_ms(out, "SubmitTime", since_start(m, t->submitted));
        put_ms(out, "StartTime", since_start(m, t->started));
        put_ms(out, "EndTime", since_start(m, t->ended));
        putc('\n', out);
    }
    report_walk_end(&walk);
    return fflush(out) == 0 && !ferror(out);
}
