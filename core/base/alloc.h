/* SPDX-License-Identifier: BSD-3-Clause */
/* alloc.h: the only allocator of the library. Every function but one can return NULL, and every caller copes.
 * What it returns is malloc's: the program may free() what the interface hands to it, and we what the program
 * made. Threads: any. Owns: the failure-injection countdown used by tests. Not here: recycled blocks
 * (slab.h). */
#ifndef ORR_BASE_ALLOC_H
#define ORR_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/export.h"

ORR_EXPORT void *orr_malloc(size_t bytes);
ORR_EXPORT void *orr_calloc(size_t count,
                            size_t bytes); /* zeroed; NULL as well when count * bytes overflows */
ORR_EXPORT void *orr_realloc(void *p, size_t bytes);
ORR_EXPORT void *orr_malloc_aligned(size_t alignment, size_t bytes); /* freed with orr_free */
/* Never NULL: waits until there is memory. For a thread's record alone: the C library, for a thread-local
 * variable of that size, would end the program. */
void *orr_malloc_wait(size_t alignment, size_t bytes);
char *orr_strdup(const char *s); /* NULL for NULL */
char *orr_printf_alloc(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
ORR_EXPORT void orr_free(void *p);

/* For tests: the (skip+1)-th allocation from now on fails, and every later one too when for_ever. skip < 0:
 * none fails. Returns whether one failed as the call before had asked for. */
bool orr_alloc_fail_after(long skip, bool for_ever);

/* For allocators on top of this one: whether a test injects failures, and if so whether this allocation is to
 * fail. */
bool orr_alloc_injected(bool *fail_out);

#endif
