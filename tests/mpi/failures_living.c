/* SPDX-License-Identifier: BSD-3-Clause */
/* Of tests/mpi/failures.h: what is no failure: ranks that stop for a while or compute for long. Threads,
 * Owns, Not here: see there. */
#define FAILURES living
#include "tests/mpi/failures.h"
