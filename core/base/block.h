/* SPDX-License-Identifier: BSD-3-Clause */
/* block.h: recycled blocks of varying size, for what many threads make and others free: handles, plans,
 * requests. Each size is rounded up to that of a slab (slab.h); what is larger than all of them is malloc's.
 * Threads: any. Owns: nothing. Not here: blocks of one kind of struct (slab.h). */
#ifndef ORR_BASE_BLOCK_H
#define ORR_BASE_BLOCK_H

#include <stddef.h>

#include "core/base/export.h"

/* A block at the start of a cache line, of a pair of them where it is larger than one; uninitialised or
 * zeroed; NULL when out of memory. */
ORR_EXPORT void *orr_block_alloc(size_t bytes);
void *orr_block_calloc(size_t bytes);
/* With the size that was asked for. NULL is nothing. */
ORR_EXPORT void orr_block_free(void *block, size_t bytes);

#endif
