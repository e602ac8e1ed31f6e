/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What tests ask of the double of CUDA's driver library (tests/double/cuda.so), and of how it fails:
 *   ORR_DOUBLE_CUDA_DEVICES   how many (2); ORR_DOUBLE_CUDA_PEERS: 0 or 1; ORR_DOUBLE_CUDA_MEM_KB of each
 *   ORR_DOUBLE_CUDA_FAIL      "7": the seventh call fails, "7-9", "cuMemAlloc_v2:2": the second of that
 * function ORR_DOUBLE_CUDA_DELAY_US  what streams do takes up to so long; ORR_DOUBLE_CUDA_HANG: their N-th
 * never ends Threads: any. Owns: nothing. Not here: loading it (tests/core/cuda_helper.h).
 */
#ifndef ORR_TESTS_DOUBLE_CUDA_H
#define ORR_TESTS_DOUBLE_CUDA_H

#include <stddef.h>

/* Reads the environment again and counts from 0. While the runtime is down. */
void double_cuda_reset(void);
/* How many calls there were. */
long double_cuda_calls(void);
/* How much host memory is registered: the block that p is in, or all with NULL. */
size_t double_cuda_pinned(const void *p);
/* Contexts, streams, events and memory that nobody gave back. */
int double_cuda_left(void);

#endif
