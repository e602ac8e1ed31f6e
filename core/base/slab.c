/* SPDX-License-Identifier: BSD-3-Clause */
/* slab.c: batches of free blocks, and the chunks they are cut from.
 * Threads: any. Owns: chunks and the shared stacks of full batches. Not here: the per-thread fast path
 * (thread.h).
 *
 * A cache that reaches two batches gives one away; an empty cache takes one, or cuts a new one from the
 * current chunk. Chunks double from 64 KiB to 2 MiB; the large ones ask for huge pages, because page faults
 * are what pending tasks cost most. After J. Bonwick, J. Adams, "Magazines and Vmem" (USENIX 2001). */
#include "core/base/slab.h"

#include <string.h>
#include <sys/mman.h>

#include "core/base/alloc.h"
#include "core/base/sync.h"
#include "core/base/thread.h"

enum { BATCH = 32, FIRST_CHUNK_BYTES = 64 << 10, LAST_CHUNK_BYTES = 2 << 20 };

struct free_block { /* overlays a free block */
    struct free_block *next;
    struct free_block *next_batch; /* in the first block of a batch on the shared stack */
};

struct chunk {
    struct chunk *next;
    size_t bytes;
};

struct slab {
    ORR_ALIGNED_LINE ORR_SPIN(slab) lock; /* protects all below; leaf; never held across a plug-in call */
    struct free_block *batches;
    struct chunk *chunks;
    char *cut, *cut_end; /* the rest of the newest chunk */
    size_t next_chunk_bytes;
    long blocks_cut, batches_held;
};

static struct slab slabs[ORR_SLAB_COUNT];

static size_t block_bytes(const struct slab *s)
{
    return orr_slab_block_bytes[s - slabs];
}

/* Called with the slab's lock held. */
static bool add_chunk_locked(struct slab *s)
{
    size_t bytes = s->next_chunk_bytes ? s->next_chunk_bytes : FIRST_CHUNK_BYTES;
    struct chunk *c = orr_malloc_aligned(bytes >= LAST_CHUNK_BYTES ? LAST_CHUNK_BYTES : 4096, bytes);
    if (!c) return false;
    if (bytes >= LAST_CHUNK_BYTES) madvise(c, bytes, MADV_HUGEPAGE);
    c->next = s->chunks;
    c->bytes = bytes;
    s->chunks = c;
    s->cut = (char *)c + ORR_SLAB_HEAD;
    s->cut_end = (char *)c + bytes;
    s->next_chunk_bytes = bytes < LAST_CHUNK_BYTES ? bytes * 2 : bytes;
    return true;
}

/* Cuts up to a batch of fresh blocks; called with the slab's lock held. */
static struct free_block *cut_batch_locked(struct slab *s, uint32_t *count_out)
{
    struct free_block *first = NULL, **end = &first;
    bool fail, singly = orr_alloc_injected(&fail); /* each block may fail, then */
    uint32_t n = 0, wanted = singly ? 1 : BATCH;
    if (orr_unlikely(fail)) return NULL;
    if (s->cut + block_bytes(s) > s->cut_end && !add_chunk_locked(s)) return NULL;
    for (; n < wanted && s->cut + block_bytes(s) <= s->cut_end; n++) {
        struct free_block *b = (struct free_block *)s->cut;
        s->cut += block_bytes(s);
        memset(b, 0,
               block_bytes(s) < ORR_CACHE_LINE ? block_bytes(s)
                                               : ORR_CACHE_LINE); /* for walks over all blocks */
        *end = b;
        end = &b->next;
    }
    *end = NULL;
    s->blocks_cut += n;
    *count_out = n;
    return first;
}

void *orr_slab_alloc_slow(enum orr_slab_id id)
{
    struct orr_slab_cache *cache = &orr_self()->caches[id];
    struct slab *s = &slabs[id];
    uint32_t count = BATCH;
    orr_spin_lock(&s->lock);
    struct free_block *batch = s->batches;
    if (batch) {
        s->batches = batch->next_batch;
        s->batches_held--;
    } else {
        batch = cut_batch_locked(s, &count);
    }
    orr_spin_unlock(&s->lock);
    if (!batch) return NULL;
    cache->free_list = batch->next;
    cache->count = count - 1;
    return batch;
}

/* The cache just reached two batches: its newest BATCH blocks go to the shared stack. */
void orr_slab_free_slow(enum orr_slab_id id)
{
    struct orr_slab_cache *cache = &orr_self()->caches[id];
    struct slab *s = &slabs[id];
    struct free_block *batch = cache->free_list, *last = batch;
    for (int i = 1; i < BATCH; i++) last = last->next;
    cache->free_list = last->next;
    cache->count -= BATCH;
    last->next = NULL;
    orr_spin_lock(&s->lock);
    batch->next_batch = s->batches;
    s->batches = batch;
    s->batches_held++;
    orr_spin_unlock(&s->lock);
}

/* Puts a list that may be shorter than a batch back: appended to the chunk's cut area is impossible, so short
 * lists are kept as single-thread leftovers: they join the next thread's cache through a partial batch of
 * their own. */
static struct free_block *leftovers[ORR_SLAB_COUNT]; /* [lock: the slab's] */
static long leftover_count[ORR_SLAB_COUNT];

void orr_slab_flush(struct orr_slab_cache *caches)
{
    for (int id = 0; id < ORR_SLAB_COUNT; id++) {
        struct slab *s = &slabs[id];
        orr_spin_lock(&s->lock);
        for (struct free_block *b = caches[id].free_list, *next; b; b = next) {
            next = b->next;
            b->next = leftovers[id];
            leftovers[id] = b;
            leftover_count[id]++;
        }
        while (leftover_count[id] >= BATCH) {
            struct free_block *first = leftovers[id], *last = first;
            for (int i = 1; i < BATCH; i++) last = last->next;
            leftovers[id] = last->next;
            leftover_count[id] -= BATCH;
            last->next = NULL;
            first->next_batch = s->batches;
            s->batches = first;
            s->batches_held++;
        }
        orr_spin_unlock(&s->lock);
        caches[id] = (struct orr_slab_cache){ 0 };
    }
}

long orr_slab_live(enum orr_slab_id id)
{
    struct slab *s = &slabs[id];
    long cached = orr_threads_cached_blocks(id);
    orr_spin_lock(&s->lock);
    long live = s->blocks_cut - s->batches_held * BATCH - leftover_count[id] - cached;
    orr_spin_unlock(&s->lock);
    return live;
}

void orr_slab_for_each(enum orr_slab_id id, void (*fn)(void *block, void *arg), void *arg)
{
    struct slab *s = &slabs[id];
    orr_spin_lock(&s->lock);
    for (struct chunk *c = s->chunks; c; c = c->next) {
        char *end = c == s->chunks ? s->cut : (char *)c + c->bytes;
        for (char *b = (char *)c + ORR_SLAB_HEAD; b + block_bytes(s) <= end; b += block_bytes(s)) fn(b, arg);
    }
    orr_spin_unlock(&s->lock);
}

static void trim(enum orr_slab_id id)
{
    struct slab *s = &slabs[id];
    if (orr_slab_live(id) != 0) return;
    orr_threads_drop_caches(id);
    orr_spin_lock(&s->lock);
    for (struct chunk *c = s->chunks, *next; c; c = next) {
        next = c->next;
        orr_free(c);
    }
    s->chunks = NULL;
    s->batches = NULL;
    s->cut = s->cut_end = NULL;
    s->next_chunk_bytes = 0;
    s->blocks_cut = s->batches_held = 0;
    leftovers[id] = NULL;
    leftover_count[id] = 0;
    orr_spin_unlock(&s->lock);
}

void orr_slab_trim_all(void)
{
    for (int id = 0; id < ORR_SLAB_COUNT; id++) trim(id);
}
