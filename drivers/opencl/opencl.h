/* SPDX-License-Identifier: BSD-3-Clause */
/* opencl.h: what the files of this driver share: the functions of the library, a device, its copies.
 * Threads: each function says who. Owns: nothing. Not here: what programs call (starpu_opencl.h).
 *
 * The library is loaded at run time: its functions are in orr_cl (library.c), and nothing here calls one by
 * its name. */
#ifndef ORR_DRIVERS_OPENCL_H
#define ORR_DRIVERS_OPENCL_H

#include <starpu.h>
#include <stdbool.h>

#include "core/base/sync.h"
#include "core/mem/node.h"

struct orr_device;

/* ---- the library ---- */

#define ORR_OPENCL_FUNCTIONS(F)                                                                              \
    F(GetPlatformIDs)                                                                                        \
    F(GetDeviceIDs)                                                                                          \
    F(GetDeviceInfo)                                                                                         \
    F(CreateContext)                                                                                         \
    F(ReleaseContext)                                                                                        \
    F(CreateCommandQueue)                                                                                    \
    F(ReleaseCommandQueue)                                                                                   \
    F(CreateBuffer)                                                                                          \
    F(ReleaseMemObject)                                                                                      \
    F(EnqueueReadBuffer)                                                                                     \
    F(EnqueueReadBufferRect)                                                                                 \
    F(EnqueueWriteBuffer)                                                                                    \
    F(EnqueueWriteBufferRect)                                                                                \
    F(EnqueueCopyBuffer)                                                                                     \
    F(EnqueueCopyBufferRect)                                                                                 \
    F(EnqueueMarkerWithWaitList)                                                                             \
    F(GetEventInfo)                                                                                          \
    F(ReleaseEvent)                                                                                          \
    F(Flush)                                                                                                 \
    F(Finish)                                                                                                \
    F(CreateProgramWithSource)                                                                               \
    F(CreateProgramWithBinary)                                                                               \
    F(BuildProgram)                                                                                          \
    F(GetProgramInfo)                                                                                        \
    F(GetProgramBuildInfo)                                                                                   \
    F(ReleaseProgram)                                                                                        \
    F(CreateKernel)                                                                                          \
    F(SetKernelArg)                                                                                          \
    F(ReleaseKernel)

struct orr_opencl_library {
#define FIELD(name) __typeof__(cl##name) *name;
    ORR_OPENCL_FUNCTIONS(FIELD)
#undef FIELD
};
extern struct orr_opencl_library orr_cl; /* [const after orr_opencl_load] */

/* Loads the library the first time. False: there is none; a verbose run says why. Main thread. */
bool orr_opencl_load(void);
/* The name of an error. Any thread. */
const char *orr_opencl_error(cl_int status);

/* ---- devices ---- */

struct orr_opencl_device {
    /* [const after open] */
    int number;
    cl_device_id id;
    cl_context context;
    cl_command_queue kernels, in, out; /* in order: of its worker, to its memory, from it */
    unsigned node;
    char name[64];
    bool is_cpu;          /* it consists of cores of this machine */
    uint64_t patience_ns; /* how long it may take to answer; 0: any time */
    /* [any thread] */
    _Atomic uint64_t answered_ns; /* when a copy last ended */
    _Atomic bool silent;          /* it does not answer: nothing of it is touched again */
};

/* The open device of a number or a memory node; NULL: there is none. Any thread. */
struct orr_opencl_device *orr_opencl_device(int number);
struct orr_opencl_device *orr_opencl_device_of_node(unsigned node);
/* That of the worker which calls; NULL: the thread is none of its workers. */
struct orr_opencl_device *orr_opencl_device_here(void);

/* ---- events ---- */

/* A command under way, as words of struct orr_kernel and struct orr_copy_event. */
enum { OPENCL_EVENT, OPENCL_DEVICE, OPENCL_SINCE, OPENCL_MISSED };

/* How it goes: 0, -EAGAIN or -EIO, with the event released unless it goes on. since: when it began, for the
 * device's patience. Any thread, one at a time for an event. */
int orr_opencl_ask(uint64_t words[4]);

/* Waits for one that was enqueued: 0 or -EIO. Any thread; blocks. */
int orr_opencl_wait(struct orr_opencl_device *d, cl_event event);

/* ---- copies (memory.c) ---- */

extern const struct orr_node_ops orr_opencl_node_ops;

/* Enqueues a copy of bytes, which may be between main memory and one device, or within one. after: what it
 * follows, or NULL. Any thread. */
cl_int orr_opencl_enqueue(const struct orr_location *src, const struct orr_location *dst, size_t bytes,
                          cl_event after, cl_event *event_out);

#endif
