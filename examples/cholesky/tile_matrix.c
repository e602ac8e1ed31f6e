/* SPDX-License-Identifier: BSD-3-Clause */
/* Sparse symmetric matrix in tiles: symbolic fill, storage, distribution, registration.
 * Threads: the main thread.
 * Owns: the values of this rank's tiles and all handles.
 * Not here: what is computed with tiles (kernels.c, factorisation.c).
 *
 * Symbolic fill works on whole tiles: eliminating column k couples every pair of its rows, so the pattern of
 * column k is merged into the column of its first row below the diagonal (its parent in the elimination
 * tree); all later couplings follow from there (Liu, The role of elimination trees in sparse factorization,
 * 1990). */
#include "tile_matrix.h"

#include <stdlib.h>
#include <string.h>

static size_t pattern_at(int row, int column)
{
    return (size_t)row * ((size_t)row + 1) / 2 + (size_t)column;
}

/* Sets index[] to 0 for tiles that will hold something and to -1 for the rest; returns how many there are. */
static int64_t find_fill(struct tile_matrix *tiles, const struct sparse_matrix *matrix)
{
    int count = tiles->tile_rows, *index = tiles->index;
    int64_t stored = 0;
    for (size_t at = 0; at < pattern_at(count, 0); at++) index[at] = -1;
    for (int column = 0; column < matrix->size; column++)
        for (int64_t e = matrix->column_start[column]; e < matrix->column_start[column + 1]; e++)
            index[pattern_at(matrix->row[e] / tiles->tile_size, column / tiles->tile_size)] = 0;
    for (int k = 0; k < count; k++) {
        int parent = -1;
        index[pattern_at(k, k)] = 0;
        for (int i = k; i < count; i++) {
            if (index[pattern_at(i, k)] < 0) continue;
            stored++;
            if (parent < 0 && i > k) parent = i;
            if (parent >= 0) index[pattern_at(i, parent)] = 0;
        }
    }
    return stored;
}

static int allocate_vector(struct tile_vector *vector, const struct tile_matrix *tiles)
{
    vector->values = calloc((size_t)tiles->tile_rows, sizeof *vector->values);
    vector->handles = calloc((size_t)tiles->tile_rows, sizeof(starpu_data_handle_t));
    if (!vector->values || !vector->handles) return -1;
    for (int k = 0; k < tiles->tile_rows; k++) {
        if (tile_matrix_owner(tiles, k, k) != tiles->rank) continue;
        vector->values[k] = calloc((size_t)tile_matrix_rows(tiles, k), sizeof(double));
        if (!vector->values[k]) return -1;
    }
    return 0;
}

static void free_vector(struct tile_vector *vector, int count)
{
    for (int k = 0; vector->values && k < count; k++) free(vector->values[k]);
    free(vector->values);
    free(vector->handles);
}

/* Numbers the stored tiles column by column and allocates this rank's. */
static int allocate_tiles(struct tile_matrix *tiles)
{
    int next = 0;
    for (int j = 0; j < tiles->tile_rows; j++) {
        tiles->column_first[j] = next;
        for (int i = j; i < tiles->tile_rows; i++) {
            if (tile_matrix_index(tiles, i, j) < 0) continue;
            struct tile *tile = &tiles->tiles[next];
            *tile = (struct tile){ .row = i, .column = j, .owner = tile_matrix_owner(tiles, i, j) };
            tiles->index[pattern_at(i, j)] = next++;
            if (tile->owner != tiles->rank) continue;
            size_t bytes =
                (size_t)tile_matrix_rows(tiles, i) * (size_t)tile_matrix_rows(tiles, j) * sizeof(double);
            /* the runtime's own memory: devices, and other ranks of this node, copy from it by themselves */
            if (starpu_malloc((void **)&tile->values, bytes)) return -1;
            memset(tile->values, 0, bytes);
            tiles->local_bytes += bytes;
        }
    }
    tiles->column_first[tiles->tile_rows] = next;
    return 0;
}

int tile_matrix_init(struct tile_matrix *tiles, const struct sparse_matrix *matrix, int tile_size,
                     int grid_rows, int grid_columns, int rank)
{
    memset(tiles, 0, sizeof *tiles);
    tiles->size = matrix->size;
    tiles->tile_size = tile_size;
    tiles->tile_rows = (matrix->size - 1) / tile_size + 1;
    tiles->grid_rows = grid_rows;
    tiles->grid_columns = grid_columns;
    tiles->rank = rank;
    tiles->index = malloc(pattern_at(tiles->tile_rows, 0) * sizeof *tiles->index);
    tiles->column_first = calloc((size_t)tiles->tile_rows + 1, sizeof *tiles->column_first);
    if (!tiles->index || !tiles->column_first) goto fail;
    tiles->stored = (int)find_fill(tiles, matrix);
    tiles->tiles = calloc((size_t)tiles->stored, sizeof *tiles->tiles);
    if (!tiles->tiles || allocate_tiles(tiles) || allocate_vector(&tiles->solution, tiles) ||
        allocate_vector(&tiles->diagonal, tiles))
        goto fail;
    return 0;
fail:
    tile_matrix_fini(tiles);
    return -1;
}

void tile_matrix_fini(struct tile_matrix *tiles)
{
    for (int t = 0; tiles->tiles && t < tiles->stored; t++) starpu_free(tiles->tiles[t].values);
    free_vector(&tiles->solution, tiles->tile_rows);
    free_vector(&tiles->diagonal, tiles->tile_rows);
    free(tiles->tiles);
    free(tiles->column_first);
    free(tiles->index);
    memset(tiles, 0, sizeof *tiles);
}

/* Tags continue after those of the tiles, so that they are the same on every rank. */
static void register_vector(struct tile_vector *vector, const struct tile_matrix *tiles, int64_t first_tag,
                            MPI_Comm comm)
{
    for (int k = 0; k < tiles->tile_rows; k++) {
        starpu_vector_data_register(&vector->handles[k], vector->values[k] ? STARPU_MAIN_RAM : -1,
                                    (uintptr_t)vector->values[k], (uint32_t)tile_matrix_rows(tiles, k),
                                    sizeof(double));
        starpu_mpi_data_register_comm(vector->handles[k], first_tag + k, tile_matrix_owner(tiles, k, k),
                                      comm);
    }
}

void tile_matrix_register(struct tile_matrix *tiles, MPI_Comm comm)
{
    for (int t = 0; t < tiles->stored; t++) {
        struct tile *tile = &tiles->tiles[t];
        uint32_t rows = (uint32_t)tile_matrix_rows(tiles, tile->row);
        uint32_t columns = (uint32_t)tile_matrix_rows(tiles, tile->column);
        starpu_matrix_data_register(&tile->handle, tile->values ? STARPU_MAIN_RAM : -1,
                                    (uintptr_t)tile->values, rows, rows, columns, sizeof(double));
        starpu_mpi_data_register_comm(tile->handle, t, tile->owner, comm);
    }
    register_vector(&tiles->solution, tiles, tiles->stored, comm);
    register_vector(&tiles->diagonal, tiles, (int64_t)tiles->stored + tiles->tile_rows, comm);
}

void tile_matrix_unregister(struct tile_matrix *tiles)
{
    for (int t = 0; t < tiles->stored; t++) starpu_data_unregister(tiles->tiles[t].handle);
    for (int k = 0; k < tiles->tile_rows; k++) {
        starpu_data_unregister(tiles->solution.handles[k]);
        starpu_data_unregister(tiles->diagonal.handles[k]);
    }
}
