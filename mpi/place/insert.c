/* SPDX-License-Identifier: BSD-3-Clause */
/* insert.c: see insert.h. Three steps: the argument list is read for what concerns ranks (arguments.c); the
 * rank is decided (decide.c); what follows for this rank is done here. Only the rank that runs the task reads
 * the list again, to make the task.
 * Threads: the thread that submits. Owns: nothing. Not here: messages (exchange.c). */
#include "mpi/place/insert.h"

#include <errno.h>
#include <starpu.h>

#include "core/base/log.h"
#include "core/task/insert.h"
#include "core/task/task.h"
#include "mpi/live/stream.h"
#include "mpi/place/arguments.h"
#include "mpi/place/decide.h"
#include "mpi/place/policies.h"
#include "mpi/value/exchange.h"

/* ---- the three steps ---- */

/* Reads and decides; as orr_decide. */
static inline int read_and_place(struct orr_comm *c, struct starpu_codelet *cl, struct orr_arguments *a,
                                 va_list *list, int *xrank_out)
{
    orr_arguments_init(a);
    int r = orr_arguments_read(a, cl, list);
    return orr_likely(r == 0) ? orr_decide(c, cl, a, xrank_out) : r;
}

static inline void note(struct orr_comm *c, const struct starpu_codelet *cl, const struct orr_arguments *a,
                        int xrank)
{
    const struct orr_stream_insertion in = { .cl = cl,
                                             .data = a->data,
                                             .count = a->count,
                                             .xrank = xrank,
                                             .priority = a->priority,
                                             .file = a->file,
                                             .line = a->line };
    orr_stream_note(c, &in);
}

static int exchange(struct orr_comm *c, const struct orr_arguments *a, int xrank,
                    int (*one)(struct orr_comm *, struct orr_data *, int, int, int))
{
    int status = 0;
    for (int i = 0; i < a->count; i++) {
        struct orr_data *h = a->data[i].handle;
        if (!h || h->mpi_rank == ORR_RANK_UNKNOWN) continue;
        int r = one(c, h, a->data[i].mode, xrank, a->priority);
        if (r) status = r;
    }
    return status;
}

static bool runs_here(const struct orr_comm *c, int xrank)
{
    return xrank == c->rank || xrank == ORR_RANK_PER_NODE;
}

static int submit_here(struct orr_comm *c, struct starpu_task *task)
{
    void (*hook)(struct starpu_task *) = orr_load_acquire(&c->cluster->place->pre_submit_hook);
    if (hook) hook(task);
    int r = orr_task_submit(task, 0);
    if (orr_unlikely(r)) {
        task->destroy = 0;
        starpu_task_destroy(task);
    }
    return r;
}

/* ---- insertions ---- */

/* All of an insertion that lies before the task: as orr_decide, or what failed. *task_out: the task, if
 * this rank runs it, else NULL. */
static inline int begin(struct orr_comm *c, struct starpu_codelet *cl, va_list ap, struct orr_arguments *a,
                        int *xrank_out, struct starpu_task **task_out)
{
    va_list again, list;
    va_copy(again, ap);
    va_copy(list, ap);
    *task_out = NULL;
    int r = read_and_place(c, cl, a, &list, xrank_out);
    if (orr_likely(r >= 0)) note(c, cl, a, *xrank_out);
    if (r > 0) {
        int status = exchange(c, a, *xrank_out, orr_exchange_before);
        if (!status && runs_here(c, *xrank_out) && !(*task_out = orr_task_build_v(cl, 0, again)))
            status = -EINVAL;
        if (status) r = status;
    }
    va_end(list);
    va_end(again);
    return r;
}

int orr_mpi_insert(struct orr_comm *c, struct starpu_codelet *cl, va_list ap)
{
    struct orr_arguments a;
    struct starpu_task *task;
    int xrank, r = begin(c, cl, ap, &a, &xrank, &task);
    if (r > 0) {
        r = task ? submit_here(c, task) : 0;
        if (!r) r = exchange(c, &a, xrank, orr_exchange_after);
    }
    orr_arguments_fini(&a);
    return r;
}

int orr_mpi_build(struct orr_comm *c, struct starpu_codelet *cl, va_list ap, struct starpu_task **task_out)
{
    struct orr_arguments a;
    *task_out = NULL;
    if (c->cluster->place->for_all) {
        orr_error(
            "starpu_mpi_task_build: the placement in use decides once for each task, and not again after "
            "it was submitted; use starpu_mpi_task_insert");
        return -ENOTSUP;
    }
    int xrank, r = begin(c, cl, ap, &a, &xrank, task_out);
    orr_arguments_fini(&a);
    return r > 0 ? 0 : r;
}

int orr_mpi_post_build(struct orr_comm *c, struct starpu_codelet *cl, va_list ap)
{
    struct orr_arguments a;
    int xrank;
    va_list list;
    va_copy(list, ap);
    int r = read_and_place(c, cl, &a, &list, &xrank);
    if (r > 0) r = exchange(c, &a, xrank, orr_exchange_after);
    va_end(list);
    orr_arguments_fini(&a);
    return r;
}

/* Every rank of the group gets the inputs and runs the task; what it writes comes back from the first of
 * them. */
int orr_mpi_insert_on(struct orr_comm *c, struct starpu_codelet *cl, int count, const int *ranks, va_list ap)
{
    struct orr_arguments a;
    va_list again, list;
    va_copy(again, ap);
    va_copy(list, ap);
    orr_arguments_init(&a);
    int xrank, r = count > 0 ? orr_arguments_read(&a, cl, &list) : -EINVAL;
    if (!r) note(c, cl, &a, ranks[0]);
    for (int i = 0; i < count && !r; i++) {
        a.xrank = ranks[i];
        r = orr_decide(c, cl, &a, &xrank);
        if (r > 0) r = exchange(c, &a, xrank, orr_exchange_before);
    }
    for (int i = 0; i < count && !r; i++) {
        if (ranks[i] != c->rank) continue;
        struct starpu_task *task = orr_task_build_v(cl, 0, again);
        r = task ? submit_here(c, task) : -EINVAL;
        break;
    }
    if (!r) r = exchange(c, &a, ranks[0], orr_exchange_after);
    va_end(list);
    va_end(again);
    orr_arguments_fini(&a);
    return r;
}

int orr_mpi_place(struct orr_comm *c, struct orr_placement *p, int policy)
{
    struct orr_arguments a;
    int xrank;
    orr_arguments_init(&a);
    a.data = p->data;
    a.count = p->count;
    a.policy = policy;
    if (p->xrank >= 0) a.xrank = p->xrank;
    int r = orr_decide(c, NULL, &a, &xrank);
    if (r < 0) return r;
    p->xrank = xrank;
    p->concerned = r > 0;
    return 0;
}
