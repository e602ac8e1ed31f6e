/* SPDX-License-Identifier: BSD-3-Clause */
/* clocks.c: finds the two ends of each message, and puts the times of all ranks on one clock.
 * Threads: main. Owns: nothing. Not here: reading files (read.c).
 *
 * The n-th message that a rank sent to another under a tag of a communicator is the n-th that the other
 * received from it under that tag. Ranks of one host have one clock. Between hosts the clocks of day are a
 * first guess; then what messages took tells: the fastest each way in the first half of the run, and in the
 * second, would have taken equally long on one clock, so their difference is twice the offset, and the change
 * of it the drift. Where messages went one way only, none may arrive before it was sent. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/report.h"

struct half {                 /* one end of a message */
    uint32_t from, to, order; /* ranks; where it was in its file */
    uint64_t tag, context, bytes;
    double ns;
    const uint64_t *words;
};

static int by_pair(const void *a, const void *b)
{
    const struct half *x = a, *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    if (x->to != y->to) return x->to < y->to ? -1 : 1;
    if (x->context != y->context) return x->context < y->context ? -1 : 1;
    if (x->tag != y->tag) return x->tag < y->tag ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static bool same_pair(const struct half *a, const struct half *b)
{
    return a->from == b->from && a->to == b->to && a->context == b->context && a->tag == b->tag;
}

static uint32_t file_of_rank(const struct report_run *run, uint64_t rank)
{
    for (size_t i = 0; i < run->nfiles; i++)
        if (run->files[i].rank >= 0 && (uint64_t)run->files[i].rank == rank) return (uint32_t)i;
    return UINT32_MAX;
}

static void collect(const struct report_run *run, unsigned kind, struct half **ends, size_t *n, size_t *room)
{
    for (uint32_t f = 0; f < run->nfiles; f++)
        for (size_t i = 0; i < run->files[f].nevents; i++) {
            const struct report_event *e = &run->files[f].events[i];
            if (e->kind != kind) continue;
            uint32_t other = file_of_rank(run, e->words[3]);
            if (other == UINT32_MAX) continue;
            *ends = report_grow(*ends, *n, room, sizeof **ends);
            (*ends)[(*n)++] = (struct half){ kind == OTRACE_SENT ? f : other,
                                             kind == OTRACE_SENT ? other : f,
                                             (uint32_t)i,
                                             e->words[4],
                                             otrace_words(*e->words) > 5 ? e->words[5] : 0,
                                             e->words[2],
                                             e->ns,
                                             e->words };
        }
    if (*n) qsort(*ends, *n, sizeof **ends, by_pair);
}

static void pair_messages(struct report_run *run)
{
    struct half *sent = NULL, *got = NULL;
    size_t nsent = 0, ngot = 0, sent_room = 0, got_room = 0;
    collect(run, OTRACE_SENT, &sent, &nsent, &sent_room);
    collect(run, OTRACE_RECEIVED, &got, &ngot, &got_room);
    for (size_t i = 0, j = 0; i < nsent && j < ngot;) {
        if (!same_pair(&sent[i], &got[j])) {
            struct half a = sent[i], b = got[j];
            a.order = b.order = 0;
            by_pair(&a, &b) < 0 ? i++ : j++;
            continue;
        }
        *REPORT_PUSH(run->messages, run->nmessages, run->messages_room) =
            (struct report_message){ sent[i].from, sent[i].to, sent[i].tag,   sent[i].bytes,
                                     sent[i].ns,   got[j].ns,  sent[i].words, got[j].words };
        i++, j++;
    }
    free(sent), free(got);
}

/* ---- one clock ---- */

/* The first file of its host. */
static uint32_t host_of(const struct report_run *run, uint32_t file)
{
    const char *host = run->files[file].host;
    for (uint32_t i = 0; host && i < file; i++)
        if (run->files[i].host && strcmp(run->files[i].host, host) == 0) return i;
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

void report_align(struct report_run *run)
{
    bool *right = report_alloc(run->nfiles, sizeof *right), moved = true;
    first_guess(run);
    pair_messages(run);
    right[0] = true;
    while (moved) {
        moved = false;
        for (uint32_t f = 1; f < run->nfiles; f++) {
            if (right[f] || host_of(run, f) != f || !align_host(run, f, right)) continue;
            right[f] = moved = true;
        }
    }
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
