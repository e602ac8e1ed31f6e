/* SPDX-License-Identifier: BSD-3-Clause */
/* cpu.c: workers that are cores of this machine.
 * Threads: see core/worker/driver.h. Owns: nothing. Not here: which cores (core/topo), parallel tasks. */
#include "drivers/cpu/cpu.h"

#include <errno.h>
#include <stdio.h>

#include "core/base/env.h"
#include "core/base/log.h"
#include "core/mem/node.h"
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

/* Each accelerator's worker keeps a core busy. */
static int accelerators(const struct starpu_conf *conf)
{
    int count = 0;
    for (int i = 0; orr_drivers[i].ops; i++)
        if (orr_drivers[i].ops != &orr_cpu_driver)
            count += orr_drivers[i].ops->count(orr_drivers[i].kind, conf);
    return count;
}

static int cpu_count(const struct orr_kind *kind, const struct starpu_conf *conf)
{
    (void)kind;
    bool new_name = orr_env_string(ORR_SETTING(STARPU_NCPU)) != NULL;
    const struct orr_env *e = new_name ? ORR_SETTING(STARPU_NCPU) : ORR_SETTING(STARPU_NCPUS);
    long n = wanted(e, conf->ncpus, conf, STARPU_MAXCPUS);
    long reserve = wanted(ORR_SETTING(STARPU_RESERVE_NCPU), conf->reserve_ncpus, conf, STARPU_MAXCPUS);
    if (reserve < 0) reserve = 0;
    if (n >= 0) return n > reserve ? (int)(n - reserve) : 0;
    n = (long)orr_topo_cores() - reserve - accelerators(conf);
    return n < 1 ? 1 : n > STARPU_MAXCPUS ? STARPU_MAXCPUS : (int)n;
}

static int cpu_setup(struct orr_worker *w, int devid, const struct starpu_conf *conf)
{
    (void)conf;
    w->node = orr_node_home();
    snprintf(w->name, sizeof w->name, "CPU %d", devid);
    snprintf(w->short_name, sizeof w->short_name, "CPU %d", devid);
    return 0;
}

static void cpu_execute(struct orr_worker *w, struct orr_task *t, unsigned nimpl)
{
    struct starpu_task *p = t->pub;
    orr_worker_function(w, p->cl, nimpl)(STARPU_TASK_GET_INTERFACES(p), p->cl_arg);
}

const struct orr_driver_ops orr_cpu_driver = {
    .name = "CPU",
    .count = cpu_count,
    .setup = cpu_setup,
    .execute = cpu_execute,
};
