/* SPDX-License-Identifier: BSD-3-Clause */
/* kernel.c: calling a codelet's function for OpenCL, and how what it put into the queue goes.
 * Threads: see core/worker/driver.h; asking an event any. Owns: nothing. Not here: what functions call
 * (starpu_opencl_*, program.c, calls.c).
 *
 * A function puts kernels into its device's queue. They are over when the queue has come to a mark behind
 * them (marks.c), so it makes no difference whether the function says STARPU_OPENCL_ASYNC: one that does not
 * has waited itself, and one that forgot both is right nevertheless. */
#include "drivers/opencl/kernel.h"

#include <errno.h>
#include <sched.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/task/task.h"
#include "core/worker/driver.h"
#include "core/worker/worker.h"
#include "drivers/opencl/opencl.h"

enum { KERNEL_NUMBER };     /* of an orr_kernel's words */
enum { QUESTIONS_MAX = 3 }; /* that fail in a row, until the device counts as silent */

int orr_opencl_is_silent(struct orr_opencl_device *d, const char *why)
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

int orr_opencl_look(uint64_t words[4])
{
    struct orr_opencl_device *d = (struct orr_opencl_device *)(uintptr_t)words[OPENCL_DEVICE];
    cl_event event = (cl_event)(uintptr_t)words[OPENCL_EVENT];
    cl_int status;
    if (orr_load_relaxed(&d->silent)) return -EIO;
    if (orr_cl.GetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL) !=
        CL_SUCCESS)
        return ++words[OPENCL_MISSED] < QUESTIONS_MAX ? -EAGAIN
                                                      : orr_opencl_is_silent(d, "cannot be asked any more");
    words[OPENCL_MISSED] = 0;
    if (status > CL_COMPLETE) {
        if (d->patience_ns == 0 || !is_late(d, &words[OPENCL_SINCE])) return -EAGAIN;
        return orr_opencl_is_silent(d, "has not answered for as long as ORRERY_DEVICE_PATIENCE says");
    }
    if (d->patience_ns) orr_store_relaxed(&d->answered_ns, orr_clock_ns());
    if (status == CL_COMPLETE) return 0;
    orr_warn("%s: a command ended with %s (%d)", d->name, orr_opencl_error(status), (int)status);
    return -EIO;
}

int orr_opencl_ask(uint64_t words[4])
{
    struct orr_opencl_device *d = (struct orr_opencl_device *)(uintptr_t)words[OPENCL_DEVICE];
    int r = orr_opencl_look(words);
    if (r == -EAGAIN || orr_load_relaxed(&d->silent)) return r;
    orr_cl.ReleaseEvent((cl_event)(uintptr_t)words[OPENCL_EVENT]);
    words[OPENCL_EVENT] = 0;
    return r;
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

int orr_opencl_submit(struct orr_worker *w, struct orr_task *t, struct orr_kernel *k)
{
    struct orr_opencl_device *d = w->device->state;
    struct starpu_task *p = t->pub;
    cl_event before = NULL;
    if (orr_unlikely(orr_load_relaxed(&d->silent))) return -EIO;
    if (orr_unlikely(k->timed) &&
        orr_cl.EnqueueMarkerWithWaitList(d->kernels, 0, NULL, &before) != CL_SUCCESS)
        before = NULL; /* then the worker's clock says */
    orr_worker_function(w, p->cl, t->nimpl)(STARPU_TASK_GET_INTERFACES(p), p->cl_arg);
    k->words[KERNEL_NUMBER] = orr_opencl_mark(d, before);
    return -EAGAIN;
}

int orr_opencl_test(struct orr_worker *w, struct orr_kernel *k)
{
    return orr_opencl_mark_test(w->device->state, k->words[KERNEL_NUMBER], &k->us);
}

struct orr_event *orr_opencl_alarm(struct orr_worker *w, struct orr_kernel *k)
{
    return orr_opencl_mark_bell(w->device->state, k->words[KERNEL_NUMBER]);
}
