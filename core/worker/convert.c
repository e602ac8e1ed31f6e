/* SPDX-License-Identifier: BSD-3-Clause */
/* convert.c: running the codelets that convert multiformat data.
 * Threads: see convert.h. Owns: requests under way. Not here: when one is due (core/data/convert.c). */
#include "core/worker/convert.h"

#include <errno.h>

#include <starpu.h>

#include "core/base/alloc.h"
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

/* ---- for who is no worker of the node ---- */

static void look(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
}

/* Whoever reads data on a device finds them in its layout. */
static struct starpu_codelet look_cl = {
#define WITH_FUNCTIONS(PREFIX, NAME, name) .name##_funcs = { look },
#include "core/base/kind.def"
    .nbuffers = 1,
    .modes = { STARPU_R },
    .name = "convert",
};

struct request {
    void (*done)(void *arg, int status);
    void *arg;
};

static void looked(struct orr_task *t, void *arg)
{
    struct request q = *(struct request *)arg;
    int status = t->flags & ORR_TF_FAILED ? -EIO : 0;
    orr_free(arg);
    q.done(q.arg, status);
}

static int worker_of(unsigned node)
{
    for (unsigned w = 0; w < orr_worker_count; w++)
        if (orr_workers[w].node == node) return (int)w;
    return -1;
}

int orr_convert_there(struct orr_data *h, unsigned node, void (*done)(void *arg, int status), void *arg)
{
    int worker = worker_of(node), r = -ENOMEM;
    if (worker < 0) return -ENODEV;
    struct request *q = orr_malloc(sizeof *q);
    struct starpu_task *p = q ? starpu_task_create() : NULL;
    struct orr_task_rare *rare = p ? orr_task_rare_get(orr_task_of(p)) : NULL;
    if (rare) {
        *q = (struct request){ done, arg };
        p->cl = &look_cl;
        p->handles[0] = h;
        p->execute_on_a_specific_worker = 1;
        p->workerid = (unsigned)worker;
        p->type = STARPU_TASK_TYPE_INTERNAL;
        rare->internal_done = looked;
        rare->internal_arg = q;
        r = orr_task_submit(p, ORR_TF_INTERNAL | ORR_TF_NO_QUEUE);
    }
    if (r == 0) return 0;
    starpu_task_destroy(p);
    orr_free(q);
    return r;
}
