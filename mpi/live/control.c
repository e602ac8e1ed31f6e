/* SPDX-License-Identifier: BSD-3-Clause */
/* control.c: see control.h.
 * Threads: see control.h. Owns: nothing. Not here: what the messages mean. */
#include "mpi/live/control.h"

#include "core/base/sync.h"
#include "mpi/wire/cluster.h"

static _Atomic(orr_control_fn) listeners[ORR_CONTROL_KINDS]; /* [atomic: set before one can come, or late] */

void orr_control_listen(enum orr_control first, enum orr_control last, orr_control_fn fn)
{
    for (unsigned i = first; i <= (unsigned)last; i++) orr_store_release(&listeners[i], fn);
}

static void on_control(void *unused, int source, const struct orr_wire_header *h, const void *data)
{
    (void)unused;
    orr_control_fn fn = h->type < ORR_CONTROL_KINDS ? orr_load_acquire(&listeners[h->type]) : NULL;
    if (fn) fn(source, h, data); /* else it is of a later version, or comes early */
}

void orr_control_start(void)
{
    orr_cluster.engine.on_control = on_control;
}

bool orr_control_send(int peer, enum orr_control what, int64_t tag, uint64_t id, uint32_t more,
                      const void *data, size_t bytes)
{
    const struct orr_wire_header h = { .type = what, .tag = tag, .id = id, .bulk_tag = more };
    return orr_engine_send_control(&orr_cluster.engine, peer, &h, data, bytes);
}
