/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hypervisor with accelerators (simulated ones): gflops_rate counts what each kind of worker is worth to
 * a context. Threads: main decides; workers move. Owns: nothing. Not here: strategies with CPU workers alone
 * (hypervisor.c, hypervisor_strategies.c).
 */
#include <sc_hypervisor.h>
#include <sched_ctx_hypervisor.h>

#include "tests/core/sim_helper.h"

enum { CPUS = 4, DEVICES = 2 };

static unsigned cpus_in(unsigned context)
{
    unsigned n = 0;
    for (int i = 0; i < (int)starpu_worker_get_count(); i++)
        n += starpu_worker_get_type(i) == STARPU_CPU_WORKER && starpu_sched_ctx_contains_worker(i, context);
    return n;
}

static void speed(unsigned context, double cpu, double device)
{
    struct sc_hypervisor_wrapper *w = sc_hypervisor_get_wrapper(context);
    w->ref_speed[0] = cpu;
    w->ref_speed[1] = device;
}

int main(void)
{
    struct sc_hypervisor_policy policy = { .name = "gflops_rate" };
    struct starpu_conf conf;
    alarm(60);
    setenv("STARPU_WORKERS_CPUID", "0 0 0 0", 1);
    setenv("SC_HYPERVISOR_STOP_PRINT", "1", 1);
    setenv("SC_HYPERVISOR_LAZY_RESIZE", "0", 1);
    setenv("ORRERY_SIM_DEVICES", "2", 1);
    sim_stand_ins();
    starpu_conf_init(&conf);
    conf.ncpus = CPUS;
    if (starpu_init(&conf) != 0) skip_all("the workers cannot be had here");
    int cpus[CPUS], devices[DEVICES];
    if (starpu_worker_get_ids_by_type(STARPU_CPU_WORKER, cpus, CPUS) != CPUS ||
        starpu_worker_get_ids_by_type(STARPU_CUDA_WORKER, devices, DEVICES) != DEVICES)
        skip_all("four CPU workers and two simulated devices cannot be had here");
    int of_a[3] = { cpus[0], cpus[1], devices[0] }, of_b[3] = { cpus[2], cpus[3], devices[1] };
    unsigned a = starpu_sched_ctx_create(of_a, 3, "a", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0),
             b = starpu_sched_ctx_create(of_b, 3, "b", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    void *counters = sc_hypervisor_init(&policy);
    starpu_sched_ctx_set_perf_counters(a, counters); /* so that it is seen when workers arrive */
    starpu_sched_ctx_set_perf_counters(b, counters);
    sc_hypervisor_register_ctx(a, 100e9);
    sc_hypervisor_register_ctx(b, 100e9);
    speed(a, 1, 1);
    speed(b, 1, 8); /* its tasks run well on devices: with the same workers it would end long before */
    sc_hypervisor_resize_ctxs(NULL, -1, NULL, -1);
    for (int i = 0; i < 100000 && cpus_in(a) < 3; i++) usleep(100);
    is_int(cpus_in(a), 3, "the context that gains nothing from devices gets more of the CPUs");
    is_int(cpus_in(b), 1, "from the one that does");
    sc_hypervisor_unregister_ctx(a);
    sc_hypervisor_unregister_ctx(b);
    starpu_sched_ctx_delete(a);
    starpu_sched_ctx_delete(b);
    starpu_shutdown();
    sc_hypervisor_shutdown();
    return done_testing();
}
