/* SPDX-License-Identifier: BSD-3-Clause */
/* alloc_cache.h: buffers of programs' own interfaces that data gave back, kept on their node for data of the
 * same shape.
 * Threads: any; no locks held. Owns: the buffers kept. Not here: memory of the predefined interfaces, which
 * is kept below starpu_free_on_node (core/mem/kept.h, recycle.h). */
#ifndef ORR_DATA_ALLOC_CACHE_H
#define ORR_DATA_ALLOC_CACHE_H

#include "core/data/data.h"

/* h begins, with its shape, or ends, and has no buffer of ours any more: what is kept lasts as long as data
 * with the same table. */
void orr_alloc_cache_enter(struct orr_data *h);
void orr_alloc_cache_leave_table(const struct starpu_data_interface_ops *ops);
static inline void orr_alloc_cache_leave(struct orr_data *h)
{
    if (orr_unlikely(h->alloc_key)) orr_alloc_cache_leave_table(h->ops);
}

/* Gives h's structure of a node a buffer: one that was kept, else a new one, for which those kept make room.
 * Its bytes, or -ENOMEM. */
starpu_ssize_t orr_buffer_allocate(struct orr_data *h, unsigned node);
/* Keeps that buffer, of an h with a key. False: it is to be freed. */
bool orr_buffer_keep(struct orr_data *h, unsigned node);
/* Keeps it, or frees it. */
static inline void orr_buffer_free(struct orr_data *h, unsigned node)
{
    if (orr_likely(!h->alloc_key) || !orr_buffer_keep(h, node))
        h->ops->free_data_on_node(h->replicates[node].interface, node);
}

/* Frees the oldest that are kept on a node, about so many bytes. False: there were none. */
bool orr_alloc_cache_drop(unsigned node, size_t bytes);
/* The same for who allocates; not within an interface's allocate_data_on_node, whose caller does it. */
bool orr_alloc_cache_make_room(unsigned node, size_t bytes);
/* Whether somebody is just freeing some there: room to come. */
bool orr_alloc_cache_busy(unsigned node);
/* What is kept there. */
size_t orr_alloc_cache_bytes(unsigned node);

#endif
