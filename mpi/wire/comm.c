/* SPDX-License-Identifier: BSD-3-Clause */
/* comm.c: see comm.h. A record lives as long as the program's communicator, messages on it and data
 * registered on it. Threads: any. Owns: the list of communicators. Not here: what MPI says of them
 * (api/comm.c). */
#include "mpi/wire/comm.h"

#include <errno.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"

enum { GREETED = 1, LISTENED = 2 }; /* orr_comm.met */
enum { COMMUNICATION_TAG = 42 };

/* Held while a communicator is met, or a rank of one for the first time, and while the source is asked. */
static pthread_mutex_t meeting = PTHREAD_MUTEX_INITIALIZER;
static orr_spin lock; /* protects comms, ended and spare; leaf */
static struct orr_comm *comms, *ended, *spare;
static uint32_t latest_context;              /* [lock: meeting] */
static struct orr_engine *engine;            /* [const while running] */
static struct orr_cluster *cluster;          /* [const while running] */
static const struct orr_comm_source *source; /* [const while running] */
static _Atomic int tag = COMMUNICATION_TAG;

/* ---- the lists ---- */

static void unlink_locked(struct orr_comm *c)
{
    struct orr_comm **p = &comms;
    while (*p && *p != c) p = &(*p)->next;
    if (*p) *p = c->next;
}

static void put_on(struct orr_comm **list, struct orr_comm *c)
{
    orr_spin_lock(&lock);
    c->next = *list;
    *list = c;
    orr_spin_unlock(&lock);
}

static struct orr_comm *take_all(struct orr_comm **list)
{
    orr_spin_lock(&lock);
    struct orr_comm *all = *list;
    *list = NULL;
    orr_spin_unlock(&lock);
    return all;
}

/* ---- the end of one ---- */

void orr_comm_end(struct orr_comm *c)
{
    orr_spin_lock(&lock);
    unlink_locked(c);
    c->next = ended;
    ended = c;
    orr_spin_unlock(&lock);
}

static void free_parts(struct orr_comm *c)
{
    if (source->ended) source->ended(c);
    orr_free(c->peers);
    orr_free(c->ranks);
    orr_free((void *)c->met);
    c->peers = c->ranks = NULL;
    c->met = NULL;
}

/* Gives back what those hold that have ended. With meeting. */
static void reap(void)
{
    for (struct orr_comm *c = take_all(&ended), *next; c; c = next) {
        next = c->next;
        for (int i = 0; i < c->size; i++)
            if (orr_load_relaxed(&c->met[i]) & LISTENED)
                orr_engine_forget(engine, c->context, orr_comm_peer(c, i));
        free_parts(c);
        put_on(&spare, c);
    }
}

/* ---- meeting one ---- */

struct orr_comm *orr_comm_find(const void *program_comm)
{
    orr_spin_lock(&lock);
    struct orr_comm *c = comms;
    while (c && orr_load_relaxed(&c->program_comm) != program_comm) c = c->next;
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

/* With meeting. */
static uint32_t next_context(void)
{
    latest_context = (latest_context + 1) & ~ORR_CONTEXT_UNCOUNTED;
    if (latest_context <= ORR_CONTEXT_BASE) latest_context = ORR_CONTEXT_BASE + 1;
    return latest_context;
}

/* With meeting. */
static struct orr_comm *meet(const void *program_comm)
{
    reap();
    struct orr_comm *c = take_record();
    if (!c) {
        orr_error("out of memory for a communicator");
        return NULL;
    }
    if (source->ask(c, program_comm)) {
        free_parts(c);
        put_on(&spare, c);
        return NULL;
    }
    c->cluster = cluster;
    c->context = next_context();
    orr_store_relaxed(&c->sums, 0u);
    orr_store_relaxed(&c->barriers, 0u);
    orr_store_relaxed(&c->holders, 1u);
    orr_store_release(&c->program_comm, program_comm); /* pairs with orr_comm_of */
    put_on(&comms, c);
    return c;
}

struct orr_comm *orr_comm_meet(const void *program_comm)
{
    pthread_mutex_lock(&meeting);
    struct orr_comm *c = orr_comm_find(program_comm);
    if (!c) c = meet(program_comm);
    pthread_mutex_unlock(&meeting);
    return c;
}

/* ---- meeting its ranks ---- */

static int introduce(struct orr_comm *c, int rank, uint8_t how)
{
    const struct orr_foreign other = { orr_load_relaxed(&c->program_comm), rank, orr_load_relaxed(&tag) };
    int r = 0;
    if (orr_load_relaxed(&c->met[rank]) & how) return 0;
    if (how == GREETED)
        r = orr_engine_greet(engine, &other, c->context);
    else
        r = orr_engine_listen(engine, &other, c->context, orr_comm_peer(c, rank));
    if (!r) atomic_fetch_or_explicit(&c->met[rank], how, memory_order_release);
    return r;
}

int orr_comm_introduce_slow(struct orr_comm *c, int rank, enum orr_request_kind kind)
{
    uint8_t how = kind == ORR_SEND ? GREETED : LISTENED;
    if (orr_likely(orr_load_acquire(&c->met[rank]) & how)) return 0;
    if (rank == c->rank) return 0; /* it knows */
    if (source->is_over()) return -ESHUTDOWN;
    pthread_mutex_lock(&meeting);
    int r = introduce(c, rank, how);
    pthread_mutex_unlock(&meeting);
    if (r) orr_error("a communicator cannot be made known to its rank %d: %s", rank, strerror(-r));
    return r;
}

/* ---- beginning and end ---- */

struct orr_comm *orr_comms_init(struct orr_cluster *cl, struct orr_engine *e,
                                const struct orr_comm_source *from, const void *program_comm, int rank,
                                int size)
{
    struct orr_comm *c = orr_calloc(1, sizeof *c);
    if (!c) return NULL;
    engine = e;
    cluster = c->cluster = cl;
    source = from;
    c->context = latest_context = ORR_CONTEXT_BASE;
    c->rank = rank;
    c->size = size;
    orr_store_relaxed(&c->program_comm, program_comm);
    comms = c;
    return c;
}

static void free_list(struct orr_comm **list)
{
    for (struct orr_comm *c = take_all(list), *next; c; c = next) {
        next = c->next;
        const void *key = orr_load_relaxed(&c->program_comm);
        orr_store_relaxed(&c->holders, 2u); /* so that it is not ended once more */
        if (key) source->forget(key);
        free_parts(c);
        orr_free(c);
    }
}

void orr_comms_fini(void)
{
    free_list(&comms);
    free_list(&ended);
    free_list(&spare);
}

int orr_comm_get_tag(void)
{
    return orr_load_relaxed(&tag);
}

void orr_comm_set_tag(int new_tag)
{
    orr_store_relaxed(&tag, new_tag);
}
