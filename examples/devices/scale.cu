/* SPDX-License-Identifier: BSD-3-Clause */
/* scale.cu: x = factor * x + shift, in a piece of a vector. */
#include <starpu.h>

static __global__ void scale(double *x, size_t length, double factor, double shift)
{
    size_t k = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (k < length) x[k] = factor * x[k] + shift;
}

extern "C" void scale_cuda(void *buffers[], void *args)
{
    double *x = (double *)STARPU_VECTOR_GET_PTR(buffers[0]), factor, shift;
    size_t length = STARPU_VECTOR_GET_NX(buffers[0]);
    starpu_codelet_unpack_args(args, &factor, &shift);
    const unsigned threads = 256;
    scale<<<(unsigned)((length + threads - 1) / threads), threads, 0, starpu_cuda_get_local_stream()>>>(
        x, length, factor, shift);
    cudaError_t status = cudaGetLastError();
    if (status != cudaSuccess) STARPU_CUDA_REPORT_ERROR(status);
}
