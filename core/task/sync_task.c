/* SPDX-License-Identifier: BSD-3-Clause */
/* sync_task.c: tasks that compute nothing and only synchronise: on tags, or on a datum.
 * Threads: any. Owns: their codelet. Not here: tags (tag.c), acquiring data without a task
 * (core/data/acquire.c). */
#include <starpu.h>

#include "core/base/log.h"
#include "core/task/task.h"

void starpu_create_sync_task(starpu_tag_t sync_tag, unsigned ndeps, starpu_tag_t *deps,
                             void (*callback)(void *), void *callback_arg)
{
    struct starpu_task *task = starpu_task_create();
    if (!task) {
        orr_fatal("starpu_create_sync_task: out of memory");
        return;
    }
    starpu_tag_declare_deps_array(sync_tag, ndeps, deps);
    task->use_tag = 1;
    task->tag_id = sync_tag;
    task->callback_func = callback;
    task->callback_arg = callback_arg;
    task->name = "sync task";
    int r = orr_task_submit(task, 0);
    if (r == 0) return;
    starpu_task_destroy(task);
    orr_fatal("starpu_create_sync_task: the task of tag %llu could not be submitted (%d)",
              (unsigned long long)sync_tag, r);
}

void starpu_create_callback_task(void (*callback)(void *), void *callback_arg)
{
    struct starpu_task *task = starpu_task_create();
    if (!task) {
        orr_fatal("starpu_create_callback_task: out of memory");
        return;
    }
    task->callback_func = callback;
    task->callback_arg = callback_arg;
    task->name = "callback task";
    int r = orr_task_submit(task, 0);
    if (r == 0) return;
    starpu_task_destroy(task);
    orr_fatal("starpu_create_callback_task: the task could not be submitted (%d)", r);
}

static struct starpu_codelet sync_data_cl = { .where = STARPU_NOWHERE,
                                              .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                              .name = "sync on data" };

struct starpu_task *starpu_task_create_sync(starpu_data_handle_t handle, enum starpu_data_access_mode mode)
{
    struct starpu_task *task = starpu_task_create();
    if (!task) return NULL;
    task->cl = &sync_data_cl;
    task->nbuffers = 1;
    STARPU_TASK_SET_HANDLE(task, handle, 0);
    task->modes[0] = mode;
    return task;
}
