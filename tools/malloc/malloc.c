/* SPDX-License-Identifier: BSD-3-Clause */
/* malloc.c: malloc and its like for a program that was not written for it: large blocks come from memory that
 * the other ranks of the node see (core/mem/arena.h), as those of starpu_malloc do. Loaded before the
 * program's libraries (LD_PRELOAD, by orrery_malloc); all else is the C library's. Threads: any. Owns:
 * nothing. Not here: the blocks (core/mem/arena.c), what it is good for (near_copy.c).
 *
 * A program that is not linked with the library, or before starpu_mpi_init, after its end or after a fork,
 * gets what the C library has. What realloc makes grow out of a block of that stays with it. */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem/arena.h"

#pragma weak orr_arena_bytes
#pragma weak orr_the_arena
#pragma weak orr_shared_block
#pragma weak orr_shared_block_bytes
#pragma weak orr_shared_free

enum { PAGE = 4096 };

/* The C library's own, by the names under which it has them for who replaces the others. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *p);

/* NULL: the C library is to have it. */
static void *block(size_t bytes, bool zeroed)
{
    return &orr_arena_bytes ? orr_shared_block(bytes, zeroed) : NULL;
}

static bool is_block(const void *p)
{
    return &orr_arena_bytes && orr_arena_owns(p);
}

static void *out_of_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

ORR_EXPORT void *malloc(size_t bytes)
{
    void *p = block(bytes, false);
    return p ? p : __libc_malloc(bytes);
}

ORR_EXPORT void free(void *p)
{
    if (orr_likely(!is_block(p))) {
        __libc_free(p);
        return;
    }
    int e = errno;
    orr_shared_free(p);
    errno = e;
}

ORR_EXPORT void *calloc(size_t count, size_t bytes)
{
    size_t all;
    if (__builtin_mul_overflow(count, bytes, &all)) return out_of_memory();
    void *p = block(all, true);
    return p ? p : __libc_calloc(count, bytes);
}

/* Of a block: in place, where what it needs fills half of what it has. Who grows step by step is not to have
 * all copied each time; pages that are not touched cost nothing. */
static void *resize(void *p, size_t bytes)
{
    size_t room = orr_shared_block_bytes(p);
    if (bytes == 0) {
        free(p);
        return NULL;
    }
    if (bytes <= room && bytes > room / 2) return p;
    void *q = bytes > room && bytes <= SIZE_MAX / 2 ? malloc(bytes + bytes / 2) : NULL;
    if (!q) q = malloc(bytes);
    if (!q) return NULL;
    memcpy(q, p, bytes < room ? bytes : room);
    free(p);
    return q;
}

ORR_EXPORT void *realloc(void *p, size_t bytes)
{
    if (!p) return malloc(bytes);
    return is_block(p) ? resize(p, bytes) : __libc_realloc(p, bytes);
}

ORR_EXPORT void *reallocarray(void *p, size_t count, size_t bytes)
{
    size_t all;
    return __builtin_mul_overflow(count, bytes, &all) ? out_of_memory() : realloc(p, all);
}

ORR_EXPORT void *memalign(size_t alignment, size_t bytes)
{
    void *p = alignment <= PAGE ? block(bytes, false) : NULL;
    return p ? p : __libc_memalign(alignment, bytes);
}

ORR_EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
    return memalign(alignment, bytes);
}

ORR_EXPORT int posix_memalign(void **p_out, size_t alignment, size_t bytes)
{
    if (alignment < sizeof(void *) || alignment & (alignment - 1)) return EINVAL;
    int e = errno;
    void *p = memalign(alignment, bytes);
    errno = e;
    if (!p) return ENOMEM;
    *p_out = p;
    return 0;
}

ORR_EXPORT size_t malloc_usable_size(void *p)
{
    static size_t (*_Atomic theirs)(void *);
    if (is_block(p)) return orr_shared_block_bytes(p);
    size_t (*fn)(void *) = orr_load_acquire(&theirs);
    if (!fn) {
        *(void **)&fn = dlsym(RTLD_NEXT, "malloc_usable_size");
        orr_store_release(&theirs, fn);
    }
    return fn ? fn(p) : 0;
}
