/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Performance models: how long (or how much energy) a codelet takes on each architecture, and how long
 * transfers take.
 * Threads: any thread after starpu_init(), unless a comment says otherwise; nothing blocks. A model itself
 *   must not be changed by the program once a task uses it. Results and ownership: as starpu.h says.
 * Not here: what a task is expected to take (starpu_task_expected_length(), starpu_scheduler.h); what
 *   it took (starpu_profiling.h).
 *
 * Times are in microseconds, energies in joules, bandwidths in MB/s (1e6 bytes), latencies in
 * microseconds. A time of NaN means: not calibrated yet; infinity: the codelet does not run there.
 */
#ifndef STARPU_PERFMODEL_H
#define STARPU_PERFMODEL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <starpu_config.h>
#include <starpu_worker.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct starpu_task;
struct starpu_data_descr;

/* Deepest nesting of recursive tasks that a model tells apart. */
#define STARPU_RECURSIVE_TASKS_NMAX_LEVELS 10

/* One device of an architecture. */
struct starpu_perfmodel_device {
    enum starpu_worker_archtype type;
    int devid;  /* number of the device among its type; 0 for CPU cores; -1 any */
    int ncores; /* cores that run a task together */
};

/* An architecture: the devices that run a task together, most often just one. */
struct starpu_perfmodel_arch {
    int ndevices;
    struct starpu_perfmodel_device *devices;
};

/* What was measured for one footprint. */
struct starpu_perfmodel_history_entry {
    double mean;      /* of the measures */
    double deviation; /* standard, of the measures */
    double sum;       /* of the measures */
    double sum2;      /* of their squares */
    unsigned nsample; /* measures kept */
    unsigned nerror;  /* measures too far from the mean since it was last trusted */
    uint32_t footprint;
    size_t size;        /* bytes, or what size_base() says */
    double flops;       /* given by the task, 0 if none */
    double duration;    /* of the last measure */
    uint64_t tag;       /* of the last measured task */
    double *parameters; /* of STARPU_MULTIPLE_REGRESSION_BASED, nparameters values; otherwise NULL */
};

struct starpu_perfmodel_history_list {
    struct starpu_perfmodel_history_list *next;
    struct starpu_perfmodel_history_entry *entry;
};

/* The regressions over all footprints: time = alpha * size^beta, time = a * size^b + c, and
 * time = sum of coeff[i] * monomial i of the parameters (coeff[0] constant). */
struct starpu_perfmodel_regression_model {
    double sumlny;      /* sum of ln(time) */
    double sumlnx;      /* sum of ln(size) */
    double sumlnx2;     /* sum of ln(size)^2 */
    double sumlnxlny;   /* sum of ln(size) * ln(time) */
    unsigned long minx; /* smallest size */
    unsigned long maxx; /* largest size */
    double alpha;
    double beta;
    unsigned valid; /* alpha and beta may be used */
    double a;
    double b;
    double c;
    unsigned nl_valid; /* a, b and c may be used */
    unsigned nsample;
    double *coeff;
    unsigned ncoeff;
    unsigned multi_valid; /* coeff may be used */
};

struct starpu_perfmodel_history_table;

#define starpu_per_arch_perfmodel starpu_perfmodel_per_arch

/* Cost of a task on an architecture with implementation `nimpl`, in the model's unit. */
typedef double (*starpu_perfmodel_per_arch_cost_function)(struct starpu_task *task,
                                                          struct starpu_perfmodel_arch *arch, unsigned nimpl);

/* Size of a task on an architecture with implementation `nimpl`, for regressions. */
typedef size_t (*starpu_perfmodel_per_arch_size_base)(struct starpu_task *task,
                                                      struct starpu_perfmodel_arch *arch, unsigned nimpl);

/* What a model holds for one architecture and one implementation. */
struct starpu_perfmodel_per_arch {
    starpu_perfmodel_per_arch_cost_function cost_function; /* of STARPU_PER_ARCH, set by the program */
    starpu_perfmodel_per_arch_size_base size_base;         /* set by the program, NULL: the model's */
    struct starpu_perfmodel_history_table *history;        /* by footprint */
    struct starpu_perfmodel_history_list *list;            /* the same entries */
    struct starpu_perfmodel_regression_model regression;
    char debug_path[256]; /* never read: measures are written to no file of their own */
};

/* Where a model's answers come from. */
enum starpu_perfmodel_type {
    STARPU_PERFMODEL_INVALID = 0,
    STARPU_PER_WORKER,               /* worker_cost_function */
    STARPU_PER_ARCH,                 /* arch_cost_function, or that of each architecture */
    STARPU_COMMON,                   /* cost_function, times the speed of each kind of worker */
    STARPU_HISTORY_BASED,            /* mean of what was measured for the same footprint */
    STARPU_REGRESSION_BASED,         /* alpha * size^beta fitted to what was measured */
    STARPU_NL_REGRESSION_BASED,      /* a * size^b + c fitted to what was measured */
    STARPU_MULTIPLE_REGRESSION_BASED /* polynomial of the parameters fitted to what was measured */
};

struct orr_perfmodel_state;
typedef struct orr_perfmodel_state *starpu_perfmodel_state_t;

/* A model. Zeroed except for what the program sets: `type` always, and `symbol` where measures are
 * kept. Static models need no initialisation call. */
struct starpu_perfmodel {
    enum starpu_perfmodel_type type;
    /* Set by the program, as `type` needs it. Called by any thread. */
    double (*cost_function)(struct starpu_task *task, unsigned nimpl);
    double (*arch_cost_function)(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                                 unsigned nimpl);
    double (*worker_cost_function)(struct starpu_task *task, unsigned workerid, unsigned nimpl);
    /* Optional: size of a task for regressions; default: bytes of its data. */
    size_t (*size_base)(struct starpu_task *task, unsigned nimpl);
    /* Optional: what tells tasks apart in a history; default: hash of the shapes of the data. */
    uint32_t (*footprint)(struct starpu_task *task);
    const char *symbol; /* name of the model's file, the same in every run */
    const char *path;   /* optional: the file itself instead of the one found by `symbol` */

    unsigned is_loaded;    /* kept by the runtime: the file was read */
    unsigned benchmarking; /* kept by the runtime: being calibrated */
    unsigned is_init;      /* kept by the runtime */

    /* STARPU_MULTIPLE_REGRESSION_BASED: sets the nparameters values of a task; names them; and the
     * monomials, each an array of nparameters exponents. */
    void (*parameters)(struct starpu_task *task, double *parameters);
    const char **parameters_names;
    unsigned nparameters;
    unsigned **combinations;
    unsigned ncombinations;

    starpu_perfmodel_state_t state; /* kept by the runtime */
};

/* The model that says nothing: a codelet with it is neither measured nor predicted. */
extern struct starpu_perfmodel starpu_perfmodel_nop;

/* ---- Life of a model ---- */

/* Initialises a model whose type and symbol are set. Only needed before the per-device functions
 * below; done at the first use otherwise. */
void starpu_perfmodel_init(struct starpu_perfmodel *model);

/* Frees what the runtime keeps for a model that no codelet in use has. Measures that were not saved
 * are lost. Returns 0. */
int starpu_perfmodel_deinit(struct starpu_perfmodel *model);

/* Reads the settings of models without starpu_init(), for tools that only read models. */
void starpu_perfmodel_initialize(void);

/* Frees every loaded model. While no task uses one; for tools without starpu_init(). */
void starpu_perfmodel_free_sampling(void);

/* Fills `model` from the file `filename`; its type and symbol too, if they are not set. Returns 0; 1 when it
 * cannot be read or is damaged, or there is no memory. Without starpu_init(), too. */
int starpu_perfmodel_load_file(const char *filename, struct starpu_perfmodel *model);

/* Fills `model` from the file of `symbol` on this machine; lists near names on stderr when there is
 * none. Returns 0; 1 as starpu_perfmodel_load_file(), and when there is none. */
int starpu_perfmodel_load_symbol(const char *symbol, struct starpu_perfmodel *model);

/* Frees what loading filled in. Returns 0. */
int starpu_perfmodel_unload_model(struct starpu_perfmodel *model);

/* Writes a model's measures to its file now (starpu_shutdown() does it for all). `model` must have a
 * symbol or a path, else nothing happens. What cannot be written is warned of. */
void starpu_save_history_based_model(struct starpu_perfmodel *model);

/* Sets `path` to the file of `symbol` on this machine, empty if there is none. At most `maxlen`
 * bytes with the final zero. */
void starpu_perfmodel_get_model_path(const char *symbol, char *path, size_t maxlen);

/* Sets `path` to a name for a file of the measures of the model on `arch` with implementation `nimpl`;
 * nothing is written there. */
void starpu_perfmodel_debugfilepath(struct starpu_perfmodel *model, struct starpu_perfmodel_arch *arch,
                                    char *path, size_t maxlen, unsigned nimpl);

/* Prints where models are kept. */
void starpu_perfmodel_directory(FILE *output);

/* Prints the names of all models kept for this machine. Returns 0, also if there are none; a negative errno:
 * the directory cannot be read. */
int starpu_perfmodel_list(FILE *output);

/* ---- Architectures ---- */

/* Returns the architecture of a worker (a combined worker included), the same in all contexts; NULL: there is
 * no such worker. Valid until starpu_shutdown(). */
struct starpu_perfmodel_arch *starpu_worker_get_perf_archtype(int workerid, unsigned sched_ctx_id);

/* Returns the number of known combinations of devices. */
int starpu_perfmodel_get_narch_combs(void);

/* Makes a combination of `ndevices` devices known. `devices` is copied. Returns its number; -1: fewer than 1
 * or more than 64 devices, or no room or memory for another. */
int starpu_perfmodel_arch_comb_add(int ndevices, struct starpu_perfmodel_device *devices);

/* Returns the number of a combination, -1 if it is not known. */
int starpu_perfmodel_arch_comb_get(int ndevices, struct starpu_perfmodel_device *devices);

/* Returns combination number `comb`; NULL: there is none. Valid until starpu_shutdown(). */
struct starpu_perfmodel_arch *starpu_perfmodel_arch_comb_fetch(int comb);

/* Returns the name of a type of worker in the names of files and architectures, a static string; "unknown":
 * there is no such type. At any time. */
const char *starpu_perfmodel_get_archtype_name(enum starpu_worker_archtype archtype);

/* Writes the name of an architecture and implementation into `archname` of `maxlen` bytes, cut to that with
 * the final zero. */
void starpu_perfmodel_get_arch_name(struct starpu_perfmodel_arch *arch, char *archname, size_t maxlen,
                                    unsigned nimpl);

/* Returns what the model holds for an architecture and implementation, NULL if nothing. Valid as long as the
 * model is. */
struct starpu_perfmodel_per_arch *starpu_perfmodel_get_model_per_arch(struct starpu_perfmodel *model,
                                                                      struct starpu_perfmodel_arch *arch,
                                                                      unsigned impl);

/* Returns the same, the architecture given as (enum starpu_worker_archtype, int devid, int ncores) for each
 * device, then -1. What is not there is created; NULL: it cannot be. */
struct starpu_perfmodel_per_arch *starpu_perfmodel_get_model_per_devices(struct starpu_perfmodel *model,
                                                                         int impl, ...);

/* Sets the cost function of the architecture given the same way. Before tasks with the model are submitted.
 * Returns 0; -ENOMEM, also for devices, an implementation or a model that cannot be. */
int starpu_perfmodel_set_per_devices_cost_function(struct starpu_perfmodel *model, int impl,
                                                   starpu_perfmodel_per_arch_cost_function func, ...);

/* Sets the size function of the architecture given the same way. Returns the same. */
int starpu_perfmodel_set_per_devices_size_base(struct starpu_perfmodel *model, int impl,
                                               starpu_perfmodel_per_arch_size_base func, ...);

/* ---- Measures ---- */

/* Adds one measure of `task` on architecture `arch` with implementation `nimpl`; `cpuid` is ignored. A model
 * that keeps no measures: a message. */
void starpu_perfmodel_update_history(struct starpu_perfmodel *model, struct starpu_task *task,
                                     struct starpu_perfmodel_arch *arch, unsigned cpuid, unsigned nimpl,
                                     double measured);

/* Same for the average of `number` executions. */
void starpu_perfmodel_update_history_n(struct starpu_perfmodel *model, struct starpu_task *task,
                                       struct starpu_perfmodel_arch *arch, unsigned cpuid, unsigned nimpl,
                                       double average_measured, unsigned number);

/* Returns the mean of what was measured for `footprint` on `arch`, with the first implementation that was
 * measured often enough; NaN if none was: it takes STARPU_CALIBRATE_MINIMUM measures (10). */
double starpu_perfmodel_history_based_expected_perf(struct starpu_perfmodel *model,
                                                    struct starpu_perfmodel_arch *arch, uint32_t footprint);

/* Starts measuring energy: of all CPU cores, where `archi` is STARPU_CPU_WORKER and workerid -1; or of the
 * device of worker `workerid`, of kind `archi`, with all that it does, whoever asked for that (CUDA's where
 * NVIDIA's management library is, and the device counts). One measurement at a time of each. Returns 0; -1:
 * it cannot be measured, or not on this machine. */
int starpu_energy_start(int workerid, enum starpu_worker_archtype archi);

/* Ends it and adds the energy, divided by `ntasks`, to `model` as a measure of `task` with
 * implementation `nimpl`. Returns 0; -1: it was not started, cannot be measured, or ntasks is 0. */
int starpu_energy_stop(struct starpu_perfmodel *model, struct starpu_task *task, unsigned nimpl,
                       unsigned ntasks, int workerid, enum starpu_worker_archtype archi);

/* ---- Display ---- */

/* Writes all that a model holds as XML. */
void starpu_perfmodel_dump_xml(FILE *output, struct starpu_perfmodel *model);

/* Prints the architectures that a model holds measures for. Returns 0. */
int starpu_perfmodel_list_combs(FILE *output, struct starpu_perfmodel *model);

/* Prints what a model holds for one architecture and implementation: `parameter` one of its values ("alpha",
 * "beta", "a", "b", "c", "mean", "stddev", "path-file-debug"; NULL: the history), `footprint` one entry
 * (NULL: all). Nothing, if it holds nothing. */
void starpu_perfmodel_print(struct starpu_perfmodel *model, struct starpu_perfmodel_arch *arch,
                            unsigned nimpl, char *parameter, uint32_t *footprint, FILE *output);

/* Same for architectures by name: "cpu", "cuda0", ...; NULL: all. Returns 0; 1 when the name is not
 * known. */
int starpu_perfmodel_print_all(struct starpu_perfmodel *model, char *arch, char *parameter,
                               uint32_t *footprint, FILE *output);

/* Prints what a model predicts for `footprint` on every worker. Returns 0. */
int starpu_perfmodel_print_estimations(struct starpu_perfmodel *model, uint32_t footprint, FILE *output);

/* ---- Transfers between memory nodes ---- */

/* Prints bandwidth and latency between all memory nodes. */
void starpu_bus_print_bandwidth(FILE *f);

/* Prints the memory nodes and their devices. */
void starpu_bus_print_affinity(FILE *f);

/* Prints the name of the file with these measures, or why there is none. */
void starpu_bus_print_filenames(FILE *f);

/* Returns the bandwidth from one memory node to another in MB/s; infinity where nothing is moved; NaN: there
 * is no such node. */
double starpu_transfer_bandwidth(unsigned src_node, unsigned dst_node);

/* Returns the latency from one memory node to another in microseconds; NaN: there is no such node. */
double starpu_transfer_latency(unsigned src_node, unsigned dst_node);

/* Returns the time to move `size` bytes from one memory node to another, which there are, in microseconds. */
double starpu_transfer_predict(unsigned src_node, unsigned dst_node, size_t size);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* STARPU_PERFMODEL_H */
