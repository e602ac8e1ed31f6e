/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CUBLAS handle of a CUDA worker.
 * Threads: task bodies on CUDA workers.
 * Not here: making the handles (starpu_cublas.h).
 */
#ifndef STARPU_CUBLAS_V2_H
#define STARPU_CUBLAS_V2_H

#include <starpu_config.h>

#if defined(STARPU_USE_CUDA) && !defined(STARPU_DONT_INCLUDE_CUDA_HEADERS)

#include <cublas_v2.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Returns the handle, bound to the calling task's stream. After starpu_cublas_init(). Borrowed. */
cublasHandle_t starpu_cublas_get_local_handle(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* STARPU_USE_CUDA && !STARPU_DONT_INCLUDE_CUDA_HEADERS */

#endif /* STARPU_CUBLAS_V2_H */
