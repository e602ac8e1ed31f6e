/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 3 4 */
/* Random reductions, shortened for make check. Threads, Owns, Not here: see
 * tests/long/reductions_random.c. */
#define PROGRAMS SCALED(40, 10)
#include "tests/long/reductions_random.c"
