/* SPDX-License-Identifier: BSD-3-Clause */
/* devices.h: what the examples of this folder share: a file with OpenCL kernels that is built for every
 * device, and a kernel of it put into the queue of its worker. Threads: devices_open and devices_close by
 * main, the rest in task bodies. Owns: the program of the example. Not here: kernels for CUDA, which nvcc
 * makes functions of (*.cu). */
#ifndef EXAMPLES_DEVICES_H
#define EXAMPLES_DEVICES_H

#include <starpu.h>
#include <stdio.h>

#ifdef STARPU_USE_OPENCL
static struct starpu_opencl_program devices_program;

/* A kernel's argument, a variable. */
#define ARG(variable) sizeof(variable), &(variable)

/* Starts the kernel on sizes[0] * sizes[1] * ... work-items, dims factors; arguments follow as ARG(variable).
 * It ends after the body that starts it, so the codelet has STARPU_OPENCL_ASYNC. */
#define START_OPENCL(name, dims, sizes, ...)                                                                 \
    do {                                                                                                     \
        cl_kernel kernel_;                                                                                   \
        cl_command_queue queue_;                                                                             \
        cl_int status_ = starpu_opencl_load_kernel(&kernel_, &queue_, &devices_program, name,                \
                                                   starpu_worker_get_devid(starpu_worker_get_id()));         \
        if (status_ != CL_SUCCESS) STARPU_OPENCL_REPORT_ERROR(status_);                                      \
        starpu_opencl_set_kernel_args(&status_, &kernel_, __VA_ARGS__, (size_t)0);                           \
        if (status_ == CL_SUCCESS)                                                                           \
            status_ = clEnqueueNDRangeKernel(queue_, kernel_, dims, NULL, sizes, NULL, 0, NULL, NULL);       \
        if (status_ != CL_SUCCESS) STARPU_OPENCL_REPORT_ERROR(status_);                                      \
        starpu_opencl_release_kernel(kernel_);                                                               \
    } while (0)

#define OPENCL_FUNCTION(function) .opencl_funcs = { function }, .opencl_flags = { STARPU_OPENCL_ASYNC },
#else
#define OPENCL_FUNCTION(function)
#endif

#ifdef WITH_CUDA_KERNELS
#define CUDA_FUNCTION(function) .cuda_funcs = { function }, .cuda_flags = { STARPU_CUDA_ASYNC },
#else
#define CUDA_FUNCTION(function)
#endif

/* Builds the example's OpenCL kernels, if there is a device for them. 0, or -1 with a message. */
static inline int devices_open(const char *file)
{
    (void)file;
#ifdef STARPU_USE_OPENCL
    if (starpu_opencl_worker_get_count() == 0) return 0;
    cl_int status = starpu_opencl_load_opencl_from_file(file, &devices_program, NULL);
    if (status != CL_SUCCESS) {
        fprintf(stderr,
                "%s was not built (%s): run from the top folder, or set STARPU_OPENCL_PROGRAM_DIR to it\n",
                file, starpu_opencl_error_string(status));
        return -1;
    }
#endif
    return 0;
}

/* When all tasks have ended. */
static inline void devices_close(void)
{
#ifdef STARPU_USE_OPENCL
    if (starpu_opencl_worker_get_count() > 0) starpu_opencl_unload_opencl(&devices_program);
#endif
}

#endif
