/* SPDX-License-Identifier: BSD-3-Clause */
/* feedback.c: see feedback.h. Threads: see feedback.h; a round's fields belong to whoever brings its counts
 * to zero. Owns: see feedback.h. Not here: see feedback.h. */
#include "mpi/place/feedback.h"

#include <errno.h>
#include <math.h>
#include <starpu.h>
#include <stddef.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/task/task.h"
#include "mpi/place/lengths.h"
#include "mpi/place/times.h"
#include "mpi/wire/cluster.h"
#include "mpi/wire/event.h"

enum { CHILDREN = 4, SLOTS = 1024, EPOCH_MIN = 64, EPOCH_MAX = 4096, CHANGED_PERCENT = 20 };

/* Beside the tags of sums and barriers (coll.c). */
static const int64_t first_tag = INT64_C(1) << 41;

/* What was measured of one key on one type of worker. */
struct slot {
    _Atomic uint64_t key;         /* mixed with the type; 0: free [atomic: claimed once] */
    _Atomic uint64_t what;        /* the key itself; 0: not yet [atomic: publishes type] */
    uint32_t type;                /* [const once what is set] */
    _Atomic uint64_t count, ns;   /* [any: statistic] */
    uint64_t told_count, told_ns; /* [own: who submits] */
};

struct message {
    struct orr_request request; /* first */
    struct round *round;
    void *bytes;
};

struct round {
    struct orr_feedback *feedback;
    struct message up, down, from[CHILDREN], to[CHILDREN];
    struct orr_time_record *own, *result;
    size_t nown, nresult;
    uint64_t word;         /* of this rank */
    bool met;              /* all ranks wait for it, and for all tasks */
    _Atomic int waits;     /* children that have not told, and this rank itself */
    _Atomic uint32_t over; /* the result is here [atomic: publishes it] */
};

struct orr_feedback {
    struct orr_observer observer; /* first */
    struct orr_comm *comm;
    void (*measured)(void *arg, const struct orr_place_measure *m);
    void *arg;
    struct slot slots[SLOTS];
    struct orr_times times; /* on rank 0 [own: who merges] */
    struct round round;     /* one at a time */
    bool pending;           /* it was begun and not applied [own: who submits] */
    int64_t rounds;
    uint64_t next, epoch;
    uint32_t *slow; /* as told last, by rank and type: to see what changes */
    size_t nknown;
    uint64_t word, agreed; /* orr_feedback_say; what all said [own: who submits] */
    _Atomic int users; /* one for the placement, one for each message under way [atomic: the last frees] */
};

/* ---- measuring ---- */

static struct slot *slot_of(struct orr_feedback *f, uint64_t key, uint32_t type)
{
    uint64_t mixed = key ^ (type + 1) * 0x9e3779b97f4a7c15u;
    if (!mixed) mixed = 1;
    for (uint64_t i = mixed >> 32, tries = 0; tries < SLOTS; i++, tries++) {
        struct slot *s = &f->slots[i % SLOTS];
        uint64_t found = orr_load_acquire(&s->key);
        if (found == mixed) return s;
        if (found || !orr_cas_seq(&s->key, &found, mixed)) {
            if (found == mixed) return s;
            continue;
        }
        s->type = type;
        orr_store_release(&s->what, key); /* pairs with collect */
        return s;
    }
    return NULL; /* so many are enough to tell how fast a rank is */
}

void orr_feedback_took(struct orr_feedback *f, uint64_t key, uint32_t type, uint64_t ns)
{
    struct slot *s = slot_of(f, key, type);
    if (!s) return;
    orr_add_relaxed(&s->ns, ns);
    orr_add_relaxed(&s->count, UINT64_C(1));
}

static void see(struct orr_observer *o, const struct orr_seen *e)
{
    struct orr_task *t = (struct orr_task *)e->subject;
    if (!t || !t->pub->cl || (int64_t)e->a < 0) return;
    uint64_t key = orr_length_key(orr_length_symbol(t->pub->cl), starpu_task_data_footprint(t->pub));
    orr_feedback_took((struct orr_feedback *)o, key, (uint32_t)starpu_worker_get_type((int)e->a),
                      (uint64_t)(orr_ticks_to_us(e->b) * 1e3) + 1);
}

/* What a model of this rank's says, for each type of worker, in so many parts of its unit. */
static void say_model(struct orr_feedback *f, uint64_t key, struct starpu_perfmodel *model,
                      uint32_t footprint, uint32_t first_type, double parts)
{
    if (!model || (model->type != STARPU_HISTORY_BASED && model->type != STARPU_REGRESSION_BASED &&
                   model->type != STARPU_NL_REGRESSION_BASED))
        return;
    for (int type = 0; type < STARPU_NARCH; type++) {
        int worker = starpu_worker_get_by_type((enum starpu_worker_archtype)type, 0);
        if (worker < 0) continue;
        struct starpu_perfmodel_arch *arch = starpu_worker_get_perf_archtype(worker, STARPU_NMAX_SCHED_CTXS);
        double value = starpu_perfmodel_history_based_expected_perf(model, arch, footprint);
        if (value > 0 && value * parts < 1e15)
            orr_feedback_took(f, key, first_type + (uint32_t)type, (uint64_t)(value * parts) + 1);
    }
}

void orr_feedback_seen(struct orr_feedback *f, const struct starpu_codelet *cl, uint32_t footprint)
{
    uint64_t key = orr_length_key(orr_length_symbol(cl), footprint);
    say_model(f, key, cl->model, footprint, 0, 1e3);
    say_model(f, key, cl->energy_model, footprint, STARPU_NARCH, 1e9);
}

/* What was measured since the last round. */
static void collect(struct orr_feedback *f)
{
    struct round *r = &f->round;
    r->nown = 0;
    r->own = orr_malloc(SLOTS * sizeof *r->own);
    for (int i = 0; r->own && i < SLOTS; i++) {
        struct slot *s = &f->slots[i];
        uint64_t what = orr_load_acquire(&s->what), count = orr_load_relaxed(&s->count),
                 ns = orr_load_relaxed(&s->ns);
        if (!what || count == s->told_count || ns == s->told_ns) continue;
        r->own[r->nown++] = (struct orr_time_record){ .key = what,
                                                      .rank = f->comm->rank,
                                                      .type = s->type,
                                                      .count = count - s->told_count,
                                                      .ns = ns - s->told_ns };
        s->told_count = count;
        s->told_ns = ns;
    }
}

/* ---- a round: up to rank 0, and down again ---- */

static void let_go(struct round *r)
{
    for (int i = 0; i < CHILDREN; i++) orr_free(r->from[i].bytes);
    for (int i = 0; i < CHILDREN; i++) r->from[i].bytes = NULL;
    orr_free(r->up.bytes);
    orr_free(r->down.bytes);
    orr_free(r->own);
    r->up.bytes = r->down.bytes = r->own = NULL;
}

static void release(struct orr_feedback *f)
{
    if (orr_sub_acq_rel(&f->users, 1) > 1) return;
    let_go(&f->round);
    orr_times_fini(&f->times);
    orr_free(f->slow);
    orr_free(f);
}

static void *make_room(struct orr_request *request, size_t bytes)
{
    struct message *m = (struct message *)request;
    return m->bytes = orr_malloc(bytes ? bytes : 1);
}

/* One record goes before the others: a word (ns) that so many ranks said, if all did that the message is of
 * (count 0: they did not). So no message is empty. */
static struct orr_time_record *records_for(size_t count)
{
    return orr_calloc(count + 1, sizeof(struct orr_time_record));
}

static struct orr_time_record head_of(uint64_t word, uint64_t ranks)
{
    return (struct orr_time_record){ .ns = word, .count = ranks };
}

static void post(struct message *m, enum orr_request_kind kind, int rank, int64_t tag, void *bytes,
                 size_t count, void (*done)(struct orr_request *))
{
    struct orr_comm *c = m->round->feedback->comm;
    struct orr_request *q = &m->request;
    memset(q, 0, sizeof *q);
    orr_request_init(q);
    q->node =
        (struct orr_match_node){ .context = c->context | ORR_CONTEXT_UNCOUNTED, .peer = rank, .tag = tag };
    q->kind = (uint8_t)kind;
    q->uncounted = true;
    q->done = done;
    q->make_room = make_room;
    q->payload = (struct orr_payload){ .base = bytes,
                                       .bytes = (count + 1) * sizeof(struct orr_time_record),
                                       .any_size = kind == ORR_RECV };
    if (kind == ORR_RECV) q->payload.bytes = 0;
    orr_add_relaxed(&m->round->feedback->users, 1);
    orr_progress_begun(&c->cluster->progress);
    orr_engine_post(&c->cluster->engine, q, true);
    orr_progress_needed(&c->cluster->progress);
}

static void message_over(struct message *m)
{
    struct orr_feedback *f = m->round->feedback;
    struct orr_mpi_progress *p = &f->comm->cluster->progress;
    release(f);
    orr_progress_over(p, true);
}

static int64_t tag_of(const struct round *r, bool down)
{
    return first_tag + 2 * r->feedback->rounds + down;
}

static int child_of(const struct orr_comm *c, int i)
{
    int64_t rank = (int64_t)CHILDREN * c->rank + 1 + i;
    return rank < c->size ? (int)rank : -1;
}

static void sent(struct orr_request *q)
{
    message_over((struct message *)q);
}

/* The result is here: the ranks below get it, too. */
static void deliver(struct round *r)
{
    struct orr_feedback *f = r->feedback;
    for (int i = 0; i < CHILDREN; i++) {
        if (child_of(f->comm, i) < 0) continue;
        post(&r->to[i], ORR_SEND, child_of(f->comm, i), tag_of(r, true), r->result, r->nresult, sent);
    }
    orr_store_seq(&r->over, 1u); /* pairs with finish; before the look who sleeps */
    orr_progress_signal(&f->comm->cluster->progress);
}

static size_t records_in(const struct message *m)
{
    return m->request.moved_bytes / sizeof(struct orr_time_record);
}

static void came_down(struct orr_request *q)
{
    static struct orr_time_record nothing;
    struct message *m = (struct message *)q;
    struct round *r = m->round;
    bool right = !q->status && m->bytes && records_in(m) > 0;
    r->result = right ? m->bytes : &nothing;
    r->nresult = right ? records_in(m) - 1 : 0;
    deliver(r);
    message_over(m);
}

/* On rank 0; all: behind what goes first. */
static void learn(struct round *r, const struct orr_time_record *all, size_t count)
{
    static struct orr_time_record nothing;
    struct orr_feedback *f = r->feedback;
    int failed = orr_times_learn(&f->times, all ? all + 1 : NULL, count, r->met);
    struct orr_time_record *out = failed ? NULL : records_for(orr_times_room(&f->times));
    r->nresult = out ? orr_times_tell(&f->times, out + 1) : 0;
    if (out && all) out[0] = all[0];
    r->down.bytes = out;
    r->result = out ? out : &nothing;
    deliver(r);
}

/* What this rank and those below it say. */
static struct orr_time_record heads(const struct round *r)
{
    uint64_t ranks = 1;
    for (int i = 0; i < CHILDREN; i++) {
        const struct orr_time_record *from = r->from[i].bytes;
        if (child_of(r->feedback->comm, i) < 0) continue;
        if (!from || !records_in(&r->from[i]) || !from->count || from->ns != r->word) return head_of(0, 0);
        ranks += from->count;
    }
    return head_of(r->word, ranks);
}

/* All below have told, and this rank too. */
static void all_told(struct round *r)
{
    static struct orr_time_record nothing;
    struct orr_feedback *f = r->feedback;
    size_t count = r->nown, used = 1;
    for (int i = 0; i < CHILDREN; i++)
        if (r->from[i].bytes && records_in(&r->from[i])) count += records_in(&r->from[i]) - 1;
    struct orr_time_record *all = records_for(count);
    if (!all) count = 0;
    if (all && r->nown) memcpy(all + used, r->own, r->nown * sizeof *all);
    used += r->nown;
    for (int i = 0; i < CHILDREN && all; i++) {
        size_t n = r->from[i].bytes ? records_in(&r->from[i]) : 0;
        if (n > 1) memcpy(all + used, (struct orr_time_record *)r->from[i].bytes + 1, (n - 1) * sizeof *all);
        used += n > 1 ? n - 1 : 0;
    }
    r->up.bytes = all;
    if (all) all[0] = heads(r);
    if (f->comm->rank == 0)
        learn(r, all, count);
    else
        post(&r->up, ORR_SEND, (f->comm->rank - 1) / CHILDREN, tag_of(r, false), all ? all : &nothing, count,
             sent);
}

static void told(struct round *r)
{
    if (orr_sub_acq_rel(&r->waits, 1) == 1) all_told(r);
}

static void came_up(struct orr_request *q)
{
    struct message *m = (struct message *)q;
    if (q->status) m->request.moved_bytes = 0;
    told(m->round);
    message_over(m);
}

static bool nothing_under_way(void *f)
{
    return orr_load_acquire(&((struct orr_feedback *)f)->users) == 1;
}

static bool is_over(void *r)
{
    return orr_load_acquire(&((struct round *)r)->over);
}

static void begin(struct orr_feedback *f, bool met)
{
    struct round *r = &f->round;
    struct orr_comm *c = f->comm;
    int children = 0;
    orr_progress_wait(&c->cluster->progress, nothing_under_way, f);
    let_go(r);
    f->rounds++;
    orr_store_relaxed(&r->over, 0u);
    collect(f);
    r->word = f->word;
    r->met = met;
    while (children < CHILDREN && child_of(c, children) >= 0) children++;
    orr_store_release(&r->waits, children + 1);
    for (int i = 0; i < children; i++)
        post(&r->from[i], ORR_RECV, child_of(c, i), tag_of(r, false), NULL, 0, came_up);
    if (c->rank) post(&r->down, ORR_RECV, (c->rank - 1) / CHILDREN, tag_of(r, true), NULL, 0, came_down);
    f->pending = true;
    told(r);
}

/* ---- applying ---- */

static bool apply_one(struct orr_feedback *f, const struct orr_time_record *r)
{
    struct orr_place_measure m = { .key = r->key, .rank = r->rank, .kind = (int)r->type };
    if (r->type >= STARPU_NARCH && r->type < 2 * STARPU_NARCH && r->key) {
        m.kind -= STARPU_NARCH;
        m.is_energy = true;
        m.ns = r->ns;
        f->measured(f->arg, &m);
        return false;
    }
    if (r->type >= STARPU_NARCH || (!r->key && (r->rank < 0 || r->rank >= f->comm->size))) return false;
    if (r->key) {
        m.ns = r->ns;
        f->measured(f->arg, &m);
        return false;
    }
    uint32_t *before = &f->slow[(size_t)r->rank * STARPU_NARCH + r->type];
    m.slow = (uint32_t)r->ns;
    f->measured(f->arg, &m);
    uint64_t difference = m.slow > *before ? m.slow - *before : *before - m.slow;
    bool changed = difference * 100 > (uint64_t)*before * CHANGED_PERCENT;
    *before = m.slow;
    return changed;
}

/* Waits for the round, and tells the placement. Much that is new makes epochs short again. */
static void finish(struct orr_feedback *f)
{
    struct round *r = &f->round;
    bool changed = false;
    size_t known = 0;
    if (!f->pending) return;
    orr_progress_wait(&f->comm->cluster->progress, is_over, r);
    for (size_t i = 1; i <= r->nresult; i++) {
        changed |= apply_one(f, &r->result[i]);
        known += r->result[i].key != 0;
    }
    f->agreed = r->result->count == (uint64_t)f->comm->size ? r->result->ns : 0;
    f->pending = false;
    f->epoch = changed || known > f->nknown ? EPOCH_MIN : f->epoch < EPOCH_MAX ? 2 * f->epoch : EPOCH_MAX;
    f->nknown = known;
}

void orr_feedback_say(struct orr_feedback *f, uint64_t word)
{
    f->word = word;
}

uint64_t orr_feedback_agreed(const struct orr_feedback *f)
{
    return f->agreed;
}

uint64_t orr_feedback_next(const struct orr_feedback *f)
{
    return f->next;
}

void orr_feedback_turn(struct orr_feedback *f, uint64_t position)
{
    finish(f);
    begin(f, false);
    f->next = position + f->epoch;
}

void orr_feedback_meet(struct orr_feedback *f, uint64_t position)
{
    finish(f);
    begin(f, true);
    finish(f);
    f->next = position + f->epoch;
}

/* ---- beginning and end ---- */

struct orr_feedback *orr_feedback_create(struct orr_comm *c,
                                         void (*measured)(void *arg, const struct orr_place_measure *m),
                                         void *arg)
{
    size_t pairs = (size_t)c->size * STARPU_NARCH;
    struct orr_feedback *f = orr_malloc_aligned(64, sizeof *f);
    uint32_t *slow = orr_calloc(pairs, sizeof *slow);
    if (f) memset(f, 0, sizeof *f);
    if (!f || !slow || (c->rank == 0 && orr_times_init(&f->times, c->size))) {
        orr_free(f);
        orr_free(slow);
        return NULL;
    }
    for (size_t i = 0; i < pairs; i++) slow[i] = ORR_SPEED_UNIT;
    f->observer = (struct orr_observer){ .name = "feedback", .see = see, .kinds = ORR_EVENT_BIT(TASK_ENDED) };
    f->comm = c;
    f->measured = measured;
    f->arg = arg;
    f->slow = slow;
    f->round.feedback = f;
    f->epoch = f->next = EPOCH_MIN;
    orr_store_relaxed(&f->users, 1);
    f->round.up.round = f->round.down.round = &f->round;
    for (int i = 0; i < CHILDREN; i++) f->round.from[i].round = f->round.to[i].round = &f->round;
    if (orr_observer_add(&f->observer))
        orr_warn("too many observers: what tasks take on this rank is not told to the others");
    return f;
}

void orr_feedback_destroy(struct orr_feedback *f)
{
    if (f->observer.place > 0) orr_observer_remove(&f->observer);
    release(f);
}
