/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tests/opencl/failures.c with each of the first 300 calls of OpenCL failing, and not some of them.
 * Threads: see there. Owns: nothing. Not here: the test.
 */
#define STEP 1
#include "tests/opencl/failures.c"
