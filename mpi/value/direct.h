/* SPDX-License-Identifier: BSD-3-Clause */
/* direct.h: which memory the bytes of a message are sent from and received into: a main memory, or a device's
 * where the network takes that.
 * Threads: begin by the main thread, before messages; the rest any. Owns: nothing. Not here: bringing the
 * bytes there (core/data/coherency.h), who asks when (message.c). */
#ifndef ORR_MPI_DIRECT_H
#define ORR_MPI_DIRECT_H

#include "core/data/data.h"
#include "mpi/value/value.h"

/* The layer starts: finds out which nodes' memory the network takes, if STARPU_MPI_GPUDIRECT allows it. */
void orr_direct_begin(struct orr_value *v);

/* The main memory where h's bytes are, or have memory: the home node where there is but one, and of data that
 * the program packs or describes, which it does there. With access to h. */
unsigned orr_direct_main(struct orr_data *h);

bool orr_direct_takes(const struct orr_value *v, struct orr_data *h);
/* Whether h's bytes may go from or to a device's memory. They may if they are as they are in memory, of one
 * layout, and too many for the message itself: a small one is copied anyway. With access to h. */
static inline bool orr_direct_may(const struct orr_value *v, struct orr_data *h)
{
    return orr_unlikely(v->direct_nodes != 0) && orr_direct_takes(v, h);
}

/* Where they are sent from: a device's memory if that alone has them. With orr_direct_may. */
unsigned orr_direct_source(const struct orr_value *v, struct orr_data *h);
/* Where they are received: where the task wants them that uses them next, if that is certain now. With
 * orr_direct_may and the right to write. */
unsigned orr_direct_target(const struct orr_value *v, struct orr_data *h);

#endif
