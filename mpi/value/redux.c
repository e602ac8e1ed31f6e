/* SPDX-License-Identifier: BSD-3-Clause */
/* redux.c: see redux.h. Ranks that contributed, in the order of their numbers, form a heap-shaped tree under
 * the owner; each receives its children's sums into temporary data, adds them by tasks with the reduction
 * codelet, and sends its own on.
 * Threads: the thread that submits. Owns: nothing. Not here: order with other tasks (the handles' queues see
 * to it). */
#include "mpi/value/redux.h"

#include <errno.h>
#include <stdlib.h>
#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/task/redux.h"
#include "mpi/value/cache.h"
#include "mpi/value/message.h"

static bool has_methods(const struct orr_data *h)
{
    if (orr_data_rare(h) && orr_data_rare(h)->redux_cl && orr_data_rare(h)->init_cl) return true;
    orr_error("reduction of the data with tag %lld: it has no reduction methods; call "
              "starpu_data_set_reduction_methods on every "
              "rank first",
              (long long)orr_owned_tag(h));
    return false;
}

/* ---- contributions ---- */

static int begin(struct orr_comm *c, struct orr_data *h, struct orr_owned *o)
{
    struct orr_redux_pending *p = orr_calloc(1, sizeof *p + (size_t)c->size);
    if (!p) return -ENOMEM;
    orr_comm_hold(c);
    p->comm = c;
    o->redux = p;
    orr_add_relaxed(&o->value->pending, (size_t)1);
    orr_owned_reduces(c->cluster->value, h);
    h->mpi_flags |= ORR_MPI_REDUX;
    return 0;
}

/* rank of c in the communicator of the contributions that are pending, or an error. */
static int rank_of_pending(const struct orr_comm *c, const struct orr_owned *o, int rank)
{
    int r = o->redux->comm == c ? rank : orr_comm_rank_of(o->redux->comm, orr_comm_peer(c, rank));
    if (r >= 0 && r < o->redux->comm->size) return r;
    orr_error("reduction of the data with tag %lld: rank %d contributes, and is not part of the communicator "
              "that the pending contributions were inserted on; call starpu_mpi_redux_data in between",
              (long long)o->tag, rank);
    return -EINVAL;
}

static void note(struct orr_data *h, struct orr_owned *o, int rank)
{
    struct orr_comm *c = o->redux->comm;
    if (o->redux->map[rank]) return;
    o->redux->map[rank] = 1;
    if (rank != c->rank || orr_owned_rank(c, h) == rank) return;
    /* the memory here is that of the contribution until it is sent */
    if (o->redux->unseen)
        orr_cache_disown(h);
    else
        orr_cache_own(h);
    starpu_data_invalidate_submit(h); /* the owner's value must not be counted a second time */
}

static int contribute(struct orr_comm *c, struct orr_data *h, struct orr_owned *o, int xrank)
{
    int r = 0;
    bool all = xrank == ORR_RANK_PER_NODE;
    for (int rank = all ? 0 : xrank; rank <= (all ? c->size - 1 : xrank); rank++) {
        r = rank_of_pending(c, o, rank);
        if (r < 0) return r;
        note(h, o, r);
    }
    return 0;
}

int orr_redux_contribute(struct orr_comm *c, struct orr_data *h, int xrank)
{
    struct orr_owned *o = orr_owned_get(c->cluster->value, h);
    if (!o) return -ENOMEM;
    if (h->mpi_rank < 0) return 0; /* every rank's own */
    int r = o->redux ? 0 : begin(c, h, o);
    if (r) return r;
    if (orr_owned_rank(c, h) == c->rank) /* what it sent is old as well: nobody has the value that will be */
        orr_cache_written(h);
    else
        orr_cache_superseded(h);
    return contribute(c, h, o, xrank);
}

int orr_redux_contribute_unseen(struct orr_comm *c, struct orr_data *h, int xrank)
{
    struct orr_owned *o = orr_owned_get(c->cluster->value, h);
    if (!o) return -ENOMEM;
    bool first = !o->redux;
    int r = first ? begin(c, h, o) : 0;
    if (r) return r;
    if (first) o->redux->unseen = true;
    return contribute(c, h, o, xrank);
}

/* ---- the tree ---- */

/* Ranks in the tree: the owner, then the contributors in order. */
struct tree {
    int *ranks;
    int count, arity, mine;
};

static int build_tree(struct tree *t, const struct orr_comm *c, const struct orr_data *h,
                      const struct orr_owned *o, int arity)
{
    t->ranks = orr_malloc((size_t)(c->size + 1) * sizeof *t->ranks);
    if (!t->ranks) return -ENOMEM;
    t->ranks[0] = orr_owned_rank(c, h);
    t->count = 1;
    for (int r = 0; r < c->size; r++)
        if (r != t->ranks[0] && o->redux->map[r]) t->ranks[t->count++] = r;
    long threshold = orr_env_long(ORR_SETTING(STARPU_MPI_REDUX_ARITY_THRESHOLD), 8, -1, 1 << 20);
    t->arity = arity > 1 ? arity : arity == 0 && threshold >= 0 && t->count > threshold ? 2 : t->count;
    t->mine = -1;
    for (int i = 0; i < t->count; i++)
        if (t->ranks[i] == c->rank) t->mine = i;
    return 0;
}

static struct starpu_task *task_of(struct starpu_codelet *cl, void *cl_arg, int priority)
{
    struct starpu_task *t = starpu_task_create();
    if (!t) return NULL;
    t->cl = cl;
    t->cl_arg = cl_arg;
    t->priority = priority;
    t->name = cl->name ? cl->name : "reduction";
    return t;
}

static int submit(struct starpu_task *t)
{
    int r = orr_redux_set_modes(t);
    if (!r) r = starpu_task_submit(t);
    if (r) {
        t->destroy = 0;
        starpu_task_destroy(t);
    }
    return r;
}

/* Gives the owner's data its neutral value, when nothing was ever written to it. */
static int initialise(struct orr_data *h, int priority)
{
    struct starpu_task *t = task_of(orr_data_rare(h)->init_cl, orr_data_rare(h)->init_cl_arg, priority);
    if (!t) return -ENOMEM;
    t->handles[0] = h;
    return submit(t);
}

/* h becomes h (+) other. */
static int add(struct orr_data *h, struct orr_data *other, int priority)
{
    struct starpu_task *t = task_of(orr_data_rare(h)->redux_cl, orr_data_rare(h)->redux_cl_arg, priority);
    if (!t) return -ENOMEM;
    t->handles[0] = h;
    t->handles[1] = other;
    t->handles[2] = orr_data_rare(h)->redux_scratch;
    return submit(t);
}

/* The program may have freed c since: then all its ranks talk on the communicator that lasts. */
static int message(struct orr_comm *c, enum orr_request_kind kind, struct orr_data *h, int64_t tag, int peer,
                   int priority)
{
    if (!orr_comm_is_base(c) && !orr_load_acquire(&c->program_comm)) {
        peer = orr_comm_peer(c, peer);
        c = c->cluster->comm;
    }
    const struct orr_message_spec s = {
        .kind = kind, .handle = h, .comm = c, .peer = peer, .tag = tag, .priority = priority, .detached = true
    };
    return orr_message_start(&s, "starpu_mpi_redux_data", NULL);
}

static int add_child(struct orr_comm *c, struct orr_data *h, int64_t tag, int child, int priority)
{
    starpu_data_handle_t other;
    starpu_data_register_same(&other, h);
    if (!other) return -ENOMEM;
    int r = message(c, ORR_RECV, other, tag, child, priority);
    if (!r) r = add(h, other, priority);
    starpu_data_unregister_submit(other);
    return r;
}

/* Whether the owner's data has, or is about to get, any value. */
static bool has_value(struct orr_data *h)
{
    orr_spin_lock(&h->queue.lock);
    bool has = h->initialized || h->queue.active > 0 || h->queue.head;
    orr_spin_unlock(&h->queue.lock);
    return has || h->mpi_flags & ORR_MPI_WRITTEN;
}

/* Whether the latest accesses here contributed, though not through this layer. */
static bool contributed_here(struct orr_data *h)
{
    orr_spin_lock(&h->queue.lock);
    bool has = (h->queue.head ? h->queue.tail->group : h->queue.group) == ORR_GROUP_REDUX;
    orr_spin_unlock(&h->queue.lock);
    return has;
}

static int take_part(struct orr_comm *c, struct orr_data *h, struct orr_owned *o, const struct tree *t,
                     int priority)
{
    int status = 0, first = t->mine * t->arity + 1;
    bool contributed = o->redux->map[c->rank];
    if (!contributed && t->count > 1 && (t->mine > 0 || !has_value(h))) status = initialise(h, priority);
    for (int i = first; i < first + t->arity && i < t->count && !status; i++)
        status = add_child(c, h, o->tag, t->ranks[i], priority);
    if (t->mine == 0) h->mpi_flags |= ORR_MPI_WRITTEN;
    if (t->mine <= 0 || status) return status;
    status = message(c, ORR_SEND, h, o->tag, t->ranks[(t->mine - 1) / t->arity], priority);
    starpu_data_invalidate_submit(h);
    if (o->redux->unseen && h->mpi_flags & (ORR_MPI_RECEIVED | ORR_MPI_MADE))
        orr_cache_hold(h); /* to all others it has a copy, and the owner sends it the sum */
    return status;
}

/* Whether all that have a part in the reduction are called together here. */
static bool all_are_in(const struct orr_comm *c, const struct orr_comm *pending, const struct tree *t)
{
    for (int i = 0; c != pending && i < t->count; i++)
        if (orr_comm_rank_of(c, orr_comm_peer(pending, t->ranks[i])) < 0) return false;
    return true;
}

static int gather(struct orr_comm *c, struct orr_data *h, struct orr_owned *o, int priority, int arity)
{
    struct tree t;
    struct orr_comm *pending = o->redux->comm;
    if (orr_owned_rank(pending, h) < 0) {
        orr_error("reduction of the data with tag %lld: its owner is no rank of the communicator on which "
                  "tasks contributed; insert them on one that the owner is part of",
                  (long long)o->tag);
        return -EINVAL;
    }
    int status = build_tree(&t, pending, h, o, arity);
    if (status) return status;
    if (!all_are_in(c, pending, &t)) {
        orr_error("reduction of the data with tag %lld: ranks contributed that are not part of the "
                  "communicator on which it is wanted; call starpu_mpi_redux_data on that of the "
                  "contributions first",
                  (long long)o->tag);
        status = -EINVAL;
    } else if (t.mine >= 0) {
        status = take_part(pending, h, o, &t, priority);
    }
    orr_free(t.ranks);
    return status;
}

int orr_redux_gather(struct orr_comm *c, struct orr_data *h, int priority, int arity)
{
    struct orr_owned *o = orr_owned_of(h);
    if (o && o->redux) {
        int status = has_methods(h) ? gather(c, h, o, priority, arity) : -EINVAL;
        orr_owned_end_redux(o);
        return status;
    }
    if (orr_owned_rank(c, h) == c->rank || h->mpi_rank < 0 || !contributed_here(h)) return 0;
    orr_error("reduction of the data with tag %lld: tasks contributed here that were not inserted by "
              "starpu_mpi_task_insert, so that other ranks do not know of them; insert them so on all ranks",
              (long long)orr_owned_tag(h));
    return -EINVAL;
}

/* ---- all that is pending ---- */

struct pending {
    struct orr_comm *comm;
    bool (*wanted)(const struct orr_redux_pending *r); /* NULL: all */
    struct orr_data **handles;
    size_t count, room;
    bool failed;
};

static void collect(struct orr_owned *o, void *arg)
{
    struct pending *p = arg;
    if (!o->redux || !orr_comm_includes(p->comm, o->redux->comm)) return;
    if (p->wanted && !p->wanted(o->redux)) return;
    if (p->count == p->room) {
        size_t room = p->room ? p->room * 2 : 16;
        struct orr_data **more = orr_realloc(p->handles, room * sizeof *more);
        if (!more) {
            p->failed = true;
            return;
        }
        p->handles = more;
        p->room = room;
    }
    p->handles[p->count++] = o->handle;
}

static int by_tag(const void *a, const void *b)
{
    int64_t x = orr_owned_tag(*(struct orr_data *const *)a), y = orr_owned_tag(*(struct orr_data *const *)b);
    return (x > y) - (x < y);
}

static int gather_some(struct orr_comm *c, bool (*wanted)(const struct orr_redux_pending *r))
{
    struct pending p = { .comm = c, .wanted = wanted };
    int status = 0;
    if (!orr_load_relaxed(&c->cluster->value->pending)) return 0;
    orr_owned_visit(c->cluster->value, collect, &p);
    if (p.count) qsort(p.handles, p.count, sizeof *p.handles, by_tag);
    for (size_t i = 0; i < p.count && !status; i++) status = orr_redux_gather(c, p.handles[i], 0, 0);
    orr_free(p.handles);
    return p.failed ? -ENOMEM : status;
}

int orr_redux_gather_all(struct orr_comm *c)
{
    return gather_some(c, NULL);
}

static bool is_unseen(const struct orr_redux_pending *r)
{
    return r->unseen;
}

int orr_redux_gather_unseen(struct orr_comm *c)
{
    return gather_some(c, is_unseen);
}

static bool is_aside(const struct orr_redux_pending *r)
{
    return !orr_comm_is_base(r->comm);
}

int orr_redux_gather_aside(struct orr_comm *c)
{
    return gather_some(c, is_aside);
}
