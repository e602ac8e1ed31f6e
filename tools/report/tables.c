/* SPDX-License-Identifier: BSD-3-Clause */
/* tables.c: a run as the tables that StarPU's tool makes for programs that draw: distrib.data, activity.data.
 * Threads: main. Owns: nothing. Not here: who draws (tools/stats), trace.rec (paje.c). */
#include <ctype.h>
#include <math.h>

#include <starpu.h>

#include "tools/report/report.h"

/* ---- distrib.data: codelet, architecture, bytes of its data, footprint, ms; tabs between ---- */

/* In one word, as it may become part of a file's name. */
static void put_word(FILE *out, const char *s)
{
    for (; *s; s++) putc(isgraph((unsigned char)*s) && *s != '/' ? *s : '_', out);
}

/* Which of its kind a worker's device is: kinds with a memory of their own have one for each. */
static unsigned device_of(const struct report_file *f, const struct report_worker *w)
{
    unsigned before = 0;
    if (w->type == STARPU_CPU_WORKER) return 0;
    for (size_t i = 0; i < f->nworkers; i++) {
        const struct report_worker *v = &f->workers[i];
        bool first = v->type == w->type && v->node < w->node;
        for (size_t j = 0; j < i && first; j++)
            first = f->workers[j].node != v->node || f->workers[j].type != v->type;
        before += first;
    }
    return before;
}

static void put_architecture(FILE *out, const struct report_lane *l, const struct report_file *f)
{
    const char *kind = starpu_worker_get_type_as_env_var((enum starpu_worker_archtype)l->worker->type);
    for (; *kind; kind++) putc(tolower((unsigned char)*kind), out);
    fprintf(out, "%u", device_of(f, l->worker));
}

bool report_distrib(FILE *out, const struct report_model *m)
{
    for (size_t i = 0; i < m->ntasks; i++) {
        const struct report_task *t = &m->tasks[i];
        if (t->worker < 0 || isnan(t->ended) || isnan(t->started)) continue;
        put_word(out, m->codelets[t->name].name);
        putc('\t', out);
        put_architecture(out, &m->lanes[t->worker], &m->run->files[m->lanes[t->worker].file]);
        fprintf(out, "\t%llu\t%x\t%.9f\n", (unsigned long long)t->bytes, t->footprint,
                (t->ended - t->started) * 1e-6);
    }
    return fflush(out) == 0 && !ferror(out);
}

/* ---- activity.data: worker, ms, length, ms of bodies in it, ms of idleness; and how many tasks there were
 * ---- */

enum { SLICES = 500 };

struct slices {
    const struct report_model *m;
    double width;                                  /* ns */
    double (*runs)[SLICES], (*idle)[SLICES];       /* by lane, ns */
    long ready[SLICES + 1], submitted[SLICES + 1]; /* changes in each */
};

static void add_span(const struct slices *s, double (*cells)[SLICES], uint32_t lane, double from, double to)
{
    from = fmax(from - s->m->from, 0);
    to = fmin(to - s->m->from, s->m->to - s->m->from);
    for (size_t i = (size_t)fmin(from / s->width, SLICES - 1); i < SLICES && (double)i * s->width < to; i++)
        cells[lane][i] += fmax(fmin(to, (double)(i + 1) * s->width) - fmax(from, (double)i * s->width), 0);
}

static void count(const struct slices *s, long *changes, double ns, int by)
{
    double at = isnan(ns) ? SLICES : (ns - s->m->from) / s->width;
    changes[at <= 0 ? 0 : at < SLICES ? (size_t)at + 1 : SLICES] += by; /* from the next slice on */
}

static void fill(struct slices *s)
{
    const struct report_model *m = s->m;
    for (size_t i = 0; i < m->ntasks; i++) {
        const struct report_task *t = &m->tasks[i];
        if (!isnan(t->submitted))
            count(s, s->submitted, t->submitted, 1), count(s, s->submitted, t->ended, -1);
        if (!isnan(t->ready) && !(t->flags & OTRACE_NO_BODY))
            count(s, s->ready, t->ready, 1), count(s, s->ready, t->started, -1);
        if (t->worker >= 0 && !isnan(t->started))
            add_span(s, s->runs, (uint32_t)t->worker, t->started, isnan(t->ended) ? m->to : t->ended);
    }
    for (size_t i = 0; i < m->nparts; i++)
        add_span(s, s->runs, m->parts[i].lane, m->parts[i].from, m->parts[i].to);
    for (size_t i = 0; i < m->nidle; i++)
        add_span(s, s->idle, m->idle[i].lane, m->idle[i].from, m->idle[i].to);
}

static void put_count(FILE *out, const char *name, const struct slices *s, const long *changes)
{
    long now = 0;
    for (size_t i = 0; i < SLICES; i++) {
        now += changes[i];
        fprintf(out, "%s\t%.9f\t%ld\n", name, (double)i * s->width * 1e-6, now > 0 ? now : 0);
    }
}

bool report_activity(FILE *out, const struct report_model *m)
{
    struct slices s = { .m = m, .width = (m->to - m->from) / SLICES };
    for (size_t i = 0; i < m->nlanes; i++) {
        fprintf(out, "name\t%zu\t", i);
        if (m->run->nfiles > 1) fprintf(out, "%d: ", m->run->files[m->lanes[i].file].rank);
        for (const char *c = m->lanes[i].worker->name; *c; c++)
            putc(iscntrl((unsigned char)*c) ? ' ' : *c, out);
        putc('\n', out);
    }
    if (!(s.width > 0)) return fflush(out) == 0 && !ferror(out);
    s.runs = tool_alloc(m->nlanes, sizeof *s.runs);
    s.idle = tool_alloc(m->nlanes, sizeof *s.idle);
    fill(&s);
    for (size_t l = 0; l < m->nlanes; l++)
        for (size_t i = 0; i < SLICES; i++)
            fprintf(out, "%zu\t%.9f\t%.9f\t%.9f\t%.9f\n", l, (double)i * s.width * 1e-6, s.width * 1e-6,
                    s.runs[l][i] * 1e-6, s.idle[l][i] * 1e-6);
    put_count(out, "cnt_ready", &s, s.ready);
    put_count(out, "cnt_submitted", &s, s.submitted);
    free(s.runs), free(s.idle);
    return fflush(out) == 0 && !ferror(out);
}
