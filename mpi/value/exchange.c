/* SPDX-License-Identifier: BSD-3-Clause */
/* exchange.c: see exchange.h. Each rank decides alone what it sends and what it receives; both ends decide
 * alike because they see the same accesses to the handle.
 * Threads: the thread that submits. Owns: nothing. Not here: the cache (cache.c), reductions (redux.c). */
#include "mpi/value/exchange.h"

#include <errno.h>
#include <starpu.h>

#include "core/base/alloc.h"
#include "mpi/value/cache.h"
#include "mpi/value/message.h"
#include "mpi/value/redux.h"

static int send_to(struct orr_comm *c, struct orr_data *h, int rank, bool sync, int priority, bool inferred,
                   bool only_read)
{
    const struct orr_message_spec s = { .kind = ORR_SEND,
                                        .handle = h,
                                        .comm = c,
                                        .peer = rank,
                                        .tag = orr_owned_tag(h),
                                        .priority = priority,
                                        .sync = sync,
                                        .inferred = inferred,
                                        .only_read = only_read,
                                        .detached = true };
    return orr_message_start(&s, "starpu_mpi_task_insert", NULL);
}

static int receive_from(struct orr_comm *c, struct orr_data *h, int rank, int priority,
                        void (*callback)(void *), void *arg, bool inferred, bool only_read)
{
    const struct orr_message_spec s = { .kind = ORR_RECV,
                                        .handle = h,
                                        .comm = c,
                                        .peer = rank,
                                        .tag = orr_owned_tag(h),
                                        .priority = priority,
                                        .inferred = inferred,
                                        .only_read = only_read,
                                        .detached = true,
                                        .callback = callback,
                                        .arg = arg };
    return orr_message_start(&s, "starpu_mpi_task_insert", NULL);
}

/* ---- deciding: a look at who owns and who runs, and nothing is changed ---- */

enum part { NO_PART, SENDS, RECEIVES };
struct transfer {
    enum part part; /* of this rank */
    int peer;
};

static inline struct transfer part_in(const struct orr_comm *c, int from, int to)
{
    if (from == to || (c->rank != from && c->rank != to)) return (struct transfer){ NO_PART, 0 };
    return c->rank == to ? (struct transfer){ RECEIVES, from } : (struct transfer){ SENDS, to };
}

/* So that rank node has h's value. */
static inline struct transfer input(const struct orr_comm *c, const struct orr_data *h, int node)
{
    return part_in(c, orr_owned_source(c, h, node), node);
}

/* So that h's owner has what a task on xrank has written. */
static inline struct transfer output(const struct orr_comm *c, int owner, int xrank)
{
    return owner < 0 || xrank < 0 ? (struct transfer){ NO_PART, 0 } : part_in(c, xrank, owner);
}

/* ---- doing: the messages, unless the cache knows better, and its marks ---- */

static int bring(struct orr_comm *c, struct orr_data *h, int node, int mode, int priority)
{
    struct transfer t = input(c, h, node);
    bool only_read = !(mode & STARPU_W);
    if (t.part == RECEIVES)
        return orr_cache_received(c->cluster->value, h)
                   ? 0
                   : receive_from(c, h, t.peer, priority, NULL, NULL, true, only_read);
    if (t.part == SENDS && !orr_cache_sent(c->cluster->value, h, orr_comm_peer(c, node)))
        return send_to(c, h, node, mode & STARPU_SSEND, priority, true, only_read);
    return 0;
}

int orr_exchange_before(struct orr_comm *c, struct orr_data *h, int mode, int xrank, int priority)
{
    int status = 0;
    if (mode & (STARPU_REDUX | STARPU_MPI_REDUX)) return orr_redux_contribute(c, h, xrank);
    if (xrank == c->rank && h->mpi_rank >= 0 && orr_owned_rank(c, h) != xrank && !(mode & STARPU_SCRATCH))
        orr_cache_hold(h);
    if (h->mpi_flags & ORR_MPI_REDUX) status = orr_redux_gather(c, h, priority, 0);
    if (status || !(mode & STARPU_R) || mode & STARPU_SCRATCH || h->mpi_rank == ORR_RANK_PER_NODE)
        return status;
    if (xrank != ORR_RANK_PER_NODE) return bring(c, h, xrank, mode, priority);
    for (int node = 0; node < c->size && !status; node++) status = bring(c, h, node, mode, priority);
    return status;
}

/* A task on xrank has written h. */
static int after_write(struct orr_comm *c, struct orr_data *h, int xrank, int priority)
{
    int owner = orr_owned_rank(c, h), me = c->rank, status = 0;
    if (me == owner || me == xrank || xrank == ORR_RANK_PER_NODE)
        orr_cache_written(h);
    else
        orr_cache_superseded(h);
    if (me == owner || me == xrank || xrank == ORR_RANK_PER_NODE) h->mpi_flags |= ORR_MPI_WRITTEN;
    struct transfer t = output(c, owner, xrank);
    if (t.part == RECEIVES) {
        status = receive_from(c, h, xrank, priority, NULL, NULL, true, false);
        if (!status)
            orr_cache_sent(c->cluster->value, h, orr_comm_peer(c, xrank)); /* it made the value: it has it */
    } else if (t.part == SENDS) {
        status = send_to(c, h, owner, false, priority, true, false);
        if (!status) orr_cache_made(c->cluster->value, h);
    }
    return status;
}

int orr_exchange_after(struct orr_comm *c, struct orr_data *h, int mode, int xrank, int priority)
{
    int status = 0;
    if (mode & STARPU_W && !(mode & (STARPU_SCRATCH | STARPU_REDUX | STARPU_MPI_REDUX)))
        status = after_write(c, h, xrank, priority);
    if (orr_unlikely(h->mpi_flags & ORR_MPI_HELD) && xrank == c->rank && !orr_cache_is_on(c->cluster->value))
        orr_cache_drop(h); /* the next task has it sent again */
    return status;
}

/* ---- a value without a task ---- */

struct arrived {
    struct orr_data *handle;
    void (*callback)(void *);
    void *arg;
};

static void value_is_here(void *p)
{
    struct arrived a = *(struct arrived *)p;
    orr_free(p);
    starpu_data_release(a.handle);
    orr_progress_call_back(a.callback, a.arg);
}

struct acquisition {
    struct arrived *arrived;
    int status;
};

static void acquire(void *p)
{
    struct acquisition *q = p;
    q->status = starpu_data_acquire_cb(q->arrived->handle, STARPU_R, value_is_here, q->arrived);
}

/* The value is here, or on its way: the callback waits its turn in the handle's queue. */
int orr_exchange_call_when_here(struct orr_comm *c, struct orr_data *h, void (*callback)(void *), void *arg)
{
    if (!callback) return 0;
    struct arrived *a = orr_malloc(sizeof *a);
    if (!a) return -ENOMEM;
    *a = (struct arrived){ h, callback, arg };
    struct acquisition q = { .arrived = a };
    orr_progress_aside(&c->cluster->progress, acquire,
                       &q); /* the calling thread is not called back in here */
    if (q.status) orr_free(a);
    return q.status;
}

int orr_exchange_get(struct orr_comm *c, struct orr_data *h, int node, int priority, void (*callback)(void *),
                     void *arg)
{
    int status = h->mpi_flags & ORR_MPI_REDUX ? orr_redux_gather(c, h, priority, 0) : 0;
    if (status || h->mpi_rank == ORR_RANK_PER_NODE) return status;
    int source = orr_owned_source(c, h, node), me = c->rank;
    if (me != node)
        return me == source && source != node && !orr_cache_sent(c->cluster->value, h, orr_comm_peer(c, node))
                   ? send_to(c, h, node, false, priority, false, false)
                   : 0;
    if (orr_owned_rank(c, h) != me) orr_cache_hold(h);
    if (source == node || orr_cache_received(c->cluster->value, h))
        return orr_exchange_call_when_here(c, h, callback, arg);
    return receive_from(c, h, source, priority, callback, arg, false, false);
}
