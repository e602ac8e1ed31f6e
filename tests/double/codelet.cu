/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A codelet as programs with CUDA have them, with every header of ours that such a program includes: compiled
 * only (tests/cuda.sh).
 */
#include <starpu.h>
#include <starpu_cublas.h>
#include <starpu_cublas_v2.h>
#include <starpu_cublasLt.h>
#include <starpu_cusolver.h>
#include <starpu_cusparse.h>

__global__ static void scale(float *v, unsigned n, float factor)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) v[i] *= factor;
}

extern "C" void scale_cuda(void *buffers[], void *arg)
{
    float *v = (float *)STARPU_VECTOR_GET_PTR(buffers[0]);
    unsigned n = STARPU_VECTOR_GET_NX(buffers[0]);
    const struct cudaDeviceProp *properties = starpu_cuda_get_device_properties(starpu_worker_get_id_check());
    cudaStream_t stream = starpu_cuda_get_local_stream();
    scale<<<(n + 255) / 256, 256, 0, stream>>>(v, n, *(float *)arg);
    cudaError_t status = cudaGetLastError();
    if (status != cudaSuccess || !properties) STARPU_CUDA_REPORT_ERROR(status);
    float two = 2;
    cublasStatus_t s = cublasSscal(starpu_cublas_get_local_handle(), (int)n, &two, v, 1);
    if (s != CUBLAS_STATUS_SUCCESS) STARPU_CUBLAS_REPORT_ERROR(s);
    (void)starpu_cublasLt_get_local_handle();
    (void)starpu_cusparse_get_local_handle();
    cusolverStatus_t d = cusolverDnSetStream(starpu_cusolverDn_get_local_handle(), stream);
    if (d != CUSOLVER_STATUS_SUCCESS) STARPU_CUSOLVER_REPORT_ERROR(d);
    (void)starpu_cusolverSp_get_local_handle();
    (void)starpu_cusolverRf_get_local_handle();
}
