/* SPDX-License-Identifier: BSD-3-Clause */
/* lu shows a factorisation whose tasks have priorities and four kernels: A = L * U in tiles, without pivoting
 * (A has a heavy diagonal). The solves and the factor of a diagonal tile are for CPUs; the updates, which are
 * most of the work, for any device. Usage: lu [SIZE [TILES]]. Threads: main inserts; workers run the tasks.
 * Expected output (the last digits vary):
 *   240 in 6 x 6 tiles: A - LU is 3.1e-16 of A; right */
#include <math.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>

#include "devices.h"

/* Tiles are contiguous: element (i, j) of a tile of n is at i + j * n. */
static double *tile_of(void *buffer)
{
    return (double *)STARPU_MATRIX_GET_PTR(buffer);
}

/* A = L * U in place, L with ones on its diagonal. */
static void factor_cpu(void *buffers[], void *args)
{
    double *a = tile_of(buffers[0]);
    size_t n = STARPU_MATRIX_GET_NX(buffers[0]);
    (void)args;
    for (size_t k = 0; k < n; k++)
        for (size_t i = k + 1; i < n; i++) {
            a[i + k * n] /= a[k + k * n];
            for (size_t j = k + 1; j < n; j++) a[i + j * n] -= a[i + k * n] * a[k + j * n];
        }
}

/* A = inverse(L) * A: a tile to the right of the diagonal's. */
static void solve_row_cpu(void *buffers[], void *args)
{
    const double *l = tile_of(buffers[0]);
    double *a = tile_of(buffers[1]);
    size_t n = STARPU_MATRIX_GET_NX(buffers[0]);
    (void)args;
    for (size_t j = 0; j < n; j++)
        for (size_t k = 0; k < n; k++)
            for (size_t i = k + 1; i < n; i++) a[i + j * n] -= l[i + k * n] * a[k + j * n];
}

/* A = A * inverse(U): a tile below the diagonal's. */
static void solve_column_cpu(void *buffers[], void *args)
{
    const double *u = tile_of(buffers[0]);
    double *a = tile_of(buffers[1]);
    size_t n = STARPU_MATRIX_GET_NX(buffers[0]);
    (void)args;
    for (size_t j = 0; j < n; j++) {
        for (size_t k = 0; k < j; k++)
            for (size_t i = 0; i < n; i++) a[i + j * n] -= a[i + k * n] * u[k + j * n];
        for (size_t i = 0; i < n; i++) a[i + j * n] /= u[j + j * n];
    }
}

/* C -= A * B */
static void update_cpu(void *buffers[], void *args)
{
    const double *a = tile_of(buffers[0]), *b = tile_of(buffers[1]);
    double *c = tile_of(buffers[2]);
    size_t n = STARPU_MATRIX_GET_NX(buffers[0]);
    (void)args;
    for (size_t j = 0; j < n; j++)
        for (size_t k = 0; k < n; k++)
            for (size_t i = 0; i < n; i++) c[i + j * n] -= a[i + k * n] * b[k + j * n];
}

#ifdef STARPU_USE_OPENCL
static void update_opencl(void *buffers[], void *args)
{
    cl_mem tile[3];
    cl_uint n = STARPU_MATRIX_GET_NX(buffers[0]);
    size_t sizes[2] = { n, n };
    (void)args;
    for (int k = 0; k < 3; k++) tile[k] = (cl_mem)STARPU_MATRIX_GET_DEV_HANDLE(buffers[k]);
    START_OPENCL("update", 2, sizes, ARG(tile[0]), ARG(tile[1]), ARG(tile[2]), ARG(n));
}
#endif

#ifdef WITH_CUDA_KERNELS
void update_cuda(void *buffers[], void *args); /* lu.cu */
#endif

#define MODEL(symbol_)                                                                                       \
    &(struct starpu_perfmodel)                                                                               \
    {                                                                                                        \
        .type = STARPU_HISTORY_BASED, .symbol = symbol_                                                      \
    }

static struct starpu_codelet factor = { .cpu_funcs = { factor_cpu },
                                        .nbuffers = 1,
                                        .modes = { STARPU_RW },
                                        .name = "factor",
                                        .model = MODEL("example_lu_factor") };
static struct starpu_codelet solve_row = { .cpu_funcs = { solve_row_cpu },
                                           .nbuffers = 2,
                                           .modes = { STARPU_R, STARPU_RW },
                                           .name = "solve row",
                                           .model = MODEL("example_lu_row") };
static struct starpu_codelet solve_column = { .cpu_funcs = { solve_column_cpu },
                                              .nbuffers = 2,
                                              .modes = { STARPU_R, STARPU_RW },
                                              .name = "solve column",
                                              .model = MODEL("example_lu_column") };
static struct starpu_codelet update = {
    .cpu_funcs = { update_cpu },
    OPENCL_FUNCTION(update_opencl) CUDA_FUNCTION(update_cuda).nbuffers = 3,
    .modes = { STARPU_R, STARPU_R, STARPU_RW },
    .name = "update",
    .model = MODEL("example_lu_update"),
};

/* What is on the way of the diagonal goes first. */
static int insert_all(starpu_data_handle_t *tile, unsigned tiles)
{
    int error = 0;
    for (unsigned k = 0; k < tiles; k++) {
        int high = 2 * (int)(tiles - k);
        starpu_data_handle_t diagonal = tile[k + k * tiles];
        error |= starpu_task_insert(&factor, STARPU_RW, diagonal, STARPU_PRIORITY, high, 0);
        for (unsigned i = k + 1; i < tiles; i++) {
            error |= starpu_task_insert(&solve_row, STARPU_R, diagonal, STARPU_RW, tile[k + i * tiles],
                                        STARPU_PRIORITY, high - 1, 0);
            error |= starpu_task_insert(&solve_column, STARPU_R, diagonal, STARPU_RW, tile[i + k * tiles],
                                        STARPU_PRIORITY, high - 1, 0);
        }
        for (unsigned j = k + 1; j < tiles; j++)
            for (unsigned i = k + 1; i < tiles; i++)
                error |= starpu_task_insert(&update, STARPU_R, tile[i + k * tiles], STARPU_R,
                                            tile[k + j * tiles], STARPU_RW, tile[i + j * tiles],
                                            STARPU_PRIORITY, i == k + 1 || j == k + 1 ? high - 2 : 0, 0);
    }
    return error;
}

static double element(unsigned i, unsigned j, unsigned size)
{
    return i == j ? 3.0 * size : (i * 7.0 + j * 13.0) - 11 * floor((i * 7.0 + j * 13.0) / 11) - 5;
}

/* The place of an element in an array of tiles of n. */
static size_t place(unsigned i, unsigned j, unsigned n, unsigned tiles)
{
    return ((size_t)(i / n) + (size_t)(j / n) * tiles) * n * n + i % n + (size_t)(j % n) * n;
}

/* The greatest error of L * U, over the greatest element of A. */
static double residual(const double *lu, unsigned n, unsigned tiles)
{
    unsigned size = n * tiles;
    double worst = 0;
    for (unsigned j = 0; j < size; j++)
        for (unsigned i = 0; i < size; i++) {
            double sum = i <= j ? lu[place(i, j, n, tiles)] : 0; /* the one on the diagonal of L */
            for (unsigned k = 0; k <= j && k < i; k++)
                sum += lu[place(i, k, n, tiles)] * lu[place(k, j, n, tiles)];
            worst = fmax(worst, fabs(sum - element(i, j, size)));
        }
    return worst / (3.0 * size);
}

int main(int argc, char **argv)
{
    unsigned size = argc > 1 ? (unsigned)atoi(argv[1]) : 240, tiles = argc > 2 ? (unsigned)atoi(argv[2]) : 6;
    if (tiles < 1 || tiles > 256 || size < tiles || size > 16384 || size % tiles) {
        fprintf(stderr, "lu: TILES is 1 to 256, SIZE a multiple of it up to 16384\n");
        return EXIT_FAILURE;
    }
    unsigned n = size / tiles;
    double *a = malloc((size_t)size * size * sizeof *a);
    starpu_data_handle_t *tile = malloc((size_t)tiles * tiles * sizeof(starpu_data_handle_t));
    if (!a || !tile || starpu_init(NULL)) {
        fprintf(stderr, "lu: the runtime did not start\n");
        return 77;
    }
    if (devices_open("examples/devices/lu.cl")) return EXIT_FAILURE;
    for (unsigned j = 0; j < size; j++)
        for (unsigned i = 0; i < size; i++) a[place(i, j, n, tiles)] = element(i, j, size);
    for (unsigned k = 0; k < tiles * tiles; k++)
        starpu_matrix_data_register(&tile[k], STARPU_MAIN_RAM, (uintptr_t)(a + (size_t)k * n * n), n, n, n,
                                    sizeof *a);
    int error = insert_all(tile, tiles);
    for (unsigned k = 0; k < tiles * tiles; k++) starpu_data_unregister(tile[k]);
    double left = residual(a, n, tiles);
    int is_right = !error && left < 1e-13;
    printf("%u in %u x %u tiles: A - LU is %.1e of A; %s\n", size, tiles, tiles, left,
           is_right ? "right" : "WRONG");
    devices_close();
    starpu_shutdown();
    free(tile);
    free(a);
    return !is_right;
}
