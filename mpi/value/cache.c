/* SPDX-License-Identifier: BSD-3-Clause */
/* cache.c: see cache.h.
 * Threads: the thread that submits. Owns: nothing. Not here: the public functions
 * (api/data.c). */
#include "mpi/value/cache.h"

#include <errno.h>
#include <starpu.h>

#include "core/base/env.h"
#include "core/base/log.h"
#include "core/data/partition.h"
#include "mpi/wire/cluster.h"

void orr_cache_init(struct orr_value *v)
{
    orr_store_relaxed(&v->cache_on, orr_env_long(ORR_SETTING(STARPU_MPI_CACHE), 1, 0, 1) != 0);
}

bool orr_cache_is_on(struct orr_value *v)
{
    return orr_load_relaxed(&v->cache_on);
}

void orr_cache_set(struct orr_value *v, bool now_on)
{
    orr_store_relaxed(&v->cache_on, now_on);
}

bool orr_cache_received(struct orr_value *v, struct orr_data *h)
{
    if (!orr_cache_is_on(v)) return false;
    bool had = h->mpi_flags & (ORR_MPI_RECEIVED | ORR_MPI_MADE);
    orr_owned_marks(v, h);
    h->mpi_flags |= ORR_MPI_RECEIVED;
    return had;
}

void orr_cache_made(struct orr_value *v, struct orr_data *h)
{
    if (!orr_cache_is_on(v)) return;
    orr_owned_marks(v, h);
    h->mpi_flags |= ORR_MPI_MADE;
}

bool orr_cache_sent(struct orr_value *v, struct orr_data *h, int rank)
{
    struct orr_owned *o = orr_owned_of(h);
    if (!orr_cache_is_on(v) || !o) return false;
    bool failed, had = orr_rank_set_add(&o->sent, rank, v->cluster->size, &failed);
    if (failed)
        orr_fatal("out of memory: what was sent of the data with tag %lld cannot be remembered, and the "
                  "ranks would disagree; "
                  "set STARPU_MPI_CACHE=0 on all ranks",
                  (long long)o->tag);
    orr_owned_marks(v, h);
    h->mpi_flags |= ORR_MPI_SENT;
    return had;
}

static void forget_places(struct orr_data *h, void *arg)
{
    (void)arg;
    if (orr_likely(!(h->mpi_flags & (ORR_MPI_SENT | ORR_MPI_RECEIVED | ORR_MPI_MADE)))) return;
    if (h->mpi_flags & ORR_MPI_SENT) orr_rank_set_clear(&orr_owned_of(h)->sent);
    h->mpi_flags &= ~(uint32_t)(ORR_MPI_SENT | ORR_MPI_RECEIVED | ORR_MPI_MADE);
}

/* Who has what may be away is known to all ranks alike, and where that ends it is pinned. */
static void forget_relative(struct orr_data *h, void *arg)
{
    const struct orr_owned *o = orr_owned_of(h);
    if (o && orr_load_relaxed(&o->value->moves.on) && orr_owned_can_move(o->value->cluster->comm, h)) return;
    forget_places(h, arg);
}

/* With a piece the whole was written, and with the whole its pieces. */
void orr_cache_written(struct orr_data *h)
{
    forget_places(h, NULL);
    if (orr_unlikely(h->parent || h->partitioned || orr_load_relaxed(&h->planned)))
        orr_partition_relatives(h, forget_relative, NULL);
}

/* ---- the memory of copies ---- */

/* Small copies are worth keeping in their place; the memory of large ones is recycled (core/mem/recycle.c).
 */
enum { SMALL_BYTES = 64 << 10 };

void orr_cache_hold(struct orr_data *h)
{
    if (h->mpi_flags & ORR_MPI_HELD || h->home_node >= 0) return; /* or it is the program's memory */
    struct orr_owned *o = orr_owned_of(h);
    if (o) {
        orr_owned_forget_old(o);
        orr_owned_marks(o->value, h);
    }
    h->mpi_flags |= ORR_MPI_HELD;
}

void orr_cache_own(struct orr_data *h)
{
    orr_cache_written(h);
    orr_cache_disown(h);
}

void orr_cache_disown(struct orr_data *h)
{
    if (orr_owned_of(h)) orr_owned_forget_old(orr_owned_of(h));
    h->mpi_flags &= ~(uint32_t)ORR_MPI_HELD;
}

bool orr_cache_let_go(struct orr_data *h)
{
    if (!(h->mpi_flags & ORR_MPI_HELD) || h->partitioned) return false;
    struct orr_owned *o = orr_owned_of(h);
    size_t bytes = h->ops->get_size ? h->ops->get_size(h) : SIZE_MAX;
    h->mpi_flags &= ~(uint32_t)ORR_MPI_HELD;
    return !o || bytes > SMALL_BYTES || !orr_owned_keep_old(o, bytes);
}

void orr_cache_drop(struct orr_data *h)
{
    if (orr_cache_let_go(h)) starpu_data_invalidate_submit(h);
}

void orr_cache_superseded(struct orr_data *h)
{
    orr_cache_written(h);
    orr_cache_drop(h);
}

int orr_cache_set_owner(struct orr_comm *c, struct orr_data *h, int rank)
{
    struct orr_owned *o = orr_owned_get(c->cluster->value, h);
    if (!o) return -ENOMEM;
    orr_owned_meets(c->cluster->value, h);
    bool changes = orr_owned_rank(c, h) != rank;
    if (changes) orr_owned_ends(c->cluster->value, h, "data changed their owner");
    if (changes && (rank == c->rank || rank < 0))
        orr_cache_own(h);
    else if (changes)
        orr_cache_superseded(h);
    orr_owned_set_comm(o, c);
    h->mpi_rank = rank;
    return 0;
}

/* The owner forgets what it sent to ranks of c. */
static void forget_sent(const struct orr_comm *c, struct orr_data *h)
{
    struct orr_owned *o = orr_owned_of(h);
    if (!(h->mpi_flags & ORR_MPI_SENT)) return;
    for (int i = 0; i < c->size && o->sent.count; i++)
        if (orr_comm_peer(c, i) >= 0) orr_rank_set_remove(&o->sent, orr_comm_peer(c, i));
    if (!o->sent.count) h->mpi_flags &= ~(uint32_t)ORR_MPI_SENT;
}

void orr_cache_flush(const struct orr_comm *c, struct orr_data *h)
{
    int owner = orr_owned_rank(c, h);
    if (owner == ORR_RANK_OUTSIDE) return; /* it does not hear of this, and goes on counting on our copy */
    bool others = owner != c->rank && owner >= 0,
         copy = h->mpi_flags & (ORR_MPI_RECEIVED | ORR_MPI_MADE | ORR_MPI_HELD);
    struct orr_owned *o = orr_owned_of(h);
    if (o && orr_owned_forget_old(o)) copy = true;
    if (orr_comm_is_base(c) || others)
        orr_cache_written(h);
    else
        forget_sent(c, h);
    h->mpi_flags &= ~(uint32_t)ORR_MPI_HELD;
    if (others && copy) starpu_data_invalidate_submit(h);
}

static void flush_one(struct orr_owned *o, void *c)
{
    orr_cache_flush(c, o->handle);
}

void orr_cache_flush_all(struct orr_comm *c)
{
    orr_owned_visit(c->cluster->value, flush_one, c);
}
