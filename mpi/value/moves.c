/* SPDX-License-Identifier: BSD-3-Clause */
/* moves.c: see moves.h. Every rank repeats every decision, for data in which it has no part as well: that is
 * why any of them may send the next value. Nothing here looks at what only one rank knows.
 * Contributions on another communicator: its ranks alone know of them, so holder and copies stay as all know
 * them. The contributor's memory is lost to its contribution, so home first has what it lacks, and a word to
 * the contributor that all it asked for and told is under way (give_up_copy). The sum is one more change of
 * home's: whoever is told of it before home's next insertion (away.c). So it is made before any insertion
 * with h begins, or other call that all see; home and contributors see that as well, so they agree on when.
 * Threads: see moves.h. Owns: see moves.h. Not here: messages (actions.c). */
#include "mpi/value/moves.h"

#include <errno.h>
#include <starpu.h>

#include "core/base/log.h"
#include "mpi/value/away.h"
#include "mpi/value/cache.h"
#include "mpi/value/exchange.h"
#include "mpi/value/message.h"
#include "mpi/value/redux.h"
#include "mpi/value/relatives.h"
#include "mpi/wire/cluster.h"

enum { NO_READER = STARPU_SCRATCH | STARPU_REDUX | STARPU_MPI_REDUX };

/* ---- who has it, as all ranks know ---- */

static int holder_of(const struct orr_data *h)
{
    const struct orr_owned *o = orr_owned_of(h);
    return o->holder >= 0 ? o->holder : h->mpi_rank;
}

static bool has(const struct orr_data *h, int rank)
{
    return holder_of(h) == rank || orr_rank_set_has(&orr_owned_of(h)->sent, rank);
}

/* This rank keeps a value that is not its own: what home writes meanwhile must reach it first. */
static bool is_guest(const struct orr_comm *c, const struct orr_data *h)
{
    return c->rank != h->mpi_rank && has(h, c->rank);
}

static int32_t gate_of(const struct orr_comm *c, const struct orr_data *h)
{
    return is_guest(c, h) ? h->mpi_rank : -1;
}

static struct orr_action action(const struct orr_actions *l, enum orr_action_kind kind, struct orr_data *h,
                                int peer, int priority)
{
    return (struct orr_action){
        .kind = (uint8_t)kind, .gate = gate_of(l->comm, h), .peer = peer, .priority = priority, .handle = h
    };
}

/* The holder sends h home, where it does not have to go if home asked for it itself: home knows, and the
 * holder by the time it would send (its gate). */
static void add_homecoming(struct orr_actions *l, struct orr_data *h, bool aside, bool sync, int priority)
{
    const struct orr_owned *o = orr_owned_of(h);
    int me = l->comm->rank, home = h->mpi_rank, holder = holder_of(h);
    struct orr_action a =
        action(l, me == holder ? ORR_ACT_SEND : ORR_ACT_RECEIVE, h, me == holder ? home : holder, priority);
    if (me != holder && (me != home || o->asked == o->version + 1)) return;
    a.aside = aside;
    a.sync = me == holder && sync;
    a.unserved = me == holder;
    a.version = o->version;
    orr_actions_add(l, &a);
}

static void add(struct orr_actions *l, enum orr_action_kind kind, struct orr_data *h, int peer, bool sync,
                int priority)
{
    struct orr_action a = action(l, kind, h, peer, priority);
    a.sync = sync;
    orr_actions_add(l, &a);
}

/* What is here is used, or goes: not before home has come so far. */
static void add_gate(struct orr_actions *l, struct orr_data *h)
{
    if (is_guest(l->comm, h)) add(l, ORR_ACT_NONE, h, -1, false, 0);
}

/* A guest is read: from here on it counts as received, also where this rank made it, as under
 * owner-computes. */
static void use_guest(struct orr_actions *l, struct orr_data *h)
{
    if (!is_guest(l->comm, h)) return;
    struct orr_action a = action(l, ORR_ACT_NONE, h, -1, 0);
    a.uses = true;
    orr_actions_add(l, &a);
    h->mpi_flags |= ORR_MPI_RECEIVED;
}

/* The flags of this rank follow from who has it. */
static void mark(const struct orr_comm *c, struct orr_data *h)
{
    const struct orr_owned *o = orr_owned_of(h);
    bool made = o->holder == c->rank && !(h->mpi_flags & ORR_MPI_RECEIVED);
    uint32_t f = h->mpi_flags & ~(uint32_t)(ORR_MPI_RECEIVED | ORR_MPI_MADE | ORR_MPI_SENT | ORR_MPI_AWAY);
    if (is_guest(c, h)) f |= made ? ORR_MPI_MADE : ORR_MPI_RECEIVED;
    if (o->sent.count) f |= ORR_MPI_SENT;
    if (o->holder >= 0) f |= ORR_MPI_AWAY;
    h->mpi_flags = f;
}

static void join_copies(struct orr_comm *c, struct orr_data *h, int rank)
{
    bool failed;
    struct orr_owned *o = orr_owned_of(h);
    orr_rank_set_add(&o->sent, rank, c->size, &failed);
    if (failed)
        orr_fatal("out of memory: the ranks that have the data with tag %lld cannot be remembered, and the "
                  "ranks would disagree; set ORRERY_MPI_SCHED=owner on all ranks",
                  (long long)o->tag);
}

/* The memory here for a value of another rank's is not needed any more. */
static void drop(struct orr_actions *l, struct orr_data *h)
{
    bool goes = orr_cache_let_go(h);
    if (goes || is_guest(l->comm, h)) add(l, goes ? ORR_ACT_DROP : ORR_ACT_NONE, h, -1, false, 0);
}

/* Who sends it to the next rank: the holder; of a large value that several have, those who have it in turn,
 * so that it goes along a binary tree. Beyond what is kept inline the order of the copies is not known, and
 * the first serve all. */
static int source_of(const struct orr_comm *c, const struct orr_data *h)
{
    const struct orr_rank_set *copies = &orr_owned_of(h)->sent;
    uint32_t before = copies->count / 2; /* 0: the holder; i: the i-th copy */
    if (before == 0 || h->ops->get_size((starpu_data_handle_t)h) < c->cluster->value->moves.tree_bytes)
        return holder_of(h);
    int rank = copies->inline_ranks[(before - 1) % ORR_RANKS_INLINE];
    return has(h, rank) ? rank : holder_of(h);
}

/* ---- the steps ---- */

void orr_moves_bring(struct orr_actions *l, struct orr_data *h, int node, int mode, int priority)
{
    struct orr_comm *c = l->comm;
    int me = c->rank;
    bool sync = mode & STARPU_SSEND;
    if (has(h, node)) {
        if (me == node) use_guest(l, h);
        return;
    }
    if (node == h->mpi_rank) {
        add_homecoming(l, h, false, sync, priority);
    } else {
        int from = source_of(c, h);
        struct orr_action a =
            action(l, me == from ? ORR_ACT_SEND : ORR_ACT_RECEIVE, h, me == from ? node : from, priority);
        a.sync = me == from && sync;
        a.only_read = !(mode & STARPU_W);
        if (me == from || me == node) orr_actions_add(l, &a);
        if (me == node) orr_cache_hold(h);
    }
    if (!orr_cache_is_on(c->cluster->value)) return;
    join_copies(c, h, node);
    mark(c, h);
}

void orr_moves_before(struct orr_actions *l, struct orr_data *h, int mode, int xrank, int priority)
{
    int me = l->comm->rank, home = h->mpi_rank;
    orr_away_watch(l->comm, h, me != home && (xrank < 0 || xrank == me), l->position);
    int first = xrank < 0 ? 0 : xrank, last = xrank < 0 ? l->comm->size - 1 : xrank;
    if (mode & NO_READER) return;
    if (!(mode & STARPU_R)) {
        if (first <= me && me <= last) add_gate(l, h);
        return;
    }
    for (int node = first; node <= last; node++) orr_moves_bring(l, h, node, mode, priority);
}

/* xrank has written it, and nobody else has it. */
static void written(struct orr_comm *c, struct orr_data *h, int xrank)
{
    struct orr_owned *o = orr_owned_of(h);
    int home = h->mpi_rank;
    o->version++;
    h->mpi_flags &= ~(uint32_t)ORR_MPI_RECEIVED;
    orr_rank_set_clear(&o->sent);
    orr_owned_set_holder(h, xrank < 0 ? home : xrank);
    if (c->rank == home || c->rank == xrank) h->mpi_flags |= ORR_MPI_WRITTEN;
    mark(c, h);
}

void orr_moves_after(struct orr_actions *l, struct orr_data *h, int mode, int xrank, bool ran)
{
    struct orr_comm *c = l->comm;
    int me = c->rank, home = h->mpi_rank;
    bool here = me == xrank || ran || xrank < 0;
    if (mode & NO_READER) return;
    if (here && me != home) orr_cache_hold(h);
    if (mode & STARPU_W) {
        if (me != xrank && me != home) drop(l, h);
        written(c, h, xrank);
    } else if (here && me != home && !has(h, me)) { /* nothing is cached */
        drop(l, h);
    }
}

/* ---- insertions of others ---- */

/* A datum of one in which this rank has no part: none of it is here, and all ranks follow it already. */
static inline bool is_elsewhere_alone(const struct orr_comm *c, const struct orr_data *h, int mode)
{
    enum { HERE = ORR_MPI_RECEIVED | ORR_MPI_MADE | ORR_MPI_HELD | ORR_MPI_REDUX };
    const struct orr_owned *o = orr_owned_of(h);
    return h->mpi_rank >= 0 && h->mpi_rank != c->rank && !(h->mpi_flags & (HERE | ORR_MPI_NEVER_AWAY)) &&
           !(mode & NO_READER) && orr_load_relaxed(&h->away) && o && o->tag != -1;
}

/* What such an insertion changes. */
static void pass(struct orr_comm *c, const struct starpu_data_descr *data, int count, int xrank)
{
    for (int i = 0; i < count; i++) {
        struct orr_data *h = data[i].handle;
        if (!h || h->mpi_rank == ORR_RANK_UNKNOWN) continue;
        if (data[i].mode & STARPU_W) {
            written(c, h, xrank);
        } else if (data[i].mode & STARPU_R && !has(h, xrank) && orr_cache_is_on(c->cluster->value)) {
            join_copies(c, h, xrank);
            mark(c, h);
        }
    }
}

bool orr_moves_pass(struct orr_comm *c, const struct starpu_data_descr *data, int count, int xrank)
{
    struct orr_value *v = c->cluster->value;
    bool some_go = false; /* or come: their records' lock goes before that of the place in the stream */
    if (xrank < 0 || xrank == c->rank || !orr_load_relaxed(&v->moves.on)) return false;
    for (int i = 0; i < count; i++) {
        const struct orr_data *h = data[i].handle;
        if (!h || h->mpi_rank == ORR_RANK_UNKNOWN) continue;
        if (!is_elsewhere_alone(c, h, (int)data[i].mode)) return false;
        some_go |= data[i].mode & STARPU_W && orr_owned_goes_or_comes(h, xrank);
    }
    if (orr_unlikely(some_go)) pthread_mutex_lock(&v->records_lock);
    bool begun = orr_away_pass_begin(c);
    if (begun) {
        pass(c, data, count, xrank);
        orr_away_pass_end(c);
    }
    if (orr_unlikely(some_go)) pthread_mutex_unlock(&v->records_lock);
    return begun;
}

bool orr_moves_left_out(const struct orr_comm *c, const struct orr_data *h)
{
    return orr_owned_can_move(c, h) && h->mpi_rank != c->rank && !(h->mpi_flags & ORR_MPI_REDUX);
}

bool orr_moves_is_here(const struct orr_data *h)
{
    return h->mpi_flags & (ORR_MPI_RECEIVED | ORR_MPI_MADE | ORR_MPI_HELD);
}

void orr_moves_catch_up(struct orr_comm *c, const struct orr_missed *missed, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct orr_missed *m = &missed[i];
        struct orr_data *h = m->handle;
        if (m->writes) {
            orr_owned_of(h)->version += m->writes - 1;
            written(c, h, m->writer);
        }
        for (uint32_t k = 0; k < m->nreaders && orr_cache_is_on(c->cluster->value); k++)
            if (!has(h, m->readers[k])) join_copies(c, h, m->readers[k]);
        if (m->nreaders) mark(c, h);
    }
}

void orr_moves_return(struct orr_actions *l, struct orr_data *h, int priority)
{
    struct orr_comm *c = l->comm;
    int holder = holder_of(h), home = h->mpi_rank;
    orr_away_watch(c, h, false, 0);
    if (c->rank != holder || has(h, home)) add_gate(l, h); /* the holder may send, which has a gate */
    if (holder == home) return;
    if (!has(h, home)) add_homecoming(l, h, true, false, priority);
    orr_owned_set_holder(h, home);
    orr_rank_set_remove(&orr_owned_of(h)->sent, home);
    if (orr_cache_is_on(c->cluster->value))
        join_copies(c, h, holder);
    else if (c->rank == holder)
        drop(l, h);
    mark(c, h);
}

void orr_moves_flush(struct orr_actions *l, struct orr_data *h)
{
    struct orr_comm *c = l->comm;
    orr_moves_return(l, h, 0);
    if (c->rank != h->mpi_rank) {
        bool goes = orr_owned_forget_old(orr_owned_of(h)) || h->mpi_flags & ORR_MPI_HELD;
        h->mpi_flags &= ~(uint32_t)ORR_MPI_HELD;
        if (goes && !h->partitioned) add(l, ORR_ACT_DROP, h, -1, false, 0);
    }
    orr_rank_set_clear(&orr_owned_of(h)->sent);
    mark(c, h);
}

static void pin(struct orr_actions *l, struct orr_data *h)
{
    if (!orr_owned_can_move(l->comm, h)) return;
    if (!orr_load_relaxed(&h->partitioned)) orr_moves_return(l, h, 0); /* else home cut it, having it */
    add_gate(l, h);
    orr_away_settle(l, h);
    orr_away_forget_change(h);
    orr_owned_set_holder(h, h->mpi_rank);
    orr_rank_set_clear(&orr_owned_of(h)->sent);
    mark(l->comm, h);
    h->mpi_flags |= ORR_MPI_PINNED;
}

void orr_moves_pin(struct orr_actions *l, struct orr_data *h)
{
    struct orr_relatives all;
    if (orr_likely(!(h->mpi_flags & ORR_MPI_PIECE)) || h->mpi_flags & ORR_MPI_PINNED) return;
    orr_relatives_find(&all, h);
    for (int i = 0; i < all.count; i++) pin(l, all.list[i]);
    orr_relatives_free(&all);
    h->mpi_flags |= ORR_MPI_PINNED;
}

/* ---- where not all ranks see it ---- */

static bool is_unseen(const struct orr_comm *c, const struct orr_data *h)
{
    return orr_unlikely(orr_load_relaxed(&c->cluster->value->moves.on)) &&
           orr_owned_can_move(c->cluster->comm, h);
}

bool orr_moves_unseen(const struct orr_comm *c, const struct orr_data *h)
{
    return !orr_comm_is_base(c) && is_unseen(c, h);
}

static int message(struct orr_comm *c, enum orr_request_kind kind, struct orr_data *h, int peer, bool sync,
                   int priority)
{
    const struct orr_message_spec s = { .kind = kind,
                                        .handle = h,
                                        .comm = c,
                                        .peer = peer,
                                        .tag = orr_owned_tag(h),
                                        .priority = priority,
                                        .sync = sync,
                                        .inferred = true,
                                        .detached = true };
    return orr_message_start(&s, "starpu_mpi_task_insert", NULL);
}

/* Home uses its datum by the message, which brings it in; then it says that the message comes. */
static int send_unseen(struct orr_comm *c, struct orr_data *h, int node, bool sync, int priority)
{
    int home = orr_owned_rank(c, h), r = 0;
    if (node == home) return 0;
    if (c->rank == home) {
        r = message(c, ORR_SEND, h, node, sync, priority);
        orr_away_announce(c, h, orr_comm_peer(c, node));
    } else if (c->rank == node) {
        orr_away_expect(c, h, orr_comm_peer(c, home));
        r = message(c, ORR_RECV, h, home, false, priority);
    }
    return r;
}

/* Rank node of c, which has a copy, is about to overwrite it: what home asked for must have gone from there
 * before, and what home changed must have come there. Both know. */
static void give_up_copy(struct orr_comm *c, struct orr_data *h, int node)
{
    const struct orr_redux_pending *p = orr_owned_of(h)->redux;
    int home = orr_owned_rank(c, h);
    if (node == home || !has(h, orr_comm_peer(c, node))) return;
    if (p && p->comm == c && p->map[node]) return; /* it has */
    if (c->rank == home) orr_away_announce(c, h, orr_comm_peer(c, node));
    if (c->rank == node) orr_away_expect(c, h, orr_comm_peer(c, home));
}

static int contribute_unseen(struct orr_comm *c, struct orr_data *h, int xrank)
{
    int home = orr_owned_rank(c, h), first = xrank < 0 ? 0 : xrank, last = xrank < 0 ? c->size - 1 : xrank;
    if (home < 0) {
        orr_error("starpu_mpi_task_insert: a task contributes to the data with tag %lld on a communicator "
                  "that its owner is no rank of; insert it on one that the owner is part of",
                  (long long)orr_owned_tag(h));
        return -EINVAL;
    }
    int r = c->rank == home ? orr_away_changes(h) : 0;
    for (int node = first; node <= last && !r; node++) give_up_copy(c, h, node);
    return r ? r : orr_redux_contribute_unseen(c, h, xrank);
}

/* All ranks see that h is used next: the sum of what not all saw is a change that home makes before. */
static int gather_unseen(struct orr_comm *c, struct orr_data *h, int priority, int arity)
{
    if (orr_likely(!orr_redux_is_unseen(h))) return 0;
    orr_away_settle_data(c, h);
    return orr_redux_gather(c, h, priority, arity);
}

int orr_moves_sum(struct orr_comm *c, const struct starpu_data_descr *data, int count, int priority)
{
    int status = 0;
    for (int i = 0; i < count && orr_load_relaxed(&c->cluster->value->pending); i++) {
        int r = data[i].handle ? gather_unseen(c, data[i].handle, priority, 0) : 0;
        if (r) status = r;
    }
    return status;
}

int orr_moves_gather(struct orr_comm *c, struct orr_data *h, int priority, int arity)
{
    bool unseen = is_unseen(c, h) && orr_redux_is_unseen(h);
    int first = unseen ? gather_unseen(c, h, priority, arity) : 0, r = orr_moves_home(c, h);
    if (first || r) return first ? first : r;
    return unseen ? 0 : orr_redux_gather(c, h, priority, arity);
}

int orr_moves_exchange_before(struct orr_comm *c, struct orr_data *h, int mode, int xrank, int priority)
{
    if (!is_unseen(c, h)) return orr_exchange_before(c, h, mode, xrank, priority);
    int status = 0, first = xrank < 0 ? 0 : xrank, last = xrank < 0 ? c->size - 1 : xrank,
        home = orr_owned_rank(c, h);
    orr_away_settle_data(c, h);
    if (mode & (STARPU_REDUX | STARPU_MPI_REDUX)) return contribute_unseen(c, h, xrank);
    if (h->mpi_flags & ORR_MPI_REDUX) status = orr_redux_gather(c, h, priority, 0);
    if (mode & STARPU_SCRATCH) return status;
    if (mode & STARPU_W && xrank >= 0 && c->rank == home && xrank != home)
        orr_away_tell_change(c, h, orr_comm_peer(c, xrank));
    if (first <= c->rank && c->rank <= last && home != c->rank) orr_cache_hold(h);
    for (int node = first; node <= last && !status; node++)
        if (mode & STARPU_R)
            status = send_unseen(c, h, node, mode & STARPU_SSEND, priority);
        else
            give_up_copy(c, h, node);
    return status;
}

int orr_moves_exchange_after(struct orr_comm *c, struct orr_data *h, int mode, int xrank, int priority)
{
    if (!is_unseen(c, h)) return orr_exchange_after(c, h, mode, xrank, priority);
    int status = 0, home = orr_owned_rank(c, h), me = c->rank;
    if (mode & NO_READER) return 0;
    orr_away_settle_data(c, h);
    if (mode & STARPU_W && xrank != home && xrank >= 0) {
        if (me == xrank) status = message(c, ORR_SEND, h, home, false, priority);
        if (me == home) status = message(c, ORR_RECV, h, xrank, false, priority);
    }
    if (mode & STARPU_W && me == home) h->mpi_flags |= ORR_MPI_WRITTEN;
    if (me != home && !is_guest(c->cluster->comm, h)) orr_cache_drop(h);
    return status;
}

/* ---- all of them ---- */

/* The program gave it up (starpu_data_unregister_submit, a plan that is cleaned): its last value went home
 * then. */
static bool has_ended(const struct orr_owned *o)
{
    return orr_load_relaxed(&o->ended);
}

static void return_one(struct orr_owned *o, void *l)
{
    if (!has_ended(o)) orr_moves_return(l, o->handle, 0);
}

static void flush_one(struct orr_owned *o, void *list)
{
    struct orr_actions *l = list;
    if (has_ended(o)) return;
    if (orr_owned_can_move(l->comm, o->handle))
        orr_moves_flush(l, o->handle);
    else
        orr_cache_flush(l->comm, o->handle);
}

static bool is_seen(const struct orr_comm *c)
{
    return orr_unlikely(orr_load_relaxed(&c->cluster->value->moves.on)) && orr_comm_is_base(c);
}

static int visit(struct orr_comm *c, void (*fn)(struct orr_owned *o, void *list))
{
    struct orr_actions l;
    orr_moves_begin(&l, c);
    if (fn == return_one)
        orr_owned_visit_away(c->cluster->value, fn, &l);
    else
        orr_owned_visit(c->cluster->value, fn, &l);
    int r = orr_away_do(&l);
    orr_actions_fini(&l);
    return r;
}

/* As gather_unseen, of all data. */
static int gather_all_unseen(struct orr_comm *c)
{
    if (!orr_load_relaxed(&c->cluster->value->pending)) return 0;
    orr_away_settle_all(c);
    return orr_redux_gather_unseen(c);
}

int orr_moves_home_all(struct orr_comm *c)
{
    if (!orr_load_relaxed(&c->cluster->value->moves.on)) return 0;
    int sums = gather_all_unseen(c), r = is_seen(c) ? visit(c, return_one) : 0;
    orr_away_settle_all(c);
    return sums ? sums : r;
}

static void flush_other(struct orr_owned *o, void *c)
{
    if (!is_unseen(c, o->handle)) orr_cache_flush(c, o->handle);
}

bool orr_moves_flush_all(struct orr_comm *c)
{
    if (!orr_load_relaxed(&c->cluster->value->moves.on)) return false;
    if (!is_seen(c)) { /* what all ranks know stays */
        orr_owned_visit(c->cluster->value, flush_other, c);
        return true;
    }
    gather_all_unseen(c);
    orr_away_settle_all(c);
    orr_away_give_up_copies(c, NULL);
    visit(c, flush_one);
    return true;
}

/* Whether another rank than home has it, as all ranks know. */
static bool is_elsewhere(const struct orr_comm *c, const struct orr_data *h)
{
    const struct orr_owned *o = orr_owned_of(h);
    return is_seen(c) && o && orr_owned_can_move(c, h) && (o->holder >= 0 || o->sent.count);
}

static int end(struct orr_actions *l)
{
    int r = orr_away_do(l);
    orr_actions_fini(l);
    return r;
}

int orr_moves_home(struct orr_comm *c, struct orr_data *h)
{
    struct orr_actions l;
    int r = is_seen(c) ? gather_unseen(c, h, 0, 0) : 0;
    if (is_elsewhere(c, h)) {
        orr_moves_begin(&l, c);
        orr_moves_return(&l, h, 0);
        int returned = end(&l);
        if (!r) r = returned;
    }
    if (orr_load_relaxed(&c->cluster->value->moves.on)) orr_away_settle_data(c, h);
    return r;
}

bool orr_moves_flush_one(struct orr_comm *c, struct orr_data *h)
{
    struct orr_actions l;
    if (orr_load_relaxed(&c->cluster->value->moves.on)) orr_away_settle_data(c, h);
    if (orr_moves_unseen(c, h)) return true;
    if (is_seen(c)) gather_unseen(c, h, 0, 0);
    if (!is_elsewhere(c, h)) return false;
    orr_away_give_up_copies(c, h);
    orr_moves_begin(&l, c);
    orr_moves_flush(&l, h);
    end(&l);
    return true;
}

bool orr_moves_get(struct orr_comm *c, struct orr_data *h, int node, int *status_out)
{
    struct orr_actions l;
    *status_out = 0;
    if (orr_moves_unseen(c, h)) {
        *status_out = orr_moves_exchange_before(c, h, STARPU_R, node, 0);
        return true;
    }
    if (!is_seen(c) || !orr_owned_can_move(c, h)) return false;
    if (h->mpi_flags & ORR_MPI_REDUX) {
        orr_away_settle_data(c, h);
        *status_out = orr_redux_gather(c, h, 0, 0);
    }
    orr_moves_begin(&l, c);
    orr_away_watch(c, h, c->rank == node && node != h->mpi_rank, l.position);
    orr_moves_return(&l, h, 0);
    orr_moves_bring(&l, h, node, STARPU_RW, 0);
    int r = end(&l);
    if (!*status_out) *status_out = r;
    return true;
}

/* Its memory is the value of rank node from now on: nobody else's is of use. */
bool orr_moves_migrate(struct orr_comm *c, struct orr_data *h, int node)
{
    struct orr_actions l;
    int status, old = h->mpi_rank;
    if (!orr_moves_get(c, h, node, &status)) return false;
    orr_owned_ends(c->cluster->value, h, "data changed their owner");
    if (status) return true;
    orr_moves_begin(&l, c);
    if (c->rank == node)
        add_gate(&l, h);
    else if (c->rank != old)
        drop(&l, h);
    orr_rank_set_clear(&orr_owned_of(h)->sent);
    mark(c, h);
    end(&l);
    orr_away_settle_data(c, h);
    if (c->rank == node) orr_cache_own(h);
    h->mpi_rank = node;
    orr_owned_set_comm(orr_owned_of(h), c);
    if (c->rank == old) orr_cache_hold(h);
    if (c->rank == node) h->mpi_flags |= ORR_MPI_WRITTEN;
    mark(c, h);
    return true;
}

/* ---- the stream ---- */

int orr_moves_start(struct orr_comm *c)
{
    struct orr_value *v = c->cluster->value;
    if (orr_likely(orr_load_relaxed(&v->moves.on))) return 0;
    int status = orr_redux_gather_aside(c); /* not all know of those, and all decide from here on */
    orr_cache_flush_all(c); /* who has what was known to owners and receivers alone until here */
    orr_store_relaxed(&v->moves.on, true);
    return status;
}

void orr_moves_begin(struct orr_actions *l, struct orr_comm *c)
{
    int status = orr_moves_start(c);
    orr_actions_init(l, c, orr_away_begin(c));
    l->status = status;
}
