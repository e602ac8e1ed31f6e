/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_cusolver.h: CUSOLVER on the CUDA workers. Calls without effect where there is none.
 * Threads: init and shutdown on the main program's thread; the handle in task bodies on CUDA workers.
 * Not here: CUBLAS (starpu_cublas.h), CUSPARSE (starpu_cusparse.h).
 */
#ifndef STARPU_CUSOLVER_H
#define STARPU_CUSOLVER_H

#include <starpu_config.h>

#if defined(STARPU_USE_CUDA) && !defined(STARPU_DONT_INCLUDE_CUDA_HEADERS)
#include <cusolverDn.h>
#include <cusolverRf.h>
#include <cusolverSp.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Initialises CUSOLVER on every CUDA worker; without CUDA workers these two do nothing. Blocks. */
void starpu_cusolver_init(void);

/* Ends CUSOLVER on every CUDA worker. Before starpu_shutdown(). Blocks. */
void starpu_cusolver_shutdown(void);

#if defined(STARPU_USE_CUDA) && !defined(STARPU_DONT_INCLUDE_CUDA_HEADERS)
/* Reports a CUSOLVER error with its place, as a task that failed. Any thread. */
void starpu_cusolver_report_error(const char *func, const char *file, int line, cusolverStatus_t status);
#define STARPU_CUSOLVER_REPORT_ERROR(status)                                                                 \
    starpu_cusolver_report_error(__starpu_func__, __FILE__, __LINE__, (status))

/* The handle, bound to the calling task's stream. Borrowed. */
cusolverDnHandle_t starpu_cusolverDn_get_local_handle(void);
cusolverSpHandle_t starpu_cusolverSp_get_local_handle(void);
cusolverRfHandle_t starpu_cusolverRf_get_local_handle(void);
#endif

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
