/* SPDX-License-Identifier: BSD-3-Clause */
/* interface.h: what functions of codelets report of CUDA's errors, as kernel.c wants to know it.
 * Threads: the worker's. Owns: nothing. Not here: the public functions (starpu_cuda.h). */
#ifndef ORR_DRIVERS_CUDA_INTERFACE_H
#define ORR_DRIVERS_CUDA_INTERFACE_H

#include <stdbool.h>

struct orr_worker;

/* Around a function of a codelet: end says whether it reported an error (STARPU_CUDA_REPORT_ERROR). */
void orr_cuda_reports_begin(struct orr_worker *w);
bool orr_cuda_reports_end(struct orr_worker *w);

#endif
