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
    F(EnqueueMapBuffer)                                                                                      \
    F(EnqueueUnmapMemObject)                                                                                 \
    F(EnqueueMarkerWithWaitList)                                                                             \
    F(GetEventInfo)                                                                                          \
    F(GetEventProfilingInfo)                                                                                 \
    F(SetEventCallback)                                                                                      \
    F(ReleaseEvent)                                                                                          \
    F(Flush)                                                                                                 \
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
/* Whether it is a test's, whose devices also run what has functions for CPUs only: its buffers are addresses.
 */
bool orr_opencl_runs_cpu_functions(void);
/* The name of an error. Any thread. */
const char *orr_opencl_error(cl_int status);

/* ---- devices ---- */

enum { ORR_OPENCL_BRIEF = 256 }; /* so many brief kernels are under way at most */

/* A marker behind kernels of a device (marks.c). */
struct orr_opencl_mark {
    uint64_t words[4]; /* as below */
    uint64_t upto;     /* the last kernel before it */
    cl_event before;   /* what was over when that kernel began; NULL: nobody wants its time */
    bool rings;        /* the bell is rung at its end */
};

/* [own: the device's worker] */
struct orr_opencl_marks {
    uint64_t submitted, marked, over, ended; /* kernels by number, from 1 on: given to the queue; with a mark
                                              * behind them; before a mark that is over; told to be over */
    int status;                              /* of the last mark that is over */
    double us;                               /* and how long its last kernel took; 0: unknown */
    unsigned missed;                         /* marks that could not be put, in a row */
    unsigned first, count;
    struct orr_opencl_mark ring[ORR_OPENCL_BRIEF];
};

struct orr_opencl_device {
    /* [const after open] */
    int number;
    cl_device_id id;
    cl_context context;
    cl_command_queue kernels, in, out; /* in order: of its worker, to its memory, from it */
    unsigned node;
    char name[64];
    bool is_cpu;          /* it consists of cores of this machine */
    bool in_place;        /* it can use main memory where that is */
    uint64_t patience_ns; /* how long it may take to answer; 0: any time */
    /* [any thread] */
    _Atomic uint64_t answered_ns; /* when a copy last ended */
    _Atomic bool silent;          /* it does not answer: nothing of it is touched again */
    _Atomic unsigned rings;       /* calls that the library still owes us */
    struct orr_event bell;        /* a mark is over */
    struct orr_opencl_marks marks;
    struct orr_opencl_device *next_kept; /* after it was closed: of those that keep what they have */
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
/* The same; the event stays. */
int orr_opencl_look(uint64_t words[4]);
/* The device is given up; -EIO. Any thread. */
int orr_opencl_is_silent(struct orr_opencl_device *d, const char *why);

/* Waits for one that was enqueued: 0 or -EIO. Any thread; blocks. */
int orr_opencl_wait(struct orr_opencl_device *d, cl_event event);

/* ---- marks (marks.c). The device's worker ---- */

/* What was put into the queue for kernels until now is a kernel with a number, which this returns. before: a
 * marker that was put there first, so that the kernel's time is known at its end, or NULL; it is taken over.
 */
uint64_t orr_opencl_mark(struct orr_opencl_device *d, cl_event before);
/* Whether that kernel, the first that was not told to be over, is: 0, -EAGAIN or -EIO. */
int orr_opencl_mark_test(struct orr_opencl_device *d, uint64_t number, double *us_out);
/* What is set when that kernel is over, or may be; NULL: look. */
struct orr_event *orr_opencl_mark_bell(struct orr_opencl_device *d, uint64_t number);
/* Waits until the bell is rung no more. False: the library never did what it was to do. Main thread. */
bool orr_opencl_bell_rests(struct orr_opencl_device *d);

/* ---- copies (memory.c) ---- */

extern const struct orr_node_ops orr_opencl_node_ops;

/* Enqueues a copy of bytes, which may be between main memory and one device, or within one. after: what it
 * follows, or NULL. Any thread. */
cl_int orr_opencl_enqueue(const struct orr_location *src, const struct orr_location *dst, size_t bytes,
                          cl_event after, cl_event *event_out);

#endif
