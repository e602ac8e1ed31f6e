/* SPDX-License-Identifier: BSD-3-Clause */
/* A sparse symmetric matrix: the lower half, column by column, rows rising within a column.
 * Threads: read by any thread once built.
 * Owns: nothing; every matrix belongs to its caller.
 * Not here: reading files (matrix_market.h), dense tiles (tile_matrix.h). */
#ifndef CHOLESKY_SPARSE_MATRIX_H
#define CHOLESKY_SPARSE_MATRIX_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

struct sparse_matrix {
    int size;              /* rows and columns */
    int64_t entries;       /* entries of the lower half, diagonal included */
    int64_t *column_start; /* size + 1 offsets into row[] and value[] */
    int *row;
    double *value;
};

/* Fills *matrix_out with a random matrix, strictly diagonally dominant and so positive definite, the same for
 * the same arguments on every machine: about eight entries below each diagonal element, at most `band` rows
 * below it. Returns 0, or -1 when memory ran out. */
int sparse_matrix_generate(int size, int band, uint64_t seed, struct sparse_matrix *matrix_out);

/* Allocates room for the given shape. Returns 0, or -1 when memory ran out (nothing is left allocated). */
int sparse_matrix_init(struct sparse_matrix *matrix, int size, int64_t entries);

/* Copies the matrix of rank `root` to every rank of `comm`. Ranks: collective. Returns 0, or -1 on every rank
 * when memory ran out on any of them. */
int sparse_matrix_broadcast(struct sparse_matrix *matrix, int root, MPI_Comm comm);

/* product = matrix * vector, both halves taken into account. */
void sparse_matrix_multiply(const struct sparse_matrix *matrix, const double *vector, double *product);

/* The infinity norm (largest row sum of magnitudes); `scratch` has room for one vector. */
double sparse_matrix_norm(const struct sparse_matrix *matrix, double *scratch);

void sparse_matrix_fini(struct sparse_matrix *matrix);

#endif
