/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tests with simulated devices share: starting the runtime with some, and finding their workers.
 * Threads: main. Owns: nothing. Not here: TAP and gates (tests/helper.h).
 */
#ifndef ORR_TESTS_SIM_HELPER_H
#define ORR_TESTS_SIM_HELPER_H

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
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = cpus;
    conf.sched_policy_name = policy;
    conf.ncuda = -1;
    conf.enable_map = getenv("STARPU_ENABLE_MAP") != NULL;
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

/* The worker of device dev, and its memory node. */
UNUSED static int sim_worker(int dev)
{
    return starpu_worker_get_by_type(STARPU_CUDA_WORKER, dev);
}
UNUSED static unsigned sim_node(int dev)
{
    return starpu_worker_get_memory_node((unsigned)sim_worker(dev));
}

#endif
