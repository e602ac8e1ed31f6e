/* SPDX-License-Identifier: BSD-3-Clause */
/* history.c: see history.h. Threads: see history.h. Owns: see history.h. Not here: see history.h.
 *
 * Rank 0 keeps the stream as a plan; the others only which of their tasks has which position. Workers tell
 * (event.h) when a body ended and how long it took; at the end both are put together by the number of the
 * job, and sent to rank 0. Times count from the moment at which rank 0 had met the others at the start; ranks
 * on other computers take the moment at which they had for the same. The order on a worker is that in which
 * its bodies ended; the starts are made to fit. Where one rank waited between two insertions, or used data by
 * itself (own tasks, explicit messages), others may have run ahead of it. Under the plan they cannot with its
 * data, for which they wait until it has come so far (away.c): so no worker has a task from after such a
 * place before one from before.
 */
#include "mpi/place/history.h"

#include <errno.h>
#include <starpu.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/thread.h"
#include "core/task/task.h"
#include "mpi/place/planfile.h"
#include "mpi/value/relatives.h"
#include "mpi/wire/coll.h"
#include "mpi/wire/event.h"

enum { MET = 4096, WAITED = -2, RENEWED = -3 /* in place of a worker */ };

/* A body that ran. */
struct ran {
    uint64_t job;
    int64_t start_ns, length_ns;
    int32_t worker;
};

/* A task of this rank. */
struct own {
    uint64_t job, position;
};

/* What a rank tells rank 0; the first says when its times begin. */
struct told {
    uint64_t position;
    int64_t start_ns, length_ns;
    int64_t worker; /* -1: several; WAITED: the rank waited before this position; RENEWED: here start_ns is a
                     * tag, of other data from this position on */
};

struct orr_history {
    struct orr_observer observer; /* first */
    char *path;
    uint64_t zero_ns;
    struct orr_plan plan; /* rank 0 [own: who inserts] */
    int64_t met[MET];     /* tags + 1 of the data in it, some [own: who inserts] */
    struct own *own;      /* [own: who inserts] */
    size_t owns, own_room;
    uint64_t *waited; /* positions before which this rank, and at the end any, waited [own: who inserts] */
    size_t waits, waits_room;
    struct orr_plan_renewal *renewed; /* where data were met first under their tags; at the end, on rank 0, of
                                       * all ranks [own: who inserts] */
    size_t renewals, renewals_room;
    uint64_t acts;           /* messages and tasks of its own, with data of the layer [own: who inserts] */
    uint64_t looks;          /* of who inserts, and acts, at the last insertion [own: who inserts] */
    uint64_t position, hash; /* of the next insertion; of those so far [own: who inserts] */
    _Atomic(struct orr_thread *) thread; /* who inserts */
    const struct orr_machines *machines; /* at the end */
    const char *spoilt;                  /* why there is no plan; NULL: there is */
    ORR_SPIN(plan_history) lock;         /* protects what follows; leaf */
    struct ran *ran;
    size_t rans, ran_room;
    bool full; /* out of memory */
};

/* Room for one more; false: out of memory. */
static bool make_room(void *array, size_t count, size_t *room, size_t bytes)
{
    void **a = array;
    if (count < *room) return true;
    size_t more = count ? 2 * count : 1024;
    void *larger = orr_realloc(*a, more * bytes);
    if (!larger) return false;
    *a = larger;
    *room = more;
    return true;
}

/* ---- while it runs ---- */

static int own_by_job(const void *a, const void *b)
{
    const struct own *x = a, *y = b;
    return (x->job > y->job) - (x->job < y->job);
}

/* A task was submitted, by any thread: whether it is the inserting one's, no insertion's, and has data that
 * insertions have, or may have pieces of. */
static bool is_own_act(const struct orr_history *r, struct orr_task *t, uint64_t job)
{
    const struct own key = { .job = job };
    if (orr_load_relaxed(&r->thread) != orr_self() || !t->pub->cl) return false;
    if (r->owns && bsearch(&key, r->own, r->owns, sizeof key, own_by_job)) return false;
    for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(t->pub); i++) {
        const struct orr_data *h = STARPU_TASK_GET_HANDLE(t->pub, i);
        if (h && (orr_owned_tag(h) >= 0 || orr_has_relatives(h))) return true;
    }
    return false;
}

/* A body ended: on its worker. */
static void see_end(struct orr_history *r, const struct orr_seen *e)
{
    int64_t length = (int64_t)((double)e->b * orr_ns_per_tick), now = (int64_t)orr_clock_ns();
    orr_spin_lock(&r->lock);
    if (make_room(&r->ran, r->rans, &r->ran_room, sizeof *r->ran))
        r->ran[r->rans++] = (struct ran){ .job = e->c,
                                          .start_ns = now - length - (int64_t)r->zero_ns,
                                          .length_ns = length,
                                          .worker = (int32_t)e->a };
    else
        r->full = true;
    orr_spin_unlock(&r->lock);
}

static void see(struct orr_observer *o, const struct orr_seen *e)
{
    struct orr_history *r = (struct orr_history *)o;
    if (e->kind == ORR_EVENT_TASK_ENDED)
        see_end(r, e);
    else if (is_own_act(r, (struct orr_task *)(uintptr_t)e->subject, e->a))
        r->acts++;
}

struct orr_history *orr_history_start(const char *path)
{
    size_t bytes = strlen(path) + 1;
    struct orr_history *r = orr_calloc(1, sizeof *r);
    char *copy = orr_malloc(bytes);
    if (!r || !copy) {
        orr_error("ORRERY_PLAN_RECORD: out of memory");
        orr_free(r);
        orr_free(copy);
        return NULL;
    }
    r->path = memcpy(copy, path, bytes);
    r->observer = (struct orr_observer){ .name = "plan",
                                         .see = see,
                                         .kinds = ORR_EVENT_BIT(TASK_ENDED) | ORR_EVENT_BIT(TASK_SUBMITTED) };
    r->zero_ns = orr_clock_ns();
    if (orr_observer_add(&r->observer)) orr_history_spoil(r, "too many others observe tasks");
    return r;
}

void orr_history_spoil(struct orr_history *r, const char *what)
{
    if (!r->spoilt) r->spoilt = what;
}

/* Most data come again soon: those are found. What is added again is left out at the end. */
static bool keep_datum(struct orr_history *r, const struct orr_comm *c, const struct orr_data *h, int64_t tag)
{
    int64_t *met = &r->met[(uint64_t)tag * 0x9e3779b97f4a7c15u >> 52];
    if (*met == tag + 1) return true;
    *met = tag + 1;
    int64_t whole = h->parent ? orr_owned_tag(h->parent) : -1;
    const struct orr_plan_datum d = { tag, whole >= 0 ? whole : ORR_PLAN_NO_TAG,
                                      h->ops->get_size((struct orr_data *)h), orr_owned_rank(c, h) };
    return !orr_plan_add_datum(&r->plan, &d) && (whole < 0 || keep_datum(r, c, h->parent, whole));
}

/* Rank 0 keeps all of it. */
static bool keep(struct orr_history *r, const struct orr_comm *c, const struct starpu_codelet *cl,
                 const char *name, const struct orr_arguments *a, int xrank)
{
    const struct orr_place_view view = { .data = a->data, .count = a->count };
    const char *model = cl && cl->model && cl->model->symbol ? cl->model->symbol : "";
    int codelet = orr_plan_add_codelet(&r->plan, name, model);
    const struct orr_plan_task t = { .codelet = codelet,
                                     .rank = xrank >= 0 ? xrank : ORR_PLAN_EACH,
                                     .worker = ORR_PLAN_NO_WORKER,
                                     .priority = a->priority,
                                     .footprint = orr_place_footprint(&view) };
    bool good = codelet >= 0 && !orr_plan_add_task(&r->plan, &t);
    for (int i = 0; i < a->count && good; i++) {
        struct orr_data *h = a->data[i].handle;
        int64_t tag = h ? orr_owned_tag(h) : -1;
        bool ordered = h && h->sequential_consistency && !a->unordered && (!a->ordered || a->ordered[i]);
        int mode = orr_plan_mode(a->data[i].mode) | (h && !ordered ? ORR_PLAN_UNORDERED : 0);
        good = !orr_plan_add_access(&r->plan, tag, mode);
        if (good && tag >= 0) good = keep_datum(r, c, h, tag);
    }
    return good;
}

static void add_waited(struct orr_history *r, uint64_t position)
{
    if (make_room(&r->waited, r->waits, &r->waits_room, sizeof *r->waited))
        r->waited[r->waits++] = position;
    else
        orr_history_spoil(r, "out of memory");
}

void orr_history_act(struct orr_history *r)
{
    if (orr_load_relaxed(&r->thread) == orr_self()) r->acts++;
}

/* Whether the program has waited for anything on this rank since the last insertion, or used data by itself:
 * what it changed others have under the plan before they begin the next insertion with it (away.c). */
static void note_wait(struct orr_history *r)
{
    uint64_t looks = orr_acting(orr_self())->looks + orr_self()->blocks + r->acts;
    if (looks != r->looks && r->position) add_waited(r, r->position);
    r->looks = looks;
}

static void add_renewed(struct orr_history *r, uint64_t position, int64_t tag)
{
    if (make_room(&r->renewed, r->renewals, &r->renewals_room, sizeof *r->renewed))
        r->renewed[r->renewals++] = (struct orr_plan_renewal){ position, tag };
    else
        orr_history_spoil(r, "out of memory");
}

/* Data that were not met before: perhaps others had their tag. A queue of a datum knows nothing of that of
 * another. */
static void note_datum(struct orr_history *r, struct orr_data *h)
{
    for (; h && h->mpi && !(h->mpi_flags & ORR_MPI_NOTED); h = h->parent) {
        h->mpi_flags |= ORR_MPI_NOTED;
        if (orr_owned_tag(h) >= 0) add_renewed(r, r->position, orr_owned_tag(h));
    }
}

/* Of a schedule that was recorded before. */
static void forget_note(struct orr_owned *o, void *unused)
{
    (void)unused;
    o->handle->mpi_flags &= ~(uint32_t)ORR_MPI_NOTED;
}

void orr_history_note(struct orr_history *r, const struct orr_comm *c, const struct starpu_codelet *cl,
                      const struct orr_arguments *a, int xrank)
{
    if (!orr_comm_is_base(c) || r->spoilt) return;
    struct orr_thread *thread = orr_load_relaxed(&r->thread);
    if (!thread) {
        orr_owned_visit(c->cluster->value, forget_note, NULL);
        orr_store_relaxed(&r->thread, thread = orr_self());
    }
    if (thread != orr_self()) {
        orr_history_spoil(r, "several threads insert, so there is no one order of all tasks");
        return;
    }
    note_wait(r);
    for (int i = 0; i < a->count; i++) note_datum(r, a->data[i].handle);
    const char *name = cl && cl->name ? cl->name : "";
    uint64_t hash = orr_plan_hash_begin(name);
    for (int i = 0; i < a->count; i++)
        hash = orr_plan_hash_add(hash, a->data[i].handle ? orr_owned_tag(a->data[i].handle) : -1,
                                 a->data[i].mode);
    r->hash = ((r->hash << 5 | r->hash >> 59) ^ hash ^ (uint64_t)(unsigned)xrank) * 0xbf58476d1ce4e5b9u;
    r->position++;
    if (c->rank == 0 && !keep(r, c, cl, name, a, xrank)) orr_history_spoil(r, "out of memory");
}

void orr_history_met(struct orr_history *r, const struct orr_comm *c)
{
    if (!orr_comm_is_base(c) || r->spoilt || c->rank != 0 || orr_load_relaxed(&r->thread) != orr_self())
        return;
    if (orr_plan_add_wait(&r->plan)) orr_history_spoil(r, "out of memory");
}

void orr_history_task(struct orr_history *r, struct starpu_task *task)
{
    if (r->spoilt || !r->position) return;
    if (make_room(&r->own, r->owns, &r->own_room, sizeof *r->own))
        r->own[r->owns++] = (struct own){ orr_task_of(task)->id, r->position - 1 };
    else
        orr_history_spoil(r, "out of memory");
}

/* ---- the end ---- */

static int by_job(const void *a, const void *b)
{
    const struct ran *x = a, *y = b;
    if (x->job != y->job) return x->job > y->job ? 1 : -1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* A worker's bodies end in the order in which they run, and none begins before the one before it has ended. A
 * length that was measured a little too long would have it begin earlier, and get the earlier order. */
static void part_bodies(struct orr_history *r)
{
    int64_t ended[STARPU_NMAXWORKERS];
    for (int w = 0; w < STARPU_NMAXWORKERS; w++) ended[w] = INT64_MIN;
    for (size_t i = 0; i < r->rans; i++) {
        struct ran *b = &r->ran[i];
        if (b->worker < 0 || b->worker >= STARPU_NMAXWORKERS) continue;
        int64_t end = b->start_ns + b->length_ns;
        if (b->start_ns <= ended[b->worker]) {
            b->start_ns = ended[b->worker] + 1;
            b->length_ns = end > b->start_ns ? end - b->start_ns : 0;
        }
        ended[b->worker] = b->start_ns + b->length_ns;
    }
}

static int by_task_and_tag(const void *a, const void *b)
{
    const struct orr_plan_renewal *x = a, *y = b;
    if (x->task != y->task) return x->task > y->task ? 1 : -1;
    return (x->tag > y->tag) - (x->tag < y->tag);
}

/* Each once, and none of the first of each tag. */
static void leave_out_first(struct orr_history *r)
{
    size_t kept = 0;
    if (r->renewals) qsort(r->renewed, r->renewals, sizeof *r->renewed, orr_plan_renewal_by_tag);
    for (size_t i = 1; i < r->renewals; i++)
        if (r->renewed[i].tag == r->renewed[i - 1].tag && r->renewed[i].task != r->renewed[i - 1].task)
            r->renewed[kept++] = r->renewed[i];
    r->renewals = kept;
}

/* What this rank ran of the stream, and where it waited; NULL: out of memory. Who ran on several workers has
 * none. */
static struct told *put_together(struct orr_history *r, size_t *count_out)
{
    leave_out_first(r);
    struct told *all = orr_malloc((r->owns + r->waits + r->renewals + 1) * sizeof *all);
    *count_out = 1;
    if (!all) return NULL;
    all[0] = (struct told){ .start_ns = (int64_t)r->zero_ns };
    if (r->owns) qsort(r->own, r->owns, sizeof *r->own, own_by_job);
    part_bodies(r);
    if (r->rans) qsort(r->ran, r->rans, sizeof *r->ran, by_job);
    for (size_t i = 0, k = 0; i < r->owns; i++) {
        while (k < r->rans && r->ran[k].job < r->own[i].job) k++;
        if (k == r->rans || r->ran[k].job != r->own[i].job) continue;
        const struct ran *first = &r->ran[k];
        struct told *t = &all[(*count_out)++];
        *t = (struct told){ r->own[i].position, first->start_ns, first->length_ns, first->worker };
        for (k++; k < r->rans && r->ran[k].job == first->job; k++) t->worker = -1;
    }
    for (size_t i = 0; i < r->waits; i++)
        all[(*count_out)++] = (struct told){ .position = r->waited[i], .worker = WAITED };
    for (size_t i = 0; i < r->renewals; i++)
        all[(*count_out)++] =
            (struct told){ .position = r->renewed[i].task, .start_ns = r->renewed[i].tag, .worker = RENEWED };
    return all;
}

/* Rank 0: what a rank told goes into the plan. */
static void take(void *history, int rank, const void *data, size_t bytes)
{
    struct orr_history *r = history;
    const struct told *t = data;
    bool same_clock = bytes >= sizeof *t && r->machines->node[rank] == r->machines->node[0];
    int64_t late_ns = same_clock ? t[0].start_ns - (int64_t)r->zero_ns : 0;
    for (size_t i = 1; i < bytes / sizeof *t; i++) {
        if (t[i].position >= r->plan.tasks) continue;
        if (t[i].worker == WAITED) {
            if (rank != 0) add_waited(r, t[i].position); /* rank 0's are there */
            continue;
        }
        if (t[i].worker == RENEWED) {
            if (rank != 0) add_renewed(r, t[i].position, t[i].start_ns);
            continue;
        }
        struct orr_plan_task *task = &r->plan.task[t[i].position];
        if (task->rank != rank) continue; /* on each of them */
        task->worker = (int)t[i].worker;
        task->start_us = (double)(t[i].start_ns + late_ns) / 1e3;
        task->length_us = (double)t[i].length_ns / 1e3;
    }
}

/* A task on its worker. */
struct run {
    int worker;   /* of the cluster */
    size_t after; /* how many waits */
    double start_us;
    size_t task;
};

static int by_start(const void *a, const void *b)
{
    const struct run *x = a, *y = b;
    if (x->worker != y->worker) return x->worker > y->worker ? 1 : -1;
    if (x->after != y->after) return x->after > y->after ? 1 : -1;
    if (x->start_us != y->start_us) return x->start_us > y->start_us ? 1 : -1;
    return (x->task > y->task) - (x->task < y->task);
}

static int by_position(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* On each worker 1, 2, 3, ... False: out of memory. */
static bool give_orders(struct orr_history *r)
{
    struct orr_plan *p = &r->plan;
    size_t after = 0;
    struct run *all = orr_malloc((p->tasks + 1) * sizeof *all);
    size_t count = 0;
    unsigned order = 0;
    if (r->waits) qsort(r->waited, r->waits, sizeof *r->waited, by_position);
    for (size_t i = 0; i < p->tasks && all; i++) {
        while (after < r->waits && r->waited[after] <= i) after++;
        struct orr_plan_task *t = &p->task[i];
        int worker = t->rank >= 0 ? orr_machines_number(&p->machines, t->rank, t->worker) : -1;
        if (worker < 0)
            t->worker = ORR_PLAN_NO_WORKER;
        else
            all[count++] = (struct run){ worker, after, t->start_us, i };
    }
    if (count) qsort(all, count, sizeof *all, by_start);
    for (size_t i = 0; i < count; i++) {
        order = i && all[i].worker == all[i - 1].worker ? order + 1 : 1;
        p->task[all[i].task].order = order;
    }
    orr_free(all);
    return all != NULL;
}

static int by_tag(const void *a, const void *b)
{
    int64_t x = ((const struct orr_plan_datum *)a)->tag, y = ((const struct orr_plan_datum *)b)->tag;
    return (x > y) - (x < y);
}

/* Each datum once. */
static void sort_data(struct orr_plan *p)
{
    size_t kept = 0;
    if (p->data) qsort(p->datum, p->data, sizeof *p->datum, by_tag);
    for (size_t i = 0; i < p->data; i++)
        if (!kept || p->datum[kept - 1].tag != p->datum[i].tag) p->datum[kept++] = p->datum[i];
    p->data = kept;
}

/* What ranks told, once each. False: out of memory. */
static bool add_renewals(struct orr_history *r)
{
    bool good = true;
    if (r->renewals) qsort(r->renewed, r->renewals, sizeof *r->renewed, by_task_and_tag);
    for (size_t i = 0; i < r->renewals && good; i++)
        if (!i || by_task_and_tag(&r->renewed[i], &r->renewed[i - 1]))
            good = !orr_plan_add_renewal(&r->plan, &r->renewed[i]);
    return good;
}

/* p borrows the table while fn runs. */
static void write_file(struct orr_history *r, const struct orr_machines *m)
{
    char why[ORR_PLAN_TEXT] = "out of memory";
    struct orr_plan *p = &r->plan;
    p->machines = *m;
    sort_data(p);
    int status = give_orders(r) && add_renewals(r) ? orr_plan_write(p, r->path, why) : -ENOMEM;
    p->machines = (struct orr_machines){ 0 };
    if (status) orr_error("ORRERY_PLAN_RECORD: %s cannot be written: %s", r->path, why);
}

/* What all ranks add up before they send. */
enum { LACKING, INSERTED, HASH };

/* Whether all ranks inserted the same; says why not. lacking: this one has no history to tell. Collective. */
static bool agree(const struct orr_history *r, struct orr_comm *base, bool lacking)
{
    int64_t position = r ? (int64_t)r->position : 0, hash = r ? (int64_t)(r->hash & UINT32_MAX) : 0;
    int64_t v[ORR_COLL_VALUES] = { lacking, position, hash };
    if (orr_coll_sum(base, v)) return false;
    int64_t differs[ORR_COLL_VALUES] = { v[INSERTED] != base->size * position ||
                                         v[HASH] != base->size * hash };
    if (orr_coll_sum(base, differs)) return false;
    if (v[LACKING] == 0 && differs[0] && base->rank == 0)
        orr_error("ORRERY_PLAN_RECORD: no plan is written: the ranks did not insert the same tasks (are "
                  "loops pruned "
                  "by hand?)");
    return v[LACKING] == 0 && differs[0] == 0;
}

/* Whether this rank has nothing to tell, which is said. */
static bool lacks(const struct orr_history *r, bool failed)
{
    if (r && r->spoilt)
        orr_error("ORRERY_PLAN_RECORD: no plan is written: %s", r->spoilt);
    else if (r && r->full)
        orr_error("ORRERY_PLAN_RECORD: no plan is written: out of memory");
    return !r || r->spoilt || r->full || failed;
}

void orr_history_write(struct orr_history *r, struct orr_comm *base, const struct orr_machines *m,
                       bool failed)
{
    size_t count = 0;
    if (r) orr_observer_remove(&r->observer);
    if (!agree(r, base, lacks(r, failed))) return;
    r->machines = m;
    struct told *told = put_together(r, &count);
    int status = orr_coll_gather(base, told, count * sizeof *told, take, r);
    int64_t without[ORR_COLL_VALUES] = { status != 0 || !told };
    orr_free(told);
    if (orr_coll_sum(base, without)) return;
    if (without[0] && base->rank == 0)
        orr_error(
            "ORRERY_PLAN_RECORD: no plan is written: the ranks could not tell each other what they ran");
    if (!without[0] && base->rank == 0) write_file(r, m);
}

void orr_history_end(struct orr_history *r)
{
    if (!r) return;
    orr_observer_remove(&r->observer);
    orr_plan_fini(&r->plan);
    orr_free(r->own);
    orr_free(r->waited);
    orr_free(r->renewed);
    orr_free(r->ran);
    orr_free(r->path);
    orr_free(r);
}
