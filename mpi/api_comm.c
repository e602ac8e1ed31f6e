/* SPDX-License-Identifier: BSD-3-Clause */
/* api_comm.c: communicators, as the program names them.
 * Threads: any. Owns: the list of communicators. Not here: messages (api_p2p.c).
 *
 * A communicator needs a number that its ranks agree on, without a message, whoever uses it first: a hash of
 * who its members are, and of how many communicators with the same members this rank knew before.
 * Communicators with the same members must therefore be used, or given to starpu_mpi_comm_register, in the
 * same order by all of them. */
#include "mpi/api_comm.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "mpi/cluster.h"

enum { FIRST_CONTEXT = 1 };

struct orr_comm *orr_comm_latest;

static orr_spin lock; /* protects comms; leaf */
static struct orr_comm *comms;
static MPI_Comm base_comm = MPI_COMM_NULL;
static int keyval = MPI_KEYVAL_INVALID; /* tells when the program frees a communicator */

static uint32_t context_of(const int *peers, int size, uint32_t before)
{
    uint64_t h = 0xcbf29ce484222325u + before;
    for (int i = 0; i < size; i++) h = (h ^ (uint32_t)peers[i]) * 0x100000001b3u;
    return (uint32_t)(h ^ h >> 32) & 0x7fffffffu;
}

static uint32_t count_same(const int *peers, int size)
{
    uint32_t count = 0;
    for (struct orr_comm *c = comms; c; c = c->next) {
        bool same = c->size == size;
        for (int i = 0; i < size && same; i++) same = orr_comm_peer(c, i) == peers[i];
        count += same;
    }
    return count;
}

/* Fills in c from what MPI says. False: out of memory. */
static bool ask_mpi(struct orr_comm *c, MPI_Comm comm)
{
    MPI_Group group, base;
    MPI_Comm_rank(comm, &c->rank);
    MPI_Comm_size(comm, &c->size);
    int *own = orr_malloc((size_t)c->size * sizeof *own);
    c->peers = orr_malloc((size_t)c->size * sizeof *c->peers);
    if (!own || !c->peers) {
        orr_free(own);
        return false;
    }
    for (int i = 0; i < c->size; i++) own[i] = i;
    MPI_Comm_group(comm, &group);
    MPI_Comm_group(base_comm, &base);
    MPI_Group_translate_ranks(group, c->size, own, base, c->peers);
    MPI_Group_free(&group);
    MPI_Group_free(&base);
    for (int i = 0; i < c->size; i++)
        if (c->peers[i] == MPI_UNDEFINED) c->peers[i] = -1;
    orr_free(own);
    return true;
}

/* The program frees a communicator: another one may get its name later. */
static int on_free(MPI_Comm comm, int key, void *c, void *unused)
{
    (void)comm;
    (void)key;
    (void)unused;
    orr_spin_lock(&lock);
    ((struct orr_comm *)c)->program_comm = NULL;
    __atomic_store_n(&orr_comm_latest, NULL, __ATOMIC_RELEASE);
    orr_spin_unlock(&lock);
    return MPI_SUCCESS;
}

static struct orr_comm *find(MPI_Comm comm)
{
    struct orr_comm *c = comms;
    while (c && c->program_comm != orr_comm_key(comm)) c = c->next;
    return c;
}

struct orr_comm *orr_comm_lookup(MPI_Comm comm)
{
    if (comm == MPI_COMM_NULL || base_comm == MPI_COMM_NULL) return NULL;
    orr_spin_lock(&lock);
    struct orr_comm *c = find(comm);
    orr_spin_unlock(&lock);
    if (!c) {
        c = orr_calloc(1, sizeof *c);
        if (!c || !ask_mpi(c, comm)) {
            orr_error("out of memory for a communicator");
            orr_free(c);
            return NULL;
        }
        c->program_comm = orr_comm_key(comm);
        orr_spin_lock(&lock);
        c->context = context_of(c->peers, c->size, count_same(c->peers, c->size));
        c->next = comms;
        comms = c;
        orr_spin_unlock(&lock);
        MPI_Comm_set_attr(comm, keyval, c);
    }
    __atomic_store_n(&orr_comm_latest, c, __ATOMIC_RELEASE);
    return c;
}

struct orr_comm *orr_comms_init(MPI_Comm comm, int rank, int size)
{
    struct orr_comm *c = orr_calloc(1, sizeof *c);
    if (!c) return NULL;
    *c = (struct orr_comm){
        .context = FIRST_CONTEXT, .rank = rank, .size = size, .program_comm = orr_comm_key(comm)
    };
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_free, &keyval, NULL);
    base_comm = comm;
    comms = c;
    __atomic_store_n(&orr_comm_latest, c, __ATOMIC_RELEASE);
    return c;
}

void orr_comms_fini(void)
{
    __atomic_store_n(&orr_comm_latest, NULL, __ATOMIC_RELEASE);
    for (struct orr_comm *c = comms, *next; c; c = next) {
        next = c->next;
        if (c->peers && c->program_comm) MPI_Comm_delete_attr((MPI_Comm)(intptr_t)c->program_comm, keyval);
        orr_free(c->peers);
        orr_free(c);
    }
    comms = NULL;
    base_comm = MPI_COMM_NULL;
    MPI_Comm_free_keyval(&keyval);
}

/* ---- public ---- */

int starpu_mpi_comm_register(MPI_Comm comm)
{
    if (!orr_cluster_check("starpu_mpi_comm_register")) return -ESHUTDOWN;
    return orr_comm_of(comm) ? 0 : -EINVAL;
}

/* Known communicators are answered without MPI: it may be busy on another thread. */
int starpu_mpi_comm_size(MPI_Comm comm, int *size)
{
    struct orr_comm *c = orr_cluster.started ? orr_comm_of(comm) : NULL;
    if (!c) return comm == MPI_COMM_NULL ? -EINVAL : MPI_Comm_size(comm, size);
    *size = c->size;
    return 0;
}

int starpu_mpi_comm_rank(MPI_Comm comm, int *rank)
{
    struct orr_comm *c = orr_cluster.started ? orr_comm_of(comm) : NULL;
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
    MPI_Comm_get_errhandler(comm, &handler);
    MPI_Comm_set_errhandler(
        comm, MPI_ERRORS_RETURN); /* a key that does not exist is no reason to end the program */
    if (MPI_Comm_get_attr(comm, key, attribute_val, flag) != MPI_SUCCESS) *flag = 0;
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    return 0;
}
