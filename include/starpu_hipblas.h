/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_hipblas.h: HIPBLAS on the HIP workers. Calls without effect where there is none.
 * Threads: init and shutdown on the main program's thread; the handle in task bodies on HIP workers.
 * Not here: streams (starpu_hip.h).
 */
#ifndef STARPU_HIPBLAS_H
#define STARPU_HIPBLAS_H

#include <starpu_config.h>

#if defined(STARPU_USE_HIP) && !defined(STARPU_DONT_INCLUDE_HIP_HEADERS)
#include <hipblas/hipblas.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Initialises HIPBLAS on every HIP worker; without HIP workers these two do nothing. Blocks. */
void starpu_hipblas_init(void);

/* Ends HIPBLAS on every HIP worker. Before starpu_shutdown(). Blocks. */
void starpu_hipblas_shutdown(void);

#if defined(STARPU_USE_HIP) && !defined(STARPU_DONT_INCLUDE_HIP_HEADERS)
/* The handle, bound to the calling task's stream. Borrowed. */
hipblasHandle_t starpu_hipblas_get_local_handle(void);
#endif

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
