/* SPDX-License-Identifier: BSD-3-Clause */
/* stuck.c: see stuck.h.
 * Threads: see stuck.h; reports arrive on whoever polls. Owns: the reports. Not here: explaining tasks
 * (core/run/deadlock.c), the stream of insertions (stream.c).
 *
 * A rank that has not moved for a second and a half, with every thread blocked inside the runtime, reports to
 * rank 0 how many messages it has sent and received, each time after making sure that it still has not moved.
 * When all ranks have reported and the sums agree, no message is under way; rank 0 asks for a second wave of
 * reports. If nothing has changed in it, nothing was able to move in between, nor ever will: the double
 * counting of distributed termination (Mattern, 1987). */
#include "mpi/live/stuck.h"

#include <errno.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/run/deadlock.h"
#include "mpi/wire/cluster.h"
#include "mpi/live/control.h"
#include "mpi/live/guard.h"
#include "mpi/wire/progress.h"
#include "mpi/live/stream.h"

enum { ROUNDS_PER_LOOK = 50, ROUND_US = 4000 };

struct report {
    uint64_t sent, received;
    uint32_t wave;
    bool here, unsure;
};

/* In the number of a report: unknown threads of this rank may act. */
static const uint32_t unsure_bit = UINT32_C(1) << 31;

static struct {
    pthread_mutex_t
        running; /* held while the watching thread is in here, twice when it looks again; protects active */
    bool active;
    const struct orr_stuck_story *story; /* [lock: running] */
    orr_spin lock;                       /* protects what follows; leaf */
    struct report *reports, *before;     /* by rank, at rank 0: of the current wave, of the one before */
    uint32_t wave;                       /* which one to report */
    bool deadlocked;                     /* and not read yet; the next two say what kind */
    bool unsure;
    bool shown, shown_unsure;          /* [lock: running] */
    struct orr_engine_counts reported; /* [lock: running] the last time */
} stuck = { .running = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP };

/* A control message came: REPORT, WAVE or DEADLOCK. */
static void heard(int source, const struct orr_wire_header *h, const void *none)
{
    (void)none;
    orr_spin_lock(&stuck.lock);
    if (h->type == ORR_CONTROL_REPORT && stuck.reports && source < orr_cluster.size)
        stuck.reports[source] = (struct report){ .sent = (uint64_t)h->tag,
                                                 .received = h->id,
                                                 .wave = h->bulk_tag & ~unsure_bit,
                                                 .unsure = h->bulk_tag & unsure_bit,
                                                 .here = true };
    else if (h->type == ORR_CONTROL_WAVE)
        stuck.wave = h->bulk_tag;
    else if (h->type == ORR_CONTROL_DEADLOCK) {
        stuck.deadlocked = true;
        stuck.unsure = h->bulk_tag & unsure_bit;
        stuck.wave = h->bulk_tag & ~unsure_bit;
    }
    orr_spin_unlock(&stuck.lock);
}

static void tell_all(enum orr_control what, uint32_t wave)
{
    for (int r = 0; r < orr_cluster.size; r++) orr_control_send(r, what, 0, 0, wave, NULL, 0);
}

/* Rank 0: whether all have reported in this wave, and no message is under way. */
static bool wave_is_complete(void)
{
    uint64_t sent = 0, received = 0;
    for (int r = 0; r < orr_cluster.size; r++) {
        const struct report *p = &stuck.reports[r];
        if (!p->here || p->wave != stuck.wave) return false;
        sent += p->sent;
        received += p->received;
    }
    return sent == received;
}

/* Goes on to the next wave. True when this one says the same as the one before. *unsure_out: on some rank
 * unknown threads may act. */
static bool next_wave(bool *unsure_out)
{
    bool same = true;
    *unsure_out = false;
    for (int r = 0; r < orr_cluster.size; r++) {
        struct report *now = &stuck.reports[r], *old = &stuck.before[r];
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
static void coordinate(void)
{
    orr_spin_lock(&stuck.lock);
    bool complete = wave_is_complete();
    bool unsure = false, same = complete && next_wave(&unsure);
    uint32_t wave = complete ? ++stuck.wave : stuck.wave;
    orr_spin_unlock(&stuck.lock);
    if (!complete) return;
    tell_all(same ? ORR_CONTROL_DEADLOCK : ORR_CONTROL_WAVE, same && unsure ? wave | unsure_bit : wave);
}

/* What rank 0 has found, once. */
static enum orr_verdict read_verdict(uint32_t *wave_out)
{
    orr_spin_lock(&stuck.lock);
    *wave_out = stuck.wave;
    enum orr_verdict v = !stuck.deadlocked ? ORR_MAY_MOVE : stuck.unsure ? ORR_STUCK_PERHAPS : ORR_STUCK;
    if (v == ORR_STUCK_PERHAPS) stuck.deadlocked = false; /* it may turn out otherwise */
    orr_spin_unlock(&stuck.lock);
    return v;
}

static void show(enum orr_verdict v)
{
    if (v == ORR_STUCK) {
        orr_guard_hush();
        orr_error(
            "deadlock across ranks: on every rank all threads wait and all workers are idle, no message is "
            "under way, and nothing moved for 1.5 s");
    } else {
        orr_warn(
            "deadlock across ranks? On every rank all threads that the runtime knows wait and all workers "
            "are idle, no message is under way; but some ranks have threads that may still act, and say so");
    }
    orr_engine_visit_unmatched(&orr_cluster.engine, stuck.story->unmatched, "waits");
    stuck.story->waiting(v == ORR_STUCK);
    if (orr_engine_visit_early(&orr_cluster.engine, stuck.story->early, "waits") == 0 &&
        orr_progress_outstanding(&orr_cluster.progress) == 0)
        orr_error("  this rank waits for nothing but the others");
    if (v == ORR_STUCK) orr_stream_explain(orr_cluster.comm);
}

/* Whether nothing has moved here since this rank's last report. */
static bool as_reported(const struct orr_engine_counts *c)
{
    return c->sent_messages == stuck.reported.sent_messages &&
           c->received_messages == stuck.reported.received_messages;
}

/* Takes part in agreeing. sure: no unknown thread of this rank may act. */
static enum orr_verdict agree(bool sure)
{
    uint32_t wave, reported = UINT32_MAX;
    for (int i = 0; i < ROUNDS_PER_LOOK; i++) {
        orr_progress_pass(&orr_cluster.progress);
        if (orr_cluster.rank == 0) coordinate();
        enum orr_verdict v = read_verdict(&wave);
        struct orr_engine_counts c = orr_engine_get_counts(&orr_cluster.engine);
        if (v == ORR_STUCK || (v == ORR_STUCK_PERHAPS && as_reported(&c))) return v;
        if (c.bulk_receives > 0 || orr_load_relaxed(&orr_cluster.engine.unsent)) break;
        if (orr_progress_may_call(&orr_cluster.progress)) break;
        if (!orr_deadlock_still()) break; /* after counting: it holds for what is reported */
        if (wave != reported &&
            orr_control_send(0, ORR_CONTROL_REPORT, (int64_t)c.sent_messages, c.received_messages,
                             sure ? wave : wave | unsure_bit, NULL, 0)) {
            reported = wave;
            stuck.reported = c;
        }
        usleep(ROUND_US);
    }
    return ORR_MAY_MOVE;
}

static enum orr_verdict verdict(bool sure)
{
    enum orr_verdict v = ORR_MAY_MOVE;
    pthread_mutex_lock(&stuck.running);
    if (stuck.active) v = agree(sure);
    if (v != ORR_MAY_MOVE && !stuck.shown && !(v == ORR_STUCK_PERHAPS && stuck.shown_unsure)) show(v);
    stuck.shown |= v == ORR_STUCK;
    stuck.shown_unsure |= v == ORR_STUCK_PERHAPS;
    pthread_mutex_unlock(&stuck.running);
    return v;
}

/* Changes with every message of the program. */
static uint64_t movement(void)
{
    uint64_t sum = 0;
    pthread_mutex_lock(&stuck.running);
    if (stuck.active) {
        struct orr_engine_counts c = orr_engine_get_counts(&orr_cluster.engine);
        sum = c.sent_messages + c.received_messages + c.ended;
    }
    pthread_mutex_unlock(&stuck.running);
    return sum;
}

struct holder {
    const struct orr_data *handle;
    char *text;
    size_t bytes;
    bool found;
};

static void look_at_message(const struct orr_request *r, void *arg)
{
    struct holder *q = arg;
    if (!q->found) q->found = stuck.story->holds(r, q->handle, q->text, q->bytes);
}

/* Data that a message holds: the program has not forgotten to release it. */
static bool holder(struct orr_data *h, char *text, size_t bytes)
{
    struct holder q = { h, text, bytes, false };
    pthread_mutex_lock(&stuck.running);
    if (stuck.active) {
        orr_engine_visit_unmatched(&orr_cluster.engine, look_at_message, &q);
        orr_engine_visit_under_way(&orr_cluster.engine, look_at_message, &q);
    }
    pthread_mutex_unlock(&stuck.running);
    return q.found;
}

static const struct orr_deadlock_outside outside = { movement, verdict, orr_guard_end, holder };

int orr_stuck_start(const struct orr_stuck_story *story)
{
    if (orr_cluster.rank == 0) {
        stuck.reports = orr_calloc((size_t)orr_cluster.size, sizeof *stuck.reports);
        stuck.before = orr_calloc((size_t)orr_cluster.size, sizeof *stuck.before);
        if (!stuck.reports || !stuck.before) {
            orr_free(stuck.reports);
            orr_free(stuck.before);
            stuck.reports = stuck.before = NULL;
            return -ENOMEM;
        }
    }
    orr_control_listen(ORR_CONTROL_REPORT, ORR_CONTROL_DEADLOCK, heard);
    stuck.wave = 0;
    stuck.deadlocked = stuck.shown = stuck.shown_unsure = false;
    pthread_mutex_lock(&stuck.running);
    stuck.story = story;
    stuck.active = true;
    pthread_mutex_unlock(&stuck.running);
    orr_deadlock_outside(&outside);
    return 0;
}

void orr_stuck_stop(void)
{
    orr_deadlock_outside(NULL);
    pthread_mutex_lock(&stuck.running);
    stuck.active = false;
    pthread_mutex_unlock(&stuck.running);
    orr_spin_lock(&stuck.lock);
    struct report *reports = stuck.reports, *before = stuck.before;
    stuck.reports = stuck.before = NULL;
    orr_spin_unlock(&stuck.lock);
    orr_free(reports);
    orr_free(before);
}
