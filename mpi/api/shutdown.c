/* SPDX-License-Identifier: BSD-3-Clause */
/* shutdown.c: see shutdown.h.
 * Threads: see shutdown.h. Owns: nothing. Not here: waiting in the middle of a program (wait.c).
 *
 * Ranks wait in rounds: each until it has nothing left, or nothing has happened for a while; then they add up
 * what they know. It is over when nobody has anything left, and hopeless when all are here, nothing is under
 * way, and nothing moved between two rounds. */
#include "mpi/api/shutdown.h"

#include <errno.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/worker/worker.h"
#include "mpi/api/wait.h"
#include "mpi/value/borrow.h"
#include "mpi/value/hungry.h"
#include "mpi/value/message.h"
#include "mpi/value/moves.h"
#include "mpi/value/redux.h"
#include "mpi/value/seen.h"
#include "mpi/wire/coll.h"

/* Of rounds of QUIET_NS: until what is waited for is said, and said again; how long data may be in use by a
 * thread of the program that the runtime does not know. */
enum { QUIET_NS = 900000000, FIRST_SAID = 2, SAID_AGAIN = 15, PATIENCE = 5, SAID_MOST = 8 };

/* True when nothing is outstanding, or nothing has happened for a while. */
struct settling {
    struct orr_mpi_progress *progress;
    uint64_t completed, since_ns;
    bool may_let_go; /* of data: threads of the program that are known to be at work, or perhaps others */
};

static struct settling begin_settling(struct orr_mpi_progress *p, bool may_let_go)
{
    return (struct settling){ p, orr_progress_completed(p), orr_clock_ns(), may_let_go };
}

static bool settled(void *arg)
{
    struct settling *s = arg;
    uint64_t completed = orr_progress_completed(s->progress), now = orr_clock_ns();
    if (orr_progress_left(s->progress) == 0) return true;
    if (completed != s->completed || orr_workers_busy() > 0) {
        s->completed = completed;
        s->since_ns = now;
    }
    if (now - s->since_ns <= QUIET_NS) return false;
    if (!orr_threads_census().all_blocked) s->may_let_go = true;
    return true;
}

struct left_over {
    int64_t inferred[ORR_COLL_VALUES]; /* the first: how many tasks made */
    struct orr_unmatched told;
};

static void count_early(const struct orr_match_node *n, const struct orr_wire_header *h, void *arg)
{
    struct left_over *l = arg;
    if (h->flags & ORR_WIRE_INFERRED) l->inferred[0]++;
    orr_message_describe_early(n, h, &l->told);
}

static void count_unmatched(const struct orr_request *r, void *arg)
{
    struct left_over *l = arg;
    l->inferred[0] += r->inferred;
    orr_message_describe(r, &l->told);
}

static void tell_more(const struct left_over *l)
{
    if (l->told.more) orr_error("starpu_mpi_shutdown: ... and %u more such messages", l->told.more);
}

/* Messages that tasks made and that do not fit the tasks of another rank: what was computed is wrong.
 * Collective; inferred: how many there are on all ranks. */
static void end_with_difference(struct orr_session *s, int64_t inferred)
{
    if (inferred == 0) return;
    orr_stream_explain_all(s->cluster.comm);
    orr_guard_silence(&s->live.guard);
    if (s->cluster.rank == 0)
        orr_fatal("%lld messages that tasks made have no other end: for each, one of two ranks inserted a "
                  "task, or took a rank for the owner of data, that the other did not; the program ends",
                  (long long)inferred);
    usleep(200000); /* rank 0 says it */
    orr_fatal("the program ends: messages that tasks made have no other end");
}

enum shutdown_value { LEFT, MOVED, MAY_MOVE, IN_FLIGHT };

/* What this rank knows, for the sums over all. */
static void look_at_messages(struct orr_cluster *cl, const struct settling *s, int64_t v[ORR_COLL_VALUES])
{
    struct orr_engine_counts c = orr_engine_get_counts(&cl->engine);
    v[LEFT] = orr_progress_left(&cl->progress);
    v[MOVED] = (int64_t)(orr_progress_completed(&cl->progress) + c.program_received);
    v[MAY_MOVE] = orr_workers_busy() + c.bulk_receives + c.queued + orr_progress_may_call(&cl->progress) +
                  (c.waiting_data > 0 && s->may_let_go);
    v[IN_FLIGHT] = (int64_t)(c.program_sent - c.program_received);
}

static void say_one(const struct orr_request *r, void *count)
{
    if ((*(int *)count)++ < SAID_MOST) orr_message_describe_under_way(r);
}

static void say_waiting(struct orr_cluster *cl)
{
    int count = 0;
    if (orr_progress_left(&cl->progress) == 0) return;
    orr_warn("starpu_mpi_shutdown waits for %lld messages that are under way, or whose data is in use:",
             (long long)orr_progress_left(&cl->progress));
    orr_engine_visit_under_way(&cl->engine, say_one, &count);
}

/* Waits until no rank has messages left. False: those that are left can never end, because all ranks are
 * here, nothing is under way, and nothing moved for a while. A rank that dies meanwhile is the guard's. */
static bool wait_for_messages(struct orr_cluster *cl, int *status_out)
{
    int64_t before = -1;
    for (int round = 0;; round++) {
        struct settling s = begin_settling(&cl->progress, round < PATIENCE);
        orr_progress_wait(&cl->progress, settled, &s);
        if (orr_progress_left(&cl->progress) == 0) orr_wait_for_tasks();
        int64_t v[ORR_COLL_VALUES];
        look_at_messages(cl, &s, v);
        *status_out = orr_coll_sum(cl->comm, v) ? -EIO : 0;
        if (*status_out || v[LEFT] == 0) return true;
        if (v[MOVED] == before && v[MAY_MOVE] == 0 && v[IN_FLIGHT] == 0) return false;
        before = v[MOVED];
        if (round % SAID_AGAIN == FIRST_SAID) say_waiting(cl);
    }
}

static bool nothing_under_way(void *engine)
{
    struct orr_engine_counts c = orr_engine_get_counts(engine);
    return c.bulk_sends + c.bulk_receives == 0;
}

static void cancel_unmatched(void *engine)
{
    orr_engine_cancel_unmatched(engine);
}

static void count_left(const struct orr_request *r, void *unused)
{
    (void)unused;
    orr_message_describe_left(r);
}

/* Waits for the messages of all ranks. Those that can never end are named and given up. Returns 0 or -EIO. */
static int drain_all_ranks(struct orr_session *s)
{
    struct orr_cluster *cl = &s->cluster;
    int status;
    if (wait_for_messages(cl, &status)) return status;
    struct left_over left = { .told.at_end = true };
    orr_engine_visit_unmatched(&cl->engine, count_unmatched, &left);
    orr_engine_visit_early(&cl->engine, count_early, &left);
    tell_more(&left);
    orr_engine_visit_under_way(&cl->engine, count_left, NULL);
    if (orr_coll_sum(cl->comm, left.inferred) == 0) end_with_difference(s, left.inferred[0]);
    orr_progress_aside(&cl->progress, cancel_unmatched, &cl->engine);
    /* MPI uses the memory: every rank takes what was sent to it */
    orr_progress_wait(&cl->progress, nothing_under_way, &cl->engine);
    struct settling last = begin_settling(&cl->progress, false);
    orr_progress_wait(&cl->progress, settled, &last);
    if (orr_progress_left(&cl->progress) == 0) orr_wait_for_tasks();
    return -EIO;
}

/* All ranks are here, and nothing is outstanding: whether every message was received, and all inserted the
 * same tasks. 0 or -EIO. */
static int end_of_stream(struct orr_session *s)
{
    struct orr_cluster *cl = &s->cluster;
    struct left_over early = { .told.at_end = true };
    size_t here = orr_engine_visit_early(&cl->engine, count_early, &early);
    tell_more(&early);
    int r = orr_coll_sum(cl->comm, early.inferred);
    if (!r) end_with_difference(s, early.inferred[0]);
    if (!r) r = orr_stream_meet(cl->comm, true);
    return here ? -EIO : r;
}

int orr_shutdown(struct orr_session *s)
{
    orr_hungry_stop(&s->lend);
    orr_borrow_settle(&s->lend);
    int home = orr_moves_home_all(s->cluster.comm), r = orr_redux_gather_all(s->cluster.comm),
        status = drain_all_ranks(s);
    orr_lend_end(&s->lend); /* no rank has tasks */
    orr_views_leave(&s->value);
    if (!status) status = end_of_stream(s);
    if (!status) status = orr_messages_take_failure(&s->value);
    if (s->writes_history) orr_history_write(s->place.history, s->cluster.comm, &s->machines, status != 0);
    orr_stuck_stop(&s->live.stuck); /* its last messages are ahead of this barrier */
    orr_guard_closing(&s->live.guard);
    orr_coll_barrier(s->cluster.comm);
    orr_guard_stop(&s->live.guard);
    return status ? status : r ? r : home;
}
