/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_cublasLt.h: CUBLASLt on the CUDA workers. Calls without effect where there is none.
 * Threads: init and shutdown on the main program's thread; the handle in task bodies on CUDA workers.
 * Not here: CUBLAS (starpu_cublas.h).
 */
#ifndef STARPU_CUBLASLT_H
#define STARPU_CUBLASLT_H

#include <starpu_config.h>

#if defined(STARPU_USE_CUDA) && !defined(STARPU_DONT_INCLUDE_CUDA_HEADERS)
#include <cublasLt.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Initialises CUBLASLt on every CUDA worker; without CUDA workers these two do nothing. Blocks. */
void starpu_cublasLt_init(void);

/* Ends CUBLASLt on every CUDA worker. Before starpu_shutdown(). Blocks. */
void starpu_cublasLt_shutdown(void);

#if defined(STARPU_USE_CUDA) && !defined(STARPU_DONT_INCLUDE_CUDA_HEADERS)
/* The handle, bound to the calling task's stream. Borrowed. */
cublasLtHandle_t starpu_cublasLt_get_local_handle(void);
#endif

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
