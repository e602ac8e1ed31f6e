/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_hipsolver.h: HIPSOLVER on the HIP workers. Calls without effect where there is none.
 * Threads: init and shutdown on the main program's thread; the handle in task bodies on HIP workers.
 * Not here: HIPBLAS (starpu_hipblas.h).
 */
#ifndef STARPU_HIPSOLVER_H
#define STARPU_HIPSOLVER_H

#include <starpu_config.h>

#if defined(STARPU_USE_HIP) && !defined(STARPU_DONT_INCLUDE_HIP_HEADERS)
#include <hipsolver/hipsolver.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Initialises HIPSOLVER on every HIP worker; without HIP workers these two do nothing. Blocks. */
void starpu_hipsolver_init(void);

/* Ends HIPSOLVER on every HIP worker. Before starpu_shutdown(). Blocks. */
void starpu_hipsolver_shutdown(void);

#if defined(STARPU_USE_HIP) && !defined(STARPU_DONT_INCLUDE_HIP_HEADERS)
/* The handle, bound to the calling task's stream. Borrowed. */
hipsolverDnHandle_t starpu_hipsolverDn_get_local_handle(void);
#endif

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
