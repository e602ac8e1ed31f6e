/* SPDX-License-Identifier: BSD-3-Clause */
/* A sparse symmetric matrix: building, generating, broadcasting, multiplying.
 * Threads: one per matrix while it is built.
 * Owns: nothing.
 * Not here: reading files (matrix_market.c). */
#include "sparse_matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES_PER_COLUMN = 8 };

int sparse_matrix_init(struct sparse_matrix *matrix, int size, int64_t entries)
{
    matrix->size = size;
    matrix->entries = entries;
    matrix->column_start = calloc((size_t)size + 1, sizeof *matrix->column_start);
    matrix->row = malloc((size_t)entries * sizeof *matrix->row);
    matrix->value = malloc((size_t)entries * sizeof *matrix->value);
    if (matrix->column_start && matrix->row && matrix->value) return 0;
    sparse_matrix_fini(matrix);
    return -1;
}

void sparse_matrix_fini(struct sparse_matrix *matrix)
{
    free(matrix->column_start);
    free(matrix->row);
    free(matrix->value);
    memset(matrix, 0, sizeof *matrix);
}

/* splitmix64: the same stream everywhere. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int compare_ints(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Chooses distinct rows below the diagonal of `column`, rising; returns how many. */
static int choose_rows(int column, int size, int band, uint64_t *state, int rows[ENTRIES_PER_COLUMN])
{
    int reach = size - 1 - column < band ? size - 1 - column : band;
    if (reach <= 0) return 0;
    for (int k = 0; k < ENTRIES_PER_COLUMN; k++)
        rows[k] = column + 1 + (int)(next_random(state) % (uint64_t)reach);
    qsort(rows, ENTRIES_PER_COLUMN, sizeof *rows, compare_ints);
    int count = 1;
    for (int k = 1; k < ENTRIES_PER_COLUMN; k++)
        if (rows[k] != rows[count - 1]) rows[count++] = rows[k];
    return count;
}

int sparse_matrix_generate(int size, int band, uint64_t seed, struct sparse_matrix *matrix_out)
{
    uint64_t state = seed;
    struct sparse_matrix matrix;
    double *row_sum = calloc((size_t)size, sizeof *row_sum);
    if (!row_sum || sparse_matrix_init(&matrix, size, (int64_t)size * (ENTRIES_PER_COLUMN + 1))) {
        free(row_sum);
        return -1;
    }
    int64_t entry = 0;
    for (int column = 0; column < size; column++) {
        int rows[ENTRIES_PER_COLUMN], count = choose_rows(column, size, band, &state, rows);
        matrix.column_start[column] = entry;
        matrix.row[entry++] = column;
        for (int k = 0; k < count; k++) {
            double value = (double)(next_random(&state) >> 11) * 0x1p-52 - 1.0;
            matrix.row[entry] = rows[k];
            matrix.value[entry++] = value;
            row_sum[rows[k]] += fabs(value);
            row_sum[column] += fabs(value);
        }
    }
    matrix.column_start[size] = entry;
    matrix.entries = entry;
    for (int column = 0; column < size; column++)
        matrix.value[matrix.column_start[column]] = row_sum[column] + 1.0;
    free(row_sum);
    *matrix_out = matrix;
    return 0;
}

/* MPI_Bcast of any length: its count is an int. */
static void broadcast_bytes(void *data, size_t bytes, int root, MPI_Comm comm)
{
    const size_t chunk = (size_t)1 << 30;
    for (size_t at = 0; at < bytes; at += chunk)
        MPI_Bcast((char *)data + at, (int)(bytes - at < chunk ? bytes - at : chunk), MPI_BYTE, root, comm);
}

int sparse_matrix_broadcast(struct sparse_matrix *matrix, int root, MPI_Comm comm)
{
    int rank, failed = 0, any_failed;
    int64_t shape[2] = { matrix->size, matrix->entries };
    MPI_Comm_rank(comm, &rank);
    MPI_Bcast(shape, 2, MPI_INT64_T, root, comm);
    if (rank != root) failed = sparse_matrix_init(matrix, (int)shape[0], shape[1]) != 0;
    MPI_Allreduce(&failed, &any_failed, 1, MPI_INT, MPI_MAX, comm);
    if (any_failed) return -1;
    broadcast_bytes(matrix->column_start, ((size_t)shape[0] + 1) * sizeof *matrix->column_start, root, comm);
    broadcast_bytes(matrix->row, (size_t)shape[1] * sizeof *matrix->row, root, comm);
    broadcast_bytes(matrix->value, (size_t)shape[1] * sizeof *matrix->value, root, comm);
    return 0;
}

void sparse_matrix_multiply(const struct sparse_matrix *matrix, const double *vector, double *product)
{
    memset(product, 0, (size_t)matrix->size * sizeof *product);
    for (int column = 0; column < matrix->size; column++) {
        for (int64_t e = matrix->column_start[column]; e < matrix->column_start[column + 1]; e++) {
            product[matrix->row[e]] += matrix->value[e] * vector[column];
            if (matrix->row[e] != column) product[column] += matrix->value[e] * vector[matrix->row[e]];
        }
    }
}

double sparse_matrix_norm(const struct sparse_matrix *matrix, double *scratch)
{
    double norm = 0;
    memset(scratch, 0, (size_t)matrix->size * sizeof *scratch);
    for (int column = 0; column < matrix->size; column++) {
        for (int64_t e = matrix->column_start[column]; e < matrix->column_start[column + 1]; e++) {
            scratch[matrix->row[e]] += fabs(matrix->value[e]);
            if (matrix->row[e] != column) scratch[column] += fabs(matrix->value[e]);
        }
    }
    for (int row = 0; row < matrix->size; row++) norm = fmax(norm, scratch[row]);
    return norm;
}
