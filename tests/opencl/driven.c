/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device of OpenCL's that a thread of the program's runs, named by its cl_device_id.
 * Threads: main. Owns: nothing. Not here: what all kinds have in common (tests/core/driven_devices.c).
 */
#include <pthread.h>

#include "tests/opencl/opencl_helper.h"

enum { LENGTH = 1000, ROUNDS = 20 };

static const char source[] = "__kernel void twice(__global int *v) { v[get_global_id(0)] *= 2; }";

static atomic_int refused, elsewhere;
static pthread_t expected;

static void set_vector(cl_kernel kernel, void *arg)
{
    cl_mem v = (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(arg);
    clSetKernelArg(kernel, 0, sizeof v, &v);
}
static void twice_func(void *buffers[], void *arg UNUSED)
{
    if (opencl_launch("twice", LENGTH, set_vector, buffers[0]) != CL_SUCCESS) atomic_fetch_add(&refused, 1);
    if (!pthread_equal(pthread_self(), expected)) atomic_fetch_add(&elsewhere, 1);
}
static struct starpu_codelet twice_cl = {
    .opencl_funcs = { twice_func },
    .opencl_flags = { STARPU_OPENCL_ASYNC },
    .nbuffers = 1,
    .modes = { STARPU_RW },
};

/* As programs find one. */
static cl_device_id first_device(void)
{
    cl_platform_id platforms[8];
    cl_uint count = 0;
    cl_device_id id = NULL;
    if (clGetPlatformIDs(8, platforms, &count) != CL_SUCCESS) return NULL;
    for (cl_uint p = 0; p < count && p < 8 && !id; p++)
        if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_CPU, 1, &id, NULL) != CL_SUCCESS) id = NULL;
    return id;
}

static int start(struct starpu_driver *d)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.precedence_over_environment_variables = 1;
    conf.ncpus = conf.ncuda = 0;
    conf.nopencl = 1;
    conf.not_launched_drivers = d;
    conf.n_not_launched_drivers = 1;
    return starpu_init(&conf);
}

static void runs_it(struct starpu_driver *d)
{
    int v[LENGTH], failed = start(d);
    is_int(failed, 0, "a device is named by its cl_device_id");
    if (failed) return;
    expected = pthread_self();
    failed |= !opencl_build(source) || starpu_driver_init(d);
    for (int i = 0; i < LENGTH; i++) v[i] = i;
    starpu_data_handle_t h;
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)v, LENGTH, sizeof v[0]);
    struct starpu_task *tasks[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        tasks[i] = starpu_task_create();
        tasks[i]->cl = &twice_cl;
        tasks[i]->handles[0] = h;
        tasks[i]->detach = 0;
        failed |= starpu_task_submit(tasks[i]);
    }
    while (!failed && !starpu_task_finished(tasks[ROUNDS / 2])) failed |= starpu_driver_run_once(d);
    failed |= starpu_driver_deinit(d);
    for (int i = 0; i < ROUNDS; i++) failed |= !starpu_task_finished(tasks[i]) || starpu_task_wait(tasks[i]);
    starpu_data_unregister(h);
    bool right = true;
    for (int i = 0; i < LENGTH; i++) right &= v[i] == i << ROUNDS;
    ok(all_of(!failed, right, atomic_load(&refused) == 0, atomic_load(&elsewhere) == 0),
       "kernels that the program's thread launches are in order, and end before it is given back");
    starpu_opencl_unload_opencl(&cl_program_of_test);
    starpu_shutdown();
}

int main(void)
{
    alarm(50);
    opencl_start(1, NULL); /* a skip where there is none */
    starpu_shutdown();
    struct starpu_driver d = { .type = STARPU_OPENCL_WORKER, .id.opencl_id = first_device() };
    runs_it(&d);
    d.id.opencl_id = (cl_device_id)(uintptr_t)1;
    is_int(start(&d), -EINVAL, "an id of no device is refused");
    return done_testing();
}
