/* SPDX-License-Identifier: BSD-3-Clause */
/* sim.c: a simulated accelerator, so that everything heterogeneous is tested on machines without one. Off by
 * default.
 * Threads: see core/worker/driver.h. Owns: the devices. Not here: their memory and links (memory.c).
 *
 * It passes for a CUDA or an OpenCL device (ORRERY_SIM_TYPE): codelets' implementations for that kind run on
 * it, on the worker's own core, with addresses of memory that is apart from the program's; so do codelets
 * that only have a CPU implementation, unless ORRERY_SIM_RUN_CPU_FUNCS is 0. A kernel takes its real time or
 * its modelled time, the longer. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/data/coherency.h"
#include "core/task/task.h"
#include "core/worker/driver.h"
#include "core/worker/worker.h"
#include "drivers/sim/memory.h"

struct sim_device {
    struct sim_memory memory;
    double speed, kernel_us;
};

static bool run_cpu_funcs; /* [const while workers run] */

static bool passes_for_opencl(void)
{
    const char *type = orr_env_string(ORR_SETTING(ORRERY_SIM_TYPE));
    if (!type || strcmp(type, "cuda") == 0) return false;
    if (strcmp(type, "opencl") == 0) return true;
    orr_env_refuse(ORR_SETTING(ORRERY_SIM_TYPE), "cuda or opencl", "cuda");
    return false;
}

/* How many the program allows of the kind; -1: any number. */
static long allowed(const struct orr_env *e, int from_conf, const struct starpu_conf *conf)
{
    if (from_conf >= 0 && (conf->precedence_over_environment_variables || !orr_env_string(e)))
        return from_conf;
    return orr_env_long(e, -1, -1, STARPU_MAXNODES);
}

static int devices(const struct starpu_conf *conf, bool opencl)
{
    long n = orr_env_long(ORR_SETTING(ORRERY_SIM_DEVICES), 0, 0, STARPU_MAXNODES - 1);
    if (n == 0 || passes_for_opencl() != opencl) return 0;
    long max = opencl ? allowed(ORR_SETTING(STARPU_NOPENCL), conf->nopencl, conf)
                      : allowed(ORR_SETTING(STARPU_NCUDA), conf->ncuda, conf);
    return (int)(max >= 0 && max < n ? max : n);
}

static int cuda_count(const struct starpu_conf *conf)
{
    return devices(conf, false);
}

static int opencl_count(const struct starpu_conf *conf)
{
    return devices(conf, true);
}

static int sim_setup(struct orr_worker *w, int devid, const struct starpu_conf *conf)
{
    (void)conf;
    struct sim_device *d = orr_calloc(1, sizeof *d);
    if (!d) return -ENOMEM;
    double mem_mb = orr_env_double(ORR_SETTING(ORRERY_SIM_MEM_MB), 512, 1e-3, 1e6);
    d->speed = orr_env_double(ORR_SETTING(ORRERY_SIM_SPEED), 1, 1e-6, 1e6);
    d->kernel_us = orr_env_double(ORR_SETTING(ORRERY_SIM_KERNEL_US), 0, 0, 1e9);
    d->memory.bandwidth_MB_per_s = orr_env_double(ORR_SETTING(ORRERY_SIM_BANDWIDTH_MB_S), 10000, 1e-3, 1e9);
    d->memory.latency_us = orr_env_double(ORR_SETTING(ORRERY_SIM_LATENCY_US), 10, 0, 1e9);
    d->memory.peers = orr_env_long(ORR_SETTING(ORRERY_SIM_PEERS), 0, 0, 1) != 0;
    run_cpu_funcs = orr_env_long(ORR_SETTING(ORRERY_SIM_RUN_CPU_FUNCS), 1, 0, 1) != 0;
    const char *kind = w->type == STARPU_OPENCL_WORKER ? "OpenCL" : "CUDA";
    snprintf(w->short_name, sizeof w->short_name, "%s %d", kind, devid);
    snprintf(w->name, sizeof w->name, "%s %d (simulated, %.1f MiB)", kind, devid, mem_mb);
    int r = orr_sim_memory_init(&d->memory, starpu_worker_get_memory_node_kind(w->type), devid,
                                (size_t)(mem_mb * 1048576.), w->short_name);
    if (r) {
        orr_free(d);
        return r;
    }
    w->device = d;
    w->node = d->memory.node;
    if (run_cpu_funcs) w->where |= STARPU_CPU;
    return 0;
}

static void sim_teardown(struct orr_worker *w)
{
    struct sim_device *d = w->device;
    if (!d) return;
    orr_sim_memory_fini(&d->memory);
    orr_free(d);
    w->device = NULL;
}

/* The implementation that runs here: the kind's own; else the CPU's, if the codelet has nothing for the kind.
 */
static starpu_cpu_func_t implementation(const struct starpu_codelet *cl, bool opencl, unsigned nimpl)
{
    const starpu_cpu_func_t *own = opencl ? cl->opencl_funcs : cl->cuda_funcs;
    if (own[0])
        return cl->where == 0 || (cl->where & (opencl ? STARPU_OPENCL : STARPU_CUDA)) ? own[nimpl] : NULL;
    return run_cpu_funcs ? cl->cpu_funcs[nimpl] : NULL;
}

static bool cuda_has_impl(const struct starpu_codelet *cl, unsigned nimpl)
{
    return implementation(cl, false, nimpl) != NULL;
}

static bool opencl_has_impl(const struct starpu_codelet *cl, unsigned nimpl)
{
    return implementation(cl, true, nimpl) != NULL;
}

/* Lets the rest of a kernel's modelled time pass; copies go on meanwhile, as they would beside a real kernel.
 */
static void pass_time(uint64_t until_ns)
{
    for (uint64_t now; (now = orr_clock_ns()) < until_ns;) {
        if (orr_transfers_poll()) continue;
        if (until_ns - now > 100000)
            nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
        else
            sched_yield();
    }
}

static void sim_execute(struct orr_worker *w, struct orr_task *t, unsigned nimpl)
{
    struct sim_device *d = w->device;
    struct starpu_task *p = t->pub;
    uint64_t start = orr_clock_ns();
    implementation(p->cl, w->type == STARPU_OPENCL_WORKER, nimpl)(STARPU_TASK_GET_INTERFACES(p), p->cl_arg);
    double real_us = (double)(orr_clock_ns() - start) * 1e-3, model_us = real_us / d->speed;
    if (model_us < d->kernel_us) model_us = d->kernel_us;
    if (model_us > real_us) pass_time(start + (uint64_t)(model_us * 1e3));
}

const struct orr_driver_ops orr_sim_cuda_driver = {
    .name = "Sim (CUDA)",
    .type = STARPU_CUDA_WORKER,
    .where = STARPU_CUDA,
    .count = cuda_count,
    .setup = sim_setup,
    .execute = sim_execute,
    .has_impl = cuda_has_impl,
    .teardown = sim_teardown,
};

const struct orr_driver_ops orr_sim_opencl_driver = {
    .name = "Sim (OpenCL)",
    .type = STARPU_OPENCL_WORKER,
    .where = STARPU_OPENCL,
    .count = opencl_count,
    .setup = sim_setup,
    .execute = sim_execute,
    .has_impl = opencl_has_impl,
    .teardown = sim_teardown,
};
