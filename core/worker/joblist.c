/* SPDX-License-Identifier: BSD-3-Clause */
/* joblist.c: the order of jobs in a list.
 * Threads: any adds, ends and takes. Owns: lists and their jobs. Not here: which worker serves which list
 * (jobpool.c), checks and messages (core/run/joblist.c).
 *
 * A job is a task whose submission is an ordinary one; only when it would go to the policy it comes here, and
 * waits until it is the first of its list and its gate is open. Then it may start: a worker takes it. Signals
 * divide a list into segments, numbered from 0. A wait after signal number n gives the jobs behind it gate n:
 * they start when all segments below n have ended. So there is nothing to advance when a wait comes late, and
 * a segment that is empty, or ended long ago, is an open gate like any other.
 *
 * A worker stays with its list. What a job's end, or the arrival of the next, makes ready is not told to the
 * pool by the worker that serves the list, for it comes back at once and takes it; only what is ready beyond
 * that is told. It must be told by others, and before that worker does anything else (list_due).
 *
 * Jobs take their places and join the queues of their data in one step under the list's lock; else two
 * threads could give two jobs of a list places in one order and the data in the other, for ever. */
#include "core/worker/joblist.h"

#include <errno.h>
#include <string.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/data/partition.h"
#include "core/task/perf.h"
#include "core/worker/tell.h"
#include "core/worker/tally.h"

enum { GROWTH_TOLD_EVERY = 1024 };

_Static_assert(sizeof(struct orr_job) <= ORR_ARGS_BLOCK_BYTES, "jobs live in blocks of ORR_SLAB_ARGS");

/* What follows from a change, once the list's lock is released. */
struct outcome {
    struct orr_jobpool_news news;
    struct orr_ready_list turns; /* held tasks whose turn has come */
    uint64_t grown;              /* 0, or so many jobs are ready in a list that has told so before */
};

/* ---- life ---- */

struct orrery_joblist *orr_joblist_create(const char *name, unsigned sched_ctx)
{
    struct orrery_joblist *list = orr_malloc_aligned(ORR_CACHE_LINE, sizeof *list);
    struct orr_segment *s = orr_calloc(1, sizeof *s);
    char *copy = orr_strdup(name ? name : "");
    if (!list || !s || !copy) {
        orr_free(list);
        orr_free(s);
        orr_free(copy);
        return NULL;
    }
    memset(list, 0, sizeof *list);
    list->name = copy;
    list->sched_ctx = sched_ctx;
    list->generation = orr_load_relaxed(&orr_contexts[sched_ctx].generation);
    list->oldest = list->newest = s;
    orr_store_relaxed(&list->refs, 1u);
    orr_jobpool_open(&list->pool, list);
    return list;
}

void orr_joblist_ref(struct orrery_joblist *list)
{
    orr_add_relaxed(&list->refs, 1u);
}

void orr_joblist_unref(struct orrery_joblist *list)
{
    if (orr_sub_acq_rel(&list->refs, 1u) != 1) return;
    orr_jobpool_close(&list->pool, list->sched_ctx);
    for (struct orr_segment *s = list->oldest, *next; s; s = next) {
        next = s->next;
        orr_free(s);
    }
    orr_free(list->name);
    orr_free(list);
}

void orr_joblist_close(struct orrery_joblist *list)
{
    orr_spin_lock(&list->lock);
    list->destroyed = true;
    orr_spin_unlock(&list->lock);
}

struct orr_job *orr_job_create(void)
{
    struct orr_job *job = orr_slab_alloc(ORR_SLAB_ARGS);
    if (job) memset(job, 0, sizeof *job);
    return job;
}

void orr_job_destroy(struct orr_job *job)
{
    orr_slab_free(ORR_SLAB_ARGS, job);
}

/* ---- what may start ---- */

static bool has_body(const struct orr_task *t)
{
    return t->pub->cl && orr_task_where(t->pub) != STARPU_NOWHERE;
}

/* The first job when its gate is open, else NULL. */
static struct orr_job *its_turn_locked(struct orrery_joblist *list)
{
    struct orr_job *job = orr_likely(!list->stopped) ? list->first : NULL;
    return job && job->gate <= list->oldest->number ? job : NULL;
}

static void start_first_locked(struct orrery_joblist *list)
{
    struct orr_job *job = list->first;
    list->first = job->next;
    if (!list->first) list->last = NULL;
    list->started++;
    if (job->state == ORR_JOB_READY) list->ready--;
    if (job->work_us >= 0) {
        list->known--;
        list->known_us = list->known ? list->known_us - job->work_us : 0;
    }
    job->started = true;
}

/* Gives their turn to jobs at the front that need one before they are ready: those without a body, which end
 * then, and one with late accesses, which takes them. */
static void call_locked(struct orrery_joblist *list, struct outcome *o)
{
    struct orr_job *job;
    while ((job = its_turn_locked(list)) && job->state == ORR_JOB_PRESENT) {
        struct orr_task *t = job->task;
        job->state = ORR_JOB_CALLED;
        if (!has_body(t)) start_first_locked(list);
        orr_ready_append(&o->turns, t);
    }
}

static bool same_place(const struct orr_job_place *a, const struct orr_job_place *b)
{
    if (a->ready != b->ready) return false;
    if (!a->ready) return true;
    return a->where == b->where && a->priority == b->priority && a->bound == b->bound &&
           a->restricted == b->restricted &&
           (!a->restricted || memcmp(a->capable, b->capable, sizeof a->capable) == 0);
}

/* Whether an amount is far from what the pool believes. It is right within a factor of two, so that a list of
 * n jobs tells it about log n times. */
static bool is_far(double now, double told)
{
    return now >= 2 * told || 2 * now <= told;
}

static bool work_is_far_locked(const struct orrery_joblist *list)
{
    return is_far((double)(list->added - list->started), list->told_left) ||
           (list->known > 0 && is_far(list->known_us, list->told_us));
}

enum telling { TELL_CHANGES, TELL_ALWAYS, TELL_LATER };

/* After every change of the list: which job is next, and what the pool should know. */
static void settle_locked(struct orrery_joblist *list, enum telling telling, struct outcome *o)
{
    static const struct orr_job_place blocked = { .ready = false };
    call_locked(list, o);
    if (telling == TELL_LATER) return;
    const struct orr_job *job = its_turn_locked(list);
    const struct orr_job_place *now = job && job->state == ORR_JOB_READY ? &job->place : &blocked;
    if (telling == TELL_CHANGES && same_place(now, &list->told) && !(now->ready && work_is_far_locked(list)))
        return;
    list->told = *now;
    list->told_left = (double)(list->added - list->started);
    list->told_us = list->known_us;
    o->news = (struct orr_jobpool_news){ .version = ++list->version,
                                         .place = *now,
                                         .waiting = list->ready,
                                         .left = list->added - list->started,
                                         .known = list->known,
                                         .known_us = list->known_us };
}

/* Does what follows; without locks, and with a reference to the list. */
static void follow(struct orrery_joblist *list, struct outcome *o)
{
    if (o->news.version) orr_jobpool_hear(&list->pool, list->sched_ctx, &o->news);
    if (orr_unlikely(o->grown)) orr_jobpool_grown(list->sched_ctx, o->grown);
    for (struct orr_task *t = o->turns.head, *next; t; t = next) {
        next = t->next;
        orr_task_release_held(t);
    }
}

/* How a change made on this thread is told: the worker that serves the list, between two tasks, will be back
 * at once. One with a memory of its own may take long: it waits for transfers. */
static enum telling how_to_tell(const struct orrery_joblist *list)
{
    struct orr_worker *w = orr_worker_self();
    if (!w || w->list != list || orr_task_current() || !w->direct) return TELL_CHANGES;
    w->list_due = true;
    return TELL_LATER;
}

/* ---- adding ---- */

/* The least time that a worker of the list's context takes, by the task's model; -1: it does not say. */
static double expected_us(struct orr_task *t, unsigned sched_ctx)
{
    struct starpu_perfmodel *m = t->pub->cl ? t->pub->cl->model : NULL;
    const struct orr_ctx *ctx = &orr_contexts[sched_ctx];
    double least = -1;
    int before = -1;
    if (orr_likely(!m) || !has_body(t)) return -1;
    for (unsigned i = 0; i < orr_load_relaxed(&ctx->nworkers); i++) {
        struct orr_worker *w = &orr_workers[orr_load_relaxed(&ctx->workers[i])];
        unsigned nimpl;
        int comb = orr_perf_workers[w->id].comb;
        if (comb == before || !orr_worker_can_run(w, t, &nimpl)) continue;
        before = comb;
        double us = orr_task_expected(t, m, comb, nimpl, w->id);
        if (us >= 0 && (least < 0 || us < least)) least = us; /* false for NaN */
    }
    return least;
}

void orr_joblist_append(struct orrery_joblist *list, struct orr_job *job, struct orr_task *t,
                        struct orr_partition_use *u)
{
    struct orr_task_thread *self = orr_task_self();
    struct orr_ready_list *outer = self->collect, ready = { NULL, NULL };
    struct outcome o = { .news.version = 0 };
    job->task = t;
    job->list = list;
    job->work_us = expected_us(t, list->sched_ctx);
    t->rare->job = job;
    orr_joblist_ref(list);
    orr_spin_lock(&list->lock);
    job->index = list->added++;
    job->gate = list->gate;
    job->segment = list->newest;
    job->segment->unfinished++;
    if (list->last)
        list->last->next = job;
    else
        list->first = job;
    list->last = job;
    if (job->work_us >= 0) {
        list->known++;
        list->known_us += job->work_us;
    }
    self->collect = &ready;
    orr_task_commit(t, u);
    self->collect = outer;
    settle_locked(list, TELL_CHANGES, &o); /* there is more to do */
    orr_spin_unlock(&list->lock);
    orr_partition_start(u);
    follow(list, &o);
    if (ready.head) orr_ready_dispatch(&ready, NULL);
}

static void drop_ended_segments_locked(struct orrery_joblist *list)
{
    while (list->oldest != list->newest && list->oldest->unfinished == 0) {
        struct orr_segment *s = list->oldest;
        list->oldest = s->next;
        orr_free(s);
    }
}

int orr_joblist_signal(struct orrery_joblist *list)
{
    struct orr_segment *s = orr_calloc(1, sizeof *s);
    if (!s) return -ENOMEM;
    orr_spin_lock(&list->lock);
    bool may = !list->pair_open;
    if (may) {
        s->number = list->newest->number + 1;
        list->newest = list->newest->next = s;
        list->pair_open = true;
        drop_ended_segments_locked(list);
    }
    orr_spin_unlock(&list->lock);
    if (may) return 0;
    orr_free(s);
    return -EINVAL;
}

int orr_joblist_wait(struct orrery_joblist *list)
{
    orr_spin_lock(&list->lock);
    bool may = list->pair_open;
    if (may) list->gate = list->newest->number;
    list->pair_open = false;
    orr_spin_unlock(&list->lock);
    return may ? 0 : -EINVAL;
}

/* ---- a job is ready, and ends ---- */

/* Finds out who can run t. */
static void fill_place(struct orr_job_place *place, struct orr_task *t)
{
    const struct starpu_task *p = t->pub;
    unsigned nimpl;
    *place = (struct orr_job_place){
        .ready = true, .bound = -1, .where = orr_task_where(p), .priority = t->priority
    };
    if (p->execute_on_a_specific_worker) {
        place->restricted = true;
        place->bound = (int16_t)p->workerid;
    } else if (orr_unlikely(!orr_task_where_tells(p))) {
        place->restricted = true;
        for (unsigned i = 0; i < orr_worker_count; i++)
            if (orr_worker_can_run(&orr_workers[i], t, &nimpl))
                place->capable[i / 64] |= UINT64_C(1) << (i % 64);
    }
}

void orr_job_ready(struct orr_task *t)
{
    struct orr_job *job = t->rare->job;
    struct orrery_joblist *list = job->list;
    struct outcome o = { .news.version = 0 };
    struct orr_job_place place = { .ready = false };
    bool turn_first = (t->flags & ORR_TF_HELD) && ((t->flags & ORR_TF_LATE) || !has_body(t));
    if (!turn_first) {
        if (orr_unlikely(t->sched_ctx != 0)) orr_tally_ready(t);
        fill_place(&place, t);
    }
    enum telling telling = how_to_tell(list);
    orr_spin_lock(&list->lock);
    job->state = turn_first ? ORR_JOB_PRESENT : ORR_JOB_READY;
    job->place = place;
    list->ready += !turn_first;
    bool known_ready = list->told.ready;
    settle_locked(list, telling, &o);
    if (known_ready && !o.news.version && list->ready % GROWTH_TOLD_EVERY == 0) o.grown = list->ready;
    bool more = o.news.version || o.grown || o.turns.head;
    if (more) orr_joblist_ref(list); /* once the lock is released the job may start, and end */
    orr_spin_unlock(&list->lock);
    if (!more) return;
    follow(list, &o);
    orr_joblist_unref(list);
}

void orr_job_ended(struct orr_job *job, bool failed)
{
    struct orrery_joblist *list = job->list;
    struct outcome o = { .news.version = 0 };
    struct orr_joblist_waiter *waiters = NULL;
    enum telling telling = how_to_tell(list);
    orr_spin_lock(&list->lock);
    job->segment->unfinished--;
    list->failed |= failed;
    drop_ended_segments_locked(list);
    if (++list->ended == list->added) {
        waiters = list->waiters;
        list->waiters = NULL;
    }
    settle_locked(list, telling, &o);
    orr_spin_unlock(&list->lock);
    follow(list, &o);
    for (struct orr_joblist_waiter *next; waiters; waiters = next) {
        next = waiters->next;
        orr_event_set(&waiters->drained); /* from here on it is gone */
    }
    orr_job_destroy(job);
    orr_joblist_unref(list);
}

int orr_joblist_drain(struct orrery_joblist *list)
{
    struct orr_joblist_waiter self;
    orr_event_init(&self.drained);
    orr_spin_lock(&list->lock);
    bool busy = list->ended != list->added;
    if (busy) {
        self.next = list->waiters;
        list->waiters = &self;
    }
    orr_spin_unlock(&list->lock);
    if (busy) orr_event_wait(&self.drained);
    orr_spin_lock(&list->lock);
    int r = list->failed ? -EIO : 0;
    list->failed = false;
    orr_spin_unlock(&list->lock);
    return r;
}

/* ---- workers ---- */

/* Lets the pool know how things are. Always: it may have old news. */
static void tell(struct orrery_joblist *list, enum telling telling)
{
    struct outcome o = { .news.version = 0 };
    orr_spin_lock(&list->lock);
    settle_locked(list, telling, &o);
    orr_spin_unlock(&list->lock);
    follow(list, &o);
}

void orr_joblist_tell(struct orr_worker *w)
{
    while (w->list_due) { /* what follows may be due again */
        w->list_due = false;
        tell(w->list, TELL_CHANGES);
    }
}

/* Takes the first job of w's list if it can start and w can run it. */
static struct orr_task *take(struct orrery_joblist *list, struct orr_worker *w)
{
    struct outcome o = { .news.version = 0 };
    bool member = orr_load_relaxed(&w->in) >> list->sched_ctx & 1;
    struct orr_task *t = NULL;
    w->list_due = false;
    orr_spin_lock(&list->lock);
    struct orr_job *job = its_turn_locked(list);
    if (job && job->state == ORR_JOB_READY && orr_job_suits(&job->place, w, member)) {
        t = job->task;
        start_first_locked(list);
    }
    settle_locked(list, t ? TELL_CHANGES : TELL_ALWAYS, &o);
    orr_spin_unlock(&list->lock);
    follow(list, &o);
    orr_joblist_tell(w);
    return t;
}

static void leave(struct orr_worker *w)
{
    struct orrery_joblist *list = w->list;
    w->list = NULL;
    w->list_due = false;
    orr_jobpool_leave(&list->pool, list->sched_ctx);
    orr_joblist_unref(list);
}

/* What a policy is told of a task that it did not choose for w. */
static struct orr_task *handed(struct orr_worker *w, struct orr_task *t)
{
    struct orr_ctx *ctx = &orr_contexts[t->sched_ctx];
    if (ctx->policy->push_notify) ctx->policy->push_notify(ctx->instance, t, w);
    orr_tell_placed(t, w);
    if (orr_likely(w->direct && t->pub->cl->cpu_funcs[0] && !t->pub->cl->can_execute)) {
        t->nimpl = 0;
        t->nimpl_valid = 1;
    }
    return t;
}

struct orr_task *orr_joblist_next(struct orr_worker *w)
{
    while (w->list || (w->list = orr_jobpool_pick(w))) {
        struct orr_task *t = take(w->list, w);
        if (t) return handed(w, t);
        leave(w);
    }
    return NULL;
}

static bool serves_among(const struct orr_worker *w, const struct orrery_joblist *list, unsigned first,
                         unsigned end)
{
    for (unsigned i = first; i < end; i++)
        if (w->serves[i].ctx->id == list->sched_ctx) return true;
    return false;
}

struct orr_task *orr_joblist_next_among(struct orr_worker *w, unsigned first, unsigned end)
{
    struct orrery_joblist *other = NULL;
    if (w->list && !serves_among(w, w->list, first, end)) {
        if (!(other = orr_jobpool_pick_among(w, first, end))) return NULL;
        orr_joblist_tell(w);
        leave(w);
        w->list = other;
    }
    while (w->list || (w->list = orr_jobpool_pick_among(w, first, end))) {
        struct orr_task *t = take(w->list, w);
        if (t) return handed(w, t);
        leave(w);
    }
    return NULL;
}

/* ---- holding a list back ---- */

static void set_stopped(struct orrery_joblist *list, bool stopped)
{
    struct outcome o = { .news.version = 0 };
    orr_joblist_ref(list); /* its last job may end meanwhile */
    orr_spin_lock(&list->lock);
    list->stopped = stopped;
    settle_locked(list, TELL_ALWAYS, &o);
    orr_spin_unlock(&list->lock);
    follow(list, &o);
    orr_joblist_unref(list);
}

void orr_joblist_stop(struct orrery_joblist *list)
{
    set_stopped(list, true);
}

void orr_joblist_start(struct orrery_joblist *list)
{
    set_stopped(list, false);
}

/* ---- diagnosis ---- */

static struct orr_job *job_of(const struct orr_task *t)
{
    return t->flags & ORR_TF_LISTED ? t->rare->job : NULL;
}

enum orr_job_obstacle orr_job_obstacle(const struct orr_task *t, const struct orr_task *p)
{
    const struct orr_job *a = job_of(t), *b = job_of(p);
    enum orr_job_obstacle found = ORR_JOB_FREE;
    if (!a || !b || a == b || a->list != b->list) return ORR_JOB_FREE;
    struct orrery_joblist *list = a->list;
    orr_spin_lock(&list->lock);
    if (!a->started && b == list->first)
        found = ORR_JOB_AFTER_START;
    else if (!a->started && b->segment->number < a->gate)
        found = ORR_JOB_AFTER_END;
    orr_spin_unlock(&list->lock);
    return found;
}

bool orr_job_is_stopped(const struct orr_task *t)
{
    const struct orr_job *job = job_of(t);
    if (!job) return false;
    orr_spin_lock(&job->list->lock);
    bool stopped = job->list->stopped && !job->started;
    orr_spin_unlock(&job->list->lock);
    return stopped;
}

const char *orr_job_list_name(const struct orr_task *t)
{
    const struct orr_job *job = job_of(t);
    return job ? job->list->name : NULL;
}
