/* SPDX-License-Identifier: BSD-3-Clause */
/* alloc.c: malloc and its relatives behind one gate, with failures on demand for tests.
 * Threads: any. Owns: the countdown to the next injected failure. Not here: recycled blocks (slab.c). */
#include "core/base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/sync.h"

static _Atomic bool injecting; /* [any] one predictable load when no test is at work */
static _Atomic bool fail_for_ever;
static _Atomic long countdown;

bool orr_alloc_fail_after(long skip, bool for_ever)
{
    bool failed = orr_load_relaxed(&injecting) && orr_load_relaxed(&countdown) < 0;
    orr_store_relaxed(&countdown, skip);
    orr_store_relaxed(&fail_for_ever, for_ever);
    orr_store_release(&injecting, skip >= 0);
    return failed;
}

static bool must_fail(void)
{
    if (orr_likely(!orr_load_relaxed(&injecting))) return false;
    long left = atomic_fetch_sub_explicit(&countdown, 1, memory_order_relaxed);
    return left == 0 || (left < 0 && orr_load_relaxed(&fail_for_ever));
}

bool orr_alloc_injected(bool *fail_out)
{
    bool injected = orr_load_relaxed(&injecting);
    *fail_out = injected && must_fail();
    return injected;
}

void *orr_malloc(size_t bytes)
{
    return must_fail() ? NULL : malloc(bytes);
}

void *orr_calloc(size_t count, size_t bytes)
{
    return must_fail() ? NULL : calloc(count, bytes);
}

void *orr_realloc(void *p, size_t bytes)
{
    return must_fail() ? NULL : realloc(p, bytes);
}

void *orr_malloc_aligned(size_t alignment, size_t bytes)
{
    void *p;
    if (must_fail() || posix_memalign(&p, alignment, bytes) != 0) return NULL;
    return p;
}

void *orr_malloc_wait(size_t alignment, size_t bytes)
{
    void *p;
    while (posix_memalign(&p, alignment, bytes) != 0)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    return p;
}

char *orr_strdup(const char *s)
{
    if (!s) return NULL;
    size_t n = strlen(s) + 1;
    char *copy = orr_malloc(n);
    if (copy) memcpy(copy, s, n);
    return copy;
}

char *orr_printf_alloc(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *s = n < 0 ? NULL : orr_malloc((size_t)n + 1);
    if (!s) return NULL;
    va_start(ap, fmt);
    vsnprintf(s, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return s;
}

void orr_free(void *p)
{
    free(p);
}
