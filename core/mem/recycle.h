/* SPDX-License-Identifier: BSD-3-Clause */
/* recycle.h: large blocks of main memory that data gave back, kept for data of the same size.
 * Threads: any. Owns: the blocks kept. Not here: small blocks (malloc has those at hand), devices' memory. */
#ifndef ORR_MEM_RECYCLE_H
#define ORR_MEM_RECYCLE_H

#include <stdbool.h>
#include <stddef.h>

/* Before that, after fini, and if not wanted, nothing is kept. Reads ORRERY_RECYCLE_MEM. */
void orr_recycle_init(bool wanted);
void orr_recycle_fini(void);
/* A block that was kept for this main memory, of exactly this size and aligned so; NULL: there is none. It
 * comes from malloc. */
void *orr_recycle_take(unsigned node, size_t bytes, size_t alignment);
/* Keeps block p, which comes from malloc; false: it is not worth it, and stays the caller's. */
bool orr_recycle_keep(unsigned node, void *p, size_t bytes);
/* Where main memories are several, has a large block be on the NUMA node of one when it is first used; and
 * lets it be anywhere again, before it goes back to malloc. */
void orr_block_bind(unsigned node, void *p, size_t bytes);
void orr_block_unbind(void *p, size_t bytes);
/* Gives everything back to the system, what is free of the arena (arena.h), too. */
void orr_recycle_drain(void);
/* What is kept, there, too, and how much may be. */
size_t orr_recycle_bytes(void);
size_t orr_recycle_limit(void);
/* So many bytes are kept there: whoever came first goes, as far as both are beyond the limit. */
void orr_recycle_make_room(size_t bytes);

#endif
