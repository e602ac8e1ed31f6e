/* SPDX-License-Identifier: BSD-3-Clause */
/* Random programs on full devices, shortened for make check. Threads, Owns, Not here: see
 * tests/long/memory_random.c. */
#define ROUNDS 12
#include "tests/long/memory_random.c"
