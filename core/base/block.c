/* SPDX-License-Identifier: BSD-3-Clause */
/* block.c: see block.h.
 * Threads: any. Owns: which size goes to which slab. Not here: the slabs. */
#include "core/base/block.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/thread.h"

/* The slab whose blocks hold so many bytes; ORR_SLAB_COUNT: none does. */
static enum orr_slab_id slab_for(size_t bytes)
{
    int id = ORR_SLAB_BLOCK_FIRST;
    while (id <= ORR_SLAB_BLOCK_LAST && bytes > orr_slab_block_bytes[id]) id++;
    return id <= ORR_SLAB_BLOCK_LAST ? (enum orr_slab_id)id : ORR_SLAB_COUNT;
}

void *orr_block_alloc(size_t bytes)
{
    enum orr_slab_id id = slab_for(bytes);
    bool fail;
    if (id == ORR_SLAB_COUNT) return orr_malloc_aligned(ORR_SLAB_HEAD, bytes);
    if (orr_unlikely(orr_alloc_injected(&fail)) && fail) return NULL; /* a recycled one may fail as well */
    return orr_slab_alloc(id);
}

void *orr_block_calloc(size_t bytes)
{
    void *block = orr_block_alloc(bytes);
    return block ? memset(block, 0, bytes) : NULL;
}

void orr_block_free(void *block, size_t bytes)
{
    enum orr_slab_id id = slab_for(bytes);
    if (!block || id == ORR_SLAB_COUNT)
        orr_free(block);
    else
        orr_slab_free(id, block);
}
