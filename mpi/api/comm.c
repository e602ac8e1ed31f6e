/* SPDX-License-Identifier: BSD-3-Clause */
/* api/comm.c: communicators, as the program names them.
 * Threads: any. Owns: what MPI is asked of them. Not here: their records (wire/comm.c).
 *
 * A name travels on the program's communicator with a tag of ours (starpu_mpi_set_communication_tag). MPI
 * tells of the end of a communicator (on_free), perhaps with a lock of its own. */
#include "mpi/api/comm.h"
#include "mpi/api/session.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "mpi/place/replay.h"
#include "mpi/value/ownership.h"

_Atomic(struct orr_comm *) orr_comm_latest;

static MPI_Group base_group;            /* [const while running] */
static _Atomic int tag = 42;            /* the program leaves it to us [any thread] */
static int keyval = MPI_KEYVAL_INVALID; /* tells when the program frees a communicator */

void orr_mpi_enter(void)
{
    if (!orr_the_session.cluster.free_threads) orr_engine_enter(&orr_the_session.cluster.engine);
}

void orr_mpi_leave(void)
{
    if (!orr_the_session.cluster.free_threads) orr_engine_leave(&orr_the_session.cluster.engine);
}

/* ---- the end of one ---- */

/* The program frees a communicator: another one may get its name later. */
static int on_free(MPI_Comm comm, int key, void *p, void *unused)
{
    struct orr_comm *c = p;
    (void)comm;
    (void)key;
    (void)unused;
    orr_store_release(&orr_comm_latest, NULL);
    orr_store_release(&c->program_comm, NULL);
    orr_comm_drop(c);
    return MPI_SUCCESS;
}

/* ---- meeting one ---- */

/* Fills in c from what MPI says. 0, -ENOMEM or -EINVAL. */
static int ask_entered(struct orr_comm *c, MPI_Comm comm)
{
    MPI_Group group;
    int inter = 0;
    MPI_Comm_test_inter(comm, &inter);
    if (inter) {
        orr_error("an intercommunicator was given: give one whose ranks are all in one group "
                  "(MPI_Intercomm_merge makes one)");
        return -EINVAL;
    }
    MPI_Comm_rank(comm, &c->rank);
    MPI_Comm_size(comm, &c->size);
    int *own = orr_malloc((size_t)c->size * sizeof *own);
    c->peers = orr_malloc((size_t)c->size * sizeof *c->peers);
    c->ranks = orr_malloc((size_t)orr_the_session.cluster.size * sizeof *c->ranks);
    c->met = orr_calloc((size_t)c->size, sizeof *c->met);
    if (!own || !c->peers || !c->ranks || !c->met) {
        orr_free(own);
        orr_error("out of memory for a communicator");
        return -ENOMEM;
    }
    for (int i = 0; i < c->size; i++) own[i] = i;
    MPI_Comm_group(comm, &group);
    MPI_Group_translate_ranks(group, c->size, own, base_group, c->peers);
    MPI_Group_free(&group);
    for (int i = 0; i < orr_the_session.cluster.size; i++) c->ranks[i] = -1;
    for (int i = 0; i < c->size; i++) {
        if (c->peers[i] == MPI_UNDEFINED)
            c->peers[i] = -1;
        else
            c->ranks[c->peers[i]] = i;
    }
    orr_free(own);
    return 0;
}

static MPI_Comm comm_of_key(const void *key)
{
    return (MPI_Comm)(intptr_t)key;
}

static int ask(struct orr_comm *c, const void *key)
{
    MPI_Comm comm = comm_of_key(key);
    orr_mpi_enter();
    int r = ask_entered(c, comm);
    if (!r) MPI_Comm_set_attr(comm, keyval, c);
    orr_mpi_leave();
    return r;
}

static void forget(const void *key)
{
    if (keyval != MPI_KEYVAL_INVALID) MPI_Comm_delete_attr(comm_of_key(key), keyval); /* else it never was */
}

/* The program may end MPI before the layer, which was said: then it is not to be asked. */
static bool mpi_is_over(void)
{
    int is = 0;
    MPI_Finalized(&is);
    return is;
}

struct orr_comm *orr_comm_lookup(MPI_Comm comm)
{
    if (comm == MPI_COMM_NULL || keyval == MPI_KEYVAL_INVALID || mpi_is_over()) return NULL;
    struct orr_comm *c = orr_comm_find(&orr_the_session.cluster.comms, orr_comm_key(comm));
    if (!c) c = orr_comm_meet(&orr_the_session.cluster.comms, orr_comm_key(comm));
    if (c) orr_store_release(&orr_comm_latest, c);
    return c;
}

/* ---- the first one ---- */

static void ended(struct orr_comm *c)
{
    orr_stream_drop(c);
    orr_placed_drop(c);
    orr_replay_drop(c);
}

static int get_tag(void)
{
    return orr_load_relaxed(&tag);
}

const struct orr_comm_source orr_comm_mpi_source = { ask, forget, mpi_is_over, ended, get_tag };

void orr_comms_attach(MPI_Comm comm)
{
    struct orr_comm *c = orr_the_session.cluster.comm;
    MPI_Comm_group(comm, &base_group);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_free, &keyval, NULL);
    MPI_Comm_set_attr(comm, keyval, c);
    orr_store_release(&orr_comm_latest, c);
}

void orr_comms_detach(void)
{
    orr_store_release(&orr_comm_latest, NULL);
    MPI_Comm_free_keyval(&keyval);
    MPI_Group_free(&base_group);
}

/* ---- public ---- */

int starpu_mpi_comm_register(MPI_Comm comm)
{
    if (!orr_session_check("starpu_mpi_comm_register")) return -ESHUTDOWN;
    return orr_comm_of(comm) ? 0 : -EINVAL;
}

/* Known communicators are answered without MPI: it may be busy on another thread. */
int starpu_mpi_comm_size(MPI_Comm comm, int *size)
{
    struct orr_comm *c = orr_session_runs() ? orr_comm_of(comm) : NULL;
    if (!c) return comm == MPI_COMM_NULL ? -EINVAL : MPI_Comm_size(comm, size);
    *size = c->size;
    return 0;
}

int starpu_mpi_comm_rank(MPI_Comm comm, int *rank)
{
    struct orr_comm *c = orr_session_runs() ? orr_comm_of(comm) : NULL;
    if (!c) return comm == MPI_COMM_NULL ? -EINVAL : MPI_Comm_rank(comm, rank);
    *rank = c->rank;
    return 0;
}

int starpu_mpi_world_rank(void)
{
    int rank = -1;
    starpu_mpi_comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

int starpu_mpi_world_size(void)
{
    int size = -1;
    starpu_mpi_comm_size(MPI_COMM_WORLD, &size);
    return size;
}

int starpu_mpi_comm_get_attr(MPI_Comm comm, int key, void *attribute_val, int *flag)
{
    static int64_t highest_tag = INT64_MAX;
    if (key == STARPU_MPI_TAG_UB) {
        *(int64_t **)attribute_val = &highest_tag;
        *flag = 1;
        return 0;
    }
    int is = 0;
    MPI_Errhandler handler;
    *flag = 0;
    MPI_Initialized(&is);
    if (!is) return 0;
    if (orr_session_runs()) orr_mpi_enter();
    MPI_Comm_get_errhandler(comm, &handler);
    MPI_Comm_set_errhandler(
        comm, MPI_ERRORS_RETURN); /* a key that does not exist is no reason to end the program */
    if (MPI_Comm_get_attr(comm, key, attribute_val, flag) != MPI_SUCCESS) *flag = 0;
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    if (orr_session_runs()) orr_mpi_leave();
    return 0;
}

starpu_mpi_tag_t starpu_mpi_get_communication_tag(void)
{
    return orr_load_relaxed(&tag);
}

void starpu_mpi_set_communication_tag(starpu_mpi_tag_t new_tag)
{
    if (new_tag >= 0 && new_tag <= INT16_MAX)
        orr_store_relaxed(&tag, (int)new_tag);
    else
        orr_error(
            "starpu_mpi_set_communication_tag: %lld is no tag that every MPI has (0 to 32767); it stays %d",
            (long long)new_tag, orr_load_relaxed(&tag));
}
