/* SPDX-License-Identifier: BSD-3-Clause */
/* Of tests/mpi/failures.h: ranks that are killed, stop for ever or leave. Threads, Owns, Not here: see there.
 */
#define FAILURES dying
#include "tests/mpi/failures.h"
