/* SPDX-License-Identifier: BSD-3-Clause */
/* stuck.c: see stuck.h.
 * Threads: see stuck.h; reports arrive on whoever polls. Owns: see stuck.h. Not here: explaining tasks
 * (core/run/deadlock.c), the stream of insertions (stream.c).
 *
 * A rank that has not moved for a second and a half, with every thread blocked inside the runtime, reports to
 * rank 0 how many messages it has sent and received, each time after making sure that it still has not moved.
 * When all ranks have reported and the sums agree, no message is under way; rank 0 asks for a second wave of
 * reports. If nothing has changed in it, nothing was able to move in between, nor ever will: the double
 * counting of distributed termination (Mattern, 1987). */
#include "mpi/live/stuck.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/run/sentences.h"
#include "mpi/live/stream.h"

enum { ROUNDS_PER_LOOK = 50, ROUND_US = 4000, PATIENCE_MS = 1500 };

/* In the number of a report: unknown threads of this rank may act. */
static const uint32_t unsure_bit = UINT32_C(1) << 31;

/* "who\nfor whom", or "who\n" of somebody who waits for nobody. Called with the lock held. */
static void hear_edge(struct orr_stuck *s, const char *text, size_t bytes)
{
    char label[2 * ORR_WAITS_LABEL];
    snprintf(label, sizeof label, "%.*s", (int)bytes, text);
    char *other = strchr(label, '\n');
    if (!other) return;
    *other++ = 0;
    if (*other)
        orr_waits_for(&s->waits, label, other);
    else
        orr_waits_add(&s->waits, label);
}

/* A control message came: of those that coordinate looks at, or of those for drawing. */
static void heard(void *stuck, int source, const struct orr_wire_header *h, const void *text)
{
    struct orr_stuck *s = stuck;
    orr_spin_lock(&s->lock);
    if (h->type == ORR_CONTROL_REPORT && s->reports && source < s->cluster->size)
        s->reports[source] = (struct orr_stuck_report){ .sent = (uint64_t)h->tag,
                                                        .received = h->id,
                                                        .wave = h->bulk_tag & ~unsure_bit,
                                                        .unsure = h->bulk_tag & unsure_bit,
                                                        .here = true };
    else if (h->type == ORR_CONTROL_WAVE)
        s->wave = h->bulk_tag;
    else if (h->type == ORR_CONTROL_EDGE)
        hear_edge(s, text, h->bytes);
    else if (h->type == ORR_CONTROL_EDGES_OVER || h->type == ORR_CONTROL_DRAWN)
        s->drawn++;
    else if (h->type == ORR_CONTROL_DEADLOCK) {
        s->deadlocked = true;
        s->unsure = h->bulk_tag & unsure_bit;
        s->wave = h->bulk_tag & ~unsure_bit;
    }
    orr_spin_unlock(&s->lock);
}

static void tell_all(struct orr_stuck *s, enum orr_control what, uint32_t wave)
{
    for (int r = 0; r < s->cluster->size; r++) orr_control_send(s->controls, r, what, 0, 0, wave, NULL, 0);
}

/* Rank 0: whether all have reported in this wave, and no message is under way. */
static bool wave_is_complete(struct orr_stuck *s)
{
    uint64_t sent = 0, received = 0;
    for (int r = 0; r < s->cluster->size; r++) {
        const struct orr_stuck_report *p = &s->reports[r];
        if (!p->here || p->wave != s->wave) return false;
        sent += p->sent;
        received += p->received;
    }
    return sent == received;
}

/* Goes on to the next wave. True when this one says the same as the one before. *unsure_out: on some rank
 * unknown threads may act. */
static bool next_wave(struct orr_stuck *s, bool *unsure_out)
{
    bool same = true;
    *unsure_out = false;
    for (int r = 0; r < s->cluster->size; r++) {
        struct orr_stuck_report *now = &s->reports[r], *old = &s->before[r];
        if (!old->here || old->wave != now->wave - 1 || old->sent != now->sent ||
            old->received != now->received)
            same = false;
        *unsure_out |= now->unsure;
        *old = *now;
        now->here = false;
    }
    return same;
}

/* Rank 0, after something may have arrived. */
static void coordinate(struct orr_stuck *s)
{
    orr_spin_lock(&s->lock);
    bool complete = wave_is_complete(s);
    bool unsure = false, same = complete && next_wave(s, &unsure);
    uint32_t wave = complete ? ++s->wave : s->wave;
    orr_spin_unlock(&s->lock);
    if (!complete) return;
    tell_all(s, same ? ORR_CONTROL_DEADLOCK : ORR_CONTROL_WAVE, same && unsure ? wave | unsure_bit : wave);
}

/* What rank 0 has found, once. */
static enum orr_verdict read_verdict(struct orr_stuck *s, uint32_t *wave_out)
{
    orr_spin_lock(&s->lock);
    *wave_out = s->wave;
    enum orr_verdict v = !s->deadlocked ? ORR_MAY_MOVE : s->unsure ? ORR_STUCK_PERHAPS : ORR_STUCK;
    if (v == ORR_STUCK_PERHAPS) s->deadlocked = false; /* it may turn out otherwise */
    orr_spin_unlock(&s->lock);
    return v;
}

/* ---- who waits for whom ---- */

/* Until drawn has that value, or a rank seems not to answer. */
static void wait_for_drawn(struct orr_stuck *s, int wanted)
{
    bool come = false;
    for (int i = 0; i < PATIENCE_MS && !come; i++) {
        orr_progress_pass(&s->cluster->progress);
        orr_spin_lock(&s->lock);
        come = s->drawn >= wanted;
        orr_spin_unlock(&s->lock);
        if (!come) usleep(1000);
    }
}

static void send_line(struct orr_stuck *s, const char *label, const char *other)
{
    char text[2 * ORR_WAITS_LABEL];
    int length = snprintf(text, sizeof text, "%s\n%s", label, other);
    for (int i = 0; i < PATIENCE_MS; i++) {
        if (orr_control_send(s->controls, 0, ORR_CONTROL_EDGE, 0, 0, 0, text, (size_t)length)) return;
        orr_progress_pass(&s->cluster->progress);
        usleep(1000);
    }
}

static void send_own(struct orr_stuck *s, const struct orr_waits *own)
{
    for (unsigned i = 0; i < own->nodes; i++)
        if (own->node[i].is_there) send_line(s, own->node[i].label, "");
    for (unsigned i = 0; i < own->edges; i++)
        send_line(s, own->node[own->edge[i][0]].label, own->node[own->edge[i][1]].label);
    orr_control_send(s->controls, 0, ORR_CONTROL_EDGES_OVER, 0, 0, 0, NULL, 0);
}

/* What was not begun is so because the program of its rank waits: "rank N: ..." for "rank N: the program". */
static void blame_programs(struct orr_waits *w)
{
    for (unsigned i = 0, n = w->nodes; i < n; i++) {
        int rank;
        char label[ORR_WAITS_LABEL], program[64];
        if (w->node[i].is_there || sscanf(w->node[i].label, "rank %d:", &rank) != 1) continue;
        snprintf(label, sizeof label, "%s", w->node[i].label);
        snprintf(program, sizeof program, "rank %d: the program", rank);
        orr_waits_lacks(w, label, program);
    }
}

/* Rank 0 has heard all: the circle, and the file. */
static void draw_all(struct orr_waits *w)
{
    char text[1600];
    const char *file = orr_env_string(ORR_SETTING(ORRERY_DEADLOCK_DOT));
    blame_programs(w);
    bool circle = orr_waits_circle(w, text, sizeof text);
    if (*text) orr_error("  %s: %s", circle ? "they wait in a circle" : "in the end they wait so", text);
    if (file) orr_waits_save(w, file);
}

static void draw(struct orr_stuck *s)
{
    struct orr_cluster *cl = s->cluster;
    struct orr_waits own = { 0 };
    char prefix[32];
    snprintf(prefix, sizeof prefix, "rank %d: ", cl->rank);
    orr_deadlock_graph(&own, prefix);
    s->story->graph(cl, &own);
    send_own(s, &own);
    orr_waits_fini(&own);
    wait_for_drawn(s, cl->rank ? 1 : cl->size);
    if (cl->rank) return;
    orr_spin_lock(&s->lock); /* what comes later is left out */
    struct orr_waits all = s->waits;
    s->waits = (struct orr_waits){ 0 };
    orr_spin_unlock(&s->lock);
    draw_all(&all);
    orr_waits_fini(&all);
    for (int r = 1; r < cl->size; r++) orr_control_send(s->controls, r, ORR_CONTROL_DRAWN, 0, 0, 0, NULL, 0);
}

static void show(struct orr_stuck *s, enum orr_verdict v)
{
    if (v == ORR_STUCK) {
        orr_guard_silence(s->guard);
        orr_error(
            "deadlock across ranks: on every rank all threads wait and all workers are idle, no message is "
            "under way, and nothing moved for 1.5 s");
    } else {
        orr_warn(
            "deadlock across ranks? On every rank all threads that the runtime knows wait and all workers "
            "are idle, no message is under way; but some ranks have threads that may still act, and say so");
    }
    struct orr_unmatched messages = { 0 };
    orr_engine_visit_unmatched(&s->cluster->engine, s->story->unmatched, &messages);
    s->story->waiting(s->cluster, v == ORR_STUCK);
    size_t early = orr_engine_visit_early(&s->cluster->engine, s->story->early, &messages);
    if (messages.more) orr_error("  ... and %u more messages that wait for their other ends", messages.more);
    if (early == 0 && orr_progress_left(&s->cluster->progress) == 0)
        orr_error("  this rank waits for nothing but the others");
    if (v == ORR_STUCK) draw(s);
    if (v == ORR_STUCK) orr_stream_explain(s->cluster->comm);
}

/* Whether nothing has moved here since this rank's last report. */
static bool as_reported(const struct orr_stuck *s, const struct orr_engine_counts *c)
{
    return c->sent_messages == s->reported.sent_messages &&
           c->received_messages == s->reported.received_messages;
}

/* Takes part in agreeing. sure: no unknown thread of this rank may act. */
static enum orr_verdict agree(struct orr_stuck *s, bool sure)
{
    uint32_t wave, reported = UINT32_MAX;
    for (int i = 0; i < ROUNDS_PER_LOOK; i++) {
        orr_progress_pass(&s->cluster->progress);
        if (s->cluster->rank == 0) coordinate(s);
        enum orr_verdict v = read_verdict(s, &wave);
        struct orr_engine_counts c = orr_engine_get_counts(&s->cluster->engine);
        if (v == ORR_STUCK || (v == ORR_STUCK_PERHAPS && as_reported(s, &c))) return v;
        if (c.bulk_receives > 0 || orr_load_relaxed(&s->cluster->engine.unsent)) break;
        if (orr_progress_may_call(&s->cluster->progress)) break;
        if (!orr_deadlock_still()) break; /* after counting: it holds for what is reported */
        if (wave != reported &&
            orr_control_send(s->controls, 0, ORR_CONTROL_REPORT, (int64_t)c.sent_messages,
                             c.received_messages, sure ? wave : wave | unsure_bit, NULL, 0)) {
            reported = wave;
            s->reported = c;
        }
        usleep(ROUND_US);
    }
    return ORR_MAY_MOVE;
}

/* What runs on the watching thread gets the table; it is not changed. */
static struct orr_stuck *of_outside(const struct orr_deadlock_outside *self)
{
    return (struct orr_stuck *)self;
}

static enum orr_verdict verdict(const struct orr_deadlock_outside *self, bool sure)
{
    struct orr_stuck *s = of_outside(self);
    enum orr_verdict v = ORR_MAY_MOVE;
    pthread_mutex_lock(&s->running);
    if (s->active) v = agree(s, sure);
    if (v != ORR_MAY_MOVE && !s->shown && !(v == ORR_STUCK_PERHAPS && s->shown_unsure)) show(s, v);
    s->shown |= v == ORR_STUCK;
    s->shown_unsure |= v == ORR_STUCK_PERHAPS;
    pthread_mutex_unlock(&s->running);
    return v;
}

/* Changes with every message of the program. */
static uint64_t movement(const struct orr_deadlock_outside *self)
{
    struct orr_stuck *s = of_outside(self);
    uint64_t sum = 0;
    pthread_mutex_lock(&s->running);
    if (s->active) {
        struct orr_engine_counts c = orr_engine_get_counts(&s->cluster->engine);
        sum = c.sent_messages + c.received_messages + c.ended;
    }
    pthread_mutex_unlock(&s->running);
    return sum;
}

struct holder {
    const struct orr_stuck_story *story;
    const struct orr_data *handle;
    char *text;
    size_t bytes;
    bool found;
};

static void look_at_message(const struct orr_request *r, void *arg)
{
    struct holder *q = arg;
    if (!q->found) q->found = q->story->holds(r, q->handle, q->text, q->bytes);
}

/* The message that holds h's data, as it is called in the graph. */
static bool node(const struct orr_deadlock_outside *self, struct orr_data *h, char *text, size_t bytes)
{
    struct orr_stuck *s = of_outside(self);
    struct holder q = { .handle = h, .text = text, .bytes = bytes };
    pthread_mutex_lock(&s->running);
    q.story = s->story;
    if (s->active) {
        orr_engine_visit_unmatched(&s->cluster->engine, look_at_message, &q);
        orr_engine_visit_under_way(&s->cluster->engine, look_at_message, &q);
    }
    pthread_mutex_unlock(&s->running);
    return q.found;
}

/* Data that a message holds: the program has not forgotten to release it. */
static bool holder(const struct orr_deadlock_outside *self, struct orr_data *h, char *text, size_t bytes)
{
    char name[100];
    if (!node(self, h, name, sizeof name)) return false;
    snprintf(text, bytes, ORR_SAY_MESSAGE_HOLDS, name, ORR_SAY_UNTIL_MATCHED);
    return true;
}

static unsigned held(const struct orr_deadlock_outside *self, bool print)
{
    struct orr_stuck *s = of_outside(self);
    pthread_mutex_lock(&s->running);
    unsigned n = s->active ? s->story->held(s->cluster, print) : 0;
    pthread_mutex_unlock(&s->running);
    return n;
}

static void end(const struct orr_deadlock_outside *self)
{
    orr_guard_end(of_outside(self)->guard);
}

void orr_stuck_init(struct orr_stuck *s, struct orr_cluster *cl, struct orr_controls *controls,
                    struct orr_guard *guard)
{
    s->outside = (struct orr_deadlock_outside){ movement, verdict, end, holder, node, held };
    s->cluster = cl;
    s->controls = controls;
    s->guard = guard;
}

int orr_stuck_start(struct orr_stuck *s, const struct orr_stuck_story *story)
{
    if (s->cluster->rank == 0) {
        s->reports = orr_calloc((size_t)s->cluster->size, sizeof *s->reports);
        s->before = orr_calloc((size_t)s->cluster->size, sizeof *s->before);
        if (!s->reports || !s->before) {
            orr_free(s->reports);
            orr_free(s->before);
            s->reports = s->before = NULL;
            return -ENOMEM;
        }
    }
    orr_control_listen(s->controls, ORR_CONTROL_REPORT, ORR_CONTROL_DEADLOCK, heard, s);
    orr_control_listen(s->controls, ORR_CONTROL_EDGE, ORR_CONTROL_DRAWN, heard, s);
    s->drawn = 0;
    s->wave = 0;
    s->deadlocked = s->shown = s->shown_unsure = false;
    pthread_mutex_lock(&s->running);
    s->story = story;
    s->active = true;
    pthread_mutex_unlock(&s->running);
    orr_deadlock_outside(&s->outside);
    return 0;
}

void orr_stuck_stop(struct orr_stuck *s)
{
    orr_deadlock_outside_over(&s->outside);
    pthread_mutex_lock(&s->running);
    s->active = false;
    pthread_mutex_unlock(&s->running);
    orr_spin_lock(&s->lock);
    struct orr_stuck_report *reports = s->reports, *before = s->before;
    s->reports = s->before = NULL;
    struct orr_waits waits = s->waits;
    s->waits = (struct orr_waits){ 0 };
    orr_spin_unlock(&s->lock);
    orr_waits_fini(&waits);
    orr_free(reports);
    orr_free(before);
}
