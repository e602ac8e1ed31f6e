/* SPDX-License-Identifier: BSD-3-Clause */
/* The lower half of a sparse symmetric matrix, cut into square tiles of which only those that the factor can
 * fill are stored, dealt over a grid of ranks in both dimensions (tile (i, j) belongs to rank (i mod P, j mod
 * Q)).
 * Threads: built and registered by the main thread; the values are written by tasks only. Owns: the
 * values of this rank's tiles and all handles. Not here: what is computed with tiles (kernels.h,
 * factorisation.h). */
#ifndef CHOLESKY_TILE_MATRIX_H
#define CHOLESKY_TILE_MATRIX_H

#include <starpu_mpi.h>
#include <stdbool.h>

#include "sparse_matrix.h"

enum { TILE_ROWS_MAX = 16384 };

struct tile {
    int row, column; /* in tiles, row >= column */
    int owner;       /* rank */
    double *values;  /* column by column, rows(row) apart; NULL on other ranks */
    starpu_data_handle_t handle;
};

/* Handles of a vector cut like the matrix's rows; piece k belongs to the owner of diagonal tile k. */
struct tile_vector {
    double **values; /* NULL where another rank owns the piece */
    starpu_data_handle_t *handles;
};

struct tile_matrix {
    int size, tile_size, tile_rows; /* tile_rows = ceil(size / tile_size); the last tile may be ragged */
    int grid_rows, grid_columns, rank;
    int *index;         /* of tile (i, j), i >= j, at i * (i + 1) / 2 + j; -1 where it stays zero */
    struct tile *tiles; /* by columns, rows rising */
    int stored;
    int *column_first; /* tile_rows + 1 offsets into tiles[]; a column begins with its diagonal tile */
    size_t local_bytes;
    struct tile_vector solution, diagonal;
};

/* Finds the tiles of the factor and allocates those of `rank`; nothing is registered yet. `tile_size` is at
 * least 1 and gives at most TILE_ROWS_MAX rows of tiles. Returns 0, or -1 when memory ran out (nothing is
 * left allocated). */
int tile_matrix_init(struct tile_matrix *tiles, const struct sparse_matrix *matrix, int tile_size,
                     int grid_rows, int grid_columns, int rank);

/* Registers all tiles and vector pieces, those of other ranks without memory here. Ranks: collective. */
void tile_matrix_register(struct tile_matrix *tiles, MPI_Comm comm);
void tile_matrix_unregister(struct tile_matrix *tiles);

void tile_matrix_fini(struct tile_matrix *tiles);

/* Rows of the k-th row of tiles. */
static inline int tile_matrix_rows(const struct tile_matrix *tiles, int k)
{
    int left = tiles->size - k * tiles->tile_size;
    return left < tiles->tile_size ? left : tiles->tile_size;
}

/* Position in tiles[] of tile (row, column), row >= column; -1 when it stays zero. */
static inline int tile_matrix_index(const struct tile_matrix *tiles, int row, int column)
{
    return tiles->index[(size_t)row * ((size_t)row + 1) / 2 + (size_t)column];
}

static inline int tile_matrix_owner(const struct tile_matrix *tiles, int row, int column)
{
    return row % tiles->grid_rows * tiles->grid_columns + column % tiles->grid_columns;
}

#endif
