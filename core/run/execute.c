/* SPDX-License-Identifier: BSD-3-Clause */
/* execute.c: runs a function of the program once on each worker, as tasks bound to workers.
 * Threads: any outside of tasks; the calls block. Owns: nothing lasting. Not here: submission (core/task). */
#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/thread.h"
#include "core/task/task.h"
#include "core/worker/worker.h"

struct call {
    void (*func)(void *);
    void *arg;
};

static void run_call(void *buffers[], void *arg)
{
    struct call *c = arg;
    (void)buffers;
    c->func(c->arg);
}

static struct starpu_codelet call_cl = {
#define WITH_FUNCTIONS(PREFIX, NAME, name) .name##_funcs = { run_call },
#include "core/base/kind.def"
    .name = "execute_on_worker",
};

static struct starpu_task *submit_call(struct call *c, unsigned worker, const char *name)
{
    struct starpu_task *task = starpu_task_create();
    if (!task) return NULL;
    task->cl = &call_cl;
    task->cl_arg = c;
    task->name = name;
    task->execute_on_a_specific_worker = 1;
    task->workerid = worker;
    task->detach = 0;
    if (orr_task_submit(task, 0) == 0) return task;
    starpu_task_destroy(task);
    return NULL;
}

static void execute(struct call *c, unsigned count, const unsigned *workers, const char *name)
{
    if (orr_task_inside()) {
        orr_fatal("starpu_execute_on_each_worker in task %s: a task must not block",
                  orr_task_name(orr_task_current()));
        return;
    }
    if (!c->func) {
        orr_fatal("starpu_execute_on_each_worker: the function is NULL");
        return;
    }
    struct starpu_task **tasks = orr_calloc(count ? count : 1, sizeof *tasks);
    bool failed = !tasks;
    for (unsigned i = 0; !failed && i < count; i++) failed = !(tasks[i] = submit_call(c, workers[i], name));
    for (unsigned i = 0; tasks && i < count && tasks[i]; i++)
        if (starpu_task_wait(tasks[i]) != 0) failed = true;
    orr_free(tasks);
    if (failed)
        orr_fatal("starpu_execute_on_each_worker: %s could not be run on all workers",
                  name ? name : "the function");
}

void starpu_execute_on_each_worker_ex(void (*func)(void *), void *arg, uint32_t where, const char *name)
{
    unsigned workers[STARPU_NMAXWORKERS], count = 0;
    struct call c = { func, arg };
    for (unsigned i = 0; i < orr_worker_count; i++)
        if (where & orr_workers[i].where) workers[count++] = i;
    execute(&c, count, workers, name);
}

void starpu_execute_on_each_worker(void (*func)(void *), void *arg, uint32_t where)
{
    starpu_execute_on_each_worker_ex(func, arg, where, NULL);
}

void starpu_execute_on_specific_workers(void (*func)(void *), void *arg, unsigned num_workers,
                                        unsigned *workers, const char *name)
{
    struct call c = { func, arg };
    execute(&c, num_workers, workers, name);
}
