/* SPDX-License-Identifier: BSD-3-Clause */
/* control.c: see control.h.
 * Threads: see control.h. Owns: nothing. Not here: what the messages mean. */
#include "mpi/live/control.h"

static void on_control(void *arg, int source, const struct orr_wire_header *h, const void *data)
{
    struct orr_controls *all = arg;
    if (h->type >= ORR_CONTROL_KINDS) return; /* of a later version */
    orr_control_fn fn = orr_load_acquire(&all->listeners[h->type].fn);
    if (fn) fn(all->listeners[h->type].arg, source, h, data); /* else it comes early */
}

void orr_controls_init(struct orr_controls *all, struct orr_engine *e)
{
    all->engine = e;
    orr_engine_enter(e); /* a thread may be late, from the start before this one, and poll */
    for (int i = 0; i < ORR_CONTROL_KINDS; i++) orr_store_relaxed(&all->listeners[i].fn, NULL);
    e->on_control_arg = all;
    e->on_control = on_control;
    orr_engine_leave(e);
}

void orr_control_listen(struct orr_controls *all, enum orr_control first, enum orr_control last,
                        orr_control_fn fn, void *arg)
{
    for (unsigned i = first; i <= (unsigned)last; i++) {
        all->listeners[i].arg = arg;
        orr_store_release(&all->listeners[i].fn, fn); /* pairs with on_control */
    }
}

bool orr_control_send(struct orr_controls *all, int peer, enum orr_control what, int64_t tag, uint64_t id,
                      uint32_t more, const void *data, size_t bytes)
{
    const struct orr_wire_header h = { .type = what, .tag = tag, .id = id, .bulk_tag = more };
    return orr_engine_send_control(all->engine, peer, &h, data, bytes);
}
