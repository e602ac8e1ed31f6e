/* SPDX-License-Identifier: BSD-3-Clause */
/* arena.h: main memory in large blocks that other processes of this node can see.
 * Threads: any, but where it says main. Owns: the memory, until the process ends: blocks may outlive what
 * opened it. Not here: who gets blocks of it (malloc.c), who looks into it (mpi/wire/transports/near.h). */
#ifndef ORR_MEM_ARENA_H
#define ORR_MEM_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/export.h"
#include "core/base/sync.h"

/* For others: /proc/PID/fd/FD is the memory, so many bytes, of which most may not exist yet; here it is at
 * base. */
struct orr_arena {
    char *base;
    size_t bytes;
    int fd;
};
/* bytes: 0: it is not open. [const from then on; atomic: publishes the rest] */
extern ORR_EXPORT struct orr_arena orr_the_arena;
extern ORR_EXPORT _Atomic size_t orr_arena_bytes;

/* From now on blocks come from it; most: bytes, if it is not open yet. NULL: it cannot be: no such memory, a
 * limit on addresses, or a system that promises no more memory than it has, which would end the process where
 * malloc only says no. Main thread. */
ORR_EXPORT const struct orr_arena *orr_arena_open(size_t most);

/* Whether it is one of its blocks, or in one. */
static inline bool orr_arena_owns(const void *p)
{
    size_t bytes = orr_load_acquire(&orr_arena_bytes);
    return orr_unlikely(bytes != 0) && (uintptr_t)p - (uintptr_t)orr_the_arena.base < bytes;
}

/* An arena, this process' or another's, mapped as a whole, but usable from its beginning only as far as it
 * was reached for: a program that has its memory locked (mlockall) would get all pages of what is usable. */
struct orr_mapping {
    char *base; /* NULL: it is not there */
    size_t bytes;
    _Atomic size_t usable; /* [any] */
    int protection;
};

/* False: it cannot be, or the program has a limit on addresses (RLIMIT_AS), which are then left to it. */
ORR_EXPORT bool orr_mapping_make(struct orr_mapping *m, int fd, size_t bytes, int protection);
ORR_EXPORT void orr_mapping_end(struct orr_mapping *m);
ORR_EXPORT bool orr_mapping_extend(struct orr_mapping *m, size_t end);
/* The bytes before `end` are about to be used. False: the system does not let it. Any thread. */
static inline bool orr_mapping_reach(struct orr_mapping *m, size_t end)
{
    return orr_likely(end <= orr_load_acquire(&m->usable)) || orr_mapping_extend(m, end);
}

/* Whether a file may be so large: else the system would end the process by a signal. */
ORR_EXPORT bool orr_file_may_grow(size_t bytes);

/* A block at the beginning of a page, zeroed or not; NULL: it is not open or full, or the block is better had
 * from malloc, or this is a child of fork, which would use what is its parent's. */
void *orr_arena_alloc(size_t bytes, bool zeroed);
/* Whether it is open, and this is no child of fork of who opened it. */
bool orr_arena_is_own(void);
/* How many bytes a block has. Its owner asks. */
size_t orr_arena_block_bytes(const void *p);
/* Gives it back; keep: so many bytes of what is free may stay in memory for the next. Nothing in a child of
 * fork. */
void orr_arena_free(void *p, size_t keep);
/* How many bytes of what is free stay in memory; gives back to the system what is beyond that. */
size_t orr_arena_kept(void);
void orr_arena_give_back(size_t keep);

/* ---- memory for values that other ranks of this node copy (malloc.c) ---- */

/* Of the arena where it is worth that, else of malloc; NULL: there is none. No limit counts it, no device has
 * it pinned. Any thread. */
ORR_EXPORT void *orr_shared_malloc(size_t bytes);
/* NULL is fine. Any thread. */
ORR_EXPORT void orr_shared_free(void *p);
/* Of the arena, or NULL: what stands in for malloc (tools/malloc) has another then, as while the runtime is
 * not there, which keeps free memory (ORRERY_RECYCLE_MEM). Freed by orr_shared_free. */
ORR_EXPORT void *orr_shared_block(size_t bytes, bool zeroed);
/* How many bytes such a block has, at least what was asked for. */
ORR_EXPORT size_t orr_shared_block_bytes(const void *p);

#endif
