/* SPDX-License-Identifier: BSD-3-Clause */
/* sparse.cu: kernels of the examples of sparse matrices. */
#include <starpu.h>

enum { THREADS = 256 };

static __global__ void spmv(const double *value, const uint32_t *column, const uint32_t *begin, uint32_t first,
                            const double *x, double *y, uint32_t rows)
{
    uint32_t row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double sum = 0;
    for (uint32_t k = begin[row] - first; k < begin[row + 1] - first; k++) sum += value[k] * x[column[k]];
    y[row] = sum;
}

static __global__ void axpby(const double *x, double *y, double a, double b, uint32_t length)
{
    uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < length) y[k] = a * x[k] + b * y[k];
}

static unsigned blocks_of(uint32_t length)
{
    return (length + THREADS - 1) / THREADS;
}

static void check_launch(void)
{
    cudaError_t status = cudaGetLastError();
    if (status != cudaSuccess) STARPU_CUDA_REPORT_ERROR(status);
}

extern "C" void spmv_cuda(void *buffers[], void *args)
{
    uint32_t rows = STARPU_CSR_GET_NROW(buffers[0]);
    (void)args;
    spmv<<<blocks_of(rows), THREADS, 0, starpu_cuda_get_local_stream()>>>(
        (const double *)STARPU_CSR_GET_NZVAL(buffers[0]), STARPU_CSR_GET_COLIND(buffers[0]),
        STARPU_CSR_GET_ROWPTR(buffers[0]), STARPU_CSR_GET_FIRSTENTRY(buffers[0]),
        (const double *)STARPU_VECTOR_GET_PTR(buffers[1]), (double *)STARPU_VECTOR_GET_PTR(buffers[2]), rows);
    check_launch();
}

extern "C" void axpby_cuda(void *buffers[], void *args)
{
    uint32_t length = STARPU_VECTOR_GET_NX(buffers[0]);
    double a, b;
    starpu_codelet_unpack_args(args, &a, &b);
    axpby<<<blocks_of(length), THREADS, 0, starpu_cuda_get_local_stream()>>>(
        (const double *)STARPU_VECTOR_GET_PTR(buffers[0]), (double *)STARPU_VECTOR_GET_PTR(buffers[1]), a, b, length);
    check_launch();
}
