/* SPDX-License-Identifier: BSD-3-Clause */
/* builtin.h: the transports in the library, by name and by number.
 * Threads: any. Owns: the list, from builtin.def. Not here: what a transport is (transport.h). */
#ifndef ORR_MPI_TRANSPORTS_BUILTIN_H
#define ORR_MPI_TRANSPORTS_BUILTIN_H

#include "mpi/wire/transport.h"

/* Its number; NULL is the default's name. -EINVAL: there is none of that name (said, with those that are). */
int orr_transport_find(const char *name);
/* That one, or NULL. */
const struct orr_transport_ops *orr_transport_at(int number);

#endif
