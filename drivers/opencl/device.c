/* SPDX-License-Identifier: BSD-3-Clause */
/* device.c: which OpenCL devices there are, and opening one: a context, three queues, a memory node.
 * Threads: probe, open and close the main thread; questions any. Owns: the devices. Not here: copies
 * (memory.c), kernels (kernel.c).
 *
 * Devices are numbered over all platforms, those of kinds that are wanted: GPUs and accelerators, CPUs too
 * with STARPU_OPENCL_ON_CPUS. Devices of one platform share a context, so that they can copy from each other.
 * A device has one worker, whose kernels go through one queue in order; copies to
 * its memory and from it have a queue each, so that all three overlap where the device can. */
#include "core/worker/driver.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/topo/topo.h"
#include "core/worker/worker.h"
#include "drivers/opencl/kernel.h"
#include "drivers/opencl/opencl.h"

enum { DEVICES_MAX = STARPU_MAXOPENCLDEVS > 0 ? STARPU_MAXOPENCLDEVS : 1, PLATFORMS_MAX = 16 };

/* [own: main thread while no worker runs; const while some do] */
static cl_device_id found[DEVICES_MAX];
static cl_platform_id platform_of[DEVICES_MAX];
static bool chosen[DEVICES_MAX];
static struct orr_opencl_device *opened[DEVICES_MAX];
static struct shared_context {
    cl_platform_id platform; /* NULL: nobody else may join */
    cl_context context;
    unsigned users; /* 0: the place is free */
} contexts[DEVICES_MAX];
static _Atomic bool told; /* that cores are used twice: once in a process */

struct orr_opencl_device *orr_opencl_device(int number)
{
    return number >= 0 && number < DEVICES_MAX ? opened[number] : NULL;
}

struct orr_opencl_device *orr_opencl_device_of_node(unsigned node)
{
    for (int i = 0; i < DEVICES_MAX; i++)
        if (opened[i] && opened[i]->node == node) return opened[i];
    return NULL;
}

struct orr_opencl_device *orr_opencl_device_here(void)
{
    int id = starpu_worker_get_id();
    return id >= 0 ? orr_opencl_device_of_node(starpu_worker_get_memory_node((unsigned)id)) : NULL;
}

/* ---- which there are ---- */

/* The sorts of devices that are wanted. */
static cl_device_type wanted_types(void)
{
    if (orr_env_long(ORR_SETTING(STARPU_OPENCL_ONLY_ON_CPUS), 0, 0, 1)) return CL_DEVICE_TYPE_CPU;
    cl_device_type cpus = orr_env_long(ORR_SETTING(STARPU_OPENCL_ON_CPUS), 0, 0, 1) ? CL_DEVICE_TYPE_CPU : 0;
    return CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR | cpus;
}

/* Whether all that the loader would find is PoCL, whose devices are the cores of this machine: then there is
 * nothing to load for who wants no cores, and a program that does not use OpenCL starts a tenth of a second
 * sooner. Who changes the loader's settings is believed to know why. */
static bool only_cores_are_there(void)
{
    static const char folder[] = "/etc/OpenCL/vendors";
    if (orr_env_string(ORR_SETTING(ORRERY_OPENCL_LIBRARY)) ||
        orr_env_string(ORR_SETTING(OCL_ICD_FILENAMES)) || orr_env_string(ORR_SETTING(OCL_ICD_VENDORS)))
        return false;
    DIR *d = opendir(folder);
    if (!d) return false;
    bool pocl = false, other = false;
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        size_t length = strlen(e->d_name);
        if (length < 4 || strcmp(e->d_name + length - 4, ".icd") != 0) continue;
        bool is_pocl = strncmp(e->d_name, "pocl", 4) == 0;
        pocl |= is_pocl;
        other |= !is_pocl;
    }
    closedir(d);
    return pocl && !other;
}

/* All devices of these sorts, in the order of the platforms; returns how many. */
static unsigned find(cl_device_type types)
{
    cl_platform_id platforms[PLATFORMS_MAX];
    cl_uint platform_count = 0, n;
    unsigned count = 0;
    cl_int r = orr_cl.GetPlatformIDs(PLATFORMS_MAX, platforms, &platform_count);
    if (r != CL_SUCCESS) {
        orr_info("there are no OpenCL devices: clGetPlatformIDs says %s (%d)", orr_opencl_error(r), (int)r);
        return 0;
    }
    for (cl_uint p = 0; p < platform_count && p < PLATFORMS_MAX && count < DEVICES_MAX; p++) {
        r = orr_cl.GetDeviceIDs(platforms[p], types, (cl_uint)DEVICES_MAX - count, &found[count], &n);
        if (r == CL_SUCCESS)
            for (cl_uint i = 0; i < n && count < DEVICES_MAX; i++) platform_of[count++] = platforms[p];
        else if (r != CL_DEVICE_NOT_FOUND)
            orr_info("the devices of OpenCL platform %u are left out: clGetDeviceIDs says %s (%d)", p,
                     orr_opencl_error(r), (int)r);
    }
    return count;
}

static void describe(struct orr_device *d, cl_device_id id)
{
    char name[40] = "";
    cl_ulong bytes = 0;
    orr_cl.GetDeviceInfo(id, CL_DEVICE_NAME, sizeof name, name, NULL);
    if (!name[0]) snprintf(name, sizeof name, "device");
    name[sizeof name - 1] = 0;
    orr_cl.GetDeviceInfo(id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    snprintf(d->name, sizeof d->name, "%s %d (%s, %.1f GiB)", d->kind->title, d->number, name,
             (double)bytes / 1073741824.);
}

/* Where a device is plugged in, if its library knows that question (cl_khr_pci_bus_info); else "". */
static void locate(char *bus_out, size_t bytes, cl_device_id id)
{
    enum { PCI_BUS_INFO = 0x410F }; /* not in all headers */
    cl_uint at[4];                  /* domain, bus, device, function */
    bus_out[0] = 0;
    if (orr_cl.GetDeviceInfo(id, PCI_BUS_INFO, sizeof at, at, NULL) == CL_SUCCESS)
        snprintf(bus_out, bytes, "%04x:%02x:%02x.%x", at[0] & 0xffff, at[1] & 0xff, at[2] & 0x1f, at[3] & 7);
}

/* The numbers of those of the first total that no other driver has; returns how many. */
static unsigned free_ones(const struct orr_kind *kind, const struct starpu_conf *conf, unsigned total,
                          int *out)
{
    char bus[20];
    unsigned n = 0;
    for (unsigned i = 0; i < total; i++) {
        locate(bus, sizeof bus, found[i]);
        if (!orr_device_is_anothers(kind, conf, bus)) out[n++] = (int)i;
    }
    return n;
}

static int opencl_probe(const struct orr_kind *kind, const struct starpu_conf *conf, struct orr_device *out,
                        unsigned max)
{
    int ids[DEVICES_MAX];
    long wanted = orr_kind_wanted(kind, conf, DEVICES_MAX);
    cl_device_type types = wanted_types();
    if (wanted == 0 || STARPU_MAXOPENCLDEVS == 0) return 0;
    if (!(types & CL_DEVICE_TYPE_CPU) && only_cores_are_there()) return 0;
    if (!orr_opencl_load()) return 0;
    unsigned total = find(types), n = orr_kind_ids(kind, conf, ids, DEVICES_MAX), first;
    if (total == 0) return 0;
    if (n == 0) {
        int numbers[DEVICES_MAX];
        unsigned free_count = free_ones(kind, conf, total, numbers);
        n = free_count ? orr_topo_devices(free_count, wanted, &first) : 0;
        for (unsigned i = 0; i < n; i++) ids[i] = numbers[(first + i) % free_count];
    } else if (wanted > 0 && (unsigned)wanted < n) {
        n = (unsigned)wanted;
    }
    unsigned count = 0;
    memset(chosen, 0, sizeof chosen);
    for (unsigned i = 0; i < n && count < max; i++) {
        if ((unsigned)ids[i] >= total) {
            orr_warn("there is no %s device %d, only 0 to %u: it is left out", kind->title, ids[i],
                     total - 1);
            continue;
        }
        out[count].number = ids[i];
        describe(&out[count], found[ids[i]]);
        locate(out[count].bus, sizeof out[count].bus, found[ids[i]]);
        out[count].runs_cpu = orr_opencl_runs_cpu_functions();
        chosen[ids[i]] = true;
        count++;
    }
    return (int)count;
}

/* ---- opening one ---- */

static int say(const struct orr_opencl_device *d, const char *what, cl_int r)
{
    orr_warn("%s: %s says %s (%d)", d->name, what, orr_opencl_error(r), (int)r);
    return r == CL_OUT_OF_HOST_MEMORY ? -ENOMEM : -ENODEV;
}

/* What it is asked for, else most of what it has: what else uses it needs some, too. */
static size_t memory_limit(const struct orr_kind *kind, const struct orr_opencl_device *d)
{
    cl_ulong bytes = 0;
    size_t limit = orr_kind_memory_limit(kind, d->number);
    if (limit > 0) return limit;
    if (orr_cl.GetDeviceInfo(d->id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof bytes, &bytes, NULL) != CL_SUCCESS)
        return 0;
    return (size_t)(bytes / 10 * 9);
}

/* The place of a context that several devices have, or might have; NULL: it is one device's. */
static struct shared_context *place_of(cl_context context)
{
    for (int i = 0; i < DEVICES_MAX; i++)
        if (contexts[i].users > 0 && contexts[i].context == context) return &contexts[i];
    return NULL;
}

/* A context for it and all others of its platform that are wanted; false: there can be none. */
static bool share_context(struct orr_opencl_device *d)
{
    cl_platform_id platform = platform_of[d->number];
    cl_device_id ids[DEVICES_MAX];
    struct shared_context *place = NULL;
    cl_uint n = 0;
    for (int i = 0; i < DEVICES_MAX; i++) {
        if (chosen[i] && platform_of[i] == platform) ids[n++] = found[i];
        if (contexts[i].users == 0)
            place = &contexts[i];
        else if (contexts[i].platform == platform) {
            d->context = contexts[i].context;
            contexts[i].users++;
            return true;
        }
    }
    if (n < 2 || !place) return false;
    d->context = orr_cl.CreateContext(NULL, n, ids, NULL, NULL, NULL);
    if (d->context) *place = (struct shared_context){ platform, d->context, 1 };
    return d->context != NULL;
}

static void close_queues(struct orr_opencl_device *d)
{
    struct shared_context *place = place_of(d->context);
    if (d->kernels) orr_cl.ReleaseCommandQueue(d->kernels);
    if (d->in) orr_cl.ReleaseCommandQueue(d->in);
    if (d->out) orr_cl.ReleaseCommandQueue(d->out);
    if (d->context && (!place || --place->users == 0)) orr_cl.ReleaseContext(d->context);
}

static int open_queues(struct orr_opencl_device *d)
{
    cl_int r;
    if (!share_context(d)) d->context = orr_cl.CreateContext(NULL, 1, &d->id, NULL, NULL, &r);
    if (!d->context) return say(d, "clCreateContext", r);
    cl_command_queue *queues[] = { &d->kernels, &d->in, &d->out };
    for (int i = 0; i < 3; i++) {
        cl_command_queue_properties p = i == 0 ? CL_QUEUE_PROFILING_ENABLE : 0; /* programs ask its events */
        *queues[i] = orr_cl.CreateCommandQueue(d->context, d->id, p, &r);
        if (!*queues[i]) return say(d, "clCreateCommandQueue", r);
    }
    return 0;
}

static int opencl_open(struct orr_device *device)
{
    char name[32];
    cl_device_type type = 0;
    cl_bool unified = CL_FALSE;
    struct orr_opencl_device *d = orr_calloc(1, sizeof *d);
    if (!d) return -ENOMEM;
    d->number = device->number;
    d->id = found[device->number];
    memcpy(d->name, device->name, sizeof d->name);
    d->patience_ns = (uint64_t)(orr_env_double(ORR_SETTING(ORRERY_DEVICE_PATIENCE), 0, 0, 1e6) * 1e9);
    orr_cl.GetDeviceInfo(d->id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    d->is_cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
    orr_cl.GetDeviceInfo(d->id, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof unified, &unified, NULL);
    d->in_place = d->is_cpu && unified;
    device->uses_cores = d->is_cpu;
    snprintf(name, sizeof name, "%s %d", device->kind->title, device->number);
    int node = open_queues(d);
    if (node == 0)
        node = orr_node_register(device->kind->memory, device->number, &orr_opencl_node_ops,
                                 memory_limit(device->kind, d), name);
    if (node < 0) {
        close_queues(d);
        orr_free(d);
        return node;
    }
    device->state = d;
    device->node = d->node = (unsigned)node;
    opened[d->number] = d;
    return 0;
}

static struct orr_opencl_device *kept; /* [own: who stops the runtime] */

/* What does not answer keeps what it has: it might still use it. */
static void opencl_close(struct orr_device *device)
{
    struct orr_opencl_device *d = device->state;
    opened[d->number] = NULL;
    if (orr_load_relaxed(&d->silent) || !orr_opencl_bell_rests(d)) {
        struct shared_context *place = place_of(d->context);
        if (place) place->platform = NULL;
        d->next_kept = kept;
        kept = d;
        return;
    }
    close_queues(d);
    orr_free(d);
}

/* Workers of CPUs are there now. */
static void opencl_enter(struct orr_worker *w)
{
    struct orr_opencl_device *d = w->device->state;
    unsigned cpus = starpu_cpu_worker_get_count();
    if (!d->is_cpu || cpus == 0 || orr_exchange_acq_rel(&told, true)) return;
    orr_note(
        "%s consists of cores of this machine, which %u CPU workers use as well: both are slower for it; "
        "STARPU_NCPU=0 leaves the cores to the device, POCL_MAX_PTHREAD_COUNT gives it fewer",
        d->name, cpus);
}

static bool opencl_is_named(const struct orr_device *d, const struct starpu_driver *name)
{
    return found[d->number] == name->id.opencl_id;
}

const struct orr_driver_ops orr_opencl_driver = {
    .name = "OpenCL",
    .probe = opencl_probe,
    .open = opencl_open,
    .close = opencl_close,
    .enter = opencl_enter,
    .submit = orr_opencl_submit,
    .test = orr_opencl_test,
    .alarm = orr_opencl_alarm,
    .is_named = opencl_is_named,
    .brief_depth = ORR_OPENCL_BRIEF,
};
