/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a symmetric matrix from a Matrix Market file, plain or compressed with gzip.
 * Threads: any.
 * Owns: nothing.
 * Not here: what a matrix is (sparse_matrix.h). */
#ifndef CHOLESKY_MATRIX_MARKET_H
#define CHOLESKY_MATRIX_MARKET_H

#include <stddef.h>

#include "sparse_matrix.h"

/* Reads `path` (coordinate format; real, integer or pattern; symmetric, or general with equal halves).
 * Everything is checked before it is used: banner, counts against what can exist, every index, finite values,
 * duplicates, symmetry, a diagonal without holes, the file's end and its compression checksum.
 * Returns 0; or -1 with one line without newline in error_out (file, line number and cause), *matrix_out
 * untouched. */
int matrix_market_read(const char *path, struct sparse_matrix *matrix_out, char *error_out,
                       size_t error_size);

#endif
