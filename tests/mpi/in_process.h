/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several ranks of one process: each is a session of its own on a thread of its own, over the network inside
 * of the process. Threads: one for each rank, and the main one. Owns: the sessions, and the network between
 * them. Not here: what is tested (clusters.c, bringup.c).
 */
#ifndef ORR_TESTS_IN_PROCESS_H
#define ORR_TESTS_IN_PROCESS_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "mpi/api/session.h"
#include "mpi/api/shutdown.h"
#include "mpi/api/wait.h"
#include "mpi/place/insert.h"
#include "mpi/place/replay.h"
#include "mpi/value/cache.h"
#include "mpi/value/message.h"
#include "mpi/wire/coll.h"
#include "mpi/wire/transports/inproc.h"
#include "tests/tap.h"

enum { IN_PROCESS_MAX = 8 };

static struct orr_session sessions[IN_PROCESS_MAX] = { ORR_SESSION_INITIALIZER, ORR_SESSION_INITIALIZER,
                                                       ORR_SESSION_INITIALIZER, ORR_SESSION_INITIALIZER,
                                                       ORR_SESSION_INITIALIZER, ORR_SESSION_INITIALIZER,
                                                       ORR_SESSION_INITIALIZER, ORR_SESSION_INITIALIZER };

/* The ranks of a job, as they are before there is a transport. */
struct job {
    int ranks, first; /* rank r is session first + r */
    struct orr_inproc *net;
    pthread_barrier_t barrier;
    const void *given[IN_PROCESS_MAX];
    int values[IN_PROCESS_MAX];
    int fails_to_open;                   /* that rank; -1: none */
    int placement;                       /* -1: as it is */
    bool lends, asks;                    /* asks: by itself */
    const struct orr_transport_ops *ops; /* of its ranks but the first; NULL: as they are */
    void (*body)(struct job *j, int rank);
    pthread_t threads[IN_PROCESS_MAX];
};

static struct job *job_of(const struct orr_bootstrap *b)
{
    return (struct job *)b->comm;
}

static int job_gather(const struct orr_bootstrap *b, const void *mine, size_t bytes, void *all)
{
    struct job *j = job_of(b);
    j->given[b->rank] = mine;
    pthread_barrier_wait(&j->barrier);
    for (int i = 0; i < b->size; i++) memcpy((char *)all + (size_t)i * bytes, j->given[i], bytes);
    pthread_barrier_wait(&j->barrier);
    return 0;
}

static int job_agree(const struct orr_bootstrap *b, int value)
{
    struct job *j = job_of(b);
    j->values[b->rank] = value;
    pthread_barrier_wait(&j->barrier);
    for (int i = 0; i < b->size; i++)
        if (j->values[i] < value) value = j->values[i];
    pthread_barrier_wait(&j->barrier);
    return value;
}

static struct orr_transport *job_open(const struct orr_bootstrap *b)
{
    struct job *j = job_of(b);
    struct orr_transport *t = orr_inproc_rank(j->net, b->rank);
    if (j->ops && b->rank) t->ops = j->ops;
    return b->rank == j->fails_to_open ? NULL : t;
}

/* Other communicators are struct orr_inproc_comm, the same for all their ranks. */
static int ask_comm(struct orr_comm *c, const void *program_comm)
{
    const struct orr_inproc_comm *of = program_comm;
    int size = c->cluster->size, me = c->cluster->rank;
    c->size = of->size;
    c->peers = orr_malloc((size_t)of->size * sizeof *c->peers);
    c->ranks = orr_malloc((size_t)size * sizeof *c->ranks);
    c->met = orr_calloc((size_t)of->size, sizeof *c->met);
    for (int i = 0; i < size; i++) c->ranks[i] = -1;
    for (int i = 0; i < of->size; i++) {
        c->peers[i] = of->ranks[i];
        c->ranks[of->ranks[i]] = i;
    }
    c->rank = c->ranks[me];
    return 0;
}

static void forget_none(const void *program_comm)
{
    (void)program_comm;
}

static bool never_over(void)
{
    return false;
}

static int any_tag(void)
{
    return 42;
}

static void comm_ended(struct orr_comm *c)
{
    orr_stream_drop(c);
    orr_placed_drop(c);
    orr_replay_drop(c);
}

static const struct orr_comm_source job_source = { ask_comm, forget_none, never_over, comm_ended, any_tag };

extern const struct orr_transport_ops orr_transport_inproc;

/* Collective: on the thread of that rank. */
static inline int rank_try_start(struct job *j, int rank)
{
    struct orr_transport_ops transport = orr_transport_inproc;
    transport.open = job_open;
    const struct orr_bootstrap b = {
        .comm = j, .rank = rank, .size = j->ranks, .all_gather = job_gather, .agree = job_agree
    };
    const struct orr_session_setup setup = { .bootstrap = &b,
                                             .transport = &transport,
                                             .source = &job_source,
                                             .placement = j->placement,
                                             .lends = j->asks    ? ORR_LENDS_AND_ASKS
                                                      : j->lends ? ORR_LENDS_WHEN_ASKED
                                                                 : ORR_LENDS_NOT,
                                             .free_threads = true };
    return orr_session_start(&sessions[j->first + rank], &setup);
}

/* The same for those that cannot go on without: 0. */
static inline int rank_start(struct job *j, int rank)
{
    int r = rank_try_start(j, rank);
    if (!r) return 0;
    printf("Bail out! rank %d of %d in this process cannot start: %s\n", rank, j->ranks, strerror(-r));
    exit(1);
}

static int rank_end(struct job *j, int rank)
{
    int r = orr_shutdown(&sessions[j->first + rank]);
    orr_session_stop(&sessions[j->first + rank]);
    return r;
}

struct job_rank {
    struct job *job;
    int rank;
};

static void *job_thread(void *arg)
{
    struct job_rank r = *(struct job_rank *)arg;
    free(arg);
    r.job->body(r.job, r.rank);
    return NULL;
}

/* Runs body on so many ranks, each on its thread; delays, in polls: of the network's messages. */
static void job_create(struct job *j, int ranks, int first, unsigned delays, void (*body)(struct job *, int))
{
    *j = (struct job){ .ranks = ranks, .first = first, .fails_to_open = -1, .placement = -1, .body = body };
    j->net = orr_inproc_create(ranks, 7, delays, 0);
    pthread_barrier_init(&j->barrier, NULL, (unsigned)ranks);
}

static void job_run(struct job *j)
{
    for (int i = 0; i < j->ranks; i++) {
        struct job_rank *r = malloc(sizeof *r);
        *r = (struct job_rank){ j, i };
        pthread_create(&j->threads[i], NULL, job_thread, r);
    }
}

static void job_join(struct job *j)
{
    for (int i = 0; i < j->ranks; i++) pthread_join(j->threads[i], NULL);
    pthread_barrier_destroy(&j->barrier);
    orr_inproc_destroy(j->net);
}

/* ---- what their programs use ---- */

static inline struct orr_comm *comm_of(const struct job *j, int rank)
{
    return sessions[j->first + rank].cluster.comm;
}

static inline int insert(struct orr_comm *c, struct starpu_codelet *cl, ...)
{
    va_list ap;
    va_start(ap, cl);
    int r = orr_mpi_insert(c, cl, ap);
    va_end(ap);
    return r;
}

/* The task, here, of one that the program submits itself; NULL elsewhere. */
static inline int build(struct orr_comm *c, struct starpu_task **task_out, struct starpu_codelet *cl, ...)
{
    va_list ap;
    va_start(ap, cl);
    int r = orr_mpi_build(c, cl, ap, task_out);
    va_end(ap);
    return r;
}

static inline int post_build(struct orr_comm *c, struct starpu_codelet *cl, ...)
{
    va_list ap;
    va_start(ap, cl);
    int r = orr_mpi_post_build(c, cl, ap);
    va_end(ap);
    return r;
}

static inline int insert_on(struct orr_comm *c, struct starpu_codelet *cl, int count, const int *ranks, ...)
{
    va_list ap;
    va_start(ap, ranks);
    int r = orr_mpi_insert_on(c, cl, count, ranks, ap);
    va_end(ap);
    return r;
}

#endif
