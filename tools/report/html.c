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
#include "tools/report/utf8.h"

enum {
    MOST_TASKS = 75000,
    MOST_IDLE = 60000,
    MOST_PARTS = 30000,
    MOST_MESSAGES = 20000,
    MOST_COPIES = 20000,
    SLICES = 2000
};
enum {
    MOST_WAITS = 16,
    MOST_WAITS_WORDS = 300000,
    MOST_WEIGHED_WORDS = 150000,
    MOST_MARKS = 2000,
    MOST_POINTS = 2000
};

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
    utf8_put_json(out, s);
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
    double *lengths = tool_alloc(m->ntasks, sizeof *lengths), shortest = -1;
    size_t n = 0;
    for (size_t i = 0; i < m->ntasks; i++)
        if (is_shown(&m->tasks[i])) lengths[n++] = length_of(&m->tasks[i], m);
    qsort(lengths, n, sizeof *lengths, falling);
    if (n > MOST_TASKS) shortest = lengths[MOST_TASKS];
    free(lengths);
    return shortest;
}

/* Eight numbers each: lane, start, length, codelet and flags, job, how long it waited to be ready, and then;
 * what was predicted. The place of each among those that are shown is kept in place, REPORT_NONE: it is not.
 */
static size_t put_tasks(FILE *out, const struct report_model *m, uint32_t *place)
{
    enum { EACH = 8, CRITICAL = 1u << 16, FAILED = 1u << 17, UNENDED = 1u << 18 };
    double shortest = shortest_shown(m);
    uint32_t *words = tool_alloc(m->ntasks * EACH, sizeof *words);
    size_t n = 0, critical = 0;
    for (size_t i = 0; i < m->ntasks; i++) {
        const struct report_task *t = &m->tasks[i];
        bool kept = t->critical && critical < MOST_TASKS;
        place[i] = REPORT_NONE;
        if (!is_shown(t) || !(kept || length_of(t, m) > shortest)) continue;
        critical += kept;
        place[i] = (uint32_t)n;
        uint32_t *w = &words[n++ * EACH];
        w[0] = (uint32_t)t->worker;
        w[1] = at(m, t->started);
        w[2] = long_as(m, length_of(t, m));
        w[3] = (t->name & 0xffff) | (t->critical ? CRITICAL : 0) | (t->failed ? FAILED : 0) |
               (isnan(t->ended) ? UNENDED : 0);
        w[4] = (uint32_t)t->job;
        w[5] = long_as(m, t->ready - t->submitted);
        w[6] = long_as(m, t->started - t->ready);
        w[7] = isnan(t->predicted_ns) ? UINT32_MAX : long_as(m, t->predicted_ns);
    }
    put_base64(out, words, n * EACH);
    fprintf(out, ",\n\"shown\":%zu", n);
    free(words);
    return n;
}

static int longest_part_first(const void *a, const void *b)
{
    const struct report_part *x = a, *y = b;
    double p = x->to - x->from, q = y->to - y->from;
    return p < q ? 1 : p > q ? -1 : 0;
}

/* What others than its leader did of a parallel task. Five numbers each: lane, start, length, codelet, place
 * of the task or REPORT_NONE. */
static void put_parts(FILE *out, const struct report_model *m, const uint32_t *place)
{
    enum { EACH = 5 };
    size_t n = m->nparts < MOST_PARTS ? m->nparts : MOST_PARTS;
    struct report_part *sorted = tool_alloc(m->nparts, sizeof *sorted);
    uint32_t *words = tool_alloc(n * EACH, sizeof *words);
    if (m->nparts) memcpy(sorted, m->parts, m->nparts * sizeof *sorted);
    qsort(sorted, m->nparts, sizeof *sorted, longest_part_first);
    for (size_t i = 0; i < n; i++) {
        const struct report_part *p = &sorted[i];
        uint32_t *w = &words[i * EACH];
        w[0] = p->lane;
        w[1] = at(m, p->from);
        w[2] = long_as(m, p->to - p->from);
        w[3] = p->name & 0xffff;
        w[4] = p->task == REPORT_NONE ? REPORT_NONE : place[p->task];
    }
    put_base64(out, words, n * EACH);
    free(sorted), free(words);
}

/* For each task that is shown: how many of those that it waits for are, and their places; few of many. */
static void put_waits(FILE *out, const struct report_model *m, const uint32_t *place, size_t shown)
{
    struct report_walk walk = { .count = 0 };
    uint32_t *words = tool_alloc(shown + MOST_WAITS_WORDS + MOST_WAITS, sizeof *words);
    size_t n = 0, deps = 0;
    for (size_t i = 0; i < m->ntasks; i++) {
        if (place[i] == REPORT_NONE) continue;
        size_t head = n++;
        if (deps < MOST_WAITS_WORDS) report_before(&walk, m, (uint32_t)i, MOST_WAITS);
        for (size_t d = 0; d < walk.count && deps < MOST_WAITS_WORDS; d++) {
            if (place[walk.found[d]] == REPORT_NONE) continue;
            words[n++] = place[walk.found[d]];
            deps++;
        }
        words[head] = (uint32_t)(n - head - 1);
    }
    put_base64(out, words, n);
    report_walk_end(&walk);
    free(words);
}

static const uint32_t TOGETHER = UINT32_C(1) << 31;

static uint32_t lane_at(const struct report_model *m, uint32_t file, unsigned worker)
{
    for (size_t i = 0; i < m->nlanes; i++)
        if (m->lanes[i].file == file && m->lanes[i].worker->id == worker) return (uint32_t)i;
    return REPORT_NONE;
}

/* A lane, or a number that no worker has, and so one of several together: as that, with a bit of its own. */
static uint32_t unit_at(const struct report_model *m, uint32_t file, unsigned worker)
{
    uint32_t lane = lane_at(m, file, worker);
    return lane == REPORT_NONE && worker != OTRACE_NOBODY ? TOGETHER | worker : lane;
}

/* What policies compared: the task's place, the lane that was chosen, how many; of each lane, cost, length
 * and time for its data. */
static void put_weighed(FILE *out, const struct report_model *m, const uint32_t *place)
{
    enum { MOST_EACH = 3 + 4 * OTRACE_RECORD_WORDS };
    uint32_t *words = tool_alloc(MOST_WEIGHED_WORDS + MOST_EACH, sizeof *words);
    size_t n = 0;
    for (size_t i = 0; i < m->ntasks && n < MOST_WEIGHED_WORDS; i++) {
        const struct report_task *t = &m->tasks[i];
        if (!t->weighed || place[i] == REPORT_NONE) continue;
        size_t head = n;
        words[n++] = place[i];
        words[n++] = unit_at(m, t->file, otrace_high(t->weighed[1]));
        words[n++] = 0;
        for (unsigned k = 2; k + 1 < otrace_words(*t->weighed); k += 2) {
            uint32_t unit = unit_at(m, t->file, otrace_high(t->weighed[k]));
            if (unit == REPORT_NONE) continue;
            words[n++] = unit;
            words[n++] = long_as(m, (double)otrace_low(t->weighed[k]));
            words[n++] = long_as(m, (double)(uint32_t)t->weighed[k + 1]);
            words[n++] = long_as(m, (double)(t->weighed[k + 1] >> 32));
            words[head + 2]++;
        }
    }
    put_base64(out, words, n);
    free(words);
}

struct lane_slices {
    double width, *busy, *most; /* ns: of a slice; by lane and slice, at work; of it, with one codelet */
    uint32_t *words;
};

/* A worker was at work with a codelet, in ns since the start of the run. */
static void add_work(struct lane_slices *k, uint32_t lane, uint32_t name, double from, double to)
{
    for (size_t s = from > 0 ? (size_t)(from / k->width) : 0; s < SLICES && (double)s * k->width < to; s++) {
        double a = (double)s * k->width, b = a + k->width;
        double part = (to < b ? to : b) - (from > a ? from : a);
        size_t cell = (size_t)lane * SLICES + s;
        k->busy[cell] += part;
        if (part <= k->most[cell]) continue;
        k->most[cell] = part;
        k->words[cell] = (name & 0xffff) << 16;
    }
}

/* For each lane and slice: thousandths at work, and the codelet that took most of it, the upper 16 bits. */
static void put_slices(FILE *out, const struct report_model *m)
{
    size_t cells = m->nlanes * SLICES;
    struct lane_slices k = { (m->to - m->from) / SLICES, tool_alloc(cells, sizeof *k.busy),
                             tool_alloc(cells, sizeof *k.most), tool_alloc(cells, sizeof *k.words) };
    for (size_t i = 0; k.width > 0 && i < m->ntasks; i++) {
        const struct report_task *t = &m->tasks[i];
        if (!is_shown(t)) continue;
        double from = t->started - m->from;
        add_work(&k, (uint32_t)t->worker, t->name, from, from + length_of(t, m));
    }
    for (size_t i = 0; k.width > 0 && i < m->nparts; i++)
        add_work(&k, m->parts[i].lane, m->parts[i].name, m->parts[i].from - m->from,
                 m->parts[i].to - m->from);
    for (size_t i = 0; k.width > 0 && i < cells; i++) {
        double share = 1000 * k.busy[i] / k.width;
        k.words[i] |= (uint32_t)(share < 1000 ? share : 1000);
    }
    put_base64(out, k.words, cells);
    free(k.busy), free(k.most), free(k.words);
}

/* For each slice: thousandths of all workers' time that bodies ran, and that they were idle by cause. */
static void spread(const struct report_model *m, double *part, unsigned which, double from, double to)
{
    double width = (m->to - m->from) / SLICES;
    from -= m->from, to -= m->from;
    for (size_t s = from > 0 ? (size_t)(from / width) : 0; s < SLICES && (double)s * width < to; s++) {
        double a = (double)s * width, b = a + width;
        part[s * (1 + REPORT_CAUSES) + which] += (to < b ? to : b) - (from > a ? from : a);
    }
}

static void put_usage(FILE *out, const struct report_model *m)
{
    enum { EACH = 1 + REPORT_CAUSES };
    double *part = tool_alloc(SLICES * EACH, sizeof *part);
    double whole = (m->to - m->from) / SLICES * (double)m->nlanes;
    uint32_t *words = tool_alloc(SLICES * EACH, sizeof *words);
    for (size_t i = 0; whole > 0 && i < m->ntasks; i++)
        if (is_shown(&m->tasks[i]))
            spread(m, part, 0, m->tasks[i].started, m->tasks[i].started + length_of(&m->tasks[i], m));
    for (size_t i = 0; whole > 0 && i < m->nparts; i++) spread(m, part, 0, m->parts[i].from, m->parts[i].to);
    for (size_t i = 0; whole > 0 && i < m->nidle; i++)
        spread(m, part, 1 + m->idle[i].cause, m->idle[i].from, m->idle[i].to);
    for (size_t i = 0; whole > 0 && i < SLICES * EACH; i++) {
        double share = 1000 * part[i] / whole + 0.5;
        words[i] = (uint32_t)(share < 1000 ? share : 1000);
    }
    put_base64(out, words, SLICES * EACH);
    free(part), free(words);
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
    uint32_t *words = tool_alloc(n * 4, sizeof *words);
    struct report_span *sorted = tool_alloc(m->nidle, sizeof *sorted);
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
    uint32_t *words = tool_alloc(n * 5, sizeof *words);
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

/* ---- copies: by links, which are those that had any ---- */

static bool is_on(const struct report_copy *c, const struct report_link *l)
{
    return c->file == l->file && c->from == l->from && c->to == l->to;
}

static int longest_copy_first(const void *a, const void *b)
{
    const struct report_copy *x = *(const struct report_copy *const *)a,
                             *y = *(const struct report_copy *const *)b;
    double p = isnan(x->ended) ? INFINITY : x->ended - x->started,
           q = isnan(y->ended) ? INFINITY : y->ended - y->started;
    return p < q ? 1 : p > q ? -1 : 0;
}

/* Six numbers each: link, start, length, bytes, cause, that it failed. */
static void put_copies(FILE *out, const struct report_model *m)
{
    enum { EACH = 6 };
    size_t n = m->ncopies < MOST_COPIES ? m->ncopies : MOST_COPIES;
    const struct report_copy **sorted = tool_alloc(m->ncopies, sizeof *sorted);
    uint32_t *words = tool_alloc(n * EACH, sizeof *words);
    for (size_t i = 0; i < m->ncopies; i++) sorted[i] = &m->copies[i];
    if (m->ncopies) qsort(sorted, m->ncopies, sizeof *sorted, longest_copy_first);
    for (size_t i = 0; i < n; i++) {
        const struct report_copy *c = sorted[i];
        uint32_t link = 0;
        while (link + 1 < m->nlinks && !is_on(c, &m->links[link])) link++;
        uint32_t *w = &words[i * EACH];
        w[0] = link;
        w[1] = at(m, c->started);
        w[2] = long_as(m, (isnan(c->ended) ? m->to : c->ended) - c->started);
        w[3] = c->bytes < UINT32_MAX ? (uint32_t)c->bytes : UINT32_MAX;
        w[4] = c->cause;
        w[5] = c->status != 0;
    }
    put_base64(out, words, n * EACH);
    free(sorted), free(words);
}

static void put_links(FILE *out, const struct report_model *m)
{
    for (size_t i = 0; i < m->nlinks; i++) {
        const struct report_link *l = &m->links[i];
        char name[256];
        int n = snprintf(name, sizeof name, "%s", report_node_name(m, l->file, l->from));
        if (n < (int)sizeof name)
            snprintf(name + n, sizeof name - (size_t)n, " > %s",
                     l->to < m->run->files[l->file].nnodes && m->run->files[l->file].nodes[l->to]
                         ? m->run->files[l->file].nodes[l->to]
                         : "?");
        fprintf(out, "%s{\"name\":", i ? "," : "");
        put_text(out, name);
        fprintf(out, ",\"file\":%u,\"copies\":%zu,\"bytes\":%llu,\"ns\":%.0f,\"busy\":%.0f}", l->file,
                l->copies, (unsigned long long)l->bytes, l->ns, l->busy_ns);
    }
}

/* ---- memory: the most in use in each slice of time ---- */

static void put_points(FILE *out, const struct report_model *m, uint32_t file, unsigned node, double unit)
{
    uint32_t *words = tool_alloc(2 * (MOST_POINTS + 1), sizeof *words);
    size_t n = 0, slice = SIZE_MAX;
    for (size_t i = 0; i < m->nmemory; i++) {
        const struct report_memory *u = &m->memory[i];
        if (u->file != file || u->node != node) continue;
        double share = m->to > m->from ? (u->ns - m->from) / (m->to - m->from) : 0;
        size_t s = share > 0 ? (size_t)(share * MOST_POINTS) : 0;
        uint32_t bytes = (uint32_t)((double)u->bytes / unit);
        if (s > MOST_POINTS - 1) s = MOST_POINTS - 1;
        if (s != slice) {
            slice = s;
            words[2 * n] = at(m, u->ns);
            words[2 * n++ + 1] = bytes;
        } else if (bytes > words[2 * n - 1]) {
            words[2 * n - 1] = bytes;
        }
    }
    put_base64(out, words, 2 * n);
    free(words);
}

static void put_memory(FILE *out, const struct report_model *m)
{
    enum { NODES = 64, MOST_SHOWN = 32 };
    unsigned shown = 0;
    for (uint32_t f = 0; f < m->run->nfiles; f++)
        for (unsigned node = 0; node < NODES && shown < MOST_SHOWN; node++) {
            uint64_t peak = 0, limit = 0;
            for (size_t i = 0; i < m->nmemory; i++) {
                const struct report_memory *u = &m->memory[i];
                if (u->file != f || u->node != node) continue;
                if (u->bytes > peak) peak = u->bytes;
                limit = u->limit;
            }
            if (!peak) continue;
            double unit = (double)peak > 4e9 ? (double)peak / 4e9 : 1;
            fprintf(out, "%s{\"name\":", shown++ ? "," : "");
            put_text(out, report_node_name(m, f, node));
            fprintf(out, ",\"peak\":%llu,\"limit\":%llu,\"unit\":%.9g,\"points\":", (unsigned long long)peak,
                    (unsigned long long)limit, unit);
            put_points(out, m, f, node, unit);
            putc('}', out);
        }
}

/* ---- what the program said ---- */

static void put_marks(FILE *out, const struct report_model *m)
{
    for (size_t i = 0; i < m->nmarks && i < MOST_MARKS; i++) {
        char number[32];
        snprintf(number, sizeof number, "%llu", (unsigned long long)m->marks[i].number);
        fprintf(out, "%s[%u,", i ? "," : "", at(m, m->marks[i].ns));
        put_text(out, m->marks[i].text ? m->marks[i].text : number);
        putc(']', out);
    }
}

static void put_iterations(FILE *out, const struct report_model *m)
{
    for (size_t i = 0; i < m->niterations && i < MOST_MARKS; i++) {
        const struct report_iteration *t = &m->iterations[i];
        fprintf(out, "%s[%u,%u,%llu,%u]", i ? "," : "", at(m, t->from), at(m, isnan(t->to) ? m->to : t->to),
                (unsigned long long)t->number, t->depth);
    }
}

/* ---- figures ---- */

static void put_traffic(FILE *out, const struct report_run *run)
{
    size_t n = run->nfiles;
    struct {
        uint64_t bytes, count;
    } *sum = tool_alloc(n * n, sizeof *sum);
    for (size_t i = 0; i < run->nmessages; i++) {
        size_t pair = run->messages[i].from * n + run->messages[i].to;
        sum[pair].bytes += run->messages[i].bytes;
        sum[pair].count++;
    }
    const char *comma = "";
    for (size_t i = 0; i < n * n; i++) {
        if (!sum[i].count) continue;
        fprintf(out, "%s[%zu,%zu,%llu,%llu]", comma, i / n, i % n, (unsigned long long)sum[i].count,
                (unsigned long long)sum[i].bytes);
        comma = ",";
    }
    free(sum);
}

static void put_advice(FILE *out, const struct report_model *m)
{
    for (size_t i = 0; i < m->nadvice; i++) {
        fprintf(out, "%s{\"title\":", i ? "," : "");
        put_text(out, m->advice[i].title);
        fputs(",\"figures\":", out);
        put_text(out, m->advice[i].figures);
        putc('}', out);
    }
}

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
        fprintf(out, ",\"rank\":%d}", f->rank);
    }
}

static void put_lanes(FILE *out, const struct report_model *m)
{
    for (size_t i = 0; i < m->nlanes; i++) {
        const struct report_lane *l = &m->lanes[i];
        fprintf(out, "%s{\"file\":%u,\"name\":", i ? "," : "", l->file);
        put_text(out, l->worker->name);
        fprintf(
            out,
            ",\"tasks\":%zu,\"ns\":[%.0f,%.0f,%.0f,%.0f],\"causes\":[%.0f,%.0f,%.0f,%.0f],\"asleep\":%.0f}",
            l->tasks, l->ns[0], l->ns[1], l->ns[2], l->ns[3], l->cause_ns[0], l->cause_ns[1], l->cause_ns[2],
            l->cause_ns[3], l->asleep_ns);
    }
}

static void put_codelets(FILE *out, const struct report_model *m)
{
    for (size_t i = 0; i < m->ncodelets; i++) {
        const struct report_codelet *c = &m->codelets[i];
        fprintf(out, "%s{\"name\":", i ? "," : "");
        put_text(out, c->name);
        fprintf(
            out,
            ",\"count\":%zu,\"ended\":%zu,\"total\":%.0f,\"square\":%.0f,\"min\":%.0f,\"max\":%.0f,"
            "\"critical\":%.0f,\"predicted\":%zu,\"predictedNs\":%.0f,\"measuredNs\":%.0f,\"errorNs\":%.0f,"
            "\"bars\":[",
            c->count, c->ended, c->total, c->square, c->ended ? c->min : 0, c->max, c->critical, c->predicted,
            c->predicted_ns, c->measured_ns, c->error_ns);
        for (int b = 0; b < REPORT_BARS; b++) fprintf(out, "%s%u", b ? "," : "", c->histogram[b]);
        fputs("]}", out);
    }
}

struct noting {
    FILE *out;
    const char *comma;
};

static void put_note(void *arg, const struct report_file *f, const char *note)
{
    struct noting *n = arg;
    fprintf(n->out, "%s[", n->comma);
    put_text(n->out, f->path);
    putc(',', n->out);
    put_text(n->out, note);
    putc(']', n->out);
    n->comma = ",";
}

static void put_notes(FILE *out, const struct report_model *m)
{
    struct noting n = { out, "" };
    report_notes(m->run, put_note, &n);
}

/* A part of the figures: its name, and what put writes between open and close. */
static void part(FILE *out, const struct report_model *m, const char *name, const char *open,
                 void (*put)(FILE *, const struct report_model *), const char *close)
{
    fprintf(out, ",\n\"%s\":%s", name, open);
    put(out, m);
    fputs(close, out);
}

static void put_files_of(FILE *out, const struct report_model *m)
{
    put_files(out, m->run);
}

static void put_traffic_of(FILE *out, const struct report_model *m)
{
    put_traffic(out, m->run);
}

static void put_data(FILE *out, const struct report_model *m)
{
    uint32_t *place = tool_alloc(m->ntasks, sizeof *place);
    fprintf(out, "{\"makespan\":%.0f,\"unit\":%.9g,\"tasks\":%zu,\"critical\":%.0f,\"criticalTasks\":%zu,",
            m->to - m->from, unit_of(m), m->ntasks, m->critical_ns, m->critical_count);
    fprintf(out, "\"criticalMessages\":%zu,\"area\":%.0f,\"bound\":%.0f,\"unended\":%zu,\"failed\":%zu,",
            m->critical_messages, m->area_ns, m->bound_ns, m->unended, m->failed);
    fprintf(out, "\"internal\":%zu,\"slices\":%d,\n\"work\":", m->internal, SLICES);
    size_t shown = put_tasks(out, m, place);
    fputs(",\n\"deps\":", out);
    put_waits(out, m, place, shown);
    fputs(",\n\"weighed\":", out);
    put_weighed(out, m, place);
    fprintf(out, ",\n\"allParts\":%zu,\"parts\":", m->nparts);
    put_parts(out, m, place);
    free(place);
    part(out, m, "files", "[", put_files_of, "]");
    part(out, m, "notes", "[", put_notes, "]");
    part(out, m, "lanes", "[", put_lanes, "]");
    part(out, m, "codelets", "[", put_codelets, "]");
    part(out, m, "links", "[", put_links, "]");
    part(out, m, "memory", "[", put_memory, "]");
    part(out, m, "marks", "[", put_marks, "]");
    part(out, m, "iterations", "[", put_iterations, "]");
    part(out, m, "traffic", "[", put_traffic_of, "]");
    part(out, m, "advice", "[", put_advice, "]");
    part(out, m, "busy", "", put_slices, "");
    part(out, m, "usage", "", put_usage, "");
    part(out, m, "idle", "", put_idle, "");
    part(out, m, "copies", "", put_copies, "");
    part(out, m, "messages", "", put_messages, "}");
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
