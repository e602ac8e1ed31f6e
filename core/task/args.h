/* SPDX-License-Identifier: BSD-3-Clause */
/* args.h: packed codelet arguments: a count, then for each value its size and its bytes, unaligned.
 * Threads: one per buffer. Owns: nothing; see each function. Not here: the kinds of arguments (insert.c). */
#ifndef ORR_TASK_ARGS_H
#define ORR_TASK_ARGS_H

#include <stdbool.h>
#include <stddef.h>

/* A buffer that grows while values are packed. It starts as a block of ORR_SLAB_ARGS and moves to malloc when
 * it is full. */
struct orr_args {
    char *buffer; /* NULL: nothing packed */
    size_t used, room;
    int count;
    bool in_slab;
};

bool orr_args_add(struct orr_args *a, const void *value,
                  size_t bytes);          /* false: out of memory, nothing added */
void orr_args_finish(struct orr_args *a); /* writes the count */
void orr_args_drop(struct orr_args *a);   /* frees the buffer */

#endif
