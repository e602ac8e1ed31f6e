/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 3 */
/* The soak across ranks, shortened for make check. Threads, Owns, Not here: see tests/long/soak_mpi.c. */
#define SOAK_TASKS SCALED(10000, 1000)
#include "tests/long/soak_mpi.c"
