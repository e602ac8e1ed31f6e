/* SPDX-License-Identifier: BSD-3-Clause */
/* slab.h: recycled fixed-size blocks. A thread allocates and frees on a list of its own; whole batches move
 * between threads, so that one thread may allocate what another frees (submission and execution) at one lock
 * per batch.
 * Threads: any. Owns: the blocks, until orr_slab_trim_all. Not here: general allocation (alloc.h).
 */
#ifndef ORR_BASE_SLAB_H
#define ORR_BASE_SLAB_H

#include <stddef.h>
#include <stdint.h>

#include <starpu_config.h>

#include "core/base/export.h"
#include "core/base/sync.h"

enum orr_slab_id {
    ORR_SLAB_TASK,        /* private and public part of a task in one block */
    ORR_SLAB_JOB,         /* private part alone, for tasks in the program's own memory */
    ORR_SLAB_EDGE,        /* one explicit dependency */
    ORR_SLAB_ARGS,        /* packed codelet arguments up to ORR_ARGS_BLOCK_BYTES */
    ORR_SLAB_RARE,        /* what only some tasks need */
    ORR_SLAB_GRAPH_NODE,  /* a task in the recorded graph */
    ORR_SLAB_GRAPH_DATUM, /* a handle that tasks of it use */
    ORR_SLAB_BLOCK_FIRST, /* of the sizes that block.h recycles, in ascending order */
    ORR_SLAB_BLOCK_LAST = ORR_SLAB_BLOCK_FIRST + 6,
    ORR_SLAB_COUNT
};

/* Jobs of lists live in them too, and hold a bit for each worker. */
/* What a chunk keeps for itself at its start: a pair of cache lines, since processors fetch lines in aligned
 * pairs. Blocks whose size is a multiple of that never share a pair: a core that reads the end of one does
 * not take the start of the next away from the thread that works on it. */
enum { ORR_SLAB_HEAD = 2 * ORR_CACHE_LINE };
enum { ORR_ARGS_BLOCK_BYTES = STARPU_NMAXWORKERS > 256 ? 96 + STARPU_NMAXWORKERS / 8 : 128 };

struct orr_slab_cache { /* [own: thread] */
    void *free_list;
    uint32_t count;
};

/* The size of each slab's blocks: multiples of 16, at least 16. A table that core/task fills in: it knows its
 * structs. */
extern const size_t orr_slab_block_bytes[ORR_SLAB_COUNT];
#define ORR_SLAB_ROUND(bytes, unit) (((bytes) + (unit)-1) / (unit) * (unit))

void *orr_slab_alloc_slow(enum orr_slab_id id);
void orr_slab_free_slow(enum orr_slab_id id);

/* Hands a dying thread's blocks back. Called by core/base/thread.c. */
void orr_slab_flush(struct orr_slab_cache *caches);

/* Blocks in use in a slab, exact while no thread allocates or frees. */
long orr_slab_live(enum orr_slab_id id);

/* Calls fn with every block ever handed out, in use or free, while the slab is locked: fn only reads. For
 * diagnosis. */
void orr_slab_for_each(enum orr_slab_id id, void (*fn)(void *block, void *arg), void *arg);

/* Gives the memory of every slab without a live block back to the system. Called by shutdown, with no task
 * alive. */
void orr_slab_trim_all(void);

#endif
