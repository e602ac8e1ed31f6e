/* SPDX-License-Identifier: BSD-3-Clause */
/* libraries.c: what programs call on any machine of kinds whose driver this build has not: HIP's libraries,
 * and CUDA's after configure --disable-cuda; and the stream of a worker. There is nothing to prepare then (a
 * simulated device has no such libraries), and nothing is what init and shutdown do: as on any machine
 * without a GPU, a program that calls them goes on. Threads: any. Owns: nothing. Not here: CUDA's libraries
 * where there is its driver (cuda/math.c). */
#include <stddef.h>

#include <starpu_cublas.h>
#include <starpu_cublasLt.h>
#include <starpu_cuda.h>
#include <starpu_cusolver.h>
#include <starpu_cusparse.h>
#include <starpu_hip.h>
#include <starpu_hipblas.h>
#include <starpu_hipsolver.h>

#include "config.h"
#include "core/base/log.h"

#define NOTHING_TO_PREPARE(library)                                                                          \
    void starpu_##library##_init(void)                                                                       \
    {                                                                                                        \
    }                                                                                                        \
    void starpu_##library##_shutdown(void)                                                                   \
    {                                                                                                        \
    }

NOTHING_TO_PREPARE(hipblas)
NOTHING_TO_PREPARE(hipsolver)

struct ihipStream_t *starpu_hip_get_local_stream(void)
{
    orr_error("starpu_hip_get_local_stream: this thread is no HIP worker, so there is no stream; call it "
              "in hip_funcs only, or keep it under #ifdef STARPU_USE_HIP");
    return NULL;
}

#ifndef ORR_HAVE_CUDA
NOTHING_TO_PREPARE(cublas)
NOTHING_TO_PREPARE(cublasLt)
NOTHING_TO_PREPARE(cusparse)
NOTHING_TO_PREPARE(cusolver)

void starpu_cublas_set_stream(void)
{
}

struct CUstream_st *starpu_cuda_get_local_stream(void)
{
    orr_error("starpu_cuda_get_local_stream: this library was built without CUDA (configure --disable-cuda), "
              "so there is no stream");
    return NULL;
}
#endif
