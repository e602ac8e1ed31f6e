/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A GPU that both CUDA and OpenCL know is used once, by CUDA, unless the program asks for both: CUDA's double
 * has two devices, and PoCL's first says that it is plugged in where the double's second is. Threads: main;
 * workers idle. Owns: nothing. Not here: what the place of a device is good for besides
 * (tests/opencl/place.c).
 */
#include "tests/core/cuda_helper.h"
#include "tests/opencl/shim.h"

static int first_of_opencl; /* its number; -1: none */

/* Starts, and returns how many workers of OpenCL there are; of CUDA in *cuda_out. */
static int workers(int nopencl, unsigned *cuda_out)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    conf.nopencl = nopencl;
    if (starpu_init(&conf)) return -1;
    int n = (int)starpu_opencl_worker_get_count();
    *cuda_out = starpu_cuda_worker_get_count();
    int id = -1;
    starpu_worker_get_ids_by_type(STARPU_OPENCL_WORKER, &id, 1);
    first_of_opencl = id < 0 ? -1 : starpu_worker_get_devid(id);
    starpu_shutdown();
    return n;
}

int main(void)
{
    static const unsigned at[][4] = { { 0, 0x40, 0, 0 }, { 0, 0x60, 0, 0 } };
    char file[4096];
    unsigned cuda = 0;
    const char *build = getenv("ORR_BUILDDIR");
    snprintf(file, sizeof file, "%s/tests/opencl/shim.so", build ? build : ".");
    setenv("ORRERY_OPENCL_LIBRARY", file, 1);
    setenv("STARPU_OPENCL_ONLY_ON_CPUS", "1", 1);
    setenv("POCL_DEVICES", "pthread pthread", 1);
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    const struct shim *shim = library ? dlsym(library, "shim_control") : NULL;
    if (!shim) {
        printf("Bail out! %s\n", dlerror());
        return 1;
    }
    cuda_use_double();
    cuda_double.reset();
    shim->plug_in(at, 2);
    is_int(workers(-1, &cuda), 1, "of two devices of OpenCL that one is left out which CUDA has");
    is_int(cuda, 2, "CUDA has it");
    is_int(workers(2, &cuda), 2, "a program that asks for two gets both");
    setenv("STARPU_NOPENCL", "2", 1);
    is_int(workers(-1, &cuda), 2, "and so does an environment that does");
    unsetenv("STARPU_NOPENCL");
    setenv("STARPU_WORKERS_OPENCLID", "0", 1);
    is_int(workers(-1, &cuda), 1, "so does one that asks for it by number");
    unsetenv("STARPU_WORKERS_OPENCLID");
    setenv("STARPU_NCUDA", "0", 1);
    is_int(workers(-1, &cuda), 2, "without CUDA both are used");
    is_int(cuda, 0, "then CUDA has none");
    setenv("STARPU_NCUDA", "1", 1);
    is_int(workers(-1, &cuda), 2, "as where CUDA uses another device only");
    unsetenv("STARPU_NCUDA");
    setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "2", 1);
    setenv("OMPI_COMM_WORLD_LOCAL_RANK", "0", 1);
    int opencl = workers(-1, &cuda);
    diag("a rank of two: %d devices of CUDA, %d of OpenCL, the first of which is %d", (int)cuda, opencl,
         first_of_opencl);
    ok(all_of(cuda == 1, opencl == 1, first_of_opencl == 1),
       "a rank that has one of CUDA's devices leaves out what CUDA gives another rank");
    return done_testing();
}
