/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An OpenCL library that passes calls on to the real one, and has some of them fail: those that the test asks
 * for by their number, or ORR_SHIM_FAIL says ("7", "7-9", "clCreateBuffer"). With ORRERY_OPENCL_LIBRARY the
 * driver takes it for OpenCL. With ORR_SHIM_ADDRESSES=1 a buffer is known by the address of its bytes, which
 * are main memory that an OpenCL device of this machine's cores uses in place: so functions for CPUs can run
 * on such devices, and the driver lets them (shim_runs_cpu_functions). Copies go the way of all buffers.
 * Threads: any. Owns: the count of calls. Not here: what is to follow (tests/opencl/failures.c).
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/opencl/shim.h"

static atomic_long calls, first = LONG_MAX, last, failed;
static const char *_Atomic name_of_first, *_Atomic always;
static atomic_int silent, late;
static int addresses; /* ORR_SHIM_ADDRESSES, read as the library is loaded */
static atomic_long events, markers, copies, rings;
enum { DEVICES_MAX = 8 };
static struct {
    const unsigned (*at)[4];
    int n, asked;
    cl_device_id devices[DEVICES_MAX]; /* in the order in which they were asked */
} plugs;                               /* of one thread: devices are looked for by main */

static void shim_fail(long from, long to)
{
    atomic_store(&calls, 0);
    atomic_store(&failed, 0);
    atomic_store(&name_of_first, NULL);
    atomic_store(&first, from);
    atomic_store(&last, to);
}

static long shim_failed(const char **name_out)
{
    *name_out = atomic_load(&name_of_first);
    return atomic_load(&failed);
}

static void shim_silent(int now)
{
    atomic_store(&silent, now);
}

static void shim_fail_always(const char *name)
{
    atomic_store(&always, name);
}

static void shim_late(int now)
{
    atomic_store(&late, now);
}

static void shim_plug_in(const unsigned (*at)[4], int n)
{
    plugs.at = at;
    plugs.n = n;
    plugs.asked = 0;
}

static struct shim_counts shim_counts(void)
{
    return (struct shim_counts){ .events = atomic_load(&events),
                                 .markers = atomic_load(&markers),
                                 .copies = atomic_load(&copies),
                                 .rings = atomic_load(&rings) };
}

const struct shim shim_control = { .fail = shim_fail,
                                   .fail_always = shim_fail_always,
                                   .failed = shim_failed,
                                   .silent = shim_silent,
                                   .late = shim_late,
                                   .plug_in = shim_plug_in,
                                   .counts = shim_counts };

static int fails(const char *name)
{
    long n = atomic_fetch_add(&calls, 1) + 1;
    const char *a = atomic_load(&always);
    if (a && strcmp(a, name) == 0) {
        atomic_fetch_add(&failed, 1);
        return 1;
    }
    if (n < atomic_load(&first) || n > atomic_load(&last)) return 0;
    if (atomic_fetch_add(&failed, 1) == 0) atomic_store(&name_of_first, name);
    return 1;
}

/* What the environment wants to fail, for programs that do not know us. */
__attribute__((constructor)) static void read_environment(void)
{
    const char *fail = getenv("ORR_SHIM_FAIL"), *a = getenv("ORR_SHIM_ADDRESSES");
    char *end;
    addresses = a && strcmp(a, "1") == 0;
    if (addresses && getenv("ORR_SHIM_SAY")) printf("# OpenCL's buffers are known by their addresses\n");
    if (!fail) return;
    long from = strtol(fail, &end, 10);
    if (end == fail)
        shim_fail_always(fail);
    else
        shim_fail(from, *end == '-' ? atol(end + 1) : from);
}

static void *real(const char *name)
{
    static void *_Atomic library;
    void *l = atomic_load(&library);
    if (!l) atomic_store(&library, l = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL));
    return dlsym(l, name);
}

/* ---- buffers that are known by their address ---- */

/* Before the bytes of such a buffer. */
struct buffer {
    uint64_t mark;
    cl_mem mem;
};
enum { HEAD = 128 }; /* bytes, at least a struct buffer; as aligned as OpenCL wants it */
static const uint64_t buffer_mark = 0x6f72722d73686d21;

int shim_runs_cpu_functions(void)
{
    return addresses;
}

/* The library's name for a buffer. What is no buffer of ours, but an address within one, ends the program. */
static cl_mem mem_of(cl_mem m)
{
    if (!addresses) return m;
    struct buffer *b = (struct buffer *)((char *)m - HEAD);
    if (b->mark == buffer_mark) return b->mem;
    fprintf(stderr, "shim: %p is no buffer\n", (void *)m);
    abort();
}

static void CL_CALLBACK free_bytes(cl_mem m, void *arg)
{
    (void)m;
    free(arg);
}

static cl_mem buffer_of_addresses(cl_context c, cl_mem_flags f, size_t s, cl_int *err)
{
    struct buffer *b = NULL;
    if (posix_memalign((void **)&b, HEAD, HEAD + s) != 0) {
        if (err) *err = CL_OUT_OF_HOST_MEMORY;
        return NULL;
    }
    char *bytes = (char *)b + HEAD;
    memset(bytes, 0xa5, s);
    b->mark = buffer_mark;
    b->mem = ((__typeof__(&clCreateBuffer))real("clCreateBuffer"))(c, f | CL_MEM_USE_HOST_PTR, s, bytes, err);
    if (b->mem && ((__typeof__(&clSetMemObjectDestructorCallback))real("clSetMemObjectDestructorCallback"))(
                      b->mem, free_bytes, b) == CL_SUCCESS)
        return (cl_mem)bytes;
    free(b);
    return NULL;
}

/* A call that returns its status; one that returns an object, and its status by err. */
#define STATUS(name, parameters, arguments)                                                                  \
    cl_int name parameters                                                                                   \
    {                                                                                                        \
        static __typeof__(&name) _Atomic fn;                                                                 \
        if (fails(#name)) return CL_OUT_OF_RESOURCES;                                                        \
        if (!atomic_load(&fn)) atomic_store(&fn, (__typeof__(&name))real(#name));                            \
        return atomic_load(&fn) arguments;                                                                   \
    }
#define OBJECT(type, name, parameters, arguments)                                                            \
    type name parameters                                                                                     \
    {                                                                                                        \
        static __typeof__(&name) _Atomic fn;                                                                 \
        if (fails(#name)) {                                                                                  \
            if (err) *err = CL_OUT_OF_RESOURCES;                                                             \
            return NULL;                                                                                     \
        }                                                                                                    \
        if (!atomic_load(&fn)) atomic_store(&fn, (__typeof__(&name))real(#name));                            \
        return atomic_load(&fn) arguments;                                                                   \
    }
/* One that may make an event. */
#define COMMAND(name, parameters, arguments)                                                                 \
    cl_int name parameters                                                                                   \
    {                                                                                                        \
        static __typeof__(&name) _Atomic fn;                                                                 \
        if (fails(#name)) return CL_OUT_OF_RESOURCES;                                                        \
        if (!atomic_load(&fn)) atomic_store(&fn, (__typeof__(&name))real(#name));                            \
        cl_int status = atomic_load(&fn) arguments;                                                          \
        if (status == CL_SUCCESS && event) atomic_fetch_add(&events, 1);                                     \
        atomic_fetch_add(#name[9] == 'M' ? &markers : &copies,                                               \
                         strcmp(#name, "clEnqueueUnmapMemObject") != 0);                                     \
        return status;                                                                                       \
    }
/* What a device answers where plug_in says so. */
static cl_int tell_place(cl_device_id d, size_t bytes, void *out)
{
    int i = 0;
    while (i < plugs.asked && plugs.devices[i] != d) i++;
    if (i == plugs.asked && i < DEVICES_MAX) plugs.devices[plugs.asked++] = d;
    if (i >= plugs.n || bytes < sizeof plugs.at[i]) return CL_INVALID_VALUE;
    memcpy(out, plugs.at[i], sizeof plugs.at[i]);
    return CL_SUCCESS;
}

cl_int clGetDeviceInfo(cl_device_id d, cl_device_info i, size_t s, void *v, size_t *r)
{
    enum { PCI_BUS_INFO = 0x410F };
    static __typeof__(&clGetDeviceInfo) _Atomic fn;
    if (fails("clGetDeviceInfo")) return CL_OUT_OF_RESOURCES;
    if (i == PCI_BUS_INFO && plugs.n > 0) return tell_place(d, s, v);
    if (!atomic_load(&fn)) atomic_store(&fn, (__typeof__(&clGetDeviceInfo))real("clGetDeviceInfo"));
    return atomic_load(&fn)(d, i, s, v, r);
}

#define WAIT cl_uint n, const cl_event *list, cl_event *event

STATUS(clGetPlatformIDs, (cl_uint max, cl_platform_id *out, cl_uint *n), (max, out, n))
STATUS(clGetDeviceIDs, (cl_platform_id p, cl_device_type t, cl_uint max, cl_device_id *out, cl_uint *n),
       (p, t, max, out, n))
OBJECT(cl_context, clCreateContext,
       (const cl_context_properties *p, cl_uint n, const cl_device_id *d,
        void(CL_CALLBACK *f)(const char *, const void *, size_t, void *), void *a, cl_int *err),
       (p, n, d, f, a, err))
STATUS(clReleaseContext, (cl_context c), (c))
OBJECT(cl_command_queue, clCreateCommandQueue,
       (cl_context c, cl_device_id d, cl_command_queue_properties p, cl_int *err), (c, d, p, err))
STATUS(clReleaseCommandQueue, (cl_command_queue q), (q))
cl_mem clCreateBuffer(cl_context c, cl_mem_flags f, size_t s, void *p, cl_int *err)
{
    static __typeof__(&clCreateBuffer) _Atomic fn;
    if (fails("clCreateBuffer")) {
        if (err) *err = CL_OUT_OF_RESOURCES;
        return NULL;
    }
    if (addresses && !p) return buffer_of_addresses(c, f, s, err);
    if (addresses) { /* a buffer over memory of the program has no place for a head */
        if (err) *err = CL_INVALID_HOST_PTR;
        return NULL;
    }
    if (!atomic_load(&fn)) atomic_store(&fn, (__typeof__(&clCreateBuffer))real("clCreateBuffer"));
    return atomic_load(&fn)(c, f, s, p, err);
}
STATUS(clReleaseMemObject, (cl_mem m), (mem_of(m)))
COMMAND(clEnqueueReadBuffer, (cl_command_queue q, cl_mem m, cl_bool b, size_t at, size_t s, void *p, WAIT),
        (q, mem_of(m), b, at, s, p, n, list, event))
COMMAND(clEnqueueReadBufferRect,
        (cl_command_queue q, cl_mem m, cl_bool b, const size_t *o, const size_t *h, const size_t *r,
         size_t br, size_t bs, size_t hr, size_t hs, void *p, WAIT),
        (q, mem_of(m), b, o, h, r, br, bs, hr, hs, p, n, list, event))
COMMAND(clEnqueueWriteBuffer,
        (cl_command_queue q, cl_mem m, cl_bool b, size_t at, size_t s, const void *p, WAIT),
        (q, mem_of(m), b, at, s, p, n, list, event))
COMMAND(clEnqueueWriteBufferRect,
        (cl_command_queue q, cl_mem m, cl_bool b, const size_t *o, const size_t *h, const size_t *r,
         size_t br, size_t bs, size_t hr, size_t hs, const void *p, WAIT),
        (q, mem_of(m), b, o, h, r, br, bs, hr, hs, p, n, list, event))
COMMAND(clEnqueueCopyBuffer, (cl_command_queue q, cl_mem f, cl_mem t, size_t fo, size_t to, size_t s, WAIT),
        (q, mem_of(f), mem_of(t), fo, to, s, n, list, event))
COMMAND(clEnqueueCopyBufferRect,
        (cl_command_queue q, cl_mem f, cl_mem t, const size_t *fo, const size_t *to, const size_t *r,
         size_t fr, size_t fs, size_t tr, size_t ts, WAIT),
        (q, mem_of(f), mem_of(t), fo, to, r, fr, fs, tr, ts, n, list, event))
COMMAND(clEnqueueUnmapMemObject, (cl_command_queue q, cl_mem m, void *p, WAIT),
        (q, mem_of(m), p, n, list, event))
COMMAND(clEnqueueMarkerWithWaitList, (cl_command_queue q, WAIT), (q, n, list, event))
STATUS(clFlush, (cl_command_queue q), (q))
STATUS(clFinish, (cl_command_queue q), (q))
OBJECT(cl_program, clCreateProgramWithSource,
       (cl_context c, cl_uint n, const char **t, const size_t *l, cl_int *err), (c, n, t, l, err))
OBJECT(cl_program, clCreateProgramWithBinary,
       (cl_context c, cl_uint n, const cl_device_id *d, const size_t *l, const unsigned char **b, cl_int *s,
        cl_int *err),
       (c, n, d, l, b, s, err))
STATUS(clBuildProgram,
       (cl_program p, cl_uint n, const cl_device_id *d, const char *o,
        void(CL_CALLBACK *f)(cl_program, void *), void *a),
       (p, n, d, o, f, a))
STATUS(clGetProgramInfo, (cl_program p, cl_program_info i, size_t s, void *v, size_t *r), (p, i, s, v, r))
STATUS(clGetProgramBuildInfo,
       (cl_program p, cl_device_id d, cl_program_build_info i, size_t s, void *v, size_t *r),
       (p, d, i, s, v, r))
STATUS(clReleaseProgram, (cl_program p), (p))
OBJECT(cl_kernel, clCreateKernel, (cl_program p, const char *name, cl_int *err), (p, name, err))
STATUS(clSetKernelArg, (cl_kernel k, cl_uint i, size_t s, const void *v), (k, i, s, v))
STATUS(clReleaseKernel, (cl_kernel k), (k))

STATUS(clGetEventProfilingInfo, (cl_event e, cl_profiling_info i, size_t s, void *v, size_t *r),
       (e, i, s, v, r))

void *clEnqueueMapBuffer(cl_command_queue q, cl_mem m, cl_bool b, cl_map_flags f, size_t at, size_t s, WAIT,
                         cl_int *err)
{
    static __typeof__(&clEnqueueMapBuffer) _Atomic fn;
    if (fails("clEnqueueMapBuffer")) {
        if (err) *err = CL_OUT_OF_RESOURCES;
        return NULL;
    }
    if (!atomic_load(&fn)) atomic_store(&fn, (__typeof__(&clEnqueueMapBuffer))real("clEnqueueMapBuffer"));
    void *mapped = atomic_load(&fn)(q, mem_of(m), b, f, at, s, n, list, event, err);
    if (mapped && event) atomic_fetch_add(&events, 1);
    return mapped;
}

cl_int clReleaseEvent(cl_event e)
{
    static __typeof__(&clReleaseEvent) _Atomic fn;
    if (fails("clReleaseEvent")) return CL_OUT_OF_RESOURCES;
    if (!atomic_load(&fn)) atomic_store(&fn, (__typeof__(&clReleaseEvent))real("clReleaseEvent"));
    atomic_fetch_sub(&events, 1);
    return atomic_load(&fn)(e);
}

/* ---- what is told later ---- */

typedef void(CL_CALLBACK *told_fn)(cl_event, cl_int, void *);
struct told {
    told_fn fn;
    void *arg;
};

static void CL_CALLBACK tell(cl_event e, cl_int status, void *arg)
{
    struct told t = *(struct told *)arg;
    free(arg);
    if (atomic_load(&late)) usleep(20000);
    t.fn(e, status, t.arg);
}

/* A device that does not answer ends nothing, and tells nobody. */
cl_int clSetEventCallback(cl_event e, cl_int when, told_fn f, void *a)
{
    static __typeof__(&clSetEventCallback) _Atomic fn;
    if (fails("clSetEventCallback")) return CL_OUT_OF_RESOURCES;
    if (atomic_load(&silent)) return CL_SUCCESS;
    if (!atomic_load(&fn)) atomic_store(&fn, (__typeof__(&clSetEventCallback))real("clSetEventCallback"));
    atomic_fetch_add(&rings, 1);
    struct told *t = malloc(sizeof *t);
    if (!t) return CL_OUT_OF_HOST_MEMORY;
    *t = (struct told){ f, a };
    return atomic_load(&fn)(e, when, tell, t);
}

cl_int clGetEventInfo(cl_event e, cl_event_info i, size_t s, void *v, size_t *r)
{
    static __typeof__(&clGetEventInfo) _Atomic fn;
    if (fails("clGetEventInfo")) return CL_OUT_OF_RESOURCES;
    if (!atomic_load(&fn)) atomic_store(&fn, (__typeof__(&clGetEventInfo))real("clGetEventInfo"));
    cl_int status = atomic_load(&fn)(e, i, s, v, r);
    if (atomic_load(&silent) && i == CL_EVENT_COMMAND_EXECUTION_STATUS && s == sizeof(cl_int))
        *(cl_int *)v = CL_RUNNING;
    return status;
}
