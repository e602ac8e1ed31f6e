/* SPDX-License-Identifier: BSD-3-Clause */
/* parallel_code.c: lends the cores of a context to the program's own parallel code: its workers stand still
 * meanwhile.
 * Threads: any outside of tasks; the call blocks. Owns: nothing lasting. Not here: contexts
 * (sched_ctx.c). */
#include <stdlib.h>

#include <starpu.h>

#include "core/base/log.h"
#include "core/base/thread.h"
#include "core/task/task.h"
#include "core/worker/worker.h"

struct capture {
    _Atomic uint32_t arrived; /* workers that stand still */
    struct orr_event over;
};

static void stand_still(void *buffers[], void *arg)
{
    struct capture *c = arg;
    (void)buffers;
    orr_add_seq(&c->arrived, 1);
    while (!orr_event_is_set(&c->over))
        orr_futex_wait(&c->over.word, orr_load_acquire(&c->over.word), 1000000);
}

static struct starpu_codelet still_cl = {
#define WITH_FUNCTIONS(PREFIX, NAME, name) .name##_funcs = { stand_still },
#include "core/base/kind.def"
    .name = "parallel code",
};

static struct starpu_task *capture_worker(struct capture *c, unsigned worker)
{
    struct starpu_task *task = starpu_task_create();
    if (!task) return NULL;
    task->cl = &still_cl;
    task->cl_arg = c;
    task->execute_on_a_specific_worker = 1;
    task->workerid = worker;
    task->detach = 0;
    if (orr_task_submit(task, 0) == 0) return task;
    starpu_task_destroy(task);
    return NULL;
}

/* Runs func on the calling thread, bound to the core of a worker for that long. */
static void *run_bound(void *(*func)(void *), void *param, int worker)
{
    cpu_set_t before;
    bool known = pthread_getaffinity_np(pthread_self(), sizeof before, &before) == 0;
    starpu_bind_thread_on_worker((unsigned)worker);
    void *result = func(param);
    if (known) pthread_setaffinity_np(pthread_self(), sizeof before, &before);
    return result;
}

void *starpu_sched_ctx_exec_parallel_code(void *(*func)(void *), void *param, unsigned sched_ctx_id)
{
    struct starpu_task *tasks[STARPU_NMAXWORKERS];
    struct capture c = { 0 };
    int *workers;
    if (orr_task_inside()) {
        orr_fatal("starpu_sched_ctx_exec_parallel_code in task %s: a task must not block",
                  orr_task_name(orr_task_current()));
        return NULL;
    }
    unsigned count = starpu_sched_ctx_get_workers_list(sched_ctx_id, &workers), captured = 0;
    if (count == 0) return func(param);
    for (; captured < count; captured++)
        if (!(tasks[captured] = capture_worker(&c, (unsigned)workers[captured]))) break;
    while (orr_load_seq(&c.arrived) < captured) starpu_usleep(50);
    void *result = run_bound(func, param, workers[0]);
    orr_event_set(&c.over);
    for (unsigned i = 0; i < captured; i++)
        if (starpu_task_wait(tasks[i]) != 0)
            orr_error("starpu_sched_ctx_exec_parallel_code: worker %d did not come back", workers[i]);
    free(workers);
    return result;
}
