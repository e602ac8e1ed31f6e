/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CUDA's own driver library, such that tests of data run on a GPU: what is not here is that library itself,
 * which this one is linked with. Two things differ. Memory of devices is managed memory, which functions for
 * CPUs reach, so that they can stand for kernels; and one GPU is several devices, each with a context of its
 * own. ORR_DOUBLE_CUDA_DEVICES, _PEERS and _MEM_KB are those of the double (tests/double/cuda.h). Where CPUs
 * cannot reach managed memory while the GPU works, devices' memory is pinned memory of the host, copied by
 * the GPU. Threads: any, as CUDA's. Owns: the contexts, how much memory is used. Not here: faults
 * (tests/double/cuda.c).
 */
#include "tests/double/cuda.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/cuda/api.h"

#define API __attribute__((visibility("default")))

enum { DEVICES_MAX = 8, ATTACH_GLOBAL = 1, CONCURRENT_MANAGED_ACCESS = 89 };

/* FUNCTION(name, symbol, parameters): of CUDA's library, beyond those that the driver uses. */
#define MORE_FUNCTIONS(FUNCTION)                                                                             \
    FUNCTION(alloc_managed, cuMemAllocManaged, (cuda_address * out, size_t bytes, unsigned flags))           \
    FUNCTION(range, cuMemGetAddressRange_v2, (cuda_address * out, size_t * bytes_out, cuda_address p))       \
    FUNCTION(attribute, cuDeviceGetAttribute, (int *out, int attribute, cuda_device_handle d))               \
    FUNCTION(context_create, cuCtxCreate_v2, (cuda_context * out, unsigned flags, cuda_device_handle d))     \
    FUNCTION(context_destroy, cuCtxDestroy_v2, (cuda_context c))

static struct {
#define FIELD(name, symbol, parameters) int(*name) parameters;
    CUDA_FUNCTIONS(FIELD) MORE_FUNCTIONS(FIELD)
#undef FIELD
} real;

static cuda_context contexts[DEVICES_MAX]; /* [0]: the primary one */
static atomic_size_t used;                 /* bytes, of all devices */
static int managed;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static long number(const char *name, long usual)
{
    const char *s = getenv(name);
    return s && *s ? atol(s) : usual;
}

static void load(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
#define LOOK(name, symbol, parameters)                                                                       \
    if (!library || !(*(void **)&real.name = dlsym(library, #symbol))) {                                     \
        fprintf(stderr, "tests/double/gpu: libcuda.so.1 has no " #symbol "\n");                              \
        exit(1);                                                                                             \
    }
    CUDA_FUNCTIONS(LOOK) MORE_FUNCTIONS(LOOK)
#undef LOOK
}

API int cuInit(unsigned flags);
int cuInit(unsigned flags)
{
    pthread_once(&once, load);
    int r = real.init(flags);
    if (r == CUDA_OK) real.attribute(&managed, CONCURRENT_MANAGED_ACCESS, 0);
    if (r == CUDA_OK && number("ORR_DOUBLE_CUDA_SAY", 0))
        fprintf(stderr, "a GPU is used as %ld devices, %s memory\n", number("ORR_DOUBLE_CUDA_DEVICES", 2),
                managed ? "managed" : "pinned");
    return r;
}

API int double_cuda_runs_cpu_functions(void)
{
    return number("ORR_DOUBLE_CUDA_RUN_CPU_FUNCS", 0) == 1;
}

/* ---- devices ---- */

API int cuDeviceGetCount(int *out);
int cuDeviceGetCount(int *out)
{
    int r = real.device_count(out);
    if (r == CUDA_OK && *out > 0) *out = (int)number("ORR_DOUBLE_CUDA_DEVICES", 2);
    if (r == CUDA_OK && *out > DEVICES_MAX) *out = DEVICES_MAX;
    return r;
}

API int cuDeviceGet(cuda_device_handle *out, int n);
int cuDeviceGet(cuda_device_handle *out, int n)
{
    *out = n;
    return CUDA_OK;
}

API int cuDeviceGetName(char *out, int bytes, cuda_device_handle d);
int cuDeviceGetName(char *out, int bytes, cuda_device_handle d)
{
    (void)d;
    return real.device_name(out, bytes, 0);
}

API int cuDeviceGetPCIBusId(char *out, int bytes, cuda_device_handle d);
int cuDeviceGetPCIBusId(char *out, int bytes, cuda_device_handle d)
{
    (void)d;
    return real.device_bus(out, bytes, 0);
}

API int cuDeviceCanAccessPeer(int *out, cuda_device_handle d, cuda_device_handle to);
int cuDeviceCanAccessPeer(int *out, cuda_device_handle d, cuda_device_handle to)
{
    *out = d != to && number("ORR_DOUBLE_CUDA_PEERS", 1) != 0;
    return CUDA_OK;
}

API int cuCtxEnablePeerAccess(cuda_context to, unsigned flags);
int cuCtxEnablePeerAccess(cuda_context to, unsigned flags)
{
    (void)to, (void)flags; /* it is the same GPU: the driver itself only copies */
    return CUDA_OK;
}

API int cuDevicePrimaryCtxRetain(cuda_context *out, cuda_device_handle d);
int cuDevicePrimaryCtxRetain(cuda_context *out, cuda_device_handle d)
{
    cuda_context was;
    int r = d == 0 ? real.context_retain(out, 0) : real.context_create(out, 0, 0);
    if (r != CUDA_OK) return r;
    contexts[d] = *out;
    if (d != 0) real.context_pop(&was); /* creating one makes it current */
    return CUDA_OK;
}

API int cuDevicePrimaryCtxRelease_v2(cuda_device_handle d);
int cuDevicePrimaryCtxRelease_v2(cuda_device_handle d)
{
    return d == 0 ? real.context_release(0) : real.context_destroy(contexts[d]);
}

/* ---- memory ---- */

static size_t memory_of_all(void)
{
    return (size_t)number("ORR_DOUBLE_CUDA_MEM_KB", 65536) * (size_t)number("ORR_DOUBLE_CUDA_DEVICES", 2)
           << 10;
}

API int cuMemGetInfo_v2(size_t *free_out, size_t *total_out);
int cuMemGetInfo_v2(size_t *free_out, size_t *total_out)
{
    *free_out = *total_out = (size_t)number("ORR_DOUBLE_CUDA_MEM_KB", 65536) << 10;
    return CUDA_OK;
}

API int cuMemAlloc_v2(cuda_address *out, size_t bytes);
int cuMemAlloc_v2(cuda_address *out, size_t bytes)
{
    if (atomic_fetch_add(&used, bytes) + bytes > memory_of_all()) {
        atomic_fetch_sub(&used, bytes);
        return CUDA_NO_MEMORY;
    }
    void *host = NULL;
    int r = managed ? real.alloc_managed(out, bytes, ATTACH_GLOBAL)
                    : real.host_alloc(&host, bytes, CUDA_ALLOC_PORTABLE);
    if (r != CUDA_OK)
        atomic_fetch_sub(&used, bytes);
    else if (!managed)
        *out = (cuda_address)(size_t)host;
    if (r == CUDA_OK) memset((void *)(size_t)*out, 0xdb, bytes); /* what nobody wrote is no zero */
    return r;
}

API int cuMemFree_v2(cuda_address p);
int cuMemFree_v2(cuda_address p)
{
    cuda_address base;
    size_t bytes = 0;
    real.range(&base, &bytes, p);
    int r = managed ? real.free(p) : real.host_free((void *)(size_t)p);
    if (r == CUDA_OK) atomic_fetch_sub(&used, bytes);
    return r;
}
