/* SPDX-License-Identifier: BSD-3-Clause */
/* control.c: see control.h.
 * Threads: see control.h. Owns: nothing. Not here: what the messages mean. */
#include "mpi/live/control.h"

#include "mpi/wire/cluster.h"
#include "mpi/live/guard.h"
#include "mpi/live/stream.h"
#include "mpi/live/stuck.h"

static void on_control(void *unused, int source, const struct orr_wire_header *h, const void *data)
{
    (void)unused;
    switch (h->type) {
    case ORR_CONTROL_REPORT:
    case ORR_CONTROL_WAVE:
    case ORR_CONTROL_DEADLOCK: orr_stuck_heard(source, h); break;
    case ORR_CONTROL_BEAT:
    case ORR_CONTROL_GONE: orr_guard_heard(source, h); break;
    case ORR_CONTROL_ASK:
    case ORR_CONTROL_ANSWER:
    case ORR_CONTROL_ASK_TEXT:
    case ORR_CONTROL_TEXT: orr_stream_heard(source, h, data); break;
    default: break; /* of a later version */
    }
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
