/* SPDX-License-Identifier: BSD-3-Clause */
/* version.h: ranks that run different versions of the library find out before they say anything else to each
 * other, and none of them starts.
 * Threads: the one that starts the layer. Owns: nothing. Not here: what this rank runs (own_version.c). */
#ifndef ORR_MPI_VERSION_H
#define ORR_MPI_VERSION_H

#include "mpi/wire/transport.h"

enum { ORR_VERSION_BYTES = 64 };

/* What this rank runs, as a line of text; ranks work together if theirs are the same. */
void orr_version_own(char text_out[ORR_VERSION_BYTES]);

/* Whether all ranks run the same: 0; -EINVAL, and then the first rank says which runs what and how to mend
 * it; -ENOMEM. The same on all ranks. Collective, and the first thing that ranks do: what it exchanges must
 * stay as it is in all versions. */
int orr_version_meet(const struct orr_bootstrap *b, const char *text);

#endif
