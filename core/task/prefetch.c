/* SPDX-License-Identifier: BSD-3-Clause */
/* prefetch.c: asking for the inputs of a task on the memory node where it is going to run.
 * Threads: any; nothing blocks. Owns: the requests under way, each freed when done. Not here: fetching
 * (core/data/coherency.c), deciding where a task runs (sched/dm.c). */
#include "core/task/prefetch.h"

#include <starpu_scheduler.h>

#include "core/base/alloc.h"
#include "core/base/env.h"
#include "core/data/coherency.h"
#include "core/mem/node.h"
#include "core/perf/arch.h"
#include "core/task/task.h"

int starpu_get_prefetch_flag(void)
{
    return orr_env_long(ORR_SETTING(STARPU_PREFETCH), 1, 0, 1) != 0;
}

static void request_done(struct orr_fetch *f, int status)
{
    (void)status; /* the task will fetch what did not come */
    atomic_fetch_sub_explicit(&f->handle->replicates[f->node].promised, 1, memory_order_relaxed);
    orr_free(f);
}

/* A request that cannot be made costs time later, nothing else: failures are not reported. */
static void request(struct orr_data *h, unsigned node, int prio, bool idle)
{
    struct orr_fetch *f = orr_calloc(1, sizeof *f);
    if (!f) return;
    f->done = request_done;
    f->handle = h;
    f->node = (uint16_t)node;
    f->mode = STARPU_R;
    f->prefetch = f->awaited = true;
    f->idle = idle;
    f->prio = prio;
    orr_add_relaxed(&h->replicates[node].promised, 1); /* read by starpu_data_expected_transfer_time */
    if (orr_fetch_start(f) != 0) request_done(f, 0);   /* there already, or refused: it does not call it */
}

int orr_task_prefetch(struct starpu_task *p, unsigned node, int prio, bool idle)
{
    if (orr_node_count <= 1 || !p->cl || node >= orr_node_count) return 0;
    unsigned n = STARPU_TASK_GET_NBUFFERS(p);
    for (unsigned i = 0; i < n; i++) {
        int to = orr_task_datum_node(p, i, node);
        if (to < 0) continue;
        struct orr_data *h = STARPU_TASK_GET_HANDLE(p, i);
        int mode = STARPU_TASK_GET_MODE(p, i);
        if ((mode & STARPU_R) && !(mode & (STARPU_SCRATCH | STARPU_REDUX | STARPU_MPI_REDUX)) &&
            orr_data_valid(h) && to < (int)h->nnodes)
            request(h, orr_data_place(h, (unsigned)to), prio, idle);
    }
    p->prefetched = 1;
    return 0;
}

int starpu_prefetch_task_input_on_node_prio(struct starpu_task *task, unsigned node, int prio)
{
    return orr_task_prefetch(task, node, prio, false);
}

int starpu_prefetch_task_input_on_node(struct starpu_task *task, unsigned node)
{
    return orr_task_prefetch(task, node, task->priority, false);
}

int starpu_idle_prefetch_task_input_on_node_prio(struct starpu_task *task, unsigned node, int prio)
{
    return orr_task_prefetch(task, node, prio, true);
}

int starpu_idle_prefetch_task_input_on_node(struct starpu_task *task, unsigned node)
{
    return orr_task_prefetch(task, node, task->priority, true);
}

static unsigned node_of(unsigned worker)
{
    return worker < orr_perf_worker_count ? orr_perf_workers[worker].node : STARPU_MAXNODES;
}

int starpu_prefetch_task_input_for_prio(struct starpu_task *task, unsigned worker, int prio)
{
    return orr_task_prefetch(task, node_of(worker), prio, false);
}

int starpu_prefetch_task_input_for(struct starpu_task *task, unsigned worker)
{
    return orr_task_prefetch(task, node_of(worker), task->priority, false);
}

int starpu_idle_prefetch_task_input_for_prio(struct starpu_task *task, unsigned worker, int prio)
{
    return orr_task_prefetch(task, node_of(worker), prio, true);
}

int starpu_idle_prefetch_task_input_for(struct starpu_task *task, unsigned worker)
{
    return orr_task_prefetch(task, node_of(worker), task->priority, true);
}
