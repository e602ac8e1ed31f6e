/* SPDX-License-Identifier: BSD-3-Clause */
/* Of tests/mpi/failures.h: ranks that insert different tasks. Threads, Owns, Not here: see there. */
#define FAILURES streams
#include "tests/mpi/failures.h"
