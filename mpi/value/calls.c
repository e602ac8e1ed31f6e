/* SPDX-License-Identifier: BSD-3-Clause */
/* calls.c: see calls.h. Threads: see calls.h. Owns: see calls.h. Not here: see calls.h. */
#include "mpi/value/calls.h"

#include <errno.h>
#include <starpu.h>

#include "core/base/log.h"
#include "mpi/value/cache.h"
#include "mpi/value/exchange.h"
#include "mpi/value/message.h"
#include "mpi/value/moves.h"
#include "mpi/value/redux.h"

/* ---- a value somewhere else, another owner ---- */

int orr_call_get(struct orr_comm *c, struct orr_data *h, int node, void (*callback)(void *), void *arg)
{
    int r;
    if (!orr_moves_get(c, h, node, &r)) return orr_exchange_get(c, h, node, 0, callback, arg);
    return r || c->rank != node ? r : orr_exchange_call_when_here(c, h, callback, arg);
}

static bool has_all_ranks(const struct orr_comm *c)
{
    return c->size == c->cluster->size && orr_comm_includes(c, c->cluster->comm);
}

/* On another communicator, where h may be away. All ranks are in it, so that all know; or h is nowhere else,
 * as far as all know. 1: done; 0: to be done as under owner-computes; or a negative errno (said). */
static int migrate_unseen(struct orr_comm *c, struct orr_data *h, int node)
{
    struct orr_owned *o = orr_owned_of(h);
    if (has_all_ranks(c)) {
        orr_moves_migrate(c->cluster->comm, h, orr_comm_peer(c, node));
        h->mpi_rank = node;
        orr_owned_set_comm(o, c);
        return 1;
    }
    if (o->holder < 0 && !o->sent.count) return 0;
    orr_error(
        "starpu_mpi_data_migrate: the data with tag %lld is moved on another communicator than the layer's "
        "own, and ranks that are not part of it may have its value: call starpu_mpi_cache_flush for it "
        "before, on all ranks",
        (long long)orr_owned_tag(h));
    return -ENOTSUP;
}

int orr_call_migrate(struct orr_comm *c, struct orr_data *h, int node)
{
    int old = orr_owned_rank(c, h), me = c->rank;
    if (old == node || old < 0) return 0;
    int r = orr_moves_unseen(c, h) ? migrate_unseen(c, h, node) : 0;
    if (r) return r < 0 ? r : 0;
    if (orr_moves_migrate(c, h, node)) return 0;
    r = orr_call_get(c, h, node, NULL, NULL);
    if (r) return r;
    orr_owned_ends(c->cluster->value, h, "data changed their owner");
    if (me == node)
        orr_cache_own(h); /* what it received is the value now */
    else
        orr_cache_flush(c, h);
    h->mpi_rank = node;
    if (orr_owned_of(h)) orr_owned_set_comm(orr_owned_of(h), c);
    if (me == old) orr_cache_hold(h);
    if (me == node) h->mpi_flags |= ORR_MPI_WRITTEN;
    return 0;
}

int orr_call_set_owner(struct orr_comm *c, struct orr_data *h, int rank)
{
    if (h->mpi && h->mpi_rank >= 0) orr_moves_home(c, h);
    return orr_cache_set_owner(c, h, rank);
}

/* ---- copies ---- */

/* All that is away or pending is at the owners. */
static int bring_home(struct orr_comm *c, struct orr_data *h, int priority)
{
    int r = orr_moves_home(c, h);
    return r || !(h->mpi_flags & ORR_MPI_REDUX) ? r : orr_redux_gather(c, h, priority, 0);
}

/* dst gets another value: on its owner, or wherever everybody has his own (here), and nobody else has it.
 * Where not all ranks see that, the owner tells them (away.h). */
static void overwrite(const struct orr_comm *c, struct orr_data *dst, bool here)
{
    if (orr_moves_unseen(c, dst)) return;
    if (here)
        orr_cache_written(dst);
    else
        orr_cache_superseded(dst);
}

static int copy_here(struct orr_comm *c, struct orr_data *dst, struct orr_data *src, bool asynchronous,
                     void (*callback)(void *), void *arg, int priority)
{
    int to = orr_owned_rank(c, dst);
    bool here = to == c->rank || to == ORR_RANK_PER_NODE;
    overwrite(c, dst, here);
    return here ? starpu_data_cpy_priority(dst, src, asynchronous, callback, arg, priority) : 0;
}

static int copy_between(struct orr_comm *c, struct orr_data *dst, struct orr_data *src,
                        void (*callback)(void *), void *arg, int priority)
{
    struct orr_message_spec s = {
        .comm = c, .tag = orr_owned_tag(src), .priority = priority, .detached = true
    };
    int r = 0, from = orr_owned_rank(c, src), to = orr_owned_rank(c, dst);
    if (c->rank == from) {
        s.kind = ORR_SEND;
        s.handle = src;
        s.peer = to;
        r = orr_message_start(&s, "starpu_mpi_data_cpy", NULL);
    } else if (c->rank == to) {
        s.kind = ORR_RECV;
        s.handle = dst;
        s.peer = from;
        s.callback = callback;
        s.arg = arg;
        r = orr_message_start(&s, "starpu_mpi_data_cpy", NULL);
        dst->mpi_flags |= ORR_MPI_WRITTEN;
    }
    overwrite(c, dst, c->rank == to);
    return r;
}

int orr_call_copy(struct orr_comm *c, struct orr_data *dst, struct orr_data *src, bool asynchronous,
                  void (*callback)(void *), void *arg, int priority)
{
    int from = orr_owned_rank(c, src), to = orr_owned_rank(c, dst);
    int r = bring_home(c, src, priority);
    if (!r) r = bring_home(c, dst, priority);
    if (r) return r;
    if (from == to || from == ORR_RANK_PER_NODE)
        return copy_here(c, dst, src, asynchronous, callback, arg, priority);
    r = copy_between(c, dst, src, callback, arg, priority);
    if (r || asynchronous || (c->rank != from && c->rank != to)) return r;
    struct orr_data *mine = c->rank == to ? dst : src;
    r = starpu_data_acquire(mine, c->rank == to ? STARPU_R : STARPU_RW);
    if (!r) starpu_data_release(mine);
    return r;
}

int orr_call_collective(struct orr_comm *c, const struct orr_collective *what)
{
    int r = 0;
    for (int i = 0; i < what->count && !r; i++)
        if (what->handles[i]) r = orr_moves_home(c, what->handles[i]);
    return r ? r : orr_collective_start(c, what);
}

int orr_call_gather_sums(struct orr_comm *c, struct orr_data *h, int priority, int arity)
{
    return orr_moves_gather(c, h, priority, arity);
}

/* ---- copies go ---- */

void orr_call_flush(struct orr_comm *c, struct orr_data *h)
{
    if (orr_cache_is_on(c->cluster->value) && !orr_moves_flush_one(c, h)) orr_cache_flush(c, h);
}

void orr_call_flush_all(struct orr_comm *c)
{
    if (orr_cache_is_on(c->cluster->value) && !orr_moves_flush_all(c)) orr_cache_flush_all(c);
}

void orr_call_set_cache(struct orr_comm *c, bool on)
{
    if (!on) orr_call_flush_all(c);
    orr_cache_set(c->cluster->value, on);
}
