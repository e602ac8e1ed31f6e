/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tests with OpenCL devices share: starting the runtime with PoCL's, kernels, and launching one.
 * Threads: main; launching in functions of codelets. Owns: the program, and how it is launched.
 * Not here: TAP and gates (tests/helper.h).
 */
#ifndef ORR_TESTS_OPENCL_HELPER_H
#define ORR_TESTS_OPENCL_HELPER_H

#include <stdbool.h>
#include "tests/helper.h"

static struct starpu_opencl_program cl_program_of_test;
static char cl_cache[4096];

UNUSED static bool opencl_is_there(void)
{
    return access("/etc/OpenCL/vendors/pocl.icd", R_OK) == 0;
}

/* Starts with CPU workers and OpenCL devices that are CPUs, of which there is one; where ORR_TEST_OPENCL_GPU
 * is set, by hand, with GPUs (of which not every test about PoCL thinks). Ends the program with a skip where
 * there is none. */
UNUSED static void opencl_start(int cpus, const char *policy)
{
    struct starpu_conf conf;
    const char *build = getenv("ORR_BUILDDIR");
    if (build && !getenv("POCL_CACHE_DIR")) {
        snprintf(cl_cache, sizeof cl_cache, "%s/tests/opencl/cache", build);
        setenv("POCL_CACHE_DIR", cl_cache, 1);
    }
    setenv("STARPU_OPENCL_ONLY_ON_CPUS", getenv("ORR_TEST_OPENCL_GPU") ? "0" : "1", 1);
    starpu_conf_init(&conf);
    conf.ncpus = cpus;
    conf.ncuda = 0;
    conf.sched_policy_name = policy;
    int status = starpu_init(&conf);
    if (status != 0 && status != -ENODEV) {
        printf("Bail out! starpu_init returned %d\n", status);
        exit(1);
    }
    if (status == 0 && starpu_opencl_worker_get_count() > 0) return;
    if (status == 0) starpu_shutdown();
    if (!opencl_is_there()) skip_all("PoCL is not installed (Debian: pocl-opencl-icd)");
    printf("Bail out! PoCL is installed, and there is no OpenCL worker\n");
    exit(1);
}

UNUSED static int opencl_worker(void)
{
    return starpu_worker_get_by_type(STARPU_OPENCL_WORKER, 0);
}
UNUSED static unsigned opencl_node(void)
{
    return starpu_worker_get_memory_node((unsigned)opencl_worker());
}

/* Builds the kernels of the test for all devices; false: the compiler refused. */
UNUSED static bool opencl_build(const char *source)
{
    return starpu_opencl_load_opencl_from_string(source, &cl_program_of_test, NULL) == CL_SUCCESS;
}

/* In a function of a codelet: puts n items of a kernel into the worker's queue, with arguments set by set_fn.
 * Returns an error of OpenCL. */
UNUSED static cl_int opencl_launch(const char *name, size_t n, void (*set_fn)(cl_kernel, void *), void *arg)
{
    cl_kernel kernel;
    cl_command_queue queue;
    int id = starpu_worker_get_id();
    cl_int r =
        starpu_opencl_load_kernel(&kernel, &queue, &cl_program_of_test, name, starpu_worker_get_devid(id));
    if (r != CL_SUCCESS) return r;
    set_fn(kernel, arg);
    r = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &n, NULL, 0, NULL, NULL);
    starpu_opencl_release_kernel(kernel);
    return r;
}

#endif
