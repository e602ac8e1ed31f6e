/* SPDX-License-Identifier: BSD-3-Clause */
/* Of tests/mpi/failures.h: messages without an other end, or of another size or type; deadlocks. Threads,
 * Owns, Not here: see there. */
#define FAILURES messages
#include "tests/mpi/failures.h"
