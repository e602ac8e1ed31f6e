/* SPDX-License-Identifier: BSD-3-Clause */
/* owner.c: the placement owner: where what is written is owned, or else where most of the bytes are that
 * would otherwise be sent. Threads: see place.h. Owns: nothing. Not here: owners (value/ownership.h). */
#include "mpi/place/place.h"

/* What a rank need not receive, or send back, for a task that runs on it. */
static size_t bytes_saved(const struct starpu_data_descr *d)
{
    int transfers = ((d->mode & STARPU_R) != 0) + ((d->mode & STARPU_W) != 0);
    return transfers ? (size_t)transfers * d->handle->ops->get_size(d->handle) : 0;
}

/* The owner of d as a rank, or -1. */
static int owner_of(const struct orr_comm *c, const struct starpu_data_descr *d)
{
    int owner = d->handle ? orr_owned_rank(c, d->handle) : -1;
    return owner < c->size ? owner : -1;
}

/* Few different owners appear in one task: their sums are found by looking, whatever the number of ranks. */
static int most_bytes(const struct orr_place_view *v)
{
    int best = -1;
    size_t best_bytes = 0;
    for (int i = 0; i < v->count; i++) {
        int owner = owner_of(v->comm, &v->data[i]);
        size_t bytes = 0;
        for (int k = 0; k < v->count && owner >= 0; k++)
            if (owner_of(v->comm, &v->data[k]) == owner) bytes += bytes_saved(&v->data[k]);
        if (owner >= 0 && (best < 0 || bytes > best_bytes || (bytes == best_bytes && owner < best))) {
            best = owner;
            best_bytes = bytes;
        }
    }
    return best < 0 ? 0 : best;
}

static int choose(void *none, const struct orr_place_view *v)
{
    (void)none;
    return v->written_on != ORR_PLACE_OPEN ? v->written_on : most_bytes(v);
}

const struct orr_place_ops orr_place_owner = { .name = "owner", .choose = choose };
