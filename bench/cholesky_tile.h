/* SPDX-License-Identifier: BSD-3-Clause */
/* The dense test matrix and tile kernels that all versions of the Cholesky benchmark share.
 * Threads: any.
 * Owns: nothing.
 * Not here: how the kernels are run as tasks (cholesky.c, openmp_tasks.c). */
#ifndef BENCH_CHOLESKY_TILE_H
#define BENCH_CHOLESKY_TILE_H

#include <cblas.h>
#include <math.h>

#include "measure.h"

extern void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);

/* Tiles of the lower half: tile (i, j), i >= j, is at i * tile_rows + j. */
struct dense {
    int size, tile, tile_rows;
    double **tiles;
};

static inline void tile_potrf(int n, double *a)
{
    int info;
    dpotrf_("L", &n, a, &n, &info);
    if (info) {
        fprintf(stderr, "dpotrf: %d\n", info);
        exit(1);
    }
}

static inline void tile_trsm(int n, const double *l, double *a)
{
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, n, n, 1.0, l, n, a, n);
}

static inline void tile_syrk(int n, const double *a, double *c)
{
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, n, n, -1.0, a, n, 1.0, c, n);
}

static inline void tile_gemm(int n, const double *a, const double *b, double *c)
{
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, n, n, n, -1.0, a, n, b, n, 1.0, c, n);
}

/* Element (i, j) is 1 / (1 + |i - j|), and `size` more on the diagonal. */
static inline void tile_fill(const struct dense *m, int row, int column, double *a)
{
    for (int j = 0; j < m->tile; j++)
        for (int i = 0; i < m->tile; i++) {
            int distance = abs(row * m->tile + i - column * m->tile - j);
            a[i + (size_t)j * (size_t)m->tile] = 1.0 / (1 + distance) + (distance ? 0 : m->size);
        }
}

/* A program for a runtime that has memory of its own says so before. */
#ifndef tile_malloc
#define tile_malloc malloc
#define tile_free free
#endif

/* `owns(row, column)` says which tiles to allocate; NULL: all. */
static inline struct dense dense_create(int size, int tile, int (*owns)(int row, int column))
{
    struct dense m = { .tile = tile, .tile_rows = size / tile };
    m.size = m.tile_rows * tile;
    m.tiles = calloc((size_t)m.tile_rows * (size_t)m.tile_rows, sizeof *m.tiles);
    for (int i = 0; i < m.tile_rows; i++)
        for (int j = 0; j <= i; j++)
            if (!owns || owns(i, j))
                m.tiles[i * m.tile_rows + j] = tile_malloc((size_t)tile * (size_t)tile * sizeof(double));
    return m;
}

static inline void dense_destroy(struct dense *m)
{
    for (int k = 0; k < m->tile_rows * m->tile_rows; k++) tile_free(m->tiles[k]);
    free(m->tiles);
}

static inline void dense_fill(struct dense *m)
{
    for (int i = 0; i < m->tile_rows; i++)
        for (int j = 0; j <= i; j++)
            if (m->tiles[i * m->tile_rows + j]) tile_fill(m, i, j, m->tiles[i * m->tile_rows + j]);
}

static inline void dense_factorise(struct dense *m)
{
    int t = m->tile_rows, b = m->tile;
    double **a = m->tiles;
    for (int k = 0; k < t; k++) {
        tile_potrf(b, a[k * t + k]);
        for (int i = k + 1; i < t; i++) tile_trsm(b, a[k * t + k], a[i * t + k]);
        for (int i = k + 1; i < t; i++) {
            tile_syrk(b, a[i * t + k], a[i * t + i]);
            for (int j = k + 1; j < i; j++) tile_gemm(b, a[i * t + k], a[j * t + k], a[i * t + j]);
        }
    }
}

/* The yardstick: the same kernels in one thread, without tasks. Returns GFlop/s; leaves the factor in *m. */
static inline double dense_measure(struct dense *m)
{
    dense_fill(m);
    double start = now(), size = m->size;
    dense_factorise(m);
    return size * size * size / 3 / (now() - start) * 1e-9;
}

/* The largest difference between two factors, where both have the tile. */
static inline double dense_difference(const struct dense *x, const struct dense *y)
{
    double most = 0;
    for (int i = 0; i < x->tile_rows; i++)
        for (int j = 0; j <= i; j++) {
            const double *a = x->tiles[i * x->tile_rows + j], *b = y->tiles[i * x->tile_rows + j];
            for (int e = 0; a && b && e < x->tile * x->tile; e++)
                if (i != j || e % x->tile >= e / x->tile) most = fmax(most, fabs(a[e] - b[e]));
        }
    return most;
}

#endif
