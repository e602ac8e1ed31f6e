/* SPDX-License-Identifier: BSD-3-Clause */
/* sim.c: a simulated accelerator, so that everything heterogeneous is tested on machines without one. Off by
 * default.
 * Threads: see core/worker/driver.h. Owns: the devices. Not here: their memory and links (memory.c).
 *
 * It passes for a device of the kind that ORRERY_SIM_TYPE says, or several kinds share the devices: codelets'
 * implementations for that kind run on it, on the worker's own core, with addresses of memory that is apart
 * from the program's; so do codelets that only have a CPU implementation, unless ORRERY_SIM_RUN_CPU_FUNCS is
 * 0. A kernel takes its real time or its modelled time, the longer: the body runs when it is submitted, and
 * its end shows when that time has passed. A device computes one kernel after another, whichever of its
 * workers they came from. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/task/task.h"
#include "core/topo/topo.h"
#include "core/worker/driver.h"
#include "core/worker/worker.h"
#include "drivers/sim/faults.h"
#include "drivers/sim/memory.h"

struct sim_device {
    struct sim_memory memory;
    struct sim_faults faults;
    double speed, kernel_us;
    _Atomic uint64_t free_at_ns; /* when it has nothing more to compute */
};

extern const struct orr_driver_ops orr_sim_driver;

/* A kind for which it can pass; NULL: the word is none. */
static const struct orr_kind *kind_by_word(const char *word, size_t length)
{
    const struct orr_kind *k = orr_kind_by_word(word, length);
    for (int i = 0; k && orr_drivers[i].ops; i++)
        if (orr_drivers[i].ops == &orr_sim_driver && orr_drivers[i].kind == k) return k;
    return NULL;
}

/* The kinds that the devices pass for, in turn; returns how many. */
static unsigned kinds_played(const struct orr_kind *out[STARPU_NARCH])
{
    const char *types = orr_env_string(ORR_SETTING(ORRERY_SIM_TYPE));
    unsigned count = 0;
    for (const char *at = types; at && count < STARPU_NARCH;) {
        size_t length = strcspn(at, ",");
        if (!(out[count++] = kind_by_word(at, length))) {
            orr_env_refuse(ORR_SETTING(ORRERY_SIM_TYPE), "kinds of devices (cuda, opencl...)", "cuda");
            count = 0;
            break;
        }
        at = at[length] ? at + length + 1 : NULL;
    }
    if (count > 0) return count;
    out[0] = &orr_kinds[STARPU_CUDA_WORKER];
    return 1;
}

/* How many of the devices pass for that kind, of which ranks of a node have a part each, from *first_out on
 * modulo *total_out. */
static unsigned sim_count(const struct orr_kind *kind, const struct starpu_conf *conf, unsigned *first_out,
                          unsigned *total_out)
{
    const struct orr_kind *kinds[STARPU_NARCH];
    long devices = orr_env_long(ORR_SETTING(ORRERY_SIM_DEVICES), 0, 0, STARPU_MAXNODES - 1), n = 0;
    if (devices == 0) return 0;
    unsigned count = kinds_played(kinds);
    for (long i = 0; i < devices; i++) n += kinds[i % count] == kind;
    if (n == 0) return 0;
    *total_out = (unsigned)n;
    return orr_topo_devices((unsigned)n, orr_kind_wanted(kind, conf, STARPU_MAXNODES), first_out);
}

static double memory_mib(void)
{
    return orr_env_double(ORR_SETTING(ORRERY_SIM_MEM_MB), 512, 1e-3, 1e6);
}

static int sim_probe(const struct orr_kind *kind, const struct starpu_conf *conf, struct orr_device *out,
                     unsigned max)
{
    unsigned first = 0, total = 1, n = sim_count(kind, conf, &first, &total);
    if (n > max) n = max;
    for (unsigned i = 0; i < n; i++) {
        out[i].number = (int)((first + i) % total);
        snprintf(out[i].name, sizeof out[i].name, "%s %d (simulated, %.1f MiB)", kind->title, out[i].number,
                 memory_mib());
        out[i].workers = (unsigned)orr_env_long(ORR_SETTING(ORRERY_SIM_WORKERS_PER_DEVICE), 1, 1, 16);
        out[i].runs_cpu = orr_env_long(ORR_SETTING(ORRERY_SIM_RUN_CPU_FUNCS), 1, 0, 1) != 0;
    }
    return (int)n;
}

static int sim_open(struct orr_device *device)
{
    char name[32];
    struct sim_device *d = orr_calloc(1, sizeof *d);
    if (!d) return -ENOMEM;
    d->speed = orr_env_double(ORR_SETTING(ORRERY_SIM_SPEED), 1, 1e-6, 1e6);
    d->kernel_us = orr_env_double(ORR_SETTING(ORRERY_SIM_KERNEL_US), 0, 0, 1e9);
    d->memory.bandwidth_MB_per_s = orr_env_double(ORR_SETTING(ORRERY_SIM_BANDWIDTH_MB_S), 10000, 1e-3, 1e9);
    d->memory.latency_us = orr_env_double(ORR_SETTING(ORRERY_SIM_LATENCY_US), 10, 0, 1e9);
    d->memory.peers = orr_env_long(ORR_SETTING(ORRERY_SIM_PEERS), 0, 0, 1) != 0;
    d->memory.shown = orr_env_long(ORR_SETTING(ORRERY_SIM_DIRECT), 0, 0, 1) != 0;
    snprintf(name, sizeof name, "%s %d", device->kind->title, device->number);
    orr_sim_faults_init(&d->faults, device->number);
    d->memory.faults = &d->faults;
    int r = orr_sim_fails(&d->faults, SIM_OPEN)
                ? -ENODEV
                : orr_sim_memory_init(&d->memory, device->kind->memory, device->number,
                                      (size_t)(memory_mib() * 1048576.), name);
    if (r) {
        orr_free(d);
        return r;
    }
    device->state = d;
    device->node = d->memory.node;
    return 0;
}

static void sim_close(struct orr_device *device)
{
    struct sim_device *d = device->state;
    orr_sim_memory_fini(&d->memory);
    orr_free(d);
}

/* The time of the device, after all that was started before: returns when a kernel of so many us ends. */
static uint64_t end_of_kernel(struct sim_device *d, uint64_t start_ns, double us)
{
    uint64_t free_at = orr_load_relaxed(&d->free_at_ns), end;
    do {
        end = (free_at > start_ns ? free_at : start_ns) + (uint64_t)(us * 1e3);
    } while (!orr_cas_weak_acq_rel(&d->free_at_ns, &free_at, end));
    return end;
}

static int sim_test(struct orr_worker *w, struct orr_kernel *k)
{
    struct sim_device *d = w->device->state;
    if (orr_clock_ns() < k->words[0]) return -EAGAIN;
    return k->words[1] || orr_load_relaxed(&d->faults.dead) ? -EIO : 0;
}

static int sim_submit(struct orr_worker *w, struct orr_task *t, struct orr_kernel *k)
{
    struct sim_device *d = w->device->state;
    struct starpu_task *p = t->pub;
    if (orr_sim_fails(&d->faults, SIM_SUBMIT)) return -EIO;
    uint64_t start = orr_clock_ns();
    orr_worker_function(w, p->cl, t->nimpl)(STARPU_TASK_GET_INTERFACES(p), p->cl_arg);
    double real_us = (double)(orr_clock_ns() - start) * 1e-3, model_us = real_us / d->speed;
    if (model_us < d->kernel_us) model_us = d->kernel_us;
    k->us = model_us > real_us ? model_us : real_us;
    k->words[0] = end_of_kernel(d, start, k->us);
    k->words[1] = orr_sim_fails(&d->faults, SIM_KERNEL);
    int r = sim_test(w, k);
    return r && r != -EAGAIN ? -EAGAIN : r; /* a body that ran has started: its failure is for test to tell */
}

const struct orr_driver_ops orr_sim_driver = {
    .name = "Sim",
    .probe = sim_probe,
    .open = sim_open,
    .close = sim_close,
    .submit = sim_submit,
    .test = sim_test,
};
