/* SPDX-License-Identifier: BSD-3-Clause */
/* kernel.c: calling a codelet's function for OpenCL, and how what it put into the queue goes.
 * Threads: see core/worker/driver.h; asking an event any. Owns: nothing. Not here: what functions call
 * (starpu_opencl_*, program.c, calls.c).
 *
 * A function puts kernels into its device's queue. With STARPU_OPENCL_ASYNC it may return then, and a marker
 * behind them says when they are over; without, they are over when it has returned, so the queue is
 * emptied here. */
#include "drivers/opencl/kernel.h"

#include <errno.h>
#include <sched.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/task/task.h"
#include "core/worker/driver.h"
#include "core/worker/worker.h"
#include "drivers/opencl/opencl.h"

enum { QUESTIONS_MAX = 3 }; /* that fail in a row, until the device counts as silent */

static int is_silent(struct orr_opencl_device *d, const char *why)
{
    if (!orr_exchange_acq_rel(&d->silent, true))
        orr_warn("%s %s: what it does is given up, and its memory is not touched again", d->name, why);
    return -EIO;
}

/* Whether it has taken longer than its device may. */
static bool is_late(struct orr_opencl_device *d, uint64_t *since)
{
    uint64_t now = orr_clock_ns(), answered = orr_load_relaxed(&d->answered_ns);
    if (*since == 0) *since = now;
    uint64_t from = *since > answered ? *since : answered;
    return now > from && now - from > d->patience_ns;
}

int orr_opencl_ask(uint64_t words[4])
{
    struct orr_opencl_device *d = (struct orr_opencl_device *)(uintptr_t)words[OPENCL_DEVICE];
    cl_event event = (cl_event)(uintptr_t)words[OPENCL_EVENT];
    cl_int status;
    if (orr_load_relaxed(&d->silent)) return -EIO;
    if (orr_cl.GetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL) !=
        CL_SUCCESS)
        return ++words[OPENCL_MISSED] < QUESTIONS_MAX ? -EAGAIN : is_silent(d, "cannot be asked any more");
    words[OPENCL_MISSED] = 0;
    if (status > CL_COMPLETE) {
        if (d->patience_ns == 0 || !is_late(d, &words[OPENCL_SINCE])) return -EAGAIN;
        return is_silent(d, "has not answered for as long as ORRERY_DEVICE_PATIENCE says");
    }
    orr_cl.ReleaseEvent(event);
    words[OPENCL_EVENT] = 0;
    if (d->patience_ns) orr_store_relaxed(&d->answered_ns, orr_clock_ns());
    if (status == CL_COMPLETE) return 0;
    orr_warn("%s: a command ended with %s (%d)", d->name, orr_opencl_error(status), (int)status);
    return -EIO;
}

int orr_opencl_wait(struct orr_opencl_device *d, cl_event event)
{
    uint64_t words[4] = { [OPENCL_EVENT] = (uintptr_t)event, [OPENCL_DEVICE] = (uintptr_t)d };
    int r;
    orr_cl.Flush(d->in);
    orr_cl.Flush(d->out);
    while ((r = orr_opencl_ask(words)) == -EAGAIN) sched_yield();
    return r;
}

/* Empties the queue. What went wrong then is what has begun: it is for test to tell. */
static int finish(struct orr_opencl_device *d)
{
    cl_int r = orr_cl.Finish(d->kernels);
    if (r == CL_SUCCESS) return 0;
    orr_warn("%s: clFinish says %s (%d)", d->name, orr_opencl_error(r), (int)r);
    return -EAGAIN; /* without an event */
}

int orr_opencl_submit(struct orr_worker *w, struct orr_task *t, struct orr_kernel *k)
{
    struct orr_opencl_device *d = w->device->state;
    struct starpu_task *p = t->pub;
    cl_event event;
    if (orr_unlikely(orr_load_relaxed(&d->silent))) return -EIO;
    orr_worker_function(w, p->cl, t->nimpl)(STARPU_TASK_GET_INTERFACES(p), p->cl_arg);
    if (!(p->cl->opencl_flags[t->nimpl] & STARPU_OPENCL_ASYNC) ||
        orr_cl.EnqueueMarkerWithWaitList(d->kernels, 0, NULL, &event) != CL_SUCCESS)
        return finish(d);
    orr_cl.Flush(d->kernels); /* what it does not start now starts when it is asked */
    k->words[OPENCL_EVENT] = (uintptr_t)event;
    k->words[OPENCL_DEVICE] = (uintptr_t)d;
    return -EAGAIN;
}

int orr_opencl_test(struct orr_worker *w, struct orr_kernel *k)
{
    (void)w;
    return k->words[OPENCL_EVENT] ? orr_opencl_ask(k->words) : -EIO;
}
