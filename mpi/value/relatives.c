/* SPDX-License-Identifier: BSD-3-Clause */
/* relatives.c: see relatives.h. Threads: see relatives.h. Owns: see relatives.h. Not here: see relatives.h.
 */
#include "mpi/value/relatives.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/data/partition.h"

static bool grow(struct orr_relatives *r)
{
    size_t room = 2 * (size_t)r->room;
    struct orr_data **more = orr_malloc(room * sizeof *more);
    if (!more) return false;
    memcpy(more, r->list, (size_t)r->count * sizeof *more);
    orr_relatives_free(r);
    r->list = more;
    r->room = (int)room;
    return true;
}

static void add(struct orr_data *h, void *relatives)
{
    struct orr_relatives *r = relatives;
    if (!h->mpi) return;
    if (r->count == r->room && !grow(r))
        r->failed = true;
    else
        r->list[r->count++] = h;
}

void orr_relatives_find(struct orr_relatives *r, struct orr_data *h)
{
    r->list = r->inline_list;
    r->count = 0;
    r->room = ORR_RELATIVES_INLINE;
    r->failed = false;
    add(h, r);
    if (orr_has_relatives(h)) orr_partition_relatives(h, add, r);
    if (r->failed) orr_fatal("out of memory for the pieces of data that may be away from their owner");
}

void orr_relatives_free(struct orr_relatives *r)
{
    if (r->list != r->inline_list) orr_free(r->list);
}
