/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_task.h: codelets (what can be computed, where) and tasks (one computation on given data).
 *
 * Threads: any, unless a function says otherwise; none that blocks in a task body or callback.
 * Owns: nothing.
 * Not here: one-line submission (starpu_task_util.h), dependencies (starpu_task_dep.h), data (starpu_data.h).
 *
 * A task is made by starpu_task_create(), filled in, and submitted once. The library frees a task with
 * destroy set when it ends (or, without detach, when it is waited for). Between submission and end a program
 * writes no field of it.
 */
#ifndef STARPU_TASK_H
#define STARPU_TASK_H

#include <starpu_data.h>
#include <starpu_task_bundle.h>
#include <starpu_task_dep.h>
#include <starpu_util.h>
#include <starpu_worker.h>

#include <errno.h>
#include <math.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct starpu_perfmodel;
struct starpu_perf_counter_sample;
struct starpu_perf_counter_sample_cl_values;
struct starpu_profiling_task_info;
struct starpu_transaction;
struct starpu_omp_task;
struct starpu_task;

/* ---- Where a codelet may run: masks for `where` ---- */

#define STARPU_WORKER_TO_MASK(worker_archtype) (1U << ((worker_archtype) + 1))

#define STARPU_NOWHERE (1U << 0) /* on no worker: the task only synchronises */
#define STARPU_CPU STARPU_WORKER_TO_MASK(STARPU_CPU_WORKER)
#define STARPU_CUDA STARPU_WORKER_TO_MASK(STARPU_CUDA_WORKER)
#define STARPU_OPENCL STARPU_WORKER_TO_MASK(STARPU_OPENCL_WORKER)
#define STARPU_MIC STARPU_WORKER_TO_MASK(STARPU_MIC_WORKER)
#define STARPU_MAX_FPGA STARPU_WORKER_TO_MASK(STARPU_MAX_FPGA_WORKER)
#define STARPU_MPI_SC STARPU_WORKER_TO_MASK(STARPU_MPI_SC_WORKER)
#define STARPU_MPI_MS STARPU_MPI_SC
#define STARPU_TCPIP_SC STARPU_WORKER_TO_MASK(STARPU_TCPIP_SC_WORKER)
#define STARPU_TCPIP_MS STARPU_TCPIP_SC
#define STARPU_HIP STARPU_WORKER_TO_MASK(STARPU_HIP_WORKER)
#define STARPU_SYCL STARPU_WORKER_TO_MASK(STARPU_SYCL_WORKER)

/* ---- Codelets ---- */

/* Flags of a codelet. */
#define STARPU_CODELET_SIMGRID_EXECUTE (1 << 0)            /* when simulating, run it */
#define STARPU_CODELET_SIMGRID_EXECUTE_AND_INJECT (1 << 1) /* and count its real time */
#define STARPU_CODELET_NOPLANS (1 << 2)                    /* never partition its data automatically */

/* Flags of one implementation: it returns before its kernels have ended; the driver waits for its stream. */
#define STARPU_CUDA_ASYNC (1 << 0)
#define STARPU_OPENCL_ASYNC (1 << 0)
#define STARPU_HIP_ASYNC (1 << 0)
#define STARPU_SYCL_ASYNC (1 << 0)

/* How an implementation uses the CPUs of a combined worker. */
enum starpu_codelet_type {
    STARPU_SEQ = 0, /* one */
    STARPU_SPMD,    /* called on each at the same time */
    STARPU_FORKJOIN /* called on one, may start threads on all */
};

/* An implementation: gets the data interfaces on its memory node, and cl_arg. */
typedef void (*starpu_cpu_func_t)(void **, void *);
typedef void (*starpu_cuda_func_t)(void **, void *);
typedef void (*starpu_hip_func_t)(void **, void *);
typedef void (*starpu_opencl_func_t)(void **, void *);
typedef void (*starpu_max_fpga_func_t)(void **, void *);
typedef void (*starpu_sycl_func_t)(void **, void *);
typedef void (*starpu_mic_kernel_t)(void **, void *);
typedef starpu_mic_kernel_t (*starpu_mic_func_t)(void);
typedef void (*starpu_mpi_ms_kernel_t)(void **, void *);
typedef starpu_mpi_ms_kernel_t (*starpu_mpi_ms_func_t)(void);

/* Values of the old fields cpu_func, cuda_func, opencl_func that say "see the array". */
#define STARPU_MULTIPLE_CPU_IMPLEMENTATIONS ((starpu_cpu_func_t)-1)
#define STARPU_MULTIPLE_CUDA_IMPLEMENTATIONS ((starpu_cuda_func_t)-1)
#define STARPU_MULTIPLE_HIP_IMPLEMENTATIONS ((starpu_hip_func_t)-1)
#define STARPU_MULTIPLE_OPENCL_IMPLEMENTATIONS ((starpu_opencl_func_t)-1)

/* Value of nbuffers of a codelet whose tasks each say how many data they have. */
#define STARPU_VARIABLE_NBUFFERS (-1)

/* Values of starpu_codelet::nodes, beside a memory node's number. */
#define STARPU_SPECIFIC_NODE_LOCAL (-1)        /* the memory of the worker */
#define STARPU_SPECIFIC_NODE_CPU (-2)          /* main memory */
#define STARPU_SPECIFIC_NODE_SLOW (-3)         /* the large, slow memory of the worker */
#define STARPU_SPECIFIC_NODE_FAST (-4)         /* the small, fast memory of the worker */
#define STARPU_SPECIFIC_NODE_LOCAL_OR_CPU (-5) /* main memory if the data is there and not in the worker's */
#define STARPU_SPECIFIC_NODE_NONE (-6)         /* nowhere: only the dependency counts */
#define STARPU_SPECIFIC_NODE_LOCAL_OR_SIMILAR_OR_CPU (-7) /* the same in this version */

/* What can be computed: implementations, the data they use, performance models.
 *
 * Zero is the default of each field, so that a static codelet needs to name only what it uses; a codelet on
 * the stack or heap goes through starpu_codelet_init(). It must outlive its tasks. Members that C++ programs
 * name in designated initialisers come in the usual order: where, can_execute, type, functions, nbuffers,
 * modes, model, name. */
struct starpu_codelet {
    uint32_t where; /* mask of kinds of workers; 0: wherever there is an implementation */
    int checked; /* the library's: verified once at the first submission. 1, set by the program: taken as it
                    is and never written to, for codelets in read-only memory; per_worker_stats stay 0 */

    /* May implementation nimpl run this task on this worker? NULL: yes. Called by any thread, often; must not
     * block. */
    int (*can_execute)(unsigned workerid, struct starpu_task *task, unsigned nimpl);
    enum starpu_codelet_type type;
    int max_parallelism; /* CPUs that a parallel implementation can use at most; 0: any number */

    /* Implementations, up to the first NULL. */
    starpu_cpu_func_t cpu_funcs[STARPU_MAXIMPLEMENTATIONS];
    starpu_cuda_func_t cuda_funcs[STARPU_MAXIMPLEMENTATIONS];
    char cuda_flags[STARPU_MAXIMPLEMENTATIONS];
    char hip_flags[STARPU_MAXIMPLEMENTATIONS];
    starpu_hip_func_t hip_funcs[STARPU_MAXIMPLEMENTATIONS];
    starpu_opencl_func_t opencl_funcs[STARPU_MAXIMPLEMENTATIONS];
    char opencl_flags[STARPU_MAXIMPLEMENTATIONS];
    starpu_max_fpga_func_t max_fpga_funcs[STARPU_MAXIMPLEMENTATIONS];
    starpu_mic_func_t mic_funcs[STARPU_MAXIMPLEMENTATIONS];       /* accepted, never called */
    starpu_mpi_ms_func_t mpi_ms_funcs[STARPU_MAXIMPLEMENTATIONS]; /* accepted, never called */
    const char *cpu_funcs_name[STARPU_MAXIMPLEMENTATIONS];        /* names of the symbols cpu_funcs */

    int nbuffers; /* number of data, or STARPU_VARIABLE_NBUFFERS */
    enum starpu_data_access_mode modes[STARPU_NMAXBUFS];
    enum starpu_data_access_mode *dyn_modes; /* instead of modes, when nbuffers exceeds STARPU_NMAXBUFS */

    unsigned specific_nodes;    /* are nodes or dyn_nodes set? */
    int nodes[STARPU_NMAXBUFS]; /* memory node for each datum, or STARPU_SPECIFIC_NODE_... */
    int *dyn_nodes;

    struct starpu_perfmodel *model;        /* of time; NULL: none */
    struct starpu_perfmodel *energy_model; /* of energy; NULL: none */

    const char *name; /* for messages and traces; NULL: the model's symbol */
    unsigned color;   /* 0xRRGGBB for traces; 0: chosen */

    void (*callback_func)(void *); /* for tasks without one of their own */
    int flags;                     /* STARPU_CODELET_... */

    /* Tasks run by each worker; none with STARPU_CODELET_PROFILING=0. [any: statistic] */
    unsigned long per_worker_stats[STARPU_NMAXWORKERS];
    struct starpu_perf_counter_sample *perf_counter_sample;           /* not used: counters are elsewhere */
    struct starpu_perf_counter_sample_cl_values *perf_counter_values; /* not used */

    /* Old: a single implementation, as in [0] of the arrays above. */
    starpu_cpu_func_t cpu_func;
    starpu_cuda_func_t cuda_func;
    starpu_opencl_func_t opencl_func;

    ORRERY_KINDS(ORRERY_KIND_FUNCTIONS) /* implementations for other kinds (orrery_kinds.h) */
};

/* A codelet without data that does nothing, on any CPU. */
extern struct starpu_codelet starpu_codelet_nop;

/* ---- Tasks ---- */

/* Where a task stands. */
enum starpu_task_status {
    STARPU_TASK_INIT,    /* not submitted */
    STARPU_TASK_BLOCKED, /* waits for dependencies */
    STARPU_TASK_READY,   /* given to the scheduler */
    STARPU_TASK_RUNNING,
    STARPU_TASK_FINISHED,
    STARPU_TASK_BLOCKED_ON_TAG,
    STARPU_TASK_BLOCKED_ON_TASK,
    STARPU_TASK_BLOCKED_ON_DATA,
    STARPU_TASK_STOPPED /* its body waits for something else */
};
#define STARPU_TASK_INIT STARPU_TASK_INIT
#define STARPU_TASK_INVALID STARPU_TASK_INIT

/* Values of starpu_task::type. */
#define STARPU_TASK_TYPE_NORMAL 0
#define STARPU_TASK_TYPE_INTERNAL (1 << 0)     /* made by the library */
#define STARPU_TASK_TYPE_DATA_ACQUIRE (1 << 1) /* made by the library to acquire data */

/* A datum and how it is used. */
struct starpu_data_descr {
    starpu_data_handle_t handle;
    enum starpu_data_access_mode mode;
};

typedef struct starpu_trs_epoch *starpu_trs_epoch_t;

/* One computation: a codelet on given data.
 *
 * The members that every task's life touches come first; a program sees no difference. [in]: set by the
 * program before submission. [lib]: set by the library. */
struct starpu_task {
    struct starpu_codelet *cl;         /* [in] NULL: an empty task, for its dependencies and callback */
    void *starpu_private;              /* [lib] */
    void *cl_arg;                      /* [in] second argument of the implementation */
    starpu_data_handle_t *dyn_handles; /* [in] instead of handles; these three are freed with the task */
    enum starpu_data_access_mode *dyn_modes; /* [in] instead of modes */
    void **dyn_interfaces;         /* [lib] instead of interfaces; allocated at submission if it is NULL */
    void (*callback_func)(void *); /* [in] called on the worker when the task has ended; must not block */
    int32_t where;                 /* [in] mask that replaces the codelet's; -1: the codelet's */
    int nbuffers;                  /* [in] number of data, if the codelet has STARPU_VARIABLE_NBUFFERS */
    int priority;                  /* [in] STARPU_MIN_PRIO (may wait) to STARPU_MAX_PRIO (urgent) */
    unsigned workerid;             /* [in] if execute_on_a_specific_worker, the worker to use */
    unsigned workerorder;          /* [in] place in the order of that worker, from 1; 0: any */
    unsigned sched_ctx;            /* [in] scheduling context; STARPU_NMAX_SCHED_CTXS: the thread's current */

    unsigned cl_arg_free : 1; /* [in] free() cl_arg with the task; so for the next ones */
    unsigned cl_ret_free : 1;
    unsigned callback_arg_free : 1;
    unsigned epilogue_callback_arg_free : 1;
    unsigned prologue_callback_arg_free : 1;
    unsigned prologue_callback_pop_arg_free : 1;
    unsigned use_tag : 1;                      /* [in] tag_id is meant */
    unsigned sequential_consistency : 1;       /* [in] infer dependencies from data (default) */
    unsigned synchronous : 1;                  /* [in] starpu_task_submit() blocks until the end */
    unsigned execute_on_a_specific_worker : 1; /* [in] run on workerid, whatever the scheduler */
    unsigned detach : 1;                       /* [in] nobody will wait for this task (default) */
    unsigned destroy : 1;           /* [in] free the task when it ends (default of starpu_task_create()) */
    unsigned regenerate : 1;        /* [in] submit again when it ends */
    unsigned no_submitorder : 1;    /* [in] no effect: all ranks submit in the same order, or are told */
    unsigned failed : 1;            /* [lib] starpu_task_ft_failed() was called for it */
    unsigned mf_skip : 1;           /* [lib] */
    unsigned scheduled : 1;         /* [lib] the scheduler has decided on the worker */
    unsigned prefetched : 1;        /* [lib] its data was asked for */
    unsigned possibly_parallel : 1; /* [in] no effect: the codelet says so (max_parallelism) */
    unsigned type : 4;              /* [lib] STARPU_TASK_TYPE_... */
    unsigned magic : 6;             /* 42: was initialised */

    enum starpu_task_status status; /* [lib] */

    starpu_data_handle_t handles[STARPU_NMAXBUFS];       /* [in] */
    enum starpu_data_access_mode modes[STARPU_NMAXBUFS]; /* [in] with STARPU_VARIABLE_NBUFFERS */

    void *callback_arg;                     /* [in] */
    void (*epilogue_callback_func)(void *); /* [in] called after the body, before successors are released */
    void *epilogue_callback_arg;
    void (*prologue_callback_func)(void *); /* [in] called when the task becomes ready, before scheduling */
    void *prologue_callback_arg;
    void (*prologue_callback_pop_func)(void *); /* [in] called by the worker that takes it, before the body */
    void *prologue_callback_pop_arg;

    const char *name; /* [in] for messages and traces; NULL: the codelet's; borrowed until completion */
    const char *file; /* where it was submitted */
    unsigned line : 20;
    unsigned workerids_len : 12; /* [in] number of words of workerids */
    unsigned color;              /* [in] 0xRRGGBB for traces; 0: the codelet's */

    starpu_tag_t tag_id; /* [in] if use_tag */
    size_t cl_arg_size;  /* [in] bytes of cl_arg, when it may be copied to another memory */
    void *cl_ret;        /* [in] where the body may leave a result */
    size_t cl_ret_size;  /* [in] */
    uint32_t *workerids; /* [in] bit mask of the workers allowed, 32 per word; NULL: all */
    unsigned char *handles_sequential_consistency; /* [in] infer dependencies: by datum; NULL: for all */

    struct starpu_task *prev; /* links of the list that holds the task: its scheduler's */
    struct starpu_task *next;
    void *sched_data; /* for the scheduler's use */
    double predicted; /* [lib] time in us that the model predicts on the chosen worker; NAN: unknown */
    double predicted_transfer;
    double predicted_start; /* NAN: not predicted */
    double flops;           /* [in] number of operations, for statistics and the hypervisor */

    int hypervisor_tag;                    /* [in] */
    unsigned nb_termination_call_required; /* [in] calls of starpu_task_end_dep_release() to wait for */
    starpu_task_bundle_t bundle;           /* [lib] see starpu_task_bundle_insert() */
    struct starpu_profiling_task_info *profiling_info; /* [lib] filled in when profiling is on; NULL: off */
    struct starpu_transaction *transaction;            /* [lib] of STARPU_TRANSACTION */
    starpu_trs_epoch_t trs_epoch;                      /* [lib] */
    struct starpu_omp_task *omp_task;                  /* [lib] */

    void *interfaces[STARPU_NMAXBUFS]; /* [lib] the data as the worker sees them */
};

/* Initialiser of a static task, or one on the stack; what it leaves out is zero. Such a task must have
 * destroy = 0. */
#define STARPU_TASK_INITIALIZER                                                                              \
    {                                                                                                        \
        .cl = NULL, .where = -1, .sched_ctx = STARPU_NMAX_SCHED_CTXS, .sequential_consistency = 1,           \
        .detach = 1, .magic = 42, .predicted = NAN, .predicted_transfer = NAN, .predicted_start = NAN        \
    }

/* ---- Data of a task and of a codelet ---- */

#define STARPU_TASK_GET_NBUFFERS(task)                                                                       \
    ((unsigned)((task)->cl->nbuffers == STARPU_VARIABLE_NBUFFERS ? (task)->nbuffers : (task)->cl->nbuffers))

#define STARPU_TASK_GET_HANDLES(task) ((task)->dyn_handles ? (task)->dyn_handles : (task)->handles)
#define STARPU_TASK_GET_HANDLE(task, i) (STARPU_TASK_GET_HANDLES(task)[i])
#define STARPU_TASK_SET_HANDLE(task, handle, i) ((void)(STARPU_TASK_GET_HANDLES(task)[i] = (handle)))

#define STARPU_TASK_GET_INTERFACES(task)                                                                     \
    ((task)->dyn_interfaces ? (task)->dyn_interfaces : (task)->interfaces)

#define STARPU_CODELET_GET_MODES_(codelet) ((codelet)->dyn_modes ? (codelet)->dyn_modes : (codelet)->modes)
#define STARPU_CODELET_GET_MODE(codelet, i) (STARPU_CODELET_GET_MODES_(codelet)[i])
#define STARPU_CODELET_SET_MODE(codelet, mode, i) ((void)(STARPU_CODELET_GET_MODES_(codelet)[i] = (mode)))

/* Modes are the task's own when it has dyn_modes or a variable number of data, else the codelet's. */
#define STARPU_TASK_GET_MODES_(task)                                                                         \
    ((task)->dyn_modes                                  ? (task)->dyn_modes                                  \
     : (task)->cl->nbuffers == STARPU_VARIABLE_NBUFFERS ? (task)->modes                                      \
                                                        : STARPU_CODELET_GET_MODES_((task)->cl))
#define STARPU_TASK_GET_MODE(task, i) (STARPU_TASK_GET_MODES_(task)[i])
#define STARPU_TASK_SET_MODE(task, mode, i) ((void)(STARPU_TASK_GET_MODES_(task)[i] = (mode)))

#define STARPU_CODELET_GET_NODES_(codelet) ((codelet)->dyn_nodes ? (codelet)->dyn_nodes : (codelet)->nodes)
#define STARPU_CODELET_GET_NODE(codelet, i) (STARPU_CODELET_GET_NODES_(codelet)[i])
#define STARPU_CODELET_SET_NODE(codelet, node, i) ((void)(STARPU_CODELET_GET_NODES_(codelet)[i] = (node)))

/* ---- Making and freeing ---- */

/* At any time: give a codelet, or a task, that the program allocated its default values. A task made so is
 * the program's to free, once starpu_task_clean() has released what the library attached to it. */
void starpu_codelet_init(struct starpu_codelet *cl);
void starpu_task_init(struct starpu_task *task);

/* Release what the library attached to a task of the program's that has ended, or was not submitted; also in
 * its own callback. NULL is nothing; a task under way is left alone, with a message. */
void starpu_task_clean(struct starpu_task *task);

/* Make a task with default values and destroy set; it is the caller's until it is submitted. Returns NULL,
 * after a message, when out of memory. */
struct starpu_task *starpu_task_create(void) STARPU_ATTRIBUTE_MALLOC;

/* Make a task, not submitted, that takes a datum in a mode and does nothing.
 * Returns NULL when out of memory. */
struct starpu_task *starpu_task_create_sync(starpu_data_handle_t handle, enum starpu_data_access_mode mode);

/* Copy a task that is not submitted, for submission beside the original. Returns NULL: out of memory, or of
 * NULL. The copy has
 * arrays of its own for data, and arguments of its own if they are freed with the task and cl_arg_size says
 * how long they are. Other arguments to be freed remain the original's: it must end after the copy. */
struct starpu_task *starpu_task_dup(struct starpu_task *task);

/* Free a task of starpu_task_create() that has ended, or was never submitted; NULL is nothing. In its own
 * callback: it is freed when it ends. Any other task under way is left alone, with a message. A task in
 * memory of the program's is cleaned and given to free(). */
void starpu_task_destroy(struct starpu_task *task);

/* ---- Submitting ---- */

/* Submit a task, from any thread, task bodies and callbacks too. On success it is the library's until it
 * ends. Waits for that if the task is synchronous (-EDEADLK in a task or a callback), and for others if a
 * limit on submitted tasks is reached (not there, nor on workers). Returns 0; -ENODEV: no worker can run it,
 * or the runtime is not initialised; -EINVAL: NULL, or a bad field; -ENOMEM; of a synchronous task also why
 * it failed. After an error the task is the caller's. */
int starpu_task_submit(struct starpu_task *task) STARPU_WARN_UNUSED_RESULT;

/* The same, saying where in the program this was: what starpu_task_submit() becomes, for messages. */
static STARPU_INLINE int starpu_task_submit_line(struct starpu_task *task, const char *file, int line)
{
    if (task) {
        task->file = file;
        task->line = (unsigned)line & 0xfffffU;
    }
    return starpu_task_submit(task);
}
#define starpu_task_submit(task) starpu_task_submit_line((task), __FILE__, __LINE__)

/* Submit to a given scheduling context. Returns as starpu_task_submit(). */
int starpu_task_submit_to_ctx(struct starpu_task *task, unsigned sched_ctx_id);

/* Submit as if all that the task depends on had come: it waits neither for its data, nor for tasks and tags
 * that were declared (nor will it in later rounds), and nobody waits for it because of its data. For tasks on
 * data that the caller holds until they end (starpu_data_acquire_cb). Returns as starpu_task_submit();
 * -EINVAL for data in REDUX, too. */
int starpu_task_submit_nodeps(struct starpu_task *task) STARPU_WARN_UNUSED_RESULT;

/* Submit an empty task that carries sync_tag, after the ndeps tags of deps (copied); callback may be NULL.
 * What fails goes to orrery_set_error_hook(). */
void starpu_create_sync_task(starpu_tag_t sync_tag, unsigned ndeps, starpu_tag_t *deps,
                             void (*callback)(void *), void *callback_arg);

/* Submit an empty task that waits for nothing: callback is called by the time this returns, like that of any
 * task; what it waits for may be a task of its own. NULL: nothing is called. What fails goes to
 * orrery_set_error_hook(). */
void starpu_create_callback_task(void (*callback)(void *), void *callback_arg);

/* At max submitted tasks the next submission waits until only min are left (not in task bodies, callbacks and
 * on workers); -1: no limit, as at first (STARPU_LIMIT_MAX_SUBMITTED_TASKS). */
void starpu_set_limit_min_submitted_tasks(int limit_min);
void starpu_set_limit_max_submitted_tasks(int limit_max);
int starpu_get_limit_min_submitted_tasks(void);
int starpu_get_limit_max_submitted_tasks(void);

/* ---- Waiting: these block; -EDEADLK when called from a task body or callback ---- */

/* Does not block: has the task ended, its callback too (1, else 0; NULL: 0)? It must not be freed by its end:
 * detach == 0, or destroy == 0. Once this says yes the runtime does not touch the task any more. */
int starpu_task_finished(struct starpu_task *task) STARPU_WARN_UNUSED_RESULT;

/* Wait for the end of a task with detach == 0; frees it if destroy is set. Returns 0; -EINVAL: detached,
 * synchronous, or not submitted; -EDEADLK; -ENODATA, -ENOMEM, -EIO: it failed (orrery_set_error_hook()). Of
 * an array, the first error; all are waited for. */
int starpu_task_wait(struct starpu_task *task) STARPU_WARN_UNUSED_RESULT;
int starpu_task_wait_array(struct starpu_task **tasks, unsigned nb_tasks) STARPU_WARN_UNUSED_RESULT;

/* Wait for all tasks submitted so far: in the context that the calling thread has set
 * (starpu_sched_ctx_set_context()), if it has, else in all; or in the one given. Returns 0; -EIO: some have
 * failed since the last time (orrery_set_error_hook()); -EDEADLK; -EINVAL: there is no such context. */
int starpu_task_wait_for_all(void);
int starpu_task_wait_for_all_in_ctx(unsigned sched_ctx_id);

/* Wait until only n of them have not ended. Returns 0; -EDEADLK; -EINVAL: there is no such context. */
int starpu_task_wait_for_n_submitted(unsigned n);
int starpu_task_wait_for_n_submitted_in_ctx(unsigned sched_ctx_id, unsigned n);

/* These two do not block. Number of tasks that are submitted and have not ended; about how many of these are
 * ready or running. In the context that the calling thread has set, if it has, else in all. */
int starpu_task_nsubmitted(void);
int starpu_task_nready(void);

/* Blocks until no task is ready or running: what is submitted then waits for something else. 0, or -EDEADLK
 * in a task or a callback. */
int starpu_task_wait_for_no_ready(void);

/* Called, on a thread of the runtime's, whenever tasks are submitted and none has ended for
 * STARPU_WATCHDOG_TIMEOUT microseconds (0, the default: never), beginning STARPU_WATCHDOG_DELAY microseconds
 * after starpu_init; after a message, and before the program is aborted if STARPU_WATCHDOG_CRASH is 1. NULL:
 * the message alone. At any time, from any thread. */
void starpu_task_watchdog_set_hook(void (*hook)(void *), void *hook_arg);

/* ---- For traces and schedulers ---- */

/* Mark the tasks that this thread submits between push and pop with an iteration number; the calls nest. With
 * ranks, an iteration that inserts the same tasks as the one before costs less (ORRERY_MPI_REPLAY). */
void starpu_iteration_push(unsigned long iteration);
void starpu_iteration_pop(void);

/* Tell the scheduler that enough tasks were submitted for it to decide; and that what it knows is out of
 * date: policies that keep nothing do nothing. */
void starpu_do_schedule(void);
void starpu_reset_scheduler(void);

/* Print, on stderr, how many tasks of a codelet each worker ran. */
void starpu_codelet_display_stats(struct starpu_codelet *cl);

/* ---- Tasks that are tried again until their result is good ----
 *
 * A task whose prologue_callback_func is starpu_task_ft_prologue does not run itself. It takes its data, and
 * tries of it run on them: tasks like it without its dependencies, callbacks (but for
 * prologue_callback_pop_func) and tag. After each try `check` is called, as that one's callback
 * (starpu_task_get_current() is the try), with the task; it calls starpu_task_ft_success(), or makes and
 * submits another try. Only then the task ends, and its callback is called. Data should be read or written,
 * not both: what a bad try wrote is there for the next one, and nothing takes it back. Not for tasks with
 * regenerate or workerorder, nor jobs of lists: told, and run once; nor for those that contribute
 * (STARPU_REDUX): told, and they fail. The task has no body from then on (where is STARPU_NOWHERE). A try
 * that cannot run, as its data cannot be brought, is not made again: the task fails as any other. */

/* Makes the first try and submits it. The argument is `check`, a void (*)(void *); NULL: a try is good unless
 * starpu_task_ft_failed() was called for it, and else there is another. */
void starpu_task_ft_prologue(void *check_ft);

/* Makes a try of meta_task, like template_task: that one, in its own prologue, or the try before. It is
 * submitted with starpu_task_submit_nodeps(). Returns NULL, after a message: out of memory, or no task for
 * that. */
struct starpu_task *starpu_task_ft_create_retry(const struct starpu_task *meta_task,
                                                const struct starpu_task *template_task,
                                                void (*check_ft)(void *));

/* In the body of a try: its result is no good, and its time is nothing for performance models. NULL is
 * nothing. */
void starpu_task_ft_failed(struct starpu_task *task);

/* The last try of meta_task was good: it ends. */
void starpu_task_ft_success(struct starpu_task *meta_task);

/* ---- Transactions: tasks that run, or are left out, together ----
 *
 * Tasks that are inserted with STARPU_TRANSACTION are of the transaction's epoch at that time. When all tasks
 * of the epochs before have ended, do_start_func(NULL, do_start_arg) is called, on the thread that finds
 * this, and must not block: if it returns 0 the tasks of the epoch do not run, and change nothing, but end in
 * their turn, callbacks called (but no prologue). Their dependencies are as ever. NULL: all epochs run. Each
 * rank decides for its own tasks. Tasks with regenerate or workerorder are refused with -EINVAL; a copy by
 * starpu_task_dup(), and a task that is submitted again, is of no transaction. One that was left out has no
 * body from then on (where is STARPU_NOWHERE).
 *
 * Several threads may insert, but no epoch may begin while another thread inserts tasks that share data with
 * its tasks: one that is still of the epoch before may come behind them in the order of the data, and each
 * would wait for the other. That is told as a deadlock. */

/* Opens a transaction with its first epoch. Returns NULL: out of memory, or the runtime is not initialised.
 */
struct starpu_transaction *starpu_transaction_open(int (*do_start_func)(void *descr, void *arg),
                                                   void *do_start_arg);

/* The epoch is complete, and another one begins, with an argument of its own. Out of memory: to
 * orrery_set_error_hook(), and the epoch goes on. */
void starpu_transaction_next_epoch(struct starpu_transaction *p_trs, void *do_start_arg);

/* The last epoch is complete; the transaction is freed once it has ended. NULL is nothing. To insert into it
 * afterwards is undefined. */
void starpu_transaction_close(struct starpu_transaction *p_trs);

/* ---- Asking about a task ---- */

/* The task whose body or callback the caller runs; NULL elsewhere. */
struct starpu_task *starpu_task_get_current(void);

/* In a task body: the memory node of the i-th datum; -1: elsewhere, it has no such datum, or that is on no
 * node. */
int starpu_task_get_current_data_node(unsigned i);

/* Names, which belong to the program: of the performance model, or else of the codelet (NULL: none); of the
 * task, or else of its codelet, model or function ("(unnamed)": none; NULL: of NULL). */
const char *starpu_task_get_model_name(struct starpu_task *task);
const char *starpu_task_get_name(struct starpu_task *task);

/* Which implementation runs, from 0: schedulers set it. One beyond STARPU_MAXIMPLEMENTATIONS is refused with
 * a message. */
void starpu_task_set_implementation(struct starpu_task *task, unsigned impl);
unsigned starpu_task_get_implementation(struct starpu_task *task);

/* Name of a status, a static string; "STARPU_TASK_UNKNOWN" of what is none. */
char *starpu_task_status_get_as_string(enum starpu_task_status status);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
