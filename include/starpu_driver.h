/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drivers run by the program: a worker whose loop is not a thread of the runtime but called from a
 * thread of the program (starpu_conf: not_launched_drivers).
 * Threads: all calls for one driver from one and the same thread, which becomes the worker.
 * Not here: workers themselves (starpu_worker.h).
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

/* Runs the worker's whole life: initialises, executes tasks until
 * starpu_drivers_request_termination(), ends. Blocks. Returns 0; -EINVAL for a driver that is not
 * there. */
int starpu_driver_run(struct starpu_driver *d);

/* Only initialises it. Returns 0; -EINVAL. */
int starpu_driver_init(struct starpu_driver *d);

/* Executes at most one task and looks after transfers. Returns 0; -EINVAL. */
int starpu_driver_run_once(struct starpu_driver *d);

/* Ends it. Returns 0; -EINVAL. */
int starpu_driver_deinit(struct starpu_driver *d);

/* Tells all drivers run by starpu_driver_run() to end once no task is left. From any thread. */
void starpu_drivers_request_termination(void);

/* Makes the drivers known without starting them. Done by starpu_init(). */
void starpu_drivers_preinit(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* STARPU_DRIVER_H */
