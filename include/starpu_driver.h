/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The name of one device's worker, as it stands in starpu_conf.
 * Threads: no functions here.
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

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* STARPU_DRIVER_H */
