/* SPDX-License-Identifier: BSD-3-Clause */
/* Random programs on whole clusters, shortened for make check. Threads, Owns, Not here: see
 * tests/long/cluster_random.c. */
#define SEEDS SCALED(30, 8)
#include "tests/long/cluster_random.c"
