/* SPDX-License-Identifier: BSD-3-Clause */
/* network.c: see network.h. Threads: see network.h. Owns: see network.h. Not here: see network.h. */
#include "mpi/place/network.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "mpi/wire/coll.h"

enum { TRIES = 8, LARGE = 1 << 20, SMALL = 8 };

static int partner_of(const struct orr_comm *c, const struct orr_machines *m)
{
    for (int rank = 1; m && rank < c->size; rank++)
        if (m->node[rank] != m->node[0]) return rank;
    return 1;
}

/* There and back, the shortest time of a few; 0: it failed. */
static uint64_t round_trip(struct orr_comm *c, int partner, void *bytes, size_t count)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = orr_clock_ns();
        if (orr_coll_pass(c, 0, partner, bytes, count) || orr_coll_pass(c, partner, 0, bytes, count))
            return 0;
        uint64_t took = orr_clock_ns() - before;
        if (took < best) best = took;
    }
    return best;
}

struct orr_network orr_network_measure(struct orr_comm *c, const struct orr_machines *m)
{
    int partner = partner_of(c, m);
    bool takes_part = c->rank == 0 || c->rank == partner;
    void *bytes = takes_part ? orr_calloc(1, LARGE) : NULL;
    int64_t v[ORR_COLL_VALUES] = { takes_part && !bytes };
    if (orr_coll_sum(c, v) || v[0]) {
        orr_free(bytes);
        return (struct orr_network){ 0 };
    }
    memset(v, 0, sizeof v);
    uint64_t small = takes_part ? round_trip(c, partner, bytes, SMALL) : 0,
             large = takes_part ? round_trip(c, partner, bytes, LARGE) : 0;
    orr_free(bytes);
    if (c->rank == 0) v[0] = (int64_t)(small / 2);
    if (c->rank == 0 && large > small) v[1] = (int64_t)(UINT64_C(2000) * LARGE / (large - small));
    if (orr_coll_sum(c, v)) return (struct orr_network){ 0 };
    return (struct orr_network){ (uint64_t)v[0], (uint64_t)v[1] };
}
