/* SPDX-License-Identifier: BSD-3-Clause */
/* elsewhere.h: tasks that could not run on the worker that had them, and devices that fail.
 * Threads: the worker's that had the task; orr_device_... any. Owns: nothing. Not here: bringing data
 * (inputs.h), the end of a task (core/task/complete.c). */
#ifndef ORR_WORKER_ELSEWHERE_H
#define ORR_WORKER_ELSEWHERE_H

#include "core/worker/driver.h"
#include "core/worker/worker.h"

enum orr_trouble {
    ORR_NO_INPUTS,      /* its data could not be brought */
    ORR_NOT_STARTED,    /* the driver could not start its kernel */
    ORR_KERNEL_FAILED,  /* the kernel failed; what it reads and writes is as before */
    ORR_KERNEL_SPOILED, /* the kernel failed, and what it was to change in place is gone */
    ORR_DEVICE_OUT      /* the device was taken out */
};

/* t did not do its work on w, for the reason status (< 0); it holds none of its data any more. It is given to
 * the scheduler again, for workers with another device and, where data were missing, another memory; each
 * is tried once. Where nobody is left, or it could not do its work any more, it fails, that is said, and it
 * is completed. t may be gone. */
void orr_task_did_not_run(struct orr_worker *w, struct orr_task *t, enum orr_trouble trouble, int status);

/* t is about to be given to its policy, and some device is out: leaves out the workers of such devices, if
 * others can run t. If none can, it goes to one of them, which says so. */
void orr_task_avoid_devices_out(struct orr_task *t);

/* A kernel failed, or data did not come: it is taken out when that was the third kernel, or copy to or from
 * it, in a row. A kernel that worked. */
void orr_device_failed(struct orr_device *d, bool kernel);
void orr_device_worked(struct orr_device *d);
static inline bool orr_device_is_out(const struct orr_device *d)
{
    return orr_load_relaxed(&d->out);
}

#endif
