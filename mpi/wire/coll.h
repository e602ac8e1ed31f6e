/* SPDX-License-Identifier: BSD-3-Clause */
/* coll.h: the one collective operation the layer needs for itself: sums over all ranks, which is a barrier
 * too.
 * Threads: any; sums on a communicator in the same order on all ranks, barriers among each other. Owns:
 * nothing. Not here: data (collective.c). */
#ifndef ORR_MPI_COLL_H
#define ORR_MPI_COLL_H

#include "mpi/wire/cluster.h"

enum { ORR_COLL_VALUES = 4 };

/* Replaces each value by its sum over the ranks of c. Collective. Blocks. 0 or -EIO. */
int orr_coll_sum(struct orr_comm *c, int64_t values[ORR_COLL_VALUES]);
int orr_coll_barrier(struct orr_comm *c);
/* Ranks 1 to last tell rank 0 by which number they know c. Collective. Blocks. 0 or -EIO. */
int orr_coll_greet_root(struct orr_comm *c, int last);
/* Gives rank 0 what each rank has: take, for one rank after the other, its own too; the data are borrowed.
 * Collective. Blocks. 0; or, on the rank where it failed at least, -EIO or -ENOMEM. */
int orr_coll_gather(struct orr_comm *c, const void *mine, size_t bytes,
                    void (*take)(void *arg, int rank, const void *data, size_t bytes), void *arg);
/* Rank `from` gives rank `to` that many bytes; for others it is nothing. Blocks. 0 or -EIO. */
int orr_coll_pass(struct orr_comm *c, int from, int to, void *data, size_t bytes);

#endif
