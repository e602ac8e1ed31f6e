/* SPDX-License-Identifier: BSD-3-Clause */
/* mandelbrot.cu: how many steps each point of a band stays near 0, as mandelbrot.c counts them: each product is
 * rounded before it is added, which nvcc would not do by itself. */
#include <starpu.h>

#include "mandelbrot.h"

static __global__ void band(unsigned char *pixels, struct view v)
{
    int column = (int)(blockIdx.x * blockDim.x + threadIdx.x), row = (int)blockIdx.y, k = 0;
    if (column >= v.width) return;
    double re = __dadd_rn(v.left, __dmul_rn(column, v.step));
    double im = __dsub_rn(v.top, __dmul_rn(v.first_row + row, v.step)), x = 0, y = 0;
    for (; k < v.most && __dadd_rn(__dmul_rn(x, x), __dmul_rn(y, y)) <= 4; k++) {
        double next = __dadd_rn(__dsub_rn(__dmul_rn(x, x), __dmul_rn(y, y)), re);
        y = __dadd_rn(__dmul_rn(2 * x, y), im);
        x = next;
    }
    pixels[(size_t)row * v.width + column] = (unsigned char)k;
}

extern "C" void band_cuda(void *buffers[], void *args)
{
    struct view v;
    starpu_codelet_unpack_args(args, &v);
    dim3 blocks((unsigned)(v.width + 127) / 128, (unsigned)v.rows);
    band<<<blocks, 128, 0, starpu_cuda_get_local_stream()>>>((unsigned char *)STARPU_VECTOR_GET_PTR(buffers[0]), v);
    cudaError_t status = cudaGetLastError();
    if (status != cudaSuccess) STARPU_CUDA_REPORT_ERROR(status);
}
