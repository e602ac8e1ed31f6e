/* SPDX-License-Identifier: BSD-3-Clause */
/* moving.c: see moving.h. Threads: see moving.h. Owns: nothing. Not here: see moving.h. */
#include "mpi/place/moving.h"

#include <starpu.h>

#include "core/task/task.h"
#include "mpi/value/away.h"
#include "mpi/value/exchange.h"
#include "mpi/value/redux.h"

struct run {
    struct orr_comm *c;
    const struct orr_moving *m;
    bool here; /* it runs here */
    struct orr_actions list;
};

/* What this datum's transfers were before, since they are not decided with the rest: all that was decided is
 * done first. */
static int one_at_home(struct run *u, const struct starpu_data_descr *d,
                       int (*one)(struct orr_comm *, struct orr_data *, int, int, int), int rank)
{
    int r = orr_away_settle(&u->list, d->handle);
    return r ? r : one(u->c, d->handle, d->mode, rank, u->m->priority);
}

static int before(struct run *u, const struct starpu_data_descr *d)
{
    struct orr_data *h = d->handle;
    int r = 0, reduction = d->mode & (STARPU_REDUX | STARPU_MPI_REDUX);
    orr_moves_pin(&u->list, h);
    bool can = orr_owned_can_move(u->c, h);
    if (can && reduction) orr_moves_return(&u->list, h, u->m->priority);
    if (can && !reduction && h->mpi_flags & ORR_MPI_REDUX) {
        r = orr_away_settle(&u->list, h);
        if (!r) r = orr_redux_gather(u->c, h, u->m->priority, 0);
    }
    for (int i = 0; i < u->m->nranks && !r; i++) {
        if (can && !reduction)
            orr_moves_before(&u->list, h, d->mode, u->m->ranks[i], u->m->priority);
        else
            r = one_at_home(u, d, orr_exchange_before, u->m->ranks[i]);
    }
    return r;
}

static int after(struct run *u, const struct starpu_data_descr *d)
{
    if (!orr_owned_can_move(u->c, d->handle)) return one_at_home(u, d, orr_exchange_after, u->m->ranks[0]);
    orr_moves_after(&u->list, d->handle, d->mode, u->m->ranks[0], u->here);
    return 0;
}

static int each(struct run *u, int (*one)(struct run *u, const struct starpu_data_descr *d))
{
    int status = 0;
    for (int i = 0; i < u->m->count; i++) {
        struct orr_data *h = u->m->data[i].handle;
        if (!h || h->mpi_rank == ORR_RANK_UNKNOWN) continue;
        int r = one(u, &u->m->data[i]);
        if (r) status = r;
    }
    return status;
}

/* field by field: the list is long */
static void prepare(struct run *u, struct orr_comm *c, const struct orr_moving *m)
{
    u->c = c;
    u->m = m;
    u->here = false;
    for (int i = 0; i < m->nranks; i++) u->here |= m->ranks[i] == c->rank || m->ranks[i] == ORR_RANK_PER_NODE;
}

static void begin(struct run *u, struct orr_comm *c, const struct orr_moving *m)
{
    prepare(u, c, m);
    orr_task_throttle();
    orr_moves_begin(&u->list, c);
    if (m->hash && u->list.hash) u->list.hash = m->hash;
    orr_moves_catch_up(c, m->missed, m->nmissed);
}

static int end(struct run *u)
{
    int r = orr_away_do(&u->list);
    orr_actions_fini(&u->list);
    return r;
}

static void give_up(struct starpu_task *task)
{
    task->destroy = 0;
    starpu_task_destroy(task);
}

int orr_moving_do(struct orr_comm *c, const struct orr_moving *m, struct starpu_task *task, bool sorted)
{
    struct run u;
    int r = orr_moves_sum(c, m->data, m->count, m->priority);
    begin(&u, c, m);
    int first = each(&u, before);
    if (!r) r = first;
    if (!r && task)
        orr_actions_add(&u.list, &(struct orr_action){
                                     .kind = ORR_ACT_SUBMIT, .gate = -1, .task = task, .sorted = sorted });
    else if (task)
        give_up(task);
    int last = each(&u, after), done = end(&u);
    return r ? r : last ? last : done;
}

/* ---- tasks that the program submits itself ---- */

static int settle_one(struct run *u, const struct starpu_data_descr *d)
{
    orr_away_settle_data(u->c, d->handle);
    return 0;
}

int orr_moving_before(struct orr_comm *c, const struct orr_moving *m)
{
    struct run u;
    int r = orr_moves_sum(c, m->data, m->count, m->priority);
    begin(&u, c, m);
    int first = each(&u, before), done = end(&u);
    if (u.here) each(&u, settle_one);
    return r ? r : first ? first : done;
}

/* To the layer the program's task at home was a change that others do not see; now they do. */
static int forget_change(struct run *u, const struct starpu_data_descr *d)
{
    struct orr_data *h = d->handle;
    if (d->mode & STARPU_W && h->mpi_rank == u->c->rank && orr_owned_can_move(u->c, h))
        orr_away_forget_change(h);
    return 0;
}

/* What it wrote stays where it ran, and nobody else has it. */
int orr_moving_after(struct orr_comm *c, const struct orr_moving *m)
{
    struct run u;
    prepare(&u, c, m);
    if (u.here) each(&u, forget_change);
    begin(&u, c, m);
    int last = each(&u, after), done = end(&u);
    return last ? last : done;
}
