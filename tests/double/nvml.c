/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A test double of NVIDIA's management library: the devices of CUDA's double, where those are plugged in, and
 * numbered the other way round; their energy is what the test says. Use before the beginning, and of what is
 * no device, ends the process.
 * Threads: any. Owns: the counters. Not here: what tests ask of it (nvml.h).
 */
#include "tests/double/nvml.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

enum { DEVICES = 8, OK = 0, NOT_FOUND = 6, UNKNOWN = 999 };

static atomic_bool begun;
static struct {
    atomic_llong mj;
} devices[DEVICES]; /* the last is the first of CUDA's */

API int nvmlInit_v2(void);
API int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device_out);
API int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj_out);
API const char *nvmlErrorString(int result);
API void double_nvml_use(int device, long long mj);

static int fails(const char *name)
{
    const char *asked = getenv("ORR_DOUBLE_NVML_FAIL");
    if (strcmp(name, "nvmlInit_v2") != 0 && !atomic_load(&begun)) {
        fprintf(stderr, "double of NVML: %s before nvmlInit\n", name);
        abort();
    }
    return asked && strcmp(asked, name) == 0;
}

int nvmlInit_v2(void)
{
    if (fails(__func__)) return UNKNOWN;
    atomic_store(&begun, true);
    return OK;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device_out)
{
    unsigned domain, at, slot, function;
    if (fails(__func__)) return UNKNOWN;
    if (sscanf(bus, "%x:%x:%x.%x", &domain, &at, &slot, &function) != 4 || domain || slot || function ||
        at % 32 || at == 0 || at / 32 > DEVICES)
        return NOT_FOUND;
    *device_out = &devices[DEVICES - at / 32];
    return OK;
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj_out)
{
    if (fails(__func__)) return UNKNOWN;
    for (int i = 0; i < DEVICES; i++) {
        if (device != &devices[i]) continue;
        *mj_out = (unsigned long long)atomic_load(&devices[i].mj);
        return OK;
    }
    fprintf(stderr, "double of NVML: %p is no device\n", device);
    abort();
}

const char *nvmlErrorString(int result)
{
    return result == NOT_FOUND ? "Not Found" : "Unknown Error";
}

void double_nvml_use(int device, long long mj)
{
    atomic_fetch_add(&devices[DEVICES - 1 - device].mj, mj);
}
