/* SPDX-License-Identifier: BSD-3-Clause */
/* The soak, shortened for make check. Threads, Owns, Not here: see tests/long/soak.c. */
#define SOAK_TASKS SCALED(100000, 20000)
#include "tests/long/soak.c"
