/* SPDX-License-Identifier: BSD-3-Clause */
/* The same system solved by LAPACK, dense and sequential, to compare with.
 * Threads: the main thread of one rank.
 * Owns: nothing.
 * Not here: the comparison (mpi_cholesky.c). */
#ifndef CHOLESKY_REFERENCE_H
#define CHOLESKY_REFERENCE_H

#include <stddef.h>

#include "sparse_matrix.h"

enum { REFERENCE_SIZE_MAX = 6000 };

struct reference {
    double log_determinant;
    double *solution;            /* taken by the caller, who frees it */
    double reciprocal_condition; /* LAPACK's estimate, 1-norm */
};

/* Factorises and solves for `rhs`. Returns 0; -1 when memory ran out; k > 0 when pivot k is not positive. */
int reference_solve(const struct sparse_matrix *matrix, const double *rhs, double norm,
                    struct reference *reference_out);

/* Sum of 2 log(diagonal[i]) in index order with compensation: the same bits wherever the diagonal came from.
 */
double reference_log_determinant(const double *diagonal, size_t stride, int count);

#endif
