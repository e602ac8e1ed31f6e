/* SPDX-License-Identifier: BSD-3-Clause */
/* html.c: a run as one page that needs nothing else (page.html): its figures as JSON, its times as packed
 * numbers. Threads: main. Owns: nothing. Not here: what the page does with them (page.html).
 *
 * Times are 32-bit multiples of a unit, which is a nanosecond in runs of up to four seconds. Of more tasks
 * than the page can hold it gets the critical path and the longest ones, and for all together, of every
 * worker, how much of each of some thousand slices of the run it was at work, and mostly with what. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/report.h"

enum { MOST_TASKS = 75000, MOST_IDLE = 60000, MOST_MESSAGES = 20000, SLICES = 2000 };

/* page.html, as it is, between these two. */
__asm__(".section .rodata\n"
        ".global orr_report_page\n.global orr_report_page_end\n"
        "orr_report_page:\n.incbin \"" REPORT_PAGE "\"\n"
        "orr_report_page_end:\n.byte 0\n.previous\n");
extern const char orr_report_page[], orr_report_page_end[];

/* ---- packed numbers ---- */

static void put_base64(FILE *out, const uint32_t *words, size_t n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char group[3];
    size_t have = 0;
    putc('"', out);
    for (size_t i = 0; i < n * 4; i++) {
        group[have++] = (unsigned char)(words[i / 4] >> i % 4 * 8);
        if (have < 3 && i + 1 < n * 4) continue;
        for (size_t j = have; j < 3; j++) group[j] = 0;
        uint32_t bits = (uint32_t)group[0] << 16 | (uint32_t)group[1] << 8 | group[2];
        for (size_t j = 0; j < 4; j++) putc(j <= have ? digit[bits >> (18 - 6 * j) & 63] : '=', out);
        have = 0;
    }
    putc('"', out);
}

static void put_text(FILE *out, const char *s)
{
    putc('"', out);
    for (; s && *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c < 0x20 || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' || c >= 0x7f)
            fprintf(out, "\\u%04x", c);
        else
            putc(c, out);
    }
    putc('"', out);
}

static double unit_of(const struct report_model *m)
{
    double unit = (m->to - m->from) / 4e9;
    return unit > 1 ? unit : 1;
}

static uint32_t at(const struct report_model *m, double ns)
{
    double t = (ns - m->from) / unit_of(m);
    return isnan(t) || t < 0 ? 0 : t > 4294967294.0 ? 4294967294u : (uint32_t)t;
}

static uint32_t long_as(const struct report_model *m, double ns)
{
    return at(m, m->from + (ns > 0 ? ns : 0));
}

/* ---- tasks ---- */

static double length_of(const struct report_task *t, const struct report_model *m)
{
    double ns = (isnan(t->ended) ? m->to : t->ended) - t->started;
    return ns > 0 ? ns : 0; /* in a damaged recording */
}

static bool is_shown(const struct report_task *t)
{
    return t->worker >= 0 && !isnan(t->started);
}

static int falling(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* How long a task has to be to be shown by itself. */
static double shortest_shown(const struct report_model *m)
{
    double *lengths = report_alloc(m->ntasks, sizeof *lengths), shortest = -1;
    size_t n = 0;
    for (size_t i = 0; i < m->ntasks; i++)
        if (is_shown(&m->tasks[i])) lengths[n++] = length_of(&m->tasks[i], m);
    qsort(lengths, n, sizeof *lengths, falling);
    if (n > MOST_TASKS) shortest = lengths[MOST_TASKS];
    free(lengths);
    return shortest;
}

/* Seven numbers each: lane, start, length, codelet and flags, job, how long it waited to be ready, and then.
 */
static void put_tasks(FILE *out, const struct report_model *m)
{
    enum { EACH = 7, CRITICAL = 1u << 16, FAILED = 1u << 17, UNENDED = 1u << 18 };
    double shortest = shortest_shown(m);
    uint32_t *words = report_alloc(m->ntasks * EACH, sizeof *words);
    size_t n = 0, critical = 0;
    for (size_t i = 0; i < m->ntasks; i++) {
        const struct report_task *t = &m->tasks[i];
        bool kept = t->critical && critical < MOST_TASKS;
        if (!is_shown(t) || !(kept || length_of(t, m) > shortest)) continue;
        critical += kept;
        uint32_t *w = &words[n];
        w[0] = (uint32_t)t->worker;
        w[1] = at(m, t->started);
        w[2] = long_as(m, length_of(t, m));
        w[3] = (t->name & 0xffff) | (t->critical ? CRITICAL : 0) | (t->failed ? FAILED : 0) |
               (isnan(t->ended) ? UNENDED : 0);
        w[4] = (uint32_t)t->job;
        w[5] = long_as(m, t->ready - t->submitted);
        w[6] = long_as(m, t->started - t->ready);
        n += EACH;
    }
    put_base64(out, words, n);
    fprintf(out, ",\n\"shown\":%zu", n / EACH);
    free(words);
}

/* For each lane and slice: thousandths at work, and the codelet that took most of it, the upper 16 bits. */
static void put_slices(FILE *out, const struct report_model *m)
{
    size_t cells = m->nlanes * SLICES;
    double width = (m->to - m->from) / SLICES, *busy = report_alloc(cells, sizeof *busy);
    double *most = report_alloc(cells, sizeof *most);
    uint32_t *words = report_alloc(cells, sizeof *words);
    for (size_t i = 0; width > 0 && i < m->ntasks; i++) {
        const struct report_task *t = &m->tasks[i];
        if (!is_shown(t)) continue;
        double from = t->started - m->from, to = from + length_of(t, m);
        for (size_t s = from > 0 ? (size_t)(from / width) : 0; s < SLICES && (double)s * width < to; s++) {
            double a = (double)s * width, b = a + width;
            double part = (to < b ? to : b) - (from > a ? from : a);
            size_t cell = (size_t)t->worker * SLICES + s;
            busy[cell] += part;
            if (part <= most[cell]) continue;
            most[cell] = part;
            words[cell] = (t->name & 0xffff) << 16;
        }
    }
    for (size_t i = 0; width > 0 && i < cells; i++) {
        double share = 1000 * busy[i] / width;
        words[i] |= (uint32_t)(share < 1000 ? share : 1000);
    }
    put_base64(out, words, cells);
    free(busy), free(most), free(words);
}

/* ---- the rest of the timeline ---- */

static int longest_first(const void *a, const void *b)
{
    const struct report_span *x = a, *y = b;
    double p = x->to - x->from, q = y->to - y->from;
    return p < q ? 1 : p > q ? -1 : 0;
}

static void put_idle(FILE *out, const struct report_model *m)
{
    size_t n = m->nidle < MOST_IDLE ? m->nidle : MOST_IDLE;
    uint32_t *words = report_alloc(n * 4, sizeof *words);
    struct report_span *sorted = report_alloc(m->nidle, sizeof *sorted);
    if (m->nidle) memcpy(sorted, m->idle, m->nidle * sizeof *sorted);
    qsort(sorted, m->nidle, sizeof *sorted, longest_first);
    for (size_t i = 0; i < n; i++) {
        words[4 * i] = sorted[i].lane;
        words[4 * i + 1] = at(m, sorted[i].from);
        words[4 * i + 2] = long_as(m, sorted[i].to - sorted[i].from);
        words[4 * i + 3] = sorted[i].cause;
    }
    put_base64(out, words, n * 4);
    free(sorted), free(words);
}

static int by_bytes(const void *a, const void *b)
{
    uint64_t x = ((const struct report_message *)a)->bytes, y = ((const struct report_message *)b)->bytes;
    return x < y ? 1 : x > y ? -1 : 0;
}

static void put_messages(FILE *out, const struct report_model *m)
{
    const struct report_run *run = m->run;
    size_t n = run->nmessages < MOST_MESSAGES ? run->nmessages : MOST_MESSAGES;
    uint32_t *words = report_alloc(n * 5, sizeof *words);
    if (run->nmessages) qsort(run->messages, run->nmessages, sizeof *run->messages, by_bytes);
    for (size_t i = 0; i < n; i++) {
        const struct report_message *g = &run->messages[i];
        words[5 * i] = g->from;
        words[5 * i + 1] = g->to;
        words[5 * i + 2] = at(m, g->sent);
        words[5 * i + 3] = at(m, g->received);
        words[5 * i + 4] = g->bytes < UINT32_MAX ? (uint32_t)g->bytes : UINT32_MAX;
    }
    put_base64(out, words, n * 5);
    free(words);
}

/* ---- figures ---- */

static void put_files(FILE *out, const struct report_run *run)
{
    for (size_t i = 0; i < run->nfiles; i++) {
        const struct report_file *f = &run->files[i];
        fprintf(out, "%s{\"path\":", i ? "," : "");
        put_text(out, f->path);
        fputs(",\"program\":", out);
        put_text(out, f->program ? f->program : "?");
        fputs(",\"host\":", out);
        put_text(out, f->host ? f->host : "?");
        fputs(",\"policy\":", out);
        put_text(out, f->policy ? f->policy : "?");
        fprintf(out, ",\"rank\":%d,\"ended\":%s,\"lost\":%llu,\"damaged\":%llu}", f->rank,
                f->ended ? "true" : "false", (unsigned long long)f->lost, (unsigned long long)f->damaged);
    }
}

static void put_lanes(FILE *out, const struct report_model *m)
{
    for (size_t i = 0; i < m->nlanes; i++) {
        const struct report_lane *l = &m->lanes[i];
        fprintf(out, "%s{\"file\":%u,\"name\":", i ? "," : "", l->file);
        put_text(out, l->worker->name);
        fprintf(out, ",\"tasks\":%zu,\"ns\":[%.0f,%.0f,%.0f,%.0f],\"causes\":[%.0f,%.0f,%.0f,%.0f]}",
                l->tasks, l->ns[0], l->ns[1], l->ns[2], l->ns[3], l->cause_ns[0], l->cause_ns[1],
                l->cause_ns[2], l->cause_ns[3]);
    }
}

static void put_codelets(FILE *out, const struct report_model *m)
{
    for (size_t i = 0; i < m->ncodelets; i++) {
        const struct report_codelet *c = &m->codelets[i];
        fprintf(out, "%s{\"name\":", i ? "," : "");
        put_text(out, c->name);
        fprintf(out,
                ",\"count\":%zu,\"ended\":%zu,\"total\":%.0f,\"square\":%.0f,\"min\":%.0f,\"max\":%.0f,"
                "\"critical\":%.0f}",
                c->count, c->ended, c->total, c->square, c->ended ? c->min : 0, c->max, c->critical);
    }
}

static void put_data(FILE *out, const struct report_model *m)
{
    fprintf(out, "{\"makespan\":%.0f,\"unit\":%.9g,\"tasks\":%zu,\"critical\":%.0f,\"criticalTasks\":%zu,",
            m->to - m->from, unit_of(m), m->ntasks, m->critical_ns, m->critical_count);
    fprintf(out, "\"area\":%.0f,\"unended\":%zu,\"failed\":%zu,\"slices\":%d,\n\"files\":[", m->area_ns,
            m->unended, m->failed, SLICES);
    put_files(out, m->run);
    fputs("],\n\"lanes\":[", out);
    put_lanes(out, m);
    fputs("],\n\"codelets\":[", out);
    put_codelets(out, m);
    fputs("],\n\"work\":", out);
    put_tasks(out, m);
    fputs(",\n\"busy\":", out);
    put_slices(out, m);
    fputs(",\n\"idle\":", out);
    put_idle(out, m);
    fputs(",\n\"messages\":", out);
    put_messages(out, m);
    fputs("}", out);
}

bool report_html(FILE *out, const struct report_model *m)
{
    static const char mark[] = "@DATA@";
    size_t bytes = (size_t)(orr_report_page_end - orr_report_page);
    const char *place = memmem(orr_report_page, bytes, mark, sizeof mark - 1);
    if (!place) return false;
    fwrite(orr_report_page, 1, (size_t)(place - orr_report_page), out);
    put_data(out, m);
    place += sizeof mark - 1;
    fwrite(place, 1, (size_t)(orr_report_page_end - place), out);
    return fflush(out) == 0 && !ferror(out);
}
