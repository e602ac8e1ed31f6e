/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tests with simulated devices share: starting the runtime with some, and finding their workers.
 * Where ORR_TEST_CUDA names the double of CUDA's library, its devices take their place (tests/double.sh), and
 * where ORR_TEST_OPENCL names the shim of OpenCL's, PoCL's (tests/opencl/instead.sh): links are not slow
 * then. Threads: main. Owns: nothing. Not here: TAP and gates (tests/helper.h).
 */
#ifndef ORR_TESTS_SIM_HELPER_H
#define ORR_TESTS_SIM_HELPER_H

#include <dlfcn.h>
#include <stdbool.h>
#include "tests/helper.h"

struct sim_config {
    const char *devices, *mem_mb, *bandwidth_MB_s, *latency_us, *kernel_us, *peers;
};

UNUSED static void sim_setting(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

/* Before starpu_init: has OpenCL's devices stand in for simulated ones of CUDA's kind. */
UNUSED static void sim_stand_ins_opencl(const char *devices, const char *mem_mb, bool mine)
{
    sim_setting("STARPU_NOPENCL", mine ? devices : "0");
    if (!mine) return;
    runtime_opencl_settings();
    sim_setting("STARPU_LIMIT_OPENCL_MEM", mem_mb);
    sim_setting("ORRERY_SIM_DEVICES", NULL);
}

/* The same with the double's, too. */
UNUSED static void sim_stand_ins(void)
{
    static char mem_kb[24];
    const char *library = getenv("ORR_TEST_CUDA"), *kinds = getenv("ORRERY_SIM_TYPE"),
               *devices = getenv("ORRERY_SIM_DEVICES"), *mem_mb = getenv("ORRERY_SIM_MEM_MB"),
               *funcs = getenv("ORRERY_SIM_RUN_CPU_FUNCS");
    bool mine = devices && atoi(devices) > 0 && (!kinds || strcmp(kinds, "cuda") == 0);
    if (getenv("ORR_TEST_OPENCL")) sim_stand_ins_opencl(devices, mem_mb, mine);
    if (!library || getenv("ORR_TEST_OPENCL")) return;
    sim_setting("ORRERY_CUDA_LIBRARY", mine ? library : "none");
    if (!mine) return;
    snprintf(mem_kb, sizeof mem_kb, "%.0f", (mem_mb ? atof(mem_mb) : 512) * 1024 * 10 / 9 + 1);
    sim_setting("ORR_DOUBLE_CUDA_DEVICES", devices);
    sim_setting("ORR_DOUBLE_CUDA_MEM_KB", mem_kb);
    sim_setting("ORR_DOUBLE_CUDA_PEERS", getenv("ORRERY_SIM_PEERS") ? getenv("ORRERY_SIM_PEERS") : "0");
    sim_setting("ORR_DOUBLE_CUDA_RUN_CPU_FUNCS", funcs ? funcs : "1");
    sim_setting("STARPU_NWORKER_PER_CUDA", getenv("ORRERY_SIM_WORKERS_PER_DEVICE"));
    sim_setting("ORRERY_SIM_DEVICES", NULL);
    void *double_library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void (*reset)(void) = double_library ? (void (*)(void))dlsym(double_library, "double_cuda_reset") : NULL;
    if (reset) reset();
}

/* Starts with CPU workers and simulated devices of these kinds (NULL: CUDA) under a policy (NULL: the usual).
 */
UNUSED static void sim_start_as(int cpus, const struct sim_config *c, const char *kinds, const char *policy)
{
    sim_setting("ORRERY_SIM_DEVICES", c->devices);
    sim_setting("ORRERY_SIM_MEM_MB", c->mem_mb);
    sim_setting("ORRERY_SIM_BANDWIDTH_MB_S", c->bandwidth_MB_s);
    sim_setting("ORRERY_SIM_LATENCY_US", c->latency_us);
    sim_setting("ORRERY_SIM_KERNEL_US", c->kernel_us);
    sim_setting("ORRERY_SIM_PEERS", c->peers);
    sim_setting("ORRERY_SIM_TYPE", kinds);
    sim_stand_ins();
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = cpus;
    conf.sched_policy_name = policy;
    conf.ncuda = -1;
    conf.enable_map = getenv("STARPU_ENABLE_MAP") != NULL;
    conf.disable_asynchronous_copy = getenv("STARPU_DISABLE_ASYNCHRONOUS_COPY") != NULL;
    conf.precedence_over_environment_variables = 1;
    int status = starpu_init(&conf);
    if (status != 0) {
        printf("Bail out! starpu_init returned %d\n", status);
        exit(1);
    }
}

/* With simulated CUDA devices. */
UNUSED static void sim_start(int cpus, const struct sim_config *c)
{
    sim_start_as(cpus, c, NULL, NULL);
}

/* The kind of the devices. */
UNUSED static enum starpu_worker_archtype sim_type(void)
{
    return getenv("ORR_TEST_OPENCL") ? STARPU_OPENCL_WORKER : STARPU_CUDA_WORKER;
}

/* The worker of device dev, and its memory node. */
UNUSED static int sim_worker(int dev)
{
    return starpu_worker_get_by_type(sim_type(), dev);
}
UNUSED static unsigned sim_node(int dev)
{
    return starpu_worker_get_memory_node((unsigned)sim_worker(dev));
}

#endif
