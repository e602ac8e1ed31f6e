/* SPDX-License-Identifier: BSD-3-Clause */
/* energy.c: what a CUDA device has taken, as NVIDIA's management library (NVML) tells it.
 * Threads: any. Owns: the functions of that library. Not here: CUDA's own library (library.c).
 *
 * It is loaded at the first question, as few programs ask, and stays: it is begun and never ended. It and
 * CUDA need not number devices alike, so a device is found by where it is plugged in. */
#include "drivers/cuda/energy.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "core/base/env.h"
#include "core/base/log.h"
#include "core/base/sync.h"
#include "core/worker/driver.h"
#include "drivers/cuda/library.h"

enum { NVML_OK = 0 };

/* FUNCTION(name, symbol in the library, parameters); what they return is NVML_OK, or an error. */
#define NVML_FUNCTIONS(FUNCTION)                                                                             \
    FUNCTION(init, nvmlInit_v2, (void))                                                                      \
    FUNCTION(device_by_bus, nvmlDeviceGetHandleByPciBusId_v2, (const char *bus, void **device_out))          \
    FUNCTION(energy_mj, nvmlDeviceGetTotalEnergyConsumption, (void *device, unsigned long long *mj_out))

static ORR_MUTEX(nvml) lock = PTHREAD_MUTEX_INITIALIZER; /* protects loading; leaf */
static bool tried;                                       /* [lock] */

/* [const once tried] */
static struct {
#define FIELD(name, symbol, parameters) int(*name) parameters;
    NVML_FUNCTIONS(FIELD)
#undef FIELD
    const char *(*text)(int result);
} nvml;
static bool usable;

static int failed(const char *of, const char *function, int result)
{
    orr_warn("the energy of %s is not known: %s says %s (%d)", of, function,
             nvml.text ? nvml.text(result) : "an error", result);
    return -EIO;
}

static void load(void)
{
    const char *named = orr_env_string(ORR_SETTING(ORRERY_NVML_LIBRARY));
    const char *const files[] = { named ? named : "libnvidia-ml.so.1", NULL };
    if (named && strcmp(named, "none") == 0) return;
#define LOOK(name, symbol, parameters)                                                                       \
    if (!(*(void **)&nvml.name = orr_cuda_find(#symbol, files))) {                                           \
        orr_info("the energy of CUDA devices is not known: %s has no %s, or is not there", files[0],         \
                 #symbol);                                                                                   \
        return;                                                                                              \
    }
    NVML_FUNCTIONS(LOOK)
#undef LOOK
    *(void **)&nvml.text = orr_cuda_find("nvmlErrorString", files);
    int r = nvml.init();
    usable = r == NVML_OK;
    if (!usable) failed("CUDA devices", "nvmlInit", r);
}

int orr_cuda_energy(const struct orr_device *d, double *joules_out)
{
    void *device;
    unsigned long long mj;
    pthread_mutex_lock(&lock);
    if (!tried) load();
    tried = true;
    pthread_mutex_unlock(&lock);
    if (!usable || !d->bus[0]) return -ENOSYS;
    int r = nvml.device_by_bus(d->bus, &device);
    if (r != NVML_OK) return failed(d->name, "nvmlDeviceGetHandleByPciBusId", r);
    if ((r = nvml.energy_mj(device, &mj)) != NVML_OK)
        return failed(d->name, "nvmlDeviceGetTotalEnergyConsumption", r);
    *joules_out = (double)mj * 1e-3;
    return 0;
}
