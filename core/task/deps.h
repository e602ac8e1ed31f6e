/* SPDX-License-Identifier: BSD-3-Clause */
/* deps.h: explicit dependencies: what a task (or a tag) waits for by its own declaration.
 * Threads: any. Owns: struct orr_edge. Not here: dependencies inferred from data (core/data/access.h).
 *
 * An edge is one dependency: its waiter (a task or a tag) waits for the prerequisite on whose list it hangs.
 * Both sides know it, and live on their own: either may be submitted again, at its own speed, or be freed. So
 * the edge counts how often the prerequisite has ended and the waiter begun. Who serves an edge touches the
 * waiter only under the edge's lock; a waiter that is freed takes itself out of the edge under the same lock
 * (orr_edge_disown). */
#ifndef ORR_TASK_DEPS_H
#define ORR_TASK_DEPS_H

#include "core/base/sync.h"
#include "core/task/task.h"

struct orr_edge {
    struct orr_edge *next;    /* on the list [own: the thread that closes it] */
    struct orr_edge *sibling; /* among the edges of the same waiter [own: the waiter; tags: lock] */
    void (*fire)(struct orr_edge *e);
    _Atomic(void *) waiter; /* a task or a tag; NULL: gone, or served [lock; read by any for diagnosis] */
    int32_t balance;        /* [lock] ends less rounds begun: -1 it is waited for, above 0 it came early */
    ORR_SPIN(edge) lock;    /* protects the above; leaf */
    bool listed, owned;     /* [lock] which side knows it: the last frees it */
};

/* A new edge of waiter's, which is waited for; NULL: out of memory. */
struct orr_edge *orr_edge_create(void *waiter, void (*fire)(struct orr_edge *));
/* Hangs e on a list. False: that is closed, what it stands for has ended; nobody will serve e. */
bool orr_edge_hang(_Atomic(struct orr_edge *) *list, struct orr_edge *e);
/* The waiter gives e up: when this returns, e does not touch it any more. */
void orr_edge_disown(struct orr_edge *e);

/* Closes the list; returns who is on it, to be served, NULL: nobody. */
struct orr_edge *orr_edges_take(_Atomic(struct orr_edge *) *list);
/* Serves those taken. keep: edges are returned for the next round, else let go. */
struct orr_edge *orr_edges_serve(struct orr_edge *taken, bool keep);
/* The owner of the list is freed. Tasks that wait for its next round wait no longer; those that wait for an
 * owner that never ran (never_ran) go on waiting. */
void orr_edges_drop(struct orr_edge *list, bool never_ran);

/* A new round of t begins: each of its edges counts once more. Called when t is ready, after its countdown
 * was raised by one for each of them. */
void orr_edges_next_round(struct orr_task *t);

/* The task that waits to start for what e stands for; NULL: another kind of waiter, or it does not wait in
 * this round. */
struct orr_task *orr_edge_waiting_task(struct orr_edge *e);

/* What serves an edge of a task that waits to start. */
void orr_edge_fire_task(struct orr_edge *e);

/* The edges of a task that is freed: gives up all of them. Of a task that is submitted again: those end
 * dependencies that were served. */
void orr_edges_disown(struct orr_task_rare *r);
void orr_edges_disown_served(struct orr_task_rare *r);
/* t, which is not submitted yet, waits for nothing that was declared. */
void orr_edges_forget(struct orr_task *t);

#endif
