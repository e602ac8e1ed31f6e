/* SPDX-License-Identifier: BSD-3-Clause */
/* wait.c: see wait.h, and the public functions for it.
 * Threads: see wait.h. Owns: nothing. Not here: waiting for one message (p2p.c). */
#include "mpi/api/wait.h"

#include <errno.h>

#include "core/base/thread.h"
#include "core/task/task.h"
#include "mpi/api/comm.h"
#include "mpi/api/lb.h"
#include "mpi/api/session.h"
#include "mpi/value/message.h"
#include "mpi/value/moves.h"
#include "mpi/value/redux.h"
#include "mpi/wire/coll.h"

bool orr_wait_may_block(const char *fn, const char *instead)
{
    if (!orr_task_inside() && !orr_engine_in_callback()) return true;
    orr_error("%s: it blocks, and must not be called from a task or a callback%s", fn, instead);
    return false;
}

enum { ALL_CONTEXTS = STARPU_NMAX_SCHED_CTXS };

int orr_wait_for_tasks(void)
{
    unsigned own = starpu_sched_ctx_get_context();
    starpu_sched_ctx_set_context(NULL); /* else it would wait for that one's only */
    int r = starpu_task_wait_for_all();
    starpu_sched_ctx_set_context(&own);
    return r;
}

static int wait_for_tasks(unsigned ctx)
{
    return ctx == ALL_CONTEXTS ? orr_wait_for_tasks() : starpu_task_wait_for_all_in_ctx(ctx);
}

/* Tasks make messages and messages let tasks run: until there are neither. 0, or -EIO: tasks failed. */
static int drain(struct orr_mpi_progress *p, unsigned ctx)
{
    int status = 0;
    uint64_t posted;
    do {
        posted = orr_progress_posted(p);
        orr_progress_wait_for_all(p);
        if (wait_for_tasks(ctx) == -EIO) status = -EIO;
    } while (orr_progress_outstanding(p) > 0 || orr_progress_posted(p) != posted);
    return status;
}

static int wait_for_all(struct orr_comm *c, unsigned ctx)
{
    struct orr_cluster *cl = c->cluster;
    int home = orr_moves_home_all(c), r = orr_redux_gather_all(c), failed = drain(&cl->progress, ctx),
        s = orr_stream_meet(c, false);
    if (!s) orr_placed_met(c);
    if (!s) s = orr_messages_take_failure(cl->value);
    if (ctx == ALL_CONTEXTS && orr_lb_step(c) && !r) r = -EIO;
    if (!r) r = failed ? failed : home;
    return s ? s : r;
}

int orr_wait_for_all(struct orr_comm *c)
{
    return wait_for_all(c, ALL_CONTEXTS);
}

/* ---- public ---- */

/* Ours for comm when the calling thread may wait for its ranks; otherwise NULL, and why (said). */
static struct orr_comm *comm_to_wait(MPI_Comm comm, const char *fn, int *status_out)
{
    *status_out = -ESHUTDOWN;
    if (!orr_session_check(fn)) return NULL;
    struct orr_comm *c = orr_comm_of(comm);
    if (!c) orr_error("%s: the communicator is not a valid one", fn);
    *status_out = -EINVAL;
    if (!c || orr_wait_may_block(fn, "")) return c;
    *status_out = -EDEADLK;
    return NULL;
}

/* The ranks meet, and that is all: tasks and messages go on meanwhile. */
int starpu_mpi_barrier(MPI_Comm comm)
{
    int status;
    struct orr_comm *c = comm_to_wait(comm, "starpu_mpi_barrier", &status);
    return c ? orr_coll_barrier(c) : status;
}

int starpu_mpi_wait_for_all(MPI_Comm comm)
{
    int status;
    struct orr_comm *c = comm_to_wait(comm, "starpu_mpi_wait_for_all", &status);
    return c ? orr_wait_for_all(c) : status;
}

/* Messages belong to no context: all are waited for. */
int starpu_mpi_wait_for_all_in_ctx(MPI_Comm comm, unsigned sched_ctx)
{
    static const char fn[] = "starpu_mpi_wait_for_all_in_ctx";
    int status;
    struct orr_comm *c = comm_to_wait(comm, fn, &status);
    if (!c) return status;
    if (sched_ctx < STARPU_NMAX_SCHED_CTXS && starpu_sched_ctx_get_worker_collection(sched_ctx))
        return wait_for_all(c, sched_ctx);
    orr_error("%s: there is no scheduling context %u", fn, sched_ctx);
    return -EINVAL;
}
