/* SPDX-License-Identifier: BSD-3-Clause */
/* machine.h: what the ranks compute with: the workers of all of them, numbered rank by rank.
 * Threads: made by one; then read by any. Owns: struct orr_machines. Not here: what the workers of this rank
 * do (core/worker), how fast they are. It is made when the layer starts, alike on all ranks, or by hand: for
 * a cluster that there is not. */
#ifndef ORR_MPI_MACHINE_H
#define ORR_MPI_MACHINE_H

#include <stdbool.h>
#include <stdint.h>
#include <starpu_worker.h>

#include "mpi/wire/transport.h"

enum { ORR_MACHINE_NAME = 23 };

struct orr_machine_worker {
    uint8_t type; /* enum starpu_worker_archtype */
    char name[ORR_MACHINE_NAME];
};

/* Worker w of rank r is number first[r] + w of the cluster. Constant once it is made. */
struct orr_machines {
    int ranks;
    int workers;                       /* of all ranks */
    int *first;                        /* ranks + 1: of each rank; then the number of all */
    int *node;                         /* by rank: its computer; numbered from 0 as ranks have them first */
    struct orr_machine_worker *worker; /* by number */
};

/* By hand: workers[r] CPUs on rank r, each rank on a computer of its own; types, names and nodes may be
 * changed then. 0, or -ENOMEM or -EINVAL with nothing made. */
int orr_machines_make(struct orr_machines *m, int ranks, const int *workers);
/* Of the ranks of b, whose runtime runs. Collective: 0 on all ranks or on none; -ENOMEM (said), -EIO. */
int orr_machines_gather(struct orr_machines *m, const struct orr_bootstrap *b);
void orr_machines_fini(struct orr_machines *m); /* also of what is zero */

/* The rank of a number of the cluster; -1: there is no such worker. */
int orr_machines_rank_of(const struct orr_machines *m, int number);
/* The number of a rank's worker; -1: there is no such. */
static inline int orr_machines_number(const struct orr_machines *m, int rank, int worker)
{
    if (rank < 0 || rank >= m->ranks || worker < 0 || worker >= m->first[rank + 1] - m->first[rank])
        return -1;
    return m->first[rank] + worker;
}
/* How many workers of a type (STARPU_ANY_WORKER: any) a rank has; rank -1: all ranks. */
int orr_machines_count(const struct orr_machines *m, int rank, enum starpu_worker_archtype type);

#endif
