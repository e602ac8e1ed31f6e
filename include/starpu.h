/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu.h: the StarPU interface in one include; starting and stopping the runtime.
 *
 * Threads: starpu_init() and starpu_shutdown() by one thread at a time; the rest by any.
 * Owns: nothing.
 * Not here: MPI (starpu_mpi.h), what only Orrery has (orrery.h).
 *
 * Start reading at starpu_init() below,
 * then starpu_task.h, starpu_data.h, starpu_data_interfaces.h. */
#ifndef STARPU_H
#define STARPU_H

/* What holds for each function of these headers (starpu*.h, orrery.h), unless its own comment, that of its
 * group, or the head of its header says otherwise:
 *
 * Context: any thread, between starpu_init() and starpu_shutdown(); also in the body of a task and in a
 * callback. It does not wait for tasks, transfers or messages. A function that "blocks" does: it is not for
 * task bodies and callbacks, where it says so on stderr and does nothing (-EDEADLK, if it returns a status).
 *
 * Results: a status is 0, or a negative value of errno.h: -EINVAL for what cannot be (a handle that is not
 * registered, a node or a worker that there is not), -ENOMEM for no memory; mostly a message on stderr says
 * what is wrong and how to mend it. A void function says the same and does nothing; if the program relies on
 * what it could not do, the message goes to the hook of orrery_set_error_hook(), and without a hook the
 * process ends. A comment that asks a question is answered by 1 (yes) or 0 (no), 0 for what does not exist;
 * one that names a thing says what is returned.
 *
 * Ownership: what a pointer names is borrowed until the call returns, and what a returned pointer names is
 * the library's. A pointer is not NULL unless the comment says what NULL means.
 *
 * Units: sizes in bytes, times in microseconds (us), energy in joules. Numbers of workers, memory nodes and
 * devices begin with 0.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <starpu_config.h>
#include <starpu_util.h>
#include <starpu_thread.h>
#include <starpu_thread_util.h>
#include <starpu_data.h>
#include <starpu_disk.h>
#include <starpu_helper.h>
#include <starpu_rand.h>
#include <starpu_hash.h>
#include <starpu_tree.h>
#include <starpu_bitmap.h>
#include <starpu_stdlib.h>
#include <starpu_data_interfaces.h>
#include <starpu_data_filters.h>
#include <starpu_worker.h>
#include <starpu_task_bundle.h>
#include <starpu_task_dep.h>
#include <starpu_task.h>
#include <starpu_task_list.h>
#include <starpu_task_util.h>
#include <starpu_perfmodel.h>
#include <starpu_profiling.h>
#include <starpu_perf_monitoring.h>
#include <starpu_scheduler.h>
#include <starpu_sched_ctx.h>
#include <starpu_expert.h>
#include <starpu_bound.h>
#include <starpu_fxt.h>
#include <starpu_driver.h>
#include <starpu_cuda.h>
#include <starpu_cublas.h>
#include <starpu_cublasLt.h>
#if !defined(STARPU_USE_CUDA) || defined(STARPU_DONT_INCLUDE_CUDA_HEADERS)
#include <starpu_cusolver.h> /* else who wants it says so: it includes cublas_v2.h, which excludes cublas.h */
#endif
#include <starpu_cusparse.h>
#include <starpu_hip.h>
#include <starpu_hipblas.h>
#include <starpu_hipsolver.h>
#include <starpu_max_fpga.h>
#ifdef STARPU_USE_OPENCL
#include <starpu_opencl.h>
#endif
#include <starpu_openmp.h>
#include <starpu_parallel_worker.h>
#include <starpu_clusters.h>
#include <starpu_simgrid_wrap.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct starpu_driver;
struct starpu_max_load;
struct starpu_sched_policy;

/* How to start the runtime. Set it up with starpu_conf_init(), then change what is to differ. An environment
 * variable, where one is named, counts more than the field, unless precedence_over_environment_variables is
 * set. Numbers of -1: all there are. Borrowed until starpu_init() returns,
 * except for what its pointers name. */
struct starpu_conf {
    int magic;        /* set by starpu_conf_init() */
    int will_use_mpi; /* no effect: workers drive messages, no thread of their own */

    const char *sched_policy_name;            /* STARPU_SCHED; NULL: the default policy */
    struct starpu_sched_policy *sched_policy; /* a policy of the program's; counts more than the name */
    union {                                   /* called after the policy's init_sched; NULL: nothing */
        void (*sched_policy_callback)(unsigned sched_ctx_id);
        void (*sched_policy_init)(unsigned sched_ctx_id);
    };

    int precedence_over_environment_variables;

    int ncpus;         /* CPU workers, STARPU_NCPU */
    int reserve_ncpus; /* cores to leave alone, STARPU_RESERVE_NCPU */
    int ncuda;         /* GPUs, STARPU_NCUDA */
    int nhip;
    int nopencl; /* STARPU_NOPENCL */
    int nmax_fpga;
    int nsycl;
    int nmic;
    union {
        int nmpi_sc;
        int nmpi_ms;
    };
    union {
        int ntcpip_sc;
        int ntcpip_ms;
    };

    /* With use_explicit_...: to which logical processing units workers are bound (STARPU_WORKERS_CPUID),
     * which devices are used (STARPU_WORKERS_CUDAID and so on), in order. */
    unsigned use_explicit_workers_bindid;
    unsigned workers_bindid[STARPU_NMAXWORKERS];
    unsigned use_explicit_workers_cuda_gpuid;
    unsigned workers_cuda_gpuid[STARPU_NMAXWORKERS];
    unsigned use_explicit_workers_hip_gpuid;
    unsigned workers_hip_gpuid[STARPU_NMAXWORKERS];
    unsigned use_explicit_workers_opencl_gpuid;
    unsigned workers_opencl_gpuid[STARPU_NMAXWORKERS];
    unsigned use_explicit_workers_max_fpga_deviceid;
    unsigned workers_max_fpga_deviceid[STARPU_NMAXWORKERS];
    unsigned use_explicit_workers_sycl_gpuid;
    unsigned workers_sycl_gpuid[STARPU_NMAXWORKERS];
    unsigned use_explicit_workers_mic_deviceid;
    unsigned workers_mic_deviceid[STARPU_NMAXWORKERS];
    union {
        unsigned use_explicit_workers_mpi_sc_deviceid;
        unsigned use_explicit_workers_mpi_ms_deviceid;
    };
    union {
        unsigned workers_mpi_sc_deviceid[STARPU_NMAXWORKERS];
        unsigned workers_mpi_ms_deviceid[STARPU_NMAXWORKERS];
    };
    struct starpu_max_load *max_fpga_load;

    int bus_calibrate; /* measure the buses again, STARPU_BUS_CALIBRATE */
    int calibrate;     /* performance models: 1: complete them, 2: start them anew, STARPU_CALIBRATE */
    int data_locality_enforce;  /* no effect: policies decide */
    int single_combined_worker; /* one parallel task at a time, STARPU_SINGLE_COMBINED_WORKER */
    char *mic_sink_program_path;

    /* Copy in the foreground: everywhere, for a kind of device. STARPU_DISABLE_ASYNCHRONOUS_COPY and so on */
    int disable_asynchronous_copy;
    int disable_asynchronous_cuda_copy;
    int disable_asynchronous_hip_copy;
    int disable_asynchronous_opencl_copy;
    int disable_asynchronous_max_fpga_copy;
    int disable_asynchronous_sycl_copy;
    int disable_asynchronous_mic_copy;
    union {
        int disable_asynchronous_mpi_sc_copy;
        int disable_asynchronous_mpi_ms_copy;
    };
    union {
        int disable_asynchronous_tcpip_sc_copy;
        int disable_asynchronous_tcpip_ms_copy;
    };
    int enable_map; /* use data of main memory in place where a device can, STARPU_ENABLE_MAP */

    unsigned *cuda_opengl_interoperability; /* no effect, as the next: the driver knows no OpenGL */
    unsigned n_cuda_opengl_interoperability;

    struct starpu_driver *not_launched_drivers; /* CPU workers that the program runs itself */
    unsigned n_not_launched_drivers;

    uint64_t trace_buffer_size; /* no effect: recordings are written as they grow (ORRERY_TRACE_BUFFER) */

    int global_sched_ctx_min_priority; /* STARPU_MIN_PRIO */
    int global_sched_ctx_max_priority; /* STARPU_MAX_PRIO */

    /* Called by each worker before it sleeps and after it wakes; NULL: nothing. */
    void (*callback_worker_going_to_sleep)(unsigned workerid);
    void (*callback_worker_waking_up)(unsigned workerid);

    int catch_signals; /* 1: a crash in a task says which task it was, STARPU_CATCH_SIGNALS */

    int start_perf_counter_collection; /* 1: counters are collected from the start (starpu_perf_monitoring.h)
                                        */

    unsigned driver_spinning_backoff_min; /* no effect, as the next: idle workers look for a fixed time, and
                                             sleep */
    unsigned driver_spinning_backoff_max;

    int cuda_only_fast_alloc_other_memnodes; /* no effect */

    ORRERY_KINDS(ORRERY_KIND_SETTINGS) /* the same for other kinds (orrery_kinds.h) */
};

/* ---- Starting and stopping ---- */

/* Before starpu_init(), too: give a configuration its default values, from the environment where it sets any.
 * Returns 0; -EINVAL: conf is NULL. */
int starpu_conf_init(struct starpu_conf *conf);

/* Before starpu_init(), too: ask for no workers of any kind; the caller then sets the numbers it wants.
 * Returns 0; -EINVAL: conf is NULL. */
int starpu_conf_noworker(struct starpu_conf *conf);

/* Start the runtime; NULL: with default values. Calls count: only the first starts anything, and waits until
 * workers run; the others may come from task bodies, too. Returns 0; -ENODEV: there is no worker; -EINVAL:
 * conf was not set up, or names a policy or drivers that there are not; -EBUSY: from a task that
 * starpu_shutdown() waits for; -ENOMEM. After an error nothing is left. */
int starpu_init(struct starpu_conf *conf) STARPU_WARN_UNUSED_RESULT;

/* The same, for programs that pass their arguments on; both are ignored, and may be NULL. Returns as
 * starpu_init(). */
int starpu_initialize(struct starpu_conf *user_conf, int *argc, char ***argv);

/* At any time, also before starpu_init(): has it succeeded (1, else 0)? And: wait until it has; this is for
 * other threads than the one that is to call starpu_init(). */
int starpu_is_initialized(void);
void starpu_wait_initialized(void);

/* Wait for all tasks and stop the runtime, at the last of as many calls as of starpu_init(). Blocks: in task
 * bodies and callbacks it is refused with a message, as it is while the runtime is not initialised. */
void starpu_shutdown(void);

/* Stop handing tasks to workers, which sleep until resume. Tasks that run go on, and a worker may still begin
 * one that was submitted before; what is submitted after starpu_pause() returned does not run before
 * starpu_resume(). The calls nest; outside of starpu_init() and starpu_shutdown() they do nothing. */
void starpu_pause(void);
void starpu_resume(void);

/* Was there a pause that was not resumed (1, else 0)? */
int starpu_is_paused(void);

/* ---- Binding threads of the program ---- */

#define STARPU_THREAD_ACTIVE (1 << 0) /* the thread will compute: no worker shares its core if possible */

/* The number of a processing unit for a thread of the program: one of `preferred` (may be NULL, with 0) that
 * is free; else any that is; else preferred[0], or one after another. With STARPU_THREAD_ACTIVE it is taken,
 * until starpu_shutdown() and beyond. */
unsigned starpu_get_next_bindid(unsigned flags, unsigned *preferred, unsigned npreferred);

/* Bind the calling thread to a processing unit (-1: one of starpu_get_next_bindid()); the name, which may be
 * NULL, is for messages. Returns 0; -EBUSY, with STARPU_THREAD_ACTIVE: a worker has it, and nothing was done.
 * That the system refused the binding is not told. */
int starpu_bind_thread_on(int cpuid, unsigned flags, const char *name);

/* The same: to the unit of a worker; to one for the main thread, the same at each call; to a given one. A
 * number that is none, or a worker that is not bound: nothing happens. */
void starpu_bind_thread_on_worker(unsigned workerid);
void starpu_bind_thread_on_main(void);
void starpu_bind_thread_on_cpu(int cpuid);

/* The system's number of a processing unit; -1: cpuid is negative. */
int starpu_cpu_os_index(int cpuid);

/* ---- Asking ---- */

/* Print the machine as the runtime sees it, and its workers. */
void starpu_topology_print(FILE *f);

/* Print, on stderr, what buses and workers did (starpu_profiling.h). */
void starpu_display_stats(void);

/* Are copies made in the foreground: everywhere, for a kind of memory? Each returns 1 or 0. */
int starpu_asynchronous_copy_disabled(void);
int starpu_asynchronous_copy_disabled_for(enum starpu_node_kind kind);
int starpu_asynchronous_cuda_copy_disabled(void);
int starpu_asynchronous_hip_copy_disabled(void);
int starpu_asynchronous_opencl_copy_disabled(void);
int starpu_asynchronous_max_fpga_copy_disabled(void);
int starpu_asynchronous_mic_copy_disabled(void);
int starpu_asynchronous_sycl_copy_disabled(void);
int starpu_asynchronous_mpi_sc_copy_disabled(void);
int starpu_asynchronous_tcpip_sc_copy_disabled(void);
#define starpu_asynchronous_mpi_ms_copy_disabled starpu_asynchronous_mpi_sc_copy_disabled
#define starpu_asynchronous_tcpip_ms_copy_disabled starpu_asynchronous_tcpip_sc_copy_disabled

/* May devices that can use data of main memory in place (STARPU_ENABLE_MAP)? Returns 1 or 0. */
int starpu_map_enabled(void);

/* Writes the version of the StarPU interface that the library was built with. At any time. */
void starpu_get_version(int *major, int *minor, int *release);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#include <starpu_deprecated_api.h>

#endif
