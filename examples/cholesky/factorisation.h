/* SPDX-License-Identifier: BSD-3-Clause */
/* The task streams of the program: assembling, factorising, solving.
 * Threads: the main thread of every rank, all in the same order.
 * Owns: nothing.
 * Not here: what a task does (kernels.h), who holds what (tile_matrix.h), counting (traffic.h). */
#ifndef CHOLESKY_FACTORISATION_H
#define CHOLESKY_FACTORISATION_H

#include "tile_matrix.h"
#include "traffic.h"

struct factorisation {
    struct tile_matrix *tiles;
    const struct sparse_matrix *matrix; /* borrowed until the last task has run */
    MPI_Comm comm;
    bool use_priorities;
    long *level;             /* per tile: length of the longest path from its next task to the end */
    struct traffic *traffic; /* notes every task that is inserted; NULL when nobody counts */
    double flops;            /* of the factorisation, set by factorisation_init */
    long tasks;              /* of the factorisation, set by factorisation_init */
};

/* Borrows all pointers until _fini. Returns 0, or -1 when memory ran out. */
int factorisation_init(struct factorisation *f, struct tile_matrix *tiles, const struct sparse_matrix *matrix,
                       MPI_Comm comm, bool use_priorities);
void factorisation_fini(struct factorisation *f);

/* Each inserts its tasks and returns without waiting. Ranks: collective in the same order.
 * Returns 0, or the negative error code of the first insertion that failed. */
int factorisation_insert_assembly(struct factorisation *f, const double *rhs);
int factorisation_insert_factor(struct factorisation *f);
int factorisation_insert_solve(struct factorisation *f);
int factorisation_insert_diagonal(struct factorisation *f);

#endif
