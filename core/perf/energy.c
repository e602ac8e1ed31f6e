/* SPDX-License-Identifier: BSD-3-Clause */
/* energy.c: the energy that processors took, from Linux's powercap counters where they can be read.
 * Threads: one measurement at a time, by any thread. Owns: the readings at its start. Not here: energy
 * models. */
#include <starpu_perfmodel.h>
#include <string.h>

#include "core/base/log.h"
#include "core/perf/arch.h"

enum { PACKAGES_MAX = 16 };

static uint64_t start_uj[PACKAGES_MAX]; /* [own: the measurement under way] */
static int packages_started;

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

static bool measurable(int workerid, enum starpu_worker_archtype archi)
{
    return workerid == -1 && archi == STARPU_CPU_WORKER; /* counters are for packages, not for cores */
}

int starpu_energy_start(int workerid, enum starpu_worker_archtype archi)
{
    packages_started = 0;
    if (!measurable(workerid, archi)) return -1;
    while (packages_started < PACKAGES_MAX &&
           read_counter(packages_started, "energy_uj", &start_uj[packages_started]))
        packages_started++;
    return packages_started > 0 ? 0 : -1;
}

/* Joules since the start; below 0 when a counter could not be read again. */
static double joules(void)
{
    double sum = 0;
    for (int i = 0; i < packages_started; i++) {
        uint64_t now, range;
        if (!read_counter(i, "energy_uj", &now)) return -1;
        if (now < start_uj[i] && !read_counter(i, "max_energy_range_uj", &range)) return -1;
        sum += (double)(now >= start_uj[i] ? now - start_uj[i] : range - start_uj[i] + now) * 1e-6;
    }
    return sum;
}

int starpu_energy_stop(struct starpu_perfmodel *model, struct starpu_task *task, unsigned nimpl,
                       unsigned ntasks, int workerid, enum starpu_worker_archtype archi)
{
    if (!measurable(workerid, archi) || packages_started == 0 || ntasks == 0) return -1;
    double energy = joules();
    packages_started = 0;
    if (energy < 0) return -1;
    for (unsigned w = 0; w < orr_perf_worker_count; w++) {
        if (orr_perf_workers[w].type != archi) continue;
        starpu_perfmodel_update_history_n(model, task, starpu_worker_get_perf_archtype((int)w, 0), w, nimpl,
                                          energy / ntasks, ntasks);
        return 0;
    }
    return -1;
}
