/* SPDX-License-Identifier: BSD-3-Clause */
/* shutdown.h: all ranks end: their messages do, or are given up, and nobody watches any more.
 * Threads: the main thread of every rank, collectively. Owns: nothing. Not here: what is taken down
 * afterwards (session.c). */
#ifndef ORR_MPI_API_SHUTDOWN_H
#define ORR_MPI_API_SHUTDOWN_H

#include "mpi/api/session.h"

/* Waits until no rank has messages left; those that can never end are named and given up. Blocks. 0, or the
 * first failure, of messages since the last wait for all too. orr_session_stop follows, on this rank alone.
 */
int orr_shutdown(struct orr_session *s);

#endif
