/* SPDX-License-Identifier: BSD-3-Clause */
/* kernel.c: running tasks on a CUDA device, and the driver's table.
 * Threads: the worker's. Owns: nothing. Not here: which devices there are (device.c), the end of what a queue
 * was given (mark.c).
 *
 * A function is called on the worker's thread, in the device's context, and launches what it likes in the
 * worker's stream. The task is over when the stream has come to the mark behind that. So it makes no
 * difference here whether the function said STARPU_CUDA_ASYNC: one that does not has waited itself, and its
 * mark is reached at once; one that forgot both is right nevertheless. A function may leave another context
 * behind (cudaSetDevice): the mark is set in the device's, and the next one begins there. */
#include <errno.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/task/task.h"
#include "core/worker/driver.h"
#include "core/worker/worker.h"
#include "drivers/cuda/interface.h"
#include "drivers/cuda/kernel.h"

enum { MARK, TASK, SINCE }; /* of an orr_kernel's words; in ticks, 0: its function has waited for it */
/* An H200 tells of a kernel's end 5 us after its launch at the soonest, and to ask takes a third of a launch.
 */
enum { YOUNG_US = 3 };

/* The worker's own context, whatever functions made of it. */
static int come_home(struct cuda_device *d)
{
    cuda_context now = NULL;
    int r = orr_cuda.context_get(&now);
    if (orr_likely(r == CUDA_OK && now == d->context)) return 0;
    r = orr_cuda.context_set(d->context);
    return r == CUDA_OK ? 0 : orr_cuda_failed(d, "cuCtxSetCurrent", r);
}

int orr_cuda_submit(struct orr_worker *w, struct orr_task *t, struct orr_kernel *k)
{
    struct cuda_device *d = w->device->state;
    struct starpu_task *p = t->pub;
    if (orr_load_relaxed(&d->lost) || come_home(d)) return -EIO;
    struct cuda_mark *m = orr_cuda_mark_get(d, orr_cuda_queue_of(w));
    if (!m) return -EIO;
    orr_cuda_reports_begin(w);
    orr_worker_function(w, p->cl, t->nimpl)(STARPU_TASK_GET_INTERFACES(p), p->cl_arg);
    orr_cuda_mark_set(m, orr_cuda_reports_end(w));
    k->words[MARK] = (uintptr_t)m;
    k->words[TASK] = (uintptr_t)t;
    k->words[SINCE] = p->cl->cuda_flags[t->nimpl] & STARPU_CUDA_ASYNC ? orr_ticks() : 0;
    return -EAGAIN;
}

int orr_cuda_test(struct orr_worker *w, struct orr_kernel *k)
{
    struct cuda_text why;
    if (k->words[SINCE] && orr_ticks() - k->words[SINCE] < orr_us_to_ticks(YOUNG_US)) return -EAGAIN;
    int r = orr_cuda_mark_test((struct cuda_mark *)(uintptr_t)k->words[MARK], &why);
    if (orr_unlikely(r == -EIO)) {
        struct orr_task *t = (struct orr_task *)(uintptr_t)k->words[TASK];
        orr_warn("task %s on worker %d (%s): its kernel failed: %s", orr_task_name(t), w->id, w->name,
                 why.chars);
    }
    return r;
}
