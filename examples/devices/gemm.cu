/* SPDX-License-Identifier: BSD-3-Clause */
/* gemm.cu: c += a * b for tiles that lie in larger matrices. A kernel of our own: a program for speed calls cuBLAS
 * with starpu_cublas_get_local_handle(). */
#include <starpu.h>

enum { SIDE = 16 };

static __global__ void gemm(const float *a, size_t lda, const float *b, size_t ldb, float *c, size_t ldc, size_t rows,
                            size_t columns, size_t inner)
{
    __shared__ float a_part[SIDE][SIDE], b_part[SIDE][SIDE];
    size_t i = blockIdx.x * (size_t)SIDE + threadIdx.x, j = blockIdx.y * (size_t)SIDE + threadIdx.y;
    float sum = 0;
    for (size_t k = 0; k < inner; k += SIDE) {
        a_part[threadIdx.y][threadIdx.x] = i < rows && k + threadIdx.y < inner ? a[i + (k + threadIdx.y) * lda] : 0;
        b_part[threadIdx.y][threadIdx.x] = j < columns && k + threadIdx.x < inner ? b[k + threadIdx.x + j * ldb] : 0;
        __syncthreads();
        for (int m = 0; m < SIDE; m++) sum += a_part[m][threadIdx.x] * b_part[threadIdx.y][m];
        __syncthreads();
    }
    if (i < rows && j < columns) c[i + j * ldc] += sum;
}

extern "C" void gemm_cuda(void *buffers[], void *args)
{
    size_t rows = STARPU_MATRIX_GET_NX(buffers[2]), columns = STARPU_MATRIX_GET_NY(buffers[2]);
    dim3 threads(SIDE, SIDE), blocks((unsigned)((rows + SIDE - 1) / SIDE), (unsigned)((columns + SIDE - 1) / SIDE));
    (void)args;
    gemm<<<blocks, threads, 0, starpu_cuda_get_local_stream()>>>(
        (const float *)STARPU_MATRIX_GET_PTR(buffers[0]), STARPU_MATRIX_GET_LD(buffers[0]),
        (const float *)STARPU_MATRIX_GET_PTR(buffers[1]), STARPU_MATRIX_GET_LD(buffers[1]),
        (float *)STARPU_MATRIX_GET_PTR(buffers[2]), STARPU_MATRIX_GET_LD(buffers[2]), rows, columns,
        STARPU_MATRIX_GET_NY(buffers[0]));
    cudaError_t status = cudaGetLastError();
    if (status != cudaSuccess) STARPU_CUDA_REPORT_ERROR(status);
}
