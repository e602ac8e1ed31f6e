/* SPDX-License-Identifier: BSD-3-Clause */
/* recycle.c: large blocks of main memory that data gave back, kept for data of the same size.
 * Threads: any. Owns: the blocks kept. Not here: small blocks, who allocates (malloc.c).
 *
 * malloc returns large blocks to the system at once, and the next block of that size costs a page fault for
 * each 4 KiB: for a tile of 512 KiB as much as a tenth of its product. Iterative programs receive, drop and
 * receive again tiles of a few sizes.
 *
 * Kept blocks are linked through their own first bytes: by size, and by age, so that beyond the limit the
 * oldest goes. AddressSanitizer sees them as freed. */
#include "core/mem/recycle.h"

#include <limits.h>
#include <malloc.h>
#include <stdint.h>

#include "core/base/alloc.h"
#include "core/base/env.h"
#include "core/base/sync.h"
#include "core/mem/arena.h"
#include "core/mem/node.h"
#include "core/mem/pin.h"
#include "core/topo/topo.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, bytes) ((void)(p), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(p, bytes) ((void)(p), (void)(bytes))
#endif

enum { WORTH_KEEPING = 64 << 10, WORTH_BINDING = 256 << 10, BINS = 64, LIMIT_MIB = 1024 };

struct link {
    struct block *before, *after;
};
struct block {
    size_t bytes;
    unsigned node;
    struct link by_age, by_size;
};
struct list {
    struct block *first, *last; /* oldest, latest */
};

static ORR_SPIN(recycle) lock; /* protects all below; leaf */
static struct list ages, bins[BINS];
static size_t kept_bytes, limit_bytes; /* limit: 0 while the runtime is down */

/* Appends to or takes from a list the block whose link is at this offset. */
static struct link *link_of(struct block *b, size_t offset)
{
    return (struct link *)(void *)((char *)b + offset);
}

static void append_locked(struct list *l, struct block *b, size_t offset)
{
    *link_of(b, offset) = (struct link){ .before = l->last };
    if (l->last)
        link_of(l->last, offset)->after = b;
    else
        l->first = b;
    l->last = b;
}

static void remove_locked(struct list *l, struct block *b, size_t offset)
{
    struct link *own = link_of(b, offset);
    if (own->before)
        link_of(own->before, offset)->after = own->after;
    else
        l->first = own->after;
    if (own->after)
        link_of(own->after, offset)->before = own->before;
    else
        l->last = own->before;
}

static struct list *bin_of(size_t bytes)
{
    return &bins[(bytes >> 6) * UINT64_C(0x9e3779b97f4a7c15) >> 58];
}

static void take_locked(struct block *b)
{
    remove_locked(&ages, b, offsetof(struct block, by_age));
    remove_locked(bin_of(b->bytes), b, offsetof(struct block, by_size));
    kept_bytes -= b->bytes;
    ASAN_UNPOISON_MEMORY_REGION(b, b->bytes);
}

/* Returns the oldest blocks, linked by by_age.after, that exceed a limit. */
static struct block *take_beyond_locked(size_t limit)
{
    struct block *taken = NULL;
    while (kept_bytes > limit) {
        struct block *b = ages.first;
        take_locked(b);
        b->by_age.after = taken;
        taken = b;
    }
    return taken;
}

void orr_block_bind(unsigned node, void *p, size_t bytes)
{
    if (orr_main_memories > 1 && bytes >= WORTH_BINDING) orr_topo_bind_memory(orr_nodes[node].numa, p, bytes);
}

void orr_block_unbind(void *p, size_t bytes)
{
    if (orr_main_memories > 1 && bytes >= WORTH_BINDING) orr_topo_bind_memory(-1, p, bytes);
}

static void free_all(struct block *b)
{
    for (struct block *next; b; b = next) {
        next = b->by_age.after;
        orr_unpin(b);
        orr_block_unbind(b, b->bytes);
        orr_free(b);
    }
}

void orr_recycle_init(bool wanted)
{
    size_t limit = (size_t)orr_env_long(ORR_SETTING(ORRERY_RECYCLE_MEM), LIMIT_MIB, 0, LONG_MAX >> 20) << 20;
    orr_spin_lock(&lock);
    limit_bytes = wanted ? limit : 0;
    orr_spin_unlock(&lock);
}

void *orr_recycle_take(unsigned node, size_t bytes, size_t alignment)
{
    if (bytes < WORTH_KEEPING) return NULL;
    orr_spin_lock(&lock);
    struct block *b = bin_of(bytes)->last; /* the latest: most of it may be in the caches */
    while (b && (b->bytes != bytes || b->node != node || (uintptr_t)b % alignment)) b = b->by_size.before;
    if (b) take_locked(b);
    orr_spin_unlock(&lock);
    return b;
}

bool orr_recycle_keep(unsigned node, void *p, size_t bytes)
{
    if (bytes < WORTH_KEEPING || malloc_usable_size(p) < bytes) return false;
    struct block *b = p, *beyond = NULL;
    orr_spin_lock(&lock);
    bool fits = bytes <= limit_bytes;
    if (fits) {
        b->bytes = bytes;
        b->node = node;
        append_locked(&ages, b, offsetof(struct block, by_age));
        append_locked(bin_of(bytes), b, offsetof(struct block, by_size));
        kept_bytes += bytes;
        ASAN_POISON_MEMORY_REGION(b + 1, bytes - sizeof *b);
        beyond = take_beyond_locked(limit_bytes);
    }
    size_t room = limit_bytes - kept_bytes;
    orr_spin_unlock(&lock);
    free_all(beyond);
    if (fits) orr_arena_give_back(room);
    return fits;
}

void orr_recycle_fini(void)
{
    orr_spin_lock(&lock);
    limit_bytes = 0;
    orr_spin_unlock(&lock);
    orr_recycle_drain();
}

void orr_recycle_drain(void)
{
    orr_spin_lock(&lock);
    struct block *taken = take_beyond_locked(0);
    orr_spin_unlock(&lock);
    free_all(taken);
    orr_arena_give_back(0);
}

size_t orr_recycle_limit(void)
{
    orr_spin_lock(&lock);
    size_t bytes = limit_bytes;
    orr_spin_unlock(&lock);
    return bytes;
}

void orr_recycle_make_room(size_t bytes)
{
    orr_spin_lock(&lock);
    struct block *beyond = orr_unlikely(kept_bytes > 0)
                               ? take_beyond_locked(limit_bytes > bytes ? limit_bytes - bytes : 0)
                               : NULL;
    orr_spin_unlock(&lock);
    free_all(beyond);
}

size_t orr_recycle_bytes(void)
{
    orr_spin_lock(&lock);
    size_t bytes = kept_bytes;
    orr_spin_unlock(&lock);
    return bytes + orr_arena_kept();
}
