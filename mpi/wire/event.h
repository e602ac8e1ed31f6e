/* SPDX-License-Identifier: BSD-3-Clause */
/* event.h: events (core/base/event.h) as liborrery-mpi tells them: the flags are in the other library.
 * Threads: any. Owns: nothing. Not here: the kinds (core/base/event.def). */
#ifndef ORR_MPI_EVENT_H
#define ORR_MPI_EVENT_H

#define ORR_EVENTS_FROM_CORE
#include "core/base/event.h"

#endif
