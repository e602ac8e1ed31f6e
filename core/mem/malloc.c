/* SPDX-License-Identifier: BSD-3-Clause */
/* malloc.c: memory for programs and for data interfaces, in main memory or on a device's node.
 * Threads: any. Owns: the alignment, the program's allocation hooks, each node's default flags.
 * Not here: counting against limits (node.c), making room by eviction (core/data/eviction.c). */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/mem/arena.h"
#include "core/mem/kept.h"
#include "core/mem/node.h"
#include "core/mem/pin.h"
#include "core/mem/recycle.h"

enum { DEFAULT_ALIGNMENT = ORR_CACHE_LINE };

static _Atomic size_t alignment = DEFAULT_ALIGNMENT;
static starpu_malloc_hook malloc_hook; /* [own: program, before starpu_init] */
static starpu_free_hook free_hook;
static _Atomic int default_flags_set[STARPU_MAXNODES]; /* flags + 1; 0: not set */

void starpu_malloc_set_align(size_t align)
{
    if (align < sizeof(void *) || (align & (align - 1))) {
        orr_error("starpu_malloc_set_align: %zu is not a power of two of at least %zu", align,
                  sizeof(void *));
        return;
    }
    if (align > orr_load_relaxed(&alignment)) orr_store_relaxed(&alignment, align);
}

void starpu_malloc_set_hooks(starpu_malloc_hook malloc_fn, starpu_free_hook free_fn)
{
    malloc_hook = malloc_fn;
    free_hook = free_fn;
}

/* Memory that is meant for transfers: other ranks of this node copy from it by themselves, as devices do from
 * what is pinned. NULL: there are none, or it is to be on a NUMA node, or the program gives it back itself.
 */
static void *shared_alloc(size_t bytes, bool zeroed)
{
    bool wanted = orr_main_memories == 1 && orr_load_relaxed(&alignment) <= 4096 && !free_hook;
    return wanted ? orr_arena_alloc(bytes, zeroed) : NULL;
}

/* A child of fork may have got our locks as others held them. */
static void shared_free(void *p)
{
    if (!orr_arena_is_own()) return;
    orr_arena_free(p, orr_recycle_limit());
    orr_recycle_make_room(orr_arena_kept());
}

void *orr_shared_block(size_t bytes, bool zeroed)
{
    return orr_arena_is_own() && orr_recycle_limit() > 0 ? shared_alloc(bytes, zeroed) : NULL;
}

size_t orr_shared_block_bytes(const void *p)
{
    return orr_arena_block_bytes(p);
}

void *orr_shared_malloc(size_t bytes)
{
    void *p = shared_alloc(bytes, false);
    return p ? p : orr_malloc_aligned(DEFAULT_ALIGNMENT, bytes ? bytes : 1);
}

void orr_shared_free(void *p)
{
    if (orr_arena_owns(p))
        shared_free(p);
    else
        orr_free(p);
}

/* Main memory, uncounted; NULL when there is none. */
static void *ram_alloc(unsigned node, size_t bytes, int flags)
{
    if (malloc_hook) {
        void *p = NULL;
        return malloc_hook(node, &p, bytes, flags) == 0 ? p : NULL;
    }
    bool pinned = flags & STARPU_MALLOC_PINNED && orr_pin_is_worth(bytes);
    void *(*get)(size_t, size_t) = pinned ? orr_pin_malloc : orr_malloc_aligned;
    void *p = flags & STARPU_MALLOC_PINNED && !pinned ? shared_alloc(bytes, false) : NULL;
    if (p) return p;
    p = get(orr_load_relaxed(&alignment), bytes ? bytes : 1);
    if (p || orr_recycle_bytes() == 0) return p;
    orr_recycle_drain();
    return get(orr_load_relaxed(&alignment), bytes ? bytes : 1);
}

/* Pins a new block, if that is asked for and can be: it is of use without. */
static void pin_new(void *p, size_t bytes, int flags)
{
    if (p && flags & STARPU_MALLOC_PINNED && orr_pin_is_worth(bytes) && !malloc_hook) orr_pin(p, bytes);
}

/* The program's own. */
static void *program_alloc(unsigned node, size_t bytes, int flags)
{
    void *p = ram_alloc(node, bytes, flags);
    pin_new(p, bytes, flags);
    return p;
}

static void ram_free(unsigned node, void *p, size_t bytes, int flags)
{
    if (!p) return;
    orr_unpin(p);
    if (orr_arena_owns(p)) {
        shared_free(p);
        return;
    }
    if (free_hook)
        free_hook(node, p, bytes, flags);
    else
        orr_free(p);
}

/* ram_alloc, counted if the flags say so. 0 or an error code. */
static int ram_alloc_counted(unsigned node, void **p_out, size_t bytes, int flags,
                             void *(*alloc)(unsigned node, size_t bytes, int flags))
{
    if (flags & STARPU_MALLOC_COUNT) {
        bool may_overflow = (flags & STARPU_MALLOC_NORECLAIM) && !(flags & STARPU_MEMORY_WAIT);
        int r = orr_node_reserve(node, bytes, may_overflow ? flags | STARPU_MEMORY_OVERFLOW : flags);
        if (r) return r;
    }
    void *p = alloc(node, bytes, flags);
    if (!p) {
        if (flags & STARPU_MALLOC_COUNT) orr_node_release(node, bytes);
        return -ENOMEM;
    }
    *p_out = p;
    return 0;
}

/* Data make room for what the program counts, where they can. */
static void make_room(size_t bytes)
{
    bool (*make)(unsigned, size_t) = orr_load_acquire(&orr_make_room);
    while (make && !orr_node_has_room(STARPU_MAIN_RAM, bytes) && make(STARPU_MAIN_RAM, bytes)) continue;
}

int starpu_malloc_flags(void **A, size_t dim, int flags)
{
    if (!A) {
        orr_error("starpu_malloc: the place for the address is NULL");
        return -EINVAL;
    }
    if ((flags & STARPU_MALLOC_COUNT) && !(flags & STARPU_MALLOC_NORECLAIM)) make_room(dim);
    return ram_alloc_counted(STARPU_MAIN_RAM, A, dim, flags, program_alloc);
}

int starpu_malloc(void **A, size_t dim)
{
    return starpu_malloc_flags(A, dim, STARPU_MALLOC_PINNED);
}

int starpu_free_flags(void *A, size_t dim, int flags)
{
    if (!A) return 0;
    ram_free(STARPU_MAIN_RAM, A, dim, flags);
    if (flags & STARPU_MALLOC_COUNT) orr_node_release(STARPU_MAIN_RAM, dim);
    return 0;
}

int starpu_free_noflag(void *A, size_t dim)
{
    return starpu_free_flags(A, dim, STARPU_MALLOC_PINNED);
}

int starpu_free(void *A)
{
    return starpu_free_flags(A, 0, STARPU_MALLOC_PINNED);
}

int starpu_memory_pin(void *addr, size_t size)
{
    return orr_pin(addr, size);
}

int starpu_memory_unpin(void *addr, size_t size)
{
    (void)size;
    orr_unpin(addr);
    return 0;
}

/* ---- on any node ---- */

static int default_flags(unsigned node)
{
    int set = node < STARPU_MAXNODES ? orr_load_relaxed(&default_flags_set[node]) : 0;
    return set ? set - 1 : STARPU_MALLOC_PINNED | STARPU_MALLOC_COUNT;
}

void starpu_malloc_on_node_set_default_flags(unsigned node, int flags)
{
    if (node >= STARPU_MAXNODES) {
        orr_error("starpu_malloc_on_node_set_default_flags: there is no memory node %u", node);
        return;
    }
    orr_store_relaxed(&default_flags_set[node], flags + 1);
}

/* Main memory for data: sizes recur, and its giver-back tells the size. Large blocks are bound to the NUMA
 * node where they belong, small ones are where they are first written. The program's hooks are always asked.
 */
static void *data_alloc(unsigned node, size_t bytes, int flags)
{
    bool hooked = malloc_hook || free_hook;
    void *p = hooked ? NULL : orr_recycle_take(node, bytes, orr_load_relaxed(&alignment));
    if (p) return p;
    p = ram_alloc(node, bytes, flags);
    if (p && !hooked) orr_block_bind(node, p, bytes);
    pin_new(p, bytes, flags); /* now that its pages have their place */
    return p;
}

static void data_free(unsigned node, void *p, size_t bytes, int flags)
{
    bool hooked = malloc_hook || free_hook;
    if (hooked || orr_arena_owns(p) || !orr_recycle_keep(node, p, bytes)) {
        orr_unpin(p);
        if (!hooked) orr_block_unbind(p, bytes);
        ram_free(node, p, bytes, flags);
    }
    if (flags & STARPU_MALLOC_COUNT) orr_node_release(node, bytes);
}

/* Whether there is that node; node 0 is there before starpu_init. */
static bool exists(unsigned node, const char *fn)
{
    if (node < orr_node_count || node == STARPU_MAIN_RAM) return true;
    orr_error("%s: there is no memory node %u", fn, node);
    return false;
}

uintptr_t starpu_malloc_on_node_flags(unsigned node, size_t size, int flags)
{
    if (!exists(node, "starpu_malloc_on_node")) return 0;
    if (orr_node_is_cpu(node)) {
        void *p = NULL;
        return ram_alloc_counted(node, &p, size, flags, data_alloc) == 0 ? (uintptr_t)p : 0;
    }
    for (;;) {
        if (orr_node_reserve(node, size, flags) != 0) return 0;
        uintptr_t addr = orr_kept_alloc(node, size ? size : 1);
        if (addr) return addr;
        orr_node_release(node, size);
        if (!orr_node_drop_kept(node, size)) return 0; /* some is not counted, but taken from the driver */
    }
}

void starpu_free_on_node_flags(unsigned node, uintptr_t addr, size_t size, int flags)
{
    if (!addr || !exists(node, "starpu_free_on_node")) return;
    if (orr_node_is_cpu(node)) {
        data_free(node, (void *)addr, size, flags);
        return;
    }
    orr_kept_free(node, addr, size ? size : 1);
    orr_node_release(node, size);
}

uintptr_t starpu_malloc_on_node(unsigned node, size_t size)
{
    return starpu_malloc_on_node_flags(node, size, default_flags(node));
}

void starpu_free_on_node(unsigned node, uintptr_t addr, size_t size)
{
    starpu_free_on_node_flags(node, addr, size, default_flags(node));
}

void starpu_check_on_node(unsigned node, uintptr_t addr, size_t size)
{
    const char *wrong = NULL;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = addr & ~(page - 1);
    if (node >= orr_node_count)
        wrong = "there is no such memory node";
    else if (!addr && size > 0)
        wrong = "they are nowhere";
    else if (orr_node_is_cpu(node) && size > 0 && msync((void *)begin, addr + size - begin, MS_ASYNC) != 0)
        wrong = "not all of them are memory of this process";
    if (wrong)
        orr_error("starpu_check_on_node: %zu bytes at %p are not on memory node %u: %s", size, (void *)addr,
                  node, wrong);
}
