/* SPDX-License-Identifier: BSD-3-Clause */
/* cpu.c: workers that are cores of this machine.
 * Threads: see core/worker/driver.h. Owns: nothing. Not here: which cores (core/topo), parallel tasks. */
#include "drivers/cpu/cpu.h"

#include <errno.h>
#include <stdio.h>

#include "core/task/task.h"
#include "core/topo/topo.h"
#include "core/worker/worker.h"

/* How many cores become workers. */
static long cpu_count(const struct starpu_conf *conf)
{
    long reserved, n = orr_cpus_wanted(conf, &reserved);
    if (n >= 0) return n;
    n = (long)orr_topo_cores() - reserved - (long)orr_accelerator_workers();
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
