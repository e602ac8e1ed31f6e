/* SPDX-License-Identifier: BSD-3-Clause */
/* toolbox.c: queues for programs' own policies (schedulers/starpu_scheduler_toolbox.h).
 * Threads: the caller keeps others out. Owns: nothing beyond the queue. Not here: the queues of components
 * (flow.c, taskq.c). */
#include <schedulers/starpu_scheduler_toolbox.h>

#include "core/base/alloc.h"
#include "core/base/log.h"

struct starpu_st_fifo_taskq {
    struct starpu_task_list list;
    int ntasks, nprocessed;
    double exp_start, exp_len, exp_end, pipeline_len;
};

starpu_st_fifo_taskq_t starpu_st_fifo_taskq_create(void)
{
    struct starpu_st_fifo_taskq *q = orr_calloc(1, sizeof *q);
    if (!q) {
        orr_error("starpu_st_fifo_taskq_create: out of memory");
        return NULL;
    }
    starpu_task_list_init(&q->list);
    q->exp_start = q->exp_end = starpu_timing_now();
    return q;
}

void starpu_st_fifo_taskq_destroy(starpu_st_fifo_taskq_t fifo)
{
    if (fifo && !starpu_task_list_empty(&fifo->list))
        orr_error("starpu_st_fifo_taskq_destroy: there are tasks in the queue; they are lost");
    orr_free(fifo);
}

int starpu_st_fifo_taskq_empty(starpu_st_fifo_taskq_t fifo)
{
    return starpu_task_list_empty(&fifo->list);
}

/* ---- numbers ---- */

unsigned starpu_st_fifo_ntasks_get(starpu_st_fifo_taskq_t fifo)
{
    return (unsigned)fifo->ntasks;
}
void starpu_st_fifo_ntasks_inc(starpu_st_fifo_taskq_t fifo, int n)
{
    fifo->ntasks += n;
}
unsigned starpu_st_fifo_nprocessed_get(starpu_st_fifo_taskq_t fifo)
{
    return (unsigned)fifo->nprocessed;
}
void starpu_st_fifo_nprocessed_inc(starpu_st_fifo_taskq_t fifo, int n)
{
    fifo->nprocessed += n;
}

#define NUMBER(name)                                                                                         \
    double starpu_st_fifo_##name##_get(starpu_st_fifo_taskq_t fifo)                                          \
    {                                                                                                        \
        return fifo->name;                                                                                   \
    }                                                                                                        \
    void starpu_st_fifo_##name##_set(starpu_st_fifo_taskq_t fifo, double name)                               \
    {                                                                                                        \
        fifo->name = name;                                                                                   \
    }
NUMBER(exp_start)
NUMBER(exp_len)
NUMBER(exp_end)
NUMBER(pipeline_len)

void starpu_st_fifo_exp_len_inc(starpu_st_fifo_taskq_t fifo, double exp_len)
{
    fifo->exp_len += exp_len;
}
void starpu_st_fifo_pipeline_len_inc(starpu_st_fifo_taskq_t fifo, double pipeline_len)
{
    fifo->pipeline_len += pipeline_len;
}

/* ---- tasks ---- */

int starpu_st_fifo_taskq_push_back_task(starpu_st_fifo_taskq_t fifo_queue, struct starpu_task *task)
{
    starpu_task_list_push_back(&fifo_queue->list, task);
    fifo_queue->ntasks++;
    return 0;
}

int starpu_st_fifo_taskq_push_task(starpu_st_fifo_taskq_t fifo, struct starpu_task *task)
{
    return starpu_st_fifo_taskq_push_back_task(fifo, task);
}

int starpu_st_fifo_taskq_push_sorted_task(starpu_st_fifo_taskq_t fifo_queue, struct starpu_task *task)
{
    struct starpu_task_list *list = &fifo_queue->list;
    struct starpu_task *before = starpu_task_list_back(list); /* most come in order */
    while (before && before->priority < task->priority) before = before->prev;
    if (!before) {
        starpu_task_list_push_front(list, task);
    } else if (!before->next) {
        starpu_task_list_push_back(list, task);
    } else {
        task->prev = before;
        task->next = before->next;
        before->next->prev = task;
        before->next = task;
    }
    fifo_queue->ntasks++;
    return 0;
}

static struct starpu_task *take(starpu_st_fifo_taskq_t fifo, struct starpu_task *task)
{
    if (!task) return NULL;
    starpu_task_list_erase(&fifo->list, task);
    fifo->ntasks--;
    fifo->nprocessed++;
    return task;
}

struct starpu_task *starpu_st_fifo_taskq_pop_local_task(starpu_st_fifo_taskq_t fifo)
{
    return take(fifo, starpu_task_list_front(&fifo->list));
}

/* Whether the worker can execute the task; then with its first implementation. */
static bool suits(int workerid, struct starpu_task *task)
{
    unsigned nimpl;
    if (!starpu_worker_can_execute_task_first_impl((unsigned)workerid, task, &nimpl)) return false;
    starpu_task_set_implementation(task, nimpl);
    return true;
}

struct starpu_task *starpu_st_fifo_taskq_pop_task(starpu_st_fifo_taskq_t fifo, int workerid)
{
    struct starpu_task *task = starpu_task_list_front(&fifo->list);
    while (task && !suits(workerid, task)) task = task->next;
    return take(fifo, task);
}

int starpu_st_fifo_taskq_pop_this_task(starpu_st_fifo_taskq_t fifo_queue, int workerid,
                                       struct starpu_task *task)
{
    if (!suits(workerid, task)) return 0;
    take(fifo_queue, task);
    return 1;
}

/* ---- questions ---- */

int starpu_st_normalize_prio(int priority, int num_priorities, unsigned sched_ctx_id)
{
    int least = starpu_sched_ctx_get_min_priority(sched_ctx_id),
        most = starpu_sched_ctx_get_max_priority(sched_ctx_id);
    if (num_priorities <= 1 || priority <= least || most <= least) return 0;
    if (priority >= most) return num_priorities - 1;
    double part = ((double)priority - least) / ((double)most - least);
    return (int)(part * (num_priorities - 1));
}

int starpu_st_non_ready_buffers_count(struct starpu_task *task, unsigned worker)
{
    int missing = 0;
    unsigned node = starpu_worker_get_memory_node(worker), n = task->cl ? STARPU_TASK_GET_NBUFFERS(task) : 0;
    for (unsigned i = 0; i < n; i++) {
        int allocated = 0, valid = 0, requested = 0;
        if (!(STARPU_TASK_GET_MODE(task, i) & STARPU_R)) continue;
        starpu_data_query_status(STARPU_TASK_GET_HANDLE(task, i), (int)node, &allocated, &valid, &requested);
        missing += !valid;
    }
    return missing;
}
