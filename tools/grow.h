/* SPDX-License-Identifier: BSD-3-Clause */
/* grow.h: memory of tools that read files of any size: arrays that grow, copies of texts. Where there is none
 * the program ends and says so.
 * Threads: main. Owns: nothing. Not here: what all tools say of themselves (tool.h). */
#ifndef ORR_TOOLS_GROW_H
#define ORR_TOOLS_GROW_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void *tool_there(void *p)
{
    if (p) return p;
    fprintf(stderr, "%s: out of memory\n", program_invocation_short_name);
    exit(1);
}

/* Zeros. */
static inline void *tool_alloc(size_t count, size_t bytes)
{
    return tool_there(calloc(count ? count : 1, bytes));
}

/* Room for count + 1 at least. */
static inline void *tool_grow(void *p, size_t count, size_t *room, size_t bytes)
{
    if (count < *room) return p;
    *room = *room ? *room * 2 : 16;
    return tool_there(reallocarray(p, *room, bytes));
}
#define TOOL_PUSH(array, count, room)                                                                        \
    ((array) = tool_grow((array), (count), &(room), sizeof *(array)), &(array)[(count)++])

/* The first n characters, with an end behind them. */
static inline char *tool_copy(const char *s, size_t n)
{
    char *copy = tool_alloc(n + 1, 1);
    memcpy(copy, s, n);
    return copy;
}

#endif
