/* SPDX-License-Identifier: BSD-3-Clause */
/* direct.c: see direct.h.
 * Threads: see direct.h. Owns: nothing. Not here: see direct.h. */
#include "mpi/value/direct.h"

#include "core/base/env.h"
#include "core/data/coherency.h"
#include "core/mem/node.h"
#include "core/task/task.h"
#include "mpi/value/handle_payload.h"
#include "mpi/wire/cluster.h"

static bool knows(void *transport, const char *kind)
{
    struct orr_transport *t = transport;
    return t->ops->knows && t->ops->knows(t, kind);
}

void orr_direct_begin(struct orr_value *v)
{
    struct orr_transport *t = v->cluster->engine.transport;
    bool wanted = orr_env_long(ORR_SETTING(STARPU_MPI_GPUDIRECT), 1, 0, 1);
    v->direct_nodes = wanted ? orr_nodes_addressed(knows, t) : 0;
    v->direct_bytes = t->ops->small_max;
}

bool orr_direct_takes(const struct orr_value *v, struct orr_data *h)
{
    struct orr_payload p;
    return !h->formats && !orr_program_types.make &&
           orr_handle_payload(h, h->replicates[orr_node_home()].interface, &p) && p.bytes > v->direct_bytes;
}

unsigned orr_direct_main(struct orr_data *h)
{
    struct orr_payload p;
    unsigned home = orr_node_home(), place = orr_data_main(h);
    bool anywhere = place == home || (!h->formats && !orr_program_types.make &&
                                      orr_handle_payload(h, h->replicates[home].interface, &p));
    return anywhere ? place : home;
}

unsigned orr_direct_source(const struct orr_value *v, struct orr_data *h)
{
    unsigned node = orr_data_only_on(h, v->direct_nodes);
    return node == orr_node_home() ? orr_direct_main(h) : node;
}

unsigned orr_direct_target(const struct orr_value *v, struct orr_data *h)
{
    unsigned node = orr_data_next_on(h, v->direct_nodes);
    return node == orr_node_home() ? orr_direct_main(h) : node;
}
