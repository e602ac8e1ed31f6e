/* SPDX-License-Identifier: BSD-3-Clause */
/* away.c: see away.h.
 *
 * A place of the stream is begun by each rank in its own time. Home may use its datum between two places, and
 * nobody else sees it. If the value is elsewhere, home asks the holder for it (FETCH, with its position), and
 * goes on: the value is received in the datum's queue, ahead of the use. If it may change it, it sends the
 * new value, before it begins the next place, to all that have the old one (CHANGED). So that they can
 * follow, whoever has a value of another's does nothing with it at a position that home has not begun (gate):
 * it puts that off, and all behind it, and asks home once to tell (WATCH, REACHED). Home waits for nobody
 * ahead of it, so all this ends. A change that the program has still acquired goes when it is released: who
 * waits for all messages does not wait for that, on either side. What home has asked for does not come once
 * more when all see that the value returns. A use of what overlaps a datum is one of it (relatives.h). FETCH
 * and CHANGED take their place among what was put off, by position.
 *
 * Threads: decisions on the thread that submits; news on any. One thread at a time carries actions out.
 * Owns: see away.h. Not here: see away.h. */
#include "mpi/value/away.h"

#include <errno.h>
#include <starpu.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/data/partition.h"
#include "core/task/task.h"
#include "mpi/value/kept.h"
#include "mpi/value/message.h"
#include "mpi/value/relatives.h"

/* An action that was put off. */
struct orr_later {
    struct orr_later *next;
    struct orr_comm *comm;
    uint64_t position;
    struct orr_action action;
};

/* What another rank said. */
struct orr_news {
    struct orr_news *next;
    enum orr_control what;
    int source;
    int64_t tag;
    uint64_t position;
    uint32_t version;
};

static struct orr_cluster *cluster_of(const struct orr_away *a)
{
    return a->value->cluster;
}

static void begin_acting(void)
{
    orr_acting(orr_self())->depth++;
}

static void end_acting(void)
{
    orr_acting(orr_self())->depth--;
}

/* Sends one; a buffer is free soon. */
static void tell(struct orr_away *a, int peer, enum orr_control what, int64_t tag, uint64_t position,
                 uint32_t version)
{
    while (!orr_control_send(a->controls, peer, what, tag, position, version, NULL, 0)) {
        orr_progress_pass(&cluster_of(a)->progress);
        sched_yield();
    }
    orr_bells_ring(&cluster_of(a)->bells, peer, true); /* others wait for what it does then */
}

/* ---- guests: data of other ranks that are here, by tag ---- */

static uint32_t slot_of(const struct orr_away *a, int64_t tag)
{
    return (uint32_t)((uint64_t)tag * 0x9e3779b97f4a7c15u >> 32) & (a->guests_room - 1);
}

static struct orr_guest *find_guest(const struct orr_away *a, int64_t tag)
{
    if (!a->guests_room) return NULL;
    for (uint32_t i = slot_of(a, tag); a->guests[i].owned; i = (i + 1) & (a->guests_room - 1))
        if (a->guests[i].owned->tag == tag) return &a->guests[i];
    return NULL;
}

static void put_guest(struct orr_away *a, struct orr_guest g)
{
    uint32_t i = slot_of(a, g.owned->tag);
    while (a->guests[i].owned) i = (i + 1) & (a->guests_room - 1);
    a->guests[i] = g;
}

static bool grow_guests(struct orr_away *a)
{
    uint32_t old_room = a->guests_room, room = old_room ? old_room * 2 : 64;
    struct orr_guest *old = a->guests, *table = orr_calloc(room, sizeof *table);
    if (!table) return false;
    orr_spin_lock(&a->lock);
    a->guests = table;
    a->guests_room = room;
    for (uint32_t i = 0; i < old_room; i++)
        if (old[i].owned) put_guest(a, old[i]);
    orr_spin_unlock(&a->lock);
    orr_free(old);
    return true;
}

static void add_guest(struct orr_away *a, struct orr_owned *o, uint64_t position)
{
    if ((a->nguests + 1) * 2 > a->guests_room && !grow_guests(a))
        orr_fatal("out of memory: the data with tag %lld, which is away from its owner, could not be found "
                  "again; set ORRERY_MPI_SCHED=owner on all ranks",
                  (long long)o->tag);
    orr_spin_lock(&a->lock);
    if (!find_guest(a, o->tag)) {
        put_guest(a, (struct orr_guest){ o, position });
        a->nguests++;
    }
    orr_spin_unlock(&a->lock);
}

/* With the lock. Those behind it move up. */
static void remove_guest(struct orr_away *a, struct orr_owned *o)
{
    struct orr_guest *g = find_guest(a, o->tag);
    if (!g || g->owned != o) return;
    uint32_t mask = a->guests_room - 1, hole = (uint32_t)(g - a->guests);
    a->nguests--;
    for (uint32_t i = (hole + 1) & mask; a->guests[i].owned; i = (i + 1) & mask) {
        uint32_t wanted = slot_of(a, a->guests[i].owned->tag);
        if (((i - wanted) & mask) < ((i - hole) & mask)) continue;
        a->guests[hole] = a->guests[i];
        hole = i;
    }
    a->guests[hole].owned = NULL;
}

/* A value that home has changed and holds, on its way to a copy here; NULL: that is none any more. */
struct orr_apart {
    struct orr_apart *next;
    struct orr_data *copy, *value;
};

/* With the lock: its value goes later (bring_up_to_date). */
static void lose_apart(struct orr_away *a, const struct orr_data *copy)
{
    for (struct orr_apart *p = a->apart; p; p = p->next)
        if (p->copy == copy) p->copy = NULL;
}

/* As struct orr_value.forget_guest. */
static void forget_guest(struct orr_owned *o)
{
    struct orr_away *a = o->value->away;
    if (!o->is_guest) return;
    o->is_guest = false;
    orr_spin_lock(&a->lock);
    remove_guest(a, o);
    lose_apart(a, o->handle);
    orr_spin_unlock(&a->lock);
}

/* ---- who has what: as all ranks know ---- */

static int holder_of(const struct orr_owned *o)
{
    return o->holder >= 0 ? o->holder : o->handle->mpi_rank;
}

/* ---- carrying out, and putting off ---- */

static void one_less(struct orr_data *h)
{
    if (!orr_owned_of(h)) return; /* out of memory for it: said */
    orr_sub_acq_rel(&orr_owned_of(h)->put_off, 1u);
}

/* Calls fn for each datum of an action; those of a task that the layer does not know yet get a record. */
static void each_datum(struct orr_away *a, const struct orr_action *act, void (*fn)(struct orr_data *h))
{
    if (act->handle) fn(act->handle);
    for (unsigned i = 0; act->task && i < (unsigned)orr_task_nbuffers(act->task); i++) {
        struct orr_data *h = STARPU_TASK_GET_HANDLE(act->task, i);
        if (orr_owned_get(a->value, h)) fn(h);
    }
}

static void set_away(struct orr_data *h, void *unused)
{
    (void)unused;
    orr_store_relaxed(&h->away, true);
}

/* Uses of h are looked at from now on, and of what overlaps it. */
static void watch(struct orr_data *h)
{
    if (orr_load_relaxed(&h->away)) return;
    set_away(h, NULL);
    if (orr_has_relatives(h)) orr_partition_relatives(h, set_away, NULL);
}

static void one_more(struct orr_data *h)
{
    orr_add_relaxed(&orr_owned_of(h)->put_off, 1u);
    watch(h);
}

/* Plans of partitioning that messages began in passing. */
struct opened {
    struct orr_later *done; /* [own: go_on] */
    int count;
    struct {
        struct orr_data *piece;
        unsigned plans;
    } some[8];
};

/* Most have none: the rest stays as it is. */
static void open_none(struct opened *o)
{
    o->count = 0;
    o->done = NULL;
}

/* In the order that pieces of pieces need. */
static void shut(struct opened *o)
{
    if (orr_likely(o->count == 0)) return;
    begin_acting();
    for (; o->count > 0; o->count--)
        orr_partition_shut_again(o->some[o->count - 1].piece, o->some[o->count - 1].plans);
    end_acting();
}

/* A send home. False: home has asked for that version, and got it: what it asked for at places before this
 * one has been heard of, and done. */
static bool must_send(struct orr_away *a, const struct orr_action *act)
{
    orr_spin_lock(&a->lock);
    if (act->serves) act->serves->served = act->version + 1;
    bool must = !act->unserved || orr_owned_of(act->handle)->served != act->version + 1;
    orr_spin_unlock(&a->lock);
    return must;
}

static void note_failure(struct orr_away *a, int r)
{
    int none = 0;
    if (r)
        atomic_compare_exchange_strong_explicit(&a->value->failed, &none, r, memory_order_relaxed,
                                                memory_order_relaxed);
}

/* ---- values that home has changed and holds, on their way to a copy here ---- */

/* That of a copy, which is the caller's from here on; NULL: there is none. */
static struct orr_data *take_apart(struct orr_away *a, const struct orr_data *copy)
{
    orr_spin_lock(&a->lock);
    struct orr_apart **at = &a->apart, *p;
    while (*at && (*at)->copy != copy) at = &(*at)->next;
    if ((p = *at)) *at = p->next;
    orr_spin_unlock(&a->lock);
    if (!p) return NULL;
    orr_sub_acq_rel(&a->napart, 1u);
    struct orr_data *value = p->value;
    orr_free(p);
    return value;
}

static void add_apart(struct orr_away *a, struct orr_data *copy, struct orr_data *value)
{
    struct orr_apart *p = orr_malloc(sizeof *p);
    if (!p) orr_fatal("out of memory for a value that another rank holds");
    orr_spin_lock(&a->lock);
    *p = (struct orr_apart){ .next = a->apart, .copy = copy, .value = value };
    a->apart = p;
    orr_spin_unlock(&a->lock);
    orr_add_relaxed(&a->napart, 1u);
}

/* The copy goes, or gets another value. */
static void forget_apart(struct orr_away *a, struct orr_data *copy)
{
    struct orr_data *value = orr_load_relaxed(&a->napart) ? take_apart(a, copy) : NULL;
    if (value) starpu_data_unregister_submit(value);
}

/* Something here is about to use the copy. */
static void use_apart(struct orr_away *a, struct orr_data *copy)
{
    struct orr_data *value = take_apart(a, copy);
    if (!value) return;
    begin_acting();
    note_failure(a, starpu_data_cpy(copy, value, 1, NULL, NULL));
    starpu_data_unregister_submit(value);
    end_acting();
}

static void bring_up_to_date(struct orr_away *a, const struct orr_action *act)
{
    forget_apart(a, NULL);
    for (unsigned i = 0; act->task && i < (unsigned)orr_task_nbuffers(act->task); i++)
        use_apart(a, STARPU_TASK_GET_HANDLE(act->task, i));
    if (act->kind == ORR_ACT_SEND || act->uses) use_apart(a, act->handle);
    if (act->kind == ORR_ACT_RECEIVE || act->kind == ORR_ACT_DROP) forget_apart(a, act->handle);
}

static int carry_out(struct orr_comm *c, const struct orr_action *act, struct opened *o)
{
    struct orr_away *a = c->cluster->value->away;
    if ((act->unserved || act->serves) && !must_send(a, act)) return 0;
    if (orr_unlikely(orr_load_relaxed(&a->napart) > 0)) bring_up_to_date(a, act);
    unsigned plans = orr_unlikely(act->aside && act->handle->parent) ? orr_partition_shut(act->handle) : 0;
    if (plans && o->count == (int)(sizeof o->some / sizeof o->some[0])) {
        shut(o);
        plans = orr_partition_shut(act->handle);
    }
    begin_acting();
    int r = orr_action_carry_out(c, act);
    end_acting();
    if (!plans) return r;
    o->some[o->count].piece = act->handle;
    o->some[o->count++].plans = plans;
    return r;
}

static int carry_out_alone(struct orr_comm *c, const struct orr_action *act)
{
    struct opened o;
    open_none(&o);
    int r = carry_out(c, act, &o);
    shut(&o);
    return r;
}

/* One that is done aside, and counts as done when the plans that it began in passing have ended. */
static void carry_out_aside(struct orr_away *a, struct orr_later *l, struct opened *o)
{
    note_failure(a, carry_out(l->comm, &l->action, o));
    l->next = o->done;
    o->done = l;
}

static void shut_and_end(struct orr_away *a, struct opened *o)
{
    shut(o);
    for (struct orr_later *l; (l = o->done);) {
        o->done = l->next;
        one_less(l->action.handle);
        orr_free(l);
        orr_progress_over(&cluster_of(a)->progress, false);
    }
}

/* Whether whoever joins h now has to wait. */
static bool is_in_use(struct orr_data *h)
{
    orr_spin_lock(&h->queue.lock);
    bool is = h->queue.active > 0 || h->queue.head;
    orr_spin_unlock(&h->queue.lock);
    return is || (h->parent && orr_partition_shut(h) > 0);
}

/* What home changed comes while the copy here is in use, and what uses it may wait for something that home
 * does only when the value has gone: it is received by itself, and copied when its turn comes. What the
 * program at home has acquired is copied only when something here needs it: nobody else waits for its
 * release. */
static int receive_apart(struct orr_away *a, struct orr_comm *c, const struct orr_action *act)
{
    struct orr_action apart = *act;
    apart.handle = NULL;
    forget_apart(a, act->handle);
    begin_acting();
    starpu_data_register_same(&apart.handle, act->handle);
    int r = apart.handle ? orr_owned_hide(a->value, apart.handle, orr_owned_tag(act->handle)) : -ENOMEM;
    if (!r) r = orr_action_carry_out(c, &apart);
    if (!r && act->acquired)
        add_apart(a, act->handle, apart.handle);
    else if (!r)
        r = starpu_data_cpy(act->handle, apart.handle, 1, NULL, NULL);
    if (apart.handle && (r || !act->acquired)) starpu_data_unregister_submit(apart.handle);
    end_acting();
    return r;
}

static int carry_out_put_off(struct orr_away *a, struct orr_comm *c, const struct orr_action *act)
{
    bool apart = act->changed && (act->acquired || is_in_use(act->handle));
    return orr_unlikely(apart) ? receive_apart(a, c, act) : carry_out_alone(c, act);
}

/* Its data may be let go of as soon as it is done, and then be gone: they are noted before. */
static void carry_out_later(struct orr_away *a, struct orr_later *l)
{
    enum { DATA = 8 };
    unsigned n = l->action.task ? (unsigned)orr_task_nbuffers(l->action.task) : 0;
    struct orr_data *some[DATA], **data = n <= DATA ? some : orr_malloc(n * sizeof *data);
    if (!data) orr_fatal("out of memory: a task that was put off cannot be submitted");
    for (unsigned i = 0; i < n; i++) data[i] = STARPU_TASK_GET_HANDLE(l->action.task, i);
    note_failure(a, carry_out_put_off(a, l->comm, &l->action));
    for (unsigned i = 0; i < n; i++) one_less(data[i]);
    if (l->action.handle) one_less(l->action.handle);
    if (data != some) orr_free(data);
    orr_free(l);
    orr_progress_over(&cluster_of(a)->progress, false);
}

/* With the lock. */
static bool is_open(const struct orr_away *a, int32_t home, uint64_t position)
{
    return home < 0 || (a->reached && a->reached[home] > position);
}

static struct orr_later *make_later(struct orr_away *a, struct orr_comm *c, uint64_t position,
                                    const struct orr_action *act)
{
    struct orr_later *l = orr_malloc(sizeof *l);
    if (!l) orr_fatal("out of memory: what tasks need cannot be remembered until it may be done");
    *l = (struct orr_later){ .comm = c, .position = position, .action = *act };
    each_datum(a, act, one_more);
    orr_progress_begun(&cluster_of(a)->progress);
    return l;
}

/* With the lock. */
static void append(struct orr_away *a, struct orr_later *first, struct orr_later **last)
{
    *a->tail = first;
    a->tail = last;
}

/* What home asked for, or changed. */
static bool is_answer(const struct orr_action *act)
{
    return act->serves || act->changed;
}

/* With the lock: what home asks at a position comes before this rank's own part in it, and as it was asked.
 */
static void insert(struct orr_away *a, struct orr_later *l)
{
    struct orr_later **at = &a->head;
    while (*at &&
           ((*at)->position < l->position || ((*at)->position == l->position && is_answer(&(*at)->action))))
        at = &(*at)->next;
    if (!(l->next = *at)) a->tail = &l->next;
    *at = l;
}

/* ---- news ---- */

static void advance(struct orr_away *a);

static void advance_aside(struct orr_waiter *w)
{
    struct orr_away *a = (struct orr_away *)((char *)w - offsetof(struct orr_away, waiter));
    orr_spin_lock(&a->lock);
    a->queued = false;
    orr_spin_unlock(&a->lock);
    advance(a);
    orr_spin_lock(&a->lock);
    a->asides--; /* a may be gone from here on */
    orr_spin_unlock(&a->lock);
}

/* While messages are moved, this is only kept. */
static void on_news(void *arg, int source, const struct orr_wire_header *h, const void *data)
{
    (void)data;
    struct orr_away *a = arg;
    struct orr_news *n = orr_malloc(sizeof *n);
    if (!n) orr_fatal("out of memory for what rank %d asks of data that are away from their owner", source);
    *n = (struct orr_news){ .what = (enum orr_control)h->type,
                            .source = source,
                            .tag = h->tag,
                            .position = h->id,
                            .version = h->bulk_tag };
    orr_spin_lock(&a->lock);
    *a->last_news = n;
    a->last_news = &n->next;
    bool call = !a->queued;
    a->queued = true;
    a->asides += call;
    orr_spin_unlock(&a->lock);
    if (call && !orr_waiter_put_off(&a->waiter, advance_aside)) {
        orr_spin_lock(&a->lock);
        a->queued = false; /* whoever comes by looks */
        a->asides--;
        orr_spin_unlock(&a->lock);
    }
}

/* A new value for data that is not registered any more: it is taken and forgotten. */
struct sink {
    struct orr_request request; /* first */
    struct orr_mpi_progress *progress;
    void *bytes;
    bool unawaited; /* it comes when the program at home releases it */
};

static void *sink_room(struct orr_request *r, size_t bytes)
{
    return ((struct sink *)r)->bytes = orr_malloc(bytes ? bytes : 1);
}

static void sink_done(struct orr_request *r)
{
    struct sink *s = (struct sink *)r;
    struct orr_mpi_progress *p = s->progress;
    if (s->unawaited) orr_progress_await(p);
    orr_free(s->bytes);
    orr_free(s);
    orr_progress_over(p, true);
}

static void sink(struct orr_away *a, const struct orr_news *n)
{
    struct orr_cluster *cl = cluster_of(a);
    struct sink *s = orr_calloc(1, sizeof *s);
    if (!s) orr_fatal("out of memory for a value that is not needed any more");
    orr_request_init(&s->request);
    s->progress = &cl->progress;
    s->request.node = (struct orr_match_node){ .context = cl->comm->context | ORR_CONTEXT_AWAY,
                                               .peer = n->source,
                                               .tag = n->tag };
    s->request.kind = ORR_RECV;
    s->request.done = sink_done;
    s->request.make_room = sink_room;
    s->request.payload = (struct orr_payload){ .any_size = true };
    s->request.nameless = true;
    s->unawaited = n->version;
    orr_progress_begun(&cl->progress);
    if (s->unawaited) orr_progress_unawait(&cl->progress);
    orr_engine_post(&cl->engine, &s->request, true);
    orr_progress_pass(&cl->progress);
}

/* Its place in what is to be done here. A datum that is gone, or came since, was sent home when it went. */
static void take_question(struct orr_away *a, const struct orr_news *n)
{
    struct orr_action act = { .kind = n->what == ORR_CONTROL_FETCH ? ORR_ACT_SEND : ORR_ACT_RECEIVE,
                              .away = true,
                              .changed = n->what == ORR_CONTROL_CHANGED,
                              .acquired = n->what == ORR_CONTROL_CHANGED && n->version,
                              .gate = -1,
                              .peer = n->source };
    orr_spin_lock(&a->lock);
    struct orr_guest *g = find_guest(a, n->tag);
    if (g && n->position > g->since) act.handle = g->owned->handle;
    if (act.handle && n->what == ORR_CONTROL_FETCH) {
        struct orr_kept *k = orr_kept_find(a->kept, g->owned, n->version);
        act.serves = g->owned;
        act.version = n->version;
        if (k) act.handle = k->value; /* the program here has written the copy since */
    }
    if (act.handle) one_more(act.handle); /* so that it stays */
    orr_spin_unlock(&a->lock);
    if (!act.handle) {
        if (n->what == ORR_CONTROL_CHANGED) sink(a, n);
        return;
    }
    struct orr_later *l = make_later(a, cluster_of(a)->comm, n->position, &act);
    orr_spin_lock(&a->lock);
    insert(a, l);
    orr_spin_unlock(&a->lock);
    one_less(act.handle);
}

static bool allocate_ranks(struct orr_away *a)
{
    size_t size = (size_t)cluster_of(a)->size;
    if (a->reached) return true;
    uint64_t *reached = orr_calloc(2 * size, sizeof *reached);
    if (!reached) return false;
    orr_spin_lock(&a->lock);
    a->reached = reached;
    a->watched = reached + size;
    orr_spin_unlock(&a->lock);
    return true;
}

static bool add_watcher(struct orr_away *a, int peer, uint64_t position)
{
    uint32_t room = a->watchers_room ? a->watchers_room * 2 : 8;
    if (a->nwatchers == a->watchers_room) {
        struct orr_watcher *more = orr_realloc(a->watchers, room * sizeof *more);
        if (!more) return false;
        a->watchers = more;
        a->watchers_room = room;
    }
    a->watchers[a->nwatchers++] = (struct orr_watcher){ peer, position };
    return true;
}

/* With the lock. Home waits for what it asked for, so it gets it as soon as all before is decided. What it
 * changed is taken only with the insertion that follows: a copy that the program got here stays as it is. */
static bool is_due(const struct orr_away *a, const struct orr_news *n)
{
    if (n->what == ORR_CONTROL_FETCH) return n->position <= a->decided;
    return n->what != ORR_CONTROL_CHANGED || n->position < a->position;
}

/* With the lock. */
static struct orr_news **first_due(struct orr_away *a)
{
    struct orr_news **at = &a->early;
    while (*at && !is_due(a, *at)) at = &(*at)->next;
    return at;
}

/* With the lock: one of the news whose time has come; those of positions to come wait. */
static struct orr_news *next_news(struct orr_away *a)
{
    struct orr_news *n, **at = first_due(a);
    if ((n = *at)) {
        *at = n->next;
        return n;
    }
    while ((n = a->news)) {
        if (!(a->news = n->next)) a->last_news = &a->news;
        if (is_due(a, n)) return n;
        while (*at) at = &(*at)->next;
        n->next = NULL;
        *at = n;
    }
    return NULL;
}

static void take_position(struct orr_away *a, const struct orr_news *n)
{
    uint64_t answer = 0;
    bool failed = !allocate_ranks(a);
    orr_spin_lock(&a->lock);
    if (n->what == ORR_CONTROL_REACHED && !failed) {
        if (a->reached[n->source] < n->position) a->reached[n->source] = n->position;
    } else if (a->position > n->position) {
        answer = a->position;
    } else {
        failed = failed || !add_watcher(a, n->source, n->position);
    }
    orr_spin_unlock(&a->lock);
    if (failed) orr_fatal("out of memory for what ranks know of each other");
    if (answer) tell(a, n->source, ORR_CONTROL_REACHED, 0, answer, 0);
}

static void take_news(struct orr_away *a, struct orr_news *n)
{
    if (n->what == ORR_CONTROL_COMING) {
        orr_spin_lock(&a->lock);
        n->next = a->coming;
        a->coming = n;
        orr_spin_unlock(&a->lock);
        orr_progress_signal(&cluster_of(a)->progress);
        return;
    }
    if (n->what == ORR_CONTROL_FETCH || n->what == ORR_CONTROL_CHANGED)
        take_question(a, n);
    else
        take_position(a, n);
    orr_free(n);
}

/* With the lock: whether the head must be asked for; then it counts as asked. */
static bool must_ask(struct orr_away *a)
{
    const struct orr_later *l = a->head;
    if (!l || is_open(a, l->action.gate, l->position)) return false;
    if (!a->watched || a->watched[l->action.gate] > l->position) return !a->watched;
    a->watched[l->action.gate] = l->position + 1;
    return true;
}

static struct orr_later *pop_open(struct orr_away *a)
{
    struct orr_later *l = a->head;
    if (!l || !is_open(a, l->action.gate, l->position)) return NULL;
    if (!(a->head = l->next)) a->tail = &a->head;
    return l;
}

static void ask(struct orr_away *a)
{
    if (!a->watched) { /* once: then it is looked at again */
        if (!allocate_ranks(a)) orr_fatal("out of memory for what ranks know of each other");
        return;
    }
    orr_spin_lock(&a->lock);
    int32_t home = a->head ? a->head->action.gate : -1;
    uint64_t position = home >= 0 ? a->watched[home] - 1 : 0;
    orr_spin_unlock(&a->lock);
    if (home >= 0) tell(a, home, ORR_CONTROL_WATCH, 0, position, 0);
}

/* Busy, with the lock, which is let go in between: all that can be done now. What is done aside one after the
 * other begins a plan once. */
static void go_on(struct orr_away *a)
{
    struct opened o;
    open_none(&o);
    for (;;) {
        struct orr_news *n = next_news(a);
        struct orr_later *l = n ? NULL : pop_open(a);
        bool asks = !n && !l && must_ask(a), aside = l && l->action.aside;
        if (!n && !l && !asks && !o.done) return;
        orr_spin_unlock(&a->lock);
        if (!aside && o.done) shut_and_end(a, &o);
        if (n) take_news(a, n);
        if (aside)
            carry_out_aside(a, l, &o);
        else if (l)
            carry_out_later(a, l);
        if (asks) ask(a);
        orr_spin_lock(&a->lock);
    }
}

/* With the lock, which is let go. Who waits until nothing is left was told when the last was done, and has
 * found a busy. */
static void end_busy(struct orr_away *a)
{
    struct orr_mpi_progress *p = &cluster_of(a)->progress;
    bool none = !a->head;
    a->busy = false;
    orr_spin_unlock(&a->lock);
    if (none) orr_progress_signal(p);
}

/* If another thread does, it sees what this one wants before it stops. */
static void advance(struct orr_away *a)
{
    orr_spin_lock(&a->lock);
    if (!a->busy) {
        a->busy = true;
        go_on(a);
        end_busy(a);
        return;
    }
    orr_spin_unlock(&a->lock);
}

/* ---- lists ---- */

/* From to on; last: nothing more of this place follows. */
static void do_at_once(struct orr_away *a, struct orr_actions *l, int from, int to, bool last)
{
    struct opened o;
    open_none(&o);
    for (int i = from; i < to; i++) {
        int r = carry_out(l->comm, &l->list[i], &o);
        if (r && !l->status) l->status = r;
    }
    shut(&o);
    orr_spin_lock(&a->lock);
    if (last) a->decided = a->position;
    a->deciding = false;
    go_on(a);
    end_busy(a);
}

static void put_off(struct orr_away *a, struct orr_actions *l, int from, int to, bool is_last)
{
    struct orr_later *first = NULL, **last = &first;
    for (int i = from; i < to; i++) {
        *last = make_later(a, l->comm, l->position, &l->list[i]);
        last = &(*last)->next;
    }
    orr_spin_lock(&a->lock);
    if (first) append(a, first, last);
    if (is_last) a->decided = a->position;
    a->deciding = false;
    orr_spin_unlock(&a->lock);
    advance(a);
}

static void do_some(struct orr_actions *l, int from, int to, bool last)
{
    struct orr_away *a = l->comm->cluster->value->away;
    orr_spin_lock(&a->lock);
    bool now = !a->busy && !a->head && !a->news && !*first_due(a);
    for (int i = from; i < to && now; i++) now = is_open(a, l->list[i].gate, l->position);
    if (now) a->busy = true;
    orr_spin_unlock(&a->lock);
    if (now)
        do_at_once(a, l, from, to, last);
    else
        put_off(a, l, from, to, last);
}

/* ---- waiting ---- */

static bool nothing_of_it(const struct orr_data *h)
{
    const struct orr_owned *o = orr_owned_of(h);
    return !o || orr_load_acquire(&o->put_off) == 0;
}

static void look_at_relative(struct orr_data *h, void *nothing)
{
    *(bool *)nothing &= nothing_of_it(h);
}

/* Nor of what overlaps it. */
static bool nothing_of(void *h)
{
    bool nothing = nothing_of_it(h);
    if (nothing && orr_has_relatives(h)) orr_partition_relatives(h, look_at_relative, &nothing);
    return nothing;
}

static void settle(struct orr_away *a, struct orr_data *h)
{
    if (nothing_of(h)) return;
    advance(a);
    orr_progress_wait(&cluster_of(a)->progress, nothing_of, h);
}

static bool nothing_is_left(void *arg)
{
    struct orr_away *a = arg;
    orr_spin_lock(&a->lock);
    bool none = !a->head && !a->busy;
    orr_spin_unlock(&a->lock);
    return none;
}

static void settle_all(struct orr_away *a)
{
    advance(a);
    orr_progress_wait(&cluster_of(a)->progress, nothing_is_left, a);
}

void orr_away_settle_data(struct orr_comm *c, struct orr_data *h)
{
    settle(c->cluster->value->away, h);
}

void orr_away_settle_all(struct orr_comm *c)
{
    settle_all(c->cluster->value->away);
}

/* ---- the inserting thread decides, or others look at what is known ---- */

static void pause_unlocked(struct orr_away *a)
{
    orr_spin_unlock(&a->lock);
    sched_yield();
    orr_spin_lock(&a->lock);
}

/* With the lock; from here until a list is done. Those that look do not wait for anybody. */
static void decide(struct orr_away *a)
{
    while (orr_unlikely(a->users)) pause_unlocked(a);
    a->deciding = true;
}

static void decide_again(struct orr_away *a)
{
    orr_spin_lock(&a->lock);
    decide(a);
    orr_spin_unlock(&a->lock);
}

static void look(struct orr_away *a)
{
    orr_spin_lock(&a->lock);
    while (a->deciding && orr_load_relaxed(&a->inserter) != orr_self()) pause_unlocked(a);
    a->users++;
    orr_spin_unlock(&a->lock);
}

static void end_look(struct orr_away *a)
{
    orr_spin_lock(&a->lock);
    a->users--;
    orr_spin_unlock(&a->lock);
}

/* A task that is waited for where it is submitted is not put off: what is ahead of it is waited for, too. */
static void do_synchronous(struct orr_actions *l, int at)
{
    do_some(l, 0, at, false);
    settle_all(l->comm->cluster->value->away);
    int r = carry_out_alone(l->comm, &l->list[at]);
    decide_again(l->comm->cluster->value->away);
    if (r && !l->status) l->status = r;
}

static int do_list(struct orr_actions *l, bool last)
{
    int from = 0;
    for (int i = 0; i < l->count; i++)
        if (orr_unlikely(l->list[i].task && l->list[i].task->synchronous)) do_synchronous(l, i), from = i + 1;
    do_some(l, from, l->count, last);
    l->count = 0;
    return l->status;
}

int orr_away_do(struct orr_actions *l)
{
    return do_list(l, true);
}

int orr_away_settle(struct orr_actions *l, struct orr_data *h)
{
    int r = do_list(l, false);
    settle(l->comm->cluster->value->away, h);
    decide_again(l->comm->cluster->value->away);
    return r;
}

/* ---- home: what it changed ---- */

static bool wants_change(const struct orr_owned *o, int rank)
{
    return rank != o->handle->mpi_rank && (holder_of(o) == rank || orr_rank_set_has(&o->sent, rank));
}

static void look_whether_acquired(struct orr_data *h, void *acquired)
{
    *(bool *)acquired |= orr_data_is_wanted(h);
}

/* By the program; or what overlaps it. */
static bool is_acquired(struct orr_data *h)
{
    bool acquired = orr_data_is_wanted(h);
    if (!acquired && orr_has_relatives(h)) orr_partition_relatives(h, look_whether_acquired, &acquired);
    return acquired;
}

static void send_change(struct orr_away *a, struct orr_owned *o, int rank, uint64_t position,
                        struct opened *opened)
{
    const struct orr_action act = { .kind = ORR_ACT_SEND,
                                    .away = true,
                                    .aside = true,
                                    .acquired = is_acquired(o->handle),
                                    .peer = rank,
                                    .handle = o->handle };
    tell(a, rank, ORR_CONTROL_CHANGED, o->tag, position, act.acquired);
    carry_out(cluster_of(a)->comm, &act, opened);
}

/* To all that have the value, but for rank except. */
static void send_changes(struct orr_away *a, struct orr_owned *o, uint64_t position, int except,
                         struct opened *opened)
{
    const struct orr_rank_set *s = &o->sent;
    int size = cluster_of(a)->size, holder = holder_of(o);
    if (holder != o->handle->mpi_rank && holder != except) send_change(a, o, holder, position, opened);
    for (uint32_t i = 0; !s->bits && i < s->count; i++)
        if (s->inline_ranks[i] != holder && s->inline_ranks[i] != except &&
            wants_change(o, s->inline_ranks[i]))
            send_change(a, o, s->inline_ranks[i], position, opened);
    for (int rank = 0; s->bits && rank < size; rank++)
        if (rank != holder && rank != except && wants_change(o, rank))
            send_change(a, o, rank, position, opened);
}

/* With the lock. */
static void remove_change(struct orr_away *a, struct orr_owned *o)
{
    for (uint32_t i = 0; o->changed && i < a->nchanged; i++)
        if (a->changed[i] == o) a->changed[i] = a->changed[--a->nchanged];
    o->changed = false;
}

/* Partitioned ones wait until they are put together, and those to which contributions are pending that not
 * all ranks see until they are added up. */
static bool may_tell(const struct orr_owned *o)
{
    return !orr_load_relaxed(&o->handle->partitioned) && !(o->redux && o->redux->unseen);
}

/* With the lock. */
static struct orr_owned *take_changed(struct orr_away *a)
{
    struct orr_owned *o = NULL;
    for (uint32_t i = 0; i < a->nchanged && !o; i++)
        if (may_tell(a->changed[i])) o = a->changed[i];
    if (o) remove_change(a, o);
    return o;
}

void orr_away_tell_change(struct orr_comm *c, struct orr_data *h, int except)
{
    struct orr_away *a = c->cluster->value->away;
    struct orr_owned *o = orr_owned_of(h);
    orr_spin_lock(&a->lock);
    bool tells = o->changed && may_tell(o);
    if (tells) remove_change(a, o);
    uint64_t position = a->position;
    orr_spin_unlock(&a->lock);
    if (!tells) return;
    struct opened opened;
    open_none(&opened);
    send_changes(a, o, position, except, &opened);
    shut(&opened);
}

static void note_change(struct orr_away *a, struct orr_owned *o)
{
    uint32_t room = a->changed_room ? a->changed_room * 2 : 16;
    orr_spin_lock(&a->lock);
    bool full = a->nchanged == a->changed_room;
    struct orr_owned **more = full ? orr_realloc(a->changed, room * sizeof *more) : a->changed;
    if (more && !o->changed) {
        if (full) a->changed_room = room;
        a->changed = more;
        a->changed[a->nchanged++] = o;
        o->changed = true;
    }
    orr_spin_unlock(&a->lock);
    if (!more) orr_fatal("out of memory: what is changed at home cannot be told to others");
}

void orr_away_forget_change(struct orr_data *h)
{
    struct orr_owned *o = orr_owned_of(h);
    struct orr_away *a = o->value->away;
    if (!o->changed) return;
    orr_spin_lock(&a->lock);
    remove_change(a, o);
    orr_spin_unlock(&a->lock);
}

/* Not of what others hold: what goes home with their copy is what home made of it. */
void orr_away_give_up_copies(struct orr_comm *c, const struct orr_data *h)
{
    struct orr_away *a = c->cluster->value->away;
    orr_spin_lock(&a->lock);
    for (uint32_t i = a->nchanged; i-- > 0;) {
        struct orr_owned *o = a->changed[i];
        if ((h && o->handle != h) || !may_tell(o) || !orr_owned_can_move(c, o->handle)) continue;
        if (holder_of(o) == o->handle->mpi_rank) remove_change(a, o);
    }
    orr_spin_unlock(&a->lock);
}

/* ---- values that home sends where not all ranks see it ---- */

struct expected {
    struct orr_away *away;
    int64_t tag;
    int home;
    bool come;
};

/* Takes the news of it, and may be asked again. */
static bool has_come(void *arg)
{
    struct expected *e = arg;
    struct orr_away *a = e->away;
    if (e->come) return true;
    orr_spin_lock(&a->lock);
    struct orr_news **at = &a->coming, *n;
    while (*at && ((*at)->tag != e->tag || (*at)->source != e->home)) at = &(*at)->next;
    if ((n = *at)) *at = n->next;
    orr_spin_unlock(&a->lock);
    e->come = n != NULL;
    orr_free(n);
    return e->come;
}

void orr_away_announce(struct orr_comm *c, struct orr_data *h, int peer)
{
    tell(c->cluster->value->away, peer, ORR_CONTROL_COMING, orr_owned_tag(h), 0, 0);
}

void orr_away_expect(struct orr_comm *c, struct orr_data *h, int home)
{
    struct orr_away *a = c->cluster->value->away;
    struct expected e = { .away = a, .tag = orr_owned_tag(h), .home = home };
    advance(a);
    orr_progress_wait(&c->cluster->progress, has_come, &e);
    settle(a, h);
}

/* Those of o, and of values that are old; o may be NULL. */
static void drop_kept(struct orr_away *a, const struct orr_owned *o)
{
    for (;;) {
        orr_spin_lock(&a->lock);
        struct orr_kept *k = orr_kept_take_old(&a->kept, o);
        orr_spin_unlock(&a->lock);
        if (!k) return;
        orr_sub_acq_rel(&a->nkept, 1u);
        orr_kept_drop(k);
    }
}

/* ---- the stream ---- */

/* Those that wait for this place. With the lock; one that is to be told. */
static bool next_watcher(struct orr_away *a, struct orr_watcher *out)
{
    for (uint32_t i = 0; i < a->nwatchers; i++) {
        if (a->watchers[i].position >= a->position) continue;
        *out = a->watchers[i];
        a->watchers[i] = a->watchers[--a->nwatchers];
        return true;
    }
    return false;
}

enum { LOOK_EACH = 16 }; /* places: then messages are moved */

/* Actions that were put off are no hindrance: who lets them go on is whoever hears of their homes. */
bool orr_away_pass_begin(struct orr_comm *c)
{
    struct orr_away *a = c->cluster->value->away;
    if (a->position % LOOK_EACH == 0) return false;
    orr_spin_lock(&a->lock);
    if (orr_likely(!a->nchanged && !a->users && !a->nwatchers && !a->news && !a->early)) return true;
    orr_spin_unlock(&a->lock);
    return false;
}

void orr_away_pass_end(struct orr_comm *c)
{
    struct orr_away *a = c->cluster->value->away;
    a->decided = ++a->position;
    orr_spin_unlock(&a->lock);
}

void orr_away_skip(struct orr_comm *c, uint64_t places)
{
    struct orr_away *a = c->cluster->value->away;
    if (!places) return;
    if (a->position / LOOK_EACH != (a->position + places) / LOOK_EACH)
        orr_progress_pass(&c->cluster->progress);
    orr_spin_lock(&a->lock);
    a->position += places;
    orr_spin_unlock(&a->lock);
}

/* From here on the inserting thread decides: nobody ends what is told of meanwhile. */
static void tell_changes(struct orr_away *a, uint64_t position)
{
    struct opened opened;
    open_none(&opened);
    orr_spin_lock(&a->lock);
    decide(a);
    for (struct orr_owned *o; (o = take_changed(a));) {
        orr_spin_unlock(&a->lock);
        send_changes(a, o, position, -1, &opened);
        orr_spin_lock(&a->lock);
    }
    orr_spin_unlock(&a->lock);
    shut(&opened);
}

uint64_t orr_away_begin(struct orr_comm *c)
{
    struct orr_away *a = c->cluster->value->away;
    struct orr_watcher w;
    uint64_t position = a->position;
    orr_store_relaxed(&a->inserter, orr_self());
    tell_changes(a, position);
    if (orr_unlikely(orr_load_relaxed(&a->nkept) > 0)) drop_kept(a, NULL);
    orr_progress_attend(&c->cluster->progress, true);
    if (position % LOOK_EACH == 0) orr_progress_pass(&c->cluster->progress);
    orr_spin_lock(&a->lock);
    a->decided = position;
    a->position = position + 1;
    while (orr_unlikely(a->nwatchers) && next_watcher(a, &w)) {
        orr_spin_unlock(&a->lock);
        tell(a, w.peer, ORR_CONTROL_REACHED, 0, position + 1, 0);
        orr_spin_lock(&a->lock);
    }
    orr_spin_unlock(&a->lock);
    return position;
}

void orr_away_watch(struct orr_comm *c, struct orr_data *h, bool here, uint64_t position)
{
    watch(h);
    if (!here || orr_owned_of(h)->is_guest) return;
    orr_owned_of(h)->is_guest = true;
    add_guest(c->cluster->value->away, orr_owned_of(h), position);
}

/* ---- uses by the program ---- */

/* One thread at a time does what is to be in o's queue ahead of its use. With the lock; the others, which use
 * it too, wait until it is there: not for other ranks. */
static void enter_ahead(struct orr_away *a, struct orr_owned *o)
{
    while (orr_unlikely(o->ahead)) pause_unlocked(a);
    o->ahead = true;
}

static void leave_ahead(struct orr_away *a, struct orr_owned *o)
{
    orr_spin_lock(&a->lock);
    o->ahead = false;
    orr_spin_unlock(&a->lock);
}

/* Home asks the holder for the value, and takes it ahead of the use. */
static void fetch(struct orr_away *a, struct orr_owned *o)
{
    const struct orr_action act = {
        .kind = ORR_ACT_RECEIVE, .away = true, .peer = o->holder, .handle = o->handle
    };
    orr_spin_lock(&a->lock);
    enter_ahead(a, o);
    bool asked = o->asked == o->version + 1;
    o->asked = o->version + 1;
    uint64_t position = a->position;
    orr_spin_unlock(&a->lock);
    if (!asked) carry_out_alone(cluster_of(a)->comm, &act);
    leave_ahead(a, o);
    if (!asked) tell(a, o->holder, ORR_CONTROL_FETCH, o->tag, position, o->version);
}

static void use_at_home(struct orr_away *a, struct orr_owned *o, uint32_t how)
{
    bool mine = o->holder < 0 || orr_rank_set_has(&o->sent, o->handle->mpi_rank);
    if (how & ORR_USE_EMPTIES) return; /* what it has is the program's no more, wherever it is */
    if (!mine) fetch(a, o);
    if (how & ORR_USE_WRITES && (o->holder >= 0 || o->sent.count)) note_change(a, o);
    if (how & ORR_USE_ENDS) orr_away_forget_change(o->handle);
}

/* With the lock: home does not have o's value, and has not asked for it yet. */
static bool owes_locked(const struct orr_away *a, const struct orr_owned *o)
{
    int me = cluster_of(a)->rank, home = o->handle->mpi_rank;
    return home != me && o->holder == me && !orr_rank_set_has(&o->sent, home) && o->served != o->version + 1;
}

/* The program writes its copy of another rank's datum, and that is the only one: home's answer is not to wait
 * for what the copy waits for (a message from home, perhaps), nor to be what was written. */
static void write_as_guest(struct orr_away *a, struct orr_owned *o)
{
    forget_apart(a, o->handle);
    orr_spin_lock(&a->lock);
    enter_ahead(a, o);
    bool keeps = owes_locked(a, o) && !orr_kept_find(a->kept, o, o->version) &&
                 !orr_load_relaxed(&o->handle->partitioned);
    orr_spin_unlock(&a->lock);
    struct orr_kept *k = keeps ? orr_kept_make(o) : NULL;
    orr_spin_lock(&a->lock);
    if (k) {
        k->next = a->kept;
        a->kept = k;
        orr_add_relaxed(&a->nkept, 1u);
    }
    o->ahead = false;
    orr_spin_unlock(&a->lock);
}

/* A value that home does not have yet goes there: home asks, and perhaps too late. A copy does, so that who
 * ends the datum need not wait until home takes it. */
static void end_as_guest(struct orr_away *a, struct orr_owned *o)
{
    struct orr_data *h = o->handle;
    o->is_guest = false;
    orr_spin_lock(&a->lock);
    remove_guest(a, o);
    const struct orr_kept *k = orr_kept_find(a->kept, o, o->version);
    orr_spin_unlock(&a->lock);
    settle(a, h); /* what was asked until now is answered while the datum is there; nothing is from now on */
    forget_apart(a, h); /* it may have come just now */
    if (k) settle(a, k->value);
    orr_spin_lock(&a->lock);
    bool owes = owes_locked(a, o);
    orr_spin_unlock(&a->lock);
    struct orr_kept *copy = owes && !k ? orr_kept_make(o) : NULL;
    const struct orr_action act = { .kind = ORR_ACT_SEND,
                                    .away = true,
                                    .peer = h->mpi_rank,
                                    .handle = copy ? copy->value
                                              : k  ? k->value
                                                   : h };
    if (owes) carry_out_alone(cluster_of(a)->comm, &act);
    if (copy) orr_kept_drop(copy);
    drop_kept(a, o);
}

static int refuse(const struct orr_data *h, uint32_t how)
{
    if (how & ORR_USE_TRIES) return -EAGAIN;
    orr_error(
        "the data with tag %lld is used in a task or a callback, and tasks that were inserted before and "
        "use it wait for another rank: use it from the thread that inserts, or call "
        "starpu_mpi_wait_for_all before",
        (long long)orr_owned_tag(h));
    return -EDEADLK;
}

static void joined(void)
{
    struct orr_acting *own = orr_acting(orr_self());
    end_look(own->joins);
    own->joins = NULL;
}

/* Any thread of the program, and callbacks: as soon as nothing of h is left to be done. False: it would have
 * to wait for other ranks, and must not. */
static bool look_when_settled(struct orr_away *a, struct orr_data *h, uint32_t how)
{
    for (;;) {
        if (!nothing_of(h)) {
            advance(a);
            bool left = !nothing_of(h);
            if (left && (how & ORR_USE_TRIES || orr_task_inside() || orr_engine_in_callback())) return false;
            settle(a, h);
        }
        look(a);
        if (nothing_of(h)) return true;
        end_look(a); /* the thread that inserts was faster */
    }
}

/* The same where the thread joins next: it looks until it has, so that what it changes is not told ahead of
 * that. It never waits while it looks: what it told before is to be told again then. */
static bool look_until_joined(struct orr_away *a, struct orr_data *h, uint32_t how)
{
    struct orr_acting *own = orr_acting(orr_self());
    if (own->joins == a && nothing_of(h)) return true;
    own->lapses += own->joins == a; /* of another cluster's data nobody can wait as well */
    if (own->joins) joined();
    if (!look_when_settled(a, h, how)) return false;
    own->joins = a;
    return true;
}

/* Whether what happens to whole happens to h. */
static bool is_within(const struct orr_data *h, const struct orr_data *whole)
{
    while (h && h != whole) h = h->parent;
    return h != NULL;
}

/* What the use of a datum is to one that overlaps it; 0: nothing. */
static uint32_t how_for(const struct orr_data *h, const struct orr_data *used, uint32_t how)
{
    if (is_within(h, used)) return how;
    if (how & ORR_USE_ENDS) return 0;
    return how & ORR_USE_EMPTIES ? (how & ~(uint32_t)ORR_USE_EMPTIES) | ORR_USE_WRITES : how;
}

/* Its owner is counted in the layer's own communicator; since an earlier start of it, perhaps. */
static bool is_of_base(const struct orr_data *h)
{
    return h->mpi_rank >= 0 && !(h->mpi_flags & ORR_MPI_OTHER_COMM);
}

static void use_one(struct orr_away *a, struct orr_data *h, uint32_t how)
{
    struct orr_owned *o = orr_owned_of(h);
    if (!how || !is_of_base(h) || h->mpi_flags & (ORR_MPI_PINNED | ORR_MPI_PIECE)) return;
    if (h->mpi_rank == cluster_of(a)->rank)
        use_at_home(a, o, how);
    else if (o->is_guest && how & (ORR_USE_WRITES | ORR_USE_EMPTIES))
        write_as_guest(a, o);
}

static void end_one(struct orr_away *a, struct orr_data *h, uint32_t how)
{
    if (how & ORR_USE_ENDS && is_of_base(h) && orr_owned_of(h)->is_guest) end_as_guest(a, orr_owned_of(h));
}

/* h, and what overlaps it. */
static int use_all(const struct orr_relatives *all, struct orr_data *h, uint32_t how)
{
    struct orr_value *v = all->count ? orr_owned_of(all->list[0])->value : NULL;
    if (!v || !orr_load_relaxed(&v->moves.on)) return 0;
    struct orr_away *a = v->away;
    bool joins = how & ORR_USE_JOINS && !(how & ORR_USE_ENDS);
    if (!(joins ? look_until_joined : look_when_settled)(a, h, how)) return refuse(h, how);
    for (int i = 0; i < all->count; i++) use_one(a, all->list[i], how_for(all->list[i], h, how));
    if (!joins) end_look(a);
    for (int i = 0; i < all->count; i++) end_one(a, all->list[i], how_for(all->list[i], h, how));
    return 0;
}

static int use(struct orr_data *h, uint32_t how)
{
    struct orr_relatives all;
    orr_relatives_find(&all, h);
    int r = use_all(&all, h, how);
    orr_relatives_free(&all);
    return r;
}

int orr_away_changes(struct orr_data *h)
{
    return use(h, ORR_USE_READS | ORR_USE_WRITES);
}

/* ---- the whole ---- */

static ORR_MUTEX(aways) list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct orr_away *list;

/* Of the calling thread, or of the only rank of the process. */
static struct orr_away *own(void)
{
    pthread_mutex_lock(&list_lock);
    struct orr_away *a = list;
    while (a && (list->next || !orr_load_relaxed(&a->value->moves.on)) &&
           orr_load_relaxed(&a->inserter) != orr_self())
        a = a->next;
    if (a && !orr_load_relaxed(&a->value->moves.on)) a = NULL;
    pthread_mutex_unlock(&list_lock);
    return a;
}

static void settle_own(void)
{
    struct orr_away *a = own();
    if (a && !orr_task_inside() && !orr_engine_in_callback()) settle_all(a);
}

static void install_hooks(void)
{
    orr_data_hooks.use = use;
    orr_data_hooks.joined = joined;
    orr_data_hooks.settle = settle_own;
}

int orr_away_start(struct orr_value *v, struct orr_controls *controls)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct orr_away *a = orr_calloc(1, sizeof *a);
    if (!a) return -ENOMEM;
    a->value = v;
    a->controls = controls;
    a->tail = &a->head;
    a->last_news = &a->news;
    v->away = a;
    v->forget_guest = forget_guest;
    pthread_once(&once, install_hooks);
    pthread_mutex_lock(&list_lock);
    a->next = list;
    list = a;
    pthread_mutex_unlock(&list_lock);
    orr_control_listen(controls, ORR_CONTROL_FETCH, ORR_CONTROL_COMING, on_news, a);
    return 0;
}

static void free_news(struct orr_news *n)
{
    for (struct orr_news *next; n; n = next) {
        next = n->next;
        orr_free(n);
    }
}

/* Nobody moves messages any more; a worker that did just before may be on its way out. */
static void wait_for_asides(struct orr_away *a)
{
    orr_spin_lock(&a->lock);
    while (a->asides) pause_unlocked(a);
    orr_spin_unlock(&a->lock);
}

void orr_away_end(struct orr_value *v)
{
    struct orr_away *a = v->away, **at = &list;
    orr_store_relaxed(&v->moves.on, false);
    v->away = NULL;
    v->forget_guest = NULL;
    if (!a) return;
    pthread_mutex_lock(&list_lock);
    while (*at != a) at = &(*at)->next;
    *at = a->next;
    pthread_mutex_unlock(&list_lock);
    wait_for_asides(a);
    while (a->apart) forget_apart(a, a->apart->copy);
    for (struct orr_kept *k; (k = a->kept);) {
        a->kept = k->next;
        orr_kept_drop(k);
    }
    free_news(a->news);
    free_news(a->early);
    free_news(a->coming);
    orr_free(a->reached);
    orr_free(a->watchers);
    orr_free(a->guests);
    orr_free(a->changed);
    orr_free(a);
}
