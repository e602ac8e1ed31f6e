/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_cholesky: the benchmark of cholesky.c over MPI ranks.
 * Threads, Owns, Not here: see cholesky.c. */
#define BENCH_MPI 1
#include "cholesky.c"
