/* SPDX-License-Identifier: BSD-3-Clause */
/* api/iteration.c: the public functions by which iterations begin and end.
 * Threads: those that submit. Owns: nothing. Not here: what they do (place/replay.c). */
#include <errno.h>
#include <orrery_mpi.h>

#include "core/base/env.h"
#include "core/run/trace.h"
#include "mpi/api/comm.h"
#include "mpi/api/iteration.h"
#include "mpi/api/session.h"
#include "mpi/place/replay.h"

static struct orr_comm *check(MPI_Comm comm, const char *fn, int *status_out)
{
    struct orr_comm *c = orr_session_check(fn) ? orr_comm_of(comm) : NULL;
    if (c) return c;
    *status_out = orr_session_runs() ? -EINVAL : -ESHUTDOWN;
    if (orr_session_runs()) orr_error("%s: the communicator is not a valid one", fn);
    return NULL;
}

int orrery_mpi_iteration_begin_patched(MPI_Comm comm, int id,
                                       void (*fn)(struct starpu_task *task, unsigned position, void *arg),
                                       void *arg)
{
    int r;
    struct orr_comm *c = check(comm, "orrery_mpi_iteration_begin", &r);
    return c ? orr_replay_begin(c, id, fn, arg) : r;
}

int orrery_mpi_iteration_begin(MPI_Comm comm, int id)
{
    return orrery_mpi_iteration_begin_patched(comm, id, NULL, NULL);
}

int orrery_mpi_iteration_end(MPI_Comm comm)
{
    int r;
    struct orr_comm *c = check(comm, "orrery_mpi_iteration_end", &r);
    return c ? orr_replay_end(c) : r;
}

int orrery_mpi_iteration_forget(MPI_Comm comm, int id)
{
    int r = 0;
    struct orr_comm *c = check(comm, "orrery_mpi_iteration_forget", &r);
    if (c) orr_replay_forget(c, id);
    return r;
}

/* ---- by itself ---- */

static void tell(bool begins)
{
    if (!orr_session_runs()) return;
    if (begins)
        orr_replay_push(orr_the_session.cluster.comm);
    else
        orr_replay_pop(orr_the_session.cluster.comm);
}

void orr_iterations_attach(void)
{
    bool on = orr_env_long(ORR_SETTING(ORRERY_MPI_REPLAY), 1, 0, 1) != 0;
    orr_store_release(&orr_iteration_hook, on ? tell : NULL); /* pairs with core/run/trace.c */
}

void orr_iterations_detach(void)
{
    orr_store_release(&orr_iteration_hook, NULL); /* pairs with core/run/trace.c */
}
