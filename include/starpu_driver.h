/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workers that are run by threads of the program: named in starpu_conf.not_launched_drivers, they have none
 * of their own. CPU workers only; starpu_init() refuses others. Threads: one at a time for each worker. Not
 * here: workers themselves (starpu_worker.h).
 *
 * Such a worker counts as any other: tasks are given to it, and wait until the program runs it. So a program
 * that waits for tasks lets another thread run it meanwhile.
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

/* Which worker. */
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
 * one of starpu_conf.not_launched_drivers; -EBUSY: it is taken. */
int starpu_driver_init(struct starpu_driver *d);
/* Runs one task, if the worker has one, and looks after messages and transfers. Does not wait for one.
 * Returns 0; -EINVAL: the worker was not taken. */
int starpu_driver_run_once(struct starpu_driver *d);
/* Gives the worker back. Returns 0; -EINVAL: it was not taken. */
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
