/* SPDX-License-Identifier: BSD-3-Clause */
/* clocks.c: finds the two ends of each message, and puts the times of all ranks on one clock.
 * Threads: main. Owns: nothing. Not here: reading files (read.c).
 *
 * The n-th message that a rank sent to another under a tag of a communicator is the n-th that the other
 * received from it under that tag; of values that went along a tree, among those that came the same way.
 * Ranks of one host have one clock. Between hosts the clocks of day are a first guess; then what messages
 * took tells: the fastest each way in the first half of the run, and in the second, would have taken equally
 * long on one clock, so their difference is twice the offset, and the change of it the drift. Where messages
 * went one way only, none may arrive before it was sent.
 *
 * That a message was sent may be recorded late, so one that arrives before is no sign. But where in some
 * slice of the run all that went one way did, ranks of one host have clocks of their own after all
 * (containers may have); and where that is still so in the end, a clock jumped, which is told. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/table.h"

struct half {                 /* one end of a message */
    uint32_t from, to, order; /* files; where it was in its own */
    uint32_t of;              /* the file whose value it is, where that went along a tree; else from */
    uint64_t tag, context, bytes;
    double ns;
    const uint64_t *words;
};

static int by_pair(const void *a, const void *b)
{
    const struct half *x = a, *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    if (x->to != y->to) return x->to < y->to ? -1 : 1;
    if (x->of != y->of) return x->of < y->of ? -1 : 1;
    if (x->context != y->context) return x->context < y->context ? -1 : 1;
    if (x->tag != y->tag) return x->tag < y->tag ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static bool same_pair(const struct half *a, const struct half *b)
{
    return a->from == b->from && a->to == b->to && a->of == b->of && a->context == b->context &&
           a->tag == b->tag;
}

static uint32_t file_of_rank(const struct report_run *run, uint64_t rank)
{
    for (size_t i = 0; i < run->nfiles; i++)
        if (run->files[i].rank >= 0 && (uint64_t)run->files[i].rank == rank) return (uint32_t)i;
    return UINT32_MAX;
}

/* ---- the two ends of a message ---- */

struct ends {
    struct half *at;
    size_t count, room;
    struct report_table
        passed; /* by request: the file that its next end is of, or comes from; nfiles: none */
    struct report_table latest; /* by request: its latest end */
};

/* One that went along a tree: who has it from one between has it from there, but it is the first sender's. */
static void add_end(const struct report_run *run, struct ends *ends, uint32_t f, size_t i)
{
    const struct report_event *e = &run->files[f].events[i];
    const uint64_t *w = e->words;
    uint32_t other = file_of_rank(run, w[3]), between = report_table_get(&ends->passed, f, w[1]);
    bool sent = e->kind == OTRACE_SENT, passed = between < run->nfiles;
    if (passed) report_table_set(&ends->passed, f, w[1], (uint32_t)run->nfiles);
    if (other == UINT32_MAX) return;
    report_table_set(&ends->latest, f, w[1], (uint32_t)ends->count);
    struct half *h = TOOL_PUSH(ends->at, ends->count, ends->room);
    *h = (struct half){ .from = sent ? f : other,
                        .to = sent ? other : f,
                        .order = (uint32_t)i,
                        .tag = w[4],
                        .context = otrace_words(*w) > 5 ? w[5] : 0,
                        .bytes = w[2],
                        .ns = e->ns,
                        .words = w };
    h->of = sent && passed ? between : h->from;
    if (!sent && passed) h->from = between;
}

static void end_passed(const struct report_run *run, struct ends *ends, uint32_t f, const uint64_t *w,
                       unsigned kind)
{
    if (kind == OTRACE_SENT && w[2] == OTRACE_DECLINED) {
        uint32_t i = report_table_get(&ends->latest, f, w[1]);
        if (i != REPORT_NONE) ends->at[i].from = ends->at[i].to = UINT32_MAX; /* nobody's */
    } else if ((kind == OTRACE_SENT) == (w[3] != 0)) {
        uint32_t other = file_of_rank(run, w[2]);
        if (other != UINT32_MAX) report_table_set(&ends->passed, f, w[1], other);
    }
}

static struct ends collect(const struct report_run *run, unsigned kind)
{
    struct ends ends = { .count = 0 };
    for (uint32_t f = 0; f < run->nfiles; f++)
        for (size_t i = 0; i < run->files[f].nevents; i++) {
            const struct report_event *e = &run->files[f].events[i];
            if (e->kind == kind) add_end(run, &ends, f, i);
            if (e->kind == OTRACE_PASSED) end_passed(run, &ends, f, e->words, kind);
        }
    if (ends.count) qsort(ends.at, ends.count, sizeof *ends.at, by_pair);
    free(ends.passed.slots), free(ends.latest.slots);
    return ends;
}

static void pair_messages(struct report_run *run)
{
    struct ends all_sent = collect(run, OTRACE_SENT), all_got = collect(run, OTRACE_RECEIVED);
    const struct half *sent = all_sent.at, *got = all_got.at;
    for (size_t i = 0, j = 0; i < all_sent.count && j < all_got.count;) {
        if (!same_pair(&sent[i], &got[j])) {
            struct half a = sent[i], b = got[j];
            a.order = b.order = 0;
            by_pair(&a, &b) < 0 ? i++ : j++;
            continue;
        }
        *TOOL_PUSH(run->messages, run->nmessages, run->messages_room) =
            (struct report_message){ sent[i].from, sent[i].to, sent[i].tag,   sent[i].bytes,
                                     sent[i].ns,   got[j].ns,  sent[i].words, got[j].words };
        i++, j++;
    }
    free(all_sent.at), free(all_got.at);
}

/* ---- one clock ---- */

/* The first file of its host. */
static uint32_t host_of(const struct report_run *run, uint32_t file)
{
    const char *host = run->files[file].own_clock ? NULL : run->files[file].host;
    for (uint32_t i = 0; host && i < file; i++)
        if (run->files[i].host && !run->files[i].own_clock && strcmp(run->files[i].host, host) == 0) return i;
    return file;
}

static void first_guess(struct report_run *run)
{
    const struct otrace_file *zero = &run->files[0].head;
    for (uint32_t f = 0; f < run->nfiles; f++) {
        const struct report_file *host = &run->files[host_of(run, f)];
        double between = (double)(int64_t)(run->files[f].head.start_mono_ns - host->head.start_mono_ns);
        double to_zero =
            host == &run->files[0] ? 0 : (double)(int64_t)(host->head.start_real_ns - zero->start_real_ns);
        run->files[f].shift_ns = between + to_zero;
    }
}

static double shifted(const struct report_run *run, uint32_t file, double ns)
{
    const struct report_file *f = &run->files[file];
    return ns + f->shift_ns + f->drift * (ns + f->shift_ns - f->drift_from_ns);
}

struct fastest { /* messages to the host that is to be put right, and from it, in a half of the run */
    double to, from, to_at, from_at;
};

static void note_fastest(struct fastest *h, bool to, double sent, double received)
{
    double took = received - sent;
    if (to && took < h->to) {
        h->to = took;
        h->to_at = received;
    } else if (!to && took < h->from) {
        h->from = took;
        h->from_at = sent;
    }
}

/* How far the host is ahead, by the fastest both ways. */
static double ahead(const struct fastest *h)
{
    return (h->to - h->from) / 2;
}

static bool both_ways(const struct fastest *h)
{
    return isfinite(h->to) && isfinite(h->from);
}

static void put_right(struct report_run *run, uint32_t host, const struct fastest half[2],
                      const struct fastest *all)
{
    double by = 0, drift = 0, from = 0;
    if (both_ways(&half[0]) && both_ways(&half[1])) {
        double t0 = (half[0].to_at + half[0].from_at) / 2, t1 = (half[1].to_at + half[1].from_at) / 2;
        by = ahead(&half[0]);
        from = t0 - by;
        if (t1 > t0) drift = -(ahead(&half[1]) - by) / (t1 - t0);
    } else if (both_ways(all)) {
        by = ahead(all);
    } else if (all->to < 0) {
        by = all->to;
    } else if (all->from < 0) {
        by = -all->from;
    }
    for (uint32_t f = 0; f < run->nfiles; f++) {
        if (host_of(run, f) != host) continue;
        run->files[f].shift_ns -= by;
        run->files[f].drift = drift;
        run->files[f].drift_from_ns = from;
    }
}

/* Puts a host right by its messages with those that are; false: there are none. */
static bool align_host(struct report_run *run, uint32_t host, const bool *right)
{
    static const struct fastest none = { INFINITY, INFINITY, 0, 0 };
    struct fastest half[2] = { none, none }, all = none;
    double first = INFINITY, last = -INFINITY;
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < run->nmessages; i++) {
            const struct report_message *m = &run->messages[i];
            bool to = host_of(run, m->to) == host, from = host_of(run, m->from) == host;
            if (to == from || !right[host_of(run, to ? m->from : m->to)]) continue;
            double sent = shifted(run, m->from, m->sent), received = shifted(run, m->to, m->received);
            double at = to ? received : sent;
            if (round == 0) {
                first = at < first ? at : first;
                last = at > last ? at : last;
                note_fastest(&all, to, sent, received);
            } else {
                note_fastest(&half[at > (first + last) / 2], to, sent, received);
            }
        }
    if (!(first <= last)) return false;
    put_right(run, host, half, &all);
    return true;
}

enum { SLICES = 16, FEW = 3 };

/* By how much at least all messages of a slice that went one way to or from a file were received too early,
 * in the worst slice of several messages; 0: in none. hosts: only files of its own before it count. */
static double too_early(const struct report_run *run, uint32_t file, bool hosts)
{
    struct {
        size_t count;
        double most; /* that one took */
    } way[SLICES][2] = { { { 0, 0 } } };
    double first = INFINITY, last = -INFINITY, worst = 0;
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < run->nmessages; i++) {
            const struct report_message *m = &run->messages[i];
            bool to = m->to == file;
            uint32_t other = to ? m->from : m->to;
            if ((m->from == file) == to ||
                (hosts && (other > file || host_of(run, other) != host_of(run, file))))
                continue;
            double sent = shifted(run, m->from, m->sent), received = shifted(run, m->to, m->received);
            double at = to ? received : sent, took = received - sent;
            if (round == 0) {
                first = fmin(first, at);
                last = fmax(last, at);
                continue;
            }
            size_t s = last > first ? (size_t)((at - first) / (last - first) * (SLICES - 1)) : 0;
            if (!way[s][to].count++ || took > way[s][to].most) way[s][to].most = took;
        }
    for (int s = 0; s < SLICES; s++)
        for (int to = 0; to < 2; to++)
            if (way[s][to].count >= FEW) worst = fmax(worst, -way[s][to].most);
    return worst;
}

/* Ranks of a host that have another clock than the one before them there. */
static void find_own_clocks(struct report_run *run)
{
    static const double much_ns = 1e8;
    for (uint32_t f = 1; f < run->nfiles; f++)
        if (host_of(run, f) != f && too_early(run, f, true) > much_ns) run->files[f].own_clock = true;
}

static void judge(struct report_run *run)
{
    static const double much_ns = 1e7;
    for (uint32_t f = 0; f < run->nfiles; f++) {
        double ns = too_early(run, f, false);
        if (ns > much_ns) run->files[f].early_ns = ns;
    }
}

void report_align(struct report_run *run)
{
    bool *right = tool_alloc(run->nfiles, sizeof *right), moved = true;
    first_guess(run);
    pair_messages(run);
    find_own_clocks(run);
    first_guess(run);
    right[0] = true;
    while (moved) {
        moved = false;
        for (uint32_t f = 1; f < run->nfiles; f++) {
            if (right[f] || host_of(run, f) != f || !align_host(run, f, right)) continue;
            right[f] = moved = true;
        }
    }
    judge(run);
    for (size_t f = 0; f < run->nfiles; f++)
        for (size_t i = 0; i < run->files[f].nevents; i++)
            run->files[f].events[i].ns = shifted(run, (uint32_t)f, run->files[f].events[i].ns);
    for (size_t i = 0; i < run->nmessages; i++) {
        struct report_message *m = &run->messages[i];
        m->sent = shifted(run, m->from, m->sent);
        m->received = shifted(run, m->to, m->received);
    }
    free(right);
}
