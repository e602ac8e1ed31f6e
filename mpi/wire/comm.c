/* SPDX-License-Identifier: BSD-3-Clause */
/* comm.c: see comm.h. A record lives as long as the program's communicator, messages on it and data
 * registered on it. Threads: any. Owns: see comm.h. Not here: what MPI says of them
 * (api/comm.c). */
#include "mpi/wire/comm.h"

#include <errno.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"

enum { GREETED = 1, LISTENED = 2 }; /* orr_comm.met */

/* ---- the lists ---- */

static void unlink_locked(struct orr_comm *c)
{
    struct orr_comm **p = &c->comms->met;
    while (*p && *p != c) p = &(*p)->next;
    if (*p) *p = c->next;
}

static void put_on(struct orr_comms *all, struct orr_comm **list, struct orr_comm *c)
{
    orr_spin_lock(&all->lock);
    c->next = *list;
    *list = c;
    orr_spin_unlock(&all->lock);
}

static struct orr_comm *take_all(struct orr_comms *all, struct orr_comm **list)
{
    orr_spin_lock(&all->lock);
    struct orr_comm *taken = *list;
    *list = NULL;
    orr_spin_unlock(&all->lock);
    return taken;
}

/* ---- the end of one ---- */

void orr_comm_end(struct orr_comm *c)
{
    struct orr_comms *all = c->comms;
    orr_spin_lock(&all->lock);
    unlink_locked(c);
    c->next = all->ended;
    all->ended = c;
    orr_spin_unlock(&all->lock);
}

static void free_parts(struct orr_comm *c)
{
    if (c->comms->source->ended) c->comms->source->ended(c);
    orr_free(c->peers);
    orr_free(c->ranks);
    orr_free((void *)c->met);
    c->peers = c->ranks = NULL;
    c->met = NULL;
}

/* Gives back what those hold that have ended. With meeting. */
static void reap(struct orr_comms *all)
{
    for (struct orr_comm *c = take_all(all, &all->ended), *next; c; c = next) {
        next = c->next;
        for (int i = 0; i < c->size; i++)
            if (orr_load_relaxed(&c->met[i]) & LISTENED)
                orr_engine_forget(all->engine, c->context, orr_comm_peer(c, i));
        free_parts(c);
        put_on(all, &all->spare, c);
    }
}

/* ---- meeting one ---- */

struct orr_comm *orr_comm_find(struct orr_comms *all, const void *program_comm)
{
    orr_spin_lock(&all->lock);
    struct orr_comm *c = all->met;
    while (c && orr_load_relaxed(&c->program_comm) != program_comm) c = c->next;
    orr_spin_unlock(&all->lock);
    return c;
}

static struct orr_comm *make_record(struct orr_comms *all)
{
    struct orr_comm *c = orr_calloc(1, sizeof *c);
    if (!c) return NULL;
    c->comms = all;
    c->cluster = all->cluster;
    return c;
}

static struct orr_comm *take_record(struct orr_comms *all)
{
    orr_spin_lock(&all->lock);
    struct orr_comm *c = all->spare;
    if (c) all->spare = c->next;
    orr_spin_unlock(&all->lock);
    return c ? c : make_record(all);
}

/* With meeting. */
static uint32_t next_context(struct orr_comms *all)
{
    all->latest_context = (all->latest_context + 1) & ~ORR_CONTEXT_UNCOUNTED;
    if (all->latest_context <= ORR_CONTEXT_BASE) all->latest_context = ORR_CONTEXT_BASE + 1;
    return all->latest_context;
}

/* With meeting. */
static struct orr_comm *meet(struct orr_comms *all, const void *program_comm)
{
    reap(all);
    struct orr_comm *c = take_record(all);
    if (!c) {
        orr_error("out of memory for a communicator");
        return NULL;
    }
    if (all->source->ask(c, program_comm)) {
        free_parts(c);
        put_on(all, &all->spare, c);
        return NULL;
    }
    c->context = next_context(all);
    orr_store_relaxed(&c->sums, 0u);
    orr_store_relaxed(&c->barriers, 0u);
    orr_store_relaxed(&c->holders, 1u);
    orr_store_release(&c->program_comm, program_comm); /* pairs with orr_comm_of */
    put_on(all, &all->met, c);
    return c;
}

struct orr_comm *orr_comm_meet(struct orr_comms *all, const void *program_comm)
{
    pthread_mutex_lock(&all->meeting);
    struct orr_comm *c = orr_comm_find(all, program_comm);
    if (!c) c = meet(all, program_comm);
    pthread_mutex_unlock(&all->meeting);
    return c;
}

/* ---- meeting its ranks ---- */

static int introduce(struct orr_comm *c, int rank, uint8_t how)
{
    const struct orr_foreign other = { orr_load_relaxed(&c->program_comm), rank, c->comms->source->tag() };
    int r = 0;
    if (orr_load_relaxed(&c->met[rank]) & how) return 0;
    if (how == GREETED)
        r = orr_engine_greet(c->comms->engine, &other, c->context);
    else
        r = orr_engine_listen(c->comms->engine, &other, c->context, orr_comm_peer(c, rank));
    if (!r) atomic_fetch_or_explicit(&c->met[rank], how, memory_order_release);
    return r;
}

int orr_comm_introduce_slow(struct orr_comm *c, int rank, enum orr_request_kind kind)
{
    struct orr_comms *all = c->comms;
    uint8_t how = kind == ORR_SEND ? GREETED : LISTENED;
    if (orr_likely(orr_load_acquire(&c->met[rank]) & how)) return 0;
    if (rank == c->rank) return 0; /* it knows */
    if (all->source->is_over()) return -ESHUTDOWN;
    pthread_mutex_lock(&all->meeting);
    int r = introduce(c, rank, how);
    pthread_mutex_unlock(&all->meeting);
    if (r) orr_error("a communicator cannot be made known to its rank %d: %s", rank, strerror(-r));
    return r;
}

/* ---- beginning and end ---- */

struct orr_comm *orr_comms_init(struct orr_comms *all, struct orr_cluster *cl, struct orr_engine *e,
                                const struct orr_comm_source *source, const void *program_comm, int rank,
                                int size)
{
    pthread_mutex_init(&all->meeting, NULL);
    all->engine = e;
    all->cluster = cl;
    all->source = source;
    all->met = all->ended = all->spare = NULL;
    all->latest_context = ORR_CONTEXT_BASE;
    struct orr_comm *c = make_record(all);
    if (!c) return NULL;
    c->context = ORR_CONTEXT_BASE;
    c->rank = rank;
    c->size = size;
    orr_store_relaxed(&c->program_comm, program_comm);
    all->met = c;
    return c;
}

static void free_list(struct orr_comms *all, struct orr_comm **list)
{
    for (struct orr_comm *c = take_all(all, list), *next; c; c = next) {
        next = c->next;
        const void *key = orr_load_relaxed(&c->program_comm);
        orr_store_relaxed(&c->holders, 2u); /* so that it is not ended once more */
        if (key) all->source->forget(key);
        free_parts(c);
        orr_free(c);
    }
}

void orr_comms_fini(struct orr_comms *all)
{
    free_list(all, &all->met);
    free_list(all, &all->ended);
    free_list(all, &all->spare);
}
