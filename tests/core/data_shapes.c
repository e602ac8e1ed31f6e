/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data that is copied over data of another shape with as many bytes: dense data takes the shape, within its
 * memory and without touching what is not its; where it cannot, and for sparse data, the copy is refused.
 * Threads: main; workers copy. Owns: the arrays, with guards behind them. Not here: copies of one shape
 * (data_lifecycle.c), the methods of interfaces (interfaces.c).
 */
#include "tests/helper.h"

enum { MAX = 64, GUARD = 0x6a };

static int source[MAX], target[MAX];

static void fresh(void)
{
    for (int i = 0; i < MAX; i++) {
        source[i] = i + 1;
        target[i] = GUARD;
    }
}

/* Copies and ends both; whether the first n numbers came in order and the others were left alone. */
static int copied(starpu_data_handle_t to, starpu_data_handle_t from, int n)
{
    int r = starpu_data_cpy(to, from, 0, NULL, NULL);
    starpu_data_unregister(from);
    starpu_data_unregister(to);
    for (int i = 0; i < MAX; i++)
        if (target[i] != (i < n ? i + 1 : GUARD)) r = -1;
    return r == 0;
}

static starpu_data_handle_t matrix(int *at, size_t ld, size_t nx, size_t ny)
{
    starpu_data_handle_t h;
    starpu_matrix_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)at, ld, nx, ny, sizeof *at);
    return h;
}

static starpu_data_handle_t block(int *at, size_t nx, size_t ny, size_t nz)
{
    starpu_data_handle_t h;
    starpu_block_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)at, nx, nx * ny, nx, ny, nz, sizeof *at);
    return h;
}

static starpu_data_handle_t tensor(int *at, size_t nx, size_t ny, size_t nz, size_t nt)
{
    starpu_data_handle_t h;
    starpu_tensor_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)at, nx, nx * ny, nx * ny * nz, nx, ny, nz, nt,
                                sizeof *at);
    return h;
}

static starpu_data_handle_t ndim(int *at, size_t dims, size_t *nn)
{
    starpu_data_handle_t h;
    size_t ld[4] = { 1 };
    for (size_t i = 1; i < dims; i++) ld[i] = ld[i - 1] * nn[i - 1];
    starpu_ndim_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)at, ld, nn, dims, sizeof *at);
    return h;
}

static void dense(void)
{
    fresh();
    ok(copied(matrix(target, 4, 4, 3), matrix(source, 3, 3, 4), 12), "a matrix of 4x3 takes one of 3x4");
    fresh();
    ok(copied(matrix(target, 3, 3, 4), matrix(source, 4, 4, 3), 12), "one of 3x4 takes one of 4x3");
    fresh();
    ok(copied(matrix(target, 12, 12, 1), matrix(source, 2, 2, 6), 12), "one of 12x1 takes one of 2x6");
    fresh();
    ok(copied(block(target, 4, 1, 3), block(source, 3, 1, 4), 12), "a block of 4x1x3 takes one of 3x1x4");
    fresh();
    ok(copied(block(target, 4, 3, 2), block(source, 2, 3, 4), 24), "one of 4x3x2 takes one of 2x3x4");
    fresh();
    ok(copied(tensor(target, 4, 1, 3, 2), tensor(source, 3, 1, 4, 2), 24), "a tensor takes another");
    fresh();
    ok(copied(ndim(target, 3, (size_t[]){ 4, 2, 3 }), ndim(source, 3, (size_t[]){ 3, 2, 4 }), 24),
       "an n-dimensional array takes another");
}

static void elements(void)
{
    starpu_data_handle_t to, from;
    fresh();
    starpu_vector_data_register(&to, STARPU_MAIN_RAM, (uintptr_t)target, 5, 2 * sizeof(int));
    starpu_vector_data_register(&from, STARPU_MAIN_RAM, (uintptr_t)source, 10, sizeof(int));
    int r = starpu_data_cpy(to, from, 0, NULL, NULL);
    ok(all_of(r == 0, starpu_vector_get_nx(to) * starpu_vector_get_elemsize(to) == 10 * sizeof(int)),
       "a vector takes another length with the size of the elements that goes with it");
    starpu_data_unregister(from);
    starpu_data_unregister(to);
}

static int untouched(void)
{
    int left = 1;
    for (int i = 0; i < MAX; i++) left &= target[i] == GUARD;
    return left;
}

/* Whether the copy is refused, without touching the target. Ends both. */
static int refused(starpu_data_handle_t to, starpu_data_handle_t from)
{
    int r =
        starpu_data_get_size(to) == starpu_data_get_size(from) ? starpu_data_cpy(to, from, 0, NULL, NULL) : 0;
    starpu_data_unregister(from);
    starpu_data_unregister(to);
    return r == -EINVAL && untouched();
}

static void gaps(void)
{
    fresh();
    ok(refused(matrix(target, 5, 4, 3), matrix(source, 3, 3, 4)),
       "a matrix with gaps between its rows takes no other shape");
    fresh();
    ok(refused(ndim(target, 2, (size_t[]){ 4, 3 }), ndim(source, 3, (size_t[]){ 3, 2, 2 })),
       "an array takes none of other dimensions");
}

static starpu_data_handle_t csr(int *at, uint32_t nnz, uint32_t nrow)
{
    starpu_data_handle_t h;
    starpu_csr_data_register(&h, STARPU_MAIN_RAM, nnz, nrow, (uintptr_t)at, (uint32_t *)at + nnz,
                             (uint32_t *)at + 2 * nnz, 0, sizeof *at);
    return h;
}

static starpu_data_handle_t bcsr(int *at, uint32_t nnz, uint32_t nrow)
{
    starpu_data_handle_t h;
    starpu_bcsr_data_register(&h, STARPU_MAIN_RAM, nnz, nrow, (uintptr_t)at, (uint32_t *)at + nnz,
                              (uint32_t *)at + 2 * nnz, 0, 1, 1, sizeof *at);
    return h;
}

static starpu_data_handle_t coo(int *at, uint32_t count, size_t elemsize)
{
    starpu_data_handle_t h;
    starpu_coo_data_register(&h, STARPU_MAIN_RAM, 9, 9, count, (uint32_t *)at, (uint32_t *)at + count,
                             (uintptr_t)(at + 2 * count), elemsize);
    return h;
}

static void sparse(void)
{
    fresh();
    ok(refused(csr(target, 2, 5), csr(source, 3, 3)), "a sparse matrix of rows takes none of another shape");
    fresh();
    ok(refused(bcsr(target, 2, 5), bcsr(source, 3, 3)), "nor one of blocks");
    fresh();
    ok(refused(coo(target, 2, 16), coo(source, 4, 4)), "nor one by coordinates");
    fresh();
    int cells = 3 + 3 + 4;
    ok(copied(csr(target, 3, 3), csr(source, 3, 3), cells), "one of the same shape is copied");
}

int main(void)
{
    runtime_start(1, NULL);
    dense();
    elements();
    gaps();
    sparse();
    starpu_shutdown();
    return done_testing();
}
