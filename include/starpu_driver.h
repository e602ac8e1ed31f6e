/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workers that are run by threads of the program: named in starpu_conf.not_launched_drivers, they have none
 * of their own. Threads: one at a time for each of them. Not here: workers themselves (starpu_worker.h).
 *
 * Such a worker counts as any other: tasks are given to it, and wait until the program runs it. So a program
 * that waits for tasks lets another thread run it meanwhile. Where several workers share a device, its name
 * stands for all of them. A thread that runs a CUDA device has that device's context as its own afterwards,
 * until starpu_driver_deinit().
 */
#ifndef STARPU_DRIVER_H
#define STARPU_DRIVER_H

#include <starpu_config.h>
#include <starpu_worker.h>

#if defined(STARPU_USE_OPENCL) && !defined(__CUDACC__)
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Which worker: a CPU worker by its number, a device by the number that it has in starpu_worker_get_devid(),
 * one that OpenCL drives by its cl_device_id. */
struct starpu_driver {
    enum starpu_worker_archtype type;
    union {
        unsigned cpu_id;
        unsigned cuda_id;
        unsigned hip_id;
#if defined(STARPU_USE_OPENCL) && !defined(__CUDACC__)
        cl_device_id opencl_id;
#else
        unsigned opencl_id;
#endif
    } id;
};

/* Takes the worker, for the calling thread. Returns 0; -EINVAL: NULL, there is no such worker, or it is not
 * one of starpu_conf.not_launched_drivers; -EBUSY: it is taken;
 * -ENOMEM. */
int starpu_driver_init(struct starpu_driver *d);
/* Takes the worker one step further: a CPU runs one task, if it has one; a device is given tasks, and those
 * that have ended there are completed. Looks after messages and transfers. Does not wait for any of that.
 * Returns 0; -EINVAL: the worker was not taken. */
int starpu_driver_run_once(struct starpu_driver *d);
/* Gives the worker back, once it has no task left. Returns 0; -EINVAL: it was not taken. */
int starpu_driver_deinit(struct starpu_driver *d);

/* The three in one: runs tasks until starpu_drivers_request_termination() or starpu_shutdown(). Returns as
 * starpu_driver_init(). */
int starpu_driver_run(struct starpu_driver *d);
/* Every starpu_driver_run() returns when it has no task any more. */
void starpu_drivers_request_termination(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* STARPU_DRIVER_H */
