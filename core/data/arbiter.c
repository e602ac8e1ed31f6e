/* SPDX-License-Identifier: BSD-3-Clause */
/* arbiter.c: arbiters, by which StarPU programs ask that commuting tasks take several handles without
 * deadlock.
 * Threads: any. Owns: the objects. Not here: how it is done: every commuting task takes its turns
 * in address order once it is otherwise ready (core/task/submit.c, the late phase), with or without an
 * arbiter. */
#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/data/data.h"

struct starpu_arbiter {
    unsigned unused;
};

starpu_arbiter_t starpu_arbiter_create(void)
{
    starpu_arbiter_t a = orr_calloc(1, sizeof *a);
    if (!a) orr_error("starpu_arbiter_create: out of memory");
    return a;
}

void starpu_data_assign_arbiter(starpu_data_handle_t handle, starpu_arbiter_t arbiter)
{
    (void)arbiter;
    if (!orr_data_valid(handle)) orr_error("starpu_data_assign_arbiter: the handle is not a registered one");
}

void starpu_arbiter_destroy(starpu_arbiter_t arbiter)
{
    orr_free(arbiter);
}
