/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Profiling tools: libraries that are called when things happen, in a program that is not changed.
 * Threads: a tool is called on the thread where it happens, by several at once, and must not block.
 * Not here: performance counters (starpu_perf_monitoring.h), traces (starpu_fxt.h).
 *
 * STARPU_PROF_TOOL names the libraries, with colons between them. starpu_init() loads each and calls its
 * starpu_prof_tool_library_register(), which says for which events it is to be called; starpu_shutdown()
 * unloads it.
 */
#ifndef STARPU_PROFILING_TOOL_H
#define STARPU_PROFILING_TOOL_H

#include <starpu.h>

#ifdef __cplusplus
extern "C" {
#endif

enum starpu_prof_tool_event {
    starpu_prof_tool_event_none = 0,

    /* On the thread of starpu_init() or starpu_shutdown(). */
    starpu_prof_tool_event_init,       /* the tool was loaded */
    starpu_prof_tool_event_terminate,  /* last, before it is unloaded */
    starpu_prof_tool_event_init_begin, /* workers are about to start */
    starpu_prof_tool_event_init_end,   /* the runtime is there */

    /* For each worker, there as well: its device is open now, or is closed at the end. */
    starpu_prof_tool_event_driver_init,
    starpu_prof_tool_event_driver_deinit,
    starpu_prof_tool_event_driver_init_start,
    starpu_prof_tool_event_driver_init_end,

    /* A task's body, on a CPU or a device: on the thread of its worker. Of a parallel task, its leader's. */
    starpu_prof_tool_event_start_cpu_exec,
    starpu_prof_tool_event_end_cpu_exec,
    starpu_prof_tool_event_start_gpu_exec,
    starpu_prof_tool_event_end_gpu_exec,

    /* Data on its way to another memory node; the tool must not call the runtime. */
    starpu_prof_tool_event_start_transfer,
    starpu_prof_tool_event_end_transfer,

    /* Never told: programs have no function for them. */
    starpu_prof_tool_event_user_start,
    starpu_prof_tool_event_user_end
};

enum starpu_prof_tool_driver_type {
    starpu_prof_tool_driver_cpu,
    starpu_prof_tool_driver_gpu, /* CUDA, and kinds that have no name here */
    starpu_prof_tool_driver_hip,
    starpu_prof_tool_driver_ocl
};

/* How a function is registered. The toggles are refused with a message: a tool keeps a flag of its own. */
enum starpu_prof_tool_command {
    starpu_prof_tool_command_reg = 0,
    starpu_prof_tool_command_toggle = 1,
    starpu_prof_tool_command_toggle_per_thread = 2
};

/* What happened. What an event has nothing to do with is 0, NULL, or -1 for worker, node and device. Borrowed
 * until the tool returns. */
struct starpu_prof_tool_info {
    struct starpu_conf *conf; /* during starpu_init() */
    enum starpu_prof_tool_event event_type;
    unsigned int starpu_version[3];
    int thread_id; /* the system's number of the thread */
    int worker_id;
    int device_number;
    enum starpu_prof_tool_driver_type driver_type;
    unsigned memnode;         /* of the worker; of a transfer, where it goes */
    size_t bytes_to_transfer; /* of start_transfer */
    size_t bytes_transfered;  /* of end_transfer; 0: it failed */
    void *fun_ptr;            /* the function that is, or was, called, as far as it is known */
    const char *model_name;   /* of the codelet's performance model */
    const char *task_name;
    double flops; /* given by the task */
};

union starpu_prof_tool_event_info {
    enum starpu_prof_tool_event event_type;
};

struct starpu_prof_tool_api_info {
    int unused;
};

/* Called for an event. */
typedef void (*starpu_prof_tool_cb_func)(struct starpu_prof_tool_info *prof_info,
                                         union starpu_prof_tool_event_info *event_info,
                                         struct starpu_prof_tool_api_info *api_info);

/* Registers, or takes back, a function for an event: eight for each at most, more are refused with a message.
 */
typedef void (*starpu_prof_tool_entry_register_func)(enum starpu_prof_tool_event event_type,
                                                     starpu_prof_tool_cb_func cb,
                                                     enum starpu_prof_tool_command info);

/* The tool's: called when it was loaded. Both functions may be called until it returns, and in `init`. */
extern void starpu_prof_tool_library_register(starpu_prof_tool_entry_register_func reg,
                                              starpu_prof_tool_entry_register_func unreg);

#ifdef __cplusplus
}
#endif

#endif
