/* SPDX-License-Identifier: BSD-3-Clause */
/* convert.c: running the codelets that convert multiformat data.
 * Threads: see convert.h. Owns: nothing. Not here: when one is due (core/data/convert.c). */
#include "core/worker/convert.h"

#include <errno.h>

#include <starpu.h>

#include "core/base/clock.h"
#include "core/data/data.h"
#include "core/mem/node.h"
#include "core/task/perf.h"
#include "core/task/task.h"
#include "core/worker/driver.h"
#include "core/worker/worker.h"

/* As a task of the worker's: its models learn from it. */
static int run_on_worker(struct orr_worker *w, struct orr_task *t, bool counted)
{
    struct starpu_codelet *cl = t->pub->cl;
    unsigned nimpl;
    if (!orr_worker_can_run(w, t, &nimpl)) return -ENODEV;
    t->nimpl = (uint8_t)nimpl;
    t->worker = (int16_t)w->id;
    if (counted) cl->per_worker_stats[w->id]++;
    uint64_t start = orr_ticks();
    struct orr_kernel k = { .us = 0 };
    int r = w->device->ops->submit(w, t, &k);
    while (r == -EAGAIN && (r = w->device->ops->test(w, &k)) == -EAGAIN) sched_yield();
    if (r == 0) orr_perf_task_done(w, t, k.us > 0 ? orr_us_to_ticks(k.us) : orr_ticks() - start);
    return r;
}

/* In main memory any thread can do what a CPU does. */
static int run_here(struct orr_task *t)
{
    struct starpu_task *p = t->pub;
    if (!p->cl->cpu_funcs[0]) return -ENODEV;
    p->cl->cpu_funcs[0](STARPU_TASK_GET_INTERFACES(p), p->cl_arg);
    return 0;
}

int orr_convert_here(struct orr_data *h, unsigned node, struct starpu_codelet *cl, void *cl_arg)
{
    struct orr_task_thread *self = orr_task_self();
    struct orr_worker *w = orr_worker_self();
    struct orr_task *outer = self->current;
    int checked = orr_codelet_check(cl);
    if (checked < 0 || cl->nbuffers != 1) return -ENODEV;
    struct starpu_task *p = starpu_task_create();
    if (!p) return -ENOMEM;
    struct orr_task *t = orr_task_of(p);
    int r = -ENODEV;
    p->cl = cl;
    p->cl_arg = cl_arg;
    p->handles[0] = h;
    p->interfaces[0] = h->replicates[node].interface;
    self->current = t;
    if (w && w->node == node)
        r = run_on_worker(w, t, checked == 0);
    else if (orr_node_is_cpu(node))
        r = run_here(t);
    self->current = outer;
    p->cl_arg = NULL; /* the caller's */
    starpu_task_destroy(p);
    return r;
}
