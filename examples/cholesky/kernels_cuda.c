/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels for CUDA devices: cuBLAS on the worker's stream. Compiled where CUDA is.
 * Threads: the functions run on workers. Owns: nothing. Not here: cuBLAS's handles (the runtime has one for
 * each worker). */
#include "kernels.h"
#include "kernels_devices.h"

#ifdef WITH_CUDA_KERNELS

#include <cublas_v2.h>
#include <starpu_cublas_v2.h>

struct tile {
    double *values;
    int rows, columns, ld;
};

static struct tile tile_of(void *buffer)
{
    return (struct tile){ .values = (double *)STARPU_MATRIX_GET_PTR(buffer),
                          .rows = (int)STARPU_MATRIX_GET_NX(buffer),
                          .columns = (int)STARPU_MATRIX_GET_NY(buffer),
                          .ld = (int)STARPU_MATRIX_GET_LD(buffer) };
}

static const double one = 1, minus_one = -1;

static void end_task(cublasStatus_t status)
{
    kernels_count_task();
    if (status != CUBLAS_STATUS_SUCCESS) STARPU_CUBLAS_REPORT_ERROR(status);
}

void cuda_trsm(void *buffers[], void *args)
{
    struct tile l = tile_of(buffers[0]), a = tile_of(buffers[1]);
    (void)args;
    end_task(cublasDtrsm(starpu_cublas_get_local_handle(), CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_LOWER,
                         CUBLAS_OP_T, CUBLAS_DIAG_NON_UNIT, a.rows, a.columns, &one, l.values, l.ld, a.values,
                         a.ld));
}

void cuda_syrk(void *buffers[], void *args)
{
    struct tile a = tile_of(buffers[0]), c = tile_of(buffers[1]);
    (void)args;
    end_task(cublasDsyrk(starpu_cublas_get_local_handle(), CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, c.rows,
                         a.columns, &minus_one, a.values, a.ld, &one, c.values, c.ld));
}

void cuda_gemm(void *buffers[], void *args)
{
    struct tile a = tile_of(buffers[0]), b = tile_of(buffers[1]), c = tile_of(buffers[2]);
    (void)args;
    end_task(cublasDgemm(starpu_cublas_get_local_handle(), CUBLAS_OP_N, CUBLAS_OP_T, c.rows, c.columns,
                         a.columns, &minus_one, a.values, a.ld, b.values, b.ld, &one, c.values, c.ld));
}

#endif
