/* SPDX-License-Identifier: BSD-3-Clause */
/* api/comm.c: communicators, as the program names them.
 * Threads: any. Owns: the list of communicators. Not here: messages (api/p2p.c).
 *
 * Each rank numbers the communicators of the program in the order in which it meets them: other ranks meet
 * them in another order, and two that look alike may be used by two threads at once. So the number is told to
 * whoever needs it, once, on the program's communicator itself and with a tag of ours
 * (starpu_mpi_set_communication_tag), before the first message to that rank; see names.h.
 *
 * A record lives as long as the program's communicator, messages on it and data registered on it. MPI tells
 * of the end of the first (on_free), perhaps with a lock of its own: there the record is only put aside, and
 * its memory is used again or given back when the next communicator is met. */
#include "mpi/api/comm.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "mpi/wire/cluster.h"
#include "mpi/value/ownership.h"
#include "mpi/live/stream.h"

enum { GREETED = 1, LISTENED = 2 }; /* orr_comm.met */
enum { COMMUNICATION_TAG = 42 };

_Atomic(struct orr_comm *) orr_comm_latest;

/* Held while a communicator is met, or a rank of one for the first time, and while MPI is asked. */
static pthread_mutex_t meeting = PTHREAD_MUTEX_INITIALIZER;
static orr_spin lock; /* protects comms, ended and spare; leaf */
static struct orr_comm *comms, *ended, *spare;
static uint32_t latest_context;             /* [lock: meeting] */
static MPI_Group base_group;                /* [const while running] */
static int keyval = MPI_KEYVAL_INVALID;     /* tells when the program frees a communicator */
static _Atomic int tag = COMMUNICATION_TAG; /* of what we send on the program's communicators */

void orr_mpi_enter(void)
{
    if (!orr_cluster.free_threads) orr_engine_enter(&orr_cluster.engine);
}

void orr_mpi_leave(void)
{
    if (!orr_cluster.free_threads) orr_engine_leave(&orr_cluster.engine);
}

/* ---- the end of one ---- */

static void unlink_locked(struct orr_comm *c)
{
    struct orr_comm **p = &comms;
    while (*p && *p != c) p = &(*p)->next;
    if (*p) *p = c->next;
}

void orr_comm_end(struct orr_comm *c)
{
    orr_spin_lock(&lock);
    unlink_locked(c);
    c->next = ended;
    ended = c;
    orr_spin_unlock(&lock);
}

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

static void free_parts(struct orr_comm *c)
{
    orr_stream_drop(c);
    orr_free(c->peers);
    orr_free(c->ranks);
    orr_free((void *)c->met);
    c->peers = c->ranks = NULL;
    c->met = NULL;
}

static struct orr_comm *take_all(struct orr_comm **list)
{
    orr_spin_lock(&lock);
    struct orr_comm *all = *list;
    *list = NULL;
    orr_spin_unlock(&lock);
    return all;
}

/* Gives back what those hold that have ended. With meeting. */
static void reap(void)
{
    for (struct orr_comm *c = take_all(&ended), *next; c; c = next) {
        next = c->next;
        for (int i = 0; i < c->size; i++)
            if (orr_load_relaxed(&c->met[i]) & LISTENED)
                orr_engine_forget(&orr_cluster.engine, c->context, orr_comm_peer(c, i));
        free_parts(c);
        orr_spin_lock(&lock);
        c->next = spare;
        spare = c;
        orr_spin_unlock(&lock);
    }
}

/* ---- meeting one ---- */

/* Fills in c from what MPI says. 0, -ENOMEM or -EINVAL. */
static int ask_mpi(struct orr_comm *c, MPI_Comm comm)
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
    c->ranks = orr_malloc((size_t)orr_cluster.size * sizeof *c->ranks);
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
    for (int i = 0; i < orr_cluster.size; i++) c->ranks[i] = -1;
    for (int i = 0; i < c->size; i++) {
        if (c->peers[i] == MPI_UNDEFINED)
            c->peers[i] = -1;
        else
            c->ranks[c->peers[i]] = i;
    }
    orr_free(own);
    return 0;
}

static struct orr_comm *find(MPI_Comm comm)
{
    orr_spin_lock(&lock);
    struct orr_comm *c = comms;
    while (c && orr_load_relaxed(&c->program_comm) != orr_comm_key(comm)) c = c->next;
    orr_spin_unlock(&lock);
    return c;
}

static struct orr_comm *take_record(void)
{
    orr_spin_lock(&lock);
    struct orr_comm *c = spare;
    if (c) spare = c->next;
    orr_spin_unlock(&lock);
    return c ? c : orr_calloc(1, sizeof *c);
}

static void list_record(struct orr_comm **list, struct orr_comm *c)
{
    orr_spin_lock(&lock);
    c->next = *list;
    *list = c;
    orr_spin_unlock(&lock);
}

/* With meeting. */
static uint32_t next_context(void)
{
    latest_context = (latest_context + 1) & ~ORR_CONTEXT_UNCOUNTED;
    if (latest_context <= ORR_CONTEXT_BASE) latest_context = ORR_CONTEXT_BASE + 1;
    return latest_context;
}

/* With meeting. */
static struct orr_comm *meet(MPI_Comm comm)
{
    reap();
    struct orr_comm *c = take_record();
    if (!c) {
        orr_error("out of memory for a communicator");
        return NULL;
    }
    orr_mpi_enter();
    int r = ask_mpi(c, comm);
    if (!r) MPI_Comm_set_attr(comm, keyval, c);
    orr_mpi_leave();
    if (r) {
        free_parts(c);
        list_record(&spare, c);
        return NULL;
    }
    c->context = next_context();
    orr_store_relaxed(&c->sums, 0u);
    orr_store_relaxed(&c->barriers, 0u);
    orr_store_relaxed(&c->holders, 1u);
    orr_store_release(&c->program_comm, orr_comm_key(comm)); /* pairs with orr_comm_of */
    list_record(&comms, c);
    return c;
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
    struct orr_comm *c = find(comm);
    if (!c) {
        pthread_mutex_lock(&meeting);
        c = find(comm);
        if (!c) c = meet(comm);
        pthread_mutex_unlock(&meeting);
    }
    if (c) orr_store_release(&orr_comm_latest, c);
    return c;
}

/* ---- meeting its ranks ---- */

static int introduce(struct orr_comm *c, int rank, uint8_t how)
{
    const struct orr_foreign other = { orr_load_relaxed(&c->program_comm), rank, orr_load_relaxed(&tag) };
    int r = 0;
    if (orr_load_relaxed(&c->met[rank]) & how) return 0;
    if (how == GREETED)
        r = orr_engine_greet(&orr_cluster.engine, &other, c->context);
    else
        r = orr_engine_listen(&orr_cluster.engine, &other, c->context, orr_comm_peer(c, rank));
    if (!r) atomic_fetch_or_explicit(&c->met[rank], how, memory_order_release);
    return r;
}

int orr_comm_introduce_slow(struct orr_comm *c, int rank, enum orr_request_kind kind)
{
    uint8_t how = kind == ORR_SEND ? GREETED : LISTENED;
    if (orr_likely(orr_load_acquire(&c->met[rank]) & how)) return 0;
    if (rank == c->rank) return 0; /* it knows */
    if (mpi_is_over()) return -ESHUTDOWN;
    pthread_mutex_lock(&meeting);
    int r = introduce(c, rank, how);
    pthread_mutex_unlock(&meeting);
    if (r) orr_error("a communicator cannot be made known to its rank %d: %s", rank, strerror(-r));
    return r;
}

/* ---- the first one ---- */

struct orr_comm *orr_comms_init(MPI_Comm comm, int rank, int size)
{
    struct orr_comm *c = orr_calloc(1, sizeof *c);
    if (!c) return NULL;
    c->context = latest_context = ORR_CONTEXT_BASE;
    c->rank = rank;
    c->size = size;
    orr_store_relaxed(&c->program_comm, orr_comm_key(comm));
    MPI_Comm_group(comm, &base_group);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_free, &keyval, NULL);
    MPI_Comm_set_attr(comm, keyval, c);
    comms = c;
    orr_store_release(&orr_comm_latest, c);
    return c;
}

/* Data may outlive the layer: from here on its owner is counted in the communicator that the layer has. */
static void let_go(struct orr_owned *o, void *unused)
{
    (void)unused;
    struct orr_data *h = o->handle;
    if (o->comm && h->mpi_rank >= 0) h->mpi_rank = orr_comm_peer(o->comm, h->mpi_rank);
    h->mpi_flags &= ~(uint32_t)(ORR_MPI_OTHER_COMM | ORR_MPI_REDUX);
    orr_free(o->redux_map);
    o->redux_map = NULL;
    o->comm = o->redux_comm = NULL;
}

static void free_list(struct orr_comm **list)
{
    for (struct orr_comm *c = take_all(list), *next; c; c = next) {
        next = c->next;
        const void *key = orr_load_relaxed(&c->program_comm);
        orr_store_relaxed(&c->holders, 2u); /* so that on_free leaves it to us */
        if (key) MPI_Comm_delete_attr((MPI_Comm)(intptr_t)key, keyval);
        free_parts(c);
        orr_free(c);
    }
}

void orr_comms_fini(void)
{
    orr_owned_visit(let_go, NULL);
    free_list(&comms);
    free_list(&ended);
    free_list(&spare);
    orr_store_release(&orr_comm_latest, NULL);
    MPI_Comm_free_keyval(&keyval);
    MPI_Group_free(&base_group);
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
    if (orr_cluster.started) orr_mpi_enter();
    MPI_Comm_get_errhandler(comm, &handler);
    MPI_Comm_set_errhandler(
        comm, MPI_ERRORS_RETURN); /* a key that does not exist is no reason to end the program */
    if (MPI_Comm_get_attr(comm, key, attribute_val, flag) != MPI_SUCCESS) *flag = 0;
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    if (orr_cluster.started) orr_mpi_leave();
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
