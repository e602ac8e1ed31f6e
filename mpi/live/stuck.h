/* SPDX-License-Identifier: BSD-3-Clause */
/* stuck.h: deadlocks across ranks: known, not guessed, because the ranks agree that nobody can move and
 * nothing is under way.
 * Threads: start and stop by the main thread; asked by the runtime's watching thread. Owns: struct
 * orr_stuck.
 * Not here: when one rank is stuck (core/run/deadlock.h). */
#ifndef ORR_MPI_STUCK_H
#define ORR_MPI_STUCK_H

#include "core/data/data.h"
#include "core/run/deadlock.h"
#include "mpi/live/control.h"
#include "mpi/live/guard.h"
#include "mpi/wire/cluster.h"

/* How messages without their other end are told: so many of them, and how many more there are. */
enum { ORR_UNMATCHED_SHOWN = 16 };
struct orr_unmatched {
    bool at_end; /* the layer ends; else all wait */
    unsigned shown, more;
};

/* Who knows what the engine's requests are for, and can tell the program. */
struct orr_stuck_story {
    /* Print a request that waits for its other end, and a message that nobody receives, or count it. arg: a
     * struct orr_unmatched. */
    void (*unmatched)(const struct orr_request *r, void *arg);
    void (*early)(const struct orr_match_node *n, const struct orr_wire_header *h, void *arg);
    /* Prints those that wait for their data. certain: nobody moves, and who has it is told. */
    void (*waiting)(const struct orr_cluster *cl, bool certain);
    /* Of these, how many wait for the program to release it; print: warns of each. */
    unsigned (*held)(const struct orr_cluster *cl, bool print);
    /* Whether r holds h's data now, waiting for its other end; text: which. */
    bool (*holds)(const struct orr_request *r, const struct orr_data *h, char *text, size_t bytes);
    /* Adds messages that wait for their other ends or their data, under the names that all ranks give them.
     */
    void (*graph)(const struct orr_cluster *cl, struct orr_waits *w);
};

/* What a rank reports. */
struct orr_stuck_report {
    uint64_t sent, received;
    uint32_t wave;
    bool here, unsure;
};

/* Begins as ORR_STUCK_INITIALIZER. */
struct orr_stuck {
    struct orr_deadlock_outside outside; /* first: what the runtime's watching thread knows of it [const] */
    struct orr_cluster *cluster;         /* [const] */
    struct orr_controls *controls;       /* [const] */
    struct orr_guard *guard;             /* [const] */
    /* Held while the watching thread is in here, twice when it looks again; protects active. */
    ORR_MUTEX(stuck_running) running;
    bool active;
    const struct orr_stuck_story *story; /* [lock: running] */
    ORR_SPIN(stuck) lock;                /* protects what follows; leaf */
    struct orr_stuck_report *reports,
        *before;     /* by rank, at rank 0: of the current wave, of the one before */
    uint32_t wave;   /* which one to report */
    bool deadlocked; /* and not read yet; the next two say what kind */
    bool unsure;
    struct orr_waits waits;            /* rank 0: who waits for whom on all ranks */
    int drawn;                         /* rank 0: who has sent theirs; others: rank 0 has drawn it */
    bool shown, shown_unsure;          /* [lock: running] */
    struct orr_engine_counts reported; /* [lock: running] the last time */
};

#define ORR_STUCK_INITIALIZER                                                                                \
    {                                                                                                        \
        .running = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP                                                    \
    }

/* Before each start. The memory stays: the watching thread may be late. Borrows all. */
void orr_stuck_init(struct orr_stuck *s, struct orr_cluster *cl, struct orr_controls *controls,
                    struct orr_guard *guard);
int orr_stuck_start(struct orr_stuck *s, const struct orr_stuck_story *story); /* 0 or -ENOMEM */
void orr_stuck_stop(struct orr_stuck *s);

#endif
