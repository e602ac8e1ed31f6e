/* SPDX-License-Identifier: BSD-3-Clause */
/* decide.c: see decide.h. A rank without a part in a task reads one cache line of each of its handles, and
 * here alone. Threads: see decide.h. Owns: nothing. Not here: see decide.h. */
#include "mpi/place/decide.h"

#include <errno.h>
#include <starpu.h>

#include "core/base/log.h"
#include "mpi/place/machine.h"
#include "mpi/place/policies.h"
#include "mpi/value/moves.h"

enum { SPECIAL_MODES = STARPU_SCRATCH | STARPU_REDUX | STARPU_MPI_REDUX | STARPU_LOCALITY };

/* What the data say. writer: who owns what is written; several: they differ. */
struct look {
    int writer;
    bool several, per_node, concerned, unknown, outside, absent;
};

static inline void look_at(struct look *l, const struct orr_comm *c, struct orr_data *h, int mode)
{
    if (orr_unlikely(!h)) {
        l->absent = true;
        return;
    }
    int owner = orr_owned_rank(c, h);
    l->concerned |= owner == c->rank || h->mpi_flags & ORR_MPI_CONCERNED;
    if (mode & STARPU_W) l->concerned |= orr_load_relaxed(&h->planned); /* what it has of whole or pieces */
    if (orr_unlikely(owner < 0 || mode & SPECIAL_MODES)) {
        if (mode & (STARPU_REDUX | STARPU_MPI_REDUX))
            l->concerned = true; /* every rank notes who contributes */
        if (owner == ORR_RANK_UNKNOWN && !(mode & (STARPU_SCRATCH | STARPU_LOCALITY))) l->unknown = true;
        if (owner == ORR_RANK_OUTSIDE && !(mode & (STARPU_SCRATCH | STARPU_LOCALITY))) l->outside = true;
        if (owner == ORR_RANK_PER_NODE && mode & STARPU_W) l->per_node = true;
        if (owner < 0 || mode & SPECIAL_MODES) return;
    }
    if (!(mode & STARPU_W)) return;
    if (l->writer == ORR_PLACE_OPEN)
        l->writer = owner;
    else if (l->writer != owner)
        l->several = true;
}

static void say_where(const struct orr_arguments *a, char *text, size_t bytes)
{
    text[0] = 0;
    if (a->file) snprintf(text, bytes, " (%s:%d)", a->file, a->line);
}

static int bad_task(const struct orr_arguments *a, const struct starpu_codelet *cl, const char *what)
{
    char where[256];
    say_where(a, where, sizeof where);
    orr_error("starpu_mpi_task_insert%s: task %s: %s", where, cl && cl->name ? cl->name : "without name",
              what);
    return -EINVAL;
}

static int owner_of(const struct orr_comm *c, struct orr_data *h, const char *what)
{
    int owner = orr_data_valid(h) ? orr_owned_rank(c, h) : ORR_RANK_UNKNOWN;
    if (owner >= 0 || owner == ORR_RANK_PER_NODE) return owner;
    orr_error("starpu_mpi_task_insert: the data of %s %s", what,
              owner == ORR_RANK_OUTSIDE ? "belongs to a rank that is not in the communicator"
              : orr_data_valid(h)       ? "has no owner; call starpu_mpi_data_register for it"
                                        : "is not a registered handle");
    return -EINVAL;
}

/* The rank of a worker of the cluster. */
static int rank_of_worker(const struct orr_comm *c, const struct orr_arguments *a,
                          const struct starpu_codelet *cl)
{
    const struct orr_machines *m = c->cluster->place->machines;
    int peer = m ? orr_machines_rank_of(m, a->on_worker) : -1;
    if (peer < 0) return bad_task(a, cl, "ORRERY_EXECUTE_ON_CLUSTER_WORKER names no worker of the cluster");
    int rank = orr_comm_rank_of(c, peer);
    return rank >= 0 ? rank : bad_task(a, cl, "the worker it is to run on is of no rank of the communicator");
}

/* Where neither the program nor the owner of what is written says it. ORR_PLACE_OPEN: this rank has no part.
 */
static int choose(const struct orr_comm *c, const struct orr_arguments *a, const struct look *l,
                  const struct orr_place_view *v)
{
    if (a->xrank == ORR_PLACE_OF_WORKER) return rank_of_worker(c, a, v->cl);
    if (a->xrank == ORR_PLACE_OF_DATA) return owner_of(c, a->on_data, "STARPU_EXECUTE_ON_DATA");
    if (l->per_node) return ORR_RANK_PER_NODE;
    if (l->absent) return ORR_PLACE_OPEN; /* the program left the data out here, and knows why */
    return orr_policy_choose(c->cluster->place, a->policy, v);
}

static struct orr_place_view view_of(const struct orr_comm *c, const struct starpu_codelet *cl,
                                     const struct orr_arguments *a, const struct look *l)
{
    return (struct orr_place_view){ .comm = c,
                                    .cl = cl,
                                    .data = a->data,
                                    .count = a->count,
                                    .priority = a->priority,
                                    .written_on = l->several ? ORR_PLACE_OPEN : l->writer,
                                    .fixed = ORR_PLACE_OPEN,
                                    .file = a->file,
                                    .line = a->line };
}

/* A placement that is asked for all tasks: what the program says is told to it. */
static int choose_for_all(struct orr_comm *c, const struct starpu_codelet *cl, const struct orr_arguments *a,
                          const struct look *l)
{
    struct orr_place_view v = view_of(c, cl, a, l);
    if (l->absent)
        return bad_task(a, cl,
                        "a handle is NULL here, but the placement in use needs all of the stream on "
                        "every rank");
    if (a->xrank > ORR_PLACE_OPEN)
        v.fixed = a->xrank;
    else if (a->xrank < ORR_PLACE_OPEN || l->per_node ||
             (a->policy >= 0 && a->policy != orr_policy_get_current(c->cluster->place)))
        v.fixed = choose(c, a, l, &v);
    else if (a->is_bound) /* workers' numbers are a rank's own: its owner's */
        v.fixed = v.written_on >= 0 ? v.written_on : orr_policy_choose(c->cluster->place, 0, &v);
    if (v.fixed != ORR_PLACE_OPEN && v.fixed < 0 && v.fixed != ORR_RANK_PER_NODE) return v.fixed;
    int r = c->cluster->place->moves ? orr_moves_start(c) : 0; /* it looks at who has copies */
    if (r) return r;
    return orr_placed_choose(c, &v);
}

int orr_decide(struct orr_comm *c, const struct starpu_codelet *cl, const struct orr_arguments *a,
               int *xrank_out)
{
    struct look l = { .writer = ORR_PLACE_OPEN };
    int xrank = a->xrank;
    for (int i = 0; i < a->count; i++) look_at(&l, c, a->data[i].handle, a->data[i].mode);
    if (orr_unlikely(l.unknown))
        return bad_task(a, cl, "data without an owner; call starpu_mpi_data_register for it on every rank");
    if (orr_unlikely(l.outside)) return bad_task(a, cl, "data whose owner is no rank of the communicator");
    if (orr_unlikely(c->cluster->place->for_all && orr_comm_is_base(c))) {
        xrank = choose_for_all(c, cl, a, &l);
        *xrank_out = xrank;
        if (xrank < 0 && xrank != ORR_RANK_PER_NODE) return xrank;
    } else if (orr_likely(xrank == ORR_PLACE_OPEN && l.writer != ORR_PLACE_OPEN && !l.several &&
                          !l.per_node)) {
        xrank = l.writer;
    } else if (xrank <= ORR_PLACE_OPEN) {
        const struct orr_place_view v = view_of(c, cl, a, &l);
        xrank = choose(c, a, &l, &v);
        *xrank_out = xrank;
        if (xrank == ORR_PLACE_OPEN) return 0;
        if (xrank < 0 && xrank != ORR_RANK_PER_NODE) return xrank;
    }
    *xrank_out = xrank;
    if (orr_likely(xrank != c->rank && xrank >= 0)) {
        if (orr_unlikely(xrank >= c->size)) return bad_task(a, cl, "the rank it is to run on does not exist");
        return l.concerned;
    }
    if (xrank < 0 && xrank != ORR_RANK_PER_NODE)
        return bad_task(a, cl, "the rank it is to run on is negative");
    if (l.absent) return bad_task(a, cl, "it runs on this rank, but one of its handles is NULL");
    return 1;
}
