/* SPDX-License-Identifier: BSD-3-Clause */
/* repeat.c: see repeat.h.
 * Threads: see repeat.h. Owns: nothing. Not here: see repeat.h. */
#include "mpi/place/repeat.h"

#include <errno.h>
#include <starpu.h>

#include "core/task/task.h"
#include "mpi/value/cache.h"
#include "mpi/value/exchange.h"

int orr_mpi_submit(struct orr_comm *c, struct starpu_task *task, uint32_t flags)
{
    void (*hook)(struct starpu_task *) = orr_load_acquire(&c->cluster->place->pre_submit_hook);
    if (orr_unlikely(hook != NULL)) {
        hook(task);
        flags = 0;
    }
    int r = orr_task_submit(task, flags);
    if (orr_unlikely(r)) {
        task->destroy = 0;
        starpu_task_destroy(task);
    }
    return r;
}

/* An access by a task here to data of its own, of which nothing is pending: what orr_exchange_before and
 * _after come to. */
static inline bool is_quiet(const struct orr_data *h)
{
    return !(h->mpi_flags & (ORR_MPI_CONCERNED & ~(int)ORR_MPI_SENT));
}

static int exchange_own(const struct starpu_data_descr *data, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!(data[i].mode & STARPU_W)) continue;
        orr_cache_written(data[i].handle);
        data[i].handle->mpi_flags |= ORR_MPI_WRITTEN;
    }
    return 0;
}

static int exchange(struct orr_comm *c, const struct orr_recorded *p, const struct starpu_data_descr *data,
                    int (*one)(struct orr_comm *, struct orr_data *, int, int, int))
{
    int status = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        int r = one(c, data[i].handle, data[i].mode, p->xrank, p->priority);
        if (r) status = r;
    }
    return status;
}

static int submit(struct orr_comm *c, const struct orr_recorded *p, orr_replay_patch_fn patch, void *arg)
{
    uint32_t flags;
    struct starpu_task *task = orr_task_from(p->model, &flags);
    if (!task) return -ENOMEM;
    if (patch) patch(task, p->position, arg);
    return orr_mpi_submit(c, task, flags);
}

int orr_repeat(struct orr_comm *c, const struct orr_recorded *p, const struct starpu_data_descr *data,
               orr_replay_patch_fn patch, void *arg)
{
    bool own = p->own;
    for (uint32_t i = 0; i < p->count && own; i++) own = is_quiet(data[i].handle);
    int r = own ? 0 : exchange(c, p, data, orr_exchange_before);
    if (!r && p->model) r = submit(c, p, patch, arg);
    if (r) return r;
    return own ? exchange_own(data, p->count) : exchange(c, p, data, orr_exchange_after);
}

/* ---- where data move ---- */

/* Its task; NULL: it cannot be made (said). */
static struct starpu_task *make(struct orr_comm *c, const struct orr_recorded *p, uint64_t position,
                                orr_replay_patch_fn patch, void *arg, bool *sorted_out)
{
    uint32_t flags;
    struct starpu_task *task = orr_task_from(p->model, &flags);
    if (!task) return NULL;
    if (patch) patch(task, p->position, arg);
    if (orr_placed_bind_at(c, task, position)) {
        task->destroy = 0;
        starpu_task_destroy(task);
        return NULL;
    }
    void (*hook)(struct starpu_task *) = orr_load_acquire(&c->cluster->place->pre_submit_hook);
    if (hook) hook(task);
    *sorted_out = !hook && flags & ORR_TF_SORTED;
    return task;
}

int orr_repeat_moving(struct orr_comm *c, const struct orr_recorded *p, const struct orr_moving *m,
                      uint64_t position, orr_replay_patch_fn patch, void *arg)
{
    bool sorted = false;
    struct starpu_task *task = p->model ? make(c, p, position, patch, arg, &sorted) : NULL;
    int r = orr_moving_do(c, m, task, sorted);
    return p->model && !task ? -EINVAL : r;
}
