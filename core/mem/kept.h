/* SPDX-License-Identifier: BSD-3-Clause */
/* kept.h: memory of devices that data gave back, kept for data of the same size, where allocating takes long.
 * Threads: any. Owns: the blocks kept. Not here: main memory (recycle.h), limits (node.h). */
#ifndef ORR_MEM_KEPT_H
#define ORR_MEM_KEPT_H

#include <stddef.h>
#include <stdint.h>

/* A block of the node: one that was kept, else a new one, for which those kept make room. The bytes are
 * counted against the node's limit already. 0: there is none. */
uintptr_t orr_kept_alloc(unsigned node, size_t bytes);
/* Keeps the block, or frees it. */
void orr_kept_free(unsigned node, uintptr_t addr, size_t bytes);
/* Frees what is kept. Before the node's driver goes. */
void orr_kept_drain(unsigned node);

#endif
