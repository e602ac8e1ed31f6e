/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parallel workers: groups of cores that each run one task at a time, whose codelet uses all of them
 * (OpenMP, a threaded BLAS).
 * Threads: the thread that initialised the runtime, outside of tasks.
 * Not here: combined workers of a policy's own choice (starpu_combined_worker_get_count(),
 *   starpu_worker.h).
 */
#ifndef STARPU_PARALLEL_WORKER_H
#define STARPU_PARALLEL_WORKER_H

#include <starpu_config.h>
#include <starpu_task_util.h>

#ifdef STARPU_PARALLEL_WORKER

#include <hwloc.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Arguments of starpu_parallel_worker_init(), each followed by its value (the types are given), then 0
 * at the end. */
#define STARPU_PARALLEL_WORKER_MIN_NB (1 << STARPU_MODE_SHIFT) /* int: at least that many */
#define STARPU_PARALLEL_WORKER_MAX_NB (2 << STARPU_MODE_SHIFT) /* int: at most that many */
#define STARPU_PARALLEL_WORKER_NB (3 << STARPU_MODE_SHIFT)     /* int: that many */
/* int: 1: as few as MIN_NB allows, rather than one for each object of the level */
#define STARPU_PARALLEL_WORKER_PREFERE_MIN (4 << STARPU_MODE_SHIFT)
/* int: 1: all of the same size, leaving cores idle if need be */
#define STARPU_PARALLEL_WORKER_KEEP_HOMOGENEOUS (5 << STARPU_MODE_SHIFT)
/* void (*)(void *): called on the first core of each before its first task, in place of what TYPE names */
#define STARPU_PARALLEL_WORKER_CREATE_FUNC (8 << STARPU_MODE_SHIFT)
#define STARPU_PARALLEL_WORKER_CREATE_FUNC_ARG (9 << STARPU_MODE_SHIFT) /* void *: its argument */
/* enum starpu_parallel_worker_types: which runtime the tasks use */
#define STARPU_PARALLEL_WORKER_TYPE (10 << STARPU_MODE_SHIFT)

/* Refused with a message: policies inside of a group, groups whose other cores stay awake, groups of chosen
 * sizes. */
#define STARPU_PARALLEL_WORKER_POLICY_NAME (6 << STARPU_MODE_SHIFT)
#define STARPU_PARALLEL_WORKER_POLICY_STRUCT (7 << STARPU_MODE_SHIFT)
#define STARPU_PARALLEL_WORKER_AWAKE_WORKERS (11 << STARPU_MODE_SHIFT)
#define STARPU_PARALLEL_WORKER_PARTITION_ONE (12 << STARPU_MODE_SHIFT)
#define STARPU_PARALLEL_WORKER_NEW (13 << STARPU_MODE_SHIFT)
#define STARPU_PARALLEL_WORKER_NCORES (14 << STARPU_MODE_SHIFT)

/* The runtime that codelets use, and so how its threads are bound to the group's cores. */
enum starpu_parallel_worker_types {
    STARPU_PARALLEL_WORKER_OPENMP,
    STARPU_PARALLEL_WORKER_INTEL_OPENMP_MKL,
    STARPU_PARALLEL_WORKER_GNU_OPENMP_MKL
};

struct starpu_parallel_worker_config;

/* Groups the CPU workers by the hwloc objects of `parallel_worker_level` (HWLOC_OBJ_SOCKET, ...), as
 * the arguments that follow say. The first worker of each group runs the tasks, bound to the cores of all;
 * the others sleep. Returns the groups; NULL, with a message, if they cannot be made. Blocks until running
 * tasks are over. */
struct starpu_parallel_worker_config *starpu_parallel_worker_init(hwloc_obj_type_t parallel_worker_level,
                                                                  ...);

/* Waits for the tasks, undoes the groups and frees them. Blocks. Returns 0; -1 when there are none, or (with
 * a message) in a task or a callback. */
int starpu_parallel_worker_shutdown(struct starpu_parallel_worker_config *parallel_workers);

/* Prints the groups on stdout. Returns 0; -1 when there are none. */
int starpu_parallel_worker_print(struct starpu_parallel_worker_config *parallel_workers);

/* Gives the OpenMP regions of the calling worker as many threads as its group has cores; called through
 * STARPU_PARALLEL_WORKER_TYPE or as STARPU_PARALLEL_WORKER_CREATE_FUNC. */
void starpu_parallel_worker_openmp_prologue(void *);

/* Same, and makes MKL use GNU's OpenMP. */
void starpu_parallel_worker_gnu_openmp_mkl_prologue(void *);
#define starpu_parallel_worker_intel_openmp_mkl_prologue starpu_parallel_worker_openmp_prologue

/* ---- The names of StarPU 1.3 ---- */

#define STARPU_CLUSTER_MIN_NB STARPU_PARALLEL_WORKER_MIN_NB
#define STARPU_CLUSTER_MAX_NB STARPU_PARALLEL_WORKER_MAX_NB
#define STARPU_CLUSTER_NB STARPU_PARALLEL_WORKER_NB
#define STARPU_CLUSTER_PREFERE_MIN STARPU_PARALLEL_WORKER_PREFERE_MIN
#define STARPU_CLUSTER_KEEP_HOMOGENEOUS STARPU_PARALLEL_WORKER_KEEP_HOMOGENEOUS
#define STARPU_CLUSTER_POLICY_NAME STARPU_PARALLEL_WORKER_POLICY_NAME
#define STARPU_CLUSTER_POLICY_STRUCT STARPU_PARALLEL_WORKER_POLICY_STRUCT
#define STARPU_CLUSTER_CREATE_FUNC STARPU_PARALLEL_WORKER_CREATE_FUNC
#define STARPU_CLUSTER_CREATE_FUNC_ARG STARPU_PARALLEL_WORKER_CREATE_FUNC_ARG
#define STARPU_CLUSTER_TYPE STARPU_PARALLEL_WORKER_TYPE
#define STARPU_CLUSTER_AWAKE_WORKERS STARPU_PARALLEL_WORKER_AWAKE_WORKERS
#define STARPU_CLUSTER_PARTITION_ONE STARPU_PARALLEL_WORKER_PARTITION_ONE
#define STARPU_CLUSTER_NEW STARPU_PARALLEL_WORKER_NEW
#define STARPU_CLUSTER_NCORES STARPU_PARALLEL_WORKER_NCORES

enum starpu_cluster_types {
    STARPU_CLUSTER_OPENMP = STARPU_PARALLEL_WORKER_OPENMP,
    STARPU_CLUSTER_INTEL_OPENMP_MKL = STARPU_PARALLEL_WORKER_INTEL_OPENMP_MKL,
    STARPU_CLUSTER_GNU_OPENMP_MKL = STARPU_PARALLEL_WORKER_GNU_OPENMP_MKL
};

struct starpu_cluster_machine;

/* Does and returns the same as starpu_parallel_worker_init(). */
struct starpu_cluster_machine *starpu_cluster_machine(hwloc_obj_type_t cluster_level, ...);

/* Does and returns the same as starpu_parallel_worker_shutdown(). */
int starpu_uncluster_machine(struct starpu_cluster_machine *clusters);

/* Does and returns the same as starpu_parallel_worker_print(). */
int starpu_cluster_print(struct starpu_cluster_machine *clusters);
#define starpu_openmp_prologue starpu_parallel_worker_openmp_prologue
#define starpu_intel_openmp_mkl_prologue starpu_parallel_worker_openmp_prologue
#define starpu_gnu_openmp_mkl_prologue starpu_parallel_worker_gnu_openmp_mkl_prologue

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* STARPU_PARALLEL_WORKER */

#endif /* STARPU_PARALLEL_WORKER_H */
