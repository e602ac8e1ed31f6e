/* SPDX-License-Identifier: BSD-3-Clause */
/* heat.cu: a step of a band of rows, and its halos, as heat.c has them for CPUs. */
#include <starpu.h>

static __global__ void step(float *after, const float *before, const float *above, const float *below, size_t width,
                            size_t rows)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x, j = blockIdx.y;
    if (i >= width) return;
    const float *row = before + j * width;
    float left = i > 0 ? row[i - 1] : 0, right = i + 1 < width ? row[i + 1] : 0;
    float up = j > 0 ? row[i - width] : above[i], down = j + 1 < rows ? row[i + width] : below[i];
    after[i + j * width] = 0.5f * row[i] + 0.125f * (left + right + up + down);
}

static void check(cudaError_t status)
{
    if (status != cudaSuccess) STARPU_CUDA_REPORT_ERROR(status);
}

extern "C" void step_cuda(void *buffers[], void *args)
{
    size_t width = STARPU_MATRIX_GET_NX(buffers[0]), rows = STARPU_MATRIX_GET_NY(buffers[0]);
    dim3 blocks((unsigned)((width + 255) / 256), (unsigned)rows);
    (void)args;
    step<<<blocks, 256, 0, starpu_cuda_get_local_stream()>>>(
        (float *)STARPU_MATRIX_GET_PTR(buffers[0]), (const float *)STARPU_MATRIX_GET_PTR(buffers[1]),
        (const float *)STARPU_VECTOR_GET_PTR(buffers[2]), (const float *)STARPU_VECTOR_GET_PTR(buffers[3]), width, rows);
    check(cudaGetLastError());
}

extern "C" void halos_cuda(void *buffers[], void *args)
{
    const float *band = (const float *)STARPU_MATRIX_GET_PTR(buffers[0]);
    size_t width = STARPU_MATRIX_GET_NX(buffers[0]), rows = STARPU_MATRIX_GET_NY(buffers[0]);
    cudaStream_t stream = starpu_cuda_get_local_stream();
    (void)args;
    check(cudaMemcpyAsync((void *)STARPU_VECTOR_GET_PTR(buffers[1]), band, width * sizeof *band,
                          cudaMemcpyDeviceToDevice, stream));
    check(cudaMemcpyAsync((void *)STARPU_VECTOR_GET_PTR(buffers[2]), band + (rows - 1) * width, width * sizeof *band,
                          cudaMemcpyDeviceToDevice, stream));
}
