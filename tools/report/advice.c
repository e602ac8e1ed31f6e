/* SPDX-License-Identifier: BSD-3-Clause */
/* advice.c: what to try, each with the figures that it rests on; nothing where none of them says so.
 * Threads: main. Owns: nothing. Not here: the figures themselves (model.c), showing it (text.c, html.c). */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/report.h"

struct whole { /* the run, over all workers */
    double makespan, time, runs, fetches, overhead, cause[REPORT_CAUSES];
};

__attribute__((format(printf, 3, 4))) static void add(struct report_model *m, const char *title,
                                                      const char *format, ...)
{
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct report_advice *a = TOOL_PUSH(m->advice, m->nadvice, m->advice_room);
    *a = (struct report_advice){ .title = title, .figures = tool_alloc(strlen(text) + 1, 1) };
    strcpy(a->figures, text);
}

static struct whole sum_up(const struct report_model *m)
{
    struct whole w = { .makespan = m->to - m->from };
    w.time = w.makespan * (double)m->nlanes;
    for (size_t i = 0; i < m->nlanes; i++) {
        w.runs += m->lanes[i].ns[REPORT_RUNS];
        w.fetches += m->lanes[i].ns[REPORT_FETCHES];
        w.overhead += m->lanes[i].ns[REPORT_OVERHEAD];
        for (int c = 0; c < REPORT_CAUSES; c++) w.cause[c] += m->lanes[i].cause_ns[c];
    }
    return w;
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static void loss(struct report_model *m)
{
    unsigned long long lost = 0;
    for (size_t i = 0; i < m->run->nfiles; i++) lost += m->run->files[i].lost;
    if (lost)
        add(m, "Record all of it",
            "%llu records were lost, so that all figures here are too small: ORRERY_TRACE_BUFFER makes room "
            "for "
            "more.",
            lost);
}

static void grains(struct report_model *m, const struct whole *w)
{
    size_t ended = 0;
    for (size_t i = 0; i < m->ncodelets; i++) ended += m->codelets[i].ended;
    if (!ended || w->overhead < 0.15 * w->time) return;
    double mean = m->area_ns / (double)ended, each = w->overhead / (double)ended;
    if (mean > 20 * each) return;
    add(m, "Larger tasks",
        "A body takes %.2f us in the mean and the runtime %.2f us for each: %.1f %% of the workers' time. "
        "With bodies "
        "of %.0f us that were 5 %%.",
        mean * 1e-3, each * 1e-3, percent(w->overhead, w->time), each * 19e-3);
}

static void parallelism(struct report_model *m, const struct whole *w)
{
    const struct report_codelet *most = NULL;
    if (w->cause[REPORT_NO_READY] < 0.2 * w->time || m->critical_ns < 0.5 * w->makespan) return;
    for (size_t i = 0; i < m->ncodelets; i++)
        if (!most || m->codelets[i].critical > most->critical) most = &m->codelets[i];
    add(m, "More parallelism, or a shorter critical path",
        "Workers waited %.1f %% of their time for tasks that ran elsewhere, and a chain of %zu tasks takes "
        "%.3f of the "
        "%.3f ms. %.1f %% of it is %.80s: make it faster, or cut it into smaller tasks.",
        percent(w->cause[REPORT_NO_READY], w->time), m->critical_count, m->critical_ns * 1e-6,
        w->makespan * 1e-6, percent(most->critical, m->critical_ns), most->name);
}

/* All tasks have the same priority, and those on the critical path waited for a worker. */
static void priorities(struct report_model *m, const struct whole *w)
{
    if (m->critical_waited_ns < 0.1 * w->makespan || m->critical_count < 3) return;
    for (size_t i = 1; i < m->ntasks; i++)
        if (m->tasks[i].priority != m->tasks[0].priority) return;
    if (m->critical_ns + m->critical_waited_ns < 0.8 * w->makespan) return;
    add(m, "Priorities",
        "The tasks of the critical path were ready and waited for a worker for %.3f of the %.3f ms, and all "
        "tasks have "
        "the same priority. Give these a higher one, under a policy that heeds it (prio, dmdas, lws).",
        m->critical_waited_ns * 1e-6, w->makespan * 1e-6);
}

static void elsewhere(struct report_model *m, const struct whole *w)
{
    if (w->cause[REPORT_READY_ELSEWHERE] < 0.2 * w->time) return;
    add(m, "Another policy",
        "Workers were idle for %.1f %% of their time while tasks were ready that they did not get: the "
        "policy (%s) "
        "keeps them for other workers. Try one that shares (lws, ws), or models that are calibrated.",
        percent(w->cause[REPORT_READY_ELSEWHERE], w->time),
        m->run->files[0].policy ? m->run->files[0].policy : "?");
}

static void submission(struct report_model *m, const struct whole *w)
{
    double last = m->from;
    size_t n = 0;
    for (size_t i = 0; i < m->ntasks; i++) {
        if (isnan(m->tasks[i].submitted)) continue;
        n++;
        if (m->tasks[i].submitted > last) last = m->tasks[i].submitted;
    }
    if (!n || w->cause[REPORT_NOTHING] < 0.2 * w->time || last - m->from < 0.6 * w->makespan) return;
    add(m, "Faster submission",
        "Workers had nothing submitted to do for %.1f %% of their time, and the program submitted until %.3f "
        "of %.3f ms: "
        "a task each %.2f us. Submit ahead, without waiting between; larger tasks, or several threads that "
        "submit.",
        percent(w->cause[REPORT_NOTHING], w->time), (last - m->from) * 1e-6, w->makespan * 1e-6,
        (last - m->from) / (double)n * 1e-3);
}

static void outside(struct report_model *m, const struct whole *w)
{
    if (w->cause[REPORT_OUTSIDE] < 0.15 * w->time) return;
    uint64_t bytes = 0;
    for (size_t i = 0; i < m->run->nmessages; i++) bytes += m->run->messages[i].bytes;
    if (m->run->nmessages)
        add(m, "Less waiting for messages",
            "Workers waited %.1f %% of their time while nothing ran on their rank, and %zu messages with "
            "%.3f MB went "
            "between ranks; the critical path has %zu of them. Place data so that fewer go, or have more "
            "tasks for "
            "each rank.",
            percent(w->cause[REPORT_OUTSIDE], w->time), m->run->nmessages, (double)bytes * 1e-6,
            m->critical_messages);
    else
        add(m, "Waiting in the program",
            "For %.1f %% of the workers' time nothing ran while tasks waited: for data that the program had "
            "acquired, "
            "or for what it did itself.",
            percent(w->cause[REPORT_OUTSIDE], w->time));
}

static void ranks(struct report_model *m, const struct whole *w)
{
    size_t n = m->run->nfiles, most = 0;
    if (n < 2 || w->runs <= 0) return;
    double *runs = tool_alloc(n, sizeof *runs), *lanes = tool_alloc(n, sizeof *lanes);
    for (size_t i = 0; i < m->nlanes; i++) {
        runs[m->lanes[i].file] += m->lanes[i].ns[REPORT_RUNS];
        lanes[m->lanes[i].file]++;
    }
    for (size_t f = 0; f < n; f++) {
        if (lanes[f] > 0) runs[f] /= lanes[f];
        if (runs[f] > runs[most]) most = f;
    }
    double mean = w->runs / (double)m->nlanes;
    if (runs[most] > 1.25 * mean && runs[most] > 0.4 * w->makespan)
        add(m, "Balance between ranks",
            "Workers of rank %d ran bodies for %.3f ms each, those of all ranks for %.3f in the mean: %.2f "
            "times as "
            "much. Place data more evenly, or let ranks take over (dmda across ranks, ORRERY_MPI_LEND).",
            m->run->files[most].rank, runs[most] * 1e-6, mean * 1e-6, runs[most] / mean);
    free(runs), free(lanes);
}

static void links(struct report_model *m, const struct whole *w)
{
    const struct report_link *most = NULL;
    for (size_t i = 0; i < m->nlinks; i++)
        if (!most || m->links[i].busy_ns > most->busy_ns) most = &m->links[i];
    if (most && most->busy_ns > 0.6 * w->makespan && w->fetches > 0.1 * w->time)
        add(m, "Less data over one link",
            "From memory node %u to %u copies were under way for %.1f %% of the run (%.3f MB), and workers "
            "waited "
            "%.1f %% of their time for data. Keep data where they are used (dmda, dmdar), larger tasks, or "
            "fewer bytes.",
            most->from, most->to, percent(most->busy_ns, w->makespan), (double)most->bytes * 1e-6,
            percent(w->fetches, w->time));
    else if (most && w->fetches > 0.15 * w->time)
        add(m, "Data ahead of their tasks",
            "Workers waited %.1f %% of their time for data of tasks that they had taken. A policy that "
            "brings data "
            "ahead (dmda, dmdar, dmdas), or starpu_data_prefetch_on_node.",
            percent(w->fetches, w->time));
}

static void room(struct report_model *m)
{
    uint64_t again = 0;
    for (size_t i = 0; i < m->ncopies; i++)
        if (m->copies[i].cause == OTRACE_WRITTEN_BACK && !m->copies[i].status) again += m->copies[i].bytes;
    if (m->evictions < 10 || m->evictions * 10 < m->ncopies) return;
    add(m, "A smaller working set",
        "Memory was full: %zu copies were thrown out for others, of %zu that were brought, and %.3f MB "
        "written back. An "
        "order that uses data again sooner (dmdar), smaller pieces, or a higher limit.",
        m->evictions, m->ncopies, (double)again * 1e-6);
}

static void predictions(struct report_model *m)
{
    for (size_t i = 0; i < m->ncodelets; i++) {
        const struct report_codelet *c = &m->codelets[i];
        if (c->predicted < 20 || c->error_ns < 0.5 * c->measured_ns || c->total < 0.1 * m->area_ns) continue;
        add(m, "Calibrate a model",
            "%zu tasks of %.80s were predicted to take %.3f ms together, and took %.3f; each was off by %.0f "
            "%% "
            "of its time. "
            "STARPU_CALIBRATE=2 measures anew; sizes that behave differently want a footprint or parameters "
            "of their "
            "own.",
            c->predicted, c->name, c->predicted_ns * 1e-6, c->measured_ns * 1e-6,
            percent(c->error_ns, c->measured_ns));
        return;
    }
}

void report_advise(struct report_model *m)
{
    struct whole w = sum_up(m);
    loss(m);
    if (m->ntasks == 0 || m->nlanes == 0 || w.makespan <= 0) return;
    grains(m, &w);
    parallelism(m, &w);
    priorities(m, &w);
    elsewhere(m, &w);
    submission(m, &w);
    outside(m, &w);
    ranks(m, &w);
    links(m, &w);
    room(m);
    predictions(m);
}
