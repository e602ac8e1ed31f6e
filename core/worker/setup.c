/* SPDX-License-Identifier: BSD-3-Clause */
/* setup.c: which devices there are, and the workers that share them.
 * Threads: the one that starts or stops the runtime. Owns: the table of devices. Not here: the drivers
 * (drivers/), cores (binding.c), the workers' threads (worker.c).
 *
 * Drivers say what they find (probe); each device is opened, and one that does not open is left out before
 * workers are numbered: nobody ever sees a worker of it. Cores of this machine come last, as those that
 * accelerators' workers keep busy are no workers of their own; they are numbered first nevertheless. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/env.h"
#include "core/base/log.h"
#include "core/mem/node.h"
#include "core/perf/arch.h"
#include "core/topo/topo.h"
#include "core/worker/combined.h"
#include "core/worker/driver.h"
#include "core/worker/worker.h"

static struct orr_device devices[STARPU_NMAXWORKERS]; /* [const between init and shutdown] */
static unsigned device_count;
static bool failed; /* to open: one of them at least */

/* ---- devices ---- */

unsigned orr_accelerator_workers(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < device_count; i++)
        if (devices[i].kind->type != STARPU_CPU_WORKER) n += devices[i].workers;
    return n;
}

static void prepare_entry(struct orr_device *d, const struct orr_driver *driver, int number)
{
    *d = (struct orr_device){
        .ops = driver->ops, .kind = driver->kind, .number = number, .workers = 1, .node = orr_node_home()
    };
    snprintf(d->name, sizeof d->name, "%s %d", driver->kind->title, number);
}

/* Its memory, if it has one, to the main memory that it is nearest to. */
static void attach(const struct orr_device *d)
{
    if (orr_main_memories > 1 && d->node >= orr_main_memories && d->bus[0])
        orr_node_attach(d->node, orr_node_of_numa(orr_topo_numa_near_pci(d->bus)));
}

bool orr_device_is_anothers(const struct orr_kind *kind, const struct starpu_conf *conf, const char *bus)
{
    if (!bus[0] || orr_kind_is_asked_for(kind, conf)) return false;
    for (int i = 0; orr_drivers[i].ops && orr_drivers[i].kind != kind; i++)
        if (orr_drivers[i].ops->drives && orr_drivers[i].ops->drives(bus)) {
            orr_info("the %s device at %s is left out: %s has it; %s says how many are wanted nevertheless",
                     kind->title, bus, orr_drivers[i].kind->title, kind->number_setting->name);
            return true;
        }
    return false;
}

/* The driver's devices, behind the first count; returns how many. */
static unsigned probe(const struct orr_driver *driver, const struct starpu_conf *conf, unsigned count)
{
    struct orr_device *found = &devices[count];
    unsigned max = STARPU_NMAXWORKERS - count;
    for (unsigned i = 0; i < max; i++) prepare_entry(&found[i], driver, (int)i);
    int n = driver->ops->probe(driver->kind, conf, found, max);
    return n > 0 ? (unsigned)n : 0;
}

static void open_devices(const struct orr_driver *driver, const struct starpu_conf *conf)
{
    struct orr_device *found = &devices[device_count];
    unsigned n = probe(driver, conf, device_count);
    for (unsigned i = 0; i < n; i++) {
        int r = found[i].ops->open ? found[i].ops->open(&found[i]) : 0;
        if (r == 0) {
            attach(&found[i]);
            devices[device_count++] = found[i];
            continue;
        }
        failed = true;
        orr_warn("device %s could not be opened (%s); there is no worker for it, the others go on",
                 found[i].name, strerror(-r));
    }
}

static void find_devices(const struct starpu_conf *conf)
{
    device_count = 0;
    failed = false;
    for (int i = 0; orr_drivers[i].ops; i++)
        if (orr_drivers[i].kind->type != STARPU_CPU_WORKER) open_devices(&orr_drivers[i], conf);
    for (int i = 0; orr_drivers[i].ops; i++)
        if (orr_drivers[i].kind->type == STARPU_CPU_WORKER) open_devices(&orr_drivers[i], conf);
}

/* ---- how many are wanted ---- */

/* A count from conf and the environment, of which one goes before the other; -1: neither says. */
static long wanted(const struct orr_env *e, int from_conf, const struct starpu_conf *conf, long max)
{
    if (from_conf >= 0 && (conf->precedence_over_environment_variables || !orr_env_string(e)))
        return from_conf < max ? from_conf : max;
    return orr_env_long(e, -1, -1, max);
}

long orr_cpus_wanted(const struct starpu_conf *conf, long *reserved_out)
{
    bool new_name = orr_env_string(ORR_SETTING(STARPU_NCPU)) != NULL;
    const struct orr_env *e = new_name ? ORR_SETTING(STARPU_NCPU) : ORR_SETTING(STARPU_NCPUS);
    long n = wanted(e, conf->ncpus, conf, STARPU_MAXCPUS);
    long reserve = wanted(ORR_SETTING(STARPU_RESERVE_NCPU), conf->reserve_ncpus, conf, STARPU_MAXCPUS);
    if (reserve < 0) reserve = 0;
    *reserved_out = reserve + (long)orr_binding_main_cores();
    return n < 0 ? -1 : n > reserve ? n - reserve : 0;
}

/* Workers of the devices that there are; nothing is opened. */
static long accelerators_wanted(const struct starpu_conf *conf)
{
    long workers = 0;
    unsigned count = 0;
    for (int i = 0; orr_drivers[i].ops; i++)
        if (orr_drivers[i].kind->type != STARPU_CPU_WORKER) count += probe(&orr_drivers[i], conf, count);
    for (unsigned d = 0; d < count; d++) workers += devices[d].workers;
    return workers;
}

unsigned orr_cores_wanted(const struct starpu_conf *conf)
{
    struct starpu_conf defaults;
    starpu_conf_init(&defaults);
    long reserved, n = orr_cpus_wanted(conf ? conf : &defaults, &reserved);
    if (n < 0) return 0;
    n += accelerators_wanted(conf ? conf : &defaults);
    return n ? (unsigned)n : 1;
}

/* ---- workers ---- */

/* Tells whether its worker holds it: a policy of the program may have forgotten that (sched/user.c). */
static void init_sched_mutex(pthread_mutex_t *m)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(m, &attr);
    pthread_mutexattr_destroy(&attr);
}

/* "Mini 0", or "Mini 0.1" where several share it; its name says the same, and what the device's adds. */
static void name_worker(struct orr_worker *w, const struct orr_device *d, unsigned which)
{
    char shared[16] = "", begin[32];
    if (d->workers > 1) snprintf(shared, sizeof shared, ".%u", which);
    int length = snprintf(begin, sizeof begin, "%s %d", d->kind->title, d->number);
    const char *more = strncmp(d->name, begin, (size_t)length) == 0 ? d->name + length : "";
    snprintf(w->short_name, sizeof w->short_name, "%s %d%s", d->kind->title, d->number, shared);
    snprintf(w->name, sizeof w->name, "%s %d%s%s", d->kind->title, d->number, shared, more);
}

/* Worker number `which` of those that share d. */
static int add_worker(struct orr_device *d, unsigned which, int core)
{
    struct orr_worker *w = &orr_workers[orr_worker_count];
    memset(w, 0, sizeof *w);
    w->id = (int)orr_worker_count;
    w->type = d->kind->type;
    w->where = STARPU_WORKER_TO_MASK(w->type) | (d->runs_cpu ? STARPU_CPU : 0);
    w->functions = d->runs_cpu ? 0 : d->kind->functions;
    w->devid = d->number;
    w->node = d->node;
    w->bindid = core;
    if (w->type == STARPU_CPU_WORKER) w->node = orr_node_of_core(w->bindid);
    w->device = d;
    w->direct = w->type == STARPU_CPU_WORKER;
    name_worker(w, d, which);
    int r = orr_perf_worker_register(w->id, w->type, w->devid, w->node);
    if (r) return r;
    w->arch = *starpu_worker_get_perf_archtype(w->id, 0);
    init_sched_mutex(ORR_PLAIN_MUTEX(&w->sched_mutex));
    pthread_cond_init(&w->sched_cond, NULL);
    orr_worker_count++;
    return 0;
}

/* The device of each worker, in the order of the drivers; returns how many. */
static unsigned list_workers(struct orr_device **devices_out)
{
    unsigned n = 0, left_out = 0;
    for (int k = 0; orr_drivers[k].ops; k++)
        for (unsigned i = 0; i < device_count; i++) {
            struct orr_device *d = &devices[i];
            if (d->ops != orr_drivers[k].ops || d->kind != orr_drivers[k].kind) continue;
            for (unsigned which = 0; which < d->workers; which++) {
                if (n < STARPU_NMAXWORKERS)
                    devices_out[n++] = d;
                else
                    left_out++;
            }
        }
    if (left_out)
        orr_warn("only %d workers are possible; the others are left out (STARPU_NMAXWORKERS)",
                 STARPU_NMAXWORKERS);
    return n;
}

int orr_workers_setup(const struct starpu_conf *conf)
{
    struct orr_device *of[STARPU_NMAXWORKERS];
    int cores[STARPU_NMAXWORKERS];
    orr_worker_count = 0;
    orr_perf_workers_clear();
    find_devices(conf);
    unsigned n = list_workers(of), which = 0;
    orr_binding_choose(conf, of, n, cores);
    for (unsigned i = 0; i < n; i++) {
        which = i && of[i] == of[i - 1] ? which + 1 : 0;
        int r = add_worker(of[i], which, cores[i]);
        if (r) return r;
    }
    if (orr_worker_count) return 0;
    orr_error("there is no worker: %s", failed ? "no device could be opened; mend that, or give "
                                                 "starpu_conf.ncpus or STARPU_NCPU at least 1"
                                               : "give starpu_conf.ncpus or STARPU_NCPU at least 1, or an "
                                                 "accelerator");
    return -ENODEV;
}

void orr_workers_teardown(void)
{
    for (unsigned i = 0; i < orr_worker_count; i++) {
        pthread_mutex_destroy(&orr_workers[i].sched_mutex);
        pthread_cond_destroy(&orr_workers[i].sched_cond);
    }
    for (unsigned i = 0; i < device_count; i++)
        if (devices[i].ops->close) devices[i].ops->close(&devices[i]);
    orr_combined_fini();
    orr_worker_count = device_count = 0;
}
