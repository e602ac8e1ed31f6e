/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CUBLAS on the CUDA workers. Calls without effect where there is none.
 * Threads: init and shutdown on the main program's thread; set_stream in task bodies on CUDA workers.
 * Not here: the worker's CUBLAS handle (starpu_cublas_v2.h).
 */
#ifndef STARPU_CUBLAS_H
#define STARPU_CUBLAS_H

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Initialises CUBLAS on every CUDA worker; without CUDA workers these three do nothing. Blocks. */
void starpu_cublas_init(void);

/* Makes the calling worker's stream that of CUBLAS's older interface. */
void starpu_cublas_set_stream(void);

/* Ends CUBLAS on every CUDA worker. Before starpu_shutdown(). Blocks. */
void starpu_cublas_shutdown(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* STARPU_CUBLAS_H */
