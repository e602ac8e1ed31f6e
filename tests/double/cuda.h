/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What tests ask of the double of CUDA's driver library (tests/double/cuda.so), and of how it fails:
 *   ORR_DOUBLE_CUDA_DEVICES how many (2); _PEERS: 0 or 1 (1); _MEM_KB of each
 *   _FAIL      "7": the seventh call fails, "7-9", "cuMemAlloc_v2:2": its second call
 *   _DELAY_US  what streams do takes up to so long; _HANG, _HANG_COPY: the N-th kernel, or copy, never ends
 *   _SPOIL     the N-th kernel goes wrong, and the context answers errors from then on
 *   _GONE      from the N-th call on the library is closed
 *   _SAY       1: that it is used
 * Threads: any. Owns: nothing. Not here: loading it (tests/core/cuda_helper.h).
 */
#ifndef ORR_TESTS_DOUBLE_CUDA_H
#define ORR_TESTS_DOUBLE_CUDA_H

#include <stddef.h>

/* Reads the environment again and counts from 0. While the runtime is down. */
void double_cuda_reset(void);
/* How many calls there were. */
long double_cuda_calls(void);
/* Whether functions for CPUs run on the devices: ORR_DOUBLE_CUDA_RUN_CPU_FUNCS is 1. The driver asks. */
int double_cuda_runs_cpu_functions(void);
/* How much host memory is registered: the block that p is in, or all with NULL. */
size_t double_cuda_pinned(const void *p);
/* Contexts, streams, events and memory that nobody gave back. */
int double_cuda_left(void);

#endif
