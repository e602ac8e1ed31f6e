/* SPDX-License-Identifier: BSD-3-Clause */
/* partition.h: what those who use data ask of partitioning: that it be usable when their turn comes.
 * Threads: any. Owns: nothing. Not here: the public functions (starpu_data_filters.h). */
#ifndef ORR_DATA_PARTITION_H
#define ORR_DATA_PARTITION_H

#include "core/data/data.h"

/* A use of data that is part of plans (queue.planned). Between begin and unlock nobody else switches plans;
 * the joins of the use come in there. The order of calls: begin, switch for each datum, the joins, unlock,
 * start. */
struct orr_partition_use { /* what start has to do [own: partition.c] */
    struct orr_move *granted, *reduce;
    struct orr_data_block *dropped;
    bool exempt; /* its switches go ahead of what only waits in order (access.h) */
};
void orr_partition_begin(struct orr_partition_use *u);
/* Submits the switches between parents and children that an access in this mode needs. 0, or -ENOMEM, which
 * was said. */
int orr_partition_switch(struct orr_partition_use *u, struct orr_data *h, int mode);
void orr_partition_unlock(struct orr_partition_use *u);
/* Starts what was granted: it may call the program. Called without any lock. */
void orr_partition_start(struct orr_partition_use *u);

/* All of that for one access. join: called with the queue's lock; what it returns, or -ENOMEM. */
typedef int (*orr_partition_join_fn)(struct orr_data *h, struct orr_access *a);
int orr_partition_join(struct orr_data *h, struct orr_access *a, orr_partition_join_fn join);

/* For diagnosis: h and all its pieces, between begin and unlock; and the datum that h waits for when it is
 * partitions that keep it: a piece, or what it is a piece of, that somebody uses (h itself when not). */
void orr_partition_visit(struct orr_data *h, void (*fn)(struct orr_data *h, void *arg), void *arg);
struct orr_data *orr_partition_blocker(struct orr_data *h);

/* Calls fn, which only looks, with all data that may overlap h: what it is a piece of, its pieces, and other
 * plans' pieces. */
ORR_EXPORT void orr_partition_relatives(struct orr_data *h, void (*fn)(struct orr_data *h, void *arg),
                                        void *arg);

/* How many plans on the way down to h are not active: its use would begin those. And: it did, in passing, and
 * they end again, so that the program finds them as it left them. */
ORR_EXPORT unsigned orr_partition_shut(const struct orr_data *h);
ORR_EXPORT void orr_partition_shut_again(struct orr_data *h, unsigned plans);

/* How many plans, made by starpu_data_partition_plan and not yet cleaned, h has. */
unsigned orr_partition_plans(const struct orr_data *h);

#endif
