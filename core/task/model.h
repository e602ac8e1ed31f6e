/* SPDX-License-Identifier: BSD-3-Clause */
/* model.h: one task many times: what is kept of a task that was built, to make others like it.
 * Threads: one for each model. Owns: struct orr_task_model. Not here: starpu_task_dup (task.c), the tasks
 * that submit themselves again (regenerate: complete.c). */
#ifndef ORR_TASK_MODEL_H
#define ORR_TASK_MODEL_H

#include <starpu_task.h>

#include "core/base/export.h"
#include "core/base/sync.h"

/* Most tasks have a codelet, data, packed arguments, a name and a priority, and all else as it is by itself:
 * of those no more is kept, since a replay reads it from memory that is cold. */
struct orr_task_model {
    struct starpu_task *whole; /* of others: a task like it, never submitted; NULL: the rest is all */
    struct starpu_codelet *cl;
    const char *name, *file;
    void *cl_arg; /* the program's; NULL: args_bytes are packed behind the handles */
    double flops;
    int32_t priority, workerid; /* -1: any */
    uint32_t line, args_bytes;
    uint16_t handles; /* behind this struct */
    bool sorted;      /* accesses and order are valid: orr_task_submit with ORR_TF_SORTED */
    uint8_t order[3]; /* the data, by address */
    uint8_t group[3], mode[3];
};

/* Why a task that was built and not submitted cannot be made again from what its public half says; NULL: it
 * can. */
ORR_EXPORT const char *orr_task_why_once(const struct starpu_task *task);
/* A model of such a task; NULL: out of memory. */
ORR_EXPORT struct orr_task_model *orr_task_model(const struct starpu_task *task);
ORR_EXPORT void orr_task_model_free(struct orr_task_model *m);
/* A new task, the caller's to submit or to destroy; NULL: out of memory (said). *flags_out: to submit it
 * with, if nobody changed what it accesses. */
ORR_EXPORT struct starpu_task *orr_task_from(const struct orr_task_model *m, uint32_t *flags_out);

static inline void orr_task_model_prefetch(const struct orr_task_model *m)
{
    for (size_t i = 0; i < 3; i++) __builtin_prefetch((const char *)m + i * 64);
}

#endif
