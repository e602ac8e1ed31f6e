/* SPDX-License-Identifier: BSD-3-Clause */
/* text.c: a run in a page of text.
 * Threads: main. Owns: nothing. Not here: what the figures are made of (model.c). */
#include <math.h>
#include <stdlib.h>

#include "tools/report/report.h"
#include "tools/report/utf8.h"

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

struct of_file {
    FILE *out;
    const struct report_file *file;
};

static void print_note(void *arg, const struct report_file *f, const char *note)
{
    const struct of_file *of = arg;
    if (f == of->file) fprintf(of->out, "  %s\n", note);
}

static void print_files(FILE *out, const struct report_run *run)
{
    for (size_t i = 0; i < run->nfiles; i++) {
        const struct report_file *f = &run->files[i];
        fprintf(out, "%s: %s, process %u on %s", f->path, f->program ? f->program : "?", f->pid,
                f->host ? f->host : "?");
        if (f->rank >= 0) fprintf(out, ", rank %d", f->rank);
        fprintf(out, ", policy %s\n", f->policy ? f->policy : "?");
        struct of_file of = { out, f };
        report_notes(run, print_note, &of);
    }
}

static void print_sums(FILE *out, const struct report_model *m)
{
    double makespan = m->to - m->from, area = m->nlanes ? m->area_ns / (double)m->nlanes : 0;
    double bound = m->critical_ns > area ? m->critical_ns : area, runs = 0;
    for (size_t i = 0; i < m->nlanes; i++) runs += m->lanes[i].ns[REPORT_RUNS];
    fprintf(out, "\n%-28s %12zu", "tasks", m->ntasks);
    if (m->internal) fprintf(out, "   %zu of them the runtime's own", m->internal);
    if (m->unended) fprintf(out, "   %zu had not ended", m->unended);
    if (m->failed) fprintf(out, "   %zu failed", m->failed);
    fprintf(out, "\n%-28s %12.3f ms\n", "makespan", makespan * 1e-6);
    fprintf(out, "%-28s %12.1f %%\n", "utilisation", percent(runs, makespan * (double)m->nlanes));
    fprintf(out, "%-28s %12.3f ms   %zu tasks", "critical path", m->critical_ns * 1e-6, m->critical_count);
    if (m->critical_messages) fprintf(out, ", %zu times from rank to rank", m->critical_messages);
    putc('\n', out);
    fprintf(out, "%-28s %12.3f ms   %.3f ms of bodies on %zu workers\n", "area", area * 1e-6,
            m->area_ns * 1e-6, m->nlanes);
    if (m->bound_ns > 0)
        fprintf(out, "%-28s %12.3f ms   by models, without dependencies\n", "starpu_bound",
                m->bound_ns * 1e-6);
    fprintf(out, "%-28s %12.3f ms   the run took %.2f times as long\n", "lower bound", bound * 1e-6,
            bound > 0 ? makespan / bound : 0);
}

static void print_workers(FILE *out, const struct report_model *m)
{
    double makespan = m->to - m->from;
    fprintf(out, "\n%-28s %9s %9s %9s %9s %9s %9s\n", "worker", "tasks", "running%", "fetching%", "idle%",
            "overhead%", "asleep%");
    for (size_t i = 0; i < m->nlanes; i++) {
        const struct report_lane *l = &m->lanes[i];
        char name[100];
        if (m->run->nfiles > 1)
            snprintf(name, sizeof name, "%d: %s", m->run->files[l->file].rank, l->worker->name);
        else
            snprintf(name, sizeof name, "%s", l->worker->name);
        utf8_put_column(out, name, 28);
        fprintf(out, " %9zu", l->tasks);
        for (int s = 0; s < REPORT_STATES; s++) fprintf(out, " %9.1f", percent(l->ns[s], makespan));
        fprintf(out, " %9.1f\n", percent(l->asleep_ns, makespan));
    }
}

static void print_idle(FILE *out, const struct report_model *m)
{
    static const char *const why[REPORT_CAUSES] = {
        [REPORT_NO_READY] = "what is left waits for tasks that run",
        [REPORT_READY_ELSEWHERE] = "tasks were ready, but not here",
        [REPORT_OUTSIDE] = "nothing ran: all wait for messages, data or the program",
        [REPORT_NOTHING] = "nothing else was submitted"
    };
    double cause_ns[REPORT_CAUSES] = { 0 }, all = 0;
    for (size_t i = 0; i < m->nlanes; i++) {
        all += m->lanes[i].ns[REPORT_IDLE];
        for (int c = 0; c < REPORT_CAUSES; c++) cause_ns[c] += m->lanes[i].cause_ns[c];
    }
    fprintf(out, "\n%-58s %12s %7s\n", "workers were idle because", "ms", "share%");
    for (int c = 0; c < REPORT_CAUSES; c++)
        fprintf(out, "%-58s %12.3f %7.1f\n", why[c], cause_ns[c] * 1e-6, percent(cause_ns[c], all));
}

static int by_total(const void *a, const void *b)
{
    const struct report_codelet *x = *(const struct report_codelet *const *)a,
                                *y = *(const struct report_codelet *const *)b;
    return x->total < y->total ? 1 : x->total > y->total ? -1 : 0;
}

static void print_codelets(FILE *out, const struct report_model *m)
{
    const struct report_codelet **sorted = tool_alloc(m->ncodelets, sizeof *sorted);
    size_t n = 0;
    for (size_t i = 0; i < m->ncodelets; i++)
        if (m->codelets[i].count) sorted[n++] = &m->codelets[i];
    qsort(sorted, n, sizeof *sorted, by_total);
    fprintf(out, "\n%-28s %9s %11s %7s %10s %10s %10s %10s %9s\n", "codelet", "tasks", "total ms", "share%",
            "mean us", "sd us", "min us", "max us", "critical%");
    for (size_t i = 0; i < n; i++) {
        const struct report_codelet *c = sorted[i];
        double count = (double)c->ended, mean = count > 0 ? c->total / count : 0;
        double variance = count > 0 ? c->square / count - mean * mean : 0;
        utf8_put_column(out, c->name, 28);
        fprintf(out, " %9zu %11.3f %7.1f %10.2f %10.2f %10.2f %10.2f %9.1f\n", c->count, c->total * 1e-6,
                percent(c->total, m->area_ns), mean * 1e-3, variance > 0 ? sqrt(variance) * 1e-3 : 0,
                count > 0 ? c->min * 1e-3 : 0, c->max * 1e-3, percent(c->critical, m->critical_ns));
    }
    free(sorted);
}

static void print_predictions(FILE *out, const struct report_model *m)
{
    bool any = false;
    for (size_t i = 0; i < m->ncodelets; i++) {
        const struct report_codelet *c = &m->codelets[i];
        if (!c->predicted) continue;
        double n = (double)c->predicted;
        if (!any)
            fprintf(out, "\n%-28s %9s %12s %12s %9s\n", "predicted", "tasks", "predicted us", "measured us",
                    "off by%");
        any = true;
        utf8_put_column(out, c->name, 28);
        fprintf(out, " %9zu %12.2f %12.2f %9.1f\n", c->predicted, c->predicted_ns / n * 1e-3,
                c->measured_ns / n * 1e-3, percent(c->error_ns, c->measured_ns));
    }
}

/* The peak of each memory node of which anything is known. */
static void print_memory(FILE *out, const struct report_model *m)
{
    enum { NODES = 64 };
    bool any = false;
    for (uint32_t f = 0; f < m->run->nfiles; f++)
        for (unsigned node = 0; node < NODES; node++) {
            uint64_t peak = 0, last = 0, limit = 0;
            size_t changes = 0;
            for (size_t i = 0; i < m->nmemory; i++) {
                const struct report_memory *u = &m->memory[i];
                if (u->file != f || u->node != node) continue;
                changes++;
                last = u->bytes;
                limit = u->limit;
                if (u->bytes > peak) peak = u->bytes;
            }
            if (!changes) continue;
            if (!any)
                fprintf(out, "\n%-28s %9s %12s %12s %12s\n", "memory that the runtime took", "changes",
                        "most MB", "at end MB", "limit MB");
            any = true;
            utf8_put_column(out, report_node_name(m, f, node), 28);
            fprintf(out, " %9zu %12.3f %12.3f ", changes, (double)peak * 1e-6, (double)last * 1e-6);
            limit ? fprintf(out, "%12.3f\n", (double)limit * 1e-6) : fprintf(out, "%12s\n", "none");
        }
}

static void print_iterations(FILE *out, const struct report_model *m)
{
    double least = INFINITY, most = 0, sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < m->niterations; i++) {
        const struct report_iteration *t = &m->iterations[i];
        if (isnan(t->to)) continue;
        double ns = t->to - t->from;
        n++;
        sum += ns;
        if (ns < least) least = ns;
        if (ns > most) most = ns;
    }
    if (n)
        fprintf(out, "\n%-28s %9zu   mean %.3f ms, least %.3f, most %.3f\n", "iterations", n,
                sum / (double)n * 1e-6, least * 1e-6, most * 1e-6);
    if (m->nmarks) fprintf(out, "%s%-28s %9zu\n", n ? "" : "\n", "marks of the program", m->nmarks);
}

static void print_advice(FILE *out, const struct report_model *m)
{
    if (m->nadvice) fprintf(out, "\nwhat to try\n");
    for (size_t i = 0; i < m->nadvice; i++) {
        fprintf(out, "* %s. ", m->advice[i].title);
        for (const char *s = m->advice[i].figures; *s; s++) putc(*s == '\n' || *s == '\t' ? ' ' : *s, out);
        putc('\n', out);
    }
}

static void print_causes(FILE *out, const struct report_model *m)
{
    static const char *const why[] = { [OTRACE_PREFETCHED] = "prefetched",
                                       [OTRACE_ASKED] = "the program waits",
                                       [OTRACE_LOADED] = "a task waits",
                                       [OTRACE_WRITTEN_BACK] = "to make room" };
    for (unsigned c = 1; c < sizeof why / sizeof why[0]; c++) {
        uint64_t count = 0, bytes = 0;
        for (size_t i = 0; i < m->ncopies; i++)
            if (m->copies[i].cause == c && !m->copies[i].status) count++, bytes += m->copies[i].bytes;
        if (count)
            fprintf(out, "%-28s %9llu %12.3f\n", why[c], (unsigned long long)count, (double)bytes * 1e-6);
    }
}

static void print_copies(FILE *out, const struct report_model *m)
{
    enum { NODES = 32 };
    static struct {
        uint64_t bytes, count;
        double ns;
    } link[NODES][NODES];
    if (!m->ncopies && !m->evictions) return;
    for (size_t i = 0; i < m->ncopies; i++) {
        const struct report_copy *c = &m->copies[i];
        if (c->from >= NODES || c->to >= NODES || c->status) continue;
        link[c->from][c->to].bytes += c->bytes;
        link[c->from][c->to].count++;
        if (!isnan(c->ended)) link[c->from][c->to].ns += c->ended - c->started;
    }
    fprintf(out, "\n%-28s %9s %12s %12s\n", "copies from node to node", "copies", "MB", "MB/s");
    for (int a = 0; a < NODES; a++)
        for (int b = 0; b < NODES; b++)
            if (link[a][b].count)
                fprintf(out, "%-3d to %-21d %9llu %12.3f %12.1f\n", a, b,
                        (unsigned long long)link[a][b].count, (double)link[a][b].bytes * 1e-6,
                        link[a][b].ns > 0 ? (double)link[a][b].bytes * 1e3 / link[a][b].ns : 0);
    print_causes(out, m);
    fprintf(out, "%-28s %9zu\n", "evictions", m->evictions);
}

static void print_messages(FILE *out, const struct report_run *run)
{
    if (!run->nmessages) return;
    fprintf(out, "\n%-28s %9s %12s %12s %12s\n", "messages from rank to rank", "messages", "MB", "least us",
            "mean us");
    for (uint32_t a = 0; a < run->nfiles; a++)
        for (uint32_t b = 0; b < run->nfiles; b++) {
            double least = INFINITY, sum = 0, bytes = 0;
            size_t count = 0;
            for (size_t i = 0; i < run->nmessages; i++) {
                const struct report_message *m = &run->messages[i];
                if (m->from != a || m->to != b) continue;
                double took = m->received - m->sent;
                count++;
                sum += took;
                bytes += (double)m->bytes;
                if (took < least) least = took;
            }
            if (count)
                fprintf(out, "%-3d to %-21d %9zu %12.3f %12.1f %12.1f\n", run->files[a].rank,
                        run->files[b].rank, count, bytes * 1e-6, least * 1e-3, sum / (double)count * 1e-3);
        }
}

bool report_text(FILE *out, const struct report_model *m)
{
    print_files(out, m->run);
    print_sums(out, m);
    print_workers(out, m);
    print_idle(out, m);
    print_codelets(out, m);
    print_predictions(out, m);
    print_copies(out, m);
    print_memory(out, m);
    print_messages(out, m->run);
    print_iterations(out, m);
    print_advice(out, m);
    return fflush(out) == 0 && !ferror(out);
}
