/* SPDX-License-Identifier: BSD-3-Clause */
/* lu.cu: c -= a * b for contiguous tiles of n * n. */
#include <starpu.h>

static __global__ void update(const double *a, const double *b, double *c, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x, j = blockIdx.y * (size_t)blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    double sum = c[i + j * n];
    for (size_t k = 0; k < n; k++) sum -= a[i + k * n] * b[k + j * n];
    c[i + j * n] = sum;
}

extern "C" void update_cuda(void *buffers[], void *args)
{
    size_t n = STARPU_MATRIX_GET_NX(buffers[0]);
    dim3 threads(32, 8), blocks((unsigned)((n + 31) / 32), (unsigned)((n + 7) / 8));
    (void)args;
    update<<<blocks, threads, 0, starpu_cuda_get_local_stream()>>>((const double *)STARPU_MATRIX_GET_PTR(buffers[0]),
                                                                   (const double *)STARPU_MATRIX_GET_PTR(buffers[1]),
                                                                   (double *)STARPU_MATRIX_GET_PTR(buffers[2]), n);
    cudaError_t status = cudaGetLastError();
    if (status != cudaSuccess) STARPU_CUDA_REPORT_ERROR(status);
}
