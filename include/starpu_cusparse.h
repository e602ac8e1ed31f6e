/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CUSPARSE on the CUDA workers. Calls without effect where there is none.
 * Threads: init and shutdown on the main program's thread; the handle in task bodies on CUDA workers.
 * Not here: CUBLAS (starpu_cublas.h).
 */
#ifndef STARPU_CUSPARSE_H
#define STARPU_CUSPARSE_H

#include <starpu_config.h>

#if defined(STARPU_USE_CUDA) && !defined(STARPU_DONT_INCLUDE_CUDA_HEADERS)
#include <cusparse.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Initialises CUSPARSE on every CUDA worker; without CUDA workers these two do nothing. Blocks. */
void starpu_cusparse_init(void);

/* Ends CUSPARSE on every CUDA worker. Before starpu_shutdown(). Blocks. */
void starpu_cusparse_shutdown(void);

#if defined(STARPU_USE_CUDA) && !defined(STARPU_DONT_INCLUDE_CUDA_HEADERS)

/* Returns the handle, bound to the calling task's stream. Borrowed. */
cusparseHandle_t starpu_cusparse_get_local_handle(void);
#endif

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* STARPU_CUSPARSE_H */
