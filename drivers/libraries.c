/* SPDX-License-Identifier: BSD-3-Clause */
/* libraries.c: the libraries of GPUs, prepared on every worker of their kind, and the stream of one.
 * This build has no CUDA and no HIP workers (a simulated device has no such libraries), so that there is
 * nothing to do, and nothing is what init and shutdown do: as on any machine without a GPU, a program that
 * calls them goes on. Threads: any. Owns: nothing. Not here: kinds of workers (drivers/).
 */
#include <stddef.h>

#include <starpu_cublas.h>
#include <starpu_cublasLt.h>
#include <starpu_cuda.h>
#include <starpu_cusolver.h>
#include <starpu_cusparse.h>
#include <starpu_hip.h>
#include <starpu_hipblas.h>
#include <starpu_hipsolver.h>

#include "core/base/log.h"

#define NOTHING_TO_PREPARE(library)                                                                          \
    void starpu_##library##_init(void)                                                                       \
    {                                                                                                        \
    }                                                                                                        \
    void starpu_##library##_shutdown(void)                                                                   \
    {                                                                                                        \
    }

NOTHING_TO_PREPARE(cublas)
NOTHING_TO_PREPARE(cublasLt)
NOTHING_TO_PREPARE(cusolver)
NOTHING_TO_PREPARE(cusparse)
NOTHING_TO_PREPARE(hipblas)
NOTHING_TO_PREPARE(hipsolver)

void starpu_cublas_set_stream(void)
{
}

struct CUstream_st *starpu_cuda_get_local_stream(void)
{
    orr_error("starpu_cuda_get_local_stream: this thread is no CUDA worker, so there is no stream; call it "
              "in cuda_funcs only, or keep it under #ifdef STARPU_USE_CUDA");
    return NULL;
}

struct ihipStream_t *starpu_hip_get_local_stream(void)
{
    orr_error("starpu_hip_get_local_stream: this thread is no HIP worker, so there is no stream; call it "
              "in hip_funcs only, or keep it under #ifdef STARPU_USE_HIP");
    return NULL;
}
