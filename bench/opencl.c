/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a task costs on an OpenCL device beside a bare launch: an empty kernel, one at a time, then a stream.
 * Bare launches and tasks in turn, after a round that warms up; medians of the rounds.
 * On PoCL: STARPU_OPENCL_ONLY_ON_CPUS=1 STARPU_NCPU=0 bench/opencl [TASKS].
 * Threads: main; launches on the device's worker. Owns: the kernel. Not here: kernels that compute.
 */
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>

#include "measure.h"

static cl_kernel kernel;
static cl_command_queue queue;

static cl_int launch(cl_event *event)
{
    size_t one = 1;
    return clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, event);
}

static void empty_func(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
    if (launch(NULL) != CL_SUCCESS) fprintf(stderr, "a launch failed\n");
}

static struct starpu_codelet empty_cl = { .opencl_funcs = { empty_func },
                                          .opencl_flags = { STARPU_OPENCL_ASYNC },
                                          .name = "empty" };

static void submit(int synchronous)
{
    struct starpu_task *t = starpu_task_create();
    t->cl = &empty_cl;
    t->synchronous = synchronous;
    if (starpu_task_submit(t) != 0) exit(1);
}

/* One launch, or one task, is awaited before the next; us for each. */
static double one_at_a_time(int n, int tasks)
{
    double start = starpu_timing_now();
    for (int i = 0; i < n; i++) {
        cl_event event;
        if (tasks) {
            submit(1);
            continue;
        }
        if (launch(&event) != CL_SUCCESS) exit(1);
        clWaitForEvents(1, &event);
        clReleaseEvent(event);
    }
    return (starpu_timing_now() - start) / n;
}

static double stream(int n, int tasks)
{
    double start = starpu_timing_now();
    for (int i = 0; i < n; i++) {
        if (tasks)
            submit(0);
        else if (launch(NULL) != CL_SUCCESS)
            exit(1);
    }
    if (tasks)
        starpu_task_wait_for_all();
    else
        clFinish(queue);
    return (starpu_timing_now() - start) / n;
}

/* The same of bare launches and of tasks, in turn; the medians of each, and of their ratio. */
static void compare(double (*us)(int n, int tasks), int n, const char *what)
{
    struct in_turn r = measure_in_turn(us, n);
    printf(" %s_bare_us=%.2f %s_task_us=%.2f %s_ratio=%.2f", what, r.bare, what, r.task, what, r.ratio);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 100000;
    struct starpu_opencl_program program;
    if (starpu_init(NULL) != 0) return 1;
    if (starpu_opencl_worker_get_count() == 0) {
        printf("no OpenCL device\n");
        starpu_shutdown();
        return 0;
    }
    int device = starpu_worker_get_devid(starpu_worker_get_by_type(STARPU_OPENCL_WORKER, 0));
    if (starpu_opencl_load_opencl_from_string("__kernel void empty(void) {}", &program, NULL) != CL_SUCCESS ||
        starpu_opencl_load_kernel(&kernel, &queue, &program, "empty", device) != CL_SUCCESS)
        return 1;
    printf("bench=opencl stream=%d", n);
    compare(one_at_a_time, n / 100 + 1, "single");
    compare(stream, n, "stream");
    printf(" ok\n");
    starpu_opencl_release_kernel(kernel);
    starpu_opencl_unload_opencl(&program);
    starpu_shutdown();
    return 0;
}
