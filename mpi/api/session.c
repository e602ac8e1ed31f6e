/* SPDX-License-Identifier: BSD-3-Clause */
/* session.c: see session.h. Threads: see session.h. Owns: see session.h. Not here: see session.h. */
#include "mpi/api/session.h"

struct orr_session orr_the_session = ORR_SESSION_INITIALIZER;
