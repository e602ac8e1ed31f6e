/* SPDX-License-Identifier: BSD-3-Clause */
/* arguments.h: the argument list of an insertion, as far as ranks are concerned.
 * Threads: the calling one. Owns: nothing. Not here: what follows from it (decide.h, insert.h), the arguments
 * of the task itself (core/task/insert.h). Reading looks at nothing but the list: not at a handle, nor at
 * ranks. */
#ifndef ORR_MPI_ARGUMENTS_H
#define ORR_MPI_ARGUMENTS_H

#include <stdarg.h>
#include <starpu_task.h>

#include "core/base/alloc.h"
#include "mpi/place/place.h"

enum {
    ORR_PLACE_OF_DATA = ORR_PLACE_OPEN - 1,   /* xrank: it is where on_data is owned */
    ORR_PLACE_OF_WORKER = ORR_PLACE_OPEN - 2, /* xrank: it is that of on_worker */
    ORR_ARGUMENTS_INLINE = 16
};

struct orr_arguments {
    struct starpu_data_descr *data; /* inline_data or heap */
    int count, room;
    int xrank;  /* ORR_PLACE_..., ORR_RANK_PER_NODE, or what the program says */
    int policy; /* -1: the current one */
    int priority;
    const char *file;
    int line;
    struct orr_data *on_data;     /* with ORR_PLACE_OF_DATA */
    int on_worker;                /* with ORR_PLACE_OF_WORKER: number in the cluster */
    bool is_bound;                /* to a worker of its rank, by STARPU_EXECUTE_ON_WORKER */
    bool unordered;               /* STARPU_SEQUENTIAL_CONSISTENCY is 0 */
    const unsigned char *ordered; /* STARPU_HANDLES_SEQUENTIAL_CONSISTENCY, borrowed from the program */
    struct starpu_data_descr inline_data[ORR_ARGUMENTS_INLINE];
};

static inline void orr_arguments_init(struct orr_arguments *a)
{
    a->data = a->inline_data;
    a->count = 0;
    a->room = ORR_ARGUMENTS_INLINE;
    a->xrank = ORR_PLACE_OPEN;
    a->policy = -1;
    a->priority = 0;
    a->file = NULL;
    a->line = 0;
    a->is_bound = a->unordered = false;
    a->ordered = NULL;
}

static inline void orr_arguments_fini(struct orr_arguments *a)
{
    if (orr_unlikely(a->data != a->inline_data)) orr_free(a->data);
}

/* Reads a list up to its 0. 0, -ENOMEM or -EINVAL (said why). */
int orr_arguments_read(struct orr_arguments *a, struct starpu_codelet *cl, va_list *ap);

#endif
