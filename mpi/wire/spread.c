/* SPDX-License-Identifier: BSD-3-Clause */
/* spread.c: see spread.h. Threads: see spread.h. Owns: see spread.h. Not here: see spread.h. */
#include "mpi/wire/spread.h"

#include <string.h>

#include "core/base/alloc.h"

uint32_t orr_spread_room(size_t small_max)
{
    size_t ranks = (small_max - sizeof(struct orr_wire_header)) / sizeof(struct orr_spread_rank) - 1;
    return ranks < ORR_SPREAD_MAX ? (uint32_t)ranks : ORR_SPREAD_MAX;
}

size_t orr_spread_write(struct orr_wire_header *h, const struct orr_spread *s)
{
    struct orr_spread_rank *to = (struct orr_spread_rank *)(h + 1);
    h->flags |= ORR_WIRE_SPREAD;
    to[0] = s->origin;
    memcpy(to + 1, s->ranks, s->count * sizeof *to);
    return (1 + s->count) * sizeof *to;
}

struct orr_spread_rank orr_spread_at(const void *data, size_t i)
{
    struct orr_spread_rank it;
    memcpy(&it, (const char *)data + i * sizeof it, sizeof it);
    return it;
}

bool orr_spread_read(const void *data, size_t bytes, int size, struct orr_spread_rank *first_out,
                     uint32_t *count_out)
{
    size_t n = bytes / sizeof(struct orr_spread_rank);
    if (n < 1 || bytes % sizeof(struct orr_spread_rank)) return false;
    for (size_t i = 0; i < n; i++)
        if (orr_spread_at(data, i).rank < 0 || orr_spread_at(data, i).rank >= size) return false;
    *first_out = orr_spread_at(data, 0);
    *count_out = (uint32_t)n - 1;
    return true;
}

/* Its first rank gets it from here, and passes it on to the others. */
static void add_branch(struct orr_relay *y, int32_t origin, const struct orr_spread_rank *ranks,
                       uint32_t count)
{
    const struct orr_request *r = y->of;
    struct orr_request *s = &y->sends[y->branches];
    y->to[y->branches] = (struct orr_spread){ { origin, ranks[0].behind }, count - 1, ranks + 1 };
    /* zero else: it is never posted */
    s->kind = ORR_SEND;
    s->node =
        (struct orr_match_node){ .context = r->node.context, .peer = ranks[0].rank, .tag = r->node.tag };
    s->inferred = r->inferred;
    s->uncounted = r->uncounted;
    s->priority = r->priority;
    s->ready = s->posted = true;
    s->relay = y;
    s->to = &y->to[y->branches];
    y->branches++;
}

struct orr_relay *orr_relay_new(struct orr_request *r, const void *data, uint32_t count)
{
    uint32_t half = orr_spread_half(count);
    struct orr_relay *y = orr_calloc(1, sizeof *y + count * sizeof y->ranks[0]);
    if (!y) return NULL;
    y->of = r;
    for (uint32_t i = 0; i < count; i++) y->ranks[i] = orr_spread_at(data, 1 + i);
    add_branch(y, orr_spread_at(data, 0).rank, y->ranks, half);
    if (half < count) add_branch(y, orr_spread_at(data, 0).rank, y->ranks + half, count - half);
    atomic_init(&y->left, y->branches + 1);
    return y;
}
