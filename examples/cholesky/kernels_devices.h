/* SPDX-License-Identifier: BSD-3-Clause */
/* The three kernels that most of a factorisation is, on GPUs: those of cuBLAS and, for OpenCL, plain ones.
 * Threads: kernels_devices_open() and kernels_devices_close() by main, the functions on workers.
 * Owns: the OpenCL program. Not here: the codelets (kernels.c); what CPUs do better (potrf, and all that is
 * small). */
#ifndef CHOLESKY_KERNELS_DEVICES_H
#define CHOLESKY_KERNELS_DEVICES_H

#include <starpu.h>

/* Fields of a codelet; nothing where programs cannot be built for the devices. */
#ifdef STARPU_USE_OPENCL
#define ON_OPENCL(function) .opencl_funcs = { function }, .opencl_flags = { STARPU_OPENCL_ASYNC },
#else
#define ON_OPENCL(function)
#endif
#ifdef WITH_CUDA_KERNELS
#define ON_CUDA(function) .cuda_funcs = { function }, .cuda_flags = { STARPU_CUDA_ASYNC },
#else
#define ON_CUDA(function)
#endif

void opencl_trsm(void *buffers[], void *args);
void opencl_syrk(void *buffers[], void *args);
void opencl_gemm(void *buffers[], void *args);
void cuda_trsm(void *buffers[], void *args);
void cuda_syrk(void *buffers[], void *args);
void cuda_gemm(void *buffers[], void *args);

/* Prepares the devices that the runtime has, after it started: 0, or -1 with a message. */
int kernels_devices_open(void);
/* When all tasks have ended. */
void kernels_devices_close(void);

#endif
