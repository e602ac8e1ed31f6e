/* SPDX-License-Identifier: BSD-3-Clause */
/* cpu.c: workers that are cores of this machine.
 * Threads: see core/worker/driver.h. Owns: nothing. Not here: which cores (core/topo), parallel tasks. */
#include "drivers/cpu/cpu.h"

#include <errno.h>
#include <stdio.h>

#include "core/base/env.h"
#include "core/base/log.h"
#include "core/task/task.h"
#include "core/topo/topo.h"
#include "core/worker/worker.h"

/* A count from conf and the environment, of which one goes before the other; -1: neither says. */
static long wanted(const struct orr_env *e, int from_conf, const struct starpu_conf *conf, long max)
{
    if (from_conf >= 0 && (conf->precedence_over_environment_variables || !orr_env_string(e)))
        return from_conf < max ? from_conf : max;
    return orr_env_long(e, -1, -1, max);
}

/* How many cores become workers. */
static long cpu_count(const struct starpu_conf *conf)
{
    bool new_name = orr_env_string(ORR_SETTING(STARPU_NCPU)) != NULL;
    const struct orr_env *e = new_name ? ORR_SETTING(STARPU_NCPU) : ORR_SETTING(STARPU_NCPUS);
    long n = wanted(e, conf->ncpus, conf, STARPU_MAXCPUS);
    long reserve = wanted(ORR_SETTING(STARPU_RESERVE_NCPU), conf->reserve_ncpus, conf, STARPU_MAXCPUS);
    if (reserve < 0) reserve = 0;
    if (n >= 0) return n > reserve ? n - reserve : 0;
    n = (long)orr_topo_cores() - reserve - (long)orr_accelerator_workers();
    return n < 1 ? 1 : n > STARPU_MAXCPUS ? STARPU_MAXCPUS : n;
}

/* Each core is a device with one worker. */
static int cpu_probe(const struct orr_kind *kind, const struct starpu_conf *conf, struct orr_device *out,
                     unsigned max)
{
    long n = cpu_count(conf);
    (void)kind;
    (void)out; /* as it is */
    return n < (long)max ? (int)n : (int)max;
}

/* For what does not go through orr_worker_run, which calls the function itself. */
static int cpu_submit(struct orr_worker *w, struct orr_task *t, struct orr_kernel *k)
{
    struct starpu_task *p = t->pub;
    (void)k;
    orr_worker_function(w, p->cl, t->nimpl)(STARPU_TASK_GET_INTERFACES(p), p->cl_arg);
    return 0;
}

const struct orr_driver_ops orr_cpu_driver = {
    .name = "CPU",
    .probe = cpu_probe,
    .submit = cpu_submit,
};
