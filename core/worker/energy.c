/* SPDX-License-Identifier: BSD-3-Clause */
/* energy.c: the energy that processors took, from Linux's powercap counters where they can be read, and that
 * devices took, where their drivers can tell.
 * Threads: one measurement at a time of a worker, and of the processors, by any. Owns: the readings at its
 * start. Not here: energy models. */
#include <starpu_perfmodel.h>
#include <string.h>

#include "core/base/log.h"
#include "core/perf/arch.h"
#include "core/worker/driver.h"
#include "core/worker/worker.h"

enum { PACKAGES_MAX = 16 };

static uint64_t start_uj[PACKAGES_MAX]; /* [own: the measurement under way] */
static int packages_started;
static struct {
    bool started;
    double joules;
} of_device[STARPU_NMAXWORKERS]; /* [own: the measurement of that worker under way] */

/* ---- processors ---- */

static bool read_counter(int package, const char *file, uint64_t *value_out)
{
    char path[96];
    unsigned long long v;
    snprintf(path, sizeof path, "/sys/class/powercap/intel-rapl:%d/%s", package, file);
    FILE *f = fopen(path, "re");
    if (!f) return false;
    bool ok = fscanf(f, "%llu", &v) == 1;
    fclose(f);
    if (ok) *value_out = v;
    return ok;
}

static int start_packages(void)
{
    packages_started = 0;
    while (packages_started < PACKAGES_MAX &&
           read_counter(packages_started, "energy_uj", &start_uj[packages_started]))
        packages_started++;
    return packages_started > 0 ? 0 : -1;
}

/* Joules since the start; below 0 when there was none, or a counter could not be read again. */
static double stop_packages(void)
{
    int count = packages_started;
    double sum = count > 0 ? 0 : -1;
    packages_started = 0;
    for (int i = 0; i < count; i++) {
        uint64_t now, range;
        if (!read_counter(i, "energy_uj", &now)) return -1;
        if (now < start_uj[i] && !read_counter(i, "max_energy_range_uj", &range)) return -1;
        sum += (double)(now >= start_uj[i] ? now - start_uj[i] : range - start_uj[i] + now) * 1e-6;
    }
    return sum;
}

/* ---- devices ---- */

/* The device of a worker of that kind, if it can tell; NULL. */
static const struct orr_device *device_of(int workerid, enum starpu_worker_archtype archi)
{
    if (workerid < 0 || (unsigned)workerid >= orr_worker_count) return NULL;
    const struct orr_worker *w = &orr_workers[workerid];
    return w->type == archi && w->device->ops->energy ? w->device : NULL;
}

static int start_device(int workerid, enum starpu_worker_archtype archi)
{
    const struct orr_device *d = device_of(workerid, archi);
    if (!d) return -1;
    of_device[workerid].started = d->ops->energy(d, &of_device[workerid].joules) == 0;
    return of_device[workerid].started ? 0 : -1;
}

/* As stop_packages. */
static double stop_device(int workerid, enum starpu_worker_archtype archi)
{
    const struct orr_device *d = device_of(workerid, archi);
    double now;
    if (!d || !of_device[workerid].started) return -1;
    of_device[workerid].started = false;
    return d->ops->energy(d, &now) == 0 ? now - of_device[workerid].joules : -1;
}

/* ---- both ---- */

/* Counters of processors are for packages, not for cores. */
static bool means_packages(int workerid, enum starpu_worker_archtype archi)
{
    return workerid == -1 && archi == STARPU_CPU_WORKER;
}

int starpu_energy_start(int workerid, enum starpu_worker_archtype archi)
{
    return means_packages(workerid, archi) ? start_packages() : start_device(workerid, archi);
}

int starpu_energy_stop(struct starpu_perfmodel *model, struct starpu_task *task, unsigned nimpl,
                       unsigned ntasks, int workerid, enum starpu_worker_archtype archi)
{
    bool packages = means_packages(workerid, archi);
    if (ntasks == 0) return -1;
    double energy = packages ? stop_packages() : stop_device(workerid, archi);
    if (energy < 0) return -1;
    int w = packages ? starpu_worker_get_by_type(archi, 0) : workerid;
    if (w < 0) return -1;
    starpu_perfmodel_update_history_n(model, task, starpu_worker_get_perf_archtype(w, 0), (unsigned)w, nimpl,
                                      energy / ntasks, ntasks);
    return 0;
}
