/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What tests ask of the double of NVIDIA's management library (tests/double/nvml.so). The function that
 * ORR_DOUBLE_NVML_FAIL names fails.
 * Threads: any. Owns: nothing. Not here: loading it (tests/core/cuda_energy.c).
 */
#ifndef ORR_TESTS_DOUBLE_NVML_H
#define ORR_TESTS_DOUBLE_NVML_H

/* The device that CUDA's double has under this number takes so many mJ. */
void double_nvml_use(int device, long long mj);

#endif
