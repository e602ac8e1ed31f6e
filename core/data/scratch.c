/* SPDX-License-Identifier: BSD-3-Clause */
/* scratch.c: private buffers of workers for STARPU_SCRATCH accesses: one for each handle and worker, kept for
 * the next task.
 * Threads: the worker the buffer is for. Owns: the table in struct orr_data_rare. Not here:
 * their memory, which is fetched and evicted like that of any handle (coherency.c); a buffer not in use holds
 * nothing worth writing back. */
#include "core/base/alloc.h"
#include "core/data/coherency.h"

/* The table of h, made on first use; NULL: no memory. */
static struct orr_data **table_of(struct orr_data *h)
{
    struct orr_data_rare *r = orr_data_rare_get(h);
    if (!r) return NULL;
    orr_spin_lock(&h->queue.lock);
    struct orr_data **table = r->scratch_per_worker;
    orr_spin_unlock(&h->queue.lock);
    if (table) return table;
    struct orr_data **fresh = orr_calloc(STARPU_NMAXWORKERS, sizeof *fresh);
    if (!fresh) return NULL;
    orr_spin_lock(&h->queue.lock);
    if (!r->scratch_per_worker) {
        r->scratch_per_worker = fresh;
        fresh = NULL;
    }
    table = r->scratch_per_worker;
    orr_spin_unlock(&h->queue.lock);
    orr_free(fresh);
    return table;
}

struct orr_data *orr_data_scratch(struct orr_data *h, unsigned worker_id)
{
    struct orr_data **table = table_of(h);
    if (!table || table[worker_id]) return table ? table[worker_id] : NULL;
    void *shape = orr_malloc(h->ops->interface_size); /* somebody may use h otherwise just now */
    if (!shape) return NULL;
    orr_data_copy_shape(h, shape);
    table[worker_id] = orr_data_create(h->ops, -1, shape);
    orr_free(shape);
    return table[worker_id];
}

void orr_data_scratch_free(struct orr_data *h)
{
    struct orr_data **table = orr_data_rare(h) ? orr_data_rare(h)->scratch_per_worker : NULL;
    if (!table) return;
    orr_data_rare(h)->scratch_per_worker = NULL;
    for (unsigned i = 0; i < STARPU_NMAXWORKERS; i++)
        if (table[i]) orr_data_destroy(table[i]);
    orr_free(table);
}
